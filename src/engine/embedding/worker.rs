//! The task that has vectors made: it takes jobs, sends batches to the embedder, and puts the vectors into the cache.
//! One per embedder. It holds no state that matters: the vectors of a job that is lost are found missing again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::super::Shared;
use super::super::interrupted::budget_message;
use super::Embedder;
use context::plan::Reason;
use index::embed::settings::EmbedConfig;
use index::embed::{Input, Vector};
use note::VaultPath;
use note::fingerprint::InputHash;
use provider::ledger::{OverBudget, Purpose};
use provider::{Account, Health, Spender, Wanted, tokens_of};
use provider::{EmbedError, Made};
use store::VectorCache;

/// Delay before a retry if the failure does not say when.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// How often an exhausted budget, or a provider that was stopped, is checked again.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How often a text that is too long is halved before it is given up.
const MOST_CUTS: u8 = 4;

/// An embedder that refuses so many texts before it takes one is in doubt itself, not the texts.
const MOST_DOUBTED: usize = 8;

/// A note whose vectors are to be made.
pub(crate) struct EmbedJob {
    pub(crate) vault: u64,
    pub(crate) vault_name: String,
    pub(crate) path: VaultPath,
    /// Weak, and held only while it is looked at or written: a store must be able to close.
    pub(crate) cache: Weak<VectorCache>,
    /// Each of one input, unless the model sees them together.
    pub(crate) documents: Vec<Vec<Input>>,
    /// Whether it is one of many: then it waits for those that were saved.
    pub(crate) bulk: bool,
    pub(crate) reason: Reason,
    pub(crate) purpose: Purpose,
    /// Micro-dollars and tokens that the job may take.
    pub(crate) rebuild: Option<(u64, u64)>,
}

/// A job is done with: everything in it is in the cache, or given up.
#[derive(Debug)]
pub(crate) struct EmbedEvent {
    pub(crate) vault: u64,
    /// The embedder's.
    pub(crate) identity: String,
    pub(crate) path: VaultPath,
    /// Why the larger job that it was part of fails, if it does.
    pub(crate) problem: Option<String>,
}

pub(crate) type OnEvent = Arc<dyn Fn(EmbedEvent) + Send + Sync>;

enum Command {
    Embed(Box<EmbedJob>),
    /// A note is not to be sent any more.
    Forget(Key),
    /// Nothing of a vault is to be sent any more; dropped when what is on its way has come.
    Close(u64, Sender<()>),
    /// The embedder answered a batch.
    Done(u64, Result<Made, EmbedError>),
    Resume,
    /// Something else has changed that may let work go on.
    Wake,
    Stop,
}

/// Access to the task, which ends when this is dropped.
pub(crate) struct Worker {
    commands: UnboundedSender<Command>,
    common: Arc<Mutex<Common>>,
}

/// State that the handle and the task share.
#[derive(Default)]
struct Common {
    /// Why nothing is asked at present.
    held: Option<String>,
    /// Whether the user wants nothing to be done.
    paused: bool,
    /// Inputs that the embedder will never take.
    refused: HashSet<InputHash>,
}

impl Worker {
    pub(super) fn start(
        shared: &Arc<Shared>,
        config: &EmbedConfig,
        embedder: &Embedder,
        on_event: OnEvent,
    ) -> Result<Worker, String> {
        let (commands, inbox) = mpsc::unbounded_channel();
        // A transformer has threads for only one batch at a time.
        let room = if config.provider.is_remote() { config.concurrency.max(1) } else { 1 };
        let queue = EmbedQueue::new(embedder.clone(), shared.spender.clone(), room, on_event, commands.clone());
        let common = queue.common.clone();
        shared.provider.background()?.spawn(queue.run(inbox));
        Ok(Worker { commands, common })
    }

    pub(crate) fn embed(&self, job: EmbedJob) {
        // The task ends only with this handle.
        let _ = self.commands.send(Command::Embed(Box::new(job)));
    }

    /// Sends nothing of a note that is not on its way yet, and repeats no call that holds some of it.
    pub(crate) fn forget(&self, vault: u64, path: VaultPath) {
        let _ = self.commands.send(Command::Forget((vault, path)));
    }

    /// Sends nothing more of a vault and keeps what is on its way, which was paid for. What this returns disconnects when
    /// that has come.
    pub(crate) fn close(&self, vault: u64) -> Receiver<()> {
        let (landing, landed) = channel();
        let _ = self.commands.send(Command::Close(vault, landing));
        landed
    }

