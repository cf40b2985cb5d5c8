//! What an indexer and queries share of a vault: the indexer publishes, the others read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::counters::Counts;
use super::decide::NotePipeline;
use super::disk_access::DiskAccess;
use super::embedding::Service;
use super::grep::Grep;
use super::indexer::disk::Disk;
use index::{Graph, Snapshot};
use note::VaultPath;
use protocol::contexts::Offer;
use protocol::status::VaultStatus;
use vault::policy::Policy;
use vault::root::look_at;
use vault::settings::VaultConfig;

/// The shared state of one generation of one vault.
pub(super) struct VaultShared {
    pub(super) id: u64,
    pub(super) name: String,
    /// Which generation of contexts; the plain one has no name.
    pub(super) generation: String,
    pub(super) path: PathBuf,
    /// What answers queries: a snapshot, and the pipeline whose embedder made its vectors. An indexer that takes
    /// another's place has the same: what the other published answers until it withdraws that.
    pub(super) published: Arc<ArcSwapOption<(Arc<Snapshot>, Arc<NotePipeline>)>>,
    /// Access to the file system for queries and worker threads.
    pub(super) disk: Arc<DiskAccess>,
    flags: Flags,
    /// The links, as of a snapshot that may be older than the published one.
    pub(super) graph: ArcSwapOption<Graph>,
    pub(super) policy: ArcSwapOption<Policy>,
    /// Files without text that are found by their names, as of the last look at everything.
    pub(super) attachments: ArcSwap<Vec<VaultPath>>,
    pub(super) status: Mutex<VaultStatus>,
    pub(super) counts: Mutex<Counts>,
    pub(super) embedding: Mutex<protocol::status::EmbedStatus>,
    pub(super) synced_at: Mutex<Option<i64>>,
    /// What `grep` knows of the vault's texts, and the threads that it reads them with.
    pub(super) grep: Grep,
    indexer: Indexer,
}

/// How long requests wait for a vault that begins to be opened: a reload of the configuration closes it and opens it
/// anew.
const OPENS_WITHIN: Duration = Duration::from_secs(2);

/// What the indexer says of itself.
struct Indexer {
    /// When it was made.
    made: Instant,
    report: Mutex<IndexerReport>,
    /// Notified when a snapshot is published, or when there will be none.
    opened: Condvar,
    /// Embedders that notes wait for. Each can say at any time what keeps it from answering.
    waited_for: Mutex<Vec<Arc<Service>>>,
    /// Why notes that were saved may be missing from the answers, if so.
    incomplete: ArcSwapOption<String>,
    /// When its present turn began, milliseconds since the engine started, plus one; 0 while it waits.
    turn: AtomicU64,
}

/// State that is either true or false.
#[derive(Default)]
struct Flags {
    /// Whether the answers have changed, by a new snapshot or another generation, and subscribers do not know it yet.
    unannounced: AtomicBool,
    /// Whether another generation answers for the vault. Only the supervisor sets it.
    inactive: AtomicBool,
    /// Whether the vault's folder was not there, or did not answer, when this was made.
    was_away: bool,
}

/// How far an indexer is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// It opens store and index.
    #[default]
    Opening,
    /// It works.
    Open,
    /// It could not open them, or it died, with the reason; the supervisor tries again.
    Closed(String),
}

