//! Notes that have all words of a query, in whichever of their chunks.

use std::collections::BTreeMap;

use tantivy::postings::SegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, Term};

use super::corpus::Corpus;
use super::documents::{View, guarded};
use super::query::{As, AskedWord, Form, LexicalQuery, asked, in_text};
use super::{LexicalError, NoteNo, Row};

/// If more texts, of chunks and of what is said around them, have the rarest of the words, a note is not told from others
/// by having all.
const MOST_CHUNKS: u64 = 1024;
/// Who asks with more words describes what is sought; long notes have all of them by chance.
const MOST_WORDS: usize = 4;

/// Where a note's chunks are in a segment, and the chunk that has the rarest of the words.
struct Place {
    docs: (DocId, DocId),
    no: NoteNo,
    row: Row,
}

impl View {
    /// The notes that have each of the query's words in one of their chunks, in its text or what is said around it, and a
    /// chunk of each that has the rarest. None if the query has a single word, or many, or if its rarest is common. `row`
    /// gives the row of a document by its numbers, if it is visible and wanted.
    ///
    /// A note whose chunks do not follow one another in one segment may be missed.
    pub(super) fn with_all(
        &self,
        query: &LexicalQuery,
        corpus: &Corpus<'_>,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
    ) -> Result<BTreeMap<NoteNo, Row>, LexicalError> {
        guarded(|| {
            let mut words: Vec<(u64, AskedWord)> = Vec::new();
            for word in asked(&query.words, &corpus.languages()?, false) {
                if word.as_what == As::Name && word.weight >= 1.0 || word.as_what == As::Word {
                    // A word of a folder's name is in what is said around each chunk of its notes.
                    let mut count = 0;
                    for (field, _) in in_text(self.fields, query.contextual) {
                        for form in &word.forms {
                            count += corpus.count(&Term::from_field_text(field, &form.text))?;
                        }
                    }
                    words.push((count, word));
                }
            }
            words.sort_by_key(|(count, _)| *count);
            let few = (2..=MOST_WORDS).contains(&words.len());
            let Some(((rarest, first), rest)) = words.split_first().filter(|_| few) else { return Ok(BTreeMap::new()) };
            let mut found = BTreeMap::new();
            if (1..=MOST_CHUNKS).contains(rarest) {
                for segment in 0..self.numbers.len() {
                    query.cancel.check()?;
                    let mut places = self.places(query, segment, first, row)?;
                    for (_, word) in rest {
                        self.keep_having(query, segment, word, &mut places)?;
                    }
                    found.extend(places.into_iter().map(|place| (place.no, place.row)));
                }
            }
            Ok(found)
        })
    }

    /// The notes of a segment that have a word, in order of their chunks.
    fn places(
        &self,
        query: &LexicalQuery,
        segment: usize,
        word: &AskedWord,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
    ) -> Result<Vec<Place>, LexicalError> {
        let (reader, numbers) = (&self.searcher.segment_readers()[segment], &self.numbers[segment]);
        let mut places: BTreeMap<DocId, Place> = BTreeMap::new();
        for (form, mut postings) in self.postings(query, segment, word)? {
            let mut doc = postings.doc();
            while doc != tantivy::TERMINATED {
                let (no, seq, position) = numbers.of(doc);
                let start = u32::try_from(position).ok().and_then(|position| doc.checked_sub(position));
                let known = start.is_some_and(|start| places.contains_key(&start));
                if let Some(start) = start.filter(|start| !known && numbers.of(*start) == (no, seq, 0))
                    && form.counts_in(numbers.language(doc))
                    && !reader.is_deleted(doc)
                    && let Some(row) = row((no, seq, position))
                {
                    let is_other = |doc: &DocId| (numbers.of(*doc).0, numbers.of(*doc).1) != (no, seq);
                    let end = (doc + 1..reader.max_doc()).find(is_other).unwrap_or(reader.max_doc());
                    places.insert(start, Place { docs: (start, end), no: no as NoteNo, row });
                }
                doc = postings.advance();
            }
        }
        Ok(places.into_values().collect())
    }

    /// Keeps the notes that have a word, too.
    fn keep_having(
        &self,
        query: &LexicalQuery,
        segment: usize,
        word: &AskedWord,
        places: &mut Vec<Place>,
    ) -> Result<(), LexicalError> {
        let mut postings = self.postings(query, segment, word)?;
        places.retain(|Place { docs: (start, end), .. }| {
            let (mut has, language) = (false, self.numbers[segment].language(*start));
            for (_, postings) in postings.iter_mut().filter(|(form, _)| form.counts_in(language)) {
                // Each must be at this note before the next one is looked for.
                let doc = if postings.doc() < *start { postings.seek(*start) } else { postings.doc() };
                has |= doc < *end;
            }
            has
        });
        Ok(())
    }

    /// The chunks of a segment that have a word, for each of its forms and fields.
    fn postings<'w>(
        &self,
        query: &LexicalQuery,
        segment: usize,
        word: &'w AskedWord,
    ) -> Result<Vec<(&'w Form, SegmentPostings)>, LexicalError> {
        let reader = &self.searcher.segment_readers()[segment];
        let mut found = Vec::new();
        for (field, _) in in_text(self.fields, query.contextual) {
            let index = reader.inverted_index(field)?;
            for form in &word.forms {
                let term = Term::from_field_text(field, &form.text);
                found.extend(index.read_postings(&term, IndexRecordOption::Basic)?.map(|postings| (form, postings)));
            }
        }
        Ok(found)
    }
}
