//! Targets of links that name no note.

use std::collections::{HashMap, HashSet};

use crate::links;
use crate::{NoteEntry, NoteNo};

/// A link target that names no note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// As one of the links writes it.
    pub target: String,
    /// The notes that link to it, in order of number.
    pub notes: Vec<NoteNo>,
}

/// Mentions that name no note, each with the note that has it, in order of number.
#[derive(Default)]
pub(super) struct Missing<'a>(Vec<(&'a str, &'a NoteEntry)>);

impl<'a> Missing<'a> {
    /// A mention that names none. A tag need not have a page.
    pub(super) fn push(&mut self, mention: &'a str, note: &'a NoteEntry) {
        if !links::is_file(mention) && !mention.starts_with('#') {
            self.0.push((mention, note));
        }
    }

    /// The targets, those that most notes link to first; `notes` are all notes. `text_first` says how links with a bar are
    /// read. Links to folders, and out of the vault, are left out.
    pub(super) fn targets(self, notes: &[&NoteEntry], text_first: bool) -> Vec<Unresolved> {
        let folders = if self.0.is_empty() { HashSet::new() } else { folders(notes) };
        let mut targets: HashMap<String, Unresolved> = HashMap::new();
        for (mention, note) in self.0 {
            let (first, second) = links::sides(mention);
            let target = second.filter(|_| text_first).unwrap_or(first);
            let Some(place) = links::missing(target, &note.path, &folders) else { continue };
            let of_place = || Unresolved { target: target.to_owned(), notes: Vec::new() };
            let unresolved = targets.entry(place).or_insert_with(of_place);
            if unresolved.notes.last() != Some(&note.no) {
                unresolved.notes.push(note.no);
            }
        }
        let mut targets: Vec<Unresolved> = targets.into_values().collect();
        targets.sort_by(|a, b| b.notes.len().cmp(&a.notes.len()).then_with(|| a.target.cmp(&b.target)));
        targets
    }
}

/// The folders that hold notes, themselves or below them, in the form in which names are compared.
fn folders(notes: &[&NoteEntry]) -> HashSet<String> {
    let mut folders = HashSet::new();
    for note in notes {
        let mut folder = links::key(note.path.folder());
        while !folder.is_empty() && !folders.contains(&folder) {
            let above = folder.rfind('/').unwrap_or(0);
            let next = folder[..above].to_owned();
            folders.insert(std::mem::replace(&mut folder, next));
        }
    }
    folders
}
