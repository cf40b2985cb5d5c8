//! A query's words → the best chunks by BM25 over the fields of a document.

use tantivy::query::{BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{SegmentReader, Term};

use super::Row;
use super::analyze::{Kind, Word, words};
use super::documents::{Fields, View, guarded};
use super::vector::Best;

/// Weights of the fields, multiplied with BM25 and summed.
const TITLE: f32 = 2.0;
const ALIASES: f32 = 2.0;
const HEADINGS: f32 = 1.5;
const TAGS: f32 = 1.2;
const BODY: f32 = 1.0;
const CONTEXT: f32 = 0.5;
/// Weight of a compound's part in a query that also has the whole.
const PART: f32 = 0.5;
/// Pairs that a single character of a script without spaces is looked up as, per field and segment.
const MOST_PAIRS: usize = 32;
/// Words of a query that are looked up; a pasted page must not take seconds.
const MOST_WORDS: usize = 64;

/// English words that say nothing about a note; dropped from a query that has others.
const STOP: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "should", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with",
    "would", "you", "your",
];

/// Whether a word of a query is passed over where the query has others.
pub fn is_stop_word(typed: &str) -> bool {
    STOP.binary_search(&typed.to_ascii_lowercase().as_str()).is_ok()
}

/// What the lexical lane is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LexicalQuery {
    /// Free words, in the order typed.
    pub words: String,
    /// Phrases that must occur.
    pub phrases: Vec<String>,
    /// Words that must not occur.
    pub without: Vec<String>,
    /// Whether the context field takes part.
    pub contextual: bool,
}

/// The lexical index failed.
#[derive(Debug, thiserror::Error)]
#[error("the word index failed: {0}")]
pub struct LexicalError(pub String);

impl View {
    /// The `k` best documents as rows. `row` says which row a document's numbers (note, sequence, position) are, if it is
    /// visible and wanted; it is asked only for documents that would take a place.
    pub(super) fn search(
        &self,
        query: &LexicalQuery,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
        k: usize,
    ) -> Result<Vec<(Row, f32)>, LexicalError> {
        guarded(|| {
            let Some(wanted) = self.query(query)?.filter(|_| k > 0) else {
                return Ok(Vec::new());
            };
            let weight = wanted.weight(EnableScoring::enabled_from_searcher(&self.searcher))?;
            let excluded = self.excluded(query)?;
            let mut best = Best::new(k);
            for (reader, numbers) in self.searcher.segment_readers().iter().zip(&*self.numbers) {
                // The threshold goes on from segment to segment, so that late ones are mostly skipped.
                let out = excluded.as_deref().map(|weight| matching(weight, reader)).transpose()?;
                weight.for_each_pruning(best.threshold.max(0.0), reader, &mut |doc, score| {
                    if !reader.is_deleted(doc)
                        && !out.as_ref().is_some_and(|out| out[doc as usize])
                        && let Some(row) = row(numbers.of(doc))
                    {
                        best.push(row, score);
                    }
                    best.threshold.max(0.0)
                })?;
            }
            Ok(best.finish())
        })
    }