/// What an indexer says of itself after every turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct IndexerReport {
    pub(super) stage: Stage,
    /// What happened when it was opened.
    pub(super) notes: Vec<String>,
    /// What is wrong with the vault: a doubt, a watch that could not be placed, a disk that is full.
    pub(super) problems: Vec<String>,
    /// What keeps the model from being asked.
    pub(super) model: Option<String>,
    /// Why vectors are not made, except for what the embedders themselves say.
    pub(super) vectors: Vec<String>,
    /// Whether it works at something.
    pub(super) busy: bool,
    /// Whether worker threads hold notes of the vault, or nobody has looked at its disk yet.
    pub(super) flying: bool,
    /// Whether the battery or the memory keeps work of it waiting.
    pub(super) kept: bool,
    /// Whether work is queued.
    pub(super) bulk: bool,
    /// Whether the user has not agreed yet that the model is asked for contexts.
    pub(super) unagreed: bool,
    /// Whether it is not known yet what the models are to do: notes are still read that are new or have changed, or the
    /// offer of an embedder is worked out.
    pub(super) unreckoned: bool,
    /// The offer of the embedder that is to take over, if the user has to agree to it.
    pub(super) vectors_offer: Option<Offer>,
    /// Notes that wait for a model.
    pub(super) waiting: usize,
    /// Notes that the model has been asked about.
    pub(super) asked: usize,
    /// The hosts outside this machine that embedders send texts to.
    pub(super) embedders: Vec<String>,
}

impl VaultShared {
    /// With `before` it takes that one's place.
    pub(super) fn new(
        id: u64,
        vault: &VaultConfig,
        generation: &str,
        disk: Arc<dyn Disk>,
        before: Option<&VaultShared>,
    ) -> Arc<Self> {
        let status = before.map(|before| before.status.lock().clone()).unwrap_or_default();
        let status = VaultStatus { name: vault.name.clone(), path: vault.path.clone(), ..status };
        Arc::new(VaultShared {
            id,
            name: vault.name.clone(),
            generation: generation.to_owned(),
            path: vault.path.clone(),
            published: before.map(|before| before.published.clone()).unwrap_or_default(),
            grep: Grep::new(&disk),
            disk: Arc::new(DiskAccess::new(disk)),
            flags: Flags { was_away: look_at(&vault.path, Path::metadata).is_err(), ..Flags::default() },
            graph: ArcSwapOption::new(before.and_then(|before| before.graph.load_full())),
            policy: ArcSwapOption::new(before.and_then(|before| before.policy.load_full())),
            attachments: before.map(|before| ArcSwap::new(before.attachments.load_full())).unwrap_or_default(),
            status: Mutex::new(status),
            counts: before.map(|before| Mutex::new(*before.counts.lock())).unwrap_or_default(),
            embedding: Mutex::default(),
            synced_at: before.map(|before| Mutex::new(*before.synced_at.lock())).unwrap_or_default(),
            indexer: Indexer {
                made: Instant::now(),
                report: Mutex::default(),
                opened: Condvar::new(),
                waited_for: Mutex::default(),
                incomplete: ArcSwapOption::default(),
                turn: AtomicU64::default(),
            },
        })
    }

    /// Makes a snapshot answer queries from now on.
    pub(super) fn publish(&self, snapshot: Arc<Snapshot>, pipeline: Arc<NotePipeline>) {
        self.published.store(Some(Arc::new((snapshot, pipeline))));
        self.mark_unannounced();
        // Who has just found nothing published holds the lock until it waits.
        drop(self.report());
        self.indexer.opened.notify_all();
    }

    /// Waits while the vault is being opened, for [`OPENS_WITHIN`] since that began. Returns why it cannot be read then,
    /// if so.
    pub(super) fn wait_opened(&self) -> Option<String> {
        if self.published.load().is_some() {
            return None;
        }
        let mut report = self.report();
        let opens = |report: &IndexerReport| report.stage == Stage::Opening && self.published.load().is_none();
        while opens(&report) {
            if self.indexer.opened.wait_until(&mut report, self.indexer.made + OPENS_WITHIN).timed_out() {
                return opens(&report)
                    .then(|| format!("vault `{}` is still being opened; try again in a moment", self.name));
            }
        }
        drop(report);
        self.closed_because()
    }

    /// Records that the answers have changed.
    pub(super) fn mark_unannounced(&self) {
        self.flags.unannounced.store(true, Ordering::Relaxed);
    }

    /// Whether subscribers must be told that the answers have changed; after this call they count as told.
    pub(super) fn take_unannounced(&self) -> bool {
        self.flags.unannounced.swap(false, Ordering::Relaxed)
    }

    /// Whether the vault's folder was not there, or did not answer, when this was made.
    pub(super) fn was_away(&self) -> bool {
        self.flags.was_away
    }

