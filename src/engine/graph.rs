//! Keeps the graph of links beside the snapshot. A background thread at low priority makes it anew when a vault has
//! been quiet for a moment; no save waits for it.
//!
//! A query may therefore see the graph of an older snapshot; notes that came since have no links yet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use platform::process::thread_time;

use super::VaultShared;
use crate::host;
use crate::patience::wait_for;
use index::{Cancel, Graph, Snapshot};

/// How long a vault must be quiet before its graph is made anew.
const QUIET: Duration = Duration::from_secs(2);

/// A vault that is never quiet gets a new graph after this time all the same.
const LONGEST: Duration = Duration::from_secs(60);

/// The shortest pause between two graphs of one vault; it also lasts at least `REST` times as long as the last graph
/// took.
const EVERY: Duration = Duration::from_secs(30);
const REST: u32 = 10;

/// Processor time of one graph at most.
const LONGEST_RUN: Duration = Duration::from_secs(20);

/// Steps along links that betweenness may take, 7 to 20 ns each: it is exact for 2,500 notes with 15,000 links, and
/// takes one or two seconds for more. Steps, and not time, so that the same vault gives the same numbers everywhere.
const STEPS: u64 = 100_000_000;

/// Fewer sources than this say little; see [`index::graph::Sample`].
const LEAST_SOURCES: u64 = 100;

enum Message {
    /// A new snapshot was published.
    Changed(Weak<VaultShared>),
    /// Somebody waits for the graph of this very snapshot; the sender is dropped when it is there.
    Now(Weak<VaultShared>, Sender<()>),
    Stop,
}

/// Access to the thread.
#[derive(Clone)]
pub(super) struct Grapher {
    messages: Sender<Message>,
    stopping: Arc<AtomicBool>,
}

impl Grapher {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let (messages, inbox) = mpsc::channel();
        let stopping = Arc::new(AtomicBool::new(false));
        let flag = stopping.clone();
        if machine::is_simulated() {
            // Nothing that is stored depends on it.
            return Ok(Grapher { messages, stopping });
        }
        machine::spawn("graph", move || {
            host::background_thread();
            GraphWorker { inbox, stopping: flag, due: BTreeMap::new(), rested: BTreeMap::new() }.run();
        })?;
        Ok(Grapher { messages, stopping })
    }

    /// A vault has a new snapshot, or answers from now on.
    pub(super) fn changed(&self, vault: &Arc<VaultShared>) {
        // The thread ends only by a message.
        let _ = self.messages.send(Message::Changed(Arc::downgrade(vault)));
    }

    /// Waits until the graph of the vault's present snapshot is there, for `patience` at most, and no longer once the
    /// caller has gone.
    pub(super) fn wait(&self, vault: &Arc<VaultShared>, patience: Duration, cancel: &Cancel) {
        let (sender, ready) = mpsc::channel();
        let _ = self.messages.send(Message::Now(Arc::downgrade(vault), sender));
        // Nothing is ever sent: the other end goes when it is done.
        let _ = wait_for(&ready, Instant::now() + patience, cancel);
    }

    /// Ends the thread, in the middle of its work too.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let _ = self.messages.send(Message::Stop);
    }
}

/// A vault whose graph is to be made.
struct PendingGraph {
    vault: Weak<VaultShared>,
    first: Instant,
    last: Instant,
    /// Who waits for it.
    waiting: Vec<Sender<()>>,
}

impl PendingGraph {
    fn new(vault: Weak<VaultShared>, now: Instant) -> Self {
        PendingGraph { vault, first: now, last: now, waiting: Vec::new() }
    }

    /// When to make it; `rested` is when the vault may get another graph.
    fn at(&self, rested: Option<&Instant>) -> Instant {
        if !self.waiting.is_empty() {
            return self.first;
        }
        let quiet = (self.last + QUIET).min(self.first + LONGEST);
        rested.map_or(quiet, |rested| quiet.max(*rested))
    }
}

/// What the thread knows; by the vaults' ids.
struct GraphWorker {
    inbox: Receiver<Message>,
    stopping: Arc<AtomicBool>,
    due: BTreeMap<u64, PendingGraph>,
    /// When another graph may be made.
    rested: BTreeMap<u64, Instant>,
}

impl GraphWorker {
    fn run(mut self) {
        loop {
            let next = self.due.iter().map(|(id, due)| (due.at(self.rested.get(id)), *id)).min();
            let message = match next {
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((at, _)) => self.inbox.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            match (message, next) {
                (Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected), _) => return,
                (Ok(message), _) => self.take(message),
                (Err(RecvTimeoutError::Timeout), Some((_, id))) => self.make(id),
                (Err(RecvTimeoutError::Timeout), None) => {}
            }
        }
    }

    fn take(&mut self, message: Message) {
        let now = Instant::now();
        let (vault, waiting) = match message {
            Message::Changed(vault) => (vault, None),
            Message::Now(vault, waiting) => (vault, Some(waiting)),
            Message::Stop => return,
        };
        let Some(shared) = vault.upgrade() else { return };
        if is_current(&shared) {
            return;
        }
        let due = self.due.entry(shared.id).or_insert_with(|| PendingGraph::new(vault, now));
        match waiting {
            Some(waiting) => due.waiting.push(waiting),
            None => due.last = now,
        }
    }

    fn make(&mut self, id: u64) {
        let Some(due) = self.due.remove(&id) else { return };
        let (Some(vault), Some(snapshot)) = (due.vault.upgrade(), due.vault.upgrade().and_then(|v| v.snapshot()))
        else {
            self.rested.remove(&id);
            return;
        };
        let began = thread_time();
        if let Some(graph) = make(&snapshot, vault.graph.load().as_deref(), &self.stopping) {
            vault.graph.store(Some(Arc::new(graph)));
        }
        let rest = EVERY.max(thread_time().saturating_sub(began) * REST);
        self.rested.insert(id, Instant::now() + rest);
    }
}

fn is_current(vault: &VaultShared) -> bool {
    let seq = vault.snapshot().map(|snapshot| snapshot.seq());
    vault.graph.load().as_ref().map(|graph| graph.seq()) == seq
}

/// The graph of a snapshot with its measures; `None` if there is no time for it.
fn make(snapshot: &Snapshot, before: Option<&Graph>, stopping: &AtomicBool) -> Option<Graph> {
    let began = thread_time();
    let mut go_on = || !stopping.load(Ordering::Relaxed) && thread_time().saturating_sub(began) < LONGEST_RUN;
    let mut graph = snapshot.graph(&mut go_on)?;
    // Most saves change words and no links.
    if before.is_some_and(|before| graph.take_over(before)) {
        return Some(graph);
    }
    let built = thread_time();
    let steps = (graph.len() + 2 * graph.link_count()).max(1) as u64;
    graph.measure((STEPS / steps).max(LEAST_SOURCES) as usize, &mut go_on);
    tracing::debug!(
        notes = graph.len(),
        links = graph.link_count(),
        built_ms = built.saturating_sub(began).as_millis() as u64,
        measured_ms = thread_time().saturating_sub(built).as_millis() as u64,
        sources = graph.sample().map(|sample| sample.sources),
        "the graph of links is new"
    );
    (!stopping.load(Ordering::Relaxed)).then_some(graph)
}

#[cfg(test)]
mod tests;
