#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| index::search::fuzz::query(bytes));
