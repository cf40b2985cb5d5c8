//! Carries out a batch, from the wanted contexts to the answers in the journal, on the writer's thread. Each submission
//! is written down before and after it is made, so after a kill the next process goes on from there.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::draft::{draft, reserve};
use super::file::{Files, Item, Part, Stage, State};
use super::judge;
use super::look::Shown;
use super::{BatchEvent, BatchJob, Control, End, Halt};
use crate::ask::Author;
use crate::{VaultShared, now_s};
use context::models::Model;
use context::prompt::Prompt;
use note::VaultPath;
use provider::ledger::{Purpose, Settled};
use provider::spender::StandingReservation;
use provider::{Account, BatchState, Batches, Failure, FailureKind, SubmittedBatch};
use store::Store;

/// The first pause between two polls of a batch; each is twice the one before, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How far the provider's clock may be behind ours, seconds, when a batch is looked for by the time it was handed in.
/// The results reveal a batch that is not ours, so this may be generous.
const CLOCKS_DIFFER: i64 = 600;

/// How long the provider keeps answers, seconds, from when a batch was handed in
/// (<https://docs.claude.com/en/docs/build-with-claude/batch-processing>).
const KEPT: i64 = 29 * 24 * 60 * 60;

/// How often a batch that may have been handed in is looked for, at longer and longer pauses, before it is handed in
/// again: the provider may take a moment to list it. Twice as often each further time.
const LOOKS: u32 = 5;

/// How often a part is handed in, if it may have arrived each time and is never found.
const MOST_UNFOUND: u32 = 3;

/// Why a part that the provider had has no answers.
const LOST: &str = "the provider has lost a batch, or thrown its answers away";

/// Why a part has none that was not found.
const UNFOUND: &str = "whether a batch arrived at the provider is not known, so it counts as bought";

/// Carries a batch out, or on.
pub(crate) async fn carry_out(author: Author, job: BatchJob) {
    let tell = job.tell.clone();
    match run(author, job).await {
        Ok(end) | Err(Halt::End(end)) => tell(BatchEvent::End(end)),
        Err(Halt::Store(why)) => tell(BatchEvent::End(End::Failed(why))),
        Err(Halt::Gone) => {}
    }
}

