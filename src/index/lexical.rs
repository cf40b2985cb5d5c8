//! A query's words → the best chunks by BM25F, and by BM25 over their contexts.
//!
//! A query is too short to have a language: each of its words is looked up in the forms it has in the languages of the
//! vault. A last word that is still being typed also stands for the words that begin with it; one that occurs nowhere
//! may be taken for a name that is written almost like it ([`super::nearly`]).

use std::collections::HashSet;

use tantivy::query::{BooleanQuery, BoostQuery, EnableScoring, Occur, PhraseQuery, Query, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet as _, Score, SegmentReader, TERMINATED, Term};

use super::analyze::{Kind, Word, words};
use super::documents::{View, guarded};
use super::frequency::Frequencies;
use super::vector::Best;
use super::{Cancel, Language, Row};

/// Weight of the context beside what the chunk and its note say.
const CONTEXT: f32 = 0.5;
/// Weight of a compound's part in a query that also has the whole.
const PART: f32 = 0.5;
/// Weight of the words that a word being typed may become.
const COMPLETED: f32 = 0.7;
/// Weight of what a word that is nowhere was taken for.
const CORRECTED: f32 = 0.6;
/// Words that a beginning is looked up as.
const MOST_COMPLETED: usize = 32;
/// Pairs that a phrase of a single character of a script without spaces is looked up as.
const MOST_PAIRS: usize = 512;
/// Words of a query that are looked up; a pasted page must not take seconds.
const MOST_WORDS: usize = 64;
/// Words of a query that are taken for others; a query of nonsense is left as it is.
const MOST_CORRECTED: usize = 3;

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
    /// Whether the last of the words is still being typed.
    pub prefix: bool,
    /// Once it is raised, the search ends with [`LexicalError::Cancelled`].
    pub cancel: Cancel,
}

/// What the lexical lane found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Best first.
    pub rows: Vec<(Row, f32)>,
    /// Words as typed that are nowhere, and what was searched for in their place.
    pub corrected: Vec<(String, String)>,
    /// Normal forms that the word being typed was taken for.
    pub completed: Vec<String>,
}

/// The lexical index gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LexicalError {
    /// It failed.
    #[error("the word index failed: {0}")]
    Failed(String),
    /// The caller raised its [`Cancel`].
    #[error("the search was cancelled")]
    Cancelled,
}

type Clauses = Vec<(Occur, Box<dyn Query>)>;

impl View {
    /// The `k` best documents as rows. `row` says which row a document's numbers (note, sequence, position) are, if it is
    /// visible and wanted; it is asked only for documents that would take a place.
    pub(super) fn search(
        &self,
        query: &LexicalQuery,
        row: &dyn Fn((u64, u64, u64)) -> Option<Row>,
        k: usize,
    ) -> Result<Found, LexicalError> {
        guarded(|| {
            let mut found = Found::default();
            let frequencies = Frequencies::new(&self.searcher);
            let Some(wanted) = self.query(query, &frequencies, &mut found)?.filter(|_| k > 0) else {
                return Ok(found);
            };
            let scoring = EnableScoring::enabled_from_statistics_provider(&frequencies, &self.searcher);
            let weight = wanted.weight(scoring)?;
            let excluded = self.excluded(query)?;
            let mut best = Best::new(k);
            for (reader, numbers) in self.searcher.segment_readers().iter().zip(&*self.numbers) {
                query.cancel.check()?;
                let out = excluded.as_deref().map(|weight| matching(weight, reader, &query.cancel)).transpose()?;
                // The threshold goes on from segment to segment, so that late ones are mostly skipped.
                let least = best.threshold.max(0.0);
                let mut take = |doc, score| {
                    if !reader.is_deleted(doc)
                        && !out.as_ref().is_some_and(|out| out[doc as usize])
                        && let Some(row) = row(numbers.of(doc))
                    {
                        best.push(row, score);
                    }
                    best.threshold.max(0.0)
                };
                if query.phrases.is_empty() {
                    best_first(&*weight, reader, least, &query.cancel, &mut take)?;
                } else {
                    one_by_one(&*weight, reader, least, &query.cancel, &mut take)?;
                }
            }
            query.cancel.check()?;
            found.rows = best.finish();
            Ok(found)
        })
    }

    /// The normal forms of a text's words in all languages of the vault.
    pub(super) fn forms(&self, text: &str) -> Result<HashSet<String>, LexicalError> {
        guarded(|| {
            let languages = self.languages()?;
            Ok(languages.iter().flat_map(|language| words(text, Some(*language))).map(|word| word.text).collect())
        })
    }

