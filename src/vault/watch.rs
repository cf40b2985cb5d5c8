//! Events of the operating system as [`Hint`]s.
//!
//! On Linux each kept folder has a watch of its own, so that `.git` or `node_modules` cost nothing; a
//! new or moved folder is hinted at once its watch and those below it stand, so that a walk of it
//! misses nothing. On macOS one recursive stream covers the vault. Whatever may have been lost becomes
//! a [`Hint::Rescan`]; [`Watcher::problem`] says what cannot be watched and has to be polled.
//!
//! notify's own thread only queues; the watches are placed by a thread of this module.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use notify::event::{AccessKind, AccessMode};
use notify::{Config, EventKind, RecommendedWatcher, Watcher as _};
use parking_lot::Mutex;

use super::Hint;
use super::pending::Timing;
use super::policy::Policy;
use super::root::{VaultError, needs_polling, root_id};
use crate::settings::WatchConfig;
use note::VaultPath;

mod mounts;
mod unmount;
mod worker;

#[cfg(test)]
mod tests;

impl From<&WatchConfig> for Timing {
    fn from(config: &WatchConfig) -> Self {
        Timing {
            lone: config.lone,
            saved: config.saved(),
            burst: config.burst,
            storm: config.storm,
            burst_longest: config.burst_longest,
            storm_longest: config.storm_longest,
            storm_paths: config.storm_paths,
        }
    }
}

/// Watches one vault until it is dropped. A hint or two may still come right after that.
pub struct Watcher {
    mode: &'static str,
    state: Arc<State>,
    /// `None` where the vault is only polled.
    inbox: Option<Sender<Message>>,
}

/// What wakes the worker.
enum Message {
    Event(notify::Event),
    /// The system's watcher reported an error, so something may have been missed.
    Failed(notify::Error),
    Policy(Arc<Policy>),
    /// Folders that a walk saw.
    Seen(Vec<VaultPath>),
    /// All watches are to be placed anew, for the root may be another folder now; a walk is hinted at afterwards. A
    /// root that is gone is looked for until it is back.
    Rearm,
    /// Something was mounted or unmounted, perhaps below the root.
    Mounts,
    /// Look at the state.
    Wake,
    Stop,
}

/// What the worker shares with the handle, and notify's thread with the worker.
#[derive(Default)]
struct State {
    stop: AtomicBool,
    /// Events queued and not yet taken; over a limit they are dropped and `overflow` is set.
    queued: AtomicUsize,
    overflow: AtomicBool,
    troubles: Mutex<Troubles>,
}

#[derive(Default)]
struct Troubles {
    /// Nothing can be watched at all, and why.
    blind: Option<String>,
    /// Why the last watch that failed could not be placed.
    limit: Option<String>,
    /// Kept folders without a watch.
    unwatched: BTreeSet<VaultPath>,
    root_unwatched: bool,
    /// All kept folders.
    folders: usize,
    /// Why the root cannot be watched: as a rule it is gone.
    root_gone: Option<String>,
}

impl State {
    fn troubles<R>(&self, look: impl FnOnce(&mut Troubles) -> R) -> R {
        look(&mut self.troubles.lock())
    }
}

/// Limits that tests lower.
#[derive(Clone, Copy)]
struct Limits {
    watches: usize,
    queue: usize,
}

/// Some 20 MB of events: a slow disk under a storm must not take all memory.
const LIMITS: Limits = Limits { watches: usize::MAX, queue: 50_000 };

impl Watcher {
    /// Starts watching. Returns when the watches stand, so that a walk begun afterwards misses nothing.
    ///
    /// `poll` as in the configuration: `None` decides by the file system. A vault that is polled gets no
    /// hints from here. `sink` is called on a thread of the watcher and must not wait for it.
    ///
    /// # Errors
    /// The root is not a readable folder. Limits of the system are no error, see [`Watcher::problem`].
    pub fn start(
        root: &Path,
        policy: Arc<Policy>,
        poll: Option<bool>,
        sink: impl Fn(Hint) + Send + Sync + 'static,
    ) -> Result<Watcher, VaultError> {
        Self::start_within(LIMITS, root, policy, poll, Box::new(sink))
    }

    fn start_within(
        limits: Limits,
        root: &Path,
        policy: Arc<Policy>,
        poll: Option<bool>,
        sink: Box<dyn Fn(Hint) + Send + Sync>,
    ) -> Result<Watcher, VaultError> {
        root_id(root)?;
        let state = Arc::new(State::default());
        if poll.unwrap_or_else(|| needs_polling(root).is_some()) {
            return Ok(Watcher { mode: "poll", state, inbox: None });
        }
        let (sender, inbox) = channel();
        let handler = queue(limits.queue, sender.clone(), Arc::clone(&state));
        // A link that leads out of the vault must not be watched, so links are not followed.
        let system = match RecommendedWatcher::new(handler, Config::default().with_follow_symlinks(false)) {
            Ok(system) => system,
            Err(error) => {
                state.troubles(|troubles| troubles.blind = Some(no_instance(&error)));
                return Ok(Watcher { mode: "poll", state, inbox: None });
            }
        };
        let mut worker = worker::Worker::new(limits, root, policy, system, Arc::clone(&state), sink, sender.clone());
        worker.arm()?;
        let unwatchable =
            |error: std::io::Error| VaultError::Unwatchable { path: root.to_owned(), error: error.to_string() };
        std::thread::Builder::new()
            .name("situated-watch".into())
            .spawn(move || worker.run(&inbox))
            .map_err(unwatchable)?;
        Ok(Watcher { mode: SYSTEM, state, inbox: Some(sender) })
    }

