//! The sample vault of `situated try`, compiled in: the build script lists what `tests/vault/` holds.

include!(concat!(env!("OUT_DIR"), "/sample.rs"));

#[cfg(all(test, unix))]
mod tests;