    /// Whether it refused an input for good.
    pub(crate) fn refused(&self, document: &[Input]) -> bool {
        self.count_refused(document.iter().map(|input| &input.hash)) > 0
    }

    /// How many of these inputs the embedder refused for good.
    pub(crate) fn count_refused<'a>(&self, inputs: impl Iterator<Item = &'a InputHash>) -> usize {
        let common = self.common.lock();
        inputs.filter(|hash| common.refused.contains(*hash)).count()
    }

    pub(super) fn held(&self) -> Option<String> {
        self.common.lock().held.clone()
    }

    pub(super) fn resume(&self) {
        self.common.lock().refused.clear();
        let _ = self.commands.send(Command::Resume);
    }

    /// Sends nothing but queries while the daemon is paused; what is under way comes.
    pub(super) fn pause(&self, paused: bool) {
        let before = std::mem::replace(&mut self.common.lock().paused, paused);
        if before && !paused {
            let _ = self.commands.send(Command::Wake);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // What is under way is dropped with the embedder, and found missing again.
        let _ = self.commands.send(Command::Stop);
    }
}

type Key = (u64, VaultPath);

/// A document on its way.
struct Parcel {
    of: Key,
    document: Vec<Input>,
    /// See [`EmbedJob::cache`].
    cache: Weak<VectorCache>,
    cuts: u8,
}

/// A call under way.
struct Flight {
    batch: Vec<Parcel>,
    /// Dropped when a note in it is not to be sent any more: then no further attempt is made.
    wanted: Option<Arc<()>>,
    /// Its vault, if it is closed, waits for this to be dropped.
    landing: Vec<Sender<()>>,
}

/// A job under way.
struct Open {
    job: EmbedJob,
    /// Documents that are neither in the cache nor given up.
    left: usize,
    problem: Option<String>,
}

/// What is known of an embedder by the texts that it took or refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// It has taken none yet.
    Untried,
    /// It has refused so many that it seems to refuse all: it is asked about one at a time.
    InDoubt,
    /// It has taken some, so what it refuses is the text's fault.
    Earned,
}

struct EmbedQueue {
    embedder: Embedder,
    spender: Arc<Spender>,
    room: usize,
    on_event: OnEvent,
    common: Arc<Mutex<Common>>,
    answers: UnboundedSender<Command>,
    orders: HashMap<Key, Open>,
    /// The newest last: it goes first.
    saved: Vec<Parcel>,
    bulk: VecDeque<Parcel>,
    /// What was sent and has to be sent once more.
    again: VecDeque<Vec<Parcel>>,
    flying: HashMap<u64, Flight>,
    /// What has come and is yet to be written.
    unwritten: VecDeque<(Parcel, Arc<[(InputHash, Vector)]>)>,
    /// Vaults of which nothing more is sent. Their numbers do not come again.
    closed: HashSet<u64>,
    trust: Trust,
    /// What the embedder refused in every length before it took any.
    doubted: Vec<Parcel>,
    /// Nothing is sent until then.
    until: Option<Instant>,
}

impl EmbedQueue {
    /// An empty queue for an embedder that takes so many batches at once.
    fn new(
        embedder: Embedder,
        spender: Arc<Spender>,
        room: usize,
        on_event: OnEvent,
        answers: UnboundedSender<Command>,
    ) -> Self {
        EmbedQueue {
            embedder,
            spender,
            room,
            on_event,
            common: Arc::default(),
            answers,
            orders: HashMap::new(),
            saved: Vec::new(),
            bulk: VecDeque::new(),
            again: VecDeque::new(),
            flying: HashMap::new(),
            unwritten: VecDeque::new(),
            closed: HashSet::new(),
            trust: Trust::Untried,
            doubted: Vec::new(),
            until: None,
        }
    }

    async fn run(mut self, mut inbox: UnboundedReceiver<Command>) {
        loop {
            self.go_on().await;
            let until = self.until.unwrap_or_else(|| machine::now() + LOOK_AGAIN * 120);
            match tokio::time::timeout_at(until.into(), inbox.recv()).await {
                Ok(Some(Command::Stop) | None) => return,
                Ok(Some(command)) => self.take(command).await,
                Err(_) => {}
            }
        }
    }

