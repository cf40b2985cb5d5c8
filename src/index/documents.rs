//! The lexical index's documents: their schema, the one writer, and the view that a snapshot searches.
//!
//! Every document carries its note's number and sequence number and its position in the note. Nothing here
//! decides whether a document counts: the snapshot asks its notes table. So no search sees documents that a crash left
//! behind or that are not deleted yet.

mod packs;
mod spellings;
mod tally;
mod view;
mod writer;

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tantivy::index::IndexSettings;
use tantivy::indexer::UserOperation;
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::Compressor;
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};

use super::analyze::{Analyzer, Reading};
use super::disk::Folder;
use super::properties;
use super::{ChunkDoc, Language, LexicalError, NoteEntry, NoteNo};

use packs::Packer;
use spellings::Spellings;
use tally::Tally;
use view::KnownOutlines;
pub(super) use view::{Numbers, Texts, View};
pub(super) use writer::Bulk;
use writer::writer;

const ANALYZER: &str = "words";
/// Bytes of text in the queue of the writer's threads. When more are queued, a commit makes the threads finish. That
/// ends their segments, but bounds the queue.
const MOST_QUEUED: u64 = 16 << 20;
/// Chunks that one message hands to the writer. Each message may wake a thread, and a note has many chunks. The chunks
/// of a message get into one segment, one behind the other, and so stay together.
const AT_ONCE: usize = 64;
/// Bytes of a document besides a chunk's texts, as a rule: names, headings and numbers.
const SMALL_FIELDS: usize = 512;
/// Bytes of packs that are read as one.
const BLOCK: usize = 4 << 10;
/// Blocks that a snapshot caches per segment.
const CACHED_BLOCKS: usize = 64;

impl From<TantivyError> for LexicalError {
    fn from(error: TantivyError) -> Self {
        LexicalError::Failed(error.to_string())
    }
}

impl From<std::io::Error> for LexicalError {
    fn from(error: std::io::Error) -> Self {
        LexicalError::Failed(error.to_string())
    }
}

/// Runs work that reads files which may be damaged, and turns a panic into an error: tantivy checks files when it opens
/// them, but a file that is damaged later can make it panic.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, LexicalError>) -> Result<T, LexicalError> {
    caught(work, LexicalError::Failed)
}

/// The same with an error of the caller's.
fn caught<T, E>(work: impl FnOnce() -> Result<T, E>, error: fn(String) -> E) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(error("its files are damaged".to_owned())))
}

/// The fields of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) no: Field,
    pub(super) seq: Field,
    pub(super) position: Field,
    /// What the chunk and its note say: BM25F in one field ([`weights`]).
    pub(super) words: Field,
    /// The chunk's context. A separate field, so that a search can leave it out, and because a word in both fields
    /// counts for more than a word twice in one.
    pub(super) around: Field,
    /// The questions and terms beside the chunk's context ([`context::Expansion`]). A separate field, because they are
    /// not text of the note. Without positions, because no phrase is searched for in it.
    pub(super) expansion: Field,
    /// The words of titles, aliases and headings, and each word of texts a few times, unstemmed: the candidates for the
    /// meaning of a misspelt word (see [`spellings`]).
    pub(super) spellings: Field,
    /// Number of the language in [`Language::ALL`].
    pub(super) language: Field,
    /// How many documents before this one is the document that stores the pack with this chunk's texts.
    pub(super) pack: Field,
    /// The pack, in the document of its first chunk: raw texts and contexts ([`packs`]), stored and not searched.
    pub(super) texts: Field,
}

/// How often a word counts in each of the fields of BM25F. The simple form of Robertson, Zaragoza and Taylor
/// ("Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004): the fields of a document become one, in which the
/// words of a weighty field stand several times, so that a word saturates once and not once per field. Measured on
/// three sets: against one BM25 per field, summed, nDCG@10 of the words alone rises from .735 to .772, and body 2 or 3
/// times (with titles 4 or 6) is worse than body once by .01 to .02.
mod weights {
    pub(super) const BODY: u8 = 1;
    pub(super) const TITLE: u8 = 2;
    pub(super) const ALIAS: u8 = 2;
    pub(super) const HEADING: u8 = 1;
    pub(super) const TAG: u8 = 1;
    /// Only the note's first chunk has them.
    pub(super) const PROPERTY: u8 = 1;
}

/// Tags and aliases of a note that each of its chunks has among its words; the first chunk has all. Without a bound the
/// index would grow with the square of a note that is one list of tags.
const IN_EACH_CHUNK: usize = 64;

