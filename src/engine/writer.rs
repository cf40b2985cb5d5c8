//! The thread that talks to the model: orders in, what came of them out. It holds no state that matters: what
//! is to be written stands in the store until it has been, and what was answered is in the journal before
//! anybody hears of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::ask::{Asked, Asker, Stopped, form_of};
use super::batch::{self, BatchOrder};
use super::decide::Desk;
use super::report::{CallError, GeneratedContext};
use crate::config::Config;
use crate::context::ContextRecord;
use crate::context::cost::dollars;
use crate::context::document::Document;
use crate::context::prompt::{Form, Prompt};
use crate::context::quality::Flaw;
use crate::embed::builtin;
use crate::fingerprint::{ContextKey, Sketch};
use crate::llm::{self, Client};
use crate::note;
use crate::plan::{Due, Reason};
use crate::sandbox;
use crate::store::ledger::{Ledger, Purpose, Refused};
use crate::vault::VaultPath;
use crate::vault::read::read;

/// Tries with the whole note before the simpler prompt.
const FULL_TRIES: u8 = 2;

/// Tries in all; then the template stays.
pub(super) const MOST_TRIES: u8 = FULL_TRIES + 1;

/// A note whose contexts are to be written.
pub(super) struct Order {
    pub(super) vault: u64,
    pub(super) vault_name: String,
    pub(super) desk: Arc<Desk>,
    pub(super) path: VaultPath,
    /// What is wanted: the chunk's sections and text, and why.
    pub(super) dues: Vec<(ContextKey, Due)>,
    pub(super) purpose: Purpose,
    /// Micro-dollars and tokens that the rebuild may take.
    pub(super) rebuild: Option<(u64, u64)>,
}

/// What came of an order, piece by piece; the last piece is [`Told::End`].
#[derive(Debug)]
pub(super) enum Told {
    /// A context is in the journal and the archive; with a record if it could not be put there.
    Written(ContextKey, Option<Box<ContextRecord>>),
    /// An answer was of no use; there are tries left.
    Tried(ContextKey),
    /// An answer was of no use, and it was the last try.
    GaveUp(ContextKey, Flaw),
    /// The order is done with; `Err` says what kept it from being carried out in full.
    End(Result<(), Held>),
}

/// Why an order was not carried out in full.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// The note cannot be read now, or holds nothing that was ordered any more.
    Changed,
    /// A limit of the budget.
    Budget(Refused),
    /// The provider: see [`Client::health`].
    Provider(String),
}

/// A context that somebody asks for outside of any vault.
pub(super) struct Wish {
    pub(super) text: String,
    pub(super) title: Option<String>,
    pub(super) chunk: String,
    pub(super) max_words: Option<u32>,
    pub(super) reply: oneshot::Sender<Result<GeneratedContext, CallError>>,
}

enum Command {
    Order(Box<Order>),
    Batch(Box<BatchOrder>),
    Wish(Box<Wish>),
}

/// Access to the thread.
#[derive(Clone)]
pub(super) struct Writer {
    commands: mpsc::UnboundedSender<Command>,
    pub(super) asker: Asker,
    /// Orders at once.
    pub(super) room: usize,
}

impl Writer {
    /// Starts the thread, or says why not; `None` if no model is configured. It ends when the last handle goes.
    pub(super) fn start(
        config: &Config,
        ledger: Arc<Ledger>,
        tell: impl Fn(u64, VaultPath, Told) + Send + Sync + 'static,
    ) -> Result<Option<Writer>, String> {
        let context = &config.context;
        if !context.costs() {
            return Ok(None);
        }
        let model = llm::model(context)?;
        let client = Client::new(context, &model)?;
        let asker = Asker::new(client, model, ledger, config);
        let (commands, inbox) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no runtime for asking models: {error}"))?;
        let (worker, tell) = (asker.clone(), Arc::new(tell));
        std::thread::Builder::new()
            .name("contexts".to_owned())
            .spawn(move || {
                sandbox::background_thread();
                runtime.block_on(serve(inbox, worker, tell));
            })
            .map_err(|error| format!("no thread for asking models: {error}"))?;
        Ok(Some(Writer { commands, asker, room: context.concurrency.max(1) }))
    }

    pub(super) fn order(&self, order: Order) {
        // The thread ends only with the last handle, so it takes this one.
        let _ = self.commands.send(Command::Order(Box::new(order)));
    }

    pub(super) fn batch(&self, order: BatchOrder) {
        let _ = self.commands.send(Command::Batch(Box::new(order)));
    }

    pub(super) fn wish(&self, wish: Wish) {
        let _ = self.commands.send(Command::Wish(Box::new(wish)));
    }
}

type Tell = dyn Fn(u64, VaultPath, Told) + Send + Sync;

