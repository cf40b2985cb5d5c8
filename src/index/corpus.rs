//! The words of all snapshots that answer a query together, as if they were one index.
//!
//! BM25 weighs a word by how rare it is and a chunk by how long it is: numbers of a collection. With numbers of each vault
//! alone a chunk's score would say how it stands in its vault, and scores of two vaults could not be compared. So how
//! many chunks there are, how many have a word, and how long they are on the mean is counted over all vaults of the
//! request: the scores are then exactly those that one index of all notes would give. That costs a look at each vault's
//! dictionary per word. For one vault the numbers are its own. In the same way a word is nowhere only if no vault has
//! it, is corrected by the names of all, and a beginning stands for the words of all.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use tantivy::Term;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;

use super::documents::{View, guarded};
use super::nearly::{beginning_with, nearly};
use super::query::{As, AskedWord, LexicalQuery, asked, weighted};
use super::{Language, LexicalError};

/// Words that a beginning is looked up as.
pub(super) const MOST_COMPLETED: usize = 32;
/// Words of a query that are taken for others; a query of nonsense is left as it is.
const MOST_CORRECTED: usize = 3;

/// Snapshots that answer a query together, with what is counted of them for it.
pub struct Corpus<'a> {
    /// Fields have the same numbers in all: an index of another layout is thrown away when it is opened.
    views: Vec<&'a View>,
    counted: RefCell<HashMap<Term, Counted>>,
}

/// In how many chunks a word is.
#[derive(Clone, Default)]
struct Counted {
    /// In each view.
    in_views: Vec<u64>,
    /// What it is scored by.
    together: u64,
}

/// What the words of a query stand for beside themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meant {
    /// Words that no snapshot has.
    pub corrected: Vec<Corrected>,
    /// Beginnings, and the words that each was taken for.
    pub(super) completed: Vec<(String, Vec<String>)>,
}

/// A word that no snapshot has, and what it was taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrected {
    /// Bytes of [`LexicalQuery::words`].
    pub range: Range<usize>,
    /// As typed.
    pub typed: String,
    /// Its normal form without a language.
    pub(super) plain: String,
    /// The name that is written almost like it.
    pub name: String,
}

impl Meant {
    /// A query's free words with what they were taken for instead of what no snapshot has.
    pub fn in_place(&self, words: &str) -> String {
        let mut text = String::with_capacity(words.len());
        let mut at = 0;
        for Corrected { range, name, .. } in &self.corrected {
            text.push_str(words.get(at..range.start).unwrap_or_default());
            text.push_str(name);
            at = range.end;
        }
        text.push_str(words.get(at..).unwrap_or_default());
        text
    }

    /// The words that beginnings were taken for, in their normal forms.
    pub fn completed(&self) -> impl Iterator<Item = &String> {
        self.completed.iter().flat_map(|(_, words)| words)
    }
}

impl<'a> Corpus<'a> {
    pub(super) fn of_views(views: Vec<&'a View>) -> Self {
        Corpus { views, counted: RefCell::default() }
    }

    /// What the words of a query stand for in all snapshots together.
    ///
    /// # Errors
    /// An index cannot be read, or the query is cancelled.
    pub fn meant(&self, query: &LexicalQuery) -> Result<Meant, LexicalError> {
        guarded(|| self.read(query))
    }

    fn read(&self, query: &LexicalQuery) -> Result<Meant, LexicalError> {
        let mut meant = Meant::default();
        for word in asked(&query.words, &self.languages()?, query.prefix) {
            query.cancel.check()?;
            match word.as_what {
                As::Unfinished => {
                    let completed = self.complete(&word, query)?;
                    meant.completed.push((word.plain, completed));
                }
                As::Name if meant.corrected.len() < MOST_CORRECTED && !self.has(&word, query)? => {
                    if let Some(name) = nearly(&self.views, &word.plain)? {
                        let typed = query.words[word.range.clone()].to_owned();
                        meant.corrected.push(Corrected { range: word.range, typed, plain: word.plain, name });
                    }
                }
                As::Name | As::Word | As::Beginning => {}
            }
        }
        Ok(meant)
    }

    /// The languages of all, each once.
    fn languages(&self) -> Result<Vec<Language>, LexicalError> {
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

    /// Whether any form of a word is in any snapshot.
    fn has(&self, word: &AskedWord, query: &LexicalQuery) -> Result<bool, LexicalError> {
        let Some(view) = self.views.first() else { return Ok(false) };
        for (field, _) in weighted(view.fields, query) {
            for form in &word.forms {
                if self.count(&Term::from_field_text(field, form))? > 0 {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// What the word being typed may become: the most frequent words that begin with it. They count as one word with many
    /// spellings, or else the rarest of them would count most. The index has stems, which may be shorter than what was
    /// typed (`runnin`): without a word that begins so, the longest stem that it begins with is taken.
    fn complete(&self, word: &AskedWord, query: &LexicalQuery) -> Result<Vec<String>, LexicalError> {
        let Some(fields) = self.views.first().map(|view| view.fields) else { return Ok(Vec::new()) };
        let mut completed = beginning_with(&self.views, fields.words, &word.plain, MOST_COMPLETED)?;
        if completed.is_empty() {
            let ends =
                word.plain.char_indices().map(|(end, _)| end).filter(|end| *end >= 3 && end + 4 >= word.plain.len());
            for end in ends.collect::<Vec<_>>().into_iter().rev() {
                let stem = &word.plain[..end];
                let count = self.count(&Term::from_field_text(fields.words, stem))?;
                if count > 0 {
                    completed.push((stem.to_owned(), count));
                    break;
                }
            }
        }
        completed.retain(|(text, _)| !word.forms.contains(text));
        let together = completed.iter().map(|(_, count)| count).sum();
        for (text, _) in &completed {
            for (field, _) in weighted(fields, query) {
                self.set(&Term::from_field_text(field, text), together)?;
            }
        }
        Ok(completed.into_iter().map(|(text, _)| text).collect())
    }

    /// Chunks of all snapshots that have the term.
    fn count(&self, term: &Term) -> Result<u64, LexicalError> {
        Ok(self.counted(term)?.in_views.iter().sum())
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
        let counted = Counted { together: in_views.iter().sum(), in_views };
        self.counted.borrow_mut().insert(term.clone(), counted.clone());
        Ok(counted)
    }

    /// From now on the term is scored as if it were in `together` chunks.
    fn set(&self, term: &Term, together: u64) -> Result<(), LexicalError> {
        let counted = Counted { together, ..self.counted(term)? };
        self.counted.borrow_mut().insert(term.clone(), counted);
        Ok(())
    }

    fn documents(&self) -> u64 {
        let segments = self.views.iter().flat_map(|view| view.searcher.segment_readers());
        segments.map(|segment| u64::from(segment.max_doc())).sum()
    }
}

impl Bm25StatisticsProvider for Corpus<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.views.iter().map(|view| view.searcher.total_num_tokens(field)).sum()
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents())
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // More than all would have no logarithm.
        Ok(self.counted(term)?.together.min(self.documents()))
    }
}
