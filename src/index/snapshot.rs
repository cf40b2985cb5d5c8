//! [`Index`], the one writer, and [`Snapshot`], the immutable view that it hands out.

mod corpus;
mod saved;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::analyze;
use super::documents::{Bulk, Documents, Texts, View};
use super::graph::{GoOn, Graph};
use super::grep::Pattern;
use super::links::{self, Links, Side};
use super::query::Form;
use super::together::HavingAll;
use super::{
    Allowed, Cancel, ChunkDoc, ChunkEntry, ChunkText, Corpus, Language, LexicalError, LexicalQuery, Meant, NoteEntry,
    NoteNo, NoteTable, Row,
};

use note::fingerprint::{ChunkId, TextHash};
use note::{FileStat, VaultPath};
use vector::Blocks;
use vector::Vector;
use vector::{Coder, FreeSlots, Matrix, Scan, WindowVector, Windows};

use saved::Saved;
pub use saved::{Stamp, has_saved};

/// Everything that a snapshot holds in memory. A clone copies pointers only.
#[derive(Clone)]
struct Tables {
    notes: NoteTable,
    chunks: Blocks<ChunkEntry>,
    chunk_count: usize,
    /// One more than the highest row ever used.
    rows: u32,
    links: Links,
    windows: Windows,
}

/// The one writer of the index.
pub struct Index {
    tables: Tables,
    free_rows: Vec<Row>,
    free_slots: FreeSlots,
    documents: Documents,
    saved: Saved,
}

impl Index {
    /// Opens or creates the lexical index in a subfolder of `dir`; starts with empty tables. A lexical index that is
    /// damaged, of another version, or not certainly on the disk is thrown away ([`Index::rebuilt`] tells why). Fails
    /// if another process has it open or the folder cannot be written.
    pub fn open(dir: &Path, dimensions: usize) -> Result<Self, LexicalError> {
        let mut index = Index::open_unchecked(dir, dimensions, None)?;
        index.check()?;
        Ok(index)
    }

    /// The same for a vault whose notes are all in one `language`; `None` detects it for each note. Front matter (`lang:`)
    /// overrides both. Does not read the files of the lexical index, which takes time: [`Index::check`] has to be called
    /// before anything is loaded or changed. Only what restores tables and [`Index::publish`] may come before that, and
    /// searches that find damage fail.
    pub fn open_unchecked(dir: &Path, dimensions: usize, language: Option<Language>) -> Result<Self, LexicalError> {
        let documents = Documents::open_unchecked(dir, language)?;
        let tables = Tables {
            notes: NoteTable::default(),
            chunks: Blocks::default(),
            chunk_count: 0,
            rows: 0,
            links: Links::default(),
            windows: Windows::new(dimensions, None),
        };
        let (free_rows, free_slots) = (Vec::new(), FreeSlots::default());
        Ok(Index { tables, free_rows, free_slots, documents, saved: Saved::in_folder(dir) })
    }

    /// Reads the files of the lexical index, if [`Index::open_unchecked`] did not. A damaged one is thrown away.
    pub fn check(&mut self) -> Result<(), LexicalError> {
        self.saved.clear();
        self.documents.check()
    }

    /// Sets the matrix with the values of the vectors that come with a record from now on; for an index that is still
    /// empty.
    pub fn set_matrix(&mut self, matrix: Arc<dyn Matrix>) {
        self.tables.windows = Windows::new(self.tables.windows.dimensions(), Some(matrix));
    }

    /// Prepares vectors for [`Index::load`] on another thread.
    pub fn coder(&self) -> Coder {
        self.tables.windows.coder()
    }

    /// Why [`Index::open`] threw the lexical index away and started with an empty one; `None` if it did not.
    pub fn rebuilt(&self) -> Option<&str> {
        self.documents.rebuilt()
    }

    /// Restart: brings a note of the store into the tables without touching the lexical index, and says
    /// whether that already holds all its documents: else the note must be put again. Vectors of another length than the
    /// index's are left out.
    pub fn load(&mut self, note: NoteEntry, chunks: Vec<(ChunkEntry, Vec<WindowVector>)>) -> bool {
        let has_words = self.confirm(note.no, note.seq, chunks.len());
        self.place(note, chunks.len(), chunks.into_iter());
        has_words
    }

