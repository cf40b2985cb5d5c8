//! The terms of chunks and of queries, for an engine that keeps its own index of words: the same words, stems and weights
//! as in the lexical lane.
//!
//! A term is a number: a hash of its field and its text. Fields share one vector, so that one dot product of two
//! vectors is the sum over all fields. A chunk's side of BM25 is the saturated count of a term, relative to the chunk's
//! length; a query's side is the weight of the field and of the word. The engine counts how rare a term is. (BM25 as in
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with the constants of the lexical lane.)

use std::collections::BTreeMap;
use std::ops::Range;

use super::analyze::{Kind, Word, each_word, words};
use super::documents::in_words;
use super::lexical::in_a_row;
use super::query::{CONTEXT, asked};
use super::statistics::Field;
use super::{ChunkDoc, Language, NoteEntry};

pub use super::statistics::{AskedTerm, MeanLengths, WordStatistics, having, rarity};

/// BM25's k1: how soon more of the same word stops counting.
const K1: f32 = 1.2;
/// BM25's b: how much less a word counts in a long text.
const B: f32 = 0.75;

/// The words of a chunk, counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted([(BTreeMap<u32, u32>, u32); 3]);

impl Counted {
    /// Counts the words of the chunk at `position` of a note in this language.
    pub fn of(note: &NoteEntry, chunk: &ChunkDoc, position: usize, language: Language) -> Self {
        let text = (&*chunk.searchable, &chunk.heading_path);
        let mut counted = Counted::in_note(note, text, position, language);
        counted.add(Field::Context, &chunk.context, language, 1);
        counted.add(Field::Expansion, &chunk.expansion, language, 1);
        counted
    }

    /// Counts the words of a chunk of which only the text (which may hold marks of Markdown), the headings above it and
    /// the context are known.
    pub(crate) fn told(
        note: &NoteEntry,
        text: (&str, impl IntoIterator<Item = impl AsRef<str>>),
        context: &str,
        language: Language,
    ) -> Self {
        let mut counted = Counted::in_note(note, text, 0, language);
        counted.add(Field::Context, context, language, 1);
        counted
    }

    fn in_note(
        note: &NoteEntry,
        text: (&str, impl IntoIterator<Item = impl AsRef<str>>),
        position: usize,
        language: Language,
    ) -> Self {
        let mut counted = Counted::default();
        in_words(note, text, position, &mut |times, text| counted.add(Field::Words, text, language, times));
        counted
    }

    fn add(&mut self, field: Field, text: &str, language: Language, times: u8) {
        let (terms, length) = &mut self.0[field as usize];
        let times = u32::from(times);
        each_word(text, Some(language), |token, _| {
            *terms.entry(field.number(&token.text)).or_default() += times;
            *length += times;
        });
    }

    /// Words in each field.
    pub fn lengths(&self) -> [u32; 3] {
        [0, 1, 2].map(|field| self.0[field].1)
    }

    /// The chunk's side of BM25: terms in order, each once, and their weights.
    pub fn weighed(&self, mean: MeanLengths) -> (Vec<u32>, Vec<f32>) {
        let mut weights: BTreeMap<u32, f32> = BTreeMap::new();
        for ((terms, length), mean) in self.0.iter().zip(mean.0) {
            let norm = K1 * (1.0 - B + B * *length as f32 / mean.max(1.0));
            for (term, times) in terms {
                let times = *times as f32;
                *weights.entry(*term).or_default() += times * (K1 + 1.0) / (times + norm);
            }
        }
        weights.into_iter().unzip()
    }
}

/// A query's side of BM25: the terms of its words in these languages, in the order of their numbers, each once; none if
/// it has no words. With `contextual`, contexts take part; questions beside them have the weight `expansion`.
pub fn asked_for(words: &str, languages: &[Language], contextual: bool, expansion: f32) -> Vec<AskedTerm> {
    let mut terms: BTreeMap<u32, AskedTerm> = BTreeMap::new();
    for word in asked(words, languages) {
        for (field, weight) in Field::ALL.into_iter().zip([1.0, if contextual { CONTEXT } else { 0.0 }, expansion]) {
            for form in word.forms.iter().filter(|_| weight > 0.0) {
                let term = AskedTerm::new(field, &form.text);
                terms.entry(term.number).or_insert(term).weight += weight * word.weight;
            }
        }
    }
    terms.into_values().collect()
}

/// Whether a text has any word: no text can hold a phrase of symbols alone.
pub(crate) fn has_words(text: &str) -> bool {
    !words(text, None).is_empty()
}

/// Whether a text has the words of a phrase in a row, both in this language; a phrase without words is in every text.
pub fn holds(text: &str, phrase: &str, language: Language) -> bool {
    words(phrase, Some(language)).is_empty() || !runs(text, phrase, language).is_empty()
}

/// Where a text has the words of a phrase in a row, both in this language: byte ranges in order.
pub(crate) fn runs(text: &str, phrase: &str, language: Language) -> Vec<Range<usize>> {
    let phrase = in_a_row(words(phrase, Some(language)));
    let (Some(first), Some(last)) = (phrase.first(), phrase.last()) else { return Vec::new() };
    let found = words(text, Some(language));
    // Where a word of the text ends that is one of the phrase: in a script without spaces more may follow its last character.
    let end = |word: &Word, wanted: &Word| {
        let begins = wanted.kind == Kind::Single && wanted == last && word.text.starts_with(&wanted.text);
        let first = text[word.range.clone()].chars().next().filter(|_| begins && word.kind == Kind::Pair);
        first.map(|c| word.range.start + c.len_utf8()).or((word.text == wanted.text).then_some(word.range.end))
    };
    let at = |position: usize, wanted: &Word| {
        let from = found.partition_point(|word| word.position < position);
        found[from..].iter().take_while(|word| word.position == position).find_map(|word| end(word, wanted))
    };
    let run = |begin: &Word| {
        let mut range = begin.range.start..end(begin, first)?;
        for word in &phrase[1..] {
            range.end = range.end.max(at(begin.position + word.position - first.position, word)?);
        }
        Some(range)
    };
    found.iter().filter_map(run).collect()
}

#[cfg(test)]
mod tests;
