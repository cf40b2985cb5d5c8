//! A query's words → the best chunks by BM25F, and by BM25 over their contexts.
//!
//! A query is too short to have a language: each of its words is looked up in the forms it has in the languages of the
//! vault. A last word that is still being typed also stands for the words that begin with it; one that occurs nowhere
//! may be taken for others that are spelt almost like it ([`super::meant`]).

use std::collections::BTreeMap;

use tantivy::postings::SegmentPostings;
use tantivy::query::{
    BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, EnableScoring, Occur, PhraseQuery, Query,
    RegexPhraseQuery, TermQuery, Weight, wildcard_query_to_regex_str,
};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, Score, SegmentReader, TERMINATED, Term};

use super::analyze::{Kind, Word, words};
use super::corpus::Corpus;
use super::documents::{View, guarded};
use super::meant::{Also, MOST_COMPLETED, Meant};
use super::nearly::beginning_with;
use super::query::{As, AskedWord, Choice, Form, LexicalQuery, asked, in_text, is_cut, telling, weighted};
use super::{Cancel, Language, LexicalError, NoteNo, Row};
use vector::Best;

/// A phrase of a single character of a script without spaces is looked up as at most this many pairs.
const MOST_PAIRS: usize = 512;

type Clauses = Vec<(Occur, Box<dyn Query>)>;

impl View {
    /// The `k` best documents as rows, best first, scored by the statistics of `corpus`, which includes this view.
    /// `row` gives the row of a document by its numbers (note, sequence, position), if it is visible and wanted. `all`
    /// says that nearly every document is: then `row` is called for the best only, else for each that would take a
    /// place.
    pub(super) fn search(
        &self,
        (query, meant): (&LexicalQuery, &Meant),
        corpus: &Corpus<'_>,
        (row, all): (&dyn Fn((u64, u64, u64)) -> Option<Row>, bool),
        k: usize,
    ) -> Result<Vec<(Row, f32)>, LexicalError> {
        guarded(|| {
            let Some(wanted) = self.query(query, meant, corpus)?.filter(|_| k > 0) else {
                return Ok(Vec::new());
            };
            let scoring = EnableScoring::enabled_from_statistics_provider(corpus, &self.searcher);
            let weight = wanted.weight(scoring)?;
            let row_of = |segment: usize, doc| self.numbers.get(segment).and_then(|numbers| row(numbers.of(doc)));
            if all {
                // Finding a document's row takes five reads that miss every cache, and most documents lose their place
                // to better ones. So only the best are looked up.
                let starts = self.starts();
                let found = self.best(query, &*weight, k, &|at, doc| Some(starts[at] + doc))?;
                let asked = found.len();
                let mut best = Best::new(k);
                for (number, score) in found {
                    let at = starts.partition_point(|start| *start <= number) - 1;
                    if let Some(row) = row_of(at, number - starts[at]) {
                        best.push(row, score);
                    }
                }
                let best = best.finish();
                if best.len() == asked {
                    return Ok(best);
                }
                // Some documents are outdated but not deleted yet, and took the places of others.
            }
            self.best(query, &*weight, k, &row_of)
        })
    }

    /// For each segment, how many documents are in the segments before it.
    fn starts(&self) -> Vec<u32> {
        let readers = self.searcher.segment_readers().iter();
        readers.scan(0, |next, reader| Some(std::mem::replace(next, *next + reader.max_doc()))).collect()
    }

    /// The `k` best documents as the numbers that `number` gives them by segment and document; those without one are
    /// skipped.
    fn best(
        &self,
        query: &LexicalQuery,
        weight: &dyn Weight,
        k: usize,
        number: &dyn Fn(usize, DocId) -> Option<u32>,
    ) -> Result<Vec<(u32, f32)>, LexicalError> {
        let mut best = Best::new(k);
        for (at, reader) in self.searcher.segment_readers().iter().enumerate() {
            query.cancel.check()?;
            // The threshold carries over from segment to segment, so that late ones are mostly skipped.
            let least = best.threshold.max(0.0);
            let mut take = |doc, score| {
                if !reader.is_deleted(doc)
                    && let Some(number) = number(at, doc)
                {
                    best.push(number, score);
                }
                best.threshold.max(0.0)
            };
            if query.phrases.is_empty() {
                best_first(weight, reader, least, &query.cancel, &mut take)?;
            } else {
                one_by_one(weight, reader, least, &query.cancel, &mut take)?;
            }
        }
        query.cancel.check()?;
        Ok(best.finish())
    }