    /// As [`Index::load`], for a note that was restored and is as the store has it, with so many chunks.
    pub fn confirm(&mut self, note: NoteNo, seq: u64, chunks: usize) -> bool {
        self.documents.confirm(note, seq, chunks)
    }

    /// Drops documents that belong to no loaded note, or to another version of one; call it after all `load`s. Returns
    /// how many there were.
    pub fn drop_unknown(&mut self) -> Result<u64, LexicalError> {
        self.documents.drop_unconfirmed()
    }

    /// Adds or replaces a note (by its number). Even if it fails, the tables have the note, and [`Index::take_lost`]
    /// names it.
    pub fn put(&mut self, mut note: NoteEntry, chunks: Vec<ChunkDoc>) -> Result<(), LexicalError> {
        note.headings = chunks.iter().map(|chunk| &chunk.heading_path).collect();
        let known = self.tables.notes.get(note.no).is_some();
        let written = self.documents.put(&note, &chunks, known);
        self.place(note, chunks.len(), chunks.into_iter().map(|chunk| (chunk.entry, chunk.windows)));
        written
    }

    /// The notes that the index has now, published or not.
    pub fn notes(&self) -> &NoteTable {
        &self.tables.notes
    }

    /// Takes a note's new `stat`, where nothing else of the note changed.
    pub fn touch(&mut self, note: NoteNo, stat: FileStat) {
        self.tables.notes.amend(note, |note| note.stat = stat);
    }

    /// Records that a note's file may differ from what is indexed: its hash becomes unknown.
    pub fn distrust(&mut self, note: NoteNo) {
        self.tables.notes.amend(note, |note| note.hash = TextHash::UNKNOWN);
    }

    /// Replaces all vectors by another embedder's, at once: `vectors_of` gives the vectors of a chunk by its note and
    /// its position in the note, and `matrix` has their values.
    pub fn replace_vectors(
        &mut self,
        dimensions: usize,
        matrix: Arc<dyn Matrix>,
        vectors_of: &mut dyn FnMut(NoteNo, usize) -> Vec<WindowVector>,
    ) {
        let (mut windows, mut free) = (Windows::new(dimensions, Some(matrix)), FreeSlots::default());
        for note in self.tables.notes.iter() {
            for (position, row) in note.rows.iter().enumerate() {
                windows.set(row, &vectors_of(note.no, position), &mut free);
            }
        }
        (self.tables.windows, self.free_slots) = (windows, free);
    }

    /// Removes a note.
    pub fn remove(&mut self, note: NoteNo) -> Result<(), LexicalError> {
        let Some(entry) = self.tables.notes.remove(note) else {
            return Ok(());
        };
        self.tables.links.remove(&entry);
        for row in entry.rows.iter() {
            self.free(row);
        }
        self.documents.remove(note)
    }

    /// Makes everything since the last call visible as one new snapshot. Never waits for the disk. Fails while notes
    /// that [`Index::take_lost`] named lack their words: the previous snapshot finds these notes as they were, a new
    /// one would not find them at all.
    pub fn publish(&mut self, seq: u64) -> Result<Arc<Snapshot>, LexicalError> {
        let words = self.documents.publish()?;
        let lacking = self.documents.lacking().filter(|no| self.tables.notes.get(*no).is_some()).count();
        if lacking > 0 {
            return Err(LexicalError::Failed(format!("words of {lacking} notes are still to be written again")));
        }
        Ok(Arc::new(Snapshot { tables: self.tables.clone(), words, seq, without_contexts: OnceLock::new() }))
    }

    /// Makes the lexical index durable; for a clean stop.
    pub fn sync(&mut self) -> Result<(), LexicalError> {
        self.documents.sync()
    }

    /// Prepares for many puts at once, with more memory and more threads. `prepare` runs on the thread that starts them
    /// and can lower its priority, which they inherit.
    pub fn begin_bulk(&mut self, prepare: fn()) -> Result<(), LexicalError> {
        self.documents.set_bulk(Some(Bulk { prepare, lean: false }))
    }

