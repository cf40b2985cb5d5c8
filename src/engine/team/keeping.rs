//! A vault that is published from here: its keeper, and the task that makes it follow the vault's snapshots.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;
use tokio::sync::{Notify, broadcast};

use super::source::{VaultSource, embedder_of};
use super::turns::Turns;
use super::word::{WORD, known, word};
use crate::Shared;
use ::team::{Collection, Done, Failure, Identity, Keeper, Kind, VaultState};
use protocol::events::Notice;
use protocol::team::{TeamVault, VaultDifferences};

/// After how long a vault that cannot be kept yet is tried again.
const OPENING: Duration = Duration::from_secs(1);

/// After how long a keeper that rests looks whether it still has its vault.
const LOOK: Duration = Duration::from_secs(300);

/// How long after a save a keeper that cannot publish withdraws what became private.
const WITHDRAWING: Duration = Duration::from_secs(5);

/// A vault that is published from here. Its task ends with the configuration.
pub(super) struct Kept {
    pub(super) vault: String,
    engine: Weak<Shared>,
    pub(super) source: Arc<VaultSource>,
    collection: Collection,
    /// Made when the vault is open: only then its embedder is known.
    keeper: tokio::sync::Mutex<Option<Keeper>>,
    status: Mutex<KeeperStatus>,
    wake: Notify,
    turns: Arc<Turns>,
    /// Whether the next turn begins anew, for the collection may be another one by now.
    anew: AtomicBool,
}

/// How far the keeper is.
#[derive(Clone, Debug, Default)]
struct KeeperStatus {
    notes: u64,
    left: u64,
    problem: Option<Failure>,
}

impl Kept {
    /// Starts to keep a vault.
    pub(super) fn start(
        shared: &Arc<Shared>,
        runtime: &Runtime,
        (collection, turns): (Collection, Arc<Turns>),
        vault: &str,
    ) -> Arc<Kept> {
        let kept = Arc::new(Kept {
            vault: vault.to_owned(),
            engine: Arc::downgrade(shared),
            source: Arc::new(VaultSource::new(shared, vault, turns.clone())),
            collection,
            keeper: tokio::sync::Mutex::default(),
            status: Mutex::default(),
            wake: Notify::new(),
            turns,
            anew: AtomicBool::new(false),
        });
        runtime.spawn(follow(kept.clone(), shared.feed.subscribe()));
        kept
    }

    /// Makes the keeper begin anew now. An earlier failure says nothing about the new attempt.
    pub(super) fn wake(&self) {
        self.anew.store(true, Ordering::Relaxed);
        self.status.lock().problem = None;
        self.wake.notify_one();
    }

    /// Writes into an answer how far the keeper is.
    pub(super) fn tell(&self, vault: &mut TeamVault) {
        let KeeperStatus { notes, left, problem } = self.status.lock().clone();
        let problem = problem.map(|failure| failure.message);
        *vault = TeamVault { own: true, notes, left, problem, ..std::mem::take(vault) };
    }

