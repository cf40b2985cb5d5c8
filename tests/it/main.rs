//! One binary for all tests that need more than one module: specifications, real sockets, real files, real
//! kills.

mod life;
mod protocol;
mod spec;
mod support;
mod tidy;
