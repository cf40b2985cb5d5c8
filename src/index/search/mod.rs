//! Query × snapshot → hits. Pure: no I/O, no clock; "today" and staleness are the caller's.
//!
//! [`parse`] understands what was typed; [`fn@rank`] makes the conditions a set of rows ([`filter`]), asks the
//! lanes, fuses their scores and boosts them ([`Boosts`]); [`finish`] makes windows of the best, at most so many per
//! note, and gives each hit its snippet; [`rerank`] has the best judged anew in between. [`related()`] does the same for
//! a note instead of a query. [`merge`] joins the answers of several vaults. Whatever is shown on a terminal goes
//! through [`printable`](printable()).

mod answer;
mod blend;
mod boost;
mod dates;
mod expect;
pub mod filter;
mod fold;
mod fuse;
mod gather;
mod hit;
mod lanes;
pub mod limits;
mod pattern;
pub mod printable;
mod property;
mod rank;
pub mod query;
pub mod question;
mod related;
pub mod rerank;
mod rows;
mod snippet;
mod window;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Cancel;

pub use answer::{Answer, Ranking, finish, merge};
pub use boost::{Boosted, Boosts};
pub use expect::{Expected, Standing, expect};
pub use filter::{Filter, Key};
pub use limits::TooMuch;
pub use printable::{printable, printable_lines};
pub use query::{Parsed, parse};
pub use rank::{Part, rank, rank_together, search};
pub use related::{Near, Seed, related};

/// Hits of one answer at most, whatever was asked for.
pub const MAX_HITS: usize = 200;

/// Which lanes answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Both lanes, fused.
    #[default]
    Hybrid,
    /// Words only.
    Lexical,
    /// Vectors only.
    Dense,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Lanes.
    pub mode: Mode,
    /// Hits at most, 1..=200.
    pub limit: usize,
    /// Hits (windows) of one note at most.
    pub per_note: usize,
    /// Whether contexts take part in the lexical lane (and are shown).
    pub contextual: bool,
    /// Characters of a window.
    pub window_chars: usize,
    /// Weight of the dense lane, 0..=1.
    pub dense_weight: f32,
    /// What speaks for a hit beside its text.
    pub boosts: Boosts,
    /// Whether hits whose windows overlap or touch become one.
    pub merge: bool,
    /// Whether hits carry [`Lanes`].
    pub explain: bool,
    /// Once it is raised, the search ends with [`LexicalError::Cancelled`](crate::LexicalError::Cancelled).
    pub cancel: Cancel,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mode: Mode::Hybrid,
            limit: 20,
            per_note: 3,
            contextual: true,
            window_chars: 1200,
            dense_weight: fuse::DENSE_WEIGHT,
            boosts: Boosts::default(),
            merge: true,
            explain: false,
            cancel: Cancel::default(),
        }
    }
}

/// A found chunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Vault.
    pub vault: String,
    /// Path of the note in its vault.
    pub path: String,
    /// First line of the chunk, 1-based.
    pub line: u32,
    /// Last line of the chunk.
    pub end_line: u32,
    /// Title of the note.
    pub title: String,
    /// Headings above the chunk, outermost first.
    pub heading_path: Vec<String>,
    /// 0..=1 within this answer; higher is better.
    pub score: f32,
    /// The best lines for the query, cleaned for a terminal.
    pub snippet: String,
    /// Byte ranges of `snippet` that match the query.
    pub highlights: Vec<(u32, u32)>,
    /// The chunk as it stands in the note.
    pub text: String,
    /// What situates the chunk in its note.
    pub context: String,
    /// The chunk with its neighbours, up to the window's size.
    pub window: String,
    /// First and last line of the window.
    pub window_lines: (u32, u32),
    /// The chunk's id.
    pub chunk: String,
    /// What else was found in the window, best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// Modification time of the note when it was indexed, seconds since 1970 (UTC).
    pub mtime: i64,
    /// Whether the note has changed on disk since.
    pub stale: bool,
    /// Of a related note: whether the two notes are linked already, either way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<bool>,
    /// Which way, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Why it was found; with `explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Lanes>,
}

/// Another found chunk in the window of a hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Also {
    /// The chunk's id.
    pub chunk: String,
    /// Its first line, 1-based.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// As of a hit.
    pub score: f32,
}

/// How a related note is linked with the one that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// That one links to it.
    To,
    /// It links to that one.
    From,
    /// Both do.
    Both,
}

/// How each lane judged a hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lanes {
    /// Words.
    pub lexical: Option<LaneScore>,
    /// Vectors.
    pub dense: Option<LaneScore>,
    /// Score after fusion, before anything else.
    pub fused: f32,
    /// What boosted it beyond that.
    #[serde(default, skip_serializing_if = "Boosted::is_nothing")]
    pub boosts: Boosted,
    /// How a reranker judged it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank: Option<Rejudged>,
}

/// How a reranker changed the order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rejudged {
    /// Rank before, among the chunks of all vaults, 1-based.
    pub before: u32,
    /// Rank that the reranker gave it; `None` if it was not shown to it.
    pub rank: Option<u32>,
    /// The model's own score, on a scale of its own.
    pub score: Option<f32>,
}

/// Rank and score in one lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LaneScore {
    /// 1-based. Beyond a lane's depth (300 or more) only the chunks that the other lane brought are
    /// counted: then the true rank is this or worse.
    pub rank: u32,
    /// BM25 or cosine.
    pub score: f32,
}

#[cfg(test)]
mod tests;
