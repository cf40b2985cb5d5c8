//! A queue for a few places: bounded, fair to clients, and short when more calls come than can be done.
//!
//! A queue that is full all the time helps nobody: each call waits for the whole queue, and not one more gets done. So
//! a burst may fill the queue and is worked off. But if another call comes while many wait, and one has waited for
//! longer than the line's patience, that is a flood. In a flood no more calls wait than can run at once, and the oldest
//! give way to new ones; it lasts until no call has been refused for as long as the patience. So calls that are
//! answered in a flood have hardly waited. The next place goes to a call of the client that has the fewest places. If
//! one client fills the queue, its last call gives way to another client's first, and no call gives way to one of a
//! client that has more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// This many calls may wait for each place, however long it takes: as many clients that ask one by one, each again once
/// it is answered, are no flood, and on a busy machine they wait for longer than any patience.
const FEW: usize = 4;

/// A queue and its places.
pub(super) struct Line(Arc<Mutex<State>>);

struct State {
    /// How many may run.
    places: usize,
    /// How many may wait.
    room: usize,
    patience: Option<Duration>,
    /// The client of each call that runs.
    running: Vec<usize>,
    /// Oldest first.
    waiting: Vec<Waiting>,
    /// Until when the line counts as flooded; another refusal moves this time.
    flooded_until: Option<Instant>,
    next_ticket: u64,
}

struct Waiting {
    ticket: u64,
    client: usize,
    since: Instant,
    turn: oneshot::Sender<Result<Place, Full>>,
}

/// No more calls are taken: this many run and wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full {
    pub(super) running: usize,
    pub(super) waiting: usize,
}

/// The place of a call. It is free again when this is dropped, which is when the call's work ends.
pub(in super::super) struct Place {
    line: Arc<Mutex<State>>,
    client: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        let turn = {
            let mut state = self.line.lock();
            if let Some(at) = state.running.iter().position(|client| *client == self.client) {
                state.running.swap_remove(at);
            }
            state.next()
        };
        if let Some((client, turn)) = turn {
            // If the client has left meanwhile, its place is dropped here and goes to the next.
            let _ = turn.send(Ok(Place { line: Arc::clone(&self.line), client }));
        }
    }
}

/// Takes a call out of the queue when its client no longer waits.
struct Leave<'l>(&'l Line, u64);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.waiting.retain(|waiting| waiting.ticket != self.1);
    }
}

impl Line {
    pub(super) fn new(places: usize, room: usize, patience: Option<Duration>) -> Line {
        let (running, waiting) = (Vec::new(), Vec::new());
        let state = State { places, room, patience, running, waiting, flooded_until: None, next_ticket: 0 };
        Line(Arc::new(Mutex::new(state)))
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// There is no room to wait, or the call had to give way later.
    pub(super) async fn enter(&self, client: usize) -> Result<Place, Full> {
        let (ticket, turn) = {
            let mut state = self.0.lock();
            if state.running.len() < state.places {
                state.running.push(client);
                return Ok(Place { line: Arc::clone(&self.0), client });
            }
            state.join(client)?
        };
        let _leave = Leave(self, ticket);
        // The sender is dropped only with the line, which the daemon keeps.
        turn.await.unwrap_or(Err(Full { running: 0, waiting: 0 }))
    }
}

impl State {
    fn full(&self) -> Full {
        Full { running: self.running.len(), waiting: self.waiting.len() }
    }

    /// The patience of a flooded line; `None` if it is not flooded. If there are no more clients than places, each
    /// waits only for itself, and stops asking when its connection has enough to do.
    fn flooded(&self) -> Option<Duration> {
        let now = Instant::now();
        let is_over = |patience: &Duration| {
            let waits_long = self.waiting.first().is_some_and(|oldest| now - oldest.since > *patience);
            waits_long && self.waiting.len() > FEW * self.places || self.flooded_until.is_some_and(|until| now < until)
        };
        self.patience.filter(is_over).filter(|_| self.clients() > self.places)
    }

    fn clients(&self) -> usize {
        let waiting = self.waiting.iter().map(|waiting| waiting.client);
        waiting.chain(self.running.iter().copied()).collect::<BTreeSet<_>>().len()
    }

    /// Takes a call into the queue. In a flood, the oldest calls beyond the number that can run at once have to leave.
    fn join(&mut self, client: usize) -> Result<(u64, oneshot::Receiver<Result<Place, Full>>), Full> {
        let flooded = self.flooded();
        while flooded.is_some() && self.waiting.len() > self.places {
            self.refuse(0);
        }
        let room = if flooded.is_some() { self.room.min(self.places) } else { self.room };
        if self.waiting.len() >= room {
            self.flooded_until = flooded.map(|patience| Instant::now() + patience);
            let victim = self.victim(client, flooded.is_some()).ok_or(self.full())?;
            self.refuse(victim);
        }
        let (turn, wait) = oneshot::channel();
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push(Waiting { ticket, client, since: Instant::now(), turn });
        Ok((ticket, wait))
    }

    /// The call that gives way to one of `client`, so that this client does not have more calls than the other's. In a
    /// flood it is the oldest one, and calls that run count, too; else the last one of the client that has the most.
    fn victim(&self, client: usize, flooded: bool) -> Option<usize> {
        let waiting = |client: usize| self.waiting.iter().filter(|waiting| waiting.client == client).count();
        let running = |client: usize| self.running.iter().filter(|running| **running == client).count();
        if flooded {
            let all = |client| waiting(client) + running(client);
            return self.waiting.iter().position(|oldest| all(oldest.client) > all(client));
        }
        let last = (0..self.waiting.len()).max_by_key(|at| (waiting(self.waiting[*at].client), *at))?;
        (waiting(self.waiting[last].client) > waiting(client) + 1).then_some(last)
    }

    fn refuse(&mut self, at: usize) {
        let full = self.full();
        // Its client may have left.
        let _ = self.waiting.remove(at).turn.send(Err(full));
    }

    /// Gives a free place to the next call: of the clients with the fewest places, the call that has waited longest.
    fn next(&mut self) -> Option<(usize, oneshot::Sender<Result<Place, Full>>)> {
        let has = |client: usize| self.running.iter().filter(|running| **running == client).count();
        let next = (0..self.waiting.len()).min_by_key(|at| has(self.waiting[*at].client))?;
        let Waiting { client, turn, .. } = self.waiting.remove(next);
        self.running.push(client);
        Some((client, turn))
    }
}

#[cfg(test)]
mod tests;