    async fn take(&mut self, command: Command) {
        match command {
            Command::Wake | Command::Stop => {}
            Command::Embed(job) => self.accept(*job),
            Command::Forget(key) => self.forget(|of| *of == key, None),
            Command::Close(vault, landing) => {
                self.closed.insert(vault);
                self.forget(|of| of.0 == vault, Some(&landing));
            }
            Command::Done(batch, result) => self.done(batch, result).await,
            Command::Resume => self.let_go(),
        }
    }

    fn let_go(&mut self) {
        self.until = None;
        self.common.lock().held = None;
    }

    /// Takes out what of some notes is not on its way.
    fn drop_waiting(&mut self, of: impl Fn(&Key) -> bool) {
        self.saved.retain(|parcel| !of(&parcel.of));
        self.bulk.retain(|parcel| !of(&parcel.of));
        self.doubted.retain(|parcel| !of(&parcel.of));
    }

    /// Sends nothing more of some notes, and makes no further attempt at a call that holds some of them; `landing` is
    /// dropped when those calls are over.
    fn forget(&mut self, of: impl Fn(&Key) -> bool, landing: Option<&Sender<()>>) {
        self.drop_waiting(&of);
        self.again.iter_mut().for_each(|batch| batch.retain(|parcel| !of(&parcel.of)));
        self.again.retain(|batch| !batch.is_empty());
        self.orders.retain(|key, _| !of(key));
        let holds = |flight: &&mut Flight| flight.batch.iter().any(|parcel| of(&parcel.of));
        for flight in self.flying.values_mut().filter(holds) {
            flight.wanted = None;
            flight.landing.extend(landing.cloned());
        }
    }

    /// Queues a job in the place of an older one for the same note.
    fn accept(&mut self, mut job: EmbedJob) {
        if self.closed.contains(&job.vault) {
            return;
        }
        let key = (job.vault, job.path.clone());
        if self.orders.contains_key(&key) {
            self.drop_waiting(|of| *of == key);
        }
        let documents = std::mem::take(&mut job.documents);
        let (bulk, cache) = (job.bulk, job.cache.clone());
        let flying = self.flying.values().flat_map(|flight| &flight.batch).chain(self.again.iter().flatten());
        let under_way = flying.chain(self.unwritten.iter().map(|(parcel, _)| parcel));
        let under_way = under_way.filter(|parcel| parcel.of == key).count();
        let left = documents.len() + under_way;
        self.orders.insert(key.clone(), Open { job, left, problem: None });
        let parcel = |document| Parcel { of: key.clone(), document, cache: cache.clone(), cuts: 0 };
        let parcels = documents.into_iter().map(parcel);
        if bulk {
            self.bulk.extend(parcels);
        } else {
            let parcels: Vec<Parcel> = parcels.collect();
            self.saved.extend(parcels.into_iter().rev());
        }
    }

    /// Does what can be done now.
    async fn go_on(&mut self) {
        if !self.unwritten.is_empty() && self.until.is_none_or(|until| until <= machine::now()) {
            self.write(true).await;
        }
        self.pump();
    }

    /// Sends batches while there is room and something to send.
    fn pump(&mut self) {
        if self.until.is_some_and(|until| until > machine::now()) {
            return;
        }
        // Cleared while paused too: the task sleeps until this time, and for a time that is past it would not sleep at
        // all.
        self.until = None;
        if self.common.lock().paused {
            return;
        }
        while self.flying.len() < self.room
            && self.until.is_none()
            && let Some(batch) = self.next_batch()
        {
            self.send(batch);
        }
        if self.flying.is_empty() && self.until.is_none() {
            // Nothing is left that could tell whether it is the embedder that is at fault.
            for parcel in std::mem::take(&mut self.doubted) {
                self.give_up(&parcel);
            }
        }
    }

