//! What is fuzzed of what is public, over the kept corpus. The other bodies are tests of the crates whose private parts
//! they call: `fuzz::tests` in `store`, `provider` and `index`. `tests/fuzz/Cargo.toml` says the rest.

#[path = "../fuzz/bodies/note.rs"]
mod note;
#[path = "../fuzz/bodies/protocol.rs"]
mod protocol;
