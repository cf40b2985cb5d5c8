//! The thread that places watches and turns events into hints.
//!
//! Events are folded into a set of touched paths, and the disk is asked what each of them is now. So the order of
//! events does not matter. What matters is that a touched folder's watch is placed anew, even if the folder has one:
//! notify removes watches by path when it reads the event of a removal or renaming, and by then the path may belong to
//! a newer folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use notify::event::{CreateKind, ModifyKind, RemoveKind, RenameMode};
use notify::{ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::mounts::{MountWatch, Mounts, mounts};
use super::unmount::UnmountWatch;
use super::{CLOSED, Limits, Message, State, no_watches};
use crate::policy::{EntryKind, Policy, Why};
use crate::root::{RootId, VaultError, root_id};
use crate::walk::enter_folders;
use crate::{Hint, RescanReason};
use note::VaultPath;

/// How often a root that is gone is looked for. While it is there, nothing is polled.
const RETURN_CHECK: Duration = Duration::from_secs(1);
/// inotify watches one folder, FSEvents a tree.
const BY_FOLDER: bool = cfg!(target_os = "linux");

pub(super) struct Worker {
    limits: Limits,
    root: PathBuf,
    /// What the paths of events begin with: FSEvents resolves links in them.
    prefixes: Vec<PathBuf>,
    policy: Arc<Policy>,
    system: RecommendedWatcher,
    /// All kept folders, whether their watch could be placed or not; stays empty unless [`BY_FOLDER`].
    folders: BTreeSet<VaultPath>,
    /// The root that is watched; `None` while it is gone.
    armed: Option<RootId>,
    /// Who may do what with the root, when it was last looked at.
    rights: Option<Permissions>,
    /// Watches for the unmounting of the root's file system.
    mounted: Option<UnmountWatch>,
    /// Watches for mounts anywhere.
    mount_watch: Option<MountWatch>,
    /// What was mounted below the root when the watches were placed.
    mounts: Mounts,
    state: Arc<State>,
    sink: Box<dyn Fn(Hint) + Send + Sync>,
    own: Sender<Message>,
}

/// What one turn of the loop has to deal with.
#[derive(Default)]
struct Turn {
    touched: BTreeMap<VaultPath, Touch>,
    /// The root itself was removed or renamed.
    root_lost: bool,
    /// Something about the root itself changed, such as its mode.
    root_touched: bool,
    /// Events were lost.
    rescan: Option<RescanReason>,
    policy: Option<Arc<Policy>>,
    seen: Vec<VaultPath>,
    rearm: bool,
    /// Something was mounted or unmounted.
    mounts: bool,
    stop: bool,
}

/// What events said of a path.
#[derive(Clone, Copy, Default)]
struct Touch {
    /// Something appeared, vanished or moved; it is not just a change of a file's content.
    moved: bool,
    /// It is or was a folder.
    folder: bool,
    /// It is or was a file.
    file: bool,
    /// The last event said that the file is complete.
    saved: bool,
}

impl Worker {
    pub(super) fn new(
        limits: Limits,
        root: &Path,
        policy: Arc<Policy>,
        system: RecommendedWatcher,
        state: Arc<State>,
        sink: Box<dyn Fn(Hint) + Send + Sync>,
        own: Sender<Message>,
    ) -> Self {
        let mut prefixes = vec![root.to_owned()];
        prefixes.extend(root.canonicalize().ok().filter(|real| real != root));
        Worker {
            limits,
            root: root.to_owned(),
            prefixes,
            policy,
            system,
            folders: BTreeSet::new(),
            armed: None,
            rights: None,
            mounted: None,
            mount_watch: None,
            mounts: Mounts::new(),
            state,
            sink,
            own,
        }
    }

    /// Works until [`Message::Stop`].
    pub(super) fn run(mut self, inbox: &Receiver<Message>) {
        loop {
            let first = match self.armed {
                Some(_) => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                None => inbox.recv_timeout(RETURN_CHECK),
            };
            let mut turn = Turn::default();
            match first {
                Ok(message) => self.take_in(message, &mut turn),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            while let Ok(message) = inbox.try_recv() {
                self.take_in(message, &mut turn);
            }
            if turn.stop || self.state.stop.load(Ordering::Relaxed) {
                return;
            }
            self.answer(turn);
        }
    }

    /// Places all watches on the root as it is now.
    ///
    /// # Errors
    /// The root is not there; it will be looked for.
    pub(super) fn arm(&mut self) -> Result<(), VaultError> {
        self.armed = None;
        let id = root_id(&self.root)?;
        self.rights = rights(&self.root);
        let own = self.own.clone();
        // Without it (the system may give no instance) a walk finds out.
        self.mounted = UnmountWatch::start(&self.root, move || drop(own.send(Message::Rearm))).ok();
        if BY_FOLDER && self.mount_watch.is_none() {
            let own = self.own.clone();
            self.mount_watch = MountWatch::start(move || drop(own.send(Message::Mounts))).ok();
        }
        self.mounts = mounts(&self.prefixes);
        self.place(None)?;
        self.armed = Some(id);
        Ok(())
    }

    fn take_in(&self, message: Message, turn: &mut Turn) {
        match message {
            Message::Wake => {}
            Message::Event(event) => {
                self.state.queued.fetch_sub(1, Ordering::Relaxed);
                if event.need_rescan() {
                    turn.rescan = Some(RescanReason::Overflow);
                }
                let (touch, completed) = (touch_of(&event), completed(&event));
                for path in &event.paths {
                    self.touch(path, Touch { saved: completed == Some(path), ..touch }, turn);
                }
            }
            Message::Failed(error) => {
                self.state.queued.fetch_sub(1, Ordering::Relaxed);
                tracing::warn!(%error, "the system's watcher failed; the vault will be walked");
                turn.rescan = turn.rescan.or(Some(RescanReason::WatchLost));
            }
            Message::Policy(policy) => turn.policy = Some(policy),
            Message::Seen(folders) => turn.seen = folders,
            Message::Rearm => turn.rearm = true,
            Message::Mounts => turn.mounts = true,
            Message::Stop => turn.stop = true,
        }
    }

    fn touch(&self, path: &Path, touch: Touch, turn: &mut Turn) {
        let Some(relative) = self.prefixes.iter().find_map(|prefix| path.strip_prefix(prefix).ok()) else {
            return;
        };
        if let Some(path) = VaultPath::from_relative(relative) {
            let known = turn.touched.entry(path).or_default();
            known.moved |= touch.moved;
            known.folder |= touch.folder;
            known.file |= touch.file;
            known.saved = touch.saved;
        } else {
            turn.root_lost |= touch.moved;
            turn.root_touched = true;
        }
    }

    fn answer(&mut self, mut turn: Turn) {
        if self.state.overflow.swap(false, Ordering::Relaxed) {
            turn.rescan = Some(RescanReason::Overflow);
        }
        let new_policy = turn.policy.is_some();
        if let Some(policy) = turn.policy.take() {
            self.policy = policy;
        }
        // A root that was made anew can have the inode of the old one, so the event counts as well.
        let changed = self.armed.is_some_and(|armed| root_id(&self.root).ok() != Some(armed));
        if self.armed.is_none() || turn.root_lost || changed || turn.rearm {
            return self.rearm();
        }
        if turn.root_touched {
            let now = rights(&self.root);
            if std::mem::replace(&mut self.rights, now.clone()) != now {
                (self.sink)(Hint::Rescan(RescanReason::RootChanged));
            }
        }
        if turn.rescan.is_some() || new_policy {
            let appeared = self.place_anew();
            if let Some(reason) = turn.rescan {
                return (self.sink)(Hint::Rescan(reason));
            }
            for folder in appeared {
                (self.sink)(Hint::Folder(folder));
            }
        }
        if turn.mounts {
            self.follow_mounts();
        }
        self.mend(turn.seen);
        let mut placed = BTreeSet::new();
        let hints: Vec<Hint> =
            turn.touched.into_iter().filter_map(|(path, touch)| self.hint(path, touch, &mut placed)).collect();
        for hint in hints {
            (self.sink)(hint);
        }
    }

    /// Starts over with the root as it is now, or reports that it is gone.
    fn rearm(&mut self) {
        let was_gone = self.armed.is_none();
        for folder in std::mem::take(&mut self.folders) {
            self.unwatch(Some(&folder));
        }
        self.unwatch(None);
        self.state.troubles(|troubles| {
            troubles.unwatched.clear();
            troubles.root_unwatched = false;
        });
        let armed = self.arm();
        let back = armed.is_ok();
        self.state.troubles(|troubles| troubles.root_gone = armed.err().map(|error| error.to_string()));
        if back || !was_gone {
            (self.sink)(Hint::Rescan(RescanReason::RootChanged));
        }
    }

    /// Places all watches again, drops those of folders that are no longer kept, and returns the folders that
    /// were not kept before.
    fn place_anew(&mut self) -> Vec<VaultPath> {
        let before = std::mem::take(&mut self.folders);
        self.state.troubles(|troubles| troubles.unwatched.clear());
        // First removes those that only the old policy kept: the system may lack their watches for the new ones.
        for folder in &before {
            if self.policy.verdict(folder, true) != EntryKind::Folder {
                self.unwatch(Some(folder));
            }
        }
        // A root that vanished meanwhile is noticed in the next turn, by its own event.
        let _ = self.place(None);
        for folder in before.difference(&self.folders) {
            let path = self.root.join(folder.to_relative());
            let _ = self.system.unwatch(&path);
        }
        let appeared = |folder: &&VaultPath| !before.contains(*folder);
        self.folders.iter().filter(appeared).cloned().collect()
    }

    /// Places the watches anew below folders on which something was mounted, or no longer is.
    fn follow_mounts(&mut self) {
        let now = mounts(&self.prefixes);
        let before = std::mem::replace(&mut self.mounts, now);
        let changed: BTreeSet<VaultPath> =
            before.symmetric_difference(&self.mounts).map(|(folder, _)| folder.clone()).collect();
        for folder in &changed {
            self.forget(folder.clone());
            // An error means that the root is gone, which has its own event.
            let _ = self.place(Some(folder));
        }
        if !changed.is_empty() {
            // A walk of everything, for that doubts whether notes are gone that are covered.
            (self.sink)(Hint::Rescan(RescanReason::WatchLost));
        }
    }

    /// Places the watches that a walk showed to be missing.
    fn mend(&mut self, seen: Vec<VaultPath>) {
        if !BY_FOLDER {
            return;
        }
        if self.state.troubles(|troubles| troubles.root_unwatched) {
            let _ = self.watch_one(None);
        }
        for folder in seen {
            // One try per folder, without its subfolders: these were seen by the same walk.
            if !self.is_watched(Some(&folder)) && self.watch_one(Some(&folder)) {
                (self.sink)(Hint::Folder(folder));
            }
        }
    }

    /// Brings the watches of a touched path up to date and returns its hint, if it is worth one. `placed` are the
    /// folders whose watches were placed in the same turn.
    fn hint(&mut self, path: VaultPath, touch: Touch, placed: &mut BTreeSet<String>) -> Option<Hint> {
        let known = self.folders.contains(&path);
        let as_file = self.policy.verdict(&path, false);
        let ours = as_file == EntryKind::Note
            || self.policy.is_attachment(&path)
            || (self.policy.is_ignore_file(&path) && self.policy.rules_around(&path).is_ok());
        let hinted = if touch.saved { Hint::Saved } else { Hint::Path };
        if !known && !touch.moved {
            return ours.then(|| hinted(path));
        }
        let meta = self.root.join(path.to_relative()).symlink_metadata();
        let kept_as_folder = self.policy.verdict(&path, true) == EntryKind::Folder;
        if kept_as_folder && meta.as_ref().is_ok_and(|meta| meta.is_dir()) {
            if !path.ancestors().any(|above| placed.contains(above)) {
                // An error means that the root is gone, which has its own event.
                let _ = self.place(Some(&path));
                placed.insert(path.as_str().to_owned());
            }
            return Some(Hint::Folder(path));
        }
        if known {
            return Some(self.forget(path));
        }
        if ours {
            return Some(hinted(path));
        }
        // A path that is gone again may have been a folder in which a walk saw notes. inotify does not say whether a
        // renamed path was a folder; names with an extension count as attachments.
        let as_attachment = BY_FOLDER && path.stem() != path.file_name();
        let was_a_file = touch.file || as_attachment || as_file == EntryKind::Ignored(Why::Temporary);
        let may_have_been_a_folder = touch.folder || !was_a_file;
        (meta.is_err() && kept_as_folder && may_have_been_a_folder).then_some(Hint::Folder(path))
    }

    /// Drops a folder that is gone, with all below it.
    fn forget(&mut self, folder: VaultPath) -> Hint {
        let mut gone: Vec<VaultPath> = self.folders.range(folder.below()).cloned().collect();
        gone.push(folder.clone());
        for known in &gone {
            self.folders.remove(known);
            self.unwatch(Some(known));
        }
        self.state.troubles(|troubles| {
            troubles.unwatched.retain(|known| !known.is_under(&folder));
            troubles.folders = self.folders.len();
        });
        Hint::Folder(folder)
    }

    /// Watches the folder `under` (`None`: the root) and all kept folders below it.
    fn place(&mut self, under: Option<&VaultPath>) -> Result<(), VaultError> {
        if !BY_FOLDER {
            if under.is_none() {
                self.watch_one(None);
            }
            return Ok(());
        }
        let (root, policy, state) = (self.root.clone(), Arc::clone(&self.policy), Arc::clone(&self.state));
        let before = state.troubles(|troubles| troubles.unwatched.len());
        let result = enter_folders(&root, &policy, under, &state.stop, |folder| {
            self.watch_one(folder);
        });
        if state.troubles(|troubles| troubles.unwatched.len() > before || (under.is_none() && troubles.root_unwatched))
        {
            (self.sink)(Hint::Rescan(RescanReason::WatchLost));
        }
        result
    }

    /// Places one watch and says whether it stands.
    fn watch_one(&mut self, folder: Option<&VaultPath>) -> bool {
        let path = folder.map_or_else(|| self.root.clone(), |folder| self.root.join(folder.to_relative()));
        let mode = if BY_FOLDER { RecursiveMode::NonRecursive } else { RecursiveMode::Recursive };
        let watched = self.folders.len() + 1 - self.state.troubles(|troubles| troubles.unwatched.len());
        let room = folder.is_none() || self.is_watched(folder) || watched < self.limits.watches;
        let result =
            if room { self.system.watch(&path, mode) } else { Err(notify::Error::new(ErrorKind::MaxFilesWatch)) };
        let trouble = match result {
            Ok(()) => None,
            // The walk reports a folder without permission; it is remembered here, so that a later permission is
            // noticed.
            Err(error) if is_io(&error, |kind| kind == Io::PermissionDenied) => {
                self.folders.extend(folder.cloned());
                return false;
            }
            Err(error) if matches!(error.kind, ErrorKind::PathNotFound) => return false,
            Err(error) if is_io(&error, |kind| matches!(kind, Io::NotFound | Io::NotADirectory)) => {
                return false;
            }
            Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) => Some(no_watches()),
            Err(error) => Some(error.to_string()),
        };
        let stands = trouble.is_none();
        if BY_FOLDER {
            self.folders.extend(folder.cloned());
        }
        self.state.troubles(|troubles| {
            troubles.folders = self.folders.len();
            match folder {
                None => troubles.root_unwatched = !stands,
                Some(folder) if stands => {
                    troubles.unwatched.remove(folder);
                }
                Some(folder) => {
                    troubles.unwatched.insert(folder.clone());
                }
            }
            troubles.limit = trouble.or(troubles.limit.take());
        });
        stands
    }

    fn is_watched(&self, folder: Option<&VaultPath>) -> bool {
        folder.is_some_and(|folder| {
            self.folders.contains(folder) && !self.state.troubles(|troubles| troubles.unwatched.contains(folder))
        })
    }

    /// Removes a watch. If it no longer stands, that fails and does no harm.
    fn unwatch(&mut self, folder: Option<&VaultPath>) {
        let path = folder.map_or_else(|| self.root.clone(), |folder| self.root.join(folder.to_relative()));
        let _ = self.system.unwatch(&path);
    }
}

/// Who may do what with a folder. A look says what that means for us; an event of a note may never come again.
fn rights(folder: &Path) -> Option<Permissions> {
    folder.metadata().ok().map(|meta| meta.permissions())
}

fn touch_of(event: &notify::Event) -> Touch {
    match event.kind {
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => {
            Touch { moved: true, folder: true, ..Touch::default() }
        }
        EventKind::Create(CreateKind::File)
        | EventKind::Remove(RemoveKind::File)
        | EventKind::Modify(ModifyKind::Data(_)) => Touch { file: true, ..Touch::default() },
        EventKind::Modify(ModifyKind::Metadata(_)) | EventKind::Access(_) => Touch::default(),
        // On Windows any change except of a name; a folder changes with each file in it.
        EventKind::Modify(ModifyKind::Any) if cfg!(windows) => Touch::default(),
        // What is now under the new name tells what the old name was.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
            let now = event.paths.get(1).and_then(|path| path.symlink_metadata().ok());
            Touch { moved: true, file: now.is_some_and(|meta| !meta.is_dir()), ..Touch::default() }
        }
        _ => Touch { moved: true, ..Touch::default() },
    }
}

/// The path whose file is complete according to an event: closed after it was written to, or renamed to this path.
fn completed(event: &notify::Event) -> Option<&PathBuf> {
    match event.kind {
        CLOSED | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both)) => event.paths.last(),
        _ => None,
    }
}

fn is_io(error: &notify::Error, test: impl FnOnce(Io) -> bool) -> bool {
    matches!(&error.kind, ErrorKind::Io(error) if test(error.kind()))
}
