//! One binary for all tests that need more than one module: specifications, real sockets, real files, real
//! kills.

mod crash;
mod life;
mod protocol;
mod saves;
mod spec;
mod support;
mod tidy;
