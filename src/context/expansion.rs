//! Document expansion: questions that a chunk answers, and key terms, which a model writes together with its context
//! (doc2query: Nogueira, Yang, Lin and Cho, "Document Expansion by Query Prediction", 2019). They let a search find a
//! chunk by words that it does not use. They are not text of the note, and are never shown as such. Pure.

use serde::{Deserialize, Serialize};

/// The fewest questions that are asked for, and the most that are kept.
pub const QUESTIONS: (usize, usize) = (3, 5);

/// Key terms that are asked for, and kept, at most.
pub const MOST_TERMS: usize = 10;

/// What a model wrote beside the context of a chunk; empty if it wrote nothing, or nothing usable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Expansion {
    /// Questions that the chunk answers, each in one line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// Key terms, with their synonyms and abbreviations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<String>,
}

impl Expansion {
    /// Whether there are neither questions nor terms.
    pub fn is_empty(&self) -> bool {
        self.questions.is_empty() && self.terms.is_empty()
    }

    /// As it is indexed: a line for each question, and one for the terms.
    pub fn text(&self) -> String {
        let terms = self.terms.join(", ");
        let lines = self.questions.iter().map(String::as_str).chain((!terms.is_empty()).then_some(terms.as_str()));
        lines.collect::<Vec<_>>().join("\n")
    }
}
