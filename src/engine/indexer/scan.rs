//! Looks at the disk: what differs from what is known, what is gone, what has moved. Runs on a separate thread when
//! there is much to look at, on the indexer's when a few notes were saved.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use context::plan::{MissingNote, NewNote, NoteTraits, match_moves};
use index::NoteTable;
use note::fingerprint::{TextHash, text_hash};
use note::{FileStat, VaultPath};
use vault::documents::{Documents, FileText};
use vault::policy::{EntryKind, Policy};
use vault::read::{ReadError, born_ns, file_state};
use vault::root::{RootId, VaultError};
use vault::walk;
use vault::walk::Skip;

/// What to look at.
#[derive(Clone, Debug)]
pub(crate) enum Extent {
    /// The whole vault.
    Everything,
    /// These paths, and all below these folders.
    Some {
        /// Single paths.
        paths: BTreeSet<VaultPath>,
        /// Folders.
        folders: BTreeSet<VaultPath>,
    },
}

impl Extent {
    /// Whether a path is looked at.
    pub(crate) fn covers(&self, path: &VaultPath) -> bool {
        match self {
            Extent::Everything => true,
            Extent::Some { paths, folders } => paths.contains(path) || folders.iter().any(|f| path.is_under(f)),
        }
    }
}

/// A note that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Where it is.
    pub(crate) path: VaultPath,
    /// Where it was, if it moved.
    pub(crate) moved_from: Option<VaultPath>,
}

/// What is looked at, and what is known of it.
pub(crate) struct Look<'a> {
    pub(crate) root: &'a Path,
    pub(crate) policy: &'a Policy,
    /// The known notes, to tell which ones have changed.
    pub(crate) known: &'a NoteTable,
    pub(crate) extent: &'a Extent,
    pub(crate) max_bytes: u64,
}

/// What the extent has besides notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beside {
    pub(crate) attachments: Vec<VaultPath>,
    /// As in [`walk::Walk::left_out`]; empty unless everything was looked at.
    pub(crate) left_out: BTreeMap<String, u64>,
}

/// What looking found.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// Notes that are new or whose `stat` differs.
    pub(crate) touched: Vec<Touched>,
    /// Notes that are no longer there (and did not move).
    pub(crate) gone: Vec<VaultPath>,
    /// Files that are not indexed, with the reason.
    pub(crate) skipped: Vec<(VaultPath, Skip)>,
    /// Named paths that could not be looked at for a reason that may pass.
    pub(crate) unread: Vec<VaultPath>,
    /// The folder that was looked at; `None` if only single paths were.
    pub(crate) root: Option<RootId>,
    /// Folders of the vault, if everything was looked at: each should have a watch.
    pub(crate) folders: Vec<VaultPath>,
    /// Notes seen on disk, if everything was looked at.
    pub(crate) seen: Option<usize>,
    /// What there is besides notes; `None` if only notes were looked at.
    pub(crate) beside: Option<Box<Beside>>,
}

