//! Notices that the root's file system is unmounted. On Linux the kernel drops all its watches then, and notify does not
//! tell.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
pub(super) use linux::UnmountWatch;

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::sync::Arc;

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch};

    use super::{Path, io};

    /// A watch of the root.
    pub(in crate::watch) struct UnmountWatch {
        inotify: Arc<OwnedFd>,
        number: i32,
    }

    impl UnmountWatch {
        /// Calls `tell` once the root's file system is unmounted, on a thread that ends with this watch.
        pub(in crate::watch) fn start(root: &Path, tell: impl FnOnce() + Send + 'static) -> io::Result<Self> {
            let inotify = Arc::new(init(CreateFlags::CLOEXEC)?);
            // Some event has to be named; the end of the watch is reported in any case.
            let number = add_watch(&inotify, root, WatchFlags::ONLYDIR | WatchFlags::DELETE_SELF)?;
            let watched = inotify.clone();
            let wait = move || {
                let mut buffer = [MaybeUninit::uninit(); 512];
                let first = Reader::new(&*watched, &mut buffer).next().map(|event| event.events());
                if first.is_ok_and(|event| event.contains(ReadFlags::UNMOUNT)) {
                    tell();
                }
            };
            std::thread::Builder::new().name("situated-mount".into()).spawn(wait)?;
            Ok(UnmountWatch { inotify, number })
        }
    }

    impl Drop for UnmountWatch {
        fn drop(&mut self) {
            // Wakes the thread, unless an event has ended it already.
            let _ = remove_watch(&self.inotify, self.number);
        }
    }
}

/// Elsewhere the system's watcher tells, or a walk finds out.
#[cfg(not(target_os = "linux"))]
pub(super) struct UnmountWatch;

#[cfg(not(target_os = "linux"))]
impl UnmountWatch {
    pub(super) fn start(_root: &Path, _tell: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        Ok(UnmountWatch)
    }
}