    /// The normal forms of a query's [`telling`] words in all languages of the vault.
    pub(super) fn forms(&self, text: &str) -> Result<Vec<Form>, LexicalError> {
        guarded(|| Ok(telling(text, self.languages()?)))
    }

    /// The words of a query, as they were typed, that stand in the questions and terms of the chunk at `position` of a note.
    pub(super) fn in_expansion(
        &self,
        query: &LexicalQuery,
        (no, seq, position): (NoteNo, u64, u32),
    ) -> Result<Vec<String>, LexicalError> {
        guarded(|| {
            let Some(address) = self.find(no, seq, position)?.filter(|_| query.expansion > 0.0) else {
                return Ok(Vec::new());
            };
            let field = self.fields.expansion;
            let index = self.searcher.segment_reader(address.segment_ord).inverted_index(field)?;
            let holds = |form: &str| -> Result<bool, LexicalError> {
                let postings = index.read_postings(&Term::from_field_text(field, form), IndexRecordOption::Basic)?;
                let stands_on = |mut postings: SegmentPostings| {
                    let first = postings.doc();
                    let doc = if first < address.doc_id { postings.seek(address.doc_id) } else { first };
                    doc == address.doc_id
                };
                Ok(postings.is_some_and(stands_on))
            };
            let mut found: Vec<String> = Vec::new();
            for word in asked(&query.words, self.languages()?) {
                let typed = &query.words[word.range.clone()];
                let mut stands = false;
                for form in &word.forms {
                    stands = stands || holds(&form.text)?;
                }
                if stands {
                    found.push(typed.to_owned());
                }
            }
            Ok(found)
        })
    }

    fn query(
        &self,
        query: &LexicalQuery,
        meant: &Meant,
        corpus: &Corpus<'_>,
    ) -> Result<Option<Box<dyn Query>>, LexicalError> {
        let mut clauses: Clauses = Vec::new();
        for phrase in &query.phrases {
            clauses.extend(self.phrase(phrase, query.contextual)?.map(|phrase| (Occur::Must, phrase)));
        }
        // Of each compound the clauses of the whole, and of its parts.
        let mut compounds: BTreeMap<usize, [Clauses; 2]> = BTreeMap::new();
        for word in self.looked_up(query, corpus)? {
            let clauses = match &word.compound {
                Some(whole) => &mut compounds.entry(whole.start).or_default()[usize::from(word.range != *whole)],
                None => &mut clauses,
            };
            self.word(&word, query, corpus, clauses)?;
            meant.also(&word).try_for_each(|also| self.also(&word, also, query, clauses))?;
        }
        clauses.extend(compounds.into_values().flat_map(|[whole, parts]| best_of(whole, parts)));
        Ok((!clauses.is_empty()).then(|| Box::new(BooleanQuery::new(clauses)) as Box<dyn Query>))
    }

    /// The words of a query that are looked up ([`Choice`]).
    fn looked_up(&self, query: &LexicalQuery, corpus: &Corpus<'_>) -> Result<Vec<AskedWord>, LexicalError> {
        // In the languages of all vaults: a word that one of them corrects must be the same word in the others.
        let asked = query.asked(&corpus.languages()?);
        let (most, fewest_chunks) = match query.choice {
            Choice::Rarest(most) if most < asked.len() => (most, 0),
            Choice::Shared(most) if most < asked.len() => (most, 2),
            _ => return Ok(asked),
        };
        let mut counted: Vec<(u64, AskedWord)> = Vec::with_capacity(asked.len());
        for word in asked {
            let term = |form: &Form| Term::from_field_text(self.fields.words, &form.text);
            let forms = word.forms.iter().map(|form| corpus.count(&term(form)));
            // What is still being typed may become a rare word.
            let chunks = if word.as_what == As::Unfinished { 0 } else { forms.sum::<Result<u64, _>>()? };
            if chunks >= fewest_chunks {
                counted.push((chunks, word));
            }
        }
        counted.sort_by_key(|(chunks, _)| *chunks);
        let unknown = counted.partition_point(|(chunks, _)| *chunks == 0);
        counted.truncate(unknown + most);
        Ok(counted.into_iter().map(|(_, word)| word).collect())
    }