    /// Lets a bulk go on with as little memory as saves take. A publishing still gathers many puts: with one publishing
    /// per put, everything would be written and merged many times over.
    pub fn spare_memory(&mut self) -> Result<(), LexicalError> {
        self.documents.spare_memory()
    }

    /// Prepares for single saves again.
    pub fn end_bulk(&mut self) -> Result<(), LexicalError> {
        self.documents.set_bulk(None)
    }

    /// Notes whose words were lost since the last call because a write failed (a full disk, say): to be put again.
    pub fn take_lost(&mut self) -> Vec<NoteNo> {
        self.documents.take_lost()
    }

    /// Number of segments of the lexical index; for `status`.
    pub fn segments(&self) -> usize {
        self.documents.segments()
    }

    /// Brings a note into the tables. Its chunks take the rows of the old chunks at the same positions.
    fn place(
        &mut self,
        mut note: NoteEntry,
        count: usize,
        chunks: impl Iterator<Item = (ChunkEntry, Vec<WindowVector>)>,
    ) {
        let old = self.tables.notes.get(note.no).cloned();
        let mut rows = old.as_ref().map_or_else(Vec::new, |old| old.rows.iter().collect());
        for row in rows.drain(count.min(rows.len())..) {
            self.free(row);
        }
        if let Some(old) = &old {
            self.tables.links.remove(old);
        }
        while rows.len() < count {
            rows.push(self.free_rows.pop().unwrap_or_else(|| {
                self.tables.rows += 1;
                self.tables.rows - 1
            }));
        }
        for (position, ((entry, windows), &row)) in chunks.zip(&rows).enumerate() {
            let entry = ChunkEntry { note: note.no, position: position as u32, ..entry };
            self.tables.windows.set(row, &windows, &mut self.free_slots);
            if self.tables.chunks.set(row, Some(entry)).is_none() {
                self.tables.chunk_count += 1;
            }
        }
        note.rows = rows.into();
        self.tables.links.add(&note);
        self.tables.notes.put(note);
    }

    fn free(&mut self, row: Row) {
        self.tables.windows.clear(row, &mut self.free_slots);
        if self.tables.chunks.set(row, None).is_some() {
            self.tables.chunk_count -= 1;
        }
        self.free_rows.push(row);
    }
}

/// An immutable view of one vault's index.
pub struct Snapshot {
    tables: Tables,
    words: View,
    seq: u64,
    without_contexts: OnceLock<WithoutContexts>,
}

/// The same index with the vectors of texts without contexts.
#[derive(Clone)]
pub struct WithoutContexts {
    /// Answers searches without contexts.
    pub snapshot: Arc<Snapshot>,
    /// Chunks that have no such vectors: the snapshot uses their vectors with contexts.
    pub lacking: usize,
}

impl Snapshot {
    /// The store's sequence number it holds.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The same index with the vectors of the texts alone, if it was made already.
    pub fn known_without_contexts(&self) -> Option<&WithoutContexts> {
        self.without_contexts.get()
    }

    /// The same index with the vectors of the texts alone, made at the first call: `vectors_of` gives the vectors of a
    /// chunk by its note and its position in the note, or `None` if the chunk has none.
    pub fn without_contexts(
        &self,
        vectors_of: &mut dyn FnMut(&NoteEntry, usize) -> Option<Vec<WindowVector>>,
    ) -> &WithoutContexts {
        self.without_contexts.get_or_init(|| {
            let (mut windows, mut free) = (self.tables.windows.emptied(), FreeSlots::default());
            let mut lacking = 0;
            for note in self.tables.notes.iter() {
                for (position, row) in note.rows.iter().enumerate() {
                    let alone = vectors_of(note, position);
                    lacking += usize::from(alone.is_none());
                    windows.set(row, &alone.unwrap_or_else(|| self.tables.windows.vectors(row)), &mut free);
                }
            }
            let tables = Tables { windows, ..self.tables.clone() };
            let (words, seq, without_contexts) = (self.words.clone(), self.seq, OnceLock::new());
            WithoutContexts { snapshot: Arc::new(Snapshot { tables, words, seq, without_contexts }), lacking }
        })
    }

