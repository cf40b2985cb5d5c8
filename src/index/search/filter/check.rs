//! One condition of a filter, held against notes.

use std::collections::HashSet;

use super::Key;
use crate::search::fold::fold;
use crate::search::pattern::PathPattern;
use crate::{Cancel, NoteEntry, NoteNo, Snapshot};

/// One condition, ready to be asked about many notes.
pub(super) enum Check {
    Tag(String),
    Path(PathPattern),
    Type(String),
    /// Whether the notes' vault is the one that is named.
    Vault(bool),
    Linking(HashSet<NoteNo>),
    /// A target that names no note (yet): it is compared with the links as they are written.
    Written(String),
}

impl Check {
    pub(super) fn new(key: Key, value: &str, notes: &impl Fn(Key, &str) -> Option<HashSet<NoteNo>>) -> Option<Self> {
        match key {
            Key::Tag => Some(Check::Tag(fold(value).into_owned())),
            // Only the folder of a vault has no name in it.
            Key::Path => PathPattern::new(if value.is_empty() { "**" } else { value }).map(Check::Path),
            Key::Type => Some(Check::Type(fold(value).into_owned())),
            Key::Link | Key::LinkedFrom => {
                // A name may have signs that part a heading, a block or a text from the name in a link.
                let mention = note::link(&format!("[[{value}]]")).and_then(|link| link.mention());
                let (target, other) = mention.as_deref().map_or((value, None), crate::links::sides);
                let mut names =
                    [Some(value), Some(target).filter(|target| *target != value), other].into_iter().flatten();
                Some(match names.find_map(|name| notes(key, name)) {
                    Some(notes) => Check::Linking(notes),
                    None if key == Key::LinkedFrom => Check::Linking(HashSet::new()),
                    None => Check::Written(fold(target).into_owned()),
                })
            }
            Key::Vault | Key::After | Key::Before | Key::On | Key::Last | Key::Created | Key::Modified => None,
        }
    }

    pub(super) fn holds(&self, note: &NoteEntry) -> bool {
        match self {
            Check::Tag(tag) => note.tags().any(|have| {
                fold(have).strip_prefix(tag.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
            Check::Path(pattern) => pattern.matches(note.path.as_str()),
            Check::Type(kind) => note.kind().is_some_and(|have| fold(have) == kind.as_str()),
            Check::Vault(is_it) => *is_it,
            Check::Linking(notes) => notes.contains(&note.no),
            Check::Written(target) => note.links().any(|link| fold(crate::links::sides(link).0) == target.as_str()),
        }
    }
}

/// The notes that link to a note that `target` names; `None` if it names none, or hidden ones alone.
pub(super) fn linking(
    snapshot: &Snapshot,
    target: &str,
    hides: &impl Fn(&NoteEntry) -> bool,
    cancel: &Cancel,
) -> Option<HashSet<NoteNo>> {
    let named = snapshot.meant(target, hides);
    // Once `cancel` is raised the search ends, whatever these are.
    (!named.is_empty()).then(|| snapshot.linking(&named, cancel).into_iter().collect())
}

/// The notes that those of this name link to, but for themselves; `None` if there is no such note.
pub(super) fn linked(snapshot: &Snapshot, name: &str, hides: &impl Fn(&NoteEntry) -> bool) -> Option<HashSet<NoteNo>> {
    let named = snapshot.meant(name, hides);
    let of_note = |note: &NoteEntry| {
        let targets = note.links().filter_map(|target| snapshot.resolve(target, &note.path));
        targets.filter(|other| *other != note.no).collect::<Vec<_>>()
    };
    let notes = || named.iter().filter_map(|no| snapshot.note(*no));
    (!named.is_empty()).then(|| notes().flat_map(|note| of_note(note)).collect())
}