/// Calls `each` with the texts whose words find a chunk, except its context, and with how often each of their words
/// counts. Takes the chunk's searchable text and the headings above it.
pub(super) fn in_words(
    note: &NoteEntry,
    (searchable, headings): (&str, impl IntoIterator<Item = impl AsRef<str>>),
    position: usize,
    each: &mut dyn FnMut(u8, &str),
) {
    each(weights::BODY, searchable);
    each(weights::TITLE, note.title());
    let most = if position == 0 { usize::MAX } else { IN_EACH_CHUNK };
    note.aliases().take(most).for_each(|alias| each(weights::ALIAS, alias));
    headings.into_iter().for_each(|heading| each(weights::HEADING, heading.as_ref()));
    note.tags().take(most).for_each(|tag| each(weights::TAG, tag));
    if position == 0 {
        properties::texts(note.properties()).iter().for_each(|(_, text)| each(weights::PROPERTY, text));
    }
}

fn schema() -> (Schema, Fields) {
    let words = |record| TextFieldIndexing::default().set_tokenizer(ANALYZER).set_index_option(record);
    let phrases = || TextOptions::default().set_indexing_options(words(IndexRecordOption::WithFreqsAndPositions));
    let words_alone = TextOptions::default().set_indexing_options(words(IndexRecordOption::WithFreqs));
    let plain = TextOptions::default().set_indexing_options(words(IndexRecordOption::Basic).set_fieldnorms(false));
    let mut schema = Schema::builder();
    let fields = Fields {
        no: schema.add_u64_field("no", INDEXED | FAST),
        seq: schema.add_u64_field("seq", FAST),
        position: schema.add_u64_field("position", FAST),
        words: schema.add_text_field("words", phrases()),
        around: schema.add_text_field("around", phrases()),
        expansion: schema.add_text_field("expansion", words_alone),
        spellings: schema.add_text_field("spellings", plain),
        language: schema.add_u64_field("language", INDEXED | FAST),
        pack: schema.add_u64_field("pack", FAST),
        texts: schema.add_bytes_field("texts", STORED),
    };
    (schema.build(), fields)
}

/// What the folder holds of a note, as found at start.
#[derive(Clone, Copy, Debug, Default)]
struct Stored {
    seq: u64,
    count: u64,
    /// Sum and maximum of the positions: with the count they tell whether exactly 0..count are there.
    sum: u64,
    last: u64,
    language: Language,
    /// Whether its documents have different sequence numbers: the note has to be written again.
    mixed: bool,
}

impl Stored {
    fn add(&mut self, seq: u64, position: u64, language: Language) {
        self.mixed |= self.count > 0 && self.seq != seq;
        (self.seq, self.language) = (seq, language);
        self.count += 1;
        self.sum = self.sum.wrapping_add(position);
        self.last = self.last.max(position);
    }

    fn holds(&self, seq: u64, count: usize) -> bool {
        let count = count as u64;
        let all = self.count == count && self.last + 1 == count && self.sum == count * (count - 1) / 2;
        !self.mixed && self.seq == seq && all
    }
}

/// The writer of the lexical index.
pub(super) struct Documents {
    folder: Folder,
    /// The language for stemming notes that state none; `None` detects it for each note.
    language: Option<Language>,
    /// The languages that were detected since the start, and those of the notes that the folder had then. The other
    /// notes are probably in the most frequent one.
    plainly: Tally,
    spellings: Spellings,
    packer: Packer,
    /// Buffer: the text that is being added to a document, in the form that the analyzer reads.
    marked: String,
    index: tantivy::Index,
    /// `None` after a failure, until the next write makes a new one.
    writer: Option<IndexWriter>,
    reader: IndexReader,
    outlines: KnownOutlines,
    fields: Fields,
    /// How the bulk in progress is written; `None` outside one.
    bulk: Option<Bulk>,
    /// Whether all files have been read: see [`Documents::check`].
    checked: bool,
    rebuilt: Option<String>,
    /// Documents found at start that were neither confirmed nor replaced since.
    found: HashMap<NoteNo, Stored>,
    /// Whether there is something to commit.
    changed: bool,
    /// Bytes of text that were handed to the writer, and how many of them its threads have read (`read`).
    handed: u64,
    read: Arc<AtomicU64>,
    /// Notes written since the last commit.
    uncommitted: Vec<NoteNo>,
    /// Notes whose documents were lost with a failed writer, until [`Documents::take_lost`] takes them.
    lost: Vec<NoteNo>,
    /// Notes whose documents were lost and not committed since.
    lacking: HashSet<NoteNo>,
}

