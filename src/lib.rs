//! `situated`: a background daemon that gives every chunk of your notes its place.

pub mod chunk;
pub mod cli;
pub mod client;
pub mod config;
pub mod context;
pub mod embed;
pub mod engine;
pub mod fingerprint;
pub mod index;
pub mod note;
pub mod plan;
pub mod sandbox;
pub mod search;
pub mod serve;
pub mod store;
pub mod vault;