    /// The same index with an exact scan of every vector in each search, as the reference for searches that look twice.
    #[must_use]
    pub fn exact(&self) -> Snapshot {
        let tables = Tables { windows: self.tables.windows.exact(), ..self.tables.clone() };
        Snapshot { tables, words: self.words.clone(), seq: self.seq, without_contexts: OnceLock::new() }
    }

    /// Number of notes.
    pub fn note_count(&self) -> usize {
        self.tables.notes.len()
    }

    /// Number of chunks.
    pub fn chunk_count(&self) -> usize {
        self.tables.chunk_count
    }

    /// All notes, in order of number.
    pub fn notes(&self) -> impl Iterator<Item = &Arc<NoteEntry>> {
        self.tables.notes.iter()
    }

    /// A note.
    pub fn note(&self, no: NoteNo) -> Option<&Arc<NoteEntry>> {
        self.tables.notes.get(no)
    }

    /// A note by path.
    pub fn note_at(&self, path: &VaultPath) -> Option<&Arc<NoteEntry>> {
        self.tables.notes.at(path)
    }

    /// A chunk; `None` for a row that is free.
    pub fn chunk(&self, row: Row) -> Option<&ChunkEntry> {
        self.tables.chunks.get(row)
    }

    /// The headings above a chunk, outermost first.
    pub fn heading_path(&self, row: Row) -> Vec<String> {
        let of_note = |chunk: &ChunkEntry| Some(self.note(chunk.note)?.headings.get(chunk.position));
        self.chunk(row).and_then(of_note).unwrap_or_default()
    }

    /// One more than the highest row: the length of a per-row table.
    pub fn rows(&self) -> usize {
        self.tables.rows as usize
    }

    /// A chunk by id. Looks at all of them: who asks names one chunk, and a table of ids would cost every save and every
    /// start.
    pub fn row_of(&self, id: ChunkId) -> Option<Row> {
        self.tables.chunks.numbered().find(|(_, chunk)| chunk.id == id).map(|(row, _)| row)
    }

    /// The `k` best chunks by words, best first; `allowed` is asked before a chunk takes a place. A query
    /// without words and phrases finds nothing.
    pub fn lexical(
        &self,
        query: &LexicalQuery,
        allowed: &Allowed<'_>,
        k: usize,
    ) -> Result<Vec<(Row, f32)>, LexicalError> {
        let corpus = Corpus::of([self]);
        self.find_in(&corpus, (query, &corpus.meant(query)?), Some(allowed), k)
    }

    /// The `k` best chunks by words, best first, scored on the common scale of `corpus`, which includes this snapshot.
    /// `allowed` limits the chunks; `None` allows all.
    pub fn find_in(
        &self,
        corpus: &Corpus<'_>,
        query: (&LexicalQuery, &Meant),
        allowed: Option<&Allowed<'_>>,
        k: usize,
    ) -> Result<Vec<(Row, f32)>, LexicalError> {
        let row = |place| self.row_at(place, allowed);
        self.words.search(query, corpus, (&row, allowed.is_none()), k)
    }

    /// The few notes that have all words of a query. `allowed` limits the chunks; `None` allows all.
    ///
    /// # Errors
    /// The index cannot be read, or the search is cancelled.
    pub(crate) fn having_all(
        &self,
        corpus: &Corpus<'_>,
        query: &LexicalQuery,
        allowed: Option<&Allowed<'_>>,
    ) -> Result<HavingAll, LexicalError> {
        self.words.having_all(query, corpus, &|place| self.row_at(place, allowed))
    }

    /// The row of a document by its note, sequence number and position, if it is visible and allowed.
    fn row_at(&self, (no, seq, position): (u64, u64, u64), allowed: Option<&Allowed<'_>>) -> Option<Row> {
        let note = self.note(no as NoteNo).filter(|note| note.seq == seq)?;
        let row = note.rows.get(u32::try_from(position).ok()?)?;
        allowed.is_none_or(|allowed| allowed(row)).then_some(row)
    }

