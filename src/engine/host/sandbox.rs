//! What restricts this process, as `status` says it. The program enters the sandbox; the engine only knows of it.

use std::sync::OnceLock;

use protocol::status::{Enforcement, Sandbox};

/// Of the process and not of an engine: the kernel holds all of it, for good.
static STATE: OnceLock<Sandbox> = OnceLock::new();

/// What holds this process; `None` before anybody decided.
pub fn state() -> Option<&'static Sandbox> {
    STATE.get()
}

/// Whether what this process may not do now it may do after a restart.
pub fn is_held() -> bool {
    state().is_some_and(|sandbox| sandbox.landlock != Enforcement::None)
}

/// Remembers what holds this process; the first answer stays, for nothing can widen it again.
pub fn remember(sandbox: Sandbox) -> &'static Sandbox {
    STATE.get_or_init(|| sandbox)
}
