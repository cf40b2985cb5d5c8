//! Asks about one note: first a team for what it has ([`given`]), then the model, about the whole note, then passage by
//! passage, then without the note. Whatever stops it, it waits for the calls under way and keeps every answer.

mod given;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use super::Tell;
use crate::ask::{Answers, Author, Stopped, form_of};
use crate::context_job::{ContextEvent, ContextJob, FULL_TRIES, MOST_TRIES, Work, prepare};
use crate::decide::NotePipeline;
use crate::interrupted::Interrupted;
use crate::late;
use crate::unkept::Unwritten;
use context::ContextRecord;
use context::document::Document;
use context::plan::Reason;
use context::prompt::{Form, Prompt};
use context::quality::Flaw;
use note::VaultPath;
use note::fingerprint::{ContextKey, Sketch};
use provider::ledger::OverBudget;
use provider::{Account, Owed, Wanted};
use store::Store;

/// Asks about a note until every passage of it has its context or can get none, or something stops it: a budget, the
/// provider, the indexer, or `draining`.
pub(super) async fn carry_out(
    author: &Author,
    job: ContextJob,
    pipeline: Arc<NotePipeline>,
    draining: watch::Receiver<bool>,
    tell: &Tell,
) -> Result<(), Interrupted> {
    let (path, pending) = (job.path.clone(), job.pending.clone());
    // The store must not be kept open by a question that takes minutes.
    let store = Arc::downgrade(&pipeline.store);
    let prepared = machine::blocking(move || prepare(&pipeline, &path, &pending));
    let Work { document, sketches, left, private } = prepared.await.map_err(|_| Interrupted::Changed)??;
    let wanted = job.wanted.clone();
    let account = Account {
        spender: author.spender.clone(),
        vault: job.vault_name.as_str().into(),
        path: job.path.to_string().into(),
        reason: job.pending.first().map_or(Reason::NewNote, |(_, due)| due.reason),
        purpose: job.purpose,
        rebuild: job.rebuild,
        wanted: Some(Wanted::so_long(move || wanted.has_changed().is_ok())),
    };
    let stop = Stop { draining, wanted: job.wanted.clone() };
    let shown = Arc::new((document, sketches));
    let (narrow, refused, held) = (false, false, None);
    let mut note = Note { author, tell, job, account, store, shown, left, stop, narrow, refused, held };
    if !private {
        note.take_given().await;
    }
    while !note.left.is_empty() && note.held.is_none() {
        note.round().await;
    }
    note.held.map_or(Ok(()), Err)
}

/// A note that is being asked about. It holds nothing open.
struct Note<'a> {
    author: &'a Author,
    tell: &'a Tell,
    job: ContextJob,
    account: Account,
    store: Weak<Store>,
    /// What the model is shown, and the sketches of its passages.
    shown: Arc<(Document, HashMap<u32, Sketch>)>,
    /// Number of the passage → its key and the tries it had.
    left: HashMap<u32, (ContextKey, u8)>,
    stop: Stop,
    /// Whether less of the note is shown in this round, because the model found it too long.
    narrow: bool,
    /// Whether the model refused a question of this round.
    refused: bool,
    /// What stops the asking.
    held: Option<Interrupted>,
}

/// What tells a job to ask nothing more.
struct Stop {
    /// Whether the writer ends.
    draining: watch::Receiver<bool>,
    /// See [`ContextJob::wanted`].
    wanted: watch::Receiver<VaultPath>,
}

impl Stop {
    fn is_said(&self) -> bool {
        *self.draining.borrow() || self.wanted.has_changed().is_err()
    }

    async fn said(&mut self) {
        let unwanted = async { while self.wanted.changed().await.is_ok() {} };
        tokio::select! {
            () = is_set(&mut self.draining) => {}
            () = unwanted => {}
        }
    }
}

/// What became of a question. The model answered, which is still to be booked, or refuses for good; or nothing came back:
/// then why, unless the asking was stopped before the question had its turn.
type Asked = Result<(Answers, Option<Owed>), (Prompt, Option<Interrupted>)>;

