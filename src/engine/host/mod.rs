//! What the engine takes from its host, and how little: thread priorities, memory, the battery; and the sandbox around
//! it.

mod memory;
pub mod power;
pub mod sandbox;
mod threads;

#[cfg(test)]
pub(crate) use memory::keep_memory;
pub use memory::{MemoryLimits, give_memory_back, tune_allocator};
pub use platform::process::{resident_bytes, unbacked_bytes};
pub use threads::background_thread;

/// The service manager that restarts this process when it fails: `systemd`, `launchd` or `none`.
pub(crate) fn service_manager() -> &'static str {
    match std::env::var("SITUATED_SUPERVISOR").as_deref() {
        Ok("launchd") => "launchd",
        _ if std::env::var_os("NOTIFY_SOCKET").is_some() || std::env::var_os("INVOCATION_ID").is_some() => "systemd",
        _ => "none",
    }
}
