//! The rerankers that `--rerank` measures: those that a search of the daemon would ask, with the same deadline and the
//! same budget.

use std::path::Path;
use std::sync::Arc;

use super::source::Source;
use crate::cli::print::counted;
use crate::cli::session::{CliFailure, Session};
use crate::cli::{confirm, exit};
use crate::daemon::config::Config;
use crate::daemon::serve::bind::DataLock;
use context::cost::dollars;
use engine::rerank::Reranker;
use provider::ledger::{BudgetLimits, Ledger, folder};
use provider::{ProviderRuntime, Spender};

/// The rerankers, and the accounts of what they cost.
#[derive(Default)]
pub(super) struct Judges {
    /// In the order of the configurations; `None` for one that names none.
    rerankers: Vec<Option<Arc<Reranker>>>,
    /// Dropping it ends the calls in flight.
    _runtime: Option<ProviderRuntime>,
    /// Keep a daemon from writing to the ledgers at the same time. What is free has no account.
    _locks: Vec<DataLock>,
}

impl Judges {
    /// Starts the rerankers that the configurations name. Those of one data folder have one account, with the limits of the
    /// first.
    ///
    /// # Errors
    /// The only configuration names none; or one costs, and a daemon keeps the ledger.
    pub(super) fn of(configs: &[&Config]) -> Result<Self, CliFailure> {
        let runtime = ProviderRuntime::new(|| {});
        let mut accounts: Vec<(&Path, DataLock, Arc<Spender>)> = Vec::new();
        let mut rerankers = Vec::new();
        for config in configs.iter().map(|config| &config.engine) {
            let limits = BudgetLimits { day: config.budget.day, day_tokens: config.budget.day_tokens };
            let start = |spender: &Arc<Spender>| Reranker::start(config, &runtime, spender).map_err(CliFailure::usage);
            let mut reranker = start(&Spender::new(Ledger::in_memory(), limits))?;
            if reranker.as_ref().is_some_and(|reranker| !reranker.is_free()) {
                let dir = config.data_dir.as_path();
                if !accounts.iter().any(|(known, ..)| *known == dir) {
                    let lock = DataLock::acquire(dir).map_err(|error| {
                        let why = format!("what it costs cannot be written down: {error}; stop the daemon meanwhile");
                        CliFailure::new(exit::TEMPORARY, format!("--rerank costs, and {why}"))
                    })?;
                    let ledger =
                        Ledger::open(&folder(dir)).map_err(|error| CliFailure::new(exit::IO, error.to_string()))?;
                    accounts.push((dir, lock, Spender::new(ledger, limits)));
                }
                if let Some((.., spender)) = accounts.iter().find(|(known, ..)| *known == dir) {
                    reranker = start(spender)?;
                }
            }
            rerankers.push(reranker);
        }
        if let [None] = rerankers[..] {
            let message = "--rerank: there is no reranker; `[rerank] provider` in the configuration names one";
            return Err(CliFailure::usage(message));
        }
        let locks = accounts.into_iter().map(|(_, lock, _)| lock).collect();
        Ok(Judges { rerankers, _runtime: Some(runtime), _locks: locks })
    }

    /// The reranker of one configuration.
    pub(super) fn of_side(&self, i: usize) -> Option<&Reranker> {
        self.rerankers.get(i)?.as_deref()
    }

    /// What leaves this machine, and where it goes.
    pub(super) fn leaves(&self) -> impl Iterator<Item = String> {
        self.rerankers.iter().flatten().filter_map(|reranker| reranker.leaves())
    }

    /// Says what having each rerank every query `times` times may cost, and where the text goes; asks whether to go on.
    pub(super) fn agreed(
        &self,
        source: &Source,
        times: usize,
        yes: bool,
        session: &Session,
    ) -> Result<bool, CliFailure> {
        let priced = || self.rerankers.iter().flatten().filter(|reranker| !reranker.is_free());
        let asks = !yes && priced().next().is_some();
        for leaves in self.leaves() {
            session.terms(format!("Leaves this machine: {leaves}"), asks);
        }
        let (mut most, mut asked) = (Some(0_u64), 0);
        for reranker in priced() {
            asked += source.queries.len() * times;
            for query in &source.queries {
                let one = reranker.most(&query.text).map(|one| one.saturating_mul(times as u64));
                most = most.zip(one).map(|(sum, one)| sum.saturating_add(one));
            }
        }
        if asked == 0 {
            return Ok(true);
        }
        let price = most.map_or("at a price that is not known".to_owned(), |most| format!("{} at most", dollars(most)));
        let asked = counted(asked as u64, "time");
        session.terms(format!("It is asked up to {asked}: {price}, and within the day's budget."), asks);
        Ok(yes || confirm::answered_yes("Go on?", "say `--yes` to go on")?)
    }
}
