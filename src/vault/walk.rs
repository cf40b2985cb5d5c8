//! Everything that is in a vault, as the disk has it now.
//!
//! Links are not followed, as in [`super::read`]: those that are named like a note, or lead to a
//! folder, are listed among what was skipped.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

use super::policy::{EntryKind, IgnoreFiles, Policy, Rules, Why, file_system_form};
use super::read::{ReadError, file_stat};
use super::root::{RootId, VaultError, root_id};
use note::{FileStat, VaultPath};

#[cfg(test)]
mod tests;

/// How many kinds of files are counted separately, and the longest ending that is a kind, in bytes.
const MOST_ENDINGS: usize = 40;
const LONGEST_ENDING: usize = 12;

/// The name under which all others are counted.
const OTHERS: &str = "others";

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Which folder the vault's root was.
    pub root: RootId,
    /// The notes, sorted by path.
    pub files: Vec<(VaultPath, FileStat)>,
    /// The folders that were walked, sorted; the root is not among them.
    pub folders: Vec<VaultPath>,
    /// What would be a note or a folder of notes, each with the reason why it is not, sorted.
    pub skipped: Vec<(VaultPath, Skip)>,
    /// Files that have no text and are found by their names, sorted.
    pub attachments: Vec<VaultPath>,
    /// How many files and folders are left out, by the setting that leaves them out, or by the ending of files without
    /// text.
    pub left_out: BTreeMap<String, u64>,
    /// Whether all could be seen. If not, nothing at or below the skipped paths whose reason is
    /// [`Skip::Unreadable`] may be taken as gone.
    pub complete: bool,
}

impl Walk {
    /// An empty walk of this root.
    fn of(root: RootId) -> Walk {
        Walk {
            root,
            files: Vec::new(),
            folders: Vec::new(),
            skipped: Vec::new(),
            attachments: Vec::new(),
            left_out: BTreeMap::new(),
            complete: true,
        }
    }
}

/// Why something is not indexed although its name says that it might be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Skip {
    /// A file of this many bytes, over `max_note_bytes`.
    #[error("it has {0} bytes, more than `max_note_bytes` (documents: 128 MiB)")]
    TooLarge(u64),
    /// A link to something in the vault, which is indexed where it lies.
    #[error("it is a link into the vault; its target is indexed where it lies")]
    LinkInside,
    /// A link that leaves the vault.
    #[error("it is a link that leaves the vault")]
    LinkOutside,
    /// A link to nothing.
    #[error("it is a link to nothing")]
    LinkBroken,
    /// A FIFO, socket or device.
    #[error("it is a FIFO, socket or device")]
    NotAFile,
    /// A file or folder that the system does not let us look at, and what it said.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// An ignore file that cannot be read, and why.
    #[error("it cannot be read, so it leaves nothing out: {0}")]
    IgnoreFile(String),
}

/// Walks the vault, or what is at and below `under` in it. A path that is not there, or is ignored, gives an empty
/// walk. Files are not opened: a missing right to read one shows only when it is read.
///
/// # Errors
/// The root is no readable folder, or `cancel` became true.
pub fn walk(root: &Path, policy: &Policy, under: Option<&VaultPath>, cancel: &AtomicBool) -> Result<Walk, VaultError> {
    let found = Walk::of(root_id(root)?);
    let mut crawl = Crawl { root, policy, cancel, found, look_at_files: true };
    crawl.run(under, &mut |_| {})?;
    let mut found = crawl.found;
    found.files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    found.folders.sort_unstable();
    found.attachments.sort_unstable();
    found.skipped.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Calls `enter` for the folder `under` (`None`: the root) and each kept folder below it, always *before*
/// the folder is listed: what is made in it later is seen by whatever watch `enter` placed.
pub(super) fn enter_folders(
    root: &Path,
    policy: &Policy,
    under: Option<&VaultPath>,
    cancel: &AtomicBool,
    mut enter: impl FnMut(Option<&VaultPath>),
) -> Result<(), VaultError> {
    let found = Walk::of(root_id(root)?);
    Crawl { root, policy, cancel, found, look_at_files: false }.run(under, &mut enter)
}

/// The ending of a file's name in lower case, with its dot.
fn ending(name: &str) -> String {
    let found = name.rfind('.').filter(|dot| *dot > 0 && name.len() - dot <= LONGEST_ENDING);
    found.map_or_else(|| OTHERS.to_owned(), |dot| name[dot..].to_lowercase())
}

struct Crawl<'a> {
    root: &'a Path,
    policy: &'a Policy,
    cancel: &'a AtomicBool,
    found: Walk,
    look_at_files: bool,
}

/// A folder to list (`None`: the root), with the ignore rules of the folder above it.
type Next = (Option<VaultPath>, Rules);

