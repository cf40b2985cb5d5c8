//! What is booked: what a call is for, what it may take, what it took, and why it must not be made.

use serde::{Deserialize, Serialize};

use context::cost::{Usage, dollars};
use context::plan::Reason;

/// Daily limits of all calls, except those of a rebuild with its own budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Millionths of a dollar per day.
    pub day: u64,
    /// Tokens per day of models whose price is not known.
    pub day_tokens: u64,
}

/// What a call is to be made for, and what it takes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEstimate<'a> {
    /// The vault's name.
    pub vault: &'a str,
    /// The note's path in it.
    pub path: &'a str,
    /// Why the context is made.
    pub reason: Reason,
    /// Name of the provider.
    pub provider: &'a str,
    /// The model's id.
    pub model: &'a str,
    /// On whose behalf.
    pub purpose: Purpose,
    /// Millionths of a dollar at most; `None` if the price is not known, 0 if it is free.
    pub micro_dollars: Option<u64>,
    /// Tokens at most, read and written.
    pub tokens: u64,
}

/// On whose behalf a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Purpose {
    /// A note changed.
    Change,
    /// The daily check for contexts that should be better.
    Sync,
    /// A rebuild, by the number of its job. A number must never be used again for another rebuild of the same vault,
    /// because whatever was spent under it counts against that rebuild's budget.
    Rebuild(u64),
    /// Somebody asked for this context.
    Asked,
    /// A test whether the provider answers at all.
    Probe,
    /// The results of a search were to be reordered.
    Rerank,
    /// A question about the notes.
    Ask,
    /// Other words for a query.
    Expand,
    /// The vector of a query.
    Query,
}

impl Purpose {
    /// Whether the call is about contexts, be it of a note or of any text: reports by note count it.
    pub(super) fn is_for_contexts(self) -> bool {
        !matches!(self, Purpose::Rerank | Purpose::Ask | Purpose::Expand | Purpose::Query)
    }

    /// Whether a decision about a note asks for the call: only then has a [`Reason`] a meaning.
    pub(super) fn is_decided(self) -> bool {
        matches!(self, Purpose::Change | Purpose::Sync | Purpose::Rebuild(_))
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a call must not be made. Money is in millionths of a dollar; `spent` includes what is reserved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverBudget {
    /// It would exceed what may be spent in a day.
    #[error("the budget of {} a day is used up: {} are spent or reserved, and this call may take {}",
            dollars(*.limit), dollars(*.spent), dollars(*.needed))]
    Day {
        /// What may be spent.
        limit: u64,
        /// What is spent.
        spent: u64,
        /// What the call may take.
        needed: u64,
    },
    /// It would exceed what the rebuild may spend.
    #[error("the rebuild's budget of {} is used up: {} are spent or reserved, and this call may take {}",
            dollars(*.limit), dollars(*.spent), dollars(*.needed))]
    Rebuild {
        /// What may be spent.
        limit: u64,
        /// What is spent.
        spent: u64,
        /// What the call may take.
        needed: u64,
    },
    /// The price is not known, and it would exceed the tokens of a day.
    #[error(
        "the model's price is not known, and of {limit} tokens a day {spent} are used or reserved; this call may take {needed}"
    )]
    DayTokens {
        /// Tokens that may be used.
        limit: u64,
        /// Tokens that are used.
        spent: u64,
        /// Tokens that the call may take.
        needed: u64,
    },
    /// The price is not known, and it would exceed the tokens of the rebuild.
    #[error(
        "the model's price is not known, and of the rebuild's {limit} tokens {spent} are used or reserved; this call may take {needed}"
    )]
    RebuildTokens {
        /// Tokens that may be used.
        limit: u64,
        /// Tokens that are used.
        spent: u64,
        /// Tokens that the call may take.
        needed: u64,
    },
    /// The ledger cannot be read or written: what cannot be accounted for is not bought.
    #[error("{0}")]
    Io(String),
}

impl OverBudget {
    /// Whether the call alone exceeds a day's budget, so that it never fits however little is spent.
    pub fn never_fits(&self) -> bool {
        match self {
            OverBudget::Day { limit, needed, .. } | OverBudget::DayTokens { limit, needed, .. } => {
                *limit > 0 && needed > limit
            }
            OverBudget::Rebuild { .. } | OverBudget::RebuildTokens { .. } | OverBudget::Io(_) => false,
        }
    }
}

/// What a call took in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// Tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// Millionths of a dollar; `None` if the price is not known. (Then the reserved amount counts, if there is one.)
    pub micro_dollars: Option<u64>,
    /// Contexts that the call made.
    pub contexts: u32,
    /// Whether nothing came of it.
    pub failed: bool,
}
