//! The words of a query, and what each is looked up as.
//!
//! A query is too short to have a language: each of its words is looked up in the forms it has in the languages of the
//! vault.

use std::ops::Range;

use tantivy::schema::Field;

use super::analyze::{Kind, Word, words};
use super::documents::Fields;
use super::{Cancel, Language};
use context::quality::stop_word_languages;

/// Weight of the context; the words of the chunk and its note have 1.
pub(super) const CONTEXT: f32 = 0.5;
/// Weight of a compound's part in a query that also has the whole: of two parts. The parts together weigh what the whole
/// does, so that of `2.0.1` a list of such numbers does not count for more than the version.
const PART: f32 = 0.5;
/// At most this many words of a query are looked up: a pasted page must not take seconds.
const MOST_WORDS: usize = 64;

/// English words that say nothing about a note; dropped from a query that has others.
const STOP: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "should", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with",
    "would", "you", "your",
];

/// Whether a query skips this word when it has other words.
pub fn is_stop_word(typed: &str) -> bool {
    STOP.binary_search(&typed.to_ascii_lowercase().as_str()).is_ok()
}

/// The languages among these in which a word holds sentences together; none if it is also such a word of English.
pub(super) fn stops_in<'l>(typed: &str, languages: &'l [Language]) -> impl Iterator<Item = Language> + use<'l> {
    let known = stop_word_languages(&typed.to_lowercase());
    languages.iter().copied().filter(|l| known.contains(&l.code()) && !known.contains(&Language::English.code()))
}

/// Tells the words of a query that it skips when it has others: those of English, and those of another language of the
/// vault if it has two of them, for one alone may be a word of English (`die`, `war`). A stop word in capitals is a name
/// (`IT contact`), and so is a capitalised one within a sentence (`concert of The Who`), unless the whole query is written
/// so.
struct Stops<'a> {
    text: &'a str,
    /// Whether a word in capitals stands out.
    capitals: bool,
    /// Whether a capitalised word stands out.
    capitalised: bool,
    /// The other languages whose stop words are skipped.
    others: Vec<Language>,
}

impl<'a> Stops<'a> {
    fn of(text: &'a str, words: &[(Word, Vec<Form>)], languages: &[Language]) -> Self {
        let is_low = |word: &str| word.starts_with(char::is_lowercase) && !is_stop_word(word);
        let capitals = text.contains(char::is_lowercase);
        let stops = || words.iter().flat_map(|(word, _)| stops_in(&text[word.range.clone()], languages));
        let others =
            languages.iter().copied().filter(|language| stops().filter(|stop| stop == language).nth(1).is_some());
        Stops { text, capitals, capitalised: text.split_whitespace().any(is_low), others: others.collect() }
    }

    fn is_stop(&self, word: &Word) -> bool {
        let typed = &self.text[word.range.clone()];
        let is_stop =
            word.kind == Kind::Word && (is_stop_word(typed) || stops_in(typed, &self.others).next().is_some());
        is_stop && !self.is_name(typed, word.range.start)
    }

    fn is_name(&self, typed: &str, start: usize) -> bool {
        // `I` and `A` are always written so.
        if typed.len() < 2 || !typed.starts_with(char::is_uppercase) {
            return false;
        }
        let is_within = || self.text[..start].trim_end().ends_with(|c: char| c.is_alphanumeric() || c == ',');
        let in_capitals = typed.bytes().all(|b| b.is_ascii_uppercase());
        (self.capitals && in_capitals) || (self.capitalised && is_within())
    }
}

/// What the lexical lane is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LexicalQuery {
    /// Free words, in the order typed.
    pub words: String,
    /// Phrases that must occur.
    pub phrases: Vec<String>,
    /// Whether the context field takes part.
    pub contextual: bool,
    /// Weight of the questions and terms beside contexts; 0 leaves them out. Phrases never look at them:
    /// they test a chunk's own text and what situates it.
    pub expansion: f32,
    /// Whether the last of the words is still being typed.
    pub prefix: bool,
    /// Which of many words are looked up.
    pub choice: Choice,
    /// The bytes of the words that were read as a time: they are no slips of others.
    pub time: Option<Range<usize>>,
    /// Once it is raised, the search ends with [`LexicalError::Cancelled`](super::LexicalError::Cancelled).
    pub cancel: Cancel,
}

