//! Targets of links that name no note.

use std::collections::{HashMap, HashSet};

use crate::links::{self, Side};
use crate::{NoteEntry, NoteNo};

/// A link target that names no note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// As one of the links writes it.
    pub target: String,
    /// The notes that link to it, in order of number.
    pub notes: Vec<NoteNo>,
}

/// What was found while the links of a vault were resolved.
#[derive(Default)]
pub(super) struct Missing<'a> {
    /// Mentions that name no note, each with the note that has it, in order of number.
    mentions: Vec<(&'a str, &'a NoteEntry)>,
    /// Links with a bar whose first side named a note, and whose second did.
    firsts: usize,
    seconds: usize,
}

impl<'a> Missing<'a> {
    /// A mention whose `side` names a note.
    pub(super) fn resolved(&mut self, mention: &str, side: Side) {
        if links::sides(mention).1.is_some() {
            match side {
                Side::First => self.firsts += 1,
                Side::Second => self.seconds += 1,
            }
        }
    }

    /// A mention that names none.
    pub(super) fn push(&mut self, mention: &'a str, note: &'a NoteEntry) {
        if !links::is_file(mention) {
            self.mentions.push((mention, note));
        }
    }

    /// The targets, those that most notes link to first; `notes` are all notes. A link with a bar is read as most of
    /// those that name a note, and as Obsidian reads it if there are as many of both kinds. Links to folders, and
    /// out of the vault, are left out.
    pub(super) fn targets(self, notes: &[&NoteEntry]) -> Vec<Unresolved> {
        let folders = if self.mentions.is_empty() { HashSet::new() } else { folders(notes) };
        let mut targets: HashMap<String, Unresolved> = HashMap::new();
        for (mention, note) in self.mentions {
            let (first, second) = links::sides(mention);
            let target = second.filter(|_| self.seconds > self.firsts).unwrap_or(first);
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