    fn query(
        &self,
        query: &LexicalQuery,
        frequencies: &Frequencies,
        found: &mut Found,
    ) -> Result<Option<Box<dyn Query>>, LexicalError> {
        let mut clauses: Clauses = Vec::new();
        for phrase in &query.phrases {
            clauses.extend(self.phrase(phrase, query.contextual)?.map(|phrase| (Occur::Must, phrase)));
        }
        for word in asked(&query.words, self.languages()?, query.prefix) {
            let typed = &query.words[word.range.clone()];
            let mut known = false;
            for (field, weight) in self.weighted(query.contextual) {
                match word.as_what {
                    As::Word | As::Name | As::Unfinished => {
                        for form in &word.forms {
                            let term = Term::from_field_text(field, form);
                            if frequencies.of(&term)? > 0 {
                                known = true;
                                clauses.push((Occur::Should, scored(term, weight * word.weight)));
                            }
                        }
                    }
                    As::Beginning => {
                        for (pair, _) in self.beginning_with(field, &word.plain, MOST_COMPLETED)? {
                            let term = Term::from_field_text(field, &pair);
                            clauses.push((Occur::Should, scored(term, weight * word.weight)));
                        }
                    }
                }
            }
            match word.as_what {
                As::Unfinished => self.complete(&word, query.contextual, frequencies, found, &mut clauses)?,
                As::Name if !known && found.corrected.len() < MOST_CORRECTED => {
                    let Some(name) = self.nearly(&word.plain)? else { continue };
                    let weight = CORRECTED * word.weight;
                    for form in self.forms(&name)? {
                        for (field, field_weight) in self.weighted(query.contextual) {
                            let term = Term::from_field_text(field, &form);
                            clauses.push((Occur::Should, scored(term, weight * field_weight)));
                        }
                    }
                    found.corrected.push((typed.to_owned(), name));
                }
                As::Word | As::Name | As::Beginning => {}
            }
        }
        Ok((!clauses.is_empty()).then(|| Box::new(BooleanQuery::new(clauses)) as Box<dyn Query>))
    }

    /// Adds what the word being typed may become: the most frequent words that begin with it. They count as one word
    /// with many spellings, or else the rarest of them would count most. The index has stems, which may be shorter than
    /// what was typed (`runnin`): without a word that begins so, the longest stem that it begins with is taken.
    fn complete(
        &self,
        word: &AskedWord,
        contextual: bool,
        frequencies: &Frequencies,
        found: &mut Found,
        clauses: &mut Clauses,
    ) -> Result<(), LexicalError> {
        let mut completed = self.beginning_with(self.fields.words, &word.plain, MOST_COMPLETED)?;
        if completed.is_empty() {
            let ends =
                word.plain.char_indices().map(|(end, _)| end).filter(|end| *end >= 3 && end + 4 >= word.plain.len());
            for end in ends.collect::<Vec<_>>().into_iter().rev() {
                let stem = &word.plain[..end];
                let count = frequencies.of(&Term::from_field_text(self.fields.words, stem))?;
                if count > 0 {
                    completed.push((stem.to_owned(), count));
                    break;
                }
            }
        }
        completed.retain(|(text, _)| !word.forms.contains(text));
        let together = completed.iter().map(|(_, count)| count).sum();
        for (text, _) in completed {
            for (field, weight) in self.weighted(contextual) {
                let term = Term::from_field_text(field, &text);
                frequencies.set(&term, together);
                clauses.push((Occur::Should, scored(term, COMPLETED * word.weight * weight)));
            }
            found.completed.push(text);
        }
        Ok(())
    }

    /// Matches what the query excludes; `None` if it excludes nothing. This is no `MustNot` clause, because tantivy 0.27
    /// seeks an excluded phrase backwards, and because the best-first search over the words would be off.
    fn excluded(&self, query: &LexicalQuery) -> Result<Option<Box<dyn Weight>>, LexicalError> {
        let mut clauses: Clauses = Vec::new();
        for without in &query.without {
            clauses.extend(self.phrase(without, query.contextual)?.map(|phrase| (Occur::Should, phrase)));
        }
        if clauses.is_empty() {
            return Ok(None);
        }
        let scoring = EnableScoring::disabled_from_searcher(&self.searcher);
        Ok(Some(BooleanQuery::new(clauses).weight(scoring)?))
    }