    /// As many documents as one call may take, of one vault and for one purpose; the newest saves first.
    fn next_batch(&mut self) -> Option<Vec<Parcel>> {
        if let Some(batch) = self.again.pop_front() {
            return Some(batch);
        }
        let most = self.embedder.per_call();
        let most_texts = if self.trust == Trust::InDoubt { 1 } else { most.texts };
        let purpose = |orders: &HashMap<Key, Open>, key: &Key| Some((key.0, orders.get(key)?.job.purpose));
        let mut batch: Vec<Parcel> = Vec::new();
        let (mut texts, mut tokens) = (0, 0);
        while let Some(next) = self.saved.last().or_else(|| self.bulk.front()) {
            let (more, of_them) = (next.document.len(), next.document.iter().map(|i| tokens_of(&i.text)).sum::<u64>());
            if let Some(first) = batch.first() {
                let full = texts + more > most_texts || tokens + of_them > most.tokens;
                if full || purpose(&self.orders, &first.of) != purpose(&self.orders, &next.of) {
                    break;
                }
            }
            let Some(parcel) = self.saved.pop().or_else(|| self.bulk.pop_front()) else { break };
            match parcel.cache.upgrade().filter(|_| self.orders.contains_key(&parcel.of)) {
                // Another note with the same text was first.
                Some(cache) if parcel.document.iter().all(|input| cache.holds(input.hash)) => {
                    self.finish(&parcel, None);
                }
                Some(_) => {
                    (texts, tokens) = (texts + more, tokens + of_them);
                    batch.push(parcel);
                }
                // Its vault was closed, and asks again when it is opened.
                None => drop(self.orders.remove(&parcel.of)),
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    fn send(&mut self, mut batch: Vec<Parcel>) {
        // Leaves out documents that were forgotten while they were on their way, and came back without an answer.
        batch.retain(|parcel| self.orders.contains_key(&parcel.of) && parcel.cache.strong_count() > 0);
        let Some(open) = batch.first().and_then(|parcel| self.orders.get(&parcel.of)) else { return };
        let wanted = Arc::new(());
        let still = Arc::downgrade(&wanted);
        // The call serves all notes of its batch, and the ledger has it under the first.
        let job = &open.job;
        let account = Account {
            spender: self.spender.clone(),
            vault: job.vault_name.as_str().into(),
            path: job.path.to_string().into(),
            reason: job.reason,
            purpose: job.purpose,
            rebuild: job.rebuild,
            wanted: Some(Wanted::so_long(move || still.strong_count() > 0)),
        };
        let shortened = |input: &Input, cuts| {
            let text = cut(&input.text, cuts).to_owned();
            Input { hash: input.hash, context: input.context.min(text.len()), text, ..input.clone() }
        };
        let documents: Vec<Vec<Input>> = batch
            .iter()
            .map(|parcel| parcel.document.iter().map(|input| shortened(input, parcel.cuts)).collect())
            .collect();
        let number = self.flying.keys().max().map_or(0, |last| last + 1);
        let answers = self.answers.clone();
        self.flying.insert(number, Flight { batch, wanted: Some(wanted), landing: Vec::new() });
        self.embedder.embed_then(&documents, account, move |made| {
            // The task may have ended.
            let _ = answers.send(Command::Done(number, made));
        });
    }

    async fn done(&mut self, number: u64, result: Result<Made, EmbedError>) {
        // Whoever waits for it goes on when what it brought is kept.
        let Some(Flight { batch, wanted, landing: _landing }) = self.flying.remove(&number) else { return };
        match result {
            Ok(made) => {
                // A call that was under way says nothing of what keeps the others waiting since.
                if self.until.is_none() {
                    self.common.lock().held = None;
                }
                self.trust = Trust::Earned;
                let doubted = std::mem::take(&mut self.doubted);
                self.put_back(doubted);
                self.keep(batch, made.vectors).await;
            }
            // It was given up for a note in it; the others are sent again.
            Err(_) if wanted.is_none() => self.again.push_front(batch),
            Err(EmbedError::Budget(refused)) => self.unaffordable(batch, &refused),
            Err(error) if error.is_refusal() => self.halve(batch, &error),
            Err(error) => {
                self.again.push_front(batch);
                let wait = match self.embedder.health() {
                    Health::Open(wait, _) => wait.max(Duration::from_secs(1)),
                    Health::Stopped(_) => LOOK_AGAIN,
                    Health::Good => TRY_AGAIN,
                };
                self.hold(wait, error.to_string());
            }
        }
    }

    async fn keep(&mut self, batch: Vec<Parcel>, vectors: Vec<Vector>) {
        let (again, mut vectors) = (!self.unwritten.is_empty(), vectors.into_iter());
        for parcel in batch {
            let of_it = parcel.document.iter().map(|input| input.hash).zip(vectors.by_ref()).collect();
            self.unwritten.push_back((parcel, of_it));
        }
        self.write(again).await;
    }

    /// Puts vectors that came into the caches of their vaults, perhaps `again`. If that fails, they wait in memory,
    /// because they were paid for, and nothing is sent meanwhile.
    async fn write(&mut self, again: bool) {
        while let Some((parcel, vectors)) = self.unwritten.pop_front() {
            // A vault that was closed meanwhile asks again when it is opened.
            let (cache, of_it) = (parcel.cache.upgrade(), vectors.clone());
            // On another thread, because this may wait for the disk.
            let keep = machine::blocking(move || cache.map_or(Ok(()), |cache| cache.put(&of_it)));
            let kept = keep.await.map_err(|error| error.to_string());
            if let Err(error) = kept.and_then(|kept| kept.map_err(|error| error.to_string())) {
                self.unwritten.push_front((parcel, vectors));
                return self.hold(LOOK_AGAIN, format!("vectors cannot be written: {error}"));
            }
            self.finish(&parcel, None);
        }
        if again {
            self.let_go();
        }
    }

    /// The embedder refuses a batch: tries each half again alone, or half of the text if there is only one. If it seems
    /// to refuse everything, it is asked about another text later.
    fn halve(&mut self, mut batch: Vec<Parcel>, error: &EmbedError) {
        if self.trust == Trust::InDoubt {
            self.put_back(batch);
            return self.hold(LOOK_AGAIN, format!("the embedder has refused every text so far: {error}"));
        }
        if batch.len() > 1 {
            return self.split(batch);
        }
        let Some(mut parcel) = batch.pop() else { return };
        if parcel.document.len() == 1 && parcel.cuts < MOST_CUTS {
            parcel.cuts += 1;
            self.again.push_back(vec![parcel]);
            return;
        }
        tracing::warn!(%error, "the embedder takes a text in no length; it is found by its words");
        if self.trust == Trust::Earned {
            return self.give_up(&parcel);
        }
        self.doubted.push(parcel);
        if self.doubted.len() >= MOST_DOUBTED {
            self.trust = Trust::InDoubt;
            let doubted = std::mem::take(&mut self.doubted);
            self.halve(doubted, error);
        }
    }

    /// Tries each half of a batch alone.
    fn split(&mut self, mut batch: Vec<Parcel>) {
        let rest = batch.split_off(batch.len() / 2);
        self.again.push_back(batch);
        self.again.push_back(rest);
    }

    /// Queues texts behind all others, to be tried again in full.
    fn put_back(&mut self, batch: Vec<Parcel>) {
        self.bulk.extend(batch.into_iter().map(|parcel| Parcel { cuts: 0, ..parcel }));
    }

    /// A text that the embedder never takes.
    fn give_up(&mut self, parcel: &Parcel) {
        self.common.lock().refused.extend(parcel.document.iter().map(|input| input.hash));
        self.finish(parcel, None);
    }

    fn finish(&mut self, parcel: &Parcel, problem: Option<String>) {
        let Some(open) = self.orders.get_mut(&parcel.of) else { return };
        open.left = open.left.saturating_sub(1);
        open.problem = problem.or(open.problem.take());
        if open.left > 0 {
            return;
        }
        if let Some(open) = self.orders.remove(&parcel.of) {
            let (vault, path) = parcel.of.clone();
            let identity = self.embedder.identity().to_owned();
            (self.on_event)(EmbedEvent { vault, identity, path, problem: open.problem });
        }
    }

    fn unaffordable(&mut self, batch: Vec<Parcel>, refused: &OverBudget) {
        let why = budget_message(refused);
        if matches!(refused, OverBudget::Rebuild { .. } | OverBudget::RebuildTokens { .. }) {
            // The job ends; what of it was queued goes with it.
            for parcel in batch {
                self.finish(&parcel, Some(why.clone()));
            }
            return;
        }
        if refused.never_fits() && batch.len() > 1 {
            return self.split(batch);
        }
        if refused.never_fits() {
            // A larger budget may come; until then it must not keep all others from being sent.
            self.put_back(batch);
        } else {
            self.again.push_front(batch);
        }
        self.hold(LOOK_AGAIN, why);
    }

    fn hold(&mut self, wait: Duration, why: String) {
        self.until = Some(machine::now() + wait);
        let mut common = self.common.lock();
        if common.held.is_none() {
            tracing::warn!("no vectors are asked for meanwhile: {why}");
        }
        common.held = Some(why);
    }
}

/// A text, halved once for every cut.
fn cut(text: &str, cuts: u8) -> &str {
    &text[..text.floor_char_boundary(text.len() >> cuts)]
}

#[cfg(test)]
mod tests;
