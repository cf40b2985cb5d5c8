//! Where a request waits for its turn: a pool of threads for each kind of wait, so that no kind keeps another from
//! being answered.
//!
//! The table of methods ([`protocol::table`]) says which pool a call takes, except for a search, which may wait for
//! other programs or look through all texts ([`of`]). A pool runs a number of calls at once and lets some more wait; the next call is told `busy`
//! at once, with when to try again.

mod line;

use std::sync::LazyLock;
use std::time::Duration;

use line::{Full, Line, Place};
use protocol::envelope::{ErrorKind, RpcError};
use protocol::search::Expand;
use protocol::table::{AnyCall, Method, Pool};

/// How many calls of a pool run and wait at most.
struct Size {
    /// How the message to a refused client names the calls.
    calls: &'static str,
    running: usize,
    waiting: usize,
    /// When a refused call should try again.
    retry_after_ms: u64,
    /// How long calls may wait before the pool counts as flooded ([`Line`]); `None`: for as long as it takes.
    patience: Option<Duration>,
}

/// How long more queries may come than can be answered before some are refused: a burst is worked off, a flood is not
/// queued. Several times as long as a query takes.
const PATIENCE: Duration = Duration::from_millis(50);

/// Most cores that answer queries at once, however many there are.
const MOST_CORES: usize = 16;

/// Most threads that the calls of all pools block together. The runtime has as many, so that each place in a pool has
/// its thread: otherwise one full pool could keep the others waiting after all.
pub(crate) const MOST_THREADS: usize = MOST_CORES + 2 + 8 + 8 + 12 + 12 + 8 + 2 + 1;

/// How many calls of a pool run and wait.
fn size(pool: Pool) -> Size {
    let size =
        |calls, running, waiting, retry_after_ms| Size { calls, running, waiting, retry_after_ms, patience: None };
    match pool {
        // A query takes ten milliseconds: the last one of a burst waits for half a second, and those of a flood are
        // refused.
        Pool::Query => Size { patience: Some(PATIENCE), ..size("queries", cores(), 48 * cores(), 200) },
        // One takes up to a second where there are many notes.
        Pool::Scan => size("searches through all texts", 2, 24, 1_000),
        Pool::Look => size("requests for notes", 8, 256, 200),
        Pool::Engine => size("requests to the engine", 8, 256, 200),
        // A model that hangs holds its places until its deadline; calls behind it may wait for minutes.
        Pool::Model => size("questions to the model", 12, 12, 5_000),
        // A reranker and a model both have deadlines of seconds, so the last call in the queue is answered before the
        // client's own deadline.
        Pool::Assisted => size("searches that ask a reranker or a model", 12, 24, 1_000),
        Pool::Fresh => size("requests that wait for what was just saved", 8, 24, 1_000),
        Pool::Graph => size("requests for the graph", 2, 8, 1_000),
        // A connection looks at its watches one by one, so no more looks wait than there are connections.
        Pool::Watch => size("watches", 1, usize::MAX, 1_000),
    }
}

/// How many queries run at once. Asked once: Linux answers from the files of the control groups, 50 µs each time.
fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MOST_CORES));
    *CORES
}

/// What outside the engine a search asks unless it says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outside {
    /// A model, for other words.
    pub(super) expands: bool,
    /// A reranker.
    pub(super) reranks: bool,
    /// A team's collection, whatever the search says.
    pub(super) teams: bool,
}

/// The pool in which a call waits: its method's pool, unless it is a search that waits for more than a processor.
pub(super) fn of(call: &AnyCall, outside: Outside) -> Pool {
    let AnyCall::Search(search) = call else { return call.method().pool() };
    let expands = search.expand.map_or(outside.expands, |expand| expand != Expand::Off);
    let reranks = search.rerank.unwrap_or(outside.reranks);
    match () {
        () if search.fresh => Pool::Fresh,
        () if expands || reranks || outside.teams => Pool::Assisted,
        () if index::search::reads_all_texts(&search.query) => Pool::Scan,
        () => Method::Search.pool(),
    }
}

/// The pools of a daemon.
pub(super) struct Pools(Vec<Line>);

impl Pools {
    pub(super) fn new() -> Self {
        let line = |pool: &Pool| {
            let Size { running, waiting, patience, .. } = size(*pool);
            Line::new(running, waiting, patience)
        };
        Pools(Pool::ALL.iter().map(line).collect())
    }

    /// Waits for a place in the pool; the place counts towards the share of `client`.
    ///
    /// # Errors
    /// As many calls as may already run and wait, or calls have waited for too long.
    pub(super) async fn enter(&self, pool: Pool, client: usize) -> Result<Place, RpcError> {
        self.0[pool as usize].enter(client).await.map_err(|Full { running, waiting }| busy(pool, running, waiting))
    }
}

fn busy(pool: Pool, running: usize, waiting: usize) -> RpcError {
    let Size { calls, retry_after_ms, .. } = size(pool);
    let why = format!("too many {calls}: {running} run and {waiting} wait; no more are taken now");
    RpcError::new(ErrorKind::Busy, why).hint("try again in a moment").retry_after_ms(retry_after_ms)
}

#[cfg(test)]
mod tests;
