//! An engine for tests of single machines: a vault, an indexer that nobody drives, and a model whose answers a test
//! gives. There is no thread but the test's, and time passes only when the test says so.

mod model;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use context::plan::PendingContext;
use context::settings::{Consent, ContextConfig, FormChoice, Provider};
use context::{ContextRecord, Origin, Spent};
use jiff::Timestamp;
use machine::simulation::{Machine, PlayedWork};
use note::VaultPath;
use note::chunk::Strategy;
use note::fingerprint::{ContextKey, Sketch, context_key};
use provider::ProviderRuntime;
use provider::ledger::Purpose;
use store::record::{ChunkRecord, NoteRecord};
use tempfile::TempDir;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use vault::settings::VaultConfig;

use crate::context_job::{ContextEvent, ContextJob};
use crate::control::Control;
use crate::decide::{NotePipeline, Outcome, Task, read_note};
use crate::indexer::disk;
use crate::indexer::disk::Disk;
use crate::indexer::{Event, Indexer, Seed, generation_dir};
use crate::pool::Pool;
use crate::settings::Settings;
use crate::shared::VaultShared;
use crate::supervisor::start_runtimes;
use crate::{Shared, assemble, now_s};
use model::{Model, standing};
pub(crate) use model::{Say, report};

/// When tests begin, milliseconds since 1970: in the middle of a day.
const NOON: i64 = 1_770_034_400_000;

/// The file system of this machine, for vaults without documents.
pub(crate) fn file_system() -> Arc<dyn Disk> {
    disk::file_system(Path::new("no documents"), None)
}

/// An engine whose providers are driven by hand, with what its one vault's indexer is made from, and that one's inbox.
pub(crate) fn assembled(settings: &Settings, control: Control, runtime: &Handle) -> (Seed, Receiver<Event>) {
    let shared = Arc::new(assemble(settings, control, ProviderRuntime::driven(runtime)).unwrap());
    start_runtimes(&shared, settings);
    let vault = VaultShared::new(0, &settings.vaults[0], "", file_system(), None);
    shared.vaults.store(Arc::new(vec![vault.clone()]));
    let (sender, inbox) = mpsc::channel();
    shared.indexers.add(0, sender.clone());
    let seed = Seed {
        engine: shared,
        shared: vault,
        vault: settings.vaults[0].clone(),
        disk: file_system(),
        pool: Pool::start().unwrap(),
        inbox: sender,
    };
    (seed, inbox)
}

/// How often a [`Bench`] looks for what can go on while it is driven.
const GLANCE: Duration = Duration::from_millis(100);

/// The time of a test, and work that is for other threads.
struct Still {
    runtime: Handle,
    began: Instant,
    /// What passed without the runtime being driven.
    passed: Cell<Duration>,
    work: RefCell<VecDeque<PlayedWork>>,
}

impl Machine for Still {
    fn now(&self) -> Instant {
        let _entered = self.runtime.enter();
        tokio::time::Instant::now().into_std() + self.passed.get()
    }

    fn timestamp(&self) -> Timestamp {
        let passed = self.now().duration_since(self.began).as_millis() as i64;
        Timestamp::from_millisecond(NOON + passed).unwrap()
    }

    fn run_later(&self, _name: &str, after: Duration, work: PlayedWork) {
        // These tests do not cover work that starts by itself later.
        if after == Duration::ZERO {
            self.work.borrow_mut().push_back(work);
        }
    }

    fn random(&self) -> f64 {
        0.5
    }

    fn wrote(&self, _path: &Path) {}

    fn synced(&self, _path: &Path) {}
}

pub(crate) fn path(name: &str) -> VaultPath {
    VaultPath::parse(name).unwrap()
}

/// What a chunk's context is known by.
pub(crate) fn key_of(chunk: &ChunkRecord) -> ContextKey {
    context_key(&chunk.keys, chunk.hash)
}

/// A vault with its indexer, and a model.
pub(crate) struct Bench {
    machine: Rc<Still>,
    pub(crate) model: Rc<Model>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) vault: Arc<VaultShared>,
    pub(crate) indexer: Indexer,
    pub(crate) settings: Settings,
    /// The other ends of [`ContextJob::wanted`].
    pub(crate) wants: RefCell<Vec<watch::Sender<VaultPath>>>,
    inbox: Receiver<Event>,
    runtime: Runtime,
    dir: TempDir,
}

impl Bench {
    /// Has the writer ask about a note's chunks that wait for a context; `due` may change why.
    pub(crate) fn ask_writer(&self, record: &NoteRecord, due: impl Fn(PendingContext) -> PendingContext) {
        let pending = record.chunks.iter().filter_map(|chunk| Some((key_of(chunk), due(chunk.due?)))).collect();
        let (wants, wanted) = watch::channel(record.path.clone());
        self.wants.borrow_mut().push(wants);
        let job = ContextJob {
            vault: 0,
            vault_name: "v".to_owned(),
            dir: self.index_dir(),
            path: record.path.clone(),
            pending,
            purpose: Purpose::Change,
            rebuild: None,
            wanted,
        };
        self.shared.runtime("").writer.as_ref().unwrap().write(job, self.pipeline());
    }

    /// The folder of the vault's index.
    pub(crate) fn index_dir(&self) -> PathBuf {
        generation_dir(&self.settings.data_dir, &self.settings.vaults[0].path, "")
    }

