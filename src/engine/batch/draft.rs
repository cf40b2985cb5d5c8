//! The first half of a batch: every context that is wanted becomes a question on the disk, note by note, and what all of
//! them may cost is reserved. Nothing has left the machine when this is done.

use std::io;

use tokio::sync::watch;

use super::Halt;
use super::file::{Draft, Files, Item, PART_BYTES, State, Wanted};
use super::{BatchJob, Control, End};
use crate::ask::Author;
use crate::context_job::prepare;
use crate::decide::NotePipeline;
use crate::interrupted::{Interrupted, budget_message};
use crate::now_s;
use context::cost;
use context::cost::Usage;
use context::plan::PendingContext;
use context::prompt::Prompt;
use note::VaultPath;
use note::fingerprint::ContextKey;
use provider::ledger::OverBudget;
use provider::spender::{Purchase, Reserved, StandingReservation};
use provider::{Account, Batches};

/// Questions on their way to the disk, and what they may cost together.
struct Sheet {
    draft: Draft,
    micro_dollars: Option<u64>,
    tokens: u64,
}

/// Writes the questions down and reserves what they may cost; `None` if there is nothing to ask.
pub(super) async fn draft(
    author: &Author,
    batches: &Batches,
    files: &Files,
    control: &mut watch::Receiver<Control>,
    account: &Account,
    job: BatchJob,
) -> Result<Option<(State, StandingReservation)>, Halt> {
    let BatchJob { pipeline, wanted, .. } = job;
    let most = (batches.most_requests() as u64, PART_BYTES.min(Batches::MOST_BYTES));
    let mut sheet = Sheet { draft: Draft::begin(files, most)?, micro_dollars: Some(0), tokens: 0 };
    for (path, pending) in wanted {
        match control.has_changed().map(|_| *control.borrow()) {
            Err(_) => return Err(Halt::Gone),
            Ok(Control::Cancel) => break,
            Ok(Control::Go | Control::Pause) => {}
        }
        let (author, batches, files, pipeline) = (author.clone(), batches.clone(), files.clone(), pipeline.clone());
        let written = machine::blocking(move || {
            write(&author, &batches, &files, &pipeline, (&path, &pending), &mut sheet)?;
            Ok::<_, io::Error>(sheet)
        });
        sheet = written.await.map_err(|_| Halt::Store("writing a batch's questions failed".to_owned()))??;
    }
    drop(pipeline);
    let parts = sheet.draft.end()?;
    if parts.is_empty() || *control.borrow() == Control::Cancel {
        files.remove()?;
        return Ok(None);
    }
    let reserved = match reserve(author, account.clone(), sheet.micro_dollars, sheet.tokens).await {
        Ok(Ok(reserved)) => reserved,
        Ok(Err(refused)) => {
            files.remove()?;
            let why = format!("{}; nothing was handed in", Interrupted::Budget(refused));
            return Err(Halt::End(End::Stopped(why)));
        }
        Err(halt) => {
            files.remove()?;
            return Err(halt);
        }
    };
    let state = State::new((author.model.provider.name(), batches.host()), &author.model.id, now_s(), parts);
    // Before this nothing can have been handed in, so a failure gives the reservation back.
    files.save(&state)?;
    Ok(Some((state, reserved.stand())))
}

/// Reserves what questions may cost, or says why the budget does not allow that.
pub(super) async fn reserve(
    author: &Author,
    account: Account,
    micro_dollars: Option<u64>,
    tokens: u64,
) -> Result<Result<Reserved, OverBudget>, Halt> {
    let (provider, model) = (author.model.provider.name(), author.model.id.as_str().into());
    let purchase = Purchase { account, provider, model, micro_dollars, tokens };
    let reserved = machine::blocking(move || purchase.account.spender.reserve(&purchase)).await;
    match reserved.map_err(|_| Halt::Gone)? {
        Err(refused @ OverBudget::Io(_)) => Err(Halt::Store(budget_message(&refused))),
        reserved => Ok(reserved),
    }
}

/// Writes the questions about a note; blocks. A note that has changed is left to be asked about alone.
fn write(
    author: &Author,
    batches: &Batches,
    files: &Files,
    pipeline: &NotePipeline,
    (path, pending): (&VaultPath, &[(ContextKey, PendingContext)]),
    sheet: &mut Sheet,
) -> io::Result<()> {
    let Ok(work) = prepare(pipeline, path, pending) else { return Ok(()) };
    let no = pipeline.store.note(path).map_err(io::Error::other)?.map(|note| note.no);
    let mut wanted: Vec<u32> = work.left.keys().copied().collect();
    wanted.sort_unstable();
    for (index, prompt) in (0..).zip(author.prompter.ask(&work.document, &wanted)) {
        // A prompt cache that lasts for so long has another price, and the batch already saves half.
        let prompt = Prompt { cache: false, ..prompt };
        let wanted = |n: &u32| {
            let (key, _) = work.left.get(n)?;
            let since = pending.iter().find(|(k, _)| k == key).map_or(0, |(_, due)| due.since);
            Some(Wanted { n: *n, key: *key, since })
        };
        let item = Item {
            id: files.id(path, index),
            path: path.clone(),
            no,
            generation: author.prompter.generation(work.document.kind.as_deref()),
            keys: prompt.wanted.iter().filter_map(wanted).collect(),
            sketches: prompt.wanted.iter().filter_map(|n| Some((*n, work.sketches.get(n)?.clone()))).collect(),
            document: work.document.clone(),
            prompt,
        };
        let upper = Usage::upper(&item.prompt);
        let micro_dollars = cost::cost(&author.model.price, &upper, true);
        sheet.micro_dollars = sheet.micro_dollars.zip(micro_dollars).map(|(sum, one)| sum.saturating_add(one));
        sheet.tokens = sheet.tokens.saturating_add(upper.input).saturating_add(upper.output);
        sheet.draft.add(&item, batches.bytes(&item.id, &item.prompt))?;
    }
    Ok(())
}
