#![no_main]
#[path = "../bodies/note.rs"]
mod body;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::note(bytes));