    /// A bench with default settings, as `change` changes them.
    pub(crate) fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (root, data, key) = (dir.path().join("vault"), dir.path().join("data"), dir.path().join("key"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&data).unwrap();
        fs::write(&key, "sk-played").unwrap();
        platform::files::set_mode(&key, 0o600).unwrap();
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let began = {
            let _entered = runtime.enter();
            tokio::time::Instant::now().into_std()
        };
        let machine = Rc::new(Still {
            runtime: runtime.handle().clone(),
            began,
            passed: Cell::default(),
            work: RefCell::default(),
        });
        let model = Model::new();
        machine::simulation::play(Some(machine.clone()));
        provider::simulation::play(Some(model.clone()));
        let mut settings = Settings::new(&data, vec![VaultConfig { poll: Some(true), ..VaultConfig::new("v", &root) }]);
        settings.chunk.plain.strategy = Strategy::Markdown;
        (settings.chunk.plain.min, settings.chunk.plain.target, settings.chunk.plain.max) = (1, 20, 200);
        settings.host.battery = None;
        settings.host.memory = u64::MAX;
        settings.context = ContextConfig {
            provider: Provider::OpenAi,
            base_url: Some("http://model.invalid".to_owned()),
            form: FormChoice::Chunk,
            consent: Consent::Given,
            ..ContextConfig::default()
        };
        settings.context.key.file = Some(key);
        change(&mut settings);
        let control =
            Control::new(mpsc::channel().0, data.join("socket"), Box::new(|| Err(crate::NotTaken::NeedsRestart)));
        let (seed, inbox) = assembled(&settings, control, runtime.handle());
        let (shared, vault) = (seed.engine.clone(), seed.shared.clone());
        let mut indexer = Indexer::open(&seed).unwrap();
        indexer.start();
        model.look_at(Some(shared.clone()));
        let wants = RefCell::default();
        Bench { machine, model, shared, vault, indexer, settings, wants, inbox, runtime, dir }
    }

    /// Within it, what the test calls itself sees the time of the test.
    pub(crate) fn runtime(&self) -> Handle {
        self.runtime.handle().clone()
    }

    /// What decides about the vault's notes.
    pub(crate) fn pipeline(&self) -> Arc<NotePipeline> {
        self.vault.pipeline().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join("vault").join(name), text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.dir.path().join("vault").join(name)).unwrap();
    }

    /// Writes a note, decides about it and stores what was decided.
    pub(crate) fn save(&self, name: &str, text: &str) -> NoteRecord {
        self.write(name, text);
        self.decide(&Task::again(path(name)))
    }

    /// Decides about a note once more, and stores that.
    pub(crate) fn decide(&self, task: &Task) -> NoteRecord {
        let Outcome::Decided(decided) = self.look(task) else { panic!("{} cannot be decided about", task.path) };
        self.pipeline().store.apply_many(vec![(task.path.clone(), decided.write)]).unwrap().remove(0)
    }

    /// Decides about a note, as a worker does.
    pub(crate) fn look(&self, task: &Task) -> Outcome {
        let pipeline = self.pipeline();
        let Ok(read) = read_note(&*file_system(), &pipeline, task) else { panic!("{} cannot be read", task.path) };
        pipeline.look(task, read, now_s())
    }

    /// Puts a context for a chunk in the archive, as the writer does; it is dated now.
    pub(crate) fn keep(&self, record: &NoteRecord, chunk: &ChunkRecord) -> ContextRecord {
        let context = self.context_for(record, chunk);
        self.pipeline().store.keep_context_of(&record.path, &record.tags, key_of(chunk), &context).unwrap();
        context
    }

    /// A context that the model in force writes for a chunk.
    pub(crate) fn context_for(&self, record: &NoteRecord, chunk: &ChunkRecord) -> ContextRecord {
        ContextRecord {
            text: format!("A context for {}.", chunk.id),
            origin: Origin::Model,
            generation: self.pipeline().contextualizer(record.kind.as_deref()),
            sections: chunk.keys.clone(),
            written_for: chunk.hash,
            sketch: Sketch::default(),
            quality: 1.0,
            written_at: now_s(),
            spent: Spent::default(),
            expansion: context::Expansion::default(),
            making: None,
        }
    }

    /// Ends the writers: they lose their last handles.
    pub(crate) fn end_writers(&mut self) {
        self.shared.generations.store(Arc::default());
        self.indexer.take(Event::Reloaded(Arc::new(self.settings.clone())));
    }

    /// Starts new writers, with the same settings.
    pub(crate) fn restart_writers(&self) {
        start_runtimes(&self.shared, &self.settings);
    }

    /// What the model says to the next calls, and after how long.
    pub(crate) fn answer(&self, answers: impl IntoIterator<Item = (Duration, Say)>) {
        self.model.will_say(answers);
    }

    /// Lets time pass in which nobody does anything.
    pub(crate) fn pass(&self, time: Duration) {
        self.machine.passed.set(self.machine.passed.get() + time);
    }

    /// Lets the writer and the provider go on for so long.
    pub(crate) fn drive(&self, time: Duration) {
        let mut left = time;
        loop {
            self.settle();
            if left.is_zero() {
                return;
            }
            let step = left.min(GLANCE);
            self.runtime.block_on(async { tokio::time::sleep(step).await });
            left -= step;
        }
    }

    /// Lets everything go on that can without any time passing.
    fn settle(&self) {
        loop {
            self.runtime.block_on(async {
                for _ in 0..8 {
                    tokio::task::yield_now().await;
                }
            });
            let Some(work) = self.machine.work.borrow_mut().pop_front() else { return };
            work();
        }
    }

    /// What the writer has said since this was asked last.
    pub(crate) fn events(&self) -> Vec<(VaultPath, ContextEvent)> {
        let of = |event| match event {
            Event::Context { path, event } => Some((path, event)),
            _ => None,
        };
        self.inbox.try_iter().filter_map(of).collect()
    }

    /// Calls that are reserved and neither booked nor given back.
    pub(crate) fn reserved(&self) -> u64 {
        standing(&self.shared)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.model.look_at(None);
        machine::simulation::play(None);
        provider::simulation::play(None);
    }
}
