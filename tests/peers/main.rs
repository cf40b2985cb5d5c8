//! Programs that others wrote in the place of the providers: the real `situated` against `LiteLLM`'s proxy, `aimock`,
//! `moto` (which verifies AWS signatures), and `mitmproxy` as a network that fails; and in the place of assistants the official
//! Python client and inspector of MCP. `.ci/peers` installs them below
//! `target/peers/` and runs these tests, which are ignored without it. On Unix.

#![cfg(unix)]

mod aimock;
mod litellm;
mod mcp;
mod moto;
mod network;
mod orchard;
mod server;

// The daemon, its place and its socket are those of the other tests, which use more of them.
#[allow(dead_code)]
#[path = "../it/support.rs"]
mod support;