impl Crawl<'_> {
    fn run(&mut self, under: Option<&VaultPath>, enter: &mut dyn FnMut(Option<&VaultPath>)) -> Result<(), VaultError> {
        // A stack instead of recursion: a vault may be nested to any depth.
        let mut stack: Vec<Next> = match under {
            None => vec![(None, None)],
            Some(path) => self.start_at(path).into_iter().collect(),
        };
        while let Some((folder, above)) = stack.pop() {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(VaultError::Cancelled);
            }
            enter(folder.as_ref());
            match (self.list(folder.as_ref()), folder) {
                (Ok(entries), folder) => {
                    self.judge(folder.as_ref(), &above, &entries, &mut stack);
                    self.found.folders.extend(folder);
                }
                (Err(error), None) => return Err(VaultError::of_root(self.root, error)),
                (Err(error), Some(folder)) => self.unreadable(folder, &error),
            }
        }
        Ok(())
    }

    /// Looks at a path that is named rather than found. Events may come late, so it can be anything by now.
    fn start_at(&mut self, path: &VaultPath) -> Option<Next> {
        let rules = self.policy.rules_around(path).ok()?;
        if self.behind_a_link(path) {
            return None;
        }
        let place = self.root.join(path.to_relative());
        match place.symlink_metadata() {
            Ok(meta) => self.look_at(path.clone(), meta.file_type(), || Ok(meta), &rules),
            Err(error) => {
                self.unreadable(path.clone(), &error);
                None
            }
        }
    }

    fn behind_a_link(&self, path: &VaultPath) -> bool {
        path.ancestors().any(|folder| {
            let place = self.root.join(file_system_form(folder));
            place.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
        })
    }

    fn list(&self, folder: Option<&VaultPath>) -> io::Result<Vec<DirEntry>> {
        std::fs::read_dir(self.place(folder))?.collect()
    }

    fn place(&self, path: Option<&VaultPath>) -> PathBuf {
        path.map_or_else(|| self.root.to_owned(), |path| self.root.join(file_system_form(path.as_str())))
    }

    fn judge(&mut self, folder: Option<&VaultPath>, above: &Rules, entries: &[DirEntry], stack: &mut Vec<Next>) {
        let names: Vec<OsString> = entries.iter().map(DirEntry::file_name).collect();
        let mut has = IgnoreFiles::default();
        for name in &names {
            has.see(name);
        }
        let (rules, unread) = self.policy.refresh(folder, above, has);
        if self.look_at_files {
            let skip = |(path, error): (_, ReadError)| (path, Skip::IgnoreFile(error.to_string()));
            self.found.skipped.extend(unread.into_iter().map(skip));
        }
        for (entry, name) in entries.iter().zip(&names) {
            let path = VaultPath::child(folder, name);
            match entry.file_type() {
                Ok(kind) => stack.extend(self.look_at(path, kind, || entry.metadata(), &rules)),
                Err(error) => self.unreadable(path, &error),
            }
        }
    }

    /// Takes in an entry of a folder with `rules`; a folder that is to be walked is returned.
    fn look_at(
        &mut self,
        path: VaultPath,
        kind: std::fs::FileType,
        meta: impl FnOnce() -> io::Result<std::fs::Metadata>,
        rules: &Rules,
    ) -> Option<Next> {
        let verdict = self.policy.entry(rules, &file_system_form(path.as_str()), kind.is_dir());
        match verdict {
            EntryKind::Folder => return Some((Some(path), rules.clone())),
            _ if !self.look_at_files => {}
            _ if kind.is_symlink() => self.link(path, verdict, rules),
            EntryKind::Ignored(why) => self.leave_out(path, why, kind.is_dir(), rules),
            EntryKind::Note if !kind.is_file() => self.found.skipped.push((path, Skip::NotAFile)),
            EntryKind::Note => match meta() {
                Ok(meta) if meta.len() > self.policy.max_bytes(&path) => {
                    self.found.skipped.push((path, Skip::TooLarge(meta.len())));
                }
                Ok(meta) => self.found.files.push((path, file_stat(&meta))),
                Err(error) => self.unreadable(path, &error),
            },
        }
        None
    }

    /// Counts an entry that is left out, except what no user would look for.
    fn leave_out(&mut self, path: VaultPath, why: Why, is_dir: bool, rules: &Rules) {
        let what = match why {
            Why::DotName | Why::Temporary => return,
            Why::NotANote => ending(path.file_name()),
            why => why.of_setting().to_owned(),
        };
        let has_room = self.found.left_out.len() < MOST_ENDINGS || self.found.left_out.contains_key(&what);
        *self.found.left_out.entry(if has_room { what } else { OTHERS.to_owned() }).or_default() += 1;
        if !is_dir && self.policy.is_attachment_under(rules, &path) {
            self.found.attachments.push(path);
        }
    }

    /// Reports a link if the user could miss something because of it.
    fn link(&mut self, path: VaultPath, as_file: EntryKind, rules: &Rules) {
        let relative = file_system_form(path.as_str()).into_owned();
        let place = self.root.join(&relative);
        let target = place.canonicalize();
        let missed = as_file == EntryKind::Note
            || (self.policy.entry(rules, &relative, true) == EntryKind::Folder
                && target.as_ref().is_ok_and(|target| target.is_dir()));
        if missed {
            let inside = |target: &Path| self.root.canonicalize().is_ok_and(|root| target.starts_with(root));
            let skip = match target {
                Ok(target) if inside(&target) => Skip::LinkInside,
                Ok(_) => Skip::LinkOutside,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Skip::LinkBroken,
                // We must not look at its target, so the target is not in a vault that we may read.
                Err(_) => Skip::LinkOutside,
            };
            self.found.skipped.push((path, skip));
        }
    }

    /// Reports an entry that cannot be read, unless it went away since its folder was listed.
    fn unreadable(&mut self, path: VaultPath, error: &io::Error) {
        if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
            self.found.complete = false;
            self.found.skipped.push((path, Skip::Unreadable(error.to_string())));
        }
    }
}
