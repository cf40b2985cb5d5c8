//! Finds moved notes: which new notes are gone notes under another path. Pure and independent of the order in which the
//! notes were seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use note::fingerprint::TextHash;
use note::{FileStat, VaultPath};

/// A note that the store knows and the disk does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingNote {
    /// Where it was.
    pub path: VaultPath,
    /// What it was.
    pub known: NoteTraits,
}

/// A note that the disk has and the store does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNote {
    /// Where it is.
    pub path: VaultPath,
    /// What it is.
    pub known: NoteTraits,
    /// When its file was made, in nanoseconds since 1970 (UTC), if the file system says so.
    pub born_ns: Option<i64>,
}

/// The traits by which two notes are recognised as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteTraits {
    /// Hash of the bytes.
    pub hash: TextHash,
    /// For the inode: a note that was renamed and edited keeps it.
    pub stat: FileStat,
}

/// Pairs new notes with gone ones: `new path → old path`. First by equal text (the same file name preferred), then by
/// inode. The inode does not count if the file was made after the gone note's `ctime`: then the file system reused the
/// number of a deleted file. Every gone note is paired at most once.
pub fn match_moves(gone: &[MissingNote], new: &[NewNote]) -> BTreeMap<VaultPath, VaultPath> {
    let mut moves = BTreeMap::new();
    if gone.is_empty() || new.is_empty() {
        return moves;
    }
    let mut by_text: HashMap<TextHash, BTreeSet<&VaultPath>> = HashMap::new();
    let mut by_inode: HashMap<(u64, u64), &MissingNote> = HashMap::new();
    for note in gone {
        if note.known.hash != TextHash::UNKNOWN {
            by_text.entry(note.known.hash).or_default().insert(&note.path);
        }
        by_inode.extend(note.known.stat.file().map(|file| (file, note)));
    }
    let new: BTreeMap<&VaultPath, &NewNote> = new.iter().map(|note| (&note.path, note)).collect();
    let mut taken: BTreeSet<&VaultPath> = BTreeSet::new();
    let same_name_first = [true, false];
    for same_name in same_name_first {
        for (path, NewNote { known, .. }) in &new {
            if moves.contains_key(*path) {
                continue;
            }
            let candidates = by_text.get(&known.hash).into_iter().flatten();
            let fits =
                |old: &&&VaultPath| !taken.contains(**old) && (!same_name || old.file_name() == path.file_name());
            if let Some(old) = candidates.filter(|old| fits(old)).copied().next() {
                taken.insert(old);
                moves.insert((*path).clone(), old.clone());
            }
        }
    }
    for (path, NewNote { known, born_ns, .. }) in &new {
        let old = known.stat.file().and_then(|file| by_inode.get(&file));
        let is_old = |old: &&&MissingNote| born_ns.is_none_or(|born| born <= old.known.stat.ctime_ns);
        if let (false, Some(old)) = (moves.contains_key(*path), old.filter(is_old))
            && taken.insert(&old.path)
        {
            moves.insert((*path).clone(), old.path.clone());
        }
    }
    moves
}
