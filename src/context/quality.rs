//! Whether a model's text may situate a chunk. Pure; weights and bars as found by hand cases.

use serde::{Deserialize, Serialize};

use super::document::{Document, Passage};

/// From this score on a context is taken as it is.
pub const GOOD: f32 = 0.70;

/// From this score on it is taken, with the template before it.
pub const WEAK: f32 = 0.50;

/// The parts of a score, each 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Scores {
    /// Neither too short nor too long.
    pub length: f32,
    /// Its content words stand in the note.
    pub grounding: f32,
    /// It says what the chunk itself does not.
    pub novelty: f32,
    /// It names the note or the section.
    pub specificity: f32,
    /// It begins with the matter and not with "This chunk".
    pub opening: f32,
    /// It invents no numbers.
    pub numbers: f32,
    /// It is not a copy of the chunk.
    pub originality: f32,
    /// It reads as whole sentences in the note's language.
    pub coherence: f32,
}

/// Why a text is rejected outright.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
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
    /// The answer had none for this passage.
    Missing,
}

/// What is thought of a text.
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
    /// At the cap of tokens (or it looks so).
    Cut,
    /// The provider says that it was declined.
    Refused,
}

/// Judges the text that a model wrote for a passage.
pub fn judge(_text: &str, _ending: Ending, _document: &Document, _passage: &Passage) -> Verdict {
    todo!()
}
