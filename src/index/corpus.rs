//! The words of all snapshots that answer a query together, as if they were one index.
//!
//! BM25 weighs a word by how rare it is and a chunk by how long it is, relative to a collection. With the numbers of
//! each vault alone, a chunk's score would only say how it compares within its vault, and scores of two vaults could
//! not be compared. So the number of chunks, the number of chunks that have a word, and their mean length are counted
//! over all vaults of the request: the scores are then exactly those that one index of all notes would give. That costs
//! a dictionary lookup per word and vault. For one vault the numbers are its own. The counts of engines elsewhere that
//! answer the same query are added ([`WordStatistics`]). In the same way, a word counts as missing only if no vault has
//! it, and the words of all vaults serve to correct it or to complete a beginning. Words that only notes have which are
//! hidden from the asker are missing, too.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use tantivy::query::{Bm25StatisticsProvider, EnableScoring};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::documents::{Numbers, View};
use super::statistics::{AskedTerm, WordStatistics, rarity};
use super::{Language, LexicalError, NoteNo};

/// The snapshots that answer a query together, with the counts that its scores need.
pub struct Corpus<'a> {
    /// Fields have the same numbers in all views: an index of another layout is thrown away when it is opened.
    pub(super) views: Vec<&'a View>,
    /// Of each view the notes that are hidden from the asker.
    hidden: Vec<HashSet<NoteNo>>,
    counted: RefCell<HashMap<Term, Counted>>,
    elsewhere: Elsewhere,
}

/// The counts of engines elsewhere that answer the same query.
#[derive(Default)]
struct Elsewhere {
    chunks: u64,
    /// Words of each field.
    words: HashMap<Field, u64>,
    having: HashMap<Term, u64>,
}

/// How many chunks have a word.
#[derive(Clone, Default)]
struct Counted {
    /// In each view.
    in_views: Vec<u64>,
    /// The count that scores use.
    together: u64,
}