/// Which of a query's words are looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// All.
    #[default]
    All,
    /// Those, too, that say nothing beside others: each may be all that a chunk has of a query that ORs them.
    Every,
    /// Of more words than these, so many that the fewest chunks have, and all that no chunk has.
    Rarest(usize),
    /// As [`Choice::Rarest`], of those that several chunks have. For chunks like the one that the words are from: a word
    /// of that one alone leads to no other.
    Shared(usize),
}

/// The fields that a query's words are looked up in, with their weights.
pub(super) fn weighted(fields: Fields, query: &LexicalQuery) -> impl Iterator<Item = (Field, f32)> + use<> {
    let expansion = (query.expansion > 0.0).then_some((fields.expansion, query.expansion));
    in_text(fields, query.contextual).chain(expansion)
}

/// The fields that hold text in which phrases are looked for, with their weights.
pub(super) fn in_text(fields: Fields, contextual: bool) -> impl Iterator<Item = (Field, f32)> + use<> {
    let context = contextual.then_some((fields.around, CONTEXT));
    std::iter::once((fields.words, 1.0)).chain(context)
}

/// What a word of a query is looked up as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum As {
    /// Its forms.
    Word,
    /// Its forms; if there are none, words that are spelt almost like it.
    Name,
    /// Its forms, and the words that begin with it as typed.
    Unfinished,
    /// The words that begin with it.
    Beginning,
}

/// A normal form of a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    pub(super) text: String,
    /// The languages in which it is.
    languages: Vec<Language>,
    is_cut: bool,
}

impl Form {
    /// Whether a chunk in this language has the word if it has the form: German alone cuts `planes` to `plan`, which is
    /// another word in an English text. A word that is not cut, or respelt (`ue`), is the same in all; and English words
    /// are used in all (`Apps`).
    pub(super) fn counts_in(&self, language: Language) -> bool {
        !self.is_cut || self.languages.iter().any(|known| *known == language || *known == Language::English)
    }
}

/// Whether a form is a word without its ending. Words in letters that English lacks are not taken for another language's.
pub(super) fn is_cut(form: &str, plain: &str) -> bool {
    form.len() < plain.len() && form.is_ascii() && plain.starts_with(form)
}

/// The words of a text without a language, each with its normal forms in these languages, each once.
pub(super) fn with_forms(text: &str, languages: &[Language]) -> Vec<(Word, Vec<Form>)> {
    let mut all: Vec<(Word, Vec<Form>)> = words(text, None).into_iter().map(|word| (word, Vec::new())).collect();
    for language in languages {
        for ((plain, forms), word) in all.iter_mut().zip(words(text, Some(*language))) {
            match forms.iter_mut().find(|known| known.text == word.text) {
                Some(known) => known.languages.push(*language),
                None => forms.push(Form {
                    is_cut: is_cut(&word.text, &plain.text),
                    text: word.text,
                    languages: vec![*language],
                }),
            }
        }
    }
    all
}

/// A word of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskedWord {
    /// Where it stands in the query.
    pub(super) range: Range<usize>,
    pub(super) as_what: As,
    /// Its normal forms in the languages of the vault, each once.
    pub(super) forms: Vec<Form>,
    /// Its normal form without a language.
    pub(super) plain: String,
    pub(super) weight: f32,
    /// Where the compound stands that it is, or is a part of.
    pub(super) compound: Option<Range<usize>>,
}

impl LexicalQuery {
    /// Its words with their weights, each once.
    pub(super) fn asked(&self, languages: &[Language]) -> Vec<AskedWord> {
        read(&self.words, languages, self.prefix, self.choice == Choice::Every)
    }
}

/// The words of a text with their weights, each once, but for those that say nothing beside others.
pub(super) fn asked(text: &str, languages: &[Language]) -> Vec<AskedWord> {
    read(text, languages, false, false)
}

