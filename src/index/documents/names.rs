//! The names of the index: the words of titles, aliases and headings, read off each segment once.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::Searcher;
use tantivy::index::SegmentId;
use tantivy::schema::Field;

use crate::LexicalError;

/// A word of a title, an alias or a heading.
pub(crate) struct Name {
    /// See [`letters`].
    pub(crate) letters: u64,
    pub(crate) text: Box<str>,
    /// Documents that have it.
    pub(crate) count: u64,
}

/// The names of segments, shared by all views of an index.
#[derive(Clone, Default)]
pub(super) struct Names(Arc<Mutex<HashMap<SegmentId, Arc<[Name]>>>>);

impl Names {
    /// The names of every segment. Reading a dictionary in order takes a tenth of a microsecond per word, so what was read
    /// is kept as long as its segment lives.
    pub(super) fn of(&self, searcher: &Searcher, field: Field) -> Result<Vec<Arc<[Name]>>, LexicalError> {
        let mut known = self.0.lock();
        let readers = searcher.segment_readers();
        known.retain(|segment, _| readers.iter().any(|reader| reader.segment_id() == *segment));
        let names = readers.iter().map(|reader| {
            if let Some(names) = known.get(&reader.segment_id()) {
                return Ok(names.clone());
            }
            let index = reader.inverted_index(field)?;
            let mut stream = index.terms().stream()?;
            let mut names = Vec::new();
            while stream.advance() {
                if let Ok(text) = std::str::from_utf8(stream.key()) {
                    let count = u64::from(stream.value().doc_freq);
                    names.push(Name { letters: letters(text), text: text.into(), count });
                }
            }
            let names: Arc<[Name]> = names.into();
            known.insert(reader.segment_id(), names.clone());
            Ok(names)
        });
        names.collect()
    }
}

/// The letters of a word as a set of bits, perhaps several to a bit: a slip changes two of them at most. Comparing these
/// spares all but a few words of a dictionary the table of distances.
pub(crate) fn letters(word: &str) -> u64 {
    word.chars().fold(0, |letters, c| letters | 1 << (u32::from(c) % 64))
}

#[cfg(test)]
mod tests;
