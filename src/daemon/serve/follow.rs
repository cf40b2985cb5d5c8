//! Keeps the watches of one connection up to date: looks again when a snapshot was published, a few times a second at
//! most, and puts results that have changed into the slots of the outbox.
//!
//! Looks of all connections take turns on one thread, and a connection pauses for longer than its look took: however
//! many watch, queries have the other cores, and saves are not held up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::outbox::{Outbox, Slot};
use super::request::{Shared, hear};
use super::results::{self, OpenWatch, ShownResults};
use index::search::filter::is_vault;
use protocol::envelope;
use protocol::events::Notice;

/// Delay from a change to the look at it: a save brings several notices.
const SETTLE: Duration = Duration::from_millis(30);

/// Shortest pause between two looks of one connection.
pub(super) const EVERY: Duration = Duration::from_millis(250);

/// The pause is also at least this many times as long as the last look took.
const REST: u32 = 4;

/// Delay from results that came with a warning to one more look. A query's vector that is too late for its first answer
/// is remembered, and no snapshot is published because of it.
const AGAIN: Duration = Duration::from_secs(2);

struct Followed {
    watch: OpenWatch,
    slot: Slot,
    /// Whether something has happened that may change the results.
    due: bool,
    /// When to look once more without such an event (`again`), and whether this look is that one (`is_again`).
    again: Option<Instant>,
    is_again: bool,
    /// The results that the client has been sent for certain.
    sent: Option<ShownResults>,
    /// The results that are in the slot, or have been sent since.
    latest: Option<ShownResults>,
}

/// Follows `watches` until the engine ends; dropped when the client leaves or subscribes again. The first results are
/// sent at once.
pub(super) async fn follow(
    shared: Arc<Shared>,
    outbox: Arc<Outbox>,
    watches: Vec<(OpenWatch, Slot)>,
    mut notices: Receiver<Arc<Notice>>,
) {
    let followed =
        |(watch, slot)| Followed { watch, slot, due: true, again: None, is_again: false, sent: None, latest: None };
    let mut all: Vec<Followed> = watches.into_iter().map(followed).collect();
    loop {
        let began = Instant::now();
        for followed in all.iter_mut().filter(|followed| followed.due) {
            followed.look(&shared, &outbox).await;
        }
        let rest = Instant::now() + EVERY.max(began.elapsed() * REST);
        while !all.iter().any(|followed| followed.due) {
            let again = all.iter().filter_map(|followed| followed.again).min();
            let Some(notice) = hear(&mut notices, again).await else {
                let now = Instant::now();
                all.iter_mut().for_each(|followed| followed.look_again(now));
                continue;
            };
            match notice {
                Ok(notice) => all.iter_mut().for_each(|followed| followed.hear(&notice)),
                Err(RecvError::Lagged(_)) => all.iter_mut().for_each(|followed| followed.due = true),
                Err(RecvError::Closed) => return,
            }
        }
        tokio::time::sleep_until(rest.max(Instant::now() + SETTLE).into()).await;
        loop {
            match notices.try_recv() {
                Ok(notice) => all.iter_mut().for_each(|followed| followed.hear(&notice)),
                Err(TryRecvError::Lagged(_)) => all.iter_mut().for_each(|followed| followed.due = true),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
    }
}

impl Followed {
    fn hear(&mut self, notice: &Notice) {
        self.due |= match notice {
            // It may be named by its folder, too, which is not looked up: a look that finds nothing new tells nothing.
            Notice::Index { vault, .. } => {
                self.watch.shows.vault().is_none_or(|name| is_vault(name, vault) || name.contains(['/', '\\']))
            }
            // A note may be named by its absolute path.
            Notice::Decision(decision) => {
                self.watch.shows.note().is_some_and(|path| path.ends_with(decision.path.as_str()))
            }
            // What could not be answered may be answered now.
            Notice::State { .. } => self.latest.as_ref().is_some_and(ShownResults::is_error),
            Notice::Job { .. } => false,
        };
    }

    fn look_again(&mut self, now: Instant) {
        if self.again.is_some_and(|again| again <= now) {
            (self.due, self.is_again, self.again) = (true, true, None);
        }
    }

    async fn look(&mut self, shared: &Shared, outbox: &Outbox) {
        self.due = false;
        let found = shared.results(&self.watch.shows).await;
        let warned = found.as_ref().is_ok_and(|found| !found.answer.warnings.is_empty());
        let first = !std::mem::take(&mut self.is_again);
        self.again = (warned && first).then(|| Instant::now() + AGAIN);
        let state = ShownResults::of(&found);
        if self.latest.as_ref() == Some(&state) {
            return;
        }
        // The client never sees what still waits, so the event says how this differs from what the client saw last.
        let latest = self.latest.replace(state);
        if !outbox.take_back(self.slot) {
            self.sent = latest;
        }
        if self.sent != self.latest {
            let results = results::event(&self.watch.token, found, self.sent.as_ref());
            outbox.offer(self.slot, envelope::notification_line("event", &results));
        }
    }
}
