//! Who talks to the model: orders in, what came of them out. It holds no state that matters: what is to be written
//! stands in the store until it has been, and what was answered is in the journal before anybody hears of it.

mod job;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::ask::Asker;
use super::batch::{self, BatchOrder};
use super::decide::Desk;
use super::error::CallError;
use super::outcomes::MOST_USELESS;
use crate::settings::Settings;
use context::ContextRecord;
use context::cost::dollars;
use context::document::Document;
use context::plan::Due;
use context::quality::Flaw;
use note::VaultPath;
use note::fingerprint::{ContextKey, Sketch};
use protocol::contexts::GeneratedContext;
use provider as llm;
use provider::ledger::{Purpose, Refused};
use provider::{Client, ProviderRuntime, Spender};
use vault::read::read;

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
    /// The model has given nothing that could be used for a long while.
    Useless,
    /// Nothing more is sent, for the daemon ends or is configured anew.
    Draining,
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

/// Access to the task that serves it.
#[derive(Clone)]
pub(super) struct Writer {
    commands: mpsc::UnboundedSender<Command>,
    pub(super) asker: Asker,
    /// Orders at once.
    pub(super) room: usize,
}

impl Writer {
    /// Starts it, or says why not; `None` if no model is configured. It ends when the last handle goes.
    pub(super) fn start(
        config: &Settings,
        runtime: &ProviderRuntime,
        spender: &Arc<Spender>,
        tell: impl Fn(u64, VaultPath, Told) + Send + Sync + 'static,
    ) -> Result<Option<Writer>, String> {
        let context = &config.context;
        if !context.costs() {
            return Ok(None);
        }
        let model = llm::model(context)?;
        let client = Client::new(context, &model)?;
        let asker = Asker::new(client, model, spender.clone(), config);
        let (commands, inbox) = mpsc::unbounded_channel();
        let (worker, tell) = (asker.clone(), Arc::new(tell));
        runtime.background()?.spawn(serve(inbox, worker, tell));
        Ok(Some(Writer { commands, asker, room: context.concurrency.max(1) }))
    }

    pub(super) fn order(&self, order: Order) {
        // The task ends only with the last handle, so it takes this one.
        let _ = self.commands.send(Command::Order(Box::new(order)));
    }

    pub(super) fn batch(&self, order: BatchOrder) {
        let _ = self.commands.send(Command::Batch(Box::new(order)));
    }

    pub(super) fn wish(&self, wish: Wish) {
        let _ = self.commands.send(Command::Wish(Box::new(wish)));
    }

    /// Whether both are access to the same task.
    pub(super) fn is(&self, other: &Writer) -> bool {
        self.commands.same_channel(&other.commands)
    }
}

type Tell = dyn Fn(u64, VaultPath, Told) + Send + Sync;

async fn serve(mut inbox: mpsc::UnboundedReceiver<Command>, asker: Asker, tell: Arc<Tell>) {
    let mut notes = JoinSet::new();
    let mut others = JoinSet::new();
    let draining = watch::Sender::new(false);
    loop {
        tokio::select! {
            biased;
            command = inbox.recv() => match command {
                Some(Command::Order(order)) => {
                    let (asker, tell, draining) = (asker.clone(), tell.clone(), draining.subscribe());
                    notes.spawn(async move {
                        let (vault, path) = (order.vault, order.path.clone());
                        let end = job::carry_out(&asker, *order, draining, &*tell).await;
                        tell(vault, path, Told::End(end));
                    });
                }
                Some(Command::Batch(order)) => drop(others.spawn(batch::carry_out(asker.clone(), *order))),
                Some(Command::Wish(wish)) => {
                    let asker = asker.clone();
                    others.spawn(async move {
                        let made = asker.wish(&wish.text, wish.title.as_deref(), &wish.chunk, wish.max_words).await;
                        // Whoever asked may have gone.
                        let _ = wish.reply.send(made);
                    });
                }
                // What is under way comes, if it comes soon: what is paid for is kept.
                None => {
                    draining.send_replace(true);
                    let drained = async {
                        while notes.join_next().await.is_some() {}
                        while others.join_next().await.is_some() {}
                    };
                    // What has not come by then is asked for again.
                    let _ = tokio::time::timeout(super::DRAIN, drained).await;
                    return;
                }
            },
            Some(_) = notes.join_next(), if !notes.is_empty() => {}
            Some(_) = others.join_next(), if !others.is_empty() => {}
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
    let known = desk.store.note(&order.path).map_err(|_| Held::Changed)?;
    if desk.writer_leaves && desk.private.covers_now(&note, known.as_ref().map(|known| known.tags.as_slice())) {
        return Err(Held::Changed);
    }
    let chunks = index::chunk::cut(&note, desk.chunk.of(note.kind.as_deref()));
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

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Held::Changed => f.write_str("the note has changed"),
            Held::Budget(refused) => f.write_str(&budget_message(refused)),
            Held::Provider(message) => f.write_str(message),
            Held::Useless => write!(
                f,
                "nothing in the model's last {MOST_USELESS} answers could be used (`situated stats` says why), so it is \
                 left alone for half an hour; choose another model, or `situated resume`"
            ),
            Held::Draining => f.write_str("the daemon ends, or is configured anew"),
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
        Refused::Io(message) => message.clone(),
    }
}