impl Documents {
    /// Opens or makes the index; [`Documents::check`] has to be called before anything is confirmed or written, and a
    /// view that is published before may fail. `language` is the language for stemming notes that state none; `None`
    /// detects it for each note.
    pub(super) fn open_unchecked(dir: &Path, language: Option<Language>) -> Result<Self, LexicalError> {
        let rules = format!("language {}", language.map_or("auto", Language::code));
        let (folder, mut rebuilt) = Folder::open(&dir.join("words"), &rules)?;
        let read = Arc::default();
        let (index, reader, fields) = match open_folder(&folder, &read) {
            Err(Failure::Damaged(message)) => {
                folder.empty()?;
                rebuilt = Some(message);
                open_folder(&folder, &read)
            }
            opened => opened,
        }?;
        Ok(Documents {
            folder,
            language,
            plainly: Tally::default(),
            spellings: Spellings::default(),
            packer: Packer::default(),
            marked: String::new(),
            index,
            writer: None,
            reader,
            outlines: KnownOutlines::default(),
            fields,
            bulk: None,
            checked: false,
            rebuilt,
            found: HashMap::new(),
            changed: false,
            handed: 0,
            read,
            uncommitted: Vec::new(),
            lost: Vec::new(),
            lacking: HashSet::new(),
        })
    }

    /// Reads all files, and what they hold of each note, once. An index that is damaged is thrown away and begins empty
    /// ([`Documents::rebuilt`]).
    pub(super) fn check(&mut self) -> Result<(), LexicalError> {
        if self.checked {
            return Ok(());
        }
        let (writer, found) = match self.read_all() {
            Err(Failure::Damaged(message)) => {
                self.folder.empty()?;
                self.rebuilt = Some(message);
                (self.index, self.reader, self.fields) = open_folder(&self.folder, &self.read)?;
                self.outlines = KnownOutlines::default();
                self.read_all()
            }
            read => read,
        }?;
        for (no, stored) in &found {
            self.plainly.set(*no, stored.language, stored.count as u32);
        }
        (self.writer, self.found, self.checked) = (Some(writer), found, true);
        Ok(())
    }

    /// Checks the checksums of all files, and only then starts the writer: a merge would give damaged data a new one.
    fn read_all(&self) -> Result<(IndexWriter, HashMap<NoteNo, Stored>), Failure> {
        caught(
            || {
                // Through mappings of its own: the pages of those that searches read would stay in memory.
                let damaged = tantivy::Index::open(self.folder.directory()?)?.validate_checksum()?;
                if !damaged.is_empty() {
                    return Err(Failure::Damaged(format!("{} of its files are damaged", damaged.len())));
                }
                let writer = writer(&self.index, None)?;
                let view = View::new(&self.reader, self.fields, &mut KnownOutlines::default())?;
                Ok((writer, scan(&view)))
            },
            Failure::Damaged,
        )
    }

    /// Why the index began empty, if it should not have.
    pub(super) fn rebuilt(&self) -> Option<&str> {
        self.rebuilt.as_deref()
    }

    /// Whether the folder already holds exactly the documents of a note with `count` chunks.
    pub(super) fn confirm(&mut self, no: NoteNo, seq: u64, count: usize) -> bool {
        let current = match self.found.get(&no) {
            Some(stored) if count > 0 => stored.holds(seq, count),
            Some(_) => return true,
            None => count == 0,
        };
        if current {
            self.found.remove(&no);
        }
        current
    }

    /// Deletes the documents found at start that belong to no note, or to another version of one. Returns how many.
    pub(super) fn drop_unconfirmed(&mut self) -> Result<u64, LexicalError> {
        let found = std::mem::take(&mut self.found);
        for no in found.keys() {
            self.delete(*no)?;
        }
        Ok(found.values().map(|stored| stored.count).sum())
    }

