//! What the kernel restricts the daemon to: files and connections (Landlock), and no core dumps.

pub mod converter;
mod errands;
pub mod landlock;
mod own;
#[cfg_attr(windows, path = "successor/windows.rs")]
pub mod successor;

pub use landlock::Rules;
pub use own::{Closed, OWN, close_to_others, make_files_private};

/// Prevents this thread, and what it starts, from gaining rights that it does not have. Where the kernel cannot do that,
/// this does nothing; where it refuses, the thread goes on.
pub fn gain_no_rights() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_no_new_privs(true) {
        tracing::warn!(%error, "a thread that keeps its rights may gain others");
    }
}

/// Keeps the memory of this process out of core dumps: it holds the key of a provider.
pub fn no_core_dumps() {
    #[cfg(unix)]
    limit_core_dumps();
}

#[cfg(unix)]
fn limit_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // The limit alone does not stop the kernel from piping a dump to a handler.
    let limited = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let limited = limited.and(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable));
    if let Err(error) = limited {
        tracing::warn!(%error, "a crash of this process may write its memory to a core dump");
    }
}
