//! Notices that file systems are mounted or unmounted below the root. On Linux a watch stays with the folder that it was
//! placed on, and that is another one then.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use note::VaultPath;

#[cfg(target_os = "linux")]
pub(super) use linux::MountWatch;

/// What is mounted below a root: where, and the number of the mount.
pub(super) type Mounts = BTreeSet<(VaultPath, String)>;

/// The table of what is mounted.
const TABLE: &str = "/proc/self/mountinfo";

/// What is mounted below these names of a root; nothing where the system has no such table.
pub(super) fn mounts(root: &[PathBuf]) -> Mounts {
    std::fs::read(TABLE).map_or_else(|_| Mounts::new(), |table| below(root, &String::from_utf8_lossy(&table)))
}

/// The mounts of a table below these names of a root.
fn below(root: &[PathBuf], table: &str) -> Mounts {
    let mount = |line: &str| {
        let mut fields = line.split(' ');
        let (number, place) = (fields.next()?, unescaped(fields.nth(3)?));
        let relative = root.iter().find_map(|root| Path::new(&place).strip_prefix(root).ok())?;
        Some((VaultPath::from_relative(relative)?, number.to_owned()))
    };
    table.lines().filter_map(mount).collect()
}

/// A field as it is: white space and backslashes in it are written as three octal digits.
fn unescaped(field: &str) -> String {
    ["\\040 ", "\\011\t", "\\012\n", "\\134\\"].iter().fold(field.to_owned(), |field, escape| {
        let (code, character) = escape.split_at(4);
        field.replace(code, character)
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
    use rustix::io::{Errno, write};

    use super::{TABLE, io};

    /// A thread that waits for changes of the table.
    pub(in crate::watch) struct MountWatch(Arc<OwnedFd>);

    impl MountWatch {
        /// Calls `tell` whenever something is mounted or unmounted anywhere, until this is dropped.
        pub(in crate::watch) fn start(tell: impl Fn() + Send + 'static) -> io::Result<Self> {
            let table = File::open(TABLE)?;
            let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
            let stopped = stop.clone();
            let wait = move || {
                loop {
                    let mut waiting = [PollFd::new(&table, PollFlags::PRI), PollFd::new(&*stopped, PollFlags::IN)];
                    match poll(&mut waiting, None) {
                        Ok(_) => {}
                        Err(Errno::INTR) => continue,
                        Err(_) => return,
                    }
                    if !waiting[1].revents().is_empty() {
                        return;
                    }
                    tell();
                }
            };
            std::thread::Builder::new().name("situated-mounts".into()).spawn(wait)?;
            Ok(MountWatch(stop))
        }
    }

    impl Drop for MountWatch {
        fn drop(&mut self) {
            // The counter is far from full.
            let _ = write(&self.0, &1u64.to_ne_bytes());
        }
    }
}

/// Elsewhere the system's watcher follows paths.
#[cfg(not(target_os = "linux"))]
pub(super) struct MountWatch;

#[cfg(not(target_os = "linux"))]
impl MountWatch {
    pub(super) fn start(_tell: impl Fn() + Send + 'static) -> io::Result<Self> {
        Ok(MountWatch)
    }
}

// Elsewhere there is no such table, and on Windows no such path.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn mounts_below_a_root_are_read_from_the_table() {
        let table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     40 22 0:35 / /home/u/My\\040Vault rw - tmpfs none rw\n\
                     41 40 0:36 / /home/u/My\\040Vault/se\\134cret/in rw,relatime shared:1 - fuse x rw\n\
                     42 22 0:37 / /home/u/My\\040Vault2 rw - tmpfs none rw\nbroken\n";
        let root = [PathBuf::from("/home/u/My Vault")];
        let mounts: Vec<_> = below(&root, table).into_iter().map(|(path, no)| (path.to_string(), no)).collect();
        assert_eq!(mounts, [("se\\cret/in".to_owned(), "41".to_owned())]);
        assert!(!super::mounts(&[PathBuf::from("/")]).is_empty());
    }
}