    /// Writes the documents of a note. `known` says that it may have some already.
    pub(super) fn put(&mut self, note: &NoteEntry, chunks: &[ChunkDoc], known: bool) -> Result<(), LexicalError> {
        // Before anything can fail: a failed write reports its notes as lost.
        self.uncommitted.push(note.no);
        if self.found.remove(&note.no).is_some() || known {
            self.delete(note.no)?;
        }
        let language = self.language(note, chunks);
        if self.bulk.is_none() {
            // The note brings all its words: a note that brought them before may have been removed since.
            self.spellings.forget();
        }
        for (part, some) in chunks.chunks(AT_ONCE).enumerate() {
            let mut documents = Vec::with_capacity(some.len());
            for range in packs::ranges(some) {
                let (first, some) = (part * AT_ONCE + range.start, &some[range]);
                let mut packed = Some(self.packer.pack(some)?);
                for (at, chunk) in some.iter().enumerate() {
                    let mut document = self.document(note, chunk, first + at, language);
                    document.add_u64(self.fields.pack, at as u64);
                    if let Some(packed) = packed.take() {
                        document.add_bytes(self.fields.texts, &packed);
                    }
                    documents.push(UserOperation::Add(document));
                }
            }
            self.write(|writer| writer.run(documents).map(drop))?;
        }
        if self.handed.saturating_sub(self.read.load(Ordering::Relaxed)) >= MOST_QUEUED {
            self.commit()?;
        }
        Ok(())
    }

    /// The language in which a note's words are stemmed.
    fn language(&mut self, note: &NoteEntry, chunks: &[ChunkDoc]) -> Language {
        // Hardly any note states its language: look for the key before parsing.
        let said = note.properties().contains("\"lang").then(|| serde_json::from_str(note.properties()).ok()).flatten();
        let said = said.and_then(|properties: serde_json::Value| {
            let value = properties.get("lang").or_else(|| properties.get("language"))?;
            Language::of_code(value.as_str()?)
        });
        said.or(self.language).unwrap_or_else(|| {
            let mut sample = String::new();
            for chunk in chunks {
                sample.push_str(&chunk.searchable[..chunk.searchable.floor_char_boundary(Language::LOOKED_AT)]);
                if sample.len() >= Language::LOOKED_AT {
                    break;
                }
                sample.push('\n');
            }
            let plainly = Language::of_text(&sample);
            if let Some(language) = plainly {
                self.plainly.set(note.no, language, chunks.len() as u32);
            }
            plainly.unwrap_or_else(|| self.plainly.most())
        })
    }

    fn document(&mut self, note: &NoteEntry, chunk: &ChunkDoc, position: usize, language: Language) -> TantivyDocument {
        let spellings = self.spellings.missing_of(note.no, &chunk.searchable);
        let f = &self.fields;
        // Allocated at full size: a growing buffer leaves holes of all sizes, and ends up twice as large as needed.
        let mut document = TantivyDocument::with_capacity(text_of(chunk) + spellings.len() + SMALL_FIELDS);
        document.add_u64(f.no, note.no.into());
        document.add_u64(f.seq, note.seq);
        document.add_u64(f.position, position as u64);
        document.add_u64(f.language, language as u64);
        let stemmed = |times| Reading { language: Some(language), times };
        let spelt = Reading { language: None, times: 1 };
        let mut add = |field: Field, reading: Reading, text: &str| {
            reading.mark(text, &mut self.marked);
            self.handed += self.marked.len() as u64;
            document.add_text(field, &self.marked);
        };
        let text = (&*chunk.searchable, &chunk.heading_path);
        in_words(note, text, position, &mut |times, text| add(f.words, stemmed(times), text));
        note.names().chain(&chunk.heading_path).for_each(|name| add(f.spellings, spelt, name));
        add(f.spellings, spelt, &spellings);
        add(f.around, stemmed(1), &chunk.context);
        if !chunk.expansion.is_empty() {
            add(f.expansion, stemmed(1), &chunk.expansion);
        }
        document
    }

    /// Deletes the documents of a note.
    pub(super) fn remove(&mut self, no: NoteNo) -> Result<(), LexicalError> {
        self.found.remove(&no);
        self.delete(no)
    }

    fn delete(&mut self, no: NoteNo) -> Result<(), LexicalError> {
        self.plainly.remove(no);
        let term = Term::from_field_u64(self.fields.no, no.into());
        self.write(|writer| {
            writer.delete_term(term);
            Ok(())
        })
    }

    /// Makes all changes so far part of the index, and returns a view that shows them.
    pub(super) fn publish(&mut self) -> Result<View, LexicalError> {
        if self.changed {
            self.commit()?;
        }
        guarded(|| {
            self.reader.reload()?;
            Ok(View::new(&self.reader, self.fields, &mut self.outlines)?)
        })
    }

    fn commit(&mut self) -> Result<(), LexicalError> {
        self.write(|writer| writer.commit().map(drop))?;
        self.changed = false;
        for no in self.uncommitted.drain(..) {
            self.lacking.remove(&no);
        }
        Ok(())
    }

