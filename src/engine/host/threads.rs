//! Priorities, per thread and not per process, so that answers stay quick while the index is built. Threads that a
//! thread starts afterwards inherit its priority.

/// Lowers the calling thread's priority: bulk work gives way to queries and to everything else.
pub fn background_thread() {
    #[cfg(target_os = "linux")]
    {
        // On Linux `setpriority` takes a thread id. Failing to be nice is no reason to stop.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
        // SAFETY: both calls read what they are given and change nothing but the calling thread (0).
        #[allow(unsafe_code)]
        unsafe {
            // For the scheduler: throughput, not response. Priority 0 is the only one that this policy has.
            let priority: libc::sched_param = std::mem::zeroed();
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const priority);
        }
        read_and_write_last();
    }
}

/// Makes the calling thread's reads and writes wait until nobody else needs the disk.
#[cfg(target_os = "linux")]
fn read_and_write_last() {
    /// `IOPRIO_WHO_PROCESS`, which means a thread.
    const THREAD: libc::c_int = 1;
    /// `IOPRIO_CLASS_IDLE`, shifted to the bits of the class.
    const IDLE: libc::c_int = 3 << 13;
    // SAFETY: three numbers; it changes nothing but the calling thread (0).
    #[allow(unsafe_code)]
    unsafe {
        libc::syscall(libc::SYS_ioprio_set, THREAD, 0, IDLE);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Niceness, policy and class of I/O of the calling thread.
    #[allow(unsafe_code)]
    fn manners() -> (i32, i32, i64) {
        let nice = rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap();
        // SAFETY: plain queries about the calling thread.
        let (policy, io) = unsafe { (libc::sched_getscheduler(0), libc::syscall(libc::SYS_ioprio_get, 1, 0)) };
        (nice, policy, io >> 13)
    }

    #[test]
    fn a_background_thread_gives_way_with_what_it_starts_and_nobody_else_does() {
        let before = manners();
        let work = || {
            background_thread();
            (manners(), std::thread::spawn(manners).join().unwrap())
        };
        let (own, inherited) = std::thread::spawn(work).join().unwrap();
        // Some containers forbid one or the other; where they do nothing changes.
        if own.0 != before.0 {
            assert_eq!(own.0, 10);
        }
        assert_eq!((own.1, own.2), (libc::SCHED_BATCH, 3));
        assert_eq!(inherited, own, "what a background thread starts is in the background");
        assert_eq!(manners(), before, "the others are not");
    }
}