    /// Why it is not up to date; not that the vault is being opened or indexed, which passes.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = self.status.lock().problem.clone();
        problem.filter(|failure| failure.kind != Kind::Local).map(|failure| failure.message)
    }

    /// Begins anew if the keeper does not know yet that its collection is gone, or is there by now, or another one, or
    /// that somebody else has its vault. The states are those of the vaults there; `None` if there is no collection.
    pub(super) fn compare(&self, states: Option<&[VaultState]>) {
        let there = states.into_iter().flatten().find(|state| state.vault == self.vault);
        let others = there.filter(|state| !self.is_by_us(state));
        let mut status = self.status.lock();
        let kind = status.problem.as_ref().map(|failure| failure.kind);
        let is_lost = (status.notes > 0 && there.is_none()) || (others.is_some() && kind.is_none());
        if is_lost || (states.is_some() && kind == Some(Kind::Missing)) {
            *status = KeeperStatus { left: status.notes + status.left, ..KeeperStatus::default() };
            drop(status);
            self.wake();
            if let Some(state) = others {
                self.status.lock().problem = Some(state.kept());
            }
        }
    }

    /// Whether this state was written from this data folder.
    fn is_by_us(&self, state: &VaultState) -> bool {
        let word = self.engine.upgrade().and_then(|engine| known(&engine.config.load().data_dir));
        word.is_some_and(|word| word == state.keeper)
    }

    /// Whether the vault of this name there is another keeper's, so that its notes are not those here.
    pub(super) fn is_of_another(&self) -> bool {
        self.status.lock().problem.as_ref().is_some_and(|failure| failure.kind == Kind::Kept)
    }

    /// Publishes what differs.
    pub(super) async fn publish(&self, take_over: bool) -> Result<(), Failure> {
        match self.turn(take_over).await {
            Done::Rests => {
                self.go_on();
                Ok(())
            }
            Done::Waits(_, failure) => Err(failure),
        }
    }

    /// Compares and mends.
    pub(super) async fn verify(&self) -> Result<VaultDifferences, Failure> {
        let _turn = self.turns.begin().await?;
        let mut keeper = self.keeper.lock().await;
        let keeper = self.made(&mut keeper)?;
        let found = keeper.verify().await;
        self.report(keeper, found.as_ref().err());
        if found.is_ok() {
            self.go_on();
        }
        found
    }

    /// Ends the wait after a failure that is over: what is saved is published from now on.
    fn go_on(&self) {
        self.wake.notify_one();
    }

    /// Has the next turn begin anew if the vault is not there any more as this keeper's, or the server does not answer.
    async fn look(&self) {
        let keeper = self.keeper.lock().await;
        if let Some(keeper) = keeper.as_ref()
            && !keeper.has_vault().await
        {
            self.anew.store(true, Ordering::Relaxed);
        }
    }

    async fn turn(&self, take_over: bool) -> Done {
        let _turn = match self.turns.begin().await {
            Ok(turn) => turn,
            Err(failure) => return Done::Waits(OPENING, failure),
        };
        let mut keeper = self.keeper.lock().await;
        let keeper = match self.made(&mut keeper) {
            Ok(keeper) => keeper,
            Err(failure) => {
                self.status.lock().problem = Some(failure.clone());
                return Done::Waits(OPENING, failure);
            }
        };
        if self.anew.swap(false, Ordering::Relaxed) || take_over {
            keeper.begin_anew();
        }
        if take_over {
            keeper.take_over();
        }
        let done = keeper.turn().await;
        self.report(keeper, if let Done::Waits(_, failure) = &done { Some(failure) } else { None });
        done
    }

    fn report(&self, keeper: &Keeper, failure: Option<&Failure>) {
        let (notes, left) = keeper.progress();
        let mut status = self.status.lock();
        if let Some(failure) =
            failure.filter(|failure| failure.kind != Kind::Local && status.problem.as_ref() != Some(failure))
        {
            tracing::warn!(vault = self.vault, "not published: {failure}");
        }
        *status = KeeperStatus { notes: notes as u64, left: left as u64, problem: failure.cloned() };
    }

    /// The keeper. It is made if there is none yet, and made anew if the vault has another embedder by now.
    fn made<'a>(&self, keeper: &'a mut Option<Keeper>) -> Result<&'a mut Keeper, Failure> {
        let local = |message: String| Failure::new(Kind::Local, message);
        let engine = self.engine.upgrade().ok_or_else(|| Failure::new(Kind::Local, "the daemon is stopping"))?;
        let embedder = embedder_of(&self.source).map_err(local)?;
        if keeper.as_ref().is_none_or(|keeper| keeper.embedder() != embedder) {
            let data_dir = engine.config.load().data_dir.clone();
            let word = word(&data_dir).map_err(|error| local(format!("{}: {error}", data_dir.join(WORD).display())))?;
            let who = Identity { vault: self.vault.clone(), keeper: word, host: host(), embedder };
            *keeper = Some(Keeper::new(self.collection.clone(), who, self.source.clone()));
        }
        keeper.as_mut().ok_or_else(|| Failure::new(Kind::Local, "there is no keeper"))
    }
}

/// Publishes what differs whenever the vault has another snapshot, and retries what failed.
async fn follow(kept: Arc<Kept>, mut notices: broadcast::Receiver<Arc<Notice>>) {
    while !kept.turns.are_over() {
        let done = kept.turn(false).await;
        // A failure is not retried at every save. But where nothing can be published, what becomes private is withdrawn
        // all the same, if not at every save.
        let (rests, wait, listens) = match &done {
            Done::Rests => (true, LOOK, Some(Duration::ZERO)),
            Done::Waits(wait, _) if *wait <= OPENING => (false, *wait, Some(Duration::ZERO)),
            Done::Waits(wait, failure) => (false, *wait, (failure.kind == Kind::Other).then_some(WITHDRAWING)),
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => if rests { kept.look().await },
            () = kept.wake.notified() => {}
            ended = changed(&kept.vault, &mut notices), if listens.is_some() => {
                if ended {
                    return;
                }
                tokio::time::sleep(listens.unwrap_or_default()).await;
            }
        }
    }
}

/// Waits for another snapshot of the vault; returns `true` if there will be none.
async fn changed(vault: &str, notices: &mut broadcast::Receiver<Arc<Notice>>) -> bool {
    loop {
        match notices.recv().await {
            Ok(notice) => match &*notice {
                Notice::Index { vault: of, .. } if of == vault => return false,
                _ => {}
            },
            Err(broadcast::error::RecvError::Lagged(_)) => return false,
            Err(broadcast::error::RecvError::Closed) => return true,
        }
    }
}

/// What this machine is called, for people.
fn host() -> String {
    let told = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("HOSTNAME").ok().or_else(told).unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    if name.is_empty() { "another machine".to_owned() } else { name }
}
