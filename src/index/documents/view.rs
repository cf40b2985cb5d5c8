//! The view of the documents that a snapshot searches.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use tantivy::columnar::ColumnValues;
use tantivy::index::SegmentId;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::termdict::TermDictionary;
use tantivy::{DocAddress, DocId, DocSet as _, IndexReader, Searcher, TERMINATED, TantivyDocument, Term};

use super::packs::Unpacked;
use super::{Fields, guarded};
use crate::outlines::Outlines;
use crate::{Cancel, Language, LexicalError, NoteNo, Row};

/// What a snapshot searches: segments that never change.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) searcher: Searcher,
    pub(crate) fields: Fields,
    /// The columns of each segment.
    pub(crate) numbers: Arc<[Numbers]>,
    /// The languages that its notes are stemmed in, found out on first use.
    languages: Arc<OnceLock<Vec<Language>>>,
    /// For each segment, the outlines of its spellings.
    outlines: Arc<[Once<Outlines>]>,
}

/// The texts of some chunks of a note that follow one another.
pub(crate) struct Texts {
    /// The position of the first of them.
    first: u32,
    unpacked: Unpacked,
    /// The language that they are stemmed in.
    pub(crate) language: Language,
}

impl Texts {
    /// Whether the chunk at `position` of the note is among them.
    pub(crate) fn has(&self, position: u32) -> bool {
        position.checked_sub(self.first).is_some_and(|at| (at as usize) < self.unpacked.count())
    }

    /// The text and the context of the chunk at `position` of the note.
    pub(crate) fn get(&self, position: u32) -> Option<(&str, &str)> {
        self.unpacked.get(position.checked_sub(self.first)? as usize)
    }
}

/// A value that is made on first use.
type Once<T> = Arc<OnceLock<T>>;

/// The outlines of the segments of the last view; the next view has most of these segments, too.
pub(super) type KnownOutlines = HashMap<SegmentId, Once<Outlines>>;

/// The value of a cell, which is made now if nobody has yet.
fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, LexicalError>) -> Result<&T, LexicalError> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

/// The columns of one segment.
pub(crate) struct Numbers {
    no: Arc<dyn ColumnValues<u64>>,
    seq: Arc<dyn ColumnValues<u64>>,
    position: Arc<dyn ColumnValues<u64>>,
    language: Arc<dyn ColumnValues<u64>>,
    pack: Arc<dyn ColumnValues<u64>>,
}

impl Numbers {
    /// Note number, sequence number and position of a document.
    pub(crate) fn of(&self, doc: u32) -> (u64, u64, u64) {
        (self.no.get_val(doc), self.seq.get_val(doc), self.position.get_val(doc))
    }

    /// The language that a document is stemmed in.
    pub(crate) fn language(&self, doc: DocId) -> Language {
        Language::ALL.get(self.language.get_val(doc) as usize).copied().unwrap_or_default()
    }

    /// The document that stores the pack with this document's texts, and their place in the pack.
    fn pack_of(&self, doc: DocId) -> Result<(DocId, usize), LexicalError> {
        let at = self.pack.get_val(doc);
        let first = u32::try_from(at).ok().and_then(|at| doc.checked_sub(at)).ok_or_else(damaged)?;
        Ok((first, at as usize))
    }
}

impl View {
    pub(super) fn new(reader: &IndexReader, fields: Fields, known: &mut KnownOutlines) -> tantivy::Result<Self> {
        let searcher = reader.searcher();
        let segments = || searcher.segment_readers().iter().map(|segment| segment.segment_id());
        known.retain(|id, _| segments().any(|segment| segment == *id));
        let outlines = segments().map(|id| known.entry(id).or_default().clone()).collect();
        let numbers = searcher.segment_readers().iter().map(|segment| {
            let columns = segment.fast_fields();
            Ok(Numbers {
                no: columns.u64("no")?.first_or_default_col(0),
                seq: columns.u64("seq")?.first_or_default_col(0),
                position: columns.u64("position")?.first_or_default_col(u64::MAX),
                language: columns.u64("language")?.first_or_default_col(0),
                pack: columns.u64("pack")?.first_or_default_col(0),
            })
        });
        let numbers = numbers.collect::<tantivy::Result<Vec<_>>>()?.into();
        Ok(View { searcher, fields, numbers, languages: Arc::default(), outlines })
    }

    /// The languages that its words were stemmed in: English, and the others that chunks have, the most frequent first.
    /// A language of few chunks counts as well: only its stems find their words.
    pub(crate) fn languages(&self) -> Result<&[Language], LexicalError> {
        let languages = once(&self.languages, || {
            let mut counted = Vec::new();
            for &language in Language::ALL.iter().skip(1) {
                // Including deleted chunks that are not merged away yet.
                let count = self.searcher.doc_freq(&Term::from_field_u64(self.fields.language, language as u64))?;
                counted.extend((count > 0).then_some((count, language)));
            }
            counted.sort_unstable_by(|a, b| b.cmp(a));
            let others = counted.into_iter().map(|(_, language)| language);
            Ok(std::iter::once(Language::English).chain(others).collect())
        })?;
        Ok(languages)
    }