    /// The words of `text` in a row, in any of the fields and languages; `None` if it has no words.
    fn phrase(&self, text: &str, contextual: bool) -> Result<Option<Box<dyn Query>>, LexicalError> {
        let mut rows: Vec<Vec<Word>> = Vec::new();
        for language in self.languages()? {
            let row = in_a_row(words(text, Some(*language)));
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let mut clauses: Clauses = Vec::new();
        for (field, weight) in self.weighted(contextual) {
            for row in &rows {
                match &row[..] {
                    [] => return Ok(None),
                    [word] if word.kind == Kind::Single => {
                        for (pair, _) in self.beginning_with(field, &word.text, MOST_PAIRS)? {
                            clauses.push((Occur::Should, scored(Term::from_field_text(field, &pair), weight)));
                        }
                    }
                    [word] => clauses.push((Occur::Should, scored(Term::from_field_text(field, &word.text), weight))),
                    words => {
                        let terms = words.iter().map(|w| (w.position, Term::from_field_text(field, &w.text))).collect();
                        let phrase = Box::new(PhraseQuery::new_with_offset(terms));
                        clauses.push((Occur::Should, Box::new(BoostQuery::new(phrase, weight))));
                    }
                }
            }
        }
        Ok(Some(Box::new(BooleanQuery::new(clauses))))
    }

    fn weighted(&self, contextual: bool) -> impl Iterator<Item = (Field, f32)> + use<> {
        let context = contextual.then_some((self.fields.around, CONTEXT));
        std::iter::once((self.fields.words, 1.0)).chain(context)
    }
}

/// Documents that are looked at between two looks at the caller's [`Cancel`].
const DOCUMENTS_PER_LOOK: u32 = 256;

/// Calls `take` with the documents that score above `threshold`, which is what `take` gave last; skips blocks that cannot.
fn best_first(
    weight: &dyn Weight,
    reader: &SegmentReader,
    mut threshold: Score,
    cancel: &Cancel,
    take: &mut dyn FnMut(DocId, Score) -> Score,
) -> Result<(), LexicalError> {
    let mut until_look = DOCUMENTS_PER_LOOK;
    weight.for_each_pruning(threshold, reader, &mut |doc, score| {
        until_look = until_look.checked_sub(1).unwrap_or(DOCUMENTS_PER_LOOK);
        // No score is above infinity, so this ends the walk.
        threshold = if until_look == 0 && cancel.is_cancelled() { Score::INFINITY } else { take(doc, score) };
        threshold
    })?;
    Ok(())
}

/// The same without skipping: documents that hold a phrase have no bound on their score, and checking where their words
/// stand takes so long that the caller may leave meanwhile.
fn one_by_one(
    weight: &dyn Weight,
    reader: &SegmentReader,
    mut threshold: Score,
    cancel: &Cancel,
    take: &mut dyn FnMut(DocId, Score) -> Score,
) -> Result<(), LexicalError> {
    let mut scorer = weight.scorer(reader, 1.0)?;
    let (mut doc, mut seen) = (scorer.doc(), 0);
    while doc != TERMINATED {
        if seen % DOCUMENTS_PER_LOOK == 0 {
            cancel.check()?;
        }
        seen += 1;
        let score = scorer.score();
        if score > threshold {
            threshold = take(doc, score);
        }
        doc = scorer.advance();
    }
    Ok(())
}

/// Per document of a segment, whether it matches.
fn matching(weight: &dyn Weight, reader: &SegmentReader, cancel: &Cancel) -> Result<Vec<bool>, LexicalError> {
    let mut matching = vec![false; reader.max_doc() as usize];
    let mut scorer = weight.scorer(reader, 1.0)?;
    let (mut doc, mut seen) = (scorer.doc(), 0);
    while doc != TERMINATED {
        if seen % DOCUMENTS_PER_LOOK == 0 {
            cancel.check()?;
        }
        seen += 1;
        if let Some(matches) = matching.get_mut(doc as usize) {
            *matches = true;
        }
        doc = scorer.advance();
    }
    Ok(matching)
}

fn scored(term: Term, weight: f32) -> Box<dyn Query> {
    Box::new(BoostQuery::new(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)), weight))
}

/// What a word of a query is looked up as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    /// Its forms.
    Word,
    /// Its forms; if there are none, a name that is written almost like it.
    Name,
    /// Its forms, and what begins with it as it stands.
    Unfinished,
    /// What begins with it.
    Beginning,
}

/// A word of a query.
#[derive(Clone, Debug, PartialEq)]
struct AskedWord {
    /// Where it stands in the query.
    range: std::ops::Range<usize>,
    as_what: As,
    /// Its normal forms in the languages of the vault, each once.
    forms: Vec<String>,
    /// Its normal form without a language.
    plain: String,
    weight: f32,
}

