//! The reranker that `--rerank` measures: the one that a search of the daemon would ask, with the same deadline and
//! the same budget.

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

/// A reranker, and the account of what it costs.
pub(super) struct Second {
    pub(super) reranker: Arc<Reranker>,
    /// Dropping it ends the calls in flight.
    _runtime: ProviderRuntime,
    /// Keeps a daemon from writing to the ledger at the same time; `None` for a free reranker, which has no account.
    _lock: Option<DataLock>,
}

impl Second {
    /// Starts the reranker that a configuration names.
    ///
    /// # Errors
    /// The configuration names none, or it costs and a daemon keeps the ledger.
    pub(super) fn new(config: &Config) -> Result<Self, CliFailure> {
        let runtime = ProviderRuntime::new(|| {});
        let limits = BudgetLimits { day: config.engine.budget.day, day_tokens: config.engine.budget.day_tokens };
        let start = |ledger: Ledger| {
            let spender = Spender::new(ledger, limits);
            let reranker = Reranker::start(&config.engine, &runtime, &spender).map_err(CliFailure::usage)?;
            reranker.ok_or_else(|| {
                CliFailure::usage("--rerank: there is no reranker; `[rerank] provider` in the configuration names one")
            })
        };
        let reranker = start(Ledger::in_memory())?;
        if reranker.is_free() {
            return Ok(Second { reranker, _runtime: runtime, _lock: None });
        }
        let lock = DataLock::acquire(&config.engine.data_dir).map_err(|error| {
            CliFailure::new(
                exit::TEMPORARY,
                format!("--rerank costs, and what it costs cannot be written down: {error}; stop the daemon meanwhile"),
            )
        })?;
        let reranker = {
            let ledger = Ledger::open(&folder(&config.engine.data_dir));
            start(ledger.map_err(|error| CliFailure::new(exit::IO, error.to_string()))?)?
        };
        Ok(Second { reranker, _runtime: runtime, _lock: Some(lock) })
    }

    /// Says what reranking every query `times` times may cost, and where the text goes; asks whether to go on.
    pub(super) fn agreed(
        &self,
        source: &Source,
        times: usize,
        yes: bool,
        session: &Session,
    ) -> Result<bool, CliFailure> {
        if let Some(leaves) = self.reranker.leaves() {
            session.terms(format!("Leaves this machine: {leaves}"), !yes && !self.reranker.is_free());
        }
        if self.reranker.is_free() {
            return Ok(true);
        }
        let mut most = Some(0_u64);
        for query in &source.queries {
            most = most.zip(self.reranker.most(&query.text)).map(|(sum, one)| sum.saturating_add(one));
        }
        let asked = counted((source.queries.len() * times) as u64, "time");
        let price = most.map_or("at a price that is not known".to_owned(), |most| {
            format!("{} at most", dollars(most.saturating_mul(times as u64)))
        });
        session.terms(format!("It is asked up to {asked}: {price}, and within the day's budget."), !yes);
        Ok(yes || confirm::answered_yes("Go on?", "say `--yes` to go on")?)
    }
}
