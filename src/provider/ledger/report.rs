//! What the ledger says: today, this month, and what for.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use jiff::civil::Date;

use super::book::{Book, Month};
use super::line::month_of;
use super::sums::CountCalls as _;
use protocol::cost::{CostReport, ModelCost, NoteCost, PurposeCost, ReasonCost, Sums};

/// Most notes in a report.
const NOTES: usize = 20;

impl Book {
    /// The report of a day; `before` is a day of the month before.
    pub(super) fn report(&self, day: Date, before: Date) -> CostReport {
        let empty = Month::default();
        let month = self.months.get(&month_of(day)).unwrap_or(&empty);
        let last = self.months.get(&month_of(before)).unwrap_or(&empty);
        let day = day.to_string();
        let notes = dearest(&month.notes);
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
            note_count: notes.len() as u64,
            by_note: notes
                .into_iter()
                .take(NOTES)
                .map(|((vault, path), sums)| NoteCost { vault, path, sums })
                .collect(),
            by_model: dearest(&month.models)
                .into_iter()
                .map(|((provider, model), sums)| ModelCost { provider, model, sums })
                .collect(),
            by_team: month.teams.values().cloned().collect(),
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

/// The keys that had calls, the dearest first, equal ones by name.
fn dearest<K: Clone + Ord + Hash>(sums: &HashMap<K, Sums>) -> Vec<(K, Sums)> {
    let mut all: Vec<(K, Sums)> =
        sums.iter().filter(|(_, sums)| sums.calls > 0).map(|(key, sums)| (key.clone(), *sums)).collect();
    all.sort_by(|(a, x), (b, y)| {
        let worth = |sums: &Sums| Reverse((sums.micro_dollars, sums.unpriced_tokens, sums.calls));
        worth(x).cmp(&worth(y)).then_with(|| a.cmp(b))
    });
    all
}
