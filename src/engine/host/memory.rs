//! The memory brake: how much there is, how much may be.

use std::path::Path;

use crate::settings::HostConfig;

/// Returns memory to the system that bulk work needed and that is free now.
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

/// Keeps glibc's allocator from holding on to free memory.
///
/// The allocator maps every block of half a MiB or more, and returns it to the system when it is freed. By default
/// glibc raises that size with each large block that is freed, and later blocks leave holes in the arenas of a dozen
/// threads (with 1,200 chunks 4.5 of the 49 MiB that a daemon at rest had). There are also no more arenas than threads
/// that can run at once: by default glibc has eight times as many, and what is free in one arena is of no use to the
/// others.
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

/// The contrary, for simulations: each save allocates some ten MB and frees them at once, which would be mapped anew
/// for the next one. 300 seeds take a quarter less time with it, and a third of the kernel's.
#[cfg(test)]
pub(crate) fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: as above.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 128 << 20);
        libc::mallopt(libc::M_TOP_PAD, 16 << 20);
    }
}

/// Thresholds of the memory of this process that no file backs, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Above it work in bulk goes on in small steps.
    pub small_steps: u64,
    /// Above it work in bulk waits.
    pub bulk_waits: u64,
    /// Above it no vault is opened.
    pub opens: u64,
}

/// The limits of a control group, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct GroupLimits {
    /// Above it the kernel slows the process down.
    high: Option<u64>,
    /// At it the kernel kills the process.
    max: Option<u64>,
}

impl MemoryLimits {
    /// The limits that follow from a configuration and from the control group that this process is in.
    pub fn of(host: &HostConfig) -> Self {
        let own = if machine::is_simulated() { String::new() } else { read_own_group() };
        MemoryLimits::within(host, of_group(Path::new("/sys/fs/cgroup"), &own))
    }

    /// The limits leave room for what the engine does not slow down: queries, saves, and the kernel on behalf of this
    /// process.
    fn within(host: &HostConfig, group: GroupLimits) -> Self {
        let of = |limit: Option<u64>, percent: u64| limit.map_or(u64::MAX, |limit| limit.saturating_mul(percent) / 100);
        let max = [host.memory_max, group.max].into_iter().flatten().min();
        MemoryLimits {
            small_steps: host.memory.min(of(group.high, 90)).min(of(max, 50)),
            bulk_waits: of(max, 75),
            opens: of(max, 90),
        }
    }
}

fn read_own_group() -> String {
    std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

/// The lowest `memory.high` and `memory.max` of a control group and its ancestors; `own` is the text of
/// `/proc/self/cgroup`.
fn of_group(root: &Path, own: &str) -> GroupLimits {
    let Some(group) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return GroupLimits::default() };
    let lowest = |file: &str| {
        let read = |group: &Path| std::fs::read_to_string(root.join(group).join(file)).ok()?.trim().parse().ok();
        Path::new(group).ancestors().filter_map(read).min()
    };
    GroupLimits { high: lowest("memory.high"), max: lowest("memory.max") }
}

#[cfg(test)]
mod tests;
