//! The view of the documents that a snapshot searches.

use std::sync::{Arc, OnceLock};

use tantivy::columnar::ColumnValues;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::{DocAddress, DocSet as _, IndexReader, Searcher, TERMINATED, TantivyDocument, Term};

use super::{Fields, MOST_LANGUAGES, guarded};
use crate::{Cancel, ChunkText, Language, LexicalError, NoteNo, Row};

/// What a snapshot searches: segments that never change.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) searcher: Searcher,
    pub(crate) fields: Fields,
    /// Per segment.
    pub(crate) numbers: Arc<[Numbers]>,
    /// What its notes are stemmed as, found out when it is first asked for.
    languages: Arc<OnceLock<Vec<Language>>>,
}

/// The columns of one segment.
pub(crate) struct Numbers {
    no: Arc<dyn ColumnValues<u64>>,
    seq: Arc<dyn ColumnValues<u64>>,
    position: Arc<dyn ColumnValues<u64>>,
    language: Arc<dyn ColumnValues<u64>>,
}

impl Numbers {
    /// Note number, sequence number and position of a document.
    pub(crate) fn of(&self, doc: u32) -> (u64, u64, u64) {
        (self.no.get_val(doc), self.seq.get_val(doc), self.position.get_val(doc))
    }
}

impl View {
    pub(super) fn new(reader: &IndexReader, fields: Fields) -> tantivy::Result<Self> {
        let searcher = reader.searcher();
        let numbers = searcher.segment_readers().iter().map(|segment| {
            let columns = segment.fast_fields();
            Ok(Numbers {
                no: columns.u64("no")?.first_or_default_col(0),
                seq: columns.u64("seq")?.first_or_default_col(0),
                position: columns.u64("position")?.first_or_default_col(u64::MAX),
                language: columns.u64("language")?.first_or_default_col(0),
            })
        });
        let numbers = numbers.collect::<tantivy::Result<Vec<_>>>()?.into();
        Ok(View { searcher, fields, numbers, languages: Arc::default() })
    }

    /// The languages that its words were stemmed as: English, and those of most chunks.
    pub(crate) fn languages(&self) -> Result<&[Language], LexicalError> {
        if let Some(known) = self.languages.get() {
            return Ok(known);
        }
        let mut counted = Vec::new();
        for language in Language::ALL.into_iter().skip(1) {
            let count = self.chunks_in(language)?;
            counted.extend((count > 0).then_some((count, language)));
        }
        counted.sort_unstable_by(|a, b| b.cmp(a));
        let others = counted.into_iter().take(MOST_LANGUAGES).map(|(_, language)| language);
        let languages = std::iter::once(Language::English).chain(others).collect();
        Ok(self.languages.get_or_init(|| languages))
    }

    /// How many chunks were stemmed as this language, those among them that are deleted and not yet merged away.
    pub(super) fn chunks_in(&self, language: Language) -> tantivy::Result<u64> {
        self.searcher.doc_freq(&Term::from_field_u64(self.fields.language, language as u64))
    }

    /// The texts of the chunk at `position` of a note; `None` if the index does not hold it.
    pub(crate) fn text(&self, no: NoteNo, seq: u64, position: u32) -> Result<Option<ChunkText>, LexicalError> {
        guarded(|| {
            let Some(address) = self.find(no, seq, position)? else {
                return Ok(None);
            };
            let document: TantivyDocument = self.searcher.doc(address)?;
            let text = |field| document.get_first(field).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
            let numbers = self.numbers.get(address.segment_ord as usize);
            let language = numbers.map(|numbers| numbers.language.get_val(address.doc_id));
            let language = language.and_then(|n| Language::ALL.get(n as usize).copied()).unwrap_or_default();
            Ok(Some(ChunkText { text: text(self.fields.text), context: text(self.fields.context), language }))
        })
    }

    /// Calls `each` with the rows that `row` says, and their texts. Texts lie packed in blocks, which are unpacked once, in
    /// the order in which they lie.
    pub(crate) fn each_text(
        &self,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
        cancel: &Cancel,
        each: &mut dyn FnMut(Row, &str),
    ) -> Result<(), LexicalError> {
        guarded(|| {
            for (reader, numbers) in self.searcher.segment_readers().iter().zip(&*self.numbers) {
                // One block serves all chunks that lie in it.
                let texts = reader.get_store_reader(1)?;
                for doc in reader.doc_ids_alive() {
                    let Some(row) = row(numbers.of(doc)) else { continue };
                    cancel.check()?;
                    let document: TantivyDocument = texts.get(doc)?;
                    each(row, document.get_first(self.fields.text).and_then(|v| v.as_str()).unwrap_or_default());
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
