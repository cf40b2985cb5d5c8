//! Corrections and completions of a query's words, from all snapshots that answer together: a word that none of them
//! has is looked up as words that are spelt almost like it, and a word that is being typed as words that begin with it.
//!
//! Of similar words the likeliest counts in full, and is embedded in place of what was typed; others that are hardly
//! less likely are looked up, too. A word's likelihood is the logarithm of the number of chunks that have it, less a
//! price for each slip (the noisy channel of Kernighan, Church and Gale, COLING 1990, with one price for all slips).

mod compound;
mod glued;

use std::ops::Range;

use tantivy::Term;

use super::analyze::Kind;
use super::corpus::Corpus;
use super::documents::guarded;
use super::embed::builtin;
use super::nearly::{Similar, beginning_with, similar};
use super::query::{As, AskedWord, LexicalQuery, stops_in, weighted, with_forms};
use super::{Language, LexicalError};
use compound::Compound;

/// Weight of the words that a word being typed may become.
const COMPLETED: f32 = 0.7;
/// Most words that a beginning is looked up as.
pub(super) const MOST_COMPLETED: usize = 32;
/// Most words of a query that are corrected; a query of nonsense is left as it is.
const MOST_CORRECTED: usize = 3;
/// Most words of a query for which similar ones are searched: each search may take a millisecond.
const MOST_TRIED: usize = 8;
/// What a slip costs, as a natural logarithm: a word with one slip more must be e⁴ times as frequent.
const SLIP: f32 = 4.0;
/// Most slips in a word; one in the first letter counts as two.
const MOST_SLIPS: usize = 2;
/// Least letters before an ending of a word for which the model has no piece: shorter ones are mostly slips.
const STEM: usize = 5;
/// A reading of a word is kept if it is at least this likely relative to the likeliest one.
const LEAST_LIKELY: f32 = 0.3;
/// Most readings of a word that are kept.
const MOST_READINGS: usize = 3;
/// Least letters of either part when a word is split into two.
const PART: usize = 3;

/// Corrections and completions of a query's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meant {
    /// The words that no snapshot has, in the order of the query.
    pub corrected: Vec<Corrected>,
    /// What other words are looked up as besides their own forms.
    also: Vec<Also>,
}

/// What a word of a query is looked up as besides its own forms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Also {
    /// The word's normal form without a language.
    plain: String,
    /// Forms, each with its weight relative to the word.
    pub(super) forms: Vec<(String, f32)>,
    /// Words in a row.
    pub(super) phrase: Option<String>,
    /// How notes write them, to be shown in passages.
    shown: Vec<String>,
    /// Whether they complete a beginning: then they may be the name of a note.
    completes: bool,
}

/// A word that no snapshot has, and its correction.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrected {
    /// Bytes of [`LexicalQuery::words`].
    pub range: Range<usize>,
    /// As typed.
    pub typed: String,
    /// The likeliest word, or pair of words, that is spelt almost like it.
    pub name: String,
    /// What it is looked up as: the forms of the likeliest have weight 1, for it can mean nothing else here.
    also: Also,
}

impl Corrected {
    fn new(word: &AskedWord, range: Range<usize>, words: &str, name: String, forms: Vec<(String, f32)>) -> Self {
        let also = Also { forms, ..Also::none(word) };
        Corrected { typed: words[range.clone()].to_owned(), range, name, also }
    }
}

impl Also {
    fn none(word: &AskedWord) -> Self {
        Also { plain: word.plain.clone(), forms: Vec::new(), phrase: None, shown: Vec::new(), completes: false }
    }
}

impl Meant {
    /// A query's free words, with corrections in place of the words that no snapshot has.
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

    /// What a word is looked up as besides its own forms.
    pub(super) fn also<'a>(&'a self, word: &'a AskedWord) -> impl Iterator<Item = &'a Also> {
        let all = self.corrected.iter().map(|corrected| &corrected.also).chain(&self.also);
        all.filter(|also| also.plain == word.plain)
    }

    /// The words that complete beginnings, in their normal forms.
    pub fn completed(&self) -> impl Iterator<Item = &String> {
        self.also.iter().filter(|also| also.completes).flat_map(|also| &also.shown)
    }

