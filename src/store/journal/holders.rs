//! Which notes hold, or held, the contexts of a journal.
//!
//! A holder is one life of a note: it begins when a note at its path first holds a context, follows the note to other
//! paths, and ends when the note is removed. A note that comes later under the same path is another holder, so that a
//! public note never gets what a private one left behind.

use std::collections::HashMap;

/// A note that holds or held a context.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Holder {
    /// Its path in the vault, the last one that it had.
    pub path: String,
    /// Its tags, when it was last written; they tell whether it is private.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether the note was removed since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

impl Holder {
    /// Stands for the unknown note of a context that was imported without one.
    pub fn unnamed() -> Self {
        Holder { path: String::new(), tags: Vec::new(), removed: true }
    }

    /// Whether this is no note, but stands for the unknown note of an import.
    pub fn is_unnamed(&self) -> bool {
        self.path.is_empty()
    }
}

/// No holder is known.
const NONE: u32 = u32::MAX;

/// The holders of a journal's contexts. Contexts are numbered as the journal numbers them.
#[derive(Default)]
pub(super) struct Holders {
    notes: Vec<Holder>,
    /// The notes that were not removed, by path.
    living: HashMap<String, u32>,
    /// The removed notes, by their last path.
    past: HashMap<String, Vec<u32>>,
    /// The first holder of each context.
    first: Vec<u32>,
    /// The other holders of a context; few contexts have any.
    more: HashMap<u32, Vec<u32>>,
}

impl Holders {
    /// Records that a note holds contexts.
    pub(super) fn hold(&mut self, holder: &Holder, contexts: impl IntoIterator<Item = u32>) {
        let note = self.number(holder);
        for context in contexts {
            self.add(context, note);
        }
    }

    /// The number of a holder, which is added if it is not known. A known note that was not removed gets the holder's
    /// tags.
    fn number(&mut self, holder: &Holder) -> u32 {
        let past = self.past.get(&holder.path).filter(|_| holder.removed);
        let known = match past {
            Some(past) => past.iter().copied().find(|note| self.notes[*note as usize] == *holder),
            None => self.living.get(&holder.path).copied().filter(|_| !holder.removed),
        };
        if let Some(known) = known {
            self.notes[known as usize].tags.clone_from(&holder.tags);
            return known;
        }
        let number = self.notes.len() as u32;
        self.notes.push(holder.clone());
        if holder.removed {
            self.past.entry(holder.path.clone()).or_default().push(number);
        } else {
            self.living.insert(holder.path.clone(), number);
        }
        number
    }

    fn add(&mut self, context: u32, note: u32) {
        if self.numbers(context).any(|known| known == note) {
            return;
        }
        let index = context as usize;
        if self.first.len() <= index {
            self.first.resize(index + 1, NONE);
        }
        if self.first[index] == NONE {
            self.first[index] = note;
        } else {
            self.more.entry(context).or_default().push(note);
        }
    }

    /// Records that the note at `from` is now at `to`. A note that was at `to` counts as removed.
    pub(super) fn moved(&mut self, from: &str, to: &str) {
        let Some(note) = self.living.remove(from) else { return };
        if let Some(before) = self.living.insert(to.to_owned(), note) {
            self.end(before);
        }
        to.clone_into(&mut self.notes[note as usize].path);
    }

    /// Records that the note at `path`, which had these tags, is removed.
    pub(super) fn removed(&mut self, path: &str, tags: &[String]) {
        let Some(note) = self.living.remove(path) else { return };
        self.notes[note as usize].tags = tags.to_vec();
        self.end(note);
    }

    fn end(&mut self, note: u32) {
        let holder = &mut self.notes[note as usize];
        holder.removed = true;
        self.past.entry(holder.path.clone()).or_default().push(note);
    }

    /// The tags of the note that lives at a path, if it holds contexts.
    pub(super) fn tags_at(&self, path: &str) -> Option<&[String]> {
        self.living.get(path).map(|note| self.notes[*note as usize].tags.as_slice())
    }

    /// Whether the note that lives at a path holds a context.
    pub(super) fn holds(&self, path: &str, context: u32) -> bool {
        self.living.get(path).is_some_and(|note| self.numbers(context).any(|holder| holder == *note))
    }

    /// The holders of a context, in the order in which they came to it.
    pub(super) fn of(&self, context: u32) -> impl Iterator<Item = &Holder> {
        self.numbers(context).map(|note| &self.notes[note as usize])
    }

    fn numbers(&self, context: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.first.get(context as usize).copied().filter(|note| *note != NONE);
        first.into_iter().chain(self.more.get(&context).into_iter().flatten().copied())
    }

    /// Every holder with the contexts that it holds or held, in their order.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Holder, Vec<u32>)> {
        let mut contexts: Vec<Vec<u32>> = vec![Vec::new(); self.notes.len()];
        for context in 0..self.first.len() as u32 {
            self.numbers(context).for_each(|note| contexts[note as usize].push(context));
        }
        self.notes.iter().zip(contexts).filter(|(_, contexts)| !contexts.is_empty())
    }
}