async fn serve(mut inbox: mpsc::UnboundedReceiver<Command>, asker: Asker, tell: Arc<Tell>) {
    let mut work = JoinSet::new();
    loop {
        tokio::select! {
            command = inbox.recv() => match command {
                Some(Command::Order(order)) => {
                    let (asker, tell) = (asker.clone(), tell.clone());
                    work.spawn(async move {
                        let (vault, path) = (order.vault, order.path.clone());
                        let end = carry_out(&asker, *order, &*tell).await;
                        tell(vault, path, Told::End(end));
                    });
                }
                Some(Command::Batch(order)) => drop(work.spawn(batch::carry_out(asker.clone(), *order))),
                Some(Command::Wish(wish)) => {
                    let asker = asker.clone();
                    work.spawn(async move {
                        let made = asker.wish(&wish.text, wish.title.as_deref(), &wish.chunk, wish.max_words).await;
                        // Whoever asked may have gone.
                        let _ = wish.reply.send(made);
                    });
                }
                // What is under way comes, if it comes soon: what is paid for is kept.
                None => {
                    let drained = async { while work.join_next().await.is_some() {} };
                    // What has not come by then is asked for again.
                    let _ = tokio::time::timeout(super::DRAIN, drained).await;
                    return;
                }
            },
            Some(_) = work.join_next(), if !work.is_empty() => {}
        }
    }
}

/// A note as it is now, with what is left to be written of it.
pub(super) struct Work {
    pub(super) document: Document,
    pub(super) sketches: HashMap<u32, Sketch>,
    /// Number of the passage → its key and the tries it had.
    pub(super) left: HashMap<u32, (ContextKey, u8)>,
}

/// Reads the note and finds the chunks that were ordered; blocks.
/// A note that has become private since is not shown to a model elsewhere.
pub(super) fn prepare(order: &Order) -> Result<Work, Held> {
    let desk = &order.desk;
    let (bytes, _) = read(&desk.root, &order.path, desk.max_note_bytes).map_err(|_| Held::Changed)?;
    let note = note::parse(&order.path, &bytes, &desk.rules);
    if desk.writer_leaves && desk.private.covers_note(&note) {
        return Err(Held::Changed);
    }
    let chunks = builtin::cut(&note, desk.chunk.of(note.kind.as_deref()));
    let document = Document::new(&note, &chunks);
    let ordered: HashMap<ContextKey, u8> = order.dues.iter().map(|(key, due)| (*key, due.tries)).collect();
    let wanted = document.passages.iter().filter_map(|p| Some((p.n, (p.key, *ordered.get(&p.key)?))));
    let left: HashMap<u32, (ContextKey, u8)> = wanted.collect();
    if left.is_empty() {
        return Err(Held::Changed);
    }
    let text = |n: u32| chunks.get(n as usize - 1).map_or("", |c| &note.text[c.span.clone()]);
    let sketches = left.keys().map(|n| (*n, Sketch::of(text(*n)))).collect();
    Ok(Work { document, sketches, left })
}

async fn carry_out(asker: &Asker, order: Order, tell: &Tell) -> Result<(), Held> {
    let prepared = tokio::task::spawn_blocking(move || {
        let work = prepare(&order);
        // The store must not be kept open by a question that takes minutes.
        let store = Arc::downgrade(&order.desk.store);
        let Order { vault, vault_name, path, dues, purpose, rebuild, desk: _ } = order;
        (work, store, Question { vault, vault_name, path, dues, purpose, rebuild })
    });
    let (work, store, order) = prepared.await.map_err(|_| Held::Changed)?;
    let Work { document, sketches, mut left } = work?;
    let shared = Arc::new((document, sketches));
    let told = |told| tell(order.vault, order.path.clone(), told);
    let mut narrow = false;
    while !left.is_empty() {
        let prompts = round(asker, &shared.0, &left, narrow);
        let mut queue = prompts.into_iter();
        let mut running = JoinSet::new();
        // The provider's cache holds the document only once the first answer has begun.
        let mut alone = true;
        loop {
            while (running.is_empty() || !alone)
                && let Some(prompt) = queue.next()
            {
                alone &= prompt.cache;
                let (asker, shared, asked) = (asker.clone(), shared.clone(), order.asked());
                running.spawn(async move { asker.ask(&shared.0, &shared.1, &prompt, &asked).await });
            }
            let Some(finished) = running.join_next().await else { break };
            alone = false;
            // A question that panicked: the note is left for later, or it would be asked for ever.
            let answers = finished.map_err(|_| Held::Provider("asking about this note failed".to_owned()))?;
            for (n, outcome) in answers {
                let Some((key, tries)) = left.get_mut(&n) else { continue };
                let key = *key;
                match outcome {
                    Ok(mut record) => {
                        if let Some(making) = &mut record.making {
                            making.tries = *tries + 1;
                        }
                        // Never older than the wish that it answers, whatever the clock says.
                        record.written_at = record.written_at.max(order.since(key));
                        // In the journal before anybody hears of it. A store that was closed meanwhile, or that
                        // is full, is the engine's to open again.
                        let store = store.clone();
                        let keep = tokio::task::spawn_blocking(move || {
                            let kept = store.upgrade().is_some_and(|store| store.keep_context(key, &record).is_ok());
                            (!kept).then(|| Box::new(record))
                        });
                        let unkept =
                            keep.await.map_err(|_| Held::Provider("a context could not be kept".to_owned()))?;
                        left.remove(&n);
                        told(Told::Written(key, unkept));
                    }
                    Err(Stopped::Flaw(flaw)) => {
                        *tries += 1;
                        if *tries < MOST_TRIES {
                            told(Told::Tried(key));
                        } else {
                            left.remove(&n);
                            asker.outcomes.gave_up();
                            told(Told::GaveUp(key, flaw));
                        }
                    }
                    // Once with less of the note around it, then without the note.
                    Err(Stopped::Refused) if !narrow && *tries < FULL_TRIES => narrow = true,
                    Err(Stopped::Refused) if *tries < FULL_TRIES => *tries = FULL_TRIES,
                    Err(Stopped::Refused) => {
                        left.remove(&n);
                        asker.outcomes.gave_up();
                        told(Told::GaveUp(key, Flaw::Missing));
                    }
                    Err(Stopped::Held(held)) => return Err(held),
                }
            }
        }
    }
    Ok(())
}

