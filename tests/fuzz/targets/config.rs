#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| situated::daemon::config::fuzz::config(bytes));
