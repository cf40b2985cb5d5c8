//! What the ledger says: today, this month, and what for.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::book::{Book, Month};
use super::line::{Entry, Used, month_of};

/// Notes in a report at most.
const NOTES: usize = 20;

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

impl Sums {
    pub(super) fn reserve(&mut self, entry: &Entry) {
        add(&mut self.calls, 1);
        add(&mut self.unsettled_calls, 1);
        if let Some(micro) = entry.reserved {
            add(&mut self.micro_dollars, micro);
            add(&mut self.unsettled_micro_dollars, micro);
        } else {
            add(&mut self.unpriced_calls, 1);
            add(&mut self.unpriced_tokens, entry.tokens);
        }
    }

    pub(super) fn unreserve(&mut self, entry: &Entry) {
        take(&mut self.calls, 1);
        take(&mut self.unsettled_calls, 1);
        if let Some(micro) = entry.reserved {
            take(&mut self.micro_dollars, micro);
            take(&mut self.unsettled_micro_dollars, micro);
        } else {
            take(&mut self.unpriced_calls, 1);
            take(&mut self.unpriced_tokens, entry.tokens);
        }
    }

    pub(super) fn settle(&mut self, used: &Used) {
        add(&mut self.calls, 1);
        add(&mut self.failed, u64::from(used.failed));
        add(&mut self.contexts, u64::from(used.contexts));
        add(&mut self.tokens_in, used.tokens_in());
        add(&mut self.tokens_cached, used.cache_read);
        add(&mut self.tokens_out, used.output);
        add(&mut self.estimated_calls, u64::from(used.estimated));
        if let Some(micro) = used.micro_dollars {
            add(&mut self.micro_dollars, micro);
        } else {
            add(&mut self.unpriced_calls, 1);
            add(&mut self.unpriced_tokens, used.tokens());
        }
    }

    fn include(&mut self, other: &Sums) {
        add(&mut self.calls, other.calls);
        add(&mut self.failed, other.failed);
        add(&mut self.contexts, other.contexts);
        add(&mut self.tokens_in, other.tokens_in);
        add(&mut self.tokens_cached, other.tokens_cached);
        add(&mut self.tokens_out, other.tokens_out);
        add(&mut self.estimated_calls, other.estimated_calls);
        add(&mut self.micro_dollars, other.micro_dollars);
        add(&mut self.unpriced_calls, other.unpriced_calls);
        add(&mut self.unpriced_tokens, other.unpriced_tokens);
        add(&mut self.unsettled_calls, other.unsettled_calls);
        add(&mut self.unsettled_micro_dollars, other.unsettled_micro_dollars);
    }
}

/// Saturates: a file from elsewhere may hold any number.
fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn take(sum: &mut u64, less: u64) {
    *sum = sum.saturating_sub(less);
}

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
    /// This month by model, dearest first.
    pub by_model: Vec<ModelCost>,
    /// Lines of the ledger that could not be read: what they said is in no sum.
    pub damaged_lines: u64,
}

/// What was spent for a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasonCost {
    /// Name of the [`context::plan::Reason`]; `rerank`, `ask` or `expand` for what is no decision about a note.
    pub reason: String,
    /// What was spent.
    #[serde(flatten)]
    pub sums: Sums,
}

/// What was spent on somebody's behalf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PurposeCost {
    /// `change`, `sync`, `rebuild`, `asked`, `probe`, `rerank`, `ask` or `expand`.
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

impl Book {
    /// The report of a day; `before` is a day of the month before.
    pub(super) fn report(&self, day: Date, before: Date) -> CostReport {
        let empty = Month::default();
        let month = self.months.get(&month_of(day)).unwrap_or(&empty);
        let last = self.months.get(&month_of(before)).unwrap_or(&empty);
        let day = day.to_string();
        let notes = dearest(&month.notes).into_iter().take(NOTES);
        CostReport {
            today: month.days.get(&day).copied().unwrap_or_default(),
            day,
            this_month: month.sum(),
            last_month: last.sum(),
            by_reason: dearest(&month.reasons).into_iter().map(|(reason, sums)| ReasonCost { reason, sums }).collect(),
            by_purpose: dearest(&month.purposes)
                .into_iter()
                .map(|(purpose, sums)| PurposeCost { purpose: purpose.to_owned(), sums })
                .collect(),
            by_note: notes.map(|((vault, path), sums)| NoteCost { vault, path, sums }).collect(),
            by_model: dearest(&month.models)
                .into_iter()
                .map(|((provider, model), sums)| ModelCost { provider, model, sums })
                .collect(),
            damaged_lines: self.damaged,
        }
    }
}

impl Month {
    fn sum(&self) -> Sums {
        let mut all = Sums::default();
        self.days.values().for_each(|sums| all.include(sums));
        all
    }
}

/// Those that there were calls for, the dearest first; equal ones by name.
fn dearest<K: Clone + Ord + Hash>(sums: &HashMap<K, Sums>) -> Vec<(K, Sums)> {
    let mut all: Vec<(K, Sums)> =
        sums.iter().filter(|(_, sums)| sums.calls > 0).map(|(key, sums)| (key.clone(), *sums)).collect();
    all.sort_by(|(a, x), (b, y)| {
        let worth = |sums: &Sums| Reverse((sums.micro_dollars, sums.unpriced_tokens, sums.calls));
        worth(x).cmp(&worth(y)).then_with(|| a.cmp(b))
    });
    all
}