    /// The words of a query, as they were typed, that occur in the questions and terms that a model wrote beside a
    /// chunk's context.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn in_expansion(&self, query: &LexicalQuery, row: Row) -> Result<Vec<String>, LexicalError> {
        let place = self.chunk(row).and_then(|chunk| Some((chunk.note, self.note(chunk.note)?.seq, chunk.position)));
        place.map_or(Ok(Vec::new()), |place| self.words.in_expansion(query, place))
    }

    /// The `k` best chunks by cosine (best window of each), best first; `allowed` limits them, `None` allows all. In a
    /// large vault some of the last may be others that are nearly as good: one bit per value chooses the candidates.
    pub fn dense(&self, query: &Vector, allowed: Option<&Allowed<'_>>, k: usize) -> Vec<(Row, f32)> {
        dense(&self.tables.windows.scan(query, k), allowed)
    }

    /// Up to this many allowed chunks [`Snapshot::dense_among`] is better than [`Snapshot::dense`].
    pub fn few(&self, k: usize) -> usize {
        self.tables.windows.few(k)
    }

    /// The `k` best chunks by cosine among `rows`, each of which is scored exactly.
    pub fn dense_among(&self, query: &Vector, rows: &[Row], k: usize) -> Vec<(Row, f32)> {
        self.tables.windows.scan(query, k).among(rows.iter().copied())
    }

    /// Runs [`Snapshot::find_in`] and [`Snapshot::dense`], in parallel if the second takes long. If `few` lists the
    /// allowed chunks, [`Snapshot::dense_among`] replaces the second.
    pub fn both_in(
        &self,
        corpus: &Corpus<'_>,
        words: (&LexicalQuery, &Meant),
        vector: &Vector,
        (allowed, few): (Option<&Allowed<'_>>, Option<&[Row]>),
        k: usize,
    ) -> Result<(Vec<(Row, f32)>, Vec<(Row, f32)>), LexicalError> {
        if let Some(rows) = few {
            return Ok((self.find_in(corpus, words, allowed, k)?, self.dense_among(vector, rows, k)));
        }
        let scan = self.tables.windows.scan(vector, k);
        if scan.halves().is_none() {
            return Ok((self.find_in(corpus, words, allowed, k)?, dense(&scan, allowed)));
        }
        let (found, dense) = aside(|| dense(&scan, allowed), || self.find_in(corpus, words, allowed, k));
        Ok((found?, dense))
    }

    /// The cosine (best window) of given chunks; 0 for a chunk without vectors.
    pub fn dense_of(&self, query: &Vector, rows: &[Row]) -> Vec<f32> {
        self.tables.windows.cosines(query, rows)
    }

    /// The vectors of a chunk.
    pub fn vectors(&self, row: Row) -> Vec<Vector> {
        self.tables.windows.vectors(row).into_iter().map(|window| window.vector).collect()
    }

    /// How many vectors a chunk has; reads none of them.
    pub fn vector_count(&self, row: Row) -> usize {
        self.tables.windows.count(row)
    }

    /// The chunks that `among` admits whose text has a line that matches, in no order. Reads each of their texts;
    /// `cancel` ends it.
    ///
    /// # Errors
    /// The index cannot be read, or the search is cancelled.
    pub fn matching(&self, pattern: &Pattern, among: &Allowed<'_>, cancel: &Cancel) -> Result<Vec<Row>, LexicalError> {
        let mut finder = pattern.finder();
        let row = |place| self.row_at(place, Some(among));
        let mut rows = Vec::new();
        self.words.each_text(&row, cancel, &mut |row, text| rows.extend(finder.is_in(text).then_some(row)))?;
        Ok(rows)
    }

    /// The texts of a chunk. Fails if the row is free or the lexical index lags.
    pub fn text(&self, row: Row) -> Result<ChunkText, LexicalError> {
        let position = self.chunk(row).ok_or(LexicalError::Lacks)?.position;
        let texts = self.texts_with(row)?;
        let (text, context) = texts.get(position).ok_or(LexicalError::Lacks)?;
        Ok(ChunkText { text: text.to_owned(), context: context.to_owned(), language: texts.language })
    }

    /// The texts of a chunk, and of the neighbours in the same pack, which cost nothing more. Fails like
    /// [`Snapshot::text`].
    pub(crate) fn texts_with(&self, row: Row) -> Result<Texts, LexicalError> {
        let chunk = self.chunk(row).ok_or(LexicalError::Lacks)?;
        let note = self.note(chunk.note).ok_or(LexicalError::Lacks)?;
        self.words.texts(note.no, note.seq, chunk.position)?.ok_or(LexicalError::Lacks)
    }

    /// Calls `each` with the words of a chunk's text as the lexical index sees them: byte range and normal form. For
    /// highlights.
    pub fn analyze(&self, text: &str, language: Language, each: &mut dyn FnMut(Range<usize>, &str)) {
        analyze::each_word(text, Some(language), |token, _| each(token.offset_from..token.offset_to, &token.text));
    }

    /// The normal forms that the words of a query have in the notes; none if it has no words.
    pub(crate) fn forms(&self, text: &str) -> Result<Vec<Form>, LexicalError> {
        self.words.forms(text)
    }

    /// The note that a link's target or mention ([`note::Link::mention`]) names, seen from the note at `from`: by path,
    /// by file name, by title, by alias.
    pub fn resolve(&self, target: &str, from: &VaultPath) -> Option<NoteNo> {
        self.tables.links.resolve(&self.tables.notes, target, from)
    }

    /// The note that a mention ([`note::Link::mention`]) names, and which of its sides is the target.
    pub fn resolve_side(&self, mention: &str, from: &VaultPath) -> Option<(Side, NoteNo)> {
        self.tables.links.resolve_side(&self.tables.notes, mention, from)
    }

    /// The notes that a user means by a name, without a linking note to resolve it from. Tries in this order: a path
    /// without regard to case, the end of a path, a title, an alias. Returns all notes that match the first of these
    /// that matches any, the shortest path first. `hides` leaves notes out.
    pub fn meant(&self, name: &str, hides: &dyn Fn(&NoteEntry) -> bool) -> Vec<NoteNo> {
        self.tables.links.meant(&self.tables.notes, name, hides)
    }

    /// The notes whose file name, title or alias is similar to `name`, the most similar first, `most` at most.
    pub fn named_like(&self, name: &str, most: usize, hides: &dyn Fn(&NoteEntry) -> bool) -> Vec<&Arc<NoteEntry>> {
        links::named_like(self.notes().filter(|note| !hides(note)), name, most)
    }

    /// Notes that link to this one, without those that were still to be found when `cancel` was raised.
    pub fn backlinks(&self, no: NoteNo, cancel: &Cancel) -> Vec<NoteNo> {
        self.linking(&[no], cancel)
    }

    /// Notes that link to another one of these, in the same way.
    pub fn linking(&self, wanted: &[NoteNo], cancel: &Cancel) -> Vec<NoteNo> {
        self.tables.links.linking(&self.tables.notes, wanted, cancel)
    }

    /// The notes with this file name, title or alias, in order of number.
    pub fn bearing(&self, name: &str) -> Vec<NoteNo> {
        self.tables.links.bearing(name)
    }

    /// The file names, titles and aliases of several words that begin with this word, each in the form that compares
    /// names and with its note; none if more than `most` begin so.
    pub fn beginning(&self, word: &str, most: usize) -> Vec<(NoteNo, Box<str>)> {
        self.tables.links.beginning(&self.tables.notes, word, most)
    }

    /// The graph of the snapshot's links, without measures; `None` if `go_on` said no.
    pub fn graph(&self, go_on: GoOn<'_>) -> Option<Graph> {
        let notes: Vec<&NoteEntry> = self.tables.notes.iter().map(|note| &**note).collect();
        let text_first = self.tables.links.text_first(&self.tables.notes);
        Graph::new(self.seq, &notes, |mention, from| self.resolve(mention, from), text_first, go_on)
    }
}

/// Runs a scan, on two threads where that is faster: one core alone does not use the full memory bandwidth.
fn dense(scan: &Scan<'_>, allowed: Option<&Allowed<'_>>) -> Vec<(Row, f32)> {
    let found = match scan.halves() {
        None => scan.part(scan.whole(), allowed),
        Some([one, other]) => {
            let (one, other) = aside(|| scan.part(other, allowed), || scan.part(one, allowed));
            one.join(other)
        }
    };
    scan.finish(found)
}

/// Runs `one` on another thread while this thread runs `other`; returns the result of `other`, then that of `one`.
fn aside<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (B, A) {
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (other, one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
