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

/// Keeps the C library from giving every thread a heap of its own: with a dozen short-lived threads that
/// index, twice the memory would be held for nothing. To be called before any thread is started.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `mallopt` takes two integers and only changes settings of the allocator.
        #[allow(unsafe_code)]
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 4);
        }
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
