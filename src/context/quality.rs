//! The gate: judges whether a model's text may situate a chunk. Pure; weights and thresholds were found with
//! hand-written cases.
//!
//! First it rejects what cannot be mended or must never be accepted (a refusal, leaked markup, another language,
//! invented numbers, words from nowhere). Then it computes a weighted score of what can be measured without another
//! model. Whether a caption is *true* cannot be measured: the gate catches what small and hurried models do wrong, and
//! is lenient otherwise, since every rejection costs a call.

mod expansion;
mod numbers;
mod phrases;
mod script;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashSet;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::document::{Document, Passage};

pub use expansion::judge_expansion;
/// The parts of a score, for people who judge contexts.
pub use protocol::contexts::Scores;
pub use words::stop_word_languages;

/// A context with at least this score is accepted as it is.
pub const GOOD: f32 = 0.70;

/// A context with at least this score is accepted, with the template before it.
pub const WEAK: f32 = 0.50;

/// Why a text is rejected outright.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Flaw {
    /// Nothing is left of it.
    Empty,
    /// The model declined.
    Refusal,
    /// Control or replacement characters.
    Garbled,
    /// Markup, JSON or instructions leaked into it.
    Leak,
    /// Another language or script than the note's.
    Language,
    /// Far too short or too long.
    Length,
    /// No whole sentence.
    Truncated,
    /// Its words are not the note's.
    Ungrounded,
    /// Numbers that the note does not hold.
    Numbers,
    /// The score is too low.
    Weak,
    /// The answer had no text for this passage.
    Missing,
}

impl Flaw {
    /// What it is, for a person.
    pub fn said(self) -> &'static str {
        match self {
            Flaw::Empty => "empty",
            Flaw::Refusal => "declined by the model",
            Flaw::Garbled => "garbled characters",
            Flaw::Leak => "markup or instructions in it",
            Flaw::Language => "in another language than the note",
            Flaw::Length => "far too short or too long",
            Flaw::Truncated => "no whole sentence",
            Flaw::Ungrounded => "words that are not the note's",
            Flaw::Numbers => "numbers that are not the note's",
            Flaw::Weak => "too poor",
            Flaw::Missing => "missing in the answer",
        }
    }
}

/// What the gate says of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is taken.
    Taken {
        /// The text, generic opener and half sentences cut off.
        text: String,
        /// 0..=1.
        score: f32,
        /// Its parts.
        scores: Scores,
        /// Whether it is weak: then the template goes before it.
        weak: bool,
    },
    /// It is not.
    Rejected {
        /// Why.
        flaw: Flaw,
        /// 0..=1; 0 where nothing could be measured.
        score: f32,
    },
}

/// How an answer ended, as far as that counts here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Whole,
    /// At the token limit (or it looks so).
    Cut,
    /// The provider says that it was declined.
    Refused,
}

/// Share of a caption's content words that must stand in the note. Of 232 captions that a model wrote for pages of
/// documentation, 2 in 100 have less than half; of captions of other pages of the same documentation, half have
/// less than 0.42.
const LEAST_GROUNDED: f32 = 0.4;

/// Content words that must stand in the note, however few there are.
const FEWEST_GROUNDED: usize = 2;

/// Novelty scores 1 from this share on of content words that a caption takes from the note but not from the passage.
const ENOUGH_NOVELTY: f32 = 0.25;

/// Grounding scores 0 up to the first of these shares, and 1 from the second on.
const GROUNDING: (f32, f32) = (0.25, 0.75);

/// Factor for pairs of characters: they straddle words, so a caption in new words shares fewer of them with the note.
const PAIRS_STRADDLE: f32 = 1.5;

/// The longest caption that is looked at, in words.
const MOST_WORDS: usize = 220;

/// Bytes of a note that a caption is compared with: its start, and the surroundings of the passage. Models are
/// not shown more either, and judging stays linear in the number of passages.
const NOTE_START: usize = 32 << 10;
const NOTE_AROUND: usize = 48 << 10;

/// Lengths of a caption in words that score 1, unless the user asks for others.
pub const USUAL_WORDS: RangeInclusive<usize> = 12..=100;

/// Judges the text that a model wrote for a passage.
pub fn judge(text: &str, ending: Ending, document: &Document, passage: &Passage) -> Verdict {
    judge_within(USUAL_WORDS, text, ending, document, passage)
}

