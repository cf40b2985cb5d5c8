//! The thread that has vectors made: orders in, batches out to the embedder, what came into the cache. One per
//! embedder. It holds no state that matters: an order that is lost is found missing again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::super::Shared;
use super::super::writer::budget_message;
use super::Embedder;
use crate::context::cost::Usage;
use crate::embed::settings::EmbedConfig;
use crate::embed::{EmbedError, Input, Made, Vector};
use crate::fingerprint::InputHash;
use crate::llm::{Health, tokens_of};
use crate::plan::Reason;
use crate::sandbox;
use crate::store::VectorCache;
use crate::store::ledger::{Ask, Ledger, Limits, Purpose, Refused, Reservation, Settled};
use crate::vault::VaultPath;

/// After how long is tried again what failed without a word about when.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// How often a budget that is used up, or a provider that was stopped, is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How often a text that is too long is halved before it is given up.
const MOST_CUTS: u8 = 4;

/// A note whose vectors are to be made.
pub(in crate::engine) struct Order {
    pub(in crate::engine) vault: u64,
    pub(in crate::engine) vault_name: String,
    pub(in crate::engine) path: VaultPath,
    /// Not held while nothing is written: a store must be able to close.
    pub(in crate::engine) cache: Weak<VectorCache>,
    /// Each of one input, unless the model sees them together.
    pub(in crate::engine) documents: Vec<Vec<Input>>,
    /// Whether it is one of many: then it waits for those that were saved.
    pub(in crate::engine) bulk: bool,
    pub(in crate::engine) reason: Reason,
    pub(in crate::engine) purpose: Purpose,
    /// Micro-dollars and tokens that the job may take.
    pub(in crate::engine) rebuild: Option<(u64, u64)>,
}

/// An order is done with: everything in it is in the cache, or given up.
#[derive(Debug)]
pub(in crate::engine) struct Told {
    pub(in crate::engine) vault: u64,
    /// The embedder's.
    pub(in crate::engine) identity: String,
    pub(in crate::engine) path: VaultPath,
    /// What the job that it was part of fails with.
    pub(in crate::engine) problem: Option<String>,
}

pub(in crate::engine) type Tell = Arc<dyn Fn(Told) + Send + Sync>;

enum Command {
    Order(Box<Order>),
    /// A note is not to be sent any more.
    Forget(Key),
    /// The embedder answered a batch.
    Done(u64, Result<Made, EmbedError>),
    /// A query took so many tokens.
    Query(u64),
    Resume,
    /// Something else has changed that may let work go on.
    Wake,
    Stop,
}

/// Access to the thread, which ends when this is dropped.
pub(in crate::engine) struct Worker {
    commands: Sender<Command>,
    common: Arc<Mutex<Common>>,
}

/// What both sides look at.
#[derive(Default)]
struct Common {
    /// Why nothing is asked at present.
    held: Option<String>,
    /// Why queries are not sent at present, and until when.
    no_queries: Option<(Instant, String)>,
    /// Whether the user wants nothing to be done.
    paused: bool,
    /// Inputs that the embedder will never take.
    refused: HashSet<InputHash>,
}