/// Looks at the extent of a vault and compares with what is known.
pub(crate) fn scan(look: &Look<'_>, documents: &Documents, cancel: &AtomicBool) -> Result<Findings, VaultError> {
    let Look { root, policy, known, extent, max_bytes } = *look;
    let mut on_disk: HashMap<VaultPath, FileStat> = HashMap::new();
    let (mut skipped, mut unread) = (Vec::new(), Vec::new());
    let mut root_id = None;
    let mut all_folders = Vec::new();
    let mut beside = None;
    match extent {
        Extent::Everything => {
            let walk = walk::walk(root, policy, None, cancel)?;
            root_id = Some(walk.root);
            all_folders = walk.folders;
            beside = Some(Box::new(Beside { attachments: walk.attachments, left_out: walk.left_out }));
            if walk.complete {
                documents.sweep(root, walk.files.iter().map(|(path, stat)| (path, stat)));
            }
            on_disk.extend(walk.files);
            skipped = walk.skipped;
        }
        Extent::Some { paths, folders } => {
            let attachments: Vec<_> = paths.iter().filter(|path| policy.is_attachment(path)).collect();
            let mut there: Vec<_> =
                attachments.iter().filter(|path| file_state(root, path).is_ok()).map(|path| (*path).clone()).collect();
            for folder in folders.iter().filter(|f| policy.verdict(f, true) == EntryKind::Folder) {
                // A folder that is gone has no files; the notes known below it are gone with it. A root that cannot
                // be looked at is an error, and says nothing about them.
                let walk = walk::walk(root, policy, Some(folder), cancel)?;
                on_disk.extend(walk.files);
                skipped.extend(walk.skipped);
                there.extend(walk.attachments);
            }
            if !attachments.is_empty() || !folders.is_empty() {
                beside = Some(Box::new(Beside { attachments: there, left_out: BTreeMap::new() }));
            }
            for path in paths.iter().filter(|p| policy.verdict(p, false) == EntryKind::Note) {
                match file_state(root, path) {
                    Ok(found) => drop(on_disk.insert(path.clone(), found)),
                    // Something else that has a note's name, which is said of it as in a look at everything.
                    Err(ReadError::Outside | ReadError::NotAFile) => {
                        skipped.extend(walk::walk(root, policy, Some(path), cancel)?.skipped);
                    }
                    // It is not there.
                    Err(error) if error.is_final() => {}
                    Err(error) => {
                        unread.extend(matches!(error, ReadError::Io(_)).then(|| path.clone()));
                        skipped.push((path.clone(), Skip::Unreadable(error.to_string())));
                    }
                }
            }
        }
    }
    let missing = missing(known, extent, &on_disk, &skipped);
    let hinted = |path: &VaultPath| matches!(extent, Extent::Some { paths, .. } if paths.contains(path));
    let mut new = Vec::new();
    let mut touched = Vec::new();
    for (path, stat) in &on_disk {
        match known.at(path) {
            // Two writes within one tick of the clock leave the same times: a path that was hinted at is read.
            Some(note) if note.stat == *stat && !hinted(path) => {}
            Some(_) => touched.push(Touched { path: path.clone(), moved_from: None }),
            None => new.push((path.clone(), *stat)),
        }
    }
    let read = |path: &VaultPath| documents.read(root, path, max_bytes);
    let moves = moves(known, &missing, &new, &read, &|path| born_ns(root, path));
    let given: BTreeSet<&VaultPath> = moves.values().collect();
    let gone = missing.iter().filter(|path| !given.contains(path)).cloned().collect();
    touched.extend(new.into_iter().map(|(path, _)| {
        let moved_from = moves.get(&path).cloned();
        Touched { path, moved_from }
    }));
    touched.sort_by(|a, b| a.path.cmp(&b.path));
    let seen = matches!(extent, Extent::Everything).then_some(on_disk.len());
    Ok(Findings { touched, gone, skipped, unread, root: root_id, folders: all_folders, seen, beside })
}

/// Known notes within `extent` that are not on disk. Notes below something that could not be read are not missing:
/// nobody looked.
fn missing(
    known: &NoteTable,
    extent: &Extent,
    on_disk: &HashMap<VaultPath, FileStat>,
    skipped: &[(VaultPath, Skip)],
) -> Vec<VaultPath> {
    let unread: Vec<&VaultPath> =
        skipped.iter().filter(|(_, why)| matches!(why, Skip::Unreadable(_))).map(|(path, _)| path).collect();
    let mut missing: Vec<VaultPath> = match extent {
        // The usual save: a few paths, no folder. Looking each up is faster than going through all known notes.
        Extent::Some { paths, folders } if folders.is_empty() => {
            paths.iter().filter(|p| known.at(p).is_some()).cloned().collect()
        }
        _ => known.iter().map(|note| &note.path).filter(|path| extent.covers(path)).cloned().collect(),
    };
    missing.retain(|path| !on_disk.contains_key(path) && !unread.iter().any(|folder| path.is_under(folder)));
    // A path can have become a folder: what was known below it was asked for by its own event.
    missing.sort();
    missing
}

/// Tells which of the missing notes the new ones are; `born` says when a file was made. Equal text has equal size, so a
/// new note of another size is not read: reading a document may mean converting it, and notes would wait for that.
fn moves(
    known: &NoteTable,
    missing: &[VaultPath],
    new: &[(VaultPath, FileStat)],
    read: &dyn Fn(&VaultPath) -> Result<FileText, ReadError>,
    born: &dyn Fn(&VaultPath) -> Option<i64>,
) -> std::collections::BTreeMap<VaultPath, VaultPath> {
    if missing.is_empty() || new.is_empty() {
        return std::collections::BTreeMap::new();
    }
    let gone = missing.iter().filter_map(|path| {
        let note = known.at(path)?;
        Some(MissingNote { path: path.clone(), known: NoteTraits { hash: note.hash, stat: note.stat } })
    });
    let gone: Vec<MissingNote> = gone.collect();
    let files: HashSet<_> = gone.iter().filter_map(|note| note.known.stat.file()).collect();
    let sizes: HashSet<u64> = gone.iter().map(|note| note.known.stat.size).collect();
    let identify = |(path, stat): &(VaultPath, FileStat)| {
        let text = sizes.contains(&stat.size).then(|| read(path).ok()).flatten();
        let hash = text.map_or(TextHash::UNKNOWN, |text| text_hash(&text.bytes));
        // Read only where it decides.
        let born_ns = stat.file().filter(|file| files.contains(file)).and_then(|_| born(path));
        NewNote { path: path.clone(), known: NoteTraits { hash, stat: *stat }, born_ns }
    };
    match_moves(&gone, &new.iter().map(identify).collect::<Vec<_>>())
}

#[cfg(all(test, unix))]
mod tests;
