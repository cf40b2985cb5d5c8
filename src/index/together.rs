//! Notes that have all words of a query, in a row or in whichever of their chunks.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use tantivy::postings::SegmentPostings;
use tantivy::query::EnableScoring;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, TERMINATED, Term};

use super::analyze::words;
use super::corpus::Corpus;
use super::documents::{View, guarded};
use super::lexical::in_a_row;
use super::query::{As, AskedWord, Form, LexicalQuery, asked, in_text};
use super::{LexicalError, NoteNo, Row};

/// If more texts, of chunks and of what is said around them, have the rarest of the words, a note is not told from others
/// by having all.
const MOST_CHUNKS: u64 = 1024;
/// The same of words in a row, which takes longer to look up: what few notes say in these words has a rare one.
const MOST_CHUNKS_IN_A_ROW: u64 = 256;
/// Who asks with more words describes what is sought; long notes have all of them by chance.
const MOST_WORDS: usize = 4;
/// So many words are looked for in a row, with those that say nothing by themselves: fewer stand so by chance.
const IN_A_ROW: RangeInclusive<usize> = 4..=256;

/// The notes that have all words of a query.
#[derive(Debug, Default)]
pub(crate) struct HavingAll {
    /// Those that have them in whichever chunks, each with a chunk that has the rarest. None if the query has a single
    /// word, or many, or the last is still being typed, or if its rarest is common.
    pub(crate) apart: BTreeMap<NoteNo, Row>,
    /// Those that have them in a row in the text of a chunk, each with these chunks. None if the query has few words, or if
    /// all are common.
    pub(crate) in_a_row: BTreeMap<NoteNo, Vec<Row>>,
}

/// Where a note's chunks are in a segment, and the chunk that has the rarest of the words.
struct Place {
    docs: (DocId, DocId),
    no: NoteNo,
    row: Row,
}

impl View {
    /// The notes that have all of the query's words. `row` gives the row of a document by its numbers, if it is visible and
    /// wanted.
    pub(super) fn having_all(
        &self,
        query: &LexicalQuery,
        corpus: &Corpus<'_>,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
    ) -> Result<HavingAll, LexicalError> {
        guarded(|| {
            let asked = asked(&query.words, &corpus.languages()?);
            let in_a_row = self.in_a_row(query, &asked, corpus, row)?;
            let apart = if query.prefix { BTreeMap::new() } else { self.apart(query, asked, corpus, row)? };
            Ok(HavingAll { apart, in_a_row })
        })
    }

    /// [`HavingAll::apart`], in the text of a chunk or what is said around it.
    ///
    /// A note whose chunks do not follow one another in one segment may be missed.
    fn apart(
        &self,
        query: &LexicalQuery,
        asked: Vec<AskedWord>,
        corpus: &Corpus<'_>,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
    ) -> Result<BTreeMap<NoteNo, Row>, LexicalError> {
        let mut words: Vec<(u64, AskedWord)> = Vec::new();
        for word in asked {
            if word.as_what == As::Name && word.weight >= 1.0 || word.as_what == As::Word {
                // A word of a folder's name is in what is said around each chunk of its notes.
                let fields = in_text(self.fields, query.contextual);
                let counts = fields.map(|(field, _)| count(&word, field, corpus));
                words.push((counts.sum::<Result<u64, _>>()?, word));
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
    }

    /// [`HavingAll::in_a_row`].
    fn in_a_row(
        &self,
        query: &LexicalQuery,
        asked: &[AskedWord],
        corpus: &Corpus<'_>,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
    ) -> Result<BTreeMap<NoteNo, Vec<Row>>, LexicalError> {
        let mut found: BTreeMap<NoteNo, Vec<Row>> = BTreeMap::new();
        let length = in_a_row(words(&query.words, None)).len();
        if asked.len() < 2 || !IN_A_ROW.contains(&length) {
            return Ok(found);
        }
        // Notes may write the parts of a compound as words.
        let is_in_row =
            |word: &&AskedWord| word.as_what != As::Beginning && word.compound.as_ref() != Some(&word.range);
        let counts = asked.iter().filter(is_in_row).map(|word| count(word, self.fields.words, corpus));
        let rarest = counts.collect::<Result<Vec<u64>, _>>()?.into_iter().min();
        if !rarest.is_some_and(|rarest| (1..=MOST_CHUNKS_IN_A_ROW).contains(&rarest)) {
            return Ok(found);
        }
        let Some(phrase) = self.phrase(&query.words, false)? else { return Ok(found) };
        let weight = phrase.weight(EnableScoring::disabled_from_searcher(&self.searcher))?;
        for (reader, numbers) in self.searcher.segment_readers().iter().zip(&*self.numbers) {
            query.cancel.check()?;
            let mut docs = weight.scorer(reader, 1.0)?;
            while docs.doc() != TERMINATED {
                let numbers = numbers.of(docs.doc());
                if let Some(row) = row(numbers).filter(|_| !reader.is_deleted(docs.doc())) {
                    found.entry(numbers.0 as NoteNo).or_default().push(row);
                }
                docs.advance();
            }
        }
        Ok(found)
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
            while doc != TERMINATED {
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

/// How many chunks of all snapshots have a word in a field.
fn count(word: &AskedWord, field: Field, corpus: &Corpus<'_>) -> Result<u64, LexicalError> {
    word.forms.iter().map(|form| corpus.count(&Term::from_field_text(field, &form.text))).sum()
}