    /// Whether another generation answers for the vault.
    pub(super) fn is_inactive(&self) -> bool {
        self.flags.inactive.load(Ordering::Relaxed)
    }

    pub(super) fn set_inactive(&self, inactive: bool) {
        self.flags.inactive.store(inactive, Ordering::Relaxed);
    }

    /// Says why the vault cannot be read until it is opened again. Returns whether that is news.
    pub(super) fn close(&self, why: String) -> bool {
        let stage = Stage::Closed(why);
        let news = std::mem::replace(&mut self.report().stage, stage.clone()) != stage;
        self.indexer.opened.notify_all();
        news
    }

    /// What the indexer says of itself.
    pub(super) fn report(&self) -> MutexGuard<'_, IndexerReport> {
        self.indexer.report.lock()
    }

    /// Whether it is not known yet what the models are to do here.
    pub(super) fn is_unreckoned(&self) -> bool {
        let report = self.report();
        report.stage == Stage::Opening || report.unreckoned
    }

    /// Why the vault cannot be read; `None` if it can, or if it is still being opened.
    pub(super) fn closed_because(&self) -> Option<String> {
        if self.published.load().is_some() {
            return None;
        }
        match &self.report().stage {
            Stage::Closed(why) => Some(why.clone()),
            Stage::Opening | Stage::Open => None,
        }
    }

    /// Why notes that were saved may be missing from the answers, if so.
    pub(super) fn incomplete(&self) -> Option<String> {
        self.indexer.incomplete.load().as_deref().cloned()
    }

    /// The same for an asker from whom notes are `hidden`: it says nothing that a save of one of them changes.
    pub(super) fn incomplete_for(&self, hidden: bool) -> Option<String> {
        let name = &self.name;
        let plain = || format!("the index of vault `{name}` is not complete at present: notes may be missing here");
        self.incomplete().map(|why| if hidden { plain() } else { why })
    }

    /// What to say if it was looked at and has no note.
    pub(super) fn without_notes(&self) -> Option<String> {
        let is_empty = self.incomplete().is_none() && self.snapshot()?.notes().next().is_none();
        let ask = || {
            format!(
                "vault `{}` has no note in it: is {} the right folder, and is it there?",
                self.name,
                self.path.display()
            )
        };
        is_empty.then(ask)
    }

    /// Why notes are missing while nobody has looked at the disk.
    pub(super) fn first_look(&self) -> String {
        format!("vault `{}` is being looked through for the first time: its notes are missing here", self.name)
    }

    pub(super) fn set_incomplete(&self, why: Option<String>) {
        self.indexer.incomplete.store(why.map(Arc::new));
    }

    /// Embedders that notes wait for.
    pub(super) fn waited_for(&self) -> MutexGuard<'_, Vec<Arc<Service>>> {
        self.indexer.waited_for.lock()
    }

    /// Records when the indexer's turn began, in milliseconds after the engine's start; `None`: it waits from now on.
    pub(super) fn set_turn(&self, began_ms: Option<u64>) {
        self.indexer.turn.store(began_ms.map_or(0, |began| began + 1), Ordering::Relaxed);
    }

    /// When its present turn began, if it is in one.
    pub(super) fn turn(&self) -> Option<u64> {
        self.indexer.turn.load(Ordering::Relaxed).checked_sub(1)
    }

    /// What answers queries now, if anything does.
    pub(super) fn open(&self) -> Option<(Arc<Snapshot>, Arc<NotePipeline>)> {
        self.published.load().as_deref().cloned()
    }

    pub(super) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.open().map(|(snapshot, _)| snapshot)
    }

    pub(super) fn pipeline(&self) -> Option<Arc<NotePipeline>> {
        self.open().map(|(_, pipeline)| pipeline)
    }

    /// Drops what answers queries, so that store and index can be closed.
    pub(super) fn withdraw(&self) {
        self.published.store(None);
        self.graph.store(None);
        self.grep.forget();
        self.waited_for().clear();
    }
}
