//! What is kept beside the notes: contexts under the keys that find them, changes that the index does not
//! see, and the engine's own small values.

use std::collections::HashMap;
use std::sync::Arc;

use super::journal::NoteEvent;
use super::salvage::Fault;
use super::tree::Writes;
use super::{Holder, Store, StoreError, record::NoteRecord};
use context::ContextRecord;
use note::fingerprint::{ContextKey, SectionKey};
use note::{FileStat, VaultPath};

/// What [`Store::archived_all`] found.
#[derive(Debug)]
pub struct ArchivedAll {
    /// Each with the notes that hold or held it; an empty list means that its note is unknown.
    pub found: Vec<(ContextRecord, Vec<Holder>)>,
    /// Why one could not be read.
    pub unread: Option<StoreError>,
}

/// The paths of the notes that have a section.
pub(super) type BySection = HashMap<SectionKey, Vec<Arc<VaultPath>>>;

impl Store {
    /// Keeps a context that was just paid for: in the journal, on the disk, then in the archive under `key`. It was
    /// written for the note at `path`, which had these tags then: no other note gets it while that note exists. Changes
    /// no note and nothing that the index finds. A free context is passed over.
    ///
    /// # Errors
    /// It could not be written. If only the archive failed, the journal has it, and [`Store::archived`] finds it.
    pub fn keep_context_of(
        &self,
        path: &VaultPath,
        tags: &[String],
        key: ContextKey,
        context: &ContextRecord,
    ) -> Result<(), StoreError> {
        if !context.is_paid() {
            return Ok(());
        }
        let note = self.note(path)?;
        let removed = note.is_none();
        let tags = note.map_or_else(|| tags.to_vec(), |note| note.tags);
        let holder = Holder { path: path.to_string(), tags: tags.clone(), removed };
        self.journal.append_with(&[(key, context, &[holder])])?;
        if !removed && self.note(path)?.is_none() {
            // The note was removed meanwhile, perhaps before the journal knew this holder: record the removal now.
            self.journal.record(vec![NoteEvent::Removed { path, tags: &tags }])?;
        }
        let mut writes = Writes::default();
        writes.archive(key, context).and_then(|()| self.commit(&writes)).map_err(|fault| self.fault(fault))
    }

    /// The context that was last archived or paid for under this key, whichever note it was written for.
    ///
    /// # Errors
    /// The database cannot be read; or the journal cannot, and the database does not know the key.
    pub fn archived(&self, key: ContextKey) -> Result<Option<ContextRecord>, StoreError> {
        // The journal is asked first: it alone knows in which order several contexts came under one key. The
        // archive holds the one that was last taken from a chunk, which may be older than what replaced it.
        let journaled = self.journal.get(key);
        match journaled {
            Ok(Some(context)) => Ok(Some(context)),
            journaled => {
                let archived = self.archived_under(key)?;
                archived.map_or(journaled, |context| Ok(Some(context)))
            }
        }
    }

    /// The last context of a generation under this key that the note at `path` holds or held under that path, of all
    /// that were ever archived or paid for.
    ///
    /// # Errors
    /// As for [`Store::archived_all`].
    pub fn archived_of_note(
        &self,
        path: &VaultPath,
        key: ContextKey,
        generation: &str,
    ) -> Result<Option<ContextRecord>, StoreError> {
        let found = self.archived_all(key)?.found;
        let its = |holders: &[Holder]| holders.iter().any(|holder| holder.path == path.as_str());
        let wanted =
            |(context, holders): &(ContextRecord, Vec<Holder>)| context.generation == generation && its(holders);
        Ok(found.into_iter().find(wanted).map(|(context, _)| context))
    }

    /// All contexts that were ever archived or paid for under this key, with the notes that hold or held them, the
    /// last one first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn archived_all(&self, key: ContextKey) -> Result<ArchivedAll, StoreError> {
        let (mut found, unread) = self.journal.all(key);
        let archived = self.archived_under(key)?;
        if let Some(archived) = archived.filter(|archived| found.iter().all(|(known, _)| known != archived)) {
            found.push((archived, Vec::new()));
        }
        Ok(ArchivedAll { found, unread })
    }

    /// Whether a note of the store, except those at `except`, has one of these sections.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn has_section(&self, sections: &[SectionKey], except: &[&VaultPath]) -> Result<bool, StoreError> {
        let notes = self.notes_by_section()?;
        let mut others = sections.iter().filter_map(|section| notes.get(section)).flatten();
        Ok(others.any(|path| !except.contains(&&**path)))
    }

    /// The notes that have each section, collected anew when a note has changed since.
    fn notes_by_section(&self) -> Result<Arc<BySection>, StoreError> {
        let seq = self.seq();
        if let Some((of, known)) = &*self.by_section.lock()
            && *of == seq
        {
            return Ok(known.clone());
        }
        let mut notes = BySection::new();
        for note in self.notes()? {
            let path = Arc::new(note.path);
            for section in note.chunks.iter().flat_map(|chunk| &chunk.keys) {
                let paths = notes.entry(*section).or_default();
                if paths.last() != Some(&path) {
                    paths.push(path.clone());
                }
            }
        }
        let notes = Arc::new(notes);
        *self.by_section.lock() = Some((seq, notes.clone()));
        Ok(notes)
    }

    /// Changes a note's record without a new sequence number, for what the index does not hold (`due`, `later`). Path,
    /// number and sequence number stay, whatever `change` does to them. A note that is not known is left alone; returns
    /// whether it was known.
    ///
    /// # Errors
    /// It could not be read or written, or the change would leave the note another number of chunks than it
    /// has contexts.
    pub fn amend(&self, path: &VaultPath, change: impl FnOnce(&mut NoteRecord)) -> Result<bool, StoreError> {
        // Held so that no transaction comes between reading the record and writing it.
        let counters = self.counters.lock();
        let Some(before) = self.note(path)? else { return Ok(false) };
        let mut after = before.clone();
        change(&mut after);
        (after.path, after.no, after.seq) = (before.path.clone(), before.no, before.seq);
        if after.chunks.len() != before.chunks.len() {
            let message = "a note's chunks cannot be amended without their contexts".to_owned();
            return Err(StoreError::Io { path: self.dir.clone(), message });
        }
        if after != before {
            self.survey_named(&after);
            let mut writes = Writes::default();
            writes.note(&after).and_then(|()| self.commit(&writes)).map_err(|fault| self.fault(fault))?;
        }
        drop(counters);
        Ok(true)
    }

    /// Writes what `stat` says of a note whose text is as it was. A note that is not known is left alone.
    ///
    /// # Errors
    /// It could not be read or written.
    pub fn touch(&self, path: &VaultPath, stat: FileStat) -> Result<(), StoreError> {
        self.amend(path, |record| record.stat = stat).map(drop)
    }

    /// A small value that the engine keeps under a name. A damaged value reads as absent, for the engine can do without
    /// any of them. They are lost when a database is moved aside.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn value(&self, name: &str) -> Result<Option<String>, StoreError> {
        match self.database.with(|trees| trees.value(name)) {
            Err(Fault::Damaged(_)) => Ok(None),
            other => other.map_err(|fault| self.fault(fault)),
        }
    }

    /// Keeps a value under a name, or forgets it; it is on the disk when this returns.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn set_value(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let set = self.database.with(|trees| trees.set_value(name, value).and_then(|()| trees.flush(true)));
        set.map_err(|fault| self.fault(fault))
    }
}
