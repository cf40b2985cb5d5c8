#![doc = include_str!("ARCHITECTURE.md")]

pub mod cli;
pub mod daemon;
pub mod mcp;
pub mod service;
