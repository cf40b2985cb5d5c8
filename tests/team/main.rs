//! A real Qdrant in the place of a team's server. `SITUATED_QDRANT` names its program, which each test starts for itself on
//! the loopback; or `SITUATED_QDRANT_URL` a server, in which each test uses a collection of its own. Without either these
//! tests are ignored: `cargo test -p team --test qdrant -- --include-ignored` runs them.

#![allow(unreachable_pub, reason = "a program has no other users")]

mod faults;
mod nearest;
mod notes;
mod publish;
mod read;
mod server;