async fn run(author: Author, job: BatchJob) -> Result<End, Halt> {
    let files = Files::new(&job.dir, job.run);
    let mut control = job.control.clone();
    // A former writer that is about to end may still hold the lock.
    let lock = loop {
        match files.lock()? {
            Some(lock) => break lock,
            None => pause(&mut control, Duration::from_millis(50)).await?,
        }
    };
    let state = match files.load() {
        Ok(state) => state,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            files.set_aside()?;
            let why = "what was written down about the batch makes no sense, and was moved aside";
            return Ok(End::OneByOne(why.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let Some(batches) = author
        .client
        .batches()
        .filter(|at| state.as_ref().is_none_or(|state| state.is_with(author.model.provider.name(), at.host())))
    else {
        let why = "the batch is another provider's, or at another host; its answers wait until that is back";
        return Ok(End::OneByOne(why.to_owned()));
    };
    let purpose = Purpose::Rebuild(job.run);
    let standing = author.spender.standing(&job.vault.name, purpose);
    let (vault, rebuild) = (job.vault.name.as_str().into(), Some(job.rebuild));
    let account = Account { vault, rebuild, ..Account::of(&author.spender, purpose) };
    let (vault, store, tell) = (job.vault.clone(), Arc::downgrade(&job.pipeline.store), job.tell.clone());
    let (state, reservation) = if let Some(mut state) = state {
        if state.host.is_none() {
            state.host = Some(batches.host().to_owned());
            files.save(&state)?;
        }
        (state, standing)
    } else {
        if let Some(left_over) = standing {
            // A former process reserved this and handed nothing in, for a state is written down before that.
            left_over.give_back();
        }
        if *control.borrow() == Control::Cancel {
            files.remove()?;
            return Ok(End::Done);
        }
        tell(BatchEvent::Phase("handing in a batch".to_owned()));
        match draft(&author, &batches, &files, &mut control, &account, job).await? {
            Some((state, reservation)) => (state, Some(reservation)),
            None => return Ok(End::Done),
        }
    };
    let author = as_asked(author, &state)?;
    let work = Work {
        author,
        batches,
        files,
        state,
        account,
        reservation,
        vault,
        store,
        control,
        tell,
        used: Vec::new(),
        lost: None,
        unanswered: 0,
        lock: Arc::new(lock),
    };
    work.run().await
}

/// Answers are read, judged and paid for as those of the model that was asked, whichever is in force now.
fn as_asked(mut author: Author, state: &State) -> Result<Author, Halt> {
    if author.model.id != state.model {
        let model = Model::find(author.model.provider, &state.model, false, &[]).map_err(Halt::Store)?;
        author.model = Arc::new(model);
    }
    Ok(author)
}

fn missing() -> Halt {
    Halt::Store("a part of a batch is missing".to_owned())
}

/// Waits; ends early when the engine changes the control, or with [`Halt::Gone`] when it drops it.
async fn pause(control: &mut watch::Receiver<Control>, length: Duration) -> Result<(), Halt> {
    tokio::select! {
        () = sleep(length) => Ok(()),
        changed = control.changed() => changed.map_err(|_| Halt::Gone),
    }
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}

/// See [`Shown::withheld`].
async fn withheld(vault: Arc<VaultShared>, shown: Arc<Shown>) -> Result<Option<HashSet<VaultPath>>, Halt> {
    let Some(pipeline) = vault.pipeline() else { return Ok(None) };
    let looked = machine::blocking(move || shown.withheld(&pipeline));
    Ok(looked.await.map_err(|_| Halt::Gone)??)
}

/// A batch that is written down.
struct Work {
    author: Author,
    batches: Batches,
    files: Files,
    state: State,
    account: Account,
    reservation: Option<StandingReservation>,
    vault: Arc<VaultShared>,
    /// Weak, so that a batch that takes a day does not keep the store open.
    store: Weak<Store>,
    control: watch::Receiver<Control>,
    tell: Arc<super::Tell>,
    /// What the parts used whose answers were taken, note by note.
    used: Vec<(String, Settled)>,
    /// Why a part has no answers.
    lost: Option<&'static str>,
    /// Requests that came back without an answer.
    unanswered: usize,
    /// Also held by blocking work that outlives this.
    lock: Arc<File>,
}

impl Work {
    async fn run(mut self) -> Result<End, Halt> {
        while !self.is_done() {
            match self.open() {
                Some(at) => self.hand_in(at).await?,
                None => self.wait_for_answers().await?,
            }
        }
        // Everything is in the journal.
        self.forget()?;
        let requests = self.state.parts.iter().map(Part::handed_in).sum::<u64>();
        Ok(match (self.lost, self.unanswered) {
            (Some(why), _) => End::OneByOne(why.to_owned()),
            (None, 0) => End::Done,
            (None, open) => End::Unanswered(format!("the batch left {open} of {requests} requests unanswered")),
        })
    }

    /// The next part that is to be handed in, or may have been.
    fn open(&self) -> Option<usize> {
        let is_open = |part: &Part| match part.stage {
            Stage::Open | Stage::Submitting { .. } => !part.taken,
            Stage::Submitted { .. } | Stage::Skipped => false,
        };
        self.state.parts.iter().position(is_open)
    }

    fn is_done(&self) -> bool {
        self.state.parts.iter().all(|part| part.taken || part.stage == Stage::Skipped)
    }

    /// What the engine wants; a cancellation is written down, so it survives a kill.
    fn wanted(&mut self) -> Result<Control, Halt> {
        let control = if self.state.cancelled { Control::Cancel } else { *self.control.borrow_and_update() };
        if control == Control::Cancel && !self.state.cancelled {
            self.state.cancelled = true;
            self.files.save(&self.state)?;
        }
        Ok(control)
    }

    fn phase(&self, phase: &str) {
        (self.tell)(BatchEvent::Phase(phase.to_owned()));
    }

    /// Writes down how far a part is.
    fn set(&mut self, at: usize, stage: Stage) -> Result<(), Halt> {
        self.part_mut(at)?.stage = stage;
        Ok(self.files.save(&self.state)?)
    }

    async fn submitted(&mut self, at: usize, id: String, found: bool, not: Vec<String>) -> Result<(), Halt> {
        let key = self.batches.key_mark().await;
        self.set(at, Stage::Submitted { id, found, key, not })
    }

    fn part(&self, at: usize) -> Result<&Part, Halt> {
        self.state.parts.get(at).ok_or_else(missing)
    }

    fn part_mut(&mut self, at: usize) -> Result<&mut Part, Halt> {
        self.state.parts.get_mut(at).ok_or_else(missing)
    }

    /// Hands a part in, if the provider does not have it already.
    async fn hand_in(&mut self, at: usize) -> Result<(), Halt> {
        let mut wait = FIRST_PAUSE;
        loop {
            if let Stage::Submitting { at: sent, not } = self.part(at)?.stage.clone() {
                if let Some(id) = self.find(at, sent, &not).await? {
                    return self.submitted(at, id, true, not).await;
                }
                let Part { gone, unfound, .. } = *self.part(at)?;
                let ends = gone || unfound + 1 >= MOST_UNFOUND || self.wanted()? == Control::Cancel;
                if ends || !self.pay(at).await? {
                    return self.lose(at, UNFOUND).await;
                }
                self.part_mut(at)?.unfound += 1;
                return self.set(at, Stage::Open);
            }
            match self.wanted()? {
                Control::Cancel => return self.set(at, Stage::Skipped),
                Control::Pause => {
                    self.phase("the batch waits to be handed in");
                    pause(&mut self.control, LONGEST_PAUSE).await?;
                    continue;
                }
                Control::Go => {}
            }
            let Some((requests, shown)) = self.questions(at).await? else {
                self.phase("the batch waits to be handed in: its notes cannot be read");
                pause(&mut self.control, wait).await?;
                wait = longer(wait);
                continue;
            };
            if requests.is_empty() {
                return self.set(at, Stage::Skipped);
            }
            self.phase("handing in a batch");
            self.set(at, Stage::Submitting { at: now_s(), not: Vec::new() })?;
            let (vault, control) = (self.vault.clone(), self.control.clone());
            // An attempt may come long after the one before.
            let wanted = || {
                let looked = withheld(vault.clone(), shown.clone());
                let goes = *control.borrow() == Control::Go;
                async move { goes && matches!(looked.await, Ok(Some(withheld)) if withheld.is_empty()) }
            };
            let failure = match self.batches.submit(&requests, wanted).await {
                Ok(id) => return self.submitted(at, id, false, Vec::new()).await,
                Err(failure) => failure,
            };
            drop(requests);
            self.author.outcomes.failed(failure.kind);
            let Failure { kind, message, maybe_billed } = failure;
            if maybe_billed {
                // It stays written down as being handed in, and is looked for.
                let phase = format!("whether the batch arrived is not known, so it is looked for: {message}");
                tracing::warn!("{phase}");
                self.phase(&phase);
            } else if matches!(kind, FailureKind::Rejected | FailureKind::TooLong) {
                self.set(at, Stage::Skipped)?;
                if self.state.parts.iter().all(|part| part.stage == Stage::Skipped) {
                    self.forget()?;
                    return Err(Halt::End(End::OneByOne(format!("the provider takes no batch: {message}"))));
                }
                return Ok(());
            } else {
                self.set(at, Stage::Open)?;
                self.phase(&format!("the batch waits to be handed in: {message}"));
            }
            pause(&mut self.control, wait).await?;
            wait = longer(wait);
        }
    }

    /// The questions of a part that may leave, and their notes; those that may not are left out from now on. `None` if
    /// the vault is out of reach.
    async fn questions(&mut self, at: usize) -> Result<Option<(Vec<(String, Prompt)>, Arc<Shown>)>, Halt> {
        let mut items = self.items(at).await?;
        if items.len() as u64 != self.part(at)?.handed_in() {
            // What cannot be read again could not be judged either.
            tracing::error!("a batch's questions are damaged; its notes are asked about one by one");
            items.clear();
        }
        let Some(withheld) = withheld(self.vault.clone(), Arc::new(Shown::of(&items))).await? else { return Ok(None) };
        let (out, items): (Vec<Item>, Vec<Item>) = items.into_iter().partition(|item| withheld.contains(&item.path));
        self.part_mut(at)?.left_out.extend(out.into_iter().map(|item| item.id));
        let shown = Arc::new(Shown::of(&items));
        Ok(Some((items.into_iter().map(|item| (item.id, item.prompt)).collect(), shown)))
    }

    /// Counts a part as bought that may have arrived and was not found, on top of what is reserved for it, so that it may
    /// be handed in again. Returns whether the budget allows that.
    async fn pay(&self, at: usize) -> Result<bool, Halt> {
        let items = self.items(at).await?;
        let each = items.iter().map(|item| judge::unknown(&self.author, &item.prompt));
        let (micro_dollars, tokens) = each.fold((Some(0_u64), 0_u64), |(micro_dollars, tokens), one| {
            let micro_dollars = micro_dollars.zip(one.micro_dollars).map(|(sum, one)| sum.saturating_add(one));
            (micro_dollars, tokens.saturating_add(one.usage.tokens()))
        });
        // The path of a note tells the next process, if this one dies here, that it is not the batch's reservation.
        let path = items.first().map_or_else(String::new, |item| item.path.to_string());
        let account = Account { path: path.into(), ..self.account.clone() };
        let Ok(reserved) = reserve(&self.author, account, micro_dollars, tokens).await? else { return Ok(false) };
        let _ = machine::blocking(move || reserved.maybe_billed()).await;
        Ok(true)
    }

    /// Looks for a part that the provider may have: a batch of that size, handed in since, that belongs to no other
    /// part or run.
    async fn find(&mut self, at: usize, sent: i64, not: &[String]) -> Result<Option<String>, Halt> {
        let (mut looks, mut wait) = (0, FIRST_PAUSE);
        let most = LOOKS << self.part(at)?.unfound.min(MOST_UNFOUND);
        loop {
            match self.batches.recent(sent.saturating_sub(CLOCKS_DIFFER)).await {
                Ok(listed) => {
                    let count = self.part(at)?.handed_in();
                    let others = self.files.named_by_others();
                    let free = |batch: &SubmittedBatch| {
                        let named = not.iter().chain(&others).map(String::as_str).chain(self.state.ids());
                        batch.count == count && !named.into_iter().any(|id| id == batch.id)
                    };
                    if let Some(batch) = listed.into_iter().find(free) {
                        tracing::info!(batch = batch.id, "a batch that was being handed in is there");
                        return Ok(Some(batch.id));
                    }
                    looks += 1;
                    if looks >= most {
                        return Ok(None);
                    }
                }
                Err(failure) => {
                    self.phase(&format!("the batch is looked for at the provider: {}", failure.message));
                }
            }
            pause(&mut self.control, wait).await?;
            wait = longer(wait);
        }
    }

    /// Polls the parts that the provider has until one of them has to be handed in, or all are taken.
    async fn wait_for_answers(&mut self) -> Result<(), Halt> {
        let since = jiff::Timestamp::from_second(self.state.began).ok();
        let since = since.map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
        self.phase(&format!("waiting for the batch (since {})", since.unwrap_or_default()));
        let mut wait = FIRST_PAUSE;
        loop {
            let given_up = self.wanted()? == Control::Cancel;
            for at in 0..self.state.parts.len() {
                let Stage::Submitted { id, found, key, .. } = self.part(at)?.stage.clone() else { continue };
                if self.part(at)?.taken {
                    continue;
                }
                // One that was found may be somebody else's.
                if given_up && !found && !self.part(at)?.given_up {
                    match self.batches.cancel(&id).await {
                        // Tried again. A rejection means that the batch is over already: all of it was answered.
                        Err(failure) if failure.kind != FailureKind::Rejected => {}
                        Ok(()) | Err(_) => self.part_mut(at)?.given_up = true,
                    }
                }
                match self.batches.poll(&id).await {
                    Ok(BatchState::Ended) => self.take(at, &id, found).await?,
                    Ok(BatchState::Gone) => {
                        let ours = self.batches.key_mark().await;
                        if !self.is_past() && key.zip(ours).is_some_and(|(key, ours)| key != ours) {
                            let why = "the batch was handed in with another key; its answers wait until that is back";
                            return Err(Halt::End(End::OneByOne(why.to_owned())));
                        }
                        self.miss(at, &id, found).await?;
                    }
                    Ok(BatchState::OutOfReach) if given_up || self.is_past() => self.lose(at, LOST).await?,
                    Ok(BatchState::OutOfReach) => tracing::debug!("something else answers in the provider's place"),
                    Ok(BatchState::InProgress) => {}
                    // It is asked about again; `status` tells what is wrong with the provider.
                    Err(failure) => tracing::debug!(kind = ?failure.kind, "a batch could not be asked about"),
                }
            }
            if self.is_done() || self.open().is_some() {
                return Ok(());
            }
            pause(&mut self.control, wait).await?;
            wait = longer(wait);
        }
    }

    /// Whether the provider has thrown away whatever was answered.
    fn is_past(&self) -> bool {
        now_s() - self.state.began > KEPT
    }

    async fn items(&self, at: usize) -> Result<Vec<Item>, Halt> {
        let (files, part, lock) = (self.files.clone(), self.part(at)?.clone(), self.lock.clone());
        let read = machine::blocking(move || {
            let items = files.read(&part);
            drop(lock);
            items
        });
        match read.await.map_err(|_| Halt::Store("reading a batch's questions failed".to_owned()))? {
            // They go when everything has been taken, so there is nothing left to do.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            items => Ok(items?),
        }
    }

    /// Reads the answers to a part that has ended, and keeps what is of use.
    async fn take(&mut self, at: usize, id: &str, found: bool) -> Result<(), Halt> {
        let mut requests = Vec::new();
        let mut items = HashMap::new();
        for item in self.items(at).await? {
            requests.push((item.id.clone(), item.prompt.clone()));
            items.insert(item.id.clone(), item);
        }
        let results = match self.batches.results(id, &requests).await {
            Ok(results) => results,
            Err(failure) if failure.kind == FailureKind::Rejected => return self.miss(at, id, found).await,
            // The next poll tries again.
            Err(_) => return Ok(()),
        };
        drop(requests);
        if found && !results.iter().any(|(id, _)| items.contains_key(id)) {
            // It is somebody else's batch of the same size: ours may be another, or never have arrived.
            return self.look_on(at, id, false);
        }
        let (author, store, tell, lock) =
            (self.author.clone(), self.store.clone(), self.tell.clone(), self.lock.clone());
        let judged = machine::blocking(move || {
            let store = store.upgrade().ok_or(Halt::Gone)?;
            let judged = judge::keep(&author, &store, items, results, &*tell);
            drop(lock);
            judged
        });
        let (used, unanswered) = judged.await.map_err(|_| Halt::Store("judging a batch failed".to_owned()))??;
        self.used.extend(used);
        self.unanswered += unanswered;
        self.part_mut(at)?.taken = true;
        Ok(())
    }

    /// A batch is gone. One that was found may have been somebody else's, and ours may still be there.
    async fn miss(&mut self, at: usize, id: &str, found: bool) -> Result<(), Halt> {
        if found && !self.is_past() { self.look_on(at, id, true) } else { self.lose(at, LOST).await }
    }

    /// The batch that was found in a part's place is not it, or is gone: another may be it.
    fn look_on(&mut self, at: usize, id: &str, gone: bool) -> Result<(), Halt> {
        let part = self.part_mut(at)?;
        part.gone |= gone;
        let mut not = match &mut part.stage {
            Stage::Submitted { not, .. } => std::mem::take(not),
            Stage::Open | Stage::Submitting { .. } | Stage::Skipped => Vec::new(),
        };
        not.push(id.to_owned());
        self.set(at, Stage::Submitting { at: self.state.began, not })
    }

    /// A part has no answers any more. Nobody knows whether the provider charged for it, so the estimate counts.
    async fn lose(&mut self, at: usize, why: &'static str) -> Result<(), Halt> {
        tracing::warn!("{why}; its notes are asked about one by one");
        self.lost = Some(why);
        for item in self.items(at).await? {
            self.used.push((item.path.to_string(), judge::unknown(&self.author, &item.prompt)));
        }
        self.part_mut(at)?.taken = true;
        Ok(())
    }

    /// Settles the cost in the ledger and removes the files.
    fn forget(&mut self) -> Result<(), Halt> {
        // None if a former process was killed after it had settled.
        if let Some(reservation) = self.reservation.take() {
            reservation.settle_parts(&std::mem::take(&mut self.used));
        }
        Ok(self.files.remove()?)
    }
}
