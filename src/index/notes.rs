//! The notes of an index, by their numbers and by their paths; cheap to copy, like [`Blocks`].

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lookup::{Hashed, Lookup};
use super::{NoteEntry, NoteNo};
use note::VaultPath;
use vector::Blocks;

/// Notes by number and by path.
#[derive(Clone, Default)]
pub struct NoteTable {
    notes: Blocks<Arc<NoteEntry>>,
    paths: Lookup,
    count: usize,
    /// Those that look like a sync conflict's copy: few, if any.
    conflicts: Arc<BTreeSet<NoteNo>>,
}

/// A [`NoteTable`] that is made of many notes at once, which is cheaper than putting one after the other.
#[derive(Default)]
pub(super) struct NoteTableBuilder {
    notes: Blocks<Arc<NoteEntry>>,
    paths: Hashed,
    count: usize,
    conflicts: BTreeSet<NoteNo>,
}

impl NoteTableBuilder {
    /// Adds a note at its number, which no other one may have.
    pub(super) fn add(&mut self, note: NoteEntry) {
        let no = note.no;
        self.paths.add(no, &note.path);
        if note.conflict {
            self.conflicts.insert(no);
        }
        self.count += 1;
        self.notes.set(no, Some(Arc::new(note)));
    }

    /// Adds the notes of another one.
    pub(super) fn append(&mut self, others: NoteTableBuilder) {
        let NoteTableBuilder { notes, paths, count, mut conflicts } = others;
        self.notes.append(notes);
        self.paths.append(paths);
        self.count += count;
        self.conflicts.append(&mut conflicts);
    }

    /// The table of these notes.
    pub(super) fn build(self) -> NoteTable {
        let NoteTableBuilder { notes, paths, count, conflicts } = self;
        NoteTable { paths: paths.lookup(&notes), notes, count, conflicts: Arc::new(conflicts) }
    }
}

impl NoteTable {
    /// The note of this number.
    pub fn get(&self, no: NoteNo) -> Option<&Arc<NoteEntry>> {
        self.notes.get(no)
    }

    /// The note at a path.
    pub fn at(&self, path: &VaultPath) -> Option<&Arc<NoteEntry>> {
        self.get(self.paths.get(path, &self.notes)?)
    }

    /// All notes, in order of number.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NoteEntry>> {
        self.notes.iter()
    }

    /// Those that look like a sync conflict's copy, in order of number.
    pub fn conflicts(&self) -> impl Iterator<Item = &Arc<NoteEntry>> {
        self.conflicts.iter().filter_map(|no| self.get(*no))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Puts a note in place of the one with its number, and takes over its path from whichever note had it.
    pub(super) fn put(&mut self, note: NoteEntry) {
        let no = note.no;
        self.remove(no);
        if note.conflict {
            Arc::make_mut(&mut self.conflicts).insert(no);
        }
        self.notes.set(no, Some(Arc::new(note)));
        self.paths.insert(no, &self.notes);
        self.count += 1;
    }

    /// Removes a note; its path only if no other note has taken it over.
    pub(super) fn remove(&mut self, no: NoteNo) -> Option<Arc<NoteEntry>> {
        self.paths.forget(no, &self.notes);
        let removed = self.notes.set(no, None)?;
        self.count -= 1;
        if removed.conflict {
            Arc::make_mut(&mut self.conflicts).remove(&no);
        }
        Some(removed)
    }

    /// Changes what the table says of a note's file.
    pub(super) fn amend(&mut self, no: NoteNo, change: impl FnOnce(&mut NoteEntry)) {
        let Some(note) = self.notes.get(no) else { return };
        let mut changed = (**note).clone();
        change(&mut changed);
        self.notes.set(no, Some(Arc::new(changed)));
    }
}

impl FromIterator<NoteEntry> for NoteTable {
    fn from_iter<I: IntoIterator<Item = NoteEntry>>(notes: I) -> Self {
        let mut table = NoteTable::default();
        notes.into_iter().for_each(|note| table.put(note));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::note;
    use super::*;

    #[test]
    fn a_path_is_that_of_the_note_that_took_it_last() {
        let path = |path: &str| VaultPath::parse(path).unwrap();
        let mut notes: NoteTable = [note(1, 1, "a.md"), note(2, 1, "b.md")].into_iter().collect();
        let before = notes.clone();
        notes.put(note(2, 2, "a.md"));
        assert_eq!(notes.at(&path("a.md")).map(|note| (note.no, note.seq)), Some((2, 2)));
        assert!(notes.at(&path("b.md")).is_none() && notes.len() == 2);
        notes.remove(1);
        assert_eq!(notes.at(&path("a.md")).map(|note| note.no), Some(2), "it had been taken over");
        notes.amend(2, |note| note.stat.size = 7);
        notes.amend(7, |_| panic!("there is none"));
        assert_eq!(notes.iter().map(|note| (note.no, note.stat.size)).collect::<Vec<_>>(), [(2, 7)]);
        assert!(notes.remove(2).is_some() && notes.remove(2).is_none() && notes.is_empty());
        assert_eq!(before.iter().map(|note| note.path.as_str()).collect::<Vec<_>>(), ["a.md", "b.md"]);
        assert_eq!(before.at(&path("b.md")).map(|note| note.no), Some(2));
    }

    #[test]
    fn copies_of_conflicts_are_known_as_long_as_they_are_there() {
        let copy = |no: NoteNo, conflict| NoteEntry { conflict, ..note(no, 1, &format!("{no}.md")) };
        let numbers = |notes: &NoteTable| notes.conflicts().map(|note| note.no).collect::<Vec<_>>();
        let mut notes: NoteTable = [copy(3, true), copy(1, true), copy(2, false)].into_iter().collect();
        let before = notes.clone();
        let (mut builder, mut others) = (NoteTableBuilder::default(), NoteTableBuilder::default());
        notes.iter().take(2).for_each(|note| builder.add((**note).clone()));
        notes.iter().skip(2).for_each(|note| others.add((**note).clone()));
        builder.append(others);
        let built = builder.build();
        assert_eq!((numbers(&built), built.len()), (numbers(&notes), 3));
        assert!(notes.iter().all(|note| built.at(&note.path).is_some_and(|at| at.no == note.no)));
        notes.put(copy(1, false));
        notes.put(copy(2, true));
        notes.remove(3);
        assert_eq!((numbers(&before), numbers(&notes)), (vec![1, 3], vec![2]));
    }
}
