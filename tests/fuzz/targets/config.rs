#![no_main]
#[path = "../bodies/config.rs"]
mod body;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::config(bytes));
