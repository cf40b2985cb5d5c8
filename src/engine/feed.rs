//! Notices for subscribers, and the decisions that `explain` remembers.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast;

use protocol::decision::Decision;
use protocol::events::Notice;

/// Decisions that are remembered.
const REMEMBERED: usize = 1000;

/// Notices that a slow subscriber may be behind.
const BEHIND: usize = 1024;

/// Notices and decisions of all vaults.
pub(super) struct Feed {
    notices: broadcast::Sender<Arc<Notice>>,
    decisions: Mutex<VecDeque<Arc<Decision>>>,
}

impl Default for Feed {
    fn default() -> Self {
        Feed { notices: broadcast::channel(BEHIND).0, decisions: Mutex::default() }
    }
}

impl Feed {
    /// Remembers a decision that is carried out and published, and tells subscribers.
    pub(super) fn remember(&self, decision: Decision) {
        let decision = Arc::new(decision);
        {
            let mut log = self.decisions.lock();
            log.push_front(decision.clone());
            log.truncate(REMEMBERED);
        }
        self.notify(Notice::Decision((*decision).clone()));
    }

    /// Forgets the decisions of a vault whose name means another folder now.
    pub(super) fn forget(&self, vault: &str) {
        self.decisions.lock().retain(|decision| decision.vault != vault);
    }

    pub(super) fn notify(&self, notice: Notice) {
        // An error means that nobody listens.
        let _ = self.notices.send(Arc::new(notice));
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.notices.subscribe()
    }

    /// The last decisions that are `wanted`, the newest first, `most` at most.
    pub(super) fn last(&self, most: usize, wanted: impl Fn(&Decision) -> bool) -> Vec<Decision> {
        self.decisions.lock().iter().filter(|decision| wanted(decision)).take(most).map(|d| (**d).clone()).collect()
    }
}
