//! What is said on the socket: the methods with what they take and give ([`table`]), the envelope of JSON-RPC 2.0, frames
//! of lines, where things lie ([`folders`]) and a daemon is to be found ([`locate`]), and a blocking client. `PROTOCOL.md`
//! beside this file is the specification.
//!
//! A new method is one entry in the [`table`], with its types in a module here, and one function in the daemon.

pub mod ask;
pub mod audience;
pub mod client;
pub mod contexts;
pub mod cost;
pub mod daemon;
pub mod decision;
pub mod envelope;
pub mod events;
pub mod folders;
pub mod frame;
pub mod generations;
pub mod graph;
pub mod grep;
pub mod hit;
pub mod jobs;
pub mod locate;
pub mod nearest;
pub mod names;
pub mod note;
pub mod notification;
pub mod params;
#[cfg(test)]
mod reference;
pub mod schema;
pub mod search;
pub mod status;
pub mod table;
pub mod team;

/// Whether a parameter is as if it were absent: then it is not sent, for an older daemon may not know it.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