    fn query(&self, query: &LexicalQuery) -> Result<Option<Box<dyn Query>>, LexicalError> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for phrase in &query.phrases {
            clauses.extend(self.phrase(phrase, query.contextual)?.map(|phrase| (Occur::Must, phrase)));
        }
        for (text, weight) in asked(&query.words) {
            for (field, field_weight) in weighted(&self.fields, query.contextual) {
                let weight = weight * field_weight;
                match &text {
                    Asked::Word(text) => clauses.push((Occur::Should, term(field, text, weight))),
                    Asked::Begin(text) => {
                        let pairs = self.beginning_with(field, text)?;
                        clauses.extend(pairs.iter().map(|pair| (Occur::Should, term(field, pair, weight))));
                    }
                }
            }
        }
        Ok((!clauses.is_empty()).then(|| Box::new(BooleanQuery::new(clauses)) as Box<dyn Query>))
    }

    /// Matches what the query excludes; `None` if it excludes nothing. This is no `MustNot` clause, because tantivy 0.27
    /// seeks an excluded phrase backwards, and because the best-first search over the words would be off.
    fn excluded(&self, query: &LexicalQuery) -> Result<Option<Box<dyn Weight>>, LexicalError> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for without in &query.without {
            clauses.extend(self.phrase(without, query.contextual)?.map(|phrase| (Occur::Should, phrase)));
        }
        if clauses.is_empty() {
            return Ok(None);
        }
        let scoring = EnableScoring::disabled_from_searcher(&self.searcher);
        Ok(Some(BooleanQuery::new(clauses).weight(scoring)?))
    }

    /// The words of `text` in a row, in any of the fields; `None` if it has no words.
    fn phrase(&self, text: &str, contextual: bool) -> Result<Option<Box<dyn Query>>, LexicalError> {
        let words: Vec<Word> = in_a_row(words(text));
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for (field, weight) in weighted(&self.fields, contextual) {
            let positions = field != self.fields.aliases && field != self.fields.tags;
            match &words[..] {
                [] => return Ok(None),
                [word] if word.kind == Kind::Single => {
                    let pairs = self.beginning_with(field, &word.text)?;
                    clauses.extend(pairs.iter().map(|pair| (Occur::Should, term(field, pair, weight))));
                }
                [word] => clauses.push((Occur::Should, term(field, &word.text, weight))),
                words if positions => {
                    let terms = words.iter().map(|w| (w.position, Term::from_field_text(field, &w.text))).collect();
                    let phrase = Box::new(PhraseQuery::new_with_offset(terms));
                    clauses.push((Occur::Should, Box::new(BoostQuery::new(phrase, weight))));
                }
                _ => {}
            }
        }
        Ok(Some(Box::new(BooleanQuery::new(clauses))))
    }

    /// The words of a field that begin with a character: each of its occurrences begins one.
    fn beginning_with(&self, field: Field, text: &str) -> Result<Vec<String>, LexicalError> {
        let mut found = Vec::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(field)?;
            let mut stream = index.terms().range().ge(text.as_bytes()).into_stream()?;
            let mut taken = 0;
            while taken < MOST_PAIRS && stream.advance() {
                match std::str::from_utf8(stream.key()) {
                    Ok(key) if key.starts_with(text) => found.push(key.to_owned()),
                    _ => break,
                }
                taken += 1;
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// Per document of a segment, whether it matches.
fn matching(weight: &dyn Weight, reader: &SegmentReader) -> Result<Vec<bool>, LexicalError> {
    let mut matching = vec![false; reader.max_doc() as usize];
    weight.for_each_no_score(reader, &mut |docs| {
        for &doc in docs {
            matching[doc as usize] = true;
        }
    })?;
    Ok(matching)
}

fn weighted(fields: &Fields, contextual: bool) -> impl Iterator<Item = (Field, f32)> {
    let context = contextual.then_some((fields.context, CONTEXT));
    let always = [
        (fields.body, BODY),
        (fields.title, TITLE),
        (fields.aliases, ALIASES),
        (fields.headings, HEADINGS),
        (fields.tags, TAGS),
    ];
    always.into_iter().chain(context)
}

fn term(field: Field, text: &str, weight: f32) -> Box<dyn Query> {
    let term = TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::WithFreqs);
    Box::new(BoostQuery::new(Box::new(term), weight))
}

/// What a word of a query is looked up as.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Asked {
    Word(String),
    /// Every word that begins so.
    Begin(String),
}

/// The words of a query with their weights, each once.
fn asked(text: &str) -> Vec<(Asked, f32)> {
    let words = words(text);
    let stop = |word: &Word| {
        let typed = text[word.range.clone()].to_ascii_lowercase();
        word.kind == Kind::Word && STOP.binary_search(&typed.as_str()).is_ok()
    };
    let only_stops = words.iter().all(stop);
    let mut asked: Vec<(Asked, f32)> = Vec::new();
    let mut pair_end = None;
    for word in &words {
        let ends_a_pair = pair_end == Some(word.range.end);
        pair_end = (word.kind == Kind::Pair).then_some(word.range.end);
        let (form, weight) = match word.kind {
            Kind::Word if stop(word) && !only_stops => continue,
            Kind::Single if ends_a_pair => continue,
            Kind::Single => (Asked::Begin(word.text.clone()), 1.0),
            Kind::Part => (Asked::Word(word.text.clone()), PART),
            Kind::Word | Kind::Whole | Kind::Pair => (Asked::Word(word.text.clone()), 1.0),
        };
        if let Some((_, known)) = asked.iter_mut().find(|(known, _)| *known == form) {
            *known = weight.max(*known);
        } else if asked.len() < MOST_WORDS {
            asked.push((form, weight));
        }
    }
    asked
}

/// The words of a phrase: parts and not wholes, pairs and not the single character that ends them.
fn in_a_row(words: Vec<Word>) -> Vec<Word> {
    let mut row: Vec<Word> = Vec::with_capacity(words.len());
    for word in words {
        let ends_a_pair = row.last().is_some_and(|w| w.kind == Kind::Pair && w.range.end == word.range.end);
        if word.kind != Kind::Whole && !(word.kind == Kind::Single && ends_a_pair) {
            row.push(word);
        }
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_are_sorted() {
        assert!(STOP.is_sorted());
    }

    #[test]
    fn a_query_asks_for_each_word_once() {
        let word = |text: &str, weight| (Asked::Word(text.to_owned()), weight);
        let table = [
            ("How to plan the plans", vec![word("plan", 1.0)]),
            ("to be or not to be", vec![word("not", 1.0)]),
            ("the who", vec![word("the", 1.0), word("who", 1.0)]),
            ("e-mail", vec![word("e", 0.5), word("email", 1.0), word("mail", 0.5)]),
            ("東京都", vec![word("東京", 1.0), word("京都", 1.0)]),
            ("猫", vec![(Asked::Begin("猫".to_owned()), 1.0)]),
            ("  !? ", vec![]),
        ];
        for (query, expected) in table {
            assert_eq!(asked(query), expected, "{query}");
        }
        assert_eq!(asked(&(0..1000).map(|i| format!("w{i} ")).collect::<String>()).len(), MOST_WORDS);
    }
}
