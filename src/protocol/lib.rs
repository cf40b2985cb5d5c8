//! What is said on the socket: the envelope of JSON-RPC 2.0, frames of lines, where a daemon is to be found, and a
//! blocking client. `PROTOCOL.md` beside this file is the specification.

pub mod client;
pub mod envelope;
pub mod frame;
pub mod locate;
pub mod notification;
