//! The turns of a configuration's keepers. Those of the configuration before end first: otherwise what one still writes
//! would land after another has withdrawn it, where nobody looks for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, RwLock, RwLockReadGuard};

use ::team::{Failure, Kind};

/// The turns of one configuration.
#[derive(Default)]
pub(super) struct Turns {
    /// Whether another configuration is in force.
    over: AtomicBool,
    /// Read by each turn while it is under way.
    under_way: RwLock<()>,
    /// Those that may still be under way.
    before: Mutex<Option<Arc<Turns>>>,
}

impl Turns {
    /// Those of the next configuration: from now on none of these begins, and one that is under way reads no more notes.
    pub(super) fn next(self: &Arc<Self>) -> Arc<Self> {
        self.over.store(true, Ordering::SeqCst);
        Arc::new(Turns { before: Mutex::new(Some(self.clone())), ..Turns::default() })
    }

    pub(super) fn are_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Begins a turn once those of the configuration before have ended. It lasts as long as what is returned.
    ///
    /// # Errors
    /// There is another configuration.
    pub(super) async fn begin(&self) -> Result<RwLockReadGuard<'_, ()>, Failure> {
        let turn = self.under_way.read().await;
        let mut before = self.before.lock().await;
        while let Some(turns) = before.clone() {
            drop(turns.under_way.write().await);
            before.clone_from(&*turns.before.lock().await);
        }
        if self.are_over() {
            return Err(Failure::new(Kind::Local, OVER));
        }
        Ok(turn)
    }
}

/// Why nothing is published any more as an earlier configuration had it.
pub(super) const OVER: &str = "the configuration has changed";

#[cfg(test)]
mod tests;
