//! `situated`: a background daemon that gives every chunk of your notes its place.

pub mod config;
pub mod fingerprint;
pub mod vault;
pub mod note;
pub mod chunk;
pub mod plan;
pub mod context;
pub mod embed;
pub mod store;
pub mod index;
pub mod search;
pub mod engine;
pub mod serve;
pub mod sandbox;
pub mod client;
pub mod cli;
