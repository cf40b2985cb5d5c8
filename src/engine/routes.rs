//! How events reach indexers: by the id of the vault's generation, straight into the inbox.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::VaultShared;
use super::indexer::Event;
use super::unkept::Unkept;

/// The inboxes of all indexers. The supervisor adds and removes them.
#[derive(Default)]
pub(super) struct Indexers {
    inboxes: Mutex<BTreeMap<u64, Sender<Event>>>,
    /// Generations beside those that answer.
    pub(super) inactive: ArcSwap<Vec<Arc<VaultShared>>>,
    /// What the supervisor could not start.
    problem: Mutex<Option<String>>,
    /// Contexts that they have bought and that are yet to be written.
    pub(super) unkept: Arc<Unkept>,
}

impl Indexers {
    pub(super) fn add(&self, id: u64, inbox: Sender<Event>) {
        self.inboxes.lock().insert(id, inbox);
    }

    pub(super) fn remove(&self, id: u64) {
        self.inboxes.lock().remove(&id);
    }

    /// Sends an event to one indexer; `false` if there is none of that id.
    pub(super) fn send(&self, id: u64, event: Event) -> bool {
        self.inboxes.lock().get(&id).is_some_and(|inbox| inbox.send(event).is_ok())
    }

    /// Sends an event to all indexers.
    pub(super) fn send_all(&self, event: impl Fn() -> Event) {
        for inbox in self.inboxes.lock().values() {
            // An indexer that has just ended needs no event.
            let _ = inbox.send(event());
        }
    }

    pub(super) fn set_problem(&self, problem: Option<String>) {
        *self.problem.lock() = problem;
    }

    pub(super) fn problems(&self) -> Option<String> {
        self.problem.lock().clone()
    }
}
