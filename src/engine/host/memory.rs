//! The memory brake: how much there is, how much may be.

use std::path::Path;

/// Gives memory back that was needed for work in bulk and is free now.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // Other simulations go on in this process, and would only have to ask for it again.
    if !machine::is_simulated() {
        // SAFETY: `malloc_trim` only returns free pages to the system; it may be called from any thread.
        #[allow(unsafe_code)]
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

/// Keeps glibc's allocator from holding what is free.
///
/// It maps every block from half a MiB on, and gives it back when it is freed: by itself glibc raises that size with
/// each large block that is freed, and later ones leave holes in the arenas of a dozen threads (with 1,200 chunks 4.5
/// of the 49 MiB that a daemon at rest had). And there are no more arenas than threads that can run at once, for by
/// itself glibc has eight times as many, and what is free in one is of no use to the others.
pub fn tune_allocator() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let threads = std::thread::available_parallelism().map_or(2, usize::from).max(2);
        let arenas = libc::c_int::try_from(threads).unwrap_or(libc::c_int::MAX);
        // SAFETY: sets numbers that later allocations look at; it may be called from any thread.
        #[allow(unsafe_code)]
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 512 << 10);
            libc::mallopt(libc::M_ARENA_MAX, arenas);
        }
    }
}

/// The limit in force: the configured one, or what the control group calls high or allows at most, less a tenth for what is
/// not ours to slow down.
pub fn memory_limit(configured: u64) -> u64 {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    of_group(Path::new("/sys/fs/cgroup"), &own).map_or(configured, |limit| configured.min(limit / 10 * 9))
}

/// The lowest `memory.high` or `memory.max` of a control group and those above it; `own` is what `/proc/self/cgroup` says.
/// Above the one the kernel slows the process down, and at the other it kills it.
fn of_group(root: &Path, own: &str) -> Option<u64> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let files = |group: &Path| ["memory.high", "memory.max"].map(|file| root.join(group).join(file));
    let read = |file| std::fs::read_to_string(file).ok()?.trim().parse().ok();
    Path::new(group).ancestors().flat_map(files).filter_map(read).min()
}

#[cfg(test)]
mod tests;
