//! What the daemon takes from its host: priorities of threads, memory.

/// Lowers the calling thread's priority: bulk work gives way to queries and to everything else.
///
/// Per thread, not per process, so that answers stay quick while the index is built.
pub fn background_thread() {
    #[cfg(target_os = "linux")]
    {
        // On Linux `setpriority` takes a thread id. Failing to be nice is no reason to stop.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
    }
}

/// Gives memory back that was needed for work in bulk and is free now.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `malloc_trim` only returns free pages to the system; it may be called from any thread.
        #[allow(unsafe_code)]
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

/// Keeps the memory of this process out of core dumps: it holds the key of a provider.
pub fn no_core_dumps() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // The limit alone does not keep it from a handler that the kernel pipes dumps to.
    let limited = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    #[cfg(target_os = "linux")]
    let limited = limited.and(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable));
    if let Err(error) = limited {
        tracing::warn!(%error, "a crash of this process may write its memory to a core dump");
    }
}