/// Judges like [`judge`], for captions that were asked to have a number of words within `words`.
pub fn judge_within(
    words: RangeInclusive<usize>,
    text: &str,
    ending: Ending,
    document: &Document,
    passage: &Passage,
) -> Verdict {
    let material = Material::of(document, passage);
    let text = match admit(text, ending, &material) {
        Ok(text) => text,
        Err(flaw) => return Verdict::Rejected { flaw, score: 0.0 },
    };
    let (text, opening) = phrases::open(&text);
    let (scores, flaw) = measured(&text, &words, opening, &material);
    let score = weighted(&scores);
    if let Some(flaw) = flaw {
        // However good the rest looks, the score stays below the threshold.
        return Verdict::Rejected { flaw, score: score.min(0.3) };
    }
    if score < WEAK {
        return Verdict::Rejected { flaw: Flaw::Weak, score };
    }
    Verdict::Taken { text, score, scores, weak: score < GOOD }
}

/// What a caption is compared with.
struct Material<'a> {
    /// What the note says, with its names, headings and properties.
    note: String,
    /// Title, other names and headings of the passage.
    names: String,
    passage: &'a str,
    date: Option<jiff::civil::Date>,
    only_passage: bool,
}

impl<'a> Material<'a> {
    fn of(document: &'a Document, passage: &Passage) -> Self {
        let names: Vec<&str> = std::iter::once(&document.title)
            .chain(&document.aliases)
            .chain(&passage.heading_path)
            .map(String::as_str)
            .collect();
        let names = names.join("\n");
        let mut note = format!("{names}\n{}\n", document.path);
        let others = document.tags.iter().chain(&document.kind).chain(&document.date).chain(&document.links);
        let headings = document.outline.iter().map(|(_, text)| text);
        let properties = document.properties.iter().flat_map(|(key, value)| [key, value]);
        for text in others.chain(headings).chain(properties) {
            note.push_str(text);
            note.push('\n');
        }
        for part in shown(&document.text, passage) {
            note.push_str(part);
            note.push('\n');
        }
        Material {
            note,
            names,
            passage: document.passage_text(passage),
            date: document.date.as_deref().and_then(|date| date.get(..10)?.parse().ok()),
            only_passage: document.passages.len() < 2,
        }
    }
}

/// The parts of a note's text that a caption is compared with.
fn shown<'a>(text: &'a str, passage: &Passage) -> [&'a str; 2] {
    if text.len() <= NOTE_START + 2 * NOTE_AROUND {
        return [text, ""];
    }
    let part = |from: usize, to: usize| {
        text.get(text.floor_char_boundary(from)..text.ceil_char_boundary(to.min(text.len()))).unwrap_or_default()
    };
    let from = passage.span.start.saturating_sub(NOTE_AROUND);
    [part(0, NOTE_START), part(from, from.saturating_add(2 * NOTE_AROUND))]
}

/// The caption in one line and in whole sentences, or the flaw that rules it out.
fn admit(text: &str, ending: Ending, material: &Material) -> Result<String, Flaw> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Flaw::Empty);
    }
    if ending == Ending::Refused || phrases::is_refusal(text, &material.note) {
        return Err(Flaw::Refusal);
    }
    if phrases::is_garbled(text) {
        return Err(Flaw::Garbled);
    }
    if phrases::is_leak(text, &material.note) {
        return Err(Flaw::Leak);
    }
    if script::other_script(text, &material.note) {
        return Err(Flaw::Language);
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words::length_in_words(&text);
    if !(phrases::FEWEST_WORDS..=MOST_WORDS).contains(&words) {
        return Err(Flaw::Length);
    }
    let whole = phrases::whole_sentences(&text, ending == Ending::Cut).ok_or(Flaw::Truncated)?;
    if script::other_language(whole, &material.note, material.passage) {
        return Err(Flaw::Language);
    }
    Ok(whole.to_owned())
}

/// What can be measured about a caption, and a flaw that rejects it whatever its score.
fn measured(text: &str, words: &RangeInclusive<usize>, opening: f32, material: &Material) -> (Scores, Option<Flaw>) {
    let key = words::Terms::content(text);
    let note = words::Terms::vocabulary(&material.note);
    let passage = words::Terms::vocabulary(material.passage);
    let grounded = key.shared(&note);
    // All words of the passage stand in the note, so the rest is what the caption adds to it.
    let added = grounded.saturating_sub(key.shared(&passage));
    let all = key.len().max(1) as f32;
    let straddle = if key.pairs.len() > key.words.len() { PAIRS_STRADDLE } else { 1.0 };
    let grounding = (grounded as f32 / all * straddle).min(1.0);
    let grounded_well = ramp(grounding, GROUNDING.0, GROUNDING.1);
    let novelty = (added as f32 / all * straddle / ENOUGH_NOVELTY).min(1.0);
    // A caption of another note would look entirely new, so grounding scales novelty.
    let novelty = if material.only_passage { 1.0 } else { novelty * grounded_well };

    let tokens = tokens(text);
    let copied = copied(&tokens, material.passage);
    let varied = varied(&tokens);
    let invented = numbers::invented(text, &material.note, material.date);
    let scores = Scores {
        length: length(text, words),
        grounding: grounded_well,
        novelty,
        specificity: specificity(&key, &material.names),
        opening,
        numbers: if invented { 0.0 } else { 1.0 },
        originality: 1.0 - ramp(copied, 0.3, 0.9),
        coherence: varied.min(coherence(text, &tokens)),
    };
    let flaw = if grounding < LEAST_GROUNDED || grounded < FEWEST_GROUNDED {
        Some(Flaw::Ungrounded)
    } else if invented {
        Some(Flaw::Numbers)
    } else if scores.originality <= 0.0 || varied <= 0.0 {
        // A copy of the passage adds nothing to it, and a model that goes round in circles says nothing.
        Some(Flaw::Weak)
    } else {
        None
    };
    (scores, flaw)
}

