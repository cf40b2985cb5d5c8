//! What holds this process, as it is told to users. The program enters the sandbox; the engine only knows of it.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the kernel holds the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// To all of the rules.
    Full,
    /// To those that this kernel knows.
    Partial,
    /// Not at all.
    #[default]
    None,
}

/// What holds the daemon; part of `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sandbox {
    /// `full`: it reads the vaults and its own folders, and writes to its own folders; `partial`: the kernel knows not
    /// all of the rules; `none`: nothing holds it.
    pub landlock: Held,
    /// Version of the kernel's interface, 0 if it has none.
    pub abi: u32,
    /// Whether TCP connections can be opened.
    pub network: bool,
    /// Why it is not `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

static STATE: OnceLock<Sandbox> = OnceLock::new();

/// What holds this process; `None` before anybody decided.
pub fn state() -> Option<&'static Sandbox> {
    STATE.get()
}

/// Whether what this process may not do now it may do after a restart.
pub fn is_held() -> bool {
    state().is_some_and(|sandbox| sandbox.landlock != Held::None)
}

/// Remembers what holds this process; the first answer stays, for nothing can widen it again.
pub fn remember(sandbox: Sandbox) -> &'static Sandbox {
    STATE.get_or_init(|| sandbox)
}
