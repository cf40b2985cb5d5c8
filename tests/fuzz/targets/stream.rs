#![no_main]
#[path = "../bodies/protocol.rs"]
#[allow(dead_code, reason = "a target runs one body of its file")]
mod body;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::stream(bytes));
