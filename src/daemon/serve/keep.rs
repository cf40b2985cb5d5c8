//! Recreates a socket that somebody has removed: a cleaner of temporary files, or a hand that slipped, must not make a
//! daemon that lives look dead for ever.
//!
//! The kernel reports the removal where it can (Linux), so that an idle daemon is not woken to look; elsewhere, and
//! when it cannot, the socket is looked at once a minute.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::bind::Bound;
use super::local::Listener;
use engine::handle::Handle;

/// How often the socket is looked at where the kernel does not report its removal.
const LOOK: Duration = Duration::from_mins(1);

/// A daemon that takes over removes and recreates the socket within this time.
const SETTLE: Duration = Duration::from_millis(100);

/// Sends a new listener whenever the old one's socket is gone. Ends when nobody serves any more. If only a new process
/// can recreate the socket, the daemon of `restarts` starts itself anew.
pub async fn keep(bound: Arc<Bound>, renewed: mpsc::Sender<Listener>, restarts: Option<Handle>) {
    let mut told = false;
    loop {
        let folder = bound.socket().parent().unwrap_or(Path::new("/"));
        let watch = Watch::new(folder);
        // Looked at after the watch is in place, which does not report what happened before.
        if bound.is_there() {
            told = false;
            watch.changed().await;
            tokio::time::sleep(SETTLE).await;
            continue;
        }
        match bound.renew() {
            Ok(listener) => {
                tracing::warn!(socket = %bound.socket().display(), "the socket was removed, and is made anew");
                let Ok(listener) = Listener::from_std(listener) else { return };
                if renewed.send(listener).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                let anew = restarts.as_ref().filter(|_| bound.is_kept_from(&error));
                if anew.is_some_and(|handle| handle.start_anew().is_ok()) {
                    tracing::warn!("the folder of the socket was made anew");
                    return;
                }
                if !told {
                    tracing::error!(%error, "the socket was removed and cannot be made anew: no client finds this daemon");
                }
                told = true;
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}

#[cfg(target_os = "linux")]
struct Watch(Option<tokio::net::unix::pipe::Receiver>);

#[cfg(target_os = "linux")]
impl Watch {
    fn new(folder: &Path) -> Watch {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let wanted = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let watch = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .and_then(|watch| add_watch(&watch, folder, wanted).map(|_| watch))
            .ok();
        // It is read as a pipe is, and waited for in the same way.
        let wait = |watch| tokio::net::unix::pipe::Receiver::from_file_unchecked(std::fs::File::from(watch)).ok();
        Watch(watch.and_then(wait))
    }

    /// Resolves when something has left the folder, or after a while.
    async fn changed(&self) {
        match &self.0 {
            Some(watch) => drop(watch.readable().await),
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

#[cfg(not(target_os = "linux"))]
struct Watch;

#[cfg(not(target_os = "linux"))]
impl Watch {
    fn new(_: &Path) -> Watch {
        Watch
    }

    async fn changed(&self) {
        tokio::time::sleep(LOOK).await;
    }
}