    /// The outlines of the spellings of a segment; `dictionary` is that of the segment.
    pub(crate) fn outlines(&self, segment: usize, dictionary: &TermDictionary) -> Result<&Outlines, LexicalError> {
        let known = self.outlines.get(segment).ok_or_else(damaged)?;
        once(known, || Ok(Outlines::of(dictionary)?))
    }

    /// Of each segment, the languages of the chunks that have the term, one after another.
    pub(crate) fn languages_of<'a>(
        &'a self,
        term: &Term,
    ) -> tantivy::Result<Vec<impl Iterator<Item = Language> + use<'a>>> {
        let mut found = Vec::new();
        for (reader, numbers) in self.searcher.segment_readers().iter().zip(&*self.numbers) {
            let index = reader.inverted_index(term.field())?;
            let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { continue };
            found.push(std::iter::from_fn(move || {
                let doc = Some(postings.doc()).filter(|doc| *doc != TERMINATED)?;
                postings.advance();
                Some(numbers.language(doc))
            }));
        }
        Ok(found)
    }

    /// The texts of the chunk at `position` of a note and of those that are packed with it; `None` if the index does not hold
    /// it.
    pub(crate) fn texts(&self, no: NoteNo, seq: u64, position: u32) -> Result<Option<Texts>, LexicalError> {
        guarded(|| {
            let Some(DocAddress { segment_ord, doc_id }) = self.find(no, seq, position)? else {
                return Ok(None);
            };
            let numbers = self.numbers.get(segment_ord as usize).ok_or_else(damaged)?;
            let (doc, at) = numbers.pack_of(doc_id)?;
            let first = u64::from(position).checked_sub(at as u64).ok_or_else(damaged)?;
            if numbers.of(doc) != (no.into(), seq, first) {
                return Err(damaged());
            }
            let document: TantivyDocument = self.searcher.doc(DocAddress::new(segment_ord, doc))?;
            let unpacked = self.unpacked(&document)?;
            let language = numbers.language(doc_id);
            let is_whole = at < unpacked.count() && (0..unpacked.count()).all(|at| unpacked.get(at).is_some());
            if is_whole { Ok(Some(Texts { first: first as u32, unpacked, language })) } else { Err(damaged()) }
        })
    }

    fn unpacked(&self, document: &TantivyDocument) -> Result<Unpacked, LexicalError> {
        let packed = document.get_first(self.fields.texts).and_then(|value| value.as_bytes());
        packed.and_then(Unpacked::new).ok_or_else(damaged)
    }

    /// The pack in the document `doc` of a segment.
    fn pack(&self, texts: &StoreReader, doc: DocId) -> Result<Unpacked, LexicalError> {
        self.unpacked(&texts.get::<TantivyDocument>(doc)?)
    }

    /// Calls `each` with the rows that `row` gives, and their texts. Reads the packs in the order in which they are
    /// stored, and unpacks each once.
    pub(crate) fn each_text(
        &self,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
        cancel: &Cancel,
        each: &mut dyn FnMut(Row, &str),
    ) -> Result<(), LexicalError> {
        guarded(|| {
            for (reader, numbers) in self.searcher.segment_readers().iter().zip(&*self.numbers) {
                // One cached block is enough: it serves all packs in it.
                let texts = reader.get_store_reader(1)?;
                let mut pack: Option<(DocId, Unpacked)> = None;
                for doc in reader.doc_ids_alive() {
                    let Some(row) = row(numbers.of(doc)) else { continue };
                    cancel.check()?;
                    let (first, at) = numbers.pack_of(doc)?;
                    let unpacked = match &mut pack {
                        Some((of, unpacked)) if *of == first => unpacked,
                        other => &mut other.insert((first, self.pack(&texts, first)?)).1,
                    };
                    each(row, unpacked.get(at).ok_or_else(damaged)?.0);
                }
            }
            Ok(())
        })
    }

    pub(crate) fn find(&self, no: NoteNo, seq: u64, position: u32) -> Result<Option<DocAddress>, LexicalError> {
        let term = Term::from_field_u64(self.fields.no, no.into());
        let wanted = (u64::from(no), seq, u64::from(position));
        for (segment, (reader, numbers)) in self.searcher.segment_readers().iter().zip(&*self.numbers).enumerate() {
            let index = reader.inverted_index(self.fields.no)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if numbers.of(doc) == wanted && !reader.is_deleted(doc) {
                    return Ok(Some(DocAddress::new(segment as u32, doc)));
                }
                doc = postings.advance();
            }
        }
        Ok(None)
    }
}

/// The error for a pack that is missing or malformed.
fn damaged() -> LexicalError {
    LexicalError::Failed("its files are damaged".to_owned())
}
