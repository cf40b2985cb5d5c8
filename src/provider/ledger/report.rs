//! What the ledger says: today, this month, and what for.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use jiff::civil::Date;

use super::book::{Book, Month};
use super::line::{Entry, Used, month_of};
use protocol::cost::{CostReport, ModelCost, NoteCost, PurposeCost, ReasonCost, Sums};

/// Notes in a report at most.
const NOTES: usize = 20;

/// How calls enter sums.
pub(super) trait CountCalls {
    /// A call is about to be sent.
    fn reserve(&mut self, entry: &Entry);
    /// A reserved call is taken out again.
    fn unreserve(&mut self, entry: &Entry);
    /// A call has ended.
    fn settle(&mut self, used: &Used);
    /// All calls of other sums.
    fn include(&mut self, other: &Sums);
}

impl CountCalls for Sums {
    fn reserve(&mut self, entry: &Entry) {
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

    fn unreserve(&mut self, entry: &Entry) {
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

    fn settle(&mut self, used: &Used) {
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