    /// Adds a word as it was typed.
    fn word(
        &self,
        word: &AskedWord,
        query: &LexicalQuery,
        corpus: &Corpus<'_>,
        clauses: &mut Clauses,
    ) -> Result<(), LexicalError> {
        for (field, weight) in weighted(self.fields, query) {
            let should = |term| (Occur::Should, scored(term, weight * word.weight));
            if word.as_what == As::Beginning {
                let pairs = beginning_with(&[self], field, &word.plain, MOST_COMPLETED)?;
                clauses.extend(pairs.into_iter().map(|(pair, _)| should(Term::from_field_text(field, &pair))));
                continue;
            }
            for form in &word.forms {
                let term = Term::from_field_text(field, &form.text);
                if !corpus.is_in(self, &term)? {
                    continue;
                }
                let (counts, others) = self.counting(form, &term)?;
                if counts && others {
                    let scored = scored(term, weight * word.weight);
                    clauses.push((Occur::Should, self.in_languages(scored, |language| form.counts_in(language))?));
                } else if counts {
                    clauses.push(should(term));
                }
            }
        }
        Ok(())
    }

    /// Whether a form counts in chunks that have it, and whether there are chunks in which it does not.
    fn counting(&self, form: &Form, term: &Term) -> Result<(bool, bool), LexicalError> {
        if self.languages()?.iter().all(|language| form.counts_in(*language)) {
            return Ok((true, false));
        }
        let mut chunks = self.languages_of(term)?.into_iter().flatten();
        let Some(first) = chunks.next().map(|language| form.counts_in(language)) else { return Ok((false, false)) };
        let differs = chunks.any(|language| form.counts_in(language) != first);
        Ok((first || differs, !first || differs))
    }

    /// What a query finds in chunks in such languages.
    fn in_languages(
        &self,
        query: Box<dyn Query>,
        is: impl Fn(Language) -> bool,
    ) -> Result<Box<dyn Query>, LexicalError> {
        let languages = self.languages()?.iter().filter(|language| is(**language));
        let terms = languages.map(|language| Term::from_field_u64(self.fields.language, *language as u64)).collect();
        let chunks = ConstScoreQuery::new(Box::new(BooleanQuery::new_multiterms_query(terms)), 0.0);
        Ok(Box::new(BooleanQuery::intersection(vec![query, Box::new(chunks)])))
    }

    /// Adds what else a word is looked up as.
    fn also(
        &self,
        word: &AskedWord,
        also: &Also,
        query: &LexicalQuery,
        clauses: &mut Clauses,
    ) -> Result<(), LexicalError> {
        let phrase = also.phrase.as_deref().map(|phrase| self.phrase(phrase, query.contextual)).transpose()?;
        let weighed = |phrase| (Occur::Should, Box::new(BoostQuery::new(phrase, word.weight)) as Box<dyn Query>);
        clauses.extend(phrase.flatten().map(weighed));
        for (form, likely) in &also.forms {
            for (field, weight) in weighted(self.fields, query) {
                let term = Term::from_field_text(field, form);
                clauses.push((Occur::Should, scored(term, likely * word.weight * weight)));
            }
        }
        Ok(())
    }

