//! (being written)
pub mod handle;