/// The score: the sum of the parts by their weights, which sum to 1. Grounding and novelty weigh most, since grounding
/// keeps inventions out and novelty is what a context is for.
fn weighted(scores: &Scores) -> f32 {
    let Scores { length, grounding, novelty, specificity, opening, numbers, originality, coherence } = *scores;
    let score = 0.08 * length
        + 0.26 * grounding
        + 0.24 * novelty
        + 0.12 * specificity
        + 0.05 * opening
        + 0.10 * numbers
        + 0.05 * originality
        + 0.10 * coherence;
    score.clamp(0.0, 1.0)
}

fn length(text: &str, asked: &RangeInclusive<usize>) -> f32 {
    match words::length_in_words(text) {
        words if asked.contains(&words) => 1.0,
        8..=150 => 0.5,
        _ => 0.0,
    }
}

/// 1 if a caption uses a word of the note's names or of the headings, else 0.4. Names without content words (dates)
/// require nothing.
fn specificity(key: &words::Terms, names: &str) -> f32 {
    let names = words::Terms::content(names);
    if names.len() == 0 || key.shared(&names) > 0 { 1.0 } else { 0.4 }
}

/// The units that repetition and copying are counted in: words, and single characters of scripts without spaces.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    for word in words::words(text) {
        if word.chars().any(words::is_unspaced) {
            tokens.extend(word.chars().map(String::from));
        } else {
            tokens.push(word);
        }
    }
    tokens
}

/// Whether tokens are mostly single characters.
fn are_characters(tokens: &[String]) -> bool {
    tokens.iter().filter(|token| token.starts_with(words::is_unspaced)).count() * 2 > tokens.len()
}

/// Share of the caption's runs of four words (or seven characters) that stand in the passage.
fn copied(caption: &[String], passage: &str) -> f32 {
    let run = if are_characters(caption) { 7 } else { 4 };
    let passage = tokens(passage);
    let runs: HashSet<&[String]> = passage.windows(run).collect();
    let all = caption.len().saturating_sub(run - 1);
    if all == 0 {
        return 0.0;
    }
    caption.windows(run).filter(|window| runs.contains(window)).count() as f32 / all as f32
}

/// 0 where a model repeats itself without end, 1 where words vary as they do in sentences.
fn varied(tokens: &[String]) -> f32 {
    // Pairs of neighbours: a long caption may use a word often, but not the same two.
    let pairs: Vec<&[String]> = tokens.windows(2).collect();
    if pairs.len() < 8 {
        return 1.0;
    }
    let different = pairs.iter().collect::<HashSet<_>>().len();
    ramp(different as f32 / pairs.len() as f32, 0.5, 0.8)
}

/// How well it reads as sentences. Very short or endless ones score less, and so do lists of keywords without stop
/// words, where the language is one whose stop words are known.
fn coherence(text: &str, tokens: &[String]) -> f32 {
    let per_sentence = words::length_in_words(text) as f32 / phrases::sentences(text).max(1) as f32;
    let sentences = match per_sentence {
        n if n < 4.0 => 0.5,
        n if n > 70.0 => 0.5,
        _ => 1.0,
    };
    if are_characters(tokens) || tokens.iter().any(|token| !token.chars().all(is_european)) {
        return sentences;
    }
    let small = tokens.iter().filter(|token| words::is_stop_word(token)).count();
    let share = small as f32 / tokens.len().max(1) as f32;
    // Languages without a list share some stop words with those that have one, but few.
    f32::min(sentences, 0.3 + 0.7 * ramp(share, 0.0, 0.12))
}

/// Letters of the scripts that the lists of stop words are written in.
fn is_european(c: char) -> bool {
    c.is_ascii() || matches!(u32::from(c), 0xaa..=0x24f | 0x400..=0x4ff)
}

/// 0 up to `from`, 1 from `to` on, linear between them.
fn ramp(value: f32, from: f32, to: f32) -> f32 {
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}