impl Note<'_> {
    /// Asks once about every passage that is left.
    async fn round(&mut self) {
        if self.stop.is_said() {
            self.held = Some(Interrupted::Draining);
            return;
        }
        self.narrow |= std::mem::take(&mut self.refused);
        let mut waiting: VecDeque<Prompt> = self.prompts().into();
        let mut running = JoinSet::new();
        let stop = watch::Sender::new(false);
        // The provider's cache holds the document only once the first answer has begun.
        let mut alone = true;
        // The budget refused a question; calls under way may still use less than they reserved.
        let mut short: Option<OverBudget> = None;
        let mut answered = false;
        loop {
            if running.is_empty() && short.is_some() {
                // No reservation is left that could be released; only an answer meanwhile may have made room.
                if !std::mem::take(&mut answered) {
                    self.held = short.take().map(Interrupted::Budget);
                }
                short = None;
                stop.send_replace(false);
            }
            while self.held.is_none()
                && short.is_none()
                && (running.is_empty() || !alone)
                && let Some(prompt) = waiting.pop_front()
            {
                alone &= prompt.cache;
                running.spawn(self.question(prompt, stop.subscribe()));
            }
            let finished = tokio::select! {
                biased;
                finished = running.join_next() => finished,
                () = self.stop.said(), if self.held.is_none() => {
                    self.held = Some(Interrupted::Draining);
                    stop.send_replace(true);
                    continue;
                }
            };
            let Some(finished) = finished else { break };
            alone = false;
            match self.finished(finished).await {
                None => answered = true,
                Some((prompt, refused)) => {
                    waiting.extend(prompt);
                    short = refused.or(short);
                }
            }
            stop.send_replace(self.held.is_some() || short.is_some());
        }
    }

    /// The questions of a round: the whole note first, then passage by passage, then without the note.
    fn prompts(&self) -> Vec<Prompt> {
        let prompter = if self.narrow { &self.author.narrow } else { &self.author.prompter };
        let document = &self.shown.0;
        let of = |form: Option<Form>| {
            let mut wanted: Vec<u32> =
                self.left.iter().filter(|(_, (_, tries))| form_of(*tries) == form).map(|(n, _)| *n).collect();
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

    /// Asks when it gets a turn, unless `stop` is set first; a question that was sent is waited for.
    fn question(&self, prompt: Prompt, mut stop: watch::Receiver<bool>) -> impl Future<Output = Asked> + Send + use<> {
        let (author, shown, account) = (self.author.clone(), self.shown.clone(), self.account.clone());
        async move {
            let turn = tokio::select! {
                biased;
                () = is_set(&mut stop) => return Err((prompt, None)),
                turn = author.client.turn() => turn,
            };
            let answers = match turn {
                Ok(turn) => author.ask(turn, &shown.0, &shown.1, &prompt, &account).await,
                // Nothing was sent, so no call is counted as failed.
                Err(failure) => Err(Interrupted::Provider(failure.message)),
            };
            answers.map_err(|held| (prompt, Some(held)))
        }
    }

    /// Takes the outcome of a question. Unless it was answered, returns the prompt to ask again, and the refusal if the
    /// budget refused it.
    async fn finished(&mut self, asked: Result<Asked, JoinError>) -> Option<(Option<Prompt>, Option<OverBudget>)> {
        match asked {
            Ok(Ok((answers, owed))) => {
                let mut events = Vec::with_capacity(answers.len());
                for (n, outcome) in answers {
                    events.extend(self.answered(n, outcome).await);
                }
                // Booked when it is in the journal, and before anybody hears of it.
                if let Some(owed) = owed {
                    let kept = events.iter().filter(|event| matches!(event, ContextEvent::Written)).count();
                    owed.settle(kept as u32).await;
                }
                events.into_iter().for_each(|event| self.tell(event));
                None
            }
            Ok(Err((prompt, None))) => Some((Some(prompt), None)),
            // Not if the ledger itself fails, or the call is larger than the budget: waiting for answers does not mend that.
            Ok(Err((prompt, Some(Interrupted::Budget(refused)))))
                if !matches!(refused, OverBudget::Io(_)) && !refused.never_fits() =>
            {
                Some((Some(prompt), Some(refused)))
            }
            Ok(Err((_, Some(held)))) => {
                self.held.get_or_insert(held);
                Some((None, None))
            }
            // A question that panicked: the note is left for later, or it would be asked about for ever.
            Err(_) => {
                self.held.get_or_insert(Interrupted::Provider("asking about this note failed".to_owned()));
                Some((None, None))
            }
        }
    }

    /// Keeps the context of a passage, or counts that there is none. Returns what is to be told of it.
    async fn answered(&mut self, n: u32, outcome: Result<ContextRecord, Stopped>) -> Option<ContextEvent> {
        let (key, tries) = self.left.get_mut(&n)?;
        let key = *key;
        match outcome {
            Ok(record) => {
                let tries = *tries + 1;
                return self.keep(n, key, tries, record).await.then_some(ContextEvent::Written);
            }
            Err(Stopped::Flaw(flaw)) => {
                *tries += 1;
                let more = *tries < MOST_TRIES;
                return Some(if more { ContextEvent::Tried(key) } else { self.give_up(n, key, flaw) });
            }
            // Once with less of the note around it, then without the note.
            Err(Stopped::Refused) if *tries >= FULL_TRIES => return Some(self.give_up(n, key, Flaw::Refusal)),
            Err(Stopped::Refused) if self.narrow => *tries = FULL_TRIES,
            Err(Stopped::Refused) => self.refused = true,
        }
        None
    }

    /// Puts a context in the journal, and returns whether it is there. If it is not, it waits in memory.
    async fn keep(&mut self, n: u32, key: ContextKey, tries: u8, mut record: ContextRecord) -> bool {
        if let Some(making) = &mut record.making {
            making.tries = tries;
        }
        // Never older than the request that it answers, whatever the clock says.
        let since = self.job.pending.iter().find(|(k, _)| *k == key).map_or(0, |(_, due)| due.since);
        record.written_at = record.written_at.max(since);
        // If the store was closed meanwhile, or is full, it is for the engine to open it again, and to write this.
        let (store, path, shown) = (self.store.clone(), self.stop.wanted.borrow().clone(), self.shown.clone());
        // If nobody wants it any more, another note may be there.
        let wanted = self.stop.wanted.has_changed().is_ok();
        let (unkept, dir) = (self.author.unkept.clone(), self.job.dir.clone());
        let kept = machine::blocking(move || {
            let kept = store.upgrade().ok_or(Interrupted::Draining).and_then(|store| {
                let kept = store.keep_context_of(&path, &shown.0.tags, key, &record);
                kept.and_then(|()| if wanted { late::keep(&store, &path, &shown.0, key, &record) } else { Ok(()) })
                    .map_err(|error| Interrupted::Unkept(error.to_string()))
            });
            kept.inspect_err(|_| unkept.put(Unwritten { dir, note: path, tags: shown.0.tags.clone(), key, record }))
        });
        let kept = kept.await.unwrap_or_else(|error| Err(Interrupted::Unkept(error.to_string())));
        self.left.remove(&n);
        let Err(held) = kept else { return true };
        // More answers would fare no better.
        self.held.get_or_insert(held);
        false
    }

    fn give_up(&mut self, n: u32, key: ContextKey, flaw: Flaw) -> ContextEvent {
        self.left.remove(&n);
        self.author.outcomes.gave_up();
        ContextEvent::GaveUp(key, flaw)
    }

    fn tell(&self, told: ContextEvent) {
        (self.tell)(self.job.vault, self.job.path.clone(), told);
    }
}

/// Waits until a flag is set; for ever if nobody is left to set it.
async fn is_set(flag: &mut watch::Receiver<bool>) {
    if flag.wait_for(|set| *set).await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests;
