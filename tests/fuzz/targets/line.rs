#![no_main]
#[path = "../bodies/protocol.rs"]
mod body;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::line(bytes));