/// The questions of a round: the whole note first, then passage by passage, then without the note.
fn round(asker: &Asker, document: &Document, left: &HashMap<u32, (ContextKey, u8)>, narrow: bool) -> Vec<Prompt> {
    let prompter = if narrow { &asker.narrow } else { &asker.prompter };
    let of = |form: Option<Form>| {
        let mut wanted: Vec<u32> =
            left.iter().filter(|(_, (_, tries))| form_of(*tries) == form).map(|(n, _)| *n).collect();
        wanted.sort_unstable();
        wanted
    };
    let (first, second, last) = (of(None), of(Some(Form::Chunk)), of(Some(Form::Simple)));
    let mut prompts = if first.is_empty() { Vec::new() } else { prompter.ask(document, &first) };
    let more_follow = second.len() > 1;
    prompts.extend(second.into_iter().map(|n| Prompt { cache: more_follow, ..prompter.ask_one(document, n) }));
    prompts.extend(last.into_iter().map(|n| prompter.ask_simply(document, n)));
    prompts
}

/// An order that holds nothing open.
struct Question {
    vault: u64,
    vault_name: String,
    path: VaultPath,
    dues: Vec<(ContextKey, Due)>,
    purpose: Purpose,
    rebuild: Option<(u64, u64)>,
}

impl Question {
    fn since(&self, key: ContextKey) -> i64 {
        self.dues.iter().find(|(k, _)| *k == key).map_or(0, |(_, due)| due.since)
    }

    fn asked(&self) -> Asked {
        Asked {
            vault: self.vault_name.clone(),
            path: self.path.to_string(),
            reason: self.dues.first().map_or(Reason::NewNote, |(_, due)| due.reason),
            purpose: self.purpose,
            rebuild: self.rebuild,
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Held::Changed => f.write_str("the note has changed"),
            Held::Budget(refused) => f.write_str(&budget_message(refused)),
            Held::Provider(message) => f.write_str(message),
        }
    }
}

/// What a limit of the budget means for the user.
pub(super) fn budget_message(refused: &Refused) -> String {
    match refused {
        Refused::Day { limit, spent, .. } => format!(
            "today's budget for contexts ({}, {} spent) is used up; it goes on tomorrow, or raise `budget.day`",
            dollars(*limit),
            dollars(*spent)
        ),
        Refused::Rebuild { limit, spent, .. } => format!(
            "the rebuild has used up its budget ({}, {} spent); raise `budget.rebuild` and rebuild again",
            dollars(*limit),
            dollars(*spent)
        ),
        Refused::DayTokens { limit, spent, .. } => format!(
            "today's tokens for models of unknown price ({limit}, {spent} used) are used up; it goes on tomorrow, \
             or raise `budget.day_tokens`, or give the model's price in `[context.models]`"
        ),
        Refused::RebuildTokens { limit, spent, .. } => format!(
            "the rebuild has used up its tokens ({limit}, {spent} used); raise `budget.rebuild_tokens` and rebuild \
             again"
        ),
        Refused::Io(message) => format!("the ledger cannot be written, so nothing is bought: {message}"),
    }
}
