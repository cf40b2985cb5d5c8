//! The archive of contexts, as one note may see it: contexts that were written for another note which still exists, or
//! for a private one, are not found ([`context::plan::may_reuse`]).

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use super::NotePipeline;
use crate::disk_access::{Hangs, STATES_WITHIN};
use context::ContextRecord;
use context::plan::{PendingContext, Reason, Source, Unknown, may_adopt, may_reuse};
use note::fingerprint::{ContextKey, context_key};
use note::{FileStat, Private, VaultPath};
use store::record::NoteRecord;
use store::{ArchivedAll, Holder, Store, StoreError};
use vault::read::ReadError;

/// The note for which the archive is searched.
#[derive(Clone, Copy)]
pub(crate) struct Claimant<'a> {
    pub(super) path: &'a VaultPath,
    /// Where it was before, if it moved just now.
    pub(super) moved_from: Option<&'a VaultPath>,
    pub(super) stat: FileStat,
    pub(super) private: bool,
}

impl NotePipeline {
    /// The claimant for a note of the store.
    pub(crate) fn claimant<'a>(&self, record: &'a NoteRecord) -> Claimant<'a> {
        let private = self.private.covers(&record.path, &record.tags);
        Claimant { path: &record.path, moved_from: None, stat: record.stat, private }
    }

    /// Takes the contexts of another generation that are `wanted` into the archive of this one, by a file in `dir`.
    pub(crate) fn take_from(
        &self,
        from: &Store,
        dir: &Path,
        wanted: &dyn Fn(&ContextRecord) -> bool,
    ) -> Result<(), String> {
        let path = dir.join("contexts.jsonl");
        let written = File::create(&path).map_err(|error| error.to_string())?;
        from.export(BufWriter::new(written), wanted, &Private::default()).map_err(|error| error.to_string())?;
        let file = File::open(&path).map_err(|error| error.to_string())?;
        let report = self.store.import(BufReader::new(file)).map_err(|error| error.to_string())?;
        match report.bad.first() {
            Some((line, why)) => Err(format!("line {line} of its contexts: {why}")),
            None => std::fs::remove_file(&path).map_err(|error| error.to_string()),
        }
    }

    /// The requests of a note that the archive does not answer, and whether it answers any.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn unanswered(
        &self,
        record: &NoteRecord,
    ) -> Result<(Vec<(ContextKey, PendingContext)>, bool), StoreError> {
        let generation = self.contextualizer(record.kind.as_deref());
        let (mut unanswered, mut answers) = (Vec::new(), false);
        let mut stored = None;
        for (i, chunk) in record.chunks.iter().enumerate() {
            let Some(due) = chunk.due else { continue };
            let key = context_key(&chunk.keys, chunk.hash);
            let mut serving = || -> Result<Option<ContextRecord>, StoreError> {
                if stored.is_none() {
                    stored = Some(self.store.contexts(&record.path)?);
                }
                Ok(stored.as_ref().and_then(|stored| stored.get(i).cloned()))
            };
            let is_answer = match self.written_by(self.claimant(record), key, &generation)? {
                Some(context) if context.written_at >= due.since => true,
                // One for this very text answers what was asked for while another model was in force: so says the plan.
                // If it serves already, the request is what a rebuild that ended early left.
                Some(context) if asks_anew(due.reason) && context.written_for == chunk.hash => {
                    due.reason != Reason::ContextualizerChanged
                        || serving()?.is_none_or(|serving| serving.generation != generation)
                }
                // One that is older, for example an imported one, takes the place of a free context: the plan does the
                // same. A rebuild wants a newer one, and so does a request in place of a paid context.
                Some(_) if due.reason != Reason::Rebuild => !serving()?.is_some_and(|serving| serving.is_paid()),
                _ => false,
            };
            answers |= is_answer;
            unanswered.extend((!is_answer).then_some((key, due)));
        }
        Ok((unanswered, answers))
    }

    /// What a model of this generation wrote last for a chunk of a note.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn written_by(
        &self,
        note: Claimant<'_>,
        key: ContextKey,
        generation: &str,
    ) -> Result<Option<ContextRecord>, StoreError> {
        let ArchivedAll { found, unread } = self.store.archived_all(key)?;
        let by = |(context, _): &(ContextRecord, _)| context.generation == generation;
        self.first(note, found.into_iter().filter(by), unread)
    }

    /// What the archive has for a chunk of a note: by the generation in force if there is one, else the last one.
    pub(super) fn archived(
        &self,
        note: Claimant<'_>,
        key: ContextKey,
        contextualizer: &str,
    ) -> Result<Option<ContextRecord>, StoreError> {
        let ArchivedAll { found, unread } = self.store.archived_all(key)?;
        let (by_it, by_others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(context, _)| context.generation == contextualizer);
        self.first(note, by_it.into_iter().chain(by_others), unread)
    }

    /// The first context that a note may be given; if there is none, why others are `unread`.
    fn first(
        &self,
        note: Claimant<'_>,
        contexts: impl Iterator<Item = (ContextRecord, Vec<Holder>)>,
        unread: Option<StoreError>,
    ) -> Result<Option<ContextRecord>, StoreError> {
        for (context, holders) in contexts {
            let named = holders.iter().filter(|holder| !holder.is_unnamed());
            let sources: Vec<Source> = named.map(|holder| self.source(note, holder)).collect();
            let given = !holders.is_empty();
            if may_reuse(&sources, note.private) || (sources.is_empty() && self.may_adopt(note, &context, given)?) {
                return Ok(Some(context));
            }
        }
        unread.map_or(Ok(None), Err)
    }

    fn source(&self, note: Claimant<'_>, holder: &Holder) -> Source {
        let is = |path: &VaultPath| path.as_str() == holder.path;
        let here = is(note.path) || note.moved_from.is_some_and(is);
        let path = VaultPath::parse(&holder.path);
        Source {
            here,
            removed: holder.removed,
            gone: !here && path.as_ref().is_none_or(|path| self.is_gone(path, note.stat)),
            private: path.is_none_or(|path| self.private.covers(&path, &holder.tags)),
        }
    }

    /// Whether a path holds nothing, or the very file of the claimant, whose state is `stat`: a file system that folds
    /// the case of names finds a note under its old name too. The vault's own thread asks the file system, because
    /// workers serve other vaults too.
    fn is_gone(&self, path: &VaultPath, stat: FileStat) -> bool {
        let (root, other) = (self.root.clone(), path.clone());
        match self.disk.ask(STATES_WITHIN, move |disk| disk.stat(&root, &other)) {
            Ok(Err(ReadError::Gone)) => true,
            Ok(Ok(other)) => stat.file().is_some_and(|file| other.file() == Some(file)),
            // If the file system cannot tell, the note does not count as gone.
            Ok(Err(_)) | Err(Hangs) => false,
        }
    }

    /// Whether a note may be given a context of which nobody knows for what note it was written; `given`: somebody
    /// brought it in.
    fn may_adopt(&self, note: Claimant<'_>, context: &ContextRecord, given: bool) -> Result<bool, StoreError> {
        let mut own = vec![note.path];
        own.extend(note.moved_from);
        let mut was_there = false;
        for path in &own {
            was_there |= self.store.contexts(path)?.iter().any(|held| held.written_at <= context.written_at);
        }
        let unknown = Unknown {
            elsewhere: self.store.has_section(&context.sections, &own)?,
            shown: self.writer_leaves && self.wrote(context),
            was_there,
            given,
        };
        Ok(may_adopt(unknown, note.private))
    }

    /// Whether the model in force wrote a context, whatever its instructions were.
    fn wrote(&self, context: &ContextRecord) -> bool {
        let by = |generation: &str| generation.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
        by(&context.generation) == by(&self.contextualizer(None))
    }
}

/// Whether it is asked for because the model in force had not written it then.
fn asks_anew(reason: Reason) -> bool {
    matches!(reason, Reason::NewNote | Reason::StructureChanged | Reason::ContextualizerChanged)
}
