//! One binary for all tests that need more than one module: specifications, real sockets, real files, real
//! kills.

mod bad;
mod batches;
mod commands;
mod contexts;
mod crash;
mod generations;
mod hostile;
mod life;
mod model;
mod outside;
mod protocol;
mod saves;
mod service;
mod spec;
mod spending;
mod support;
mod terminal;
mod tidy;
mod words;