    /// How changes are noticed: `inotify`, `fsevents`, `kqueue` or `poll`.
    pub fn mode(&self) -> &'static str {
        self.mode
    }

    /// Whether the vault, or a part of it, must be walked at the polling interval.
    pub fn needs_poll(&self) -> bool {
        self.inbox.is_none()
            || self.state.troubles(|t| t.root_gone.is_some() || t.root_unwatched || !t.unwatched.is_empty())
    }

    /// What keeps the vault from being watched as it should, and what to do about it.
    pub fn problem(&self) -> Option<String> {
        self.state.troubles(|troubles| {
            if troubles.root_gone.is_some() {
                return troubles.root_gone.clone();
            }
            let unwatched = troubles.unwatched.len() + usize::from(troubles.root_unwatched);
            if unwatched == 0 {
                return troubles.blind.clone();
            }
            let why = troubles.limit.as_deref().unwrap_or("the system refused");
            Some(format!("{unwatched} of {} folders are not watched but polled: {why}", troubles.folders + 1))
        })
    }

    /// Puts another policy in force. Folders that it keeps and the old one did not are hinted at when
    /// their watches stand.
    pub fn set_policy(&self, policy: Arc<Policy>) {
        self.send(Message::Policy(policy));
    }

    /// Places missing watches on `folders`, which a walk found, and hints at the folders that got one. To be called
    /// after each walk of the whole vault: that makes up for a lost event, and makes use of a limit that was raised.
    pub fn reconcile(&self, folders: Vec<VaultPath>) {
        self.send(Message::Seen(folders));
    }

    fn send(&self, message: Message) {
        if let Some(inbox) = &self.inbox {
            // The worker ends before its inbox only when it panicked; then there is nothing to tell it.
            let _ = inbox.send(message);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        self.send(Message::Stop);
    }
}

/// A file that had been opened for writing was closed; only inotify tells.
const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));

#[cfg(target_os = "linux")]
const SYSTEM: &str = "inotify";
#[cfg(target_vendor = "apple")]
const SYSTEM: &str = "fsevents";
#[cfg(windows)]
const SYSTEM: &str = "ReadDirectoryChangesW";
#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
const SYSTEM: &str = "kqueue";

/// What notify's thread does with an event: it must be quick, or the kernel's queue overflows.
fn queue(limit: usize, sender: Sender<Message>, state: Arc<State>) -> impl FnMut(notify::Result<notify::Event>) + Send {
    move |result| {
        let message = match result {
            // A rescan has no paths and must not be dropped; our own reads, half of all events, are.
            Ok(event) if event.need_rescan() => Message::Event(event),
            Ok(event) if matches!(event.kind, EventKind::Access(_)) && event.kind != CLOSED => return,
            Ok(event) => Message::Event(event),
            Err(error) => Message::Failed(error),
        };
        if state.queued.load(Ordering::Relaxed) >= limit {
            if !state.overflow.swap(true, Ordering::Relaxed) {
                let _ = sender.send(Message::Wake);
            }
            return;
        }
        state.queued.fetch_add(1, Ordering::Relaxed);
        // The worker is gone only when the watcher is being dropped.
        let _ = sender.send(message);
    }
}

/// Message for an inotify instance, or its like, that the system did not give.
fn no_instance(error: &notify::Error) -> String {
    let remedy = match sysctl("max_user_instances") {
        Some((now, _)) => {
            format!(
                "; if the limit of {now} instances is reached: sudo sysctl fs.inotify.max_user_instances={}",
                now.max(256) * 2
            )
        }
        None => String::new(),
    };
    format!("the vault is polled, for the system gives no watcher ({error}){remedy}")
}

/// Message for a reached limit of watches.
fn no_watches() -> String {
    let Some((now, name)) = sysctl("max_user_watches") else {
        return "the system's limit of watches is reached".into();
    };
    let more = now.saturating_mul(2).max(524_288);
    format!(
        "the limit of {now} watches is reached; raise it with: sudo sysctl {name}={more} \
         (to keep it: echo {name}={more} | sudo tee /etc/sysctl.d/60-situated.conf)"
    )
}

/// A limit of inotify and its name.
fn sysctl(name: &str) -> Option<(u64, String)> {
    let text = std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
    Some((text.trim().parse().ok()?, format!("fs.inotify.{name}")))
}
