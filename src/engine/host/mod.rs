//! What the engine takes from its host, and how little: priorities of threads, memory, the battery; and what holds it.

mod memory;
pub mod power;
pub mod sandbox;
mod threads;

pub use memory::{give_memory_back, map_large_blocks, memory_limit, resident_bytes};
pub use threads::background_thread;
