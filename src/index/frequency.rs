//! How often words occur: counted once per query, for scoring and for deciding what to look up at all.

use std::cell::RefCell;
use std::collections::HashMap;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

/// Statistics of one query over one view.
pub(super) struct Frequencies<'a> {
    searcher: &'a Searcher,
    known: RefCell<HashMap<Term, u64>>,
}

impl<'a> Frequencies<'a> {
    pub(super) fn new(searcher: &'a Searcher) -> Self {
        Frequencies { searcher, known: RefCell::default() }
    }

    /// Documents that have the term.
    pub(super) fn of(&self, term: &Term) -> tantivy::Result<u64> {
        if let Some(known) = self.known.borrow().get(term) {
            return Ok(*known);
        }
        let count = self.searcher.doc_freq(term)?;
        self.known.borrow_mut().insert(term.clone(), count);
        Ok(count)
    }

    /// From now on the term counts as being in `count` documents.
    pub(super) fn set(&self, term: &Term, count: u64) {
        self.known.borrow_mut().insert(term.clone(), count);
    }

    fn documents(&self) -> u64 {
        self.searcher.segment_readers().iter().map(|segment| u64::from(segment.max_doc())).sum()
    }
}

impl Bm25StatisticsProvider for Frequencies<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents())
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // More than all would have no logarithm.
        Ok(self.of(term)?.min(self.documents()))
    }
}