    /// The words that end with a word of the query, without their language, and what its numbers are written as in notes.
    pub fn compounds_and_numbers(&self) -> impl Iterator<Item = &String> {
        self.also.iter().filter(|also| !also.completes).flat_map(|also| &also.shown)
    }
}

/// Whether this is a word of English: one piece of the model, perhaps with an ending.
fn is_english(plain: &str) -> bool {
    let is_piece = |word: &str| builtin::model().count(word) == 1;
    let endings = ["s", "es", "ed", "ing"];
    let stems = || endings.iter().filter_map(|ending| plain.strip_suffix(ending)).filter(|stem| stem.len() >= STEM);
    is_piece(plain) || stems().any(is_piece)
}

/// One or two words that a typed word may mean.
struct Reading {
    text: String,
    /// Its forms that the snapshots have.
    forms: Vec<String>,
    score: f32,
}

impl Corpus<'_> {
    /// Corrections and completions of a query's words, from all snapshots together.
    ///
    /// # Errors
    /// An index cannot be read, or the query is cancelled.
    pub fn meant(&self, query: &LexicalQuery) -> Result<Meant, LexicalError> {
        guarded(|| self.read(query))
    }

    fn read(&self, query: &LexicalQuery) -> Result<Meant, LexicalError> {
        let (mut meant, mut tried) = (Meant::default(), 0);
        let languages = self.languages()?;
        let asked = query.asked(&languages);
        for (at, word) in asked.iter().enumerate() {
            query.cancel.check()?;
            let glued = if word.as_what == As::Name { self.glued(&asked, at, &query.words, &languages)? } else { None };
            // As a phrase it is there; a time and a stop word are meant as they were typed.
            let of_time = query.time.as_ref().is_some_and(|time| time.contains(&word.range.start));
            let stop = stops_in(&query.words[word.range.clone()], &languages).next();
            let is_there = of_time || stop.is_some() || glued.as_ref().is_some_and(|glued| glued.phrase.is_some());
            match word.as_what {
                As::Unfinished => meant.also.push(self.complete(word, query, &languages)?),
                As::Name if self.has(word, query)? => {
                    meant.also.extend(self.endings(word, asked.len(), &languages)?);
                }
                As::Name
                    if meant.corrected.len() < MOST_CORRECTED
                        && tried < MOST_TRIED
                        && !is_there
                        && !self.has_whole(word, &asked, query)? =>
                {
                    tried += 1;
                    if let Some(corrected) = self.correction(&asked, at, &query.words, &languages)? {
                        // If this joins the word before, that may have been corrected by itself.
                        meant.corrected.retain(|known| known.range.end <= corrected.range.start);
                        meant.corrected.push(corrected);
                    }
                }
                As::Name | As::Word | As::Beginning => {}
            }
            meant.also.extend(glued);
        }
        Ok(meant)
    }

    /// What a word is taken for that no snapshot has: the likeliest slip first.
    fn correction(
        &self,
        asked: &[AskedWord],
        at: usize,
        typed: &str,
        languages: &[Language],
    ) -> Result<Option<Corrected>, LexicalError> {
        let Some(word) = asked.get(at) else { return Ok(None) };
        if let Some(joined) = self.joined(asked, at, typed, languages)? {
            return Ok(Some(joined));
        }
        if let Some(within) = self.within_others(word, typed, languages)? {
            return Ok(Some(within));
        }
        if let Some(numbered) = self.numbered(word, typed)? {
            return Ok(Some(numbered));
        }
        self.similar_to(word, typed, languages)
    }

    /// Whether the asker may see any form of a word in any snapshot.
    fn has(&self, word: &AskedWord, query: &LexicalQuery) -> Result<bool, LexicalError> {
        let Some(view) = self.views.first() else { return Ok(false) };
        for (field, _) in weighted(view.fields, query) {
            for form in &word.forms {
                let term = Term::from_field_text(field, &form.text);
                if self.shows_in(&term, &|language| form.counts_in(language))? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a word is a part of a compound that the asker may see as a whole: that is what was meant, though it may
    /// have other parts where a note writes it with other capitals.
    fn has_whole(&self, part: &AskedWord, asked: &[AskedWord], query: &LexicalQuery) -> Result<bool, LexicalError> {
        let holds = |word: &&AskedWord| {
            word.as_what == As::Word && word.range.start <= part.range.start && part.range.end <= word.range.end
        };
        asked.iter().find(holds).map_or(Ok(false), |whole| self.has(whole, query))
    }

    /// The completions of a word being typed: the most frequent words that begin with it. They count as one word with
    /// many spellings, or else the rarest of them would count most. The index has stems, which may be shorter than what
    /// was typed (`runnin`) or end otherwise (`reliabili`): so those of the spellings that begin with it count too, and if
    /// there are none, the longest stem that it begins with.
    fn complete(&self, word: &AskedWord, query: &LexicalQuery, languages: &[Language]) -> Result<Also, LexicalError> {
        let Some(fields) = self.views.first().map(|view| view.fields) else { return Ok(Also::none(word)) };
        let mut completed = beginning_with(&self.views, fields.words, &word.plain, MOST_COMPLETED)?;
        for (spelling, _) in beginning_with(&self.views, fields.spellings, &word.plain, MOST_COMPLETED)? {
            for form in self.forms(&spelling, languages)?.0 {
                if !form.starts_with(&word.plain) && !completed.iter().any(|(known, _)| *known == form) {
                    let count = self.count(&Term::from_field_text(fields.words, &form))?;
                    completed.push((form, count));
                }
            }
        }
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
        let mut shown = Vec::with_capacity(completed.len());
        for (text, count) in completed {
            let is_new = word.forms.iter().all(|form| form.text != text)
                && self.shows(&Term::from_field_text(fields.words, &text))?;
            shown.extend(is_new.then_some((text, count)));
        }
        let completed = shown;
        let together = completed.iter().map(|(_, count)| count).sum();
        for (text, _) in &completed {
            for (field, _) in weighted(fields, query) {
                self.set(&Term::from_field_text(field, text), together)?;
            }
        }
        let shown: Vec<String> = completed.into_iter().map(|(text, _)| text).collect();
        let forms = shown.iter().map(|text| (text.clone(), COMPLETED)).collect();
        Ok(Also { forms, shown, completes: true, ..Also::none(word) })
    }

    /// The words that a word is a part of which no snapshot has.
    fn within_others(
        &self,
        word: &AskedWord,
        typed: &str,
        languages: &[Language],
    ) -> Result<Option<Corrected>, LexicalError> {
        let compounds = self.compounds(word, languages)?;
        let Some(name) = compounds.first().map(|compound| compound.spelling.clone()) else { return Ok(None) };
        let weighed = |Compound { forms, weight, .. }| forms.into_iter().map(move |form| (form, weight));
        let forms: Vec<(String, f32)> = compounds.into_iter().flat_map(weighed).collect();
        self.count_as_one(forms.iter().map(|(form, _)| form))?;
        Ok(Some(Corrected::new(word, word.range.clone(), typed, name, forms)))
    }

    /// The correction of a word that no snapshot has; `None` if nothing is spelt almost like it.
    fn similar_to(
        &self,
        word: &AskedWord,
        typed: &str,
        languages: &[Language],
    ) -> Result<Option<Corrected>, LexicalError> {
        // A word of the language is meant as typed, whether the vault has it or not.
        if is_english(&word.plain) {
            return Ok(None);
        }
        let mut readings: Vec<Reading> = Vec::new();
        for Similar { text, slips } in similar(&self.views, &word.plain)? {
            let (forms, count) = self.forms(&text, languages)?;
            // Few slips are in a first letter (Pollock and Zamora, CACM 1984).
            let slips = slips + usize::from(text.chars().next() != word.plain.chars().next());
            let score = (count as f32).ln_1p() - SLIP * slips as f32;
            if count > 0
                && slips <= MOST_SLIPS
                && !readings.iter().any(|known| known.forms == forms && known.score >= score)
            {
                readings.push(Reading { text, forms, score });
            }
        }
        // Of equal scores, the word nearest in length first: transposed letters are the commonest slip of fast typing.
        let longer = |reading: &Reading| reading.text.len().abs_diff(word.plain.len());
        readings.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then(longer(a).cmp(&longer(b))).then_with(|| a.text.cmp(&b.text))
        });
        if readings.is_empty() {
            readings.extend(self.split(&word.plain, languages)?);
        }
        let Some(best) = readings.first() else { return Ok(None) };
        let (name, likeliest) = (best.text.clone(), best.score);
        let mut forms: Vec<(String, f32)> = Vec::new();
        for reading in readings.into_iter().take(MOST_READINGS) {
            let likely = (reading.score - likeliest).exp();
            if likely >= LEAST_LIKELY {
                let new = reading.forms.into_iter().filter(|form| !forms.iter().any(|(known, _)| known == form));
                forms.extend(new.map(|form| (form, likely)).collect::<Vec<_>>());
            }
        }
        Ok(Some(Corrected::new(word, word.range.clone(), typed, name, forms)))
    }

    /// The word that a word makes with the one before it or after it, if the space between them is a slip.
    fn joined(
        &self,
        asked: &[AskedWord],
        at: usize,
        typed: &str,
        languages: &[Language],
    ) -> Result<Option<Corrected>, LexicalError> {
        for (left, right) in [(at.wrapping_sub(1), at), (at, at + 1)] {
            let (Some(left), Some(right)) = (asked.get(left), asked.get(right)) else { continue };
            let is_word = |word: &AskedWord| matches!(word.as_what, As::Name | As::Unfinished);
            let between = typed.get(left.range.end..right.range.start);
            if !is_word(left) || !is_word(right) || between != Some(" ") {
                continue;
            }
            let name = format!("{}{}", left.plain, right.plain);
            let (forms, count) = self.forms(&name, languages)?;
            if count > 0 {
                let forms = forms.into_iter().map(|form| (form, 1.0)).collect();
                let range = left.range.start..right.range.end;
                return Ok(Some(Corrected::new(&asked[at], range, typed, name, forms)));
            }
        }
        Ok(None)
    }

    /// The two words that a word makes if a space was forgotten: of all pairs that stand together somewhere, the one whose
    /// rarer word is the most frequent. Nearly any word has two others in it that never meet; but a language that joins
    /// nouns makes a word of any two.
    fn split(&self, word: &str, languages: &[Language]) -> Result<Option<Reading>, LexicalError> {
        let mut best: Option<(u64, Reading)> = None;
        for (at, _) in word.char_indices().skip(PART) {
            let (left, right) = word.split_at(at);
            if right.chars().count() < PART {
                break;
            }
            let (mut forms, left_count) = self.forms(left, languages)?;
            if left_count == 0 {
                continue;
            }
            let (others, right_count) = self.forms(right, languages)?;
            let rarer = left_count.min(right_count);
            if rarer == 0 || best.as_ref().is_some_and(|(count, _)| rarer <= *count) {
                continue;
            }
            let text = format!("{left} {right}");
            if self.makes_a_word((left, &forms), (right, &others))? || self.shows_phrase(&text)? {
                forms.extend(others);
                best = Some((rarer, Reading { text, forms, score: 0.0 }));
            }
        }
        Ok(best.map(|(_, reading)| reading))
    }

    /// The forms of a word in these languages that the asker may see in the snapshots' texts, and how many chunks have the most
    /// frequent form.
    fn forms(&self, text: &str, languages: &[Language]) -> Result<(Vec<String>, u64), LexicalError> {
        let Some(view) = self.views.first() else { return Ok((Vec::new(), 0)) };
        let (mut shown, mut most) = (Vec::new(), 0);
        let words = with_forms(text, languages).into_iter().filter(|(word, _)| word.kind != Kind::Part);
        for form in words.flat_map(|(_, forms)| forms) {
            let term = Term::from_field_text(view.fields.words, &form.text);
            let count = self.count(&term)?;
            if count > 0 && !shown.contains(&form.text) && self.shows_in(&term, &|language| form.counts_in(language))? {
                shown.push(form.text);
                most = most.max(count);
            }
        }
        Ok((shown, most))
    }
}
