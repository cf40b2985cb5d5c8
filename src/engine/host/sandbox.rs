//! What restricts this process, as `status` says it. The program enters the sandbox; the engine only remembers that.

use std::sync::OnceLock;

use protocol::status::{Enforcement, Sandbox};

/// The sandbox belongs to the process and not to an engine: the kernel restricts the whole process, for good.
static STATE: OnceLock<Sandbox> = OnceLock::new();

/// What restricts this process; `None` until that is decided.
pub fn state() -> Option<&'static Sandbox> {
    STATE.get()
}

/// Whether the kernel restricts this process, so that a restarted one may be allowed more.
pub fn is_held() -> bool {
    state().is_some_and(|sandbox| sandbox.landlock != Enforcement::None)
}

/// Remembers what restricts this process. The first value stays: nothing can widen a sandbox again.
pub fn remember(sandbox: Sandbox) -> &'static Sandbox {
    STATE.get_or_init(|| sandbox)
}