fn locked(common: &Mutex<Common>) -> MutexGuard<'_, Common> {
    common.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Worker {
    pub(super) fn start(
        shared: &Arc<Shared>,
        config: &EmbedConfig,
        embedder: &Embedder,
        price: Option<u64>,
        tell: Tell,
    ) -> Result<Worker, String> {
        let (commands, inbox) = mpsc::channel();
        let common = Arc::new(Mutex::new(Common::default()));
        let desk = Desk {
            embedder: embedder.clone(),
            bank: Bank {
                ledger: shared.ledger.clone(),
                engine: Arc::downgrade(shared),
                provider: config.provider.name(),
                model: config.model().to_owned(),
                price,
            },
            // A transformer has threads enough for one batch.
            room: if config.provider.is_remote() { config.concurrency.max(1) } else { 1 },
            tell,
            common: common.clone(),
            answers: commands.clone(),
            orders: HashMap::new(),
            saved: Vec::new(),
            bulk: VecDeque::new(),
            again: VecDeque::new(),
            flying: HashMap::new(),
            next: 0,
            until: None,
        };
        std::thread::Builder::new()
            .name("vectors".to_owned())
            .spawn(move || {
                sandbox::background_thread();
                desk.run(&inbox);
            })
            .map_err(|error| format!("no thread for embedding: {error}"))?;
        Ok(Worker { commands, common })
    }

    pub(in crate::engine) fn order(&self, order: Order) {
        // The thread ends only with this handle.
        let _ = self.commands.send(Command::Order(Box::new(order)));
    }

    /// Sends nothing of a note that is not on its way yet.
    pub(in crate::engine) fn forget(&self, vault: u64, path: VaultPath) {
        let _ = self.commands.send(Command::Forget((vault, path)));
    }

    /// Whether the embedder refused an input of a document for good.
    pub(in crate::engine) fn refused(&self, document: &[Input]) -> bool {
        let common = locked(&self.common);
        document.iter().any(|input| common.refused.contains(&input.hash))
    }

    /// A query was answered: it is written down by and by.
    pub(super) fn query(&self, tokens: u64) {
        let _ = self.commands.send(Command::Query(tokens));
    }

    /// Why queries are not to be sent at present.
    pub(super) fn no_queries(&self) -> Option<String> {
        let common = locked(&self.common);
        common.no_queries.as_ref().filter(|(until, _)| *until > Instant::now()).map(|(_, why)| why.clone())
    }

    pub(super) fn held(&self) -> Option<String> {
        locked(&self.common).held.clone()
    }

    pub(super) fn resume(&self) {
        let _ = self.commands.send(Command::Resume);
    }

    /// Sends nothing but queries while the daemon is paused; what is under way comes.
    pub(super) fn pause(&self, paused: bool) {
        let before = std::mem::replace(&mut locked(&self.common).paused, paused);
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
    cuts: u8,
}

/// An order as far as it is carried out.
struct Open {
    order: Order,
    /// Documents that are neither in the cache nor given up.
    left: usize,
    problem: Option<String>,
}

struct Desk {
    embedder: Embedder,
    bank: Bank,
    room: usize,
    tell: Tell,
    common: Arc<Mutex<Common>>,
    answers: Sender<Command>,
    orders: HashMap<Key, Open>,
    /// The newest last: it goes first.
    saved: Vec<Parcel>,
    bulk: VecDeque<Parcel>,
    /// What was sent and has to be sent once more.
    again: VecDeque<Vec<Parcel>>,
    flying: HashMap<u64, (Vec<Parcel>, Option<Reservation>)>,
    next: u64,
    /// Nothing is sent until then.
    until: Option<Instant>,
}

impl Desk {
    fn run(mut self, inbox: &Receiver<Command>) {
        loop {
            self.pump();
            let now = Instant::now();
            let until = self.until.unwrap_or(now + LOOK_AGAIN * 120);
            match inbox.recv_timeout(until.saturating_duration_since(now)) {
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(command) => self.take(command),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Wake | Command::Stop => {}
            Command::Order(order) => self.accept(*order),
            Command::Forget(key) => self.forget(&key),
            Command::Done(batch, result) => self.done(batch, result),
            Command::Query(tokens) => self.pay_for_query(tokens),
            Command::Resume => self.let_go(),
        }
    }

    fn let_go(&mut self) {
        self.until = None;
        let mut common = locked(&self.common);
        (common.held, common.no_queries) = (None, None);
    }

    fn forget(&mut self, key: &Key) {
        self.saved.retain(|parcel| parcel.of != *key);
        self.bulk.retain(|parcel| parcel.of != *key);
        self.again.iter_mut().for_each(|batch| batch.retain(|parcel| parcel.of != *key));
        self.again.retain(|batch| !batch.is_empty());
        self.orders.remove(key);
    }

    /// Queues an order in the place of an older one for the same note.
    fn accept(&mut self, mut order: Order) {
        let key = (order.vault, order.path.clone());
        self.saved.retain(|parcel| parcel.of != key);
        self.bulk.retain(|parcel| parcel.of != key);
        let documents = std::mem::take(&mut order.documents);
        let bulk = order.bulk;
        let flying = self.flying.values().flat_map(|(parcels, _)| parcels).chain(self.again.iter().flatten());
        let under_way = flying.filter(|parcel| parcel.of == key).count();
        let left = documents.len() + under_way;
        self.orders.insert(key.clone(), Open { order, left, problem: None });
        let parcels = documents.into_iter().map(|document| Parcel { of: key.clone(), document, cuts: 0 });
        if bulk {
            self.bulk.extend(parcels);
        } else {
            let parcels: Vec<Parcel> = parcels.collect();
            self.saved.extend(parcels.into_iter().rev());
        }
    }

    /// Sends batches while there is room and something to send.
    fn pump(&mut self) {
        if self.until.is_some_and(|until| until > Instant::now()) || locked(&self.common).paused {
            return;
        }
        self.until = None;
        while self.flying.len() < self.room
            && self.until.is_none()
            && let Some(batch) = self.next_batch()
        {
            self.send(batch);
        }
    }

    /// As many documents as one call may take, of one vault and on one behalf; the newest saves first.
    fn next_batch(&mut self) -> Option<Vec<Parcel>> {
        if let Some(batch) = self.again.pop_front() {
            return Some(batch);
        }
        let most = self.embedder.per_call();
        let purpose = |orders: &HashMap<Key, Open>, key: &Key| Some((key.0, orders.get(key)?.order.purpose));
        let mut batch: Vec<Parcel> = Vec::new();
        let (mut texts, mut tokens) = (0, 0);
        while let Some(next) = self.saved.last().or_else(|| self.bulk.front()) {
            let (more, of_them) = (next.document.len(), next.document.iter().map(|i| tokens_of(&i.text)).sum::<u64>());
            if let Some(first) = batch.first() {
                let full = texts + more > most.texts || tokens + of_them > most.tokens;
                if full || purpose(&self.orders, &first.of) != purpose(&self.orders, &next.of) {
                    break;
                }
            }
            let Some(parcel) = self.saved.pop().or_else(|| self.bulk.pop_front()) else { break };
            match self.orders.get(&parcel.of).map(|open| open.order.cache.upgrade()) {
                // Another note with the same text was first.
                Some(Some(cache)) if parcel.document.iter().all(|input| cache.holds(input.hash)) => {
                    self.finish(&parcel, None);
                }
                Some(_) => {
                    (texts, tokens) = (texts + more, tokens + of_them);
                    batch.push(parcel);
                }
                None => {}
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    fn send(&mut self, mut batch: Vec<Parcel>) {
        // What was forgotten while it was on its way, and came back without an answer.
        batch.retain(|parcel| self.orders.contains_key(&parcel.of));
        let tokens: u64 = batch.iter().flat_map(|p| &p.document).map(|input| tokens_of(&input.text)).sum();
        let reservation = match batch.first().and_then(|parcel| self.orders.get(&parcel.of)) {
            Some(open) => match self.bank.reserve(&open.order, tokens) {
                Ok(reservation) => reservation,
                Err(refused) => return self.unaffordable(batch, &refused),
            },
            None => return,
        };
        let shortened = |input: &Input, cuts| {
            let text = cut(&input.text, cuts).to_owned();
            Input { hash: input.hash, context: input.context.min(text.len()), text }
        };
        let documents: Vec<Vec<Input>> = batch
            .iter()
            .map(|parcel| parcel.document.iter().map(|input| shortened(input, parcel.cuts)).collect())
            .collect();
        self.next += 1;
        let (number, answers) = (self.next, self.answers.clone());
        self.flying.insert(number, (batch, reservation));
        self.embedder.embed_then(&documents, move |made| {
            // The thread may have ended.
            let _ = answers.send(Command::Done(number, made));
        });
    }

    fn done(&mut self, number: u64, result: Result<Made, EmbedError>) {
        let Some((batch, reservation)) = self.flying.remove(&number) else { return };
        self.bank.settle(reservation, &result);
        match result {
            Ok(made) => {
                locked(&self.common).held = None;
                self.keep(batch, made.vectors);
            }
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

    /// Puts what came into the caches of the vaults.
    fn keep(&mut self, batch: Vec<Parcel>, vectors: Vec<Vector>) {
        let mut vectors = vectors.into_iter();
        for parcel in batch {
            let of_it: Vec<(InputHash, Vector)> = parcel
                .document
                .iter()
                .map(|input| input.hash)
                .zip(vectors.by_ref().take(parcel.document.len()))
                .collect();
            // A vault that was closed meanwhile asks again when it is opened.
            let cache = self.orders.get(&parcel.of).and_then(|open| open.order.cache.upgrade());
            let kept = cache.map(|cache| cache.put(&of_it));
            if let Some(Err(error)) = kept {
                tracing::warn!(%error, "vectors could not be kept; they are made once more");
                self.hold(LOOK_AGAIN, format!("vectors cannot be written: {error}"));
                self.again.push_back(vec![parcel]);
                continue;
            }
            self.finish(&parcel, None);
        }
    }

    /// The embedder does not take a batch: each half may be taken alone, and half of a lone text.
    fn halve(&mut self, mut batch: Vec<Parcel>, error: &EmbedError) {
        if batch.len() > 1 {
            let rest = batch.split_off(batch.len() / 2);
            self.again.push_back(batch);
            self.again.push_back(rest);
            return;
        }
        let Some(mut parcel) = batch.pop() else { return };
        if parcel.document.len() == 1 && parcel.cuts < MOST_CUTS {
            parcel.cuts += 1;
            self.again.push_back(vec![parcel]);
            return;
        }
        tracing::warn!(%error, "the embedder takes a text in no length; it is found by its words");
        locked(&self.common).refused.extend(parcel.document.iter().map(|input| input.hash));
        self.finish(&parcel, None);
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
            (self.tell)(Told { vault, identity: self.embedder.identity().to_owned(), path, problem: open.problem });
        }
    }

    fn unaffordable(&mut self, batch: Vec<Parcel>, refused: &Refused) {
        let why = budget_message(refused);
        if matches!(refused, Refused::Rebuild { .. } | Refused::RebuildTokens { .. }) {
            // The job ends; what of it was queued goes with it.
            for parcel in batch {
                self.finish(&parcel, Some(why.clone()));
            }
            return;
        }
        self.again.push_front(batch);
        self.hold(LOOK_AGAIN, why);
    }

    fn hold(&mut self, wait: Duration, why: String) {
        self.until = Some(Instant::now() + wait);
        let mut common = locked(&self.common);
        if common.held.is_none() {
            tracing::warn!("no vectors are asked for meanwhile: {why}");
        }
        common.held = Some(why);
    }

    fn pay_for_query(&mut self, tokens: u64) {
        if let Err(refused) = self.bank.query(tokens) {
            let until = Instant::now() + LOOK_AGAIN;
            locked(&self.common).no_queries = Some((until, budget_message(&refused)));
        }
    }
}

/// Half of a text for every cut.
fn cut(text: &str, cuts: u8) -> &str {
    let end = text.len() >> cuts;
    let end = (0..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    if cuts == 0 { text } else { &text[..end] }
}

/// What calls cost, and whether they may be made.
struct Bank {
    ledger: Arc<Ledger>,
    /// Whose configuration says what may be spent.
    engine: Weak<Shared>,
    provider: &'static str,
    model: String,
    /// Micro-dollars per million tokens.
    price: Option<u64>,
}

impl Bank {
    /// `None` for what is free: it is no matter for the ledger.
    fn reserve(&self, order: &Order, tokens: u64) -> Result<Option<Reservation>, Refused> {
        if self.price == Some(0) {
            return Ok(None);
        }
        let (vault, path) = (order.vault_name.as_str(), order.path.as_str());
        self.ask(vault, path, order.reason, order.purpose, order.rebuild, tokens).map(Some)
    }

    fn ask(
        &self,
        vault: &str,
        path: &str,
        reason: Reason,
        purpose: Purpose,
        rebuild: Option<(u64, u64)>,
        tokens: u64,
    ) -> Result<Reservation, Refused> {
        let (provider, model) = (self.provider, self.model.as_str());
        let micro_dollars = cost_of(self.price, tokens);
        let ask = Ask { vault, path, reason, provider, model, purpose, micro_dollars, tokens };
        let engine = self.engine.upgrade().ok_or_else(|| Refused::Io("the daemon is stopping".to_owned()))?;
        let config = engine.config.load();
        let limits = Limits { day: config.budget.day, day_tokens: config.budget.day_tokens };
        self.ledger.reserve(ask, &limits, rebuild, jiff::Zoned::now())
    }

    fn settle(&self, reservation: Option<Reservation>, result: &Result<Made, EmbedError>) {
        let Some(reservation) = reservation else { return };
        let used = |tokens: u64, estimated: bool, failed: bool| Settled {
            usage: Usage { input: tokens, estimated, ..Usage::default() },
            micro_dollars: cost_of(self.price, tokens),
            contexts: 0,
            failed,
        };
        let now = jiff::Zoned::now();
        let written = match result {
            Ok(made) => self.ledger.settle(reservation, used(made.tokens, made.estimated, false), now),
            // Nobody knows whether it was counted: dropped, the estimate stands.
            Err(EmbedError::Provider(failure)) if failure.maybe_billed => return,
            Err(_) => self.ledger.release(reservation, now),
        };
        if let Err(error) = written {
            // The reservation stands in the ledger and counts as spent.
            tracing::warn!(%error, "what vectors cost could not be written down");
        }
    }

    fn query(&self, tokens: u64) -> Result<(), Refused> {
        if self.price == Some(0) {
            return Ok(());
        }
        let reservation = self.ask("", "", Reason::Rebuild, Purpose::Asked, None, tokens)?;
        self.settle(Some(reservation), &Ok(Made { vectors: Vec::new(), tokens, estimated: true }));
        Ok(())
    }
}

/// Micro-dollars of so many tokens, rounded up.
pub(super) fn cost_of(price: Option<u64>, tokens: u64) -> Option<u64> {
    let micro = (u128::from(price?) * u128::from(tokens)).div_ceil(1_000_000);
    Some(u64::try_from(micro).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_is_half_of_it_at_a_character() {
        assert_eq!(cut("abcdefgh", 0), "abcdefgh");
        assert_eq!(cut("abcdefgh", 1), "abcd");
        assert_eq!(cut("abcdefgh", 2), "ab");
        assert_eq!(cut("日本", 1), "日");
        assert_eq!(cut("日", 3), "");
    }

    #[test]
    fn money_is_rounded_up_and_an_unknown_price_stays_unknown() {
        assert_eq!(cost_of(Some(20_000), 1), Some(1));
        assert_eq!(cost_of(Some(20_000), 1_000_000), Some(20_000));
        assert_eq!(cost_of(Some(0), 1_000_000), Some(0));
        assert_eq!(cost_of(None, 1), None);
        assert_eq!(cost_of(Some(u64::MAX), u64::MAX), Some(u64::MAX));
    }
}
