//! Query × snapshot → hits. Pure: no I/O, no clock; "today" and staleness come from the caller.
//!
//! [`parse`] understands what was typed; [`fn@rank`] makes the conditions a set of rows ([`filter`]), asks the lanes,
//! fuses their scores and boosts them ([`Boosts`]); [`finish`] makes windows of the best, up to a limit per note, and
//! gives each hit its snippet; in between [`rerank`] has a model judge the best anew. [`related()`] does the same for a
//! note instead of a query. [`merge`] joins the answers of several vaults. Whatever is shown on a terminal goes through
//! [`printable`](printable()).

mod answer;
mod asked;
mod blend;
mod boost;
mod dates;
mod elsewhere;
mod expect;
pub mod filter;
mod fold;
mod fuse;
#[cfg(any(test, fuzzing))]
#[path = "../../../tests/fuzz/bodies/query.rs"]
pub mod fuzz;
mod gather;
mod hit;
mod lanes;
mod outside;
pub mod limits;
mod pattern;
pub mod printable;
mod property;
mod rank;
mod ranking;
pub mod query;
pub mod question;
mod related;
mod required;
pub mod rerank;
mod rows;
mod snippet;
mod trail;
mod window;

use crate::Cancel;
use protocol::hit::{Also, Boosted, Expected, Hit, LaneScore, Lanes, LinkDirection, NoteStanding, Rejudged};
use protocol::search::{MAX_HITS, Mode};

pub use answer::{Answer, finish, merge};
pub use asked::{Asked, When, asked};
pub use boost::Boosts;
pub use expect::expect;
pub use filter::{Elsewhere, Filter, Key};
pub use fold::fold;
pub use limits::TooMuch;
pub use outside::{FoundOutside, Outside, OutsideRanking, keep_admitted, rank_beside};
pub use printable::{printable, printable_lines};
pub use query::{AsWords, Parsed, Required, parse, parse_as, reads_all_texts};
pub use rank::{Part, Shown, rank, rank_together, search, settled};
pub use ranking::Ranking;
pub use related::{Near, Seed, related};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The lanes that are asked.
    pub mode: Mode,
    /// Hits at most, 1..=200.
    pub limit: usize,
    /// Hits (windows) of one note at most.
    pub per_note: usize,
    /// Whether contexts take part in the lexical lane (and are shown).
    pub contextual: bool,
    /// Weight of the questions and terms beside contexts in the lexical lane, where contexts take part; 0 leaves them out.
    pub expansion_weight: f32,
    /// Characters of a window.
    pub window_chars: usize,
    /// Weight of the dense lane, 0..=1.
    pub dense_weight: f32,
    /// How far the embedder knows the language of the query, 0..=1: the weight of its lane is multiplied by this.
    pub familiarity: f32,
    /// What speaks for a hit beside its text.
    pub boosts: Boosts,
    /// Whether a chunk that is in the window of another hit joins that hit.
    pub merge: bool,
    /// Whether hits carry [`Lanes`].
    pub explain: bool,
    /// Once it is raised, the search ends with [`LexicalError::Cancelled`](crate::LexicalError::Cancelled).
    pub cancel: Cancel,
}

impl Options {
    /// The weight of the questions and terms beside contexts in this search: 0 where contexts take no part.
    fn expansion(&self) -> f32 {
        if self.contextual { self.expansion_weight } else { 0.0 }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mode: Mode::Hybrid,
            limit: 20,
            per_note: 3,
            contextual: true,
            expansion_weight: 0.0,
            window_chars: 2400,
            dense_weight: fuse::DENSE_WEIGHT,
            familiarity: 1.0,
            boosts: Boosts::default(),
            merge: true,
            explain: false,
            cancel: Cancel::default(),
        }
    }
}

#[cfg(test)]
mod tests;