/// The words of a query with their weights, each once; `prefix` says that the last one is still being typed.
fn asked(text: &str, languages: &[Language], prefix: bool) -> Vec<AskedWord> {
    let plain = words(text, None);
    let stemmed: Vec<Vec<Word>> = languages.iter().map(|language| words(text, Some(*language))).collect();
    let stop = |word: &Word| {
        let typed = text[word.range.clone()].to_ascii_lowercase();
        word.kind == Kind::Word && STOP.binary_search(&typed.as_str()).is_ok()
    };
    let unfinished = |word: &Word| prefix && word.range.end == text.len();
    let only_stops = plain.iter().all(|word| stop(word) && !unfinished(word));
    let mut asked: Vec<AskedWord> = Vec::new();
    let mut pair_end = None;
    for (at, word) in plain.iter().enumerate() {
        let ends_a_pair = pair_end == Some(word.range.end);
        pair_end = (word.kind == Kind::Pair).then_some(word.range.end);
        let (as_what, weight) = match word.kind {
            Kind::Single if ends_a_pair => continue,
            Kind::Single => (As::Beginning, 1.0),
            Kind::Pair => (As::Word, 1.0),
            Kind::Part if unfinished(word) => (As::Unfinished, PART),
            Kind::Word | Kind::Whole if unfinished(word) => (As::Unfinished, 1.0),
            Kind::Word if stop(word) && !only_stops => continue,
            Kind::Word => (As::Name, 1.0),
            Kind::Part => (As::Word, PART),
            Kind::Whole => (As::Word, 1.0),
        };
        let mut forms: Vec<String> = Vec::new();
        for form in stemmed.iter().filter_map(|words| words.get(at)) {
            if !forms.contains(&form.text) {
                forms.push(form.text.clone());
            }
        }
        let same = |known: &&mut AskedWord| {
            known.forms == forms && (known.as_what == As::Beginning) == (as_what == As::Beginning)
        };
        if let Some(known) = asked.iter_mut().find(same) {
            known.weight = weight.max(known.weight);
            if as_what == As::Unfinished {
                (known.as_what, known.plain) = (as_what, word.text.clone());
            }
        } else if asked.len() < MOST_WORDS {
            asked.push(AskedWord { range: word.range.clone(), as_what, forms, plain: word.text.clone(), weight });
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

    const LANGUAGES: [Language; 2] = [Language::English, Language::German];

    #[test]
    fn the_stop_words_are_sorted() {
        assert!(STOP.is_sorted());
    }

    #[test]
    fn a_query_asks_for_each_word_once() {
        let table: [(&str, bool, &[(&str, As, f32)]); 13] = [
            ("How to plan the plans", false, &[("plan", As::Name, 1.0)]),
            ("Häuser", false, &[("hauser haus", As::Name, 1.0)]),
            ("plan plan", false, &[("plan", As::Name, 1.0)]),
            ("to be or not to be", false, &[("not", As::Name, 1.0)]),
            ("the who", false, &[("the", As::Name, 1.0), ("who", As::Name, 1.0)]),
            ("e-mail", false, &[("e", As::Word, 0.5), ("email", As::Word, 1.0), ("mail", As::Word, 0.5)]),
            ("東京都", false, &[("東京", As::Word, 1.0), ("京都", As::Word, 1.0)]),
            ("猫", false, &[("猫", As::Beginning, 1.0)]),
            ("  !? ", false, &[]),
            ("what is th", true, &[("th", As::Unfinished, 1.0)]),
            ("what is the", true, &[("the", As::Unfinished, 1.0)]),
            ("the plan ", true, &[("plan", As::Name, 1.0)]),
            ("a.b", true, &[("a", As::Word, 0.5), ("ab", As::Unfinished, 1.0), ("b", As::Unfinished, 0.5)]),
        ];
        for (query, prefix, expected) in table {
            let got = asked(query, &LANGUAGES, prefix);
            let got: Vec<(String, As, f32)> = got.iter().map(|w| (w.forms.join(" "), w.as_what, w.weight)).collect();
            let expected: Vec<_> =
                expected.iter().map(|(forms, what, weight)| ((*forms).to_owned(), *what, *weight)).collect();
            assert_eq!(got, expected, "{query}");
        }
        let flood = (0..1000).map(|i| format!("w{i} ")).collect::<String>();
        assert_eq!(asked(&flood, &LANGUAGES, false).len(), MOST_WORDS);
    }
}