    /// Chooses between a writer for saves (little memory) and one for a bulk.
    pub(super) fn set_bulk(&mut self, bulk: Option<Bulk>) -> Result<(), LexicalError> {
        if bulk.map(|bulk| bulk.lean) != self.bulk.map(|bulk| bulk.lean) {
            if self.changed {
                self.commit()?;
            }
            // The old writer has to release the lock; the new one starts its unfinished merges again.
            self.writer = None;
            self.bulk = bulk;
            self.writer = Some(writer(&self.index, bulk)?);
            self.spellings.forget();
            if bulk.is_none() {
                // tantivy decides at a commit what to merge: without one the many segments of a bulk stay.
                self.commit()?;
            }
        }
        Ok(())
    }

    /// From here on the bulk in progress takes no more memory than saves do; outside a bulk nothing changes.
    pub(super) fn spare_memory(&mut self) -> Result<(), LexicalError> {
        self.set_bulk(self.bulk.map(|bulk| Bulk { lean: true, ..bulk }))
    }

    /// Waits until the index is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), LexicalError> {
        if self.changed {
            self.commit()?;
        }
        Ok(self.folder.sync()?)
    }

    /// Notes whose documents were lost to a failure since the last call; they must be put again.
    pub(super) fn take_lost(&mut self) -> Vec<NoteNo> {
        std::mem::take(&mut self.lost)
    }

    /// Notes whose documents were lost and not written again; some may have been removed since.
    pub(super) fn lacking(&self) -> impl Iterator<Item = NoteNo> {
        self.lacking.iter().copied()
    }

    /// Number of segments that the next view would have.
    pub(super) fn segments(&self) -> usize {
        self.index.searchable_segment_ids().map_or(0, |ids| ids.len())
    }

    fn write(&mut self, work: impl FnOnce(&mut IndexWriter) -> tantivy::Result<()>) -> Result<(), LexicalError> {
        let done = guarded(|| {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                empty => empty.insert(writer(&self.index, self.bulk)?),
            };
            Ok(work(writer)?)
        });
        self.changed = true;
        if done.is_err() {
            // A writer that failed (a full disk, say) refuses all further work: the next write starts a new one.
            self.writer = None;
            // Its threads have ended, and read no more of the queue.
            self.handed = self.read.load(Ordering::Relaxed);
            self.lacking.extend(&self.uncommitted);
            self.lost.append(&mut self.uncommitted);
        }
        done
    }
}

/// Bytes of a chunk's texts in a document, as they are searched.
fn text_of(chunk: &ChunkDoc) -> usize {
    chunk.searchable.len() + chunk.context.len() + chunk.expansion.len()
}

fn open_folder(folder: &Folder, read: &Arc<AtomicU64>) -> Result<(tantivy::Index, IndexReader, Fields), Failure> {
    caught(
        || {
            let (schema, fields) = schema();
            // What is stored is compressed already. A dedicated thread would be started for every save.
            let settings = IndexSettings {
                docstore_compression: Compressor::None,
                docstore_compress_dedicated_thread: false,
                docstore_blocksize: BLOCK,
                ..IndexSettings::default()
            };
            let directory = folder.directory()?;
            let index = tantivy::Index::builder().schema(schema).settings(settings).open_or_create(directory)?;
            index.tokenizers().register(ANALYZER, Analyzer::counting(read.clone()));
            let reader = index
                .reader_builder()
                .reload_policy(ReloadPolicy::Manual)
                .doc_store_cache_num_blocks(CACHED_BLOCKS)
                .try_into()?;
            Ok((index, reader, fields))
        },
        Failure::Damaged,
    )
}

enum Failure {
    /// Another process has the index open; nothing is wrong with the files.
    Busy(String),
    Damaged(String),
}

impl From<Failure> for LexicalError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Busy(message) | Failure::Damaged(message) => LexicalError::Failed(message),
        }
    }
}

impl From<TantivyError> for Failure {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::LockFailure(..) => Failure::Busy("another process is using it".to_owned()),
            error => Failure::Damaged(format!("it does not open: {error}")),
        }
    }
}

fn scan(view: &View) -> HashMap<NoteNo, Stored> {
    let mut found: HashMap<NoteNo, Stored> = HashMap::new();
    for (reader, numbers) in view.searcher.segment_readers().iter().zip(&*view.numbers) {
        for doc in reader.doc_ids_alive() {
            let (no, seq, position) = numbers.of(doc);
            found.entry(no as NoteNo).or_default().add(seq, position, numbers.language(doc));
        }
    }
    found
}
