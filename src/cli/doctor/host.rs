//! What the kernel offers: Landlock, namespaces, watches.

use std::path::Path;

use crate::daemon::sandbox::landlock;

/// What the kernel reports; each part may be missing where there is no `/proc`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Host {
    /// Version of Landlock; `None`: there is none.
    pub(super) landlock: Option<u32>,
    /// Whether a user may make namespaces, which a part of the unit's sandbox needs; `None`: not known.
    pub(super) namespaces: Option<bool>,
    /// Whether `/proc` is there.
    pub(super) proc: bool,
    /// inotify watches that a user may have, and those that this user's other programs hold.
    pub(super) watches: Option<(u64, u64)>,
    /// The same for inotify instances.
    pub(super) instances: Option<(u64, u64)>,
}

/// Looks at the kernel; the process `daemon` does not count as one of the other programs.
pub(super) fn look(daemon: Option<u32>) -> Host {
    look_in(Path::new("/proc"), daemon, landlock::kernel_abi())
}

fn look_in(proc: &Path, daemon: Option<u32>, landlock: Option<u32>) -> Host {
    let text = |path: &str| std::fs::read_to_string(proc.join(path)).ok().map(|text| text.trim().to_owned());
    let number = |path: &str| text(path)?.parse::<u64>().ok();
    let (instances, watches) = used(proc, daemon);
    let forbidden = number("sys/user/max_user_namespaces") == Some(0)
        || number("sys/kernel/unprivileged_userns_clone") == Some(0)
        || number("sys/kernel/apparmor_restrict_unprivileged_userns") == Some(1);
    Host {
        landlock,
        namespaces: number("sys/user/max_user_namespaces").map(|_| !forbidden),
        proc: proc.join("self").exists(),
        watches: number("sys/fs/inotify/max_user_watches").map(|most| (most, watches)),
        instances: number("sys/fs/inotify/max_user_instances").map(|most| (most, instances)),
    }
}

/// Instances and watches of the programs that we may look at, which are those of this user.
fn used(proc: &Path, but: Option<u32>) -> (u64, u64) {
    let (mut instances, mut watches) = (0, 0);
    for process in std::fs::read_dir(proc).into_iter().flatten().flatten() {
        let pid = process.file_name().to_string_lossy().parse::<u32>().ok();
        if pid.is_none() || pid == but {
            continue;
        }
        for fd in std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            if std::fs::read_link(fd.path()).is_ok_and(|target| target == Path::new("anon_inode:inotify")) {
                instances += 1;
                let info = std::fs::read_to_string(process.path().join("fdinfo").join(fd.file_name()));
                watches +=
                    info.map_or(0, |info| info.lines().filter(|line| line.starts_with("inotify")).count() as u64);
            }
        }
    }
    (instances, watches)
}

#[cfg(all(test, unix))]
mod tests;
