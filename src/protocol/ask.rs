//! What answers: parameters and answer of `ask`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::hit::{Hit, Lanes, best_line};
use crate::is_default;
use crate::search::{Expand, Mode, SearchFilter};

/// Parameters of `ask`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskRequest {
    /// What is asked; conditions of the query language hold in it.
    pub question: String,
    /// The vault by name; all if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Which notes are looked at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub filter: Option<SearchFilter>,
    /// Which lanes find the passages.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Option<Mode>,
    /// Passages that the model is shown, 1..=50.
    #[serde(default, skip_serializing_if = "is_default")]
    pub passages: Option<usize>,
    /// What the model adds to the question when it is searched for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub expand: Option<Expand>,
    /// Earlier turns of the conversation, oldest first; the last three are shown to the model.
    #[serde(default, skip_serializing_if = "is_default")]
    pub history: Vec<PastTurn>,
    /// Wait until everything saved before the request is in the snapshot.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fresh: bool,
    /// Whether passages carry their lanes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub explain: bool,
    /// Whether `text` notifications come before the answer; they do if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stream: Option<bool>,
    /// Who hears the answer: to assistants private notes do not exist, and they pay only with leave.
    #[serde(default, skip_serializing_if = "is_default")]
    pub audience: Audience,
}

/// An earlier question with its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct PastTurn {
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
}

/// Answer of `ask`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskAnswer {
    /// What the model answers, with citations such as `[1]`; empty if the notes do not hold the answer.
    pub answer: String,
    /// Whether the notes hold an answer, as far as the model says.
    pub found: bool,
    /// The passages that the answer cites, by number. Numbers that no passage has are removed from the answer.
    pub citations: Vec<Citation>,
    /// The passages that the model was shown, best first; the nearest ones if there is no answer.
    pub passages: Vec<AskPassage>,
    /// Why the answer ends before its end, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
    /// Who was asked.
    pub provider: String,
    /// Its model.
    pub model: String,
    /// Tokens that it read.
    pub tokens_in: u64,
    /// Of these, those from its cache.
    pub tokens_cached: u64,
    /// Tokens that it wrote.
    pub tokens_out: u64,
    /// Whether these are estimates.
    pub tokens_estimated: bool,
    /// What it cost, millionths of a dollar; `null` if the price is not known.
    pub micro_dollars: Option<u64>,
    /// Sequence number of the snapshot that the passages are of; the highest of several.
    pub seq: u64,
    /// Milliseconds from request to answer.
    pub took_ms: f64,
    /// What was odd about the question or the answer.
    pub warnings: Vec<String>,
}

/// A passage that an answer cites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// Its number in the answer.
    pub n: usize,
    /// Vault.
    pub vault: String,
    /// Path of the note in its vault.
    pub path: String,
    /// First line, 1-based.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// The line that is best for the question, where a program opens the note. 0 from a daemon that is older than this field.
    #[serde(default)]
    pub match_line: u32,
    /// Title of the note.
    pub title: String,
    /// Headings above `match_line`, outermost first.
    pub heading_path: Vec<String>,
    /// Its lines that are best for the question.
    pub quote: String,
}

impl Citation {
    /// The citation of a passage.
    pub fn of(passage: &AskPassage) -> Self {
        let AskPassage { n, vault, path, line, end_line, match_line, title, heading_path, snippet, .. } =
            passage.clone();
        Citation { n, vault, path, line, end_line, match_line, title, heading_path, quote: snippet }
    }

    /// The line at which to open its note.
    pub fn best_line(&self) -> u32 {
        best_line(self.match_line, self.line)
    }
}

/// A passage that a model was shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskPassage {
    /// Its number.
    pub n: usize,
    /// Vault.
    pub vault: String,
    /// Path of the note in its vault.
    pub path: String,
    /// First line, 1-based.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// The line that is best for the question, where a program opens the note. 0 from a daemon that is older than this field.
    #[serde(default)]
    pub match_line: u32,
    /// Title of the note.
    pub title: String,
    /// Headings above `match_line`, outermost first.
    pub heading_path: Vec<String>,
    /// Its lines that are best for the question.
    pub snippet: String,
    /// As in `search`.
    pub score: f32,
    /// Characters of the window that was shown.
    pub chars: usize,
    /// Whether the note has changed on disk since.
    pub stale: bool,
    /// Why it was found; with `explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Lanes>,
}

impl AskPassage {
    /// The window of a hit under a number.
    pub fn of(n: usize, hit: &Hit) -> Self {
        let (line, end_line) = hit.shown_lines();
        AskPassage {
            n,
            vault: hit.vault.clone(),
            path: hit.path.clone(),
            line,
            end_line,
            match_line: hit.best_line(),
            title: hit.title.clone(),
            heading_path: hit.heading_path.clone(),
            snippet: hit.snippet.clone(),
            score: hit.score,
            chars: hit.window.chars().count(),
            stale: hit.stale,
            lanes: hit.lanes.clone(),
        }
    }

    /// The line at which to open its note.
    pub fn best_line(&self) -> u32 {
        best_line(self.match_line, self.line)
    }
}