impl<'a> Corpus<'a> {
    /// Each view comes with its notes that are hidden from the asker.
    pub(super) fn of_views(views: impl Iterator<Item = (&'a View, HashSet<NoteNo>)>) -> Self {
        let (views, hidden) = views.unzip();
        Corpus { views, hidden, counted: RefCell::default(), elsewhere: Elsewhere::default() }
    }

    /// The same, with the counts of engines elsewhere for this query's terms.
    pub(super) fn beside(mut self, statistics: &[WordStatistics]) -> Self {
        let Some(fields) = self.views.first().map(|view| view.fields) else { return self };
        for WordStatistics { chunks, terms, mean } in statistics {
            self.elsewhere.chunks += chunks;
            for (field, mean) in [fields.words, fields.around, fields.expansion].into_iter().zip(mean.0) {
                *self.elsewhere.words.entry(field).or_default() += (f64::from(mean) * *chunks as f64) as u64;
            }
            for (term, having) in terms {
                *self.elsewhere.having.entry(term.in_lane(fields)).or_default() += having;
            }
        }
        self
    }

    /// The weight of a term among all chunks; `None` without any snapshot.
    pub(super) fn rarity(&self, term: &AskedTerm) -> Result<Option<f32>, LexicalError> {
        let Some(fields) = self.views.first().map(|view| view.fields) else { return Ok(None) };
        Ok(Some(rarity(self.total_num_docs()?, self.doc_freq(&term.in_lane(fields))?)))
    }

    /// The languages of all, each once.
    pub(super) fn languages(&self) -> Result<Vec<Language>, LexicalError> {
        let mut all = Vec::new();
        for view in &self.views {
            for language in view.languages()? {
                if !all.contains(language) {
                    all.push(*language);
                }
            }
        }
        Ok(all)
    }

    /// Chunks of all snapshots that have the term.
    pub(super) fn count(&self, term: &Term) -> Result<u64, LexicalError> {
        Ok(self.counted(term)?.in_views.iter().sum())
    }

    /// Whether a chunk that the asker may see has the term.
    pub(super) fn shows(&self, term: &Term) -> Result<bool, LexicalError> {
        self.shows_in(term, &|_| true)
    }

    /// Whether a chunk in such a language that the asker may see has the term.
    pub(super) fn shows_in(&self, term: &Term, is: &dyn Fn(Language) -> bool) -> Result<bool, LexicalError> {
        let counted = self.counted(term)?;
        for ((view, hidden), count) in self.views.iter().zip(&self.hidden).zip(counted.in_views) {
            // Chunks that were deleted count until their segment is merged.
            let deleted =
                || view.searcher.segment_readers().iter().map(|segment| u64::from(segment.num_deleted_docs()));
            let is_sure = hidden.is_empty() && view.languages()?.iter().all(|l| is(*l)) && count > deleted().sum();
            if count > 0 && (is_sure || is_outside(view, hidden, term, is)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a chunk that the asker may see has these words in a row.
    pub(super) fn shows_phrase(&self, text: &str) -> Result<bool, LexicalError> {
        for (view, hidden) in self.views.iter().zip(&self.hidden) {
            let Some(phrase) = view.phrase(text, false)? else { continue };
            let weight = phrase.weight(EnableScoring::disabled_from_searcher(&view.searcher))?;
            for (segment, numbers) in view.searcher.segment_readers().iter().zip(&*view.numbers) {
                let mut found = weight.scorer(segment, 1.0)?;
                if is_shown((segment, numbers), hidden, &|_| true, &mut *found) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a chunk of this snapshot has the term.
    pub(super) fn is_in(&self, view: &View, term: &Term) -> Result<bool, LexicalError> {
        let counted = self.counted(term)?;
        let at = self.views.iter().position(|known| std::ptr::eq(*known, view));
        Ok(at.and_then(|at| counted.in_views.get(at)).is_some_and(|count| *count > 0))
    }

    fn counted(&self, term: &Term) -> tantivy::Result<Counted> {
        if let Some(known) = self.counted.borrow().get(term) {
            return Ok(known.clone());
        }
        let in_views =
            self.views.iter().map(|view| view.searcher.doc_freq(term)).collect::<tantivy::Result<Vec<u64>>>()?;
        let elsewhere = self.elsewhere.having.get(term).copied().unwrap_or(0);
        let counted = Counted { together: in_views.iter().sum::<u64>() + elsewhere, in_views };
        self.counted.borrow_mut().insert(term.clone(), counted.clone());
        Ok(counted)
    }

    /// From now on the term is scored as if it were in `together` chunks.
    pub(super) fn set(&self, term: &Term, together: u64) -> Result<(), LexicalError> {
        let counted = Counted { together, ..self.counted(term)? };
        self.counted.borrow_mut().insert(term.clone(), counted);
        Ok(())
    }

    fn documents(&self) -> u64 {
        let segments = self.views.iter().flat_map(|view| view.searcher.segment_readers());
        segments.map(|segment| u64::from(segment.max_doc())).sum()
    }
}

/// Whether a chunk of another note than these, in such a language, has the term.
fn is_outside(
    view: &View,
    hidden: &HashSet<NoteNo>,
    term: &Term,
    is: &dyn Fn(Language) -> bool,
) -> tantivy::Result<bool> {
    for (segment, numbers) in view.searcher.segment_readers().iter().zip(&*view.numbers) {
        let index = segment.inverted_index(term.field())?;
        let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else { continue };
        if is_shown((segment, numbers), hidden, is, &mut postings) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether one of these chunks is of another note than the hidden ones, and in such a language.
fn is_shown(
    (segment, numbers): (&SegmentReader, &Numbers),
    hidden: &HashSet<NoteNo>,
    is: &dyn Fn(Language) -> bool,
    chunks: &mut (impl DocSet + ?Sized),
) -> bool {
    while chunks.doc() != TERMINATED {
        let no = NoteNo::try_from(numbers.of(chunks.doc()).0);
        if no.is_ok_and(|no| !hidden.contains(&no))
            && is(numbers.language(chunks.doc()))
            && !segment.is_deleted(chunks.doc())
        {
            return true;
        }
        chunks.advance();
    }
    false
}

impl Bm25StatisticsProvider for Corpus<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let here: tantivy::Result<u64> = self.views.iter().map(|view| view.searcher.total_num_tokens(field)).sum();
        Ok(here? + self.elsewhere.words.get(&field).copied().unwrap_or(0))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents() + self.elsewhere.chunks)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // tantivy's idf panics if a count is above the number of all documents.
        Ok(self.counted(term)?.together.min(self.documents() + self.elsewhere.chunks))
    }
}
