//! What models cost: `cost`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CostReport {
    /// The day that is called today, `YYYY-MM-DD`.
    pub day: String,
    /// Today.
    pub today: Sums,
    /// This month, today included.
    pub this_month: Sums,
    /// The month before.
    pub last_month: Sums,
    /// This month by what the contexts were made for, dearest first.
    pub by_reason: Vec<ReasonCost>,
    /// This month by on whose behalf, dearest first.
    pub by_purpose: Vec<PurposeCost>,
    /// This month by note, the 20 dearest.
    pub by_note: Vec<NoteCost>,
    /// Notes that calls were made for this month; 0 from a daemon that is older than this field.
    #[serde(default)]
    pub note_count: u64,
    /// This month by model, dearest first.
    pub by_model: Vec<ModelCost>,
    /// This month by team: contexts that somebody else had paid for, in order of name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_team: Vec<TeamSaving>,
    /// Lines of the ledger that could not be read: what they said is in no sum.
    pub damaged_lines: u64,
}

/// What calls took together. What was reserved and not settled is in it at its estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sums {
    /// Calls.
    pub calls: u64,
    /// Of these, those that nothing came of.
    pub failed: u64,
    /// Contexts that came of them.
    pub contexts: u64,
    /// Tokens read by the model.
    pub tokens_in: u64,
    /// Of these, those read from the provider's cache.
    pub tokens_cached: u64,
    /// Tokens written by the model.
    pub tokens_out: u64,
    /// Calls whose tokens the provider did not tell, so that they are estimated.
    pub estimated_calls: u64,
    /// Millionths of a dollar, of the calls whose price is known.
    pub micro_dollars: u64,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
    /// Tokens of these, read and written.
    pub unpriced_tokens: u64,
    /// Of all calls, those in flight and those whose answer never came.
    pub unsettled_calls: u64,
    /// Of `micro_dollars`, what those may have taken at most.
    pub unsettled_micro_dollars: u64,
}

/// Contexts that were taken from a team instead of being bought. In none of the sums of what was spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamSaving {
    /// The team by its name in the configuration.
    pub team: String,
    /// Contexts.
    pub contexts: u64,
    /// Calls that were not made for them.
    pub calls: u64,
    /// Millionths of a dollar that these might have cost, as far as the price is known.
    pub micro_dollars: u64,
}

/// What was spent for a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonCost {
    /// Name of the [`crate::decision::Reason`]; the purpose of what is no decision about a note.
    pub reason: String,
    /// What was spent.
    #[serde(flatten)]
    pub sums: Sums,
}

/// What was spent on somebody's behalf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PurposeCost {
    /// `change`, `sync`, `rebuild`, `asked`, `probe`, `rerank`, `ask`, `expand` or `query`.
    pub purpose: String,
    /// What was spent.
    #[serde(flatten)]
    pub sums: Sums,
}

/// What was spent for a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteCost {
    /// The vault's name.
    pub vault: String,
    /// The note's path in it.
    pub path: String,
    /// What was spent.
    #[serde(flatten)]
    pub sums: Sums,
}

/// What was spent on a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelCost {
    /// Who runs it.
    pub provider: String,
    /// Its id.
    pub model: String,
    /// What was spent.
    #[serde(flatten)]
    pub sums: Sums,
}
