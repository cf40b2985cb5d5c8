//! The sums of the ledger, kept as lines come: what every budget has left, and what a report says.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use super::line::{Entry, Line, Spared, month_of_day};
use super::sums::CountCalls as _;
use super::{LedgerError, Purpose, Settled};
use protocol::cost::{Sums, TeamSaving};

/// A budget that reservations count against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pot {
    /// A day's, `YYYY-MM-DD`.
    Day(String),
    /// A rebuild's own: vault and job.
    Rebuild(String, u64),
}

impl Pot {
    /// The budget that a reservation counts against.
    pub(super) fn of(entry: &Entry) -> Self {
        match entry.purpose {
            Purpose::Rebuild(job) if entry.own_budget => Pot::Rebuild(entry.vault.clone(), job),
            _ => Pot::Day(entry.day.clone()),
        }
    }
}

/// What is spent or reserved of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Millionths of a dollar of calls whose price is known.
    pub micro_dollars: u64,
    /// Tokens of calls whose price is not known.
    pub tokens: u64,
}

/// The sums of a month.
#[derive(Debug, Default)]
pub(super) struct Month {
    pub days: BTreeMap<String, Sums>,
    pub reasons: HashMap<String, Sums>,
    pub purposes: HashMap<&'static str, Sums>,
    /// By vault and path.
    pub notes: HashMap<(String, String), Sums>,
    /// By provider and model.
    pub models: HashMap<(String, String), Sums>,
    /// Vault, provider and model, where notes of the vault were asked about.
    asked: HashSet<(String, String, String)>,
    /// What was not spent because a team had the contexts.
    pub teams: BTreeMap<String, TeamSaving>,
}

/// All sums.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub months: BTreeMap<String, Month>,
    pots: HashMap<Pot, Spending>,
    /// Reservations that are neither settled nor released, by day and number.
    open: HashMap<(String, u64), Entry>,
    pub damaged: u64,
    /// Why a file that budgets are counted from could not be read.
    pub unread: Option<LedgerError>,
    /// A file with lines, none of which can be read.
    pub meaningless: Option<PathBuf>,
}

impl Book {
    /// Whether a month was entered.
    pub(super) fn knows(&self, month: &str) -> bool {
        self.months.contains_key(month)
    }

    /// Enters the lines of a month. A reservation that no line settles or releases stays.
    pub(super) fn enter(&mut self, month: &str, lines: Vec<Line>, damaged: u64) {
        self.months.entry(month.to_owned()).or_default();
        self.damaged += damaged;
        for line in lines {
            match line {
                Line::Reserved(entry) => self.reserve(&entry),
                Line::Settled { entry, used, .. } => {
                    // The reservation's own line may have been damaged.
                    self.end(entry.day.clone(), entry.id);
                    self.settle(&entry, &used);
                }
                Line::Released { id, day } => self.end(day, id),
                Line::Spared(spared) => self.spare(&spared),
            }
        }
    }

    /// Ends a reservation, if it is known.
    fn end(&mut self, day: String, id: u64) {
        if let Some(reserved) = self.open.remove(&(day, id)) {
            self.unreserve(&reserved);
        }
    }

    /// Counts contexts that came from a team.
    pub(super) fn spare(&mut self, spared: &Spared) {
        let month = self.months.entry(month_of_day(&spared.day).to_owned()).or_default();
        let TeamSaving { team, contexts, calls, micro_dollars } = &spared.saving;
        let sum = month
            .teams
            .entry(team.clone())
            .or_insert_with(|| TeamSaving { team: team.clone(), ..TeamSaving::default() });
        for (sum, more) in
            [(&mut sum.contexts, contexts), (&mut sum.calls, calls), (&mut sum.micro_dollars, micro_dollars)]
        {
            *sum = sum.saturating_add(*more);
        }
    }

    /// What is spent or reserved of a budget.
    pub(super) fn spent(&self, pot: &Pot) -> Spending {
        self.pots.get(pot).copied().unwrap_or_default()
    }

    /// Whether a model was asked about notes of a vault.
    pub(super) fn has_asked(&self, vault: &str, provider: &str, model: &str) -> bool {
        let asked = (vault.to_owned(), provider.to_owned(), model.to_owned());
        self.months.values().any(|month| month.asked.contains(&asked))
    }

    /// Counts a reservation as spent.
    pub(super) fn reserve(&mut self, entry: &Entry) {
        let spent = self.pots.entry(Pot::of(entry)).or_default();
        match entry.reserved {
            Some(micro) => spent.micro_dollars = spent.micro_dollars.saturating_add(micro),
            None => spent.tokens = spent.tokens.saturating_add(entry.tokens),
        }
        self.each(entry, |sums| sums.reserve(entry));
        self.open.insert((entry.day.clone(), entry.id), entry.clone());
    }

    /// Takes a reservation out of the sums again.
    pub(super) fn unreserve(&mut self, entry: &Entry) {
        let spent = self.pots.entry(Pot::of(entry)).or_default();
        match entry.reserved {
            Some(micro) => spent.micro_dollars = spent.micro_dollars.saturating_sub(micro),
            None => spent.tokens = spent.tokens.saturating_sub(entry.tokens),
        }
        self.each(entry, |sums| sums.unreserve(entry));
        self.open.remove(&(entry.day.clone(), entry.id));
    }

    /// The newest reservation under a vault, path and purpose that is neither settled nor released.
    pub(super) fn standing(&self, vault: &str, path: &str, purpose: Purpose) -> Option<&Entry> {
        let ours =
            |entry: &&Entry| (entry.vault.as_str(), entry.path.as_str(), entry.purpose) == (vault, path, purpose);
        self.open.values().filter(ours).max_by_key(|entry| (entry.day.as_str(), entry.id))
    }

    /// Reservations that are neither settled nor released, except those of batches: nobody will take these up again.
    pub(super) fn left_over(&self) -> Vec<Entry> {
        let is_batch = |entry: &Entry| entry.path.is_empty() && matches!(entry.purpose, Purpose::Rebuild(_));
        self.open.values().filter(|entry| !is_batch(entry)).cloned().collect()
    }

    /// Counts what a call took.
    pub(super) fn settle(&mut self, entry: &Entry, used: &Settled) {
        let spent = self.pots.entry(Pot::of(entry)).or_default();
        match used.micro_dollars {
            Some(micro) => spent.micro_dollars = spent.micro_dollars.saturating_add(micro),
            None => spent.tokens = spent.tokens.saturating_add(used.usage.tokens()),
        }
        self.each(entry, |sums| sums.settle(used));
    }

    /// Changes every sum that a call is part of.
    fn each(&mut self, entry: &Entry, change: impl Fn(&mut Sums)) {
        let month = self.months.entry(month_of_day(&entry.day).to_owned()).or_default();
        change(month.days.entry(entry.day.clone()).or_default());
        change(month.reasons.entry(entry.reason()).or_default());
        change(month.purposes.entry(entry.purpose.name()).or_default());
        if entry.purpose.is_for_contexts() {
            change(month.notes.entry((entry.vault.clone(), entry.path.clone())).or_default());
            if !entry.path.is_empty() {
                month.asked.insert((entry.vault.clone(), entry.provider.clone(), entry.model.clone()));
            }
        }
        change(month.models.entry((entry.provider.clone(), entry.model.clone())).or_default());
    }
}