    /// The words of `text` in a row, in any of the fields and languages; `None` if it has no words.
    pub(super) fn phrase(&self, text: &str, contextual: bool) -> Result<Option<Box<dyn Query>>, LexicalError> {
        let plain = in_a_row(words(text, None));
        let mut rows: Vec<(Vec<Word>, Vec<Language>)> = Vec::new();
        for language in self.languages()? {
            let row = in_a_row(words(text, Some(*language)));
            match rows.iter_mut().find(|(known, _)| *known == row) {
                Some((_, languages)) => languages.push(*language),
                None => rows.push((row, vec![*language])),
            }
        }
        let mut clauses: Clauses = Vec::new();
        for (field, weight) in in_text(self.fields, contextual) {
            for (row, languages) in &rows {
                let found: Box<dyn Query> = match &row[..] {
                    [] => return Ok(None),
                    [word] if word.kind == Kind::Single => {
                        for (pair, _) in beginning_with(&[self], field, &word.text, MOST_PAIRS)? {
                            clauses.push((Occur::Should, scored(Term::from_field_text(field, &pair), weight)));
                        }
                        continue;
                    }
                    [word] => scored(Term::from_field_text(field, &word.text), weight),
                    // In a text more characters may follow the last one.
                    [.., last] if last.kind == Kind::Single => {
                        let pattern = |word: &Word| {
                            let more = if std::ptr::eq(word, last) { "*" } else { "" };
                            (word.position, wildcard_query_to_regex_str(&format!("{}{more}", word.text)))
                        };
                        let phrase = RegexPhraseQuery::new_with_offset(field, row.iter().map(pattern).collect());
                        Box::new(BoostQuery::new(Box::new(phrase), weight))
                    }
                    words => {
                        let terms = words.iter().map(|w| (w.position, Term::from_field_text(field, &w.text))).collect();
                        let phrase = Box::new(PhraseQuery::new_with_offset(terms));
                        Box::new(BoostQuery::new(phrase, weight))
                    }
                };
                // As a single form does.
                let counts_everywhere = languages.contains(&Language::English)
                    || !row.iter().zip(&plain).any(|(word, plain)| is_cut(&word.text, &plain.text));
                let found = if counts_everywhere {
                    found
                } else {
                    self.in_languages(found, |language| languages.contains(&language))?
                };
                clauses.push((Occur::Should, found));
            }
        }
        Ok(Some(Box::new(BooleanQuery::new(clauses))))
    }
}

/// Documents that are read between two checks of the caller's [`Cancel`].
const DOCUMENTS_PER_LOOK: u32 = 256;

/// Calls `take` with the documents that score above `threshold`; `take` returns the next threshold. Skips blocks that
/// cannot score above it.
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

/// As [`best_first`], without skipping: the scores of documents that hold a phrase have no bound. Every match counts
/// towards the next check of `cancel`, because checking the positions of words takes so long that the caller may leave
/// meanwhile.
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

/// The clauses of a compound, which count as the better of its two readings: summed, a note that has nothing but the
/// compound as it was typed would outdo one that writes it together and has another word of the query, too.
fn best_of(whole: Clauses, parts: Clauses) -> Clauses {
    if whole.is_empty() || parts.is_empty() {
        return whole.into_iter().chain(parts).collect();
    }
    let readings: Vec<Box<dyn Query>> = vec![Box::new(BooleanQuery::new(whole)), Box::new(BooleanQuery::new(parts))];
    vec![(Occur::Should, Box::new(DisjunctionMaxQuery::new(readings)))]
}

fn scored(term: Term, weight: f32) -> Box<dyn Query> {
    Box::new(BoostQuery::new(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)), weight))
}

/// The words of a phrase: parts and not wholes, names with their symbols, pairs and not the single character that ends them.
pub(super) fn in_a_row(words: Vec<Word>) -> Vec<Word> {
    let mut row: Vec<Word> = Vec::with_capacity(words.len());
    for word in words {
        let ends_a_pair = row.last().is_some_and(|w| w.kind == Kind::Pair && w.range.end == word.range.end);
        if word.kind == Kind::Symbols {
            row.pop_if(|letters| letters.position == word.position);
        }
        if word.kind != Kind::Whole && !(word.kind == Kind::Single && ends_a_pair) {
            row.push(word);
        }
    }
    row
}
