#![no_main]
#[path = "../bodies/note.rs"]
#[allow(dead_code, reason = "a target runs one body of its file")]
mod body;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::note(bytes));
