//! Names and links of notes that were found elsewhere, as far as these notes tell: each tells which notes it links to.
//! So a link between a note and one that the query names is known if the note that has the link was found; and a named
//! note is nearly always found.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::links::key;
use crate::{NoteEntry, NoteNo};

/// Names and links.
#[derive(Debug, Default)]
pub(super) struct NamesElsewhere {
    /// The notes that bear a name; names are in the form in which they are compared.
    bearers: BTreeMap<String, Vec<NoteNo>>,
    /// The notes that link to a note or from it.
    linked: HashMap<NoteNo, Vec<NoteNo>>,
}

impl NamesElsewhere {
    /// From the notes that were found, each with its vault. Notes that are only linked to get numbers above theirs.
    pub(super) fn of<'a>(notes: impl Iterator<Item = (&'a str, &'a NoteEntry)> + Clone) -> Self {
        let mut elsewhere = NamesElsewhere::default();
        let mut known: HashMap<(&str, &str), NoteNo> = HashMap::new();
        let mut next = 0;
        for (vault, note) in notes.clone() {
            next = next.max(note.no + 1);
            if known.insert((vault, note.path.as_str()), note.no).is_none() {
                for name in std::iter::once(note.path.stem()).chain(note.names()) {
                    elsewhere.bears(name, note.no);
                }
            }
        }
        let mut told = HashSet::new();
        for (vault, note) in notes.filter(|(_, note)| told.insert(note.no)) {
            for target in note.links() {
                let no = *known.entry((vault, target)).or_insert_with(|| {
                    next += 1;
                    next - 1
                });
                elsewhere.bears(stem(target), no);
                elsewhere.links(note.no, no);
            }
        }
        elsewhere
    }

    fn bears(&mut self, name: &str, no: NoteNo) {
        let bearers = self.bearers.entry(key(name)).or_default();
        if !bearers.contains(&no) {
            bearers.push(no);
        }
    }

    fn links(&mut self, from: NoteNo, to: NoteNo) {
        for (one, other) in [(from, to), (to, from)] {
            let linked = self.linked.entry(one).or_default();
            if !linked.contains(&other) {
                linked.push(other);
            }
        }
    }

    /// The notes of this name.
    pub(super) fn bearing(&self, name: &str) -> Vec<NoteNo> {
        self.bearers.get(&key(name)).cloned().unwrap_or_default()
    }

    /// Names of several words that begin with this one, each with its note; none if more than `most` begin so.
    pub(super) fn beginning(&self, word: &str, most: usize) -> Vec<(NoteNo, Box<str>)> {
        let first = format!("{} ", key(word));
        let names = self.bearers.range(first.clone()..).take_while(|(name, _)| name.starts_with(&first));
        let of_all = names.flat_map(|(name, bearers)| bearers.iter().map(|no| (*no, name.as_str().into())));
        let begun: Vec<_> = of_all.take(most + 1).collect();
        if begun.len() > most { Vec::new() } else { begun }
    }

    /// The notes that link to a note or from it.
    pub(super) fn linked_with(&self, no: NoteNo) -> Vec<NoteNo> {
        self.linked.get(&no).cloned().unwrap_or_default()
    }
}

/// The name of the note at a path.
fn stem(path: &str) -> &str {
    note::format::without_ending(path.rsplit('/').next().unwrap_or(path))
}