/// `prefix` says that the last word is still being typed, `every` that none says nothing.
fn read(text: &str, languages: &[Language], prefix: bool, every: bool) -> Vec<AskedWord> {
    let all = with_forms(text, languages);
    let stops = Stops::of(text, &all, languages);
    let stop = |word: &Word| !every && stops.is_stop(word);
    let unfinished = |word: &Word| prefix && word.range.end == text.len();
    let only_stops = all.iter().all(|(word, _)| stop(word) && !unfinished(word));
    let mut asked: Vec<AskedWord> = Vec::new();
    let mut pair_end = None;
    let mut compound: Option<Range<usize>> = None;
    let mut part = PART;
    for (at, (word, forms)) in all.iter().enumerate() {
        // A whole comes behind its first part.
        let next = all.get(at + 1).map(|(next, _)| next);
        let whole = next.filter(|next| next.kind == Kind::Whole && next.range.start == word.range.start);
        if let Some(whole) = whole {
            let within = all[at..].iter().take_while(|(word, _)| word.range.start < whole.range.end);
            part = 1.0 / within.filter(|(word, _)| word.kind == Kind::Part).count().max(2) as f32;
        }
        compound = whole.map(|whole| whole.range.clone()).or(compound.filter(|known| word.range.end <= known.end));
        let ends_a_pair = pair_end == Some(word.range.end);
        let part = if compound.is_some() { part } else { PART };
        pair_end = (word.kind == Kind::Pair).then_some(word.range.end);
        let (as_what, weight) = match word.kind {
            Kind::Single if ends_a_pair => continue,
            Kind::Single => (As::Beginning, 1.0),
            Kind::Pair => (As::Word, 1.0),
            Kind::Part if unfinished(word) => (As::Unfinished, part),
            Kind::Word | Kind::Whole if unfinished(word) => (As::Unfinished, 1.0),
            Kind::Word if stop(word) && !only_stops => continue,
            Kind::Word => (As::Name, 1.0),
            Kind::Part => (As::Name, part),
            Kind::Whole | Kind::Symbols => (As::Word, 1.0),
        };
        let mut forms = forms.clone();
        forms.extend(with_v(&text[word.range.clone()], word.kind));
        let same = |known: &&mut AskedWord| {
            known.forms.iter().map(|form| &form.text).eq(forms.iter().map(|form| &form.text))
                && (known.as_what == As::Beginning) == (as_what == As::Beginning)
        };
        if let Some(known) = asked.iter_mut().find(same) {
            known.weight = weight.max(known.weight);
            known.forms.iter_mut().zip(forms).for_each(|(known, form)| known.is_cut &= form.is_cut);
            // As a word by itself it counts beside the compound.
            known.compound = known.compound.take().filter(|_| compound.is_some());
            if as_what == As::Unfinished {
                (known.as_what, known.plain) = (as_what, word.text.clone());
            }
        } else if asked.len() < MOST_WORDS {
            let (range, compound) = (word.range.clone(), compound.clone());
            asked.push(AskedWord { range, as_what, forms, plain: word.text.clone(), weight, compound });
        }
    }
    asked
}

/// What notes have that write a version with its letter: `v2.0.1` where the query has `2.0.1`.
fn with_v(typed: &str, kind: Kind) -> Option<Form> {
    let is_version = kind == Kind::Whole && typed.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let text = || format!("v{}", typed.replace('.', ""));
    is_version.then(|| Form { text: text(), languages: Vec::new(), is_cut: false })
}

/// The normal forms in these languages of a query's words, without those that say nothing beside others: what a reader
/// looks for in a passage.
pub(super) fn telling(text: &str, languages: &[Language]) -> Vec<Form> {
    let words = with_forms(text, languages);
    let stops = Stops::of(text, &words, languages);
    let all = words.iter().all(|(word, _)| stops.is_stop(word));
    words.into_iter().filter(|(word, _)| all || !stops.is_stop(word)).flat_map(|(_, forms)| forms).collect()
}

/// The words of a query, in their normal forms, that are looked up as what begins with them.
pub(super) fn beginnings(text: &str) -> Vec<String> {
    let asked = asked(text, &[Language::default()]);
    asked.into_iter().filter(|word| word.as_what == As::Beginning).map(|word| word.plain).collect()
}

#[cfg(test)]
mod tests;
