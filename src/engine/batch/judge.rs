//! Judges a batch's answers: each as one that was asked for alone, by what was written down when it was asked, whatever
//! has become of the note since.

use std::collections::{HashMap, HashSet};

use super::Halt;
use super::file::{Item, Wanted};
use super::{BatchEvent, Tell};
use crate::ask::{Author, Stopped};
use crate::context_job::ContextEvent;
use crate::late;
use context::cost;
use context::cost::Usage;
use context::plan::Reason;
use context::prompt::Prompt;
use note::fingerprint::{ContextKey, context_key};
use provider::ledger::Settled;
use provider::{Completion, Failure, FailureKind};
use store::{Store, StoreError};

/// Judges answers, keeps what is of use in the journal, and tells of it; blocks. What a former process kept is not
/// kept again. Returns what was used, by note, and how many questions may be asked again in the same words.
pub(super) fn keep(
    author: &Author,
    store: &Store,
    mut items: HashMap<String, Item>,
    results: Vec<(String, Result<Completion, Failure>)>,
    tell: &Tell,
) -> Result<(Vec<(String, Settled)>, usize), Halt> {
    let (mut used, mut unanswered) = (Vec::with_capacity(items.len()), 0);
    follow(store, &mut items)?;
    for (id, result) in results {
        let Some(item) = items.remove(&id) else { continue };
        match result {
            Ok(completion) => {
                let contexts = answered(author, store, &item, &completion, tell)?;
                let usage = completion.usage;
                let micro_dollars = cost::cost(&author.model.price, &usage, true);
                used.push((item.path.to_string(), Settled { usage, micro_dollars, contexts, failed: contexts == 0 }));
            }
            Err(failure) => {
                author.outcomes.failed(failure.kind);
                // The fault is this question's and not the provider's: it is not asked in the same words again.
                if matches!(failure.kind, FailureKind::Rejected | FailureKind::TooLong) {
                    for wanted in &item.keys {
                        tried(store, &item, wanted, tell)?;
                    }
                } else {
                    unanswered += 1;
                }
            }
        }
    }
    // Questions whose answers are missing or could not be read.
    unanswered += items.len();
    used.extend(items.into_values().map(|item| (item.path.to_string(), unknown(author, &item.prompt))));
    Ok((used, unanswered))
}

/// Has the questions name their notes by where these are now: another note may have the place of one that has moved. A
/// number alone tells nothing, for a store that was built anew gives others.
fn follow(store: &Store, items: &mut HashMap<String, Item>) -> Result<(), StoreError> {
    let mut moved: HashMap<u32, Vec<&mut Item>> = HashMap::new();
    for item in items.values_mut() {
        let here = store.note(&item.path)?.map(|note| note.no);
        if let Some(no) = item.no.filter(|no| here != Some(*no)) {
            moved.entry(no).or_default().push(item);
        }
    }
    let notes = if moved.is_empty() { Vec::new() } else { store.notes()? };
    for note in notes {
        let Some(items) = moved.remove(&note.no) else { continue };
        let keys: HashSet<ContextKey> = note.chunks.iter().map(|chunk| context_key(&chunk.keys, chunk.hash)).collect();
        let its = items.into_iter().filter(|item| item.keys.iter().any(|wanted| keys.contains(&wanted.key)));
        its.for_each(|item| item.path.clone_from(&note.path));
    }
    Ok(())
}

/// The most that a question may have taken, because nobody knows whether the provider charged for it.
pub(super) fn unknown(author: &Author, prompt: &Prompt) -> Settled {
    let usage = Usage::upper(prompt);
    Settled { usage, micro_dollars: cost::cost(&author.model.price, &usage, true), contexts: 0, failed: true }
}

/// Keeps the contexts of an answer; returns how many.
fn answered(
    author: &Author,
    store: &Store,
    item: &Item,
    completion: &Completion,
    tell: &Tell,
) -> Result<u32, StoreError> {
    let sketches = item.sketches.iter().cloned().collect();
    let mut contexts = 0;
    for (n, outcome) in author.read(&item.document, &sketches, &item.prompt, completion, true) {
        let Some(wanted) = item.keys.iter().find(|wanted| wanted.n == n) else { continue };
        match outcome {
            Ok(mut record) => {
                contexts += 1;
                record.generation.clone_from(&item.generation);
                // Never older than the request that it answers, whatever the clock says.
                record.written_at = record.written_at.max(wanted.since);
                let kept = store.archived_of_note(&item.path, wanted.key, &item.generation)?;
                match kept.filter(|kept| kept.written_at >= wanted.since && kept.text == record.text) {
                    // A former process kept it, and what follows from it is dated as it was then.
                    Some(kept) => record = kept,
                    // In the journal before anybody hears of it.
                    None => store.keep_context_of(&item.path, &item.document.tags, wanted.key, &record)?,
                }
                if item.no.is_some() && item.no == store.note(&item.path)?.map(|note| note.no) {
                    late::keep(store, &item.path, &item.document, wanted.key, &record)?;
                }
                tell(BatchEvent::Note(item.path.clone(), ContextEvent::Written));
            }
            Err(Stopped::Flaw(_)) => tried(store, item, wanted, tell)?,
            Err(Stopped::Refused) => {}
        }
    }
    Ok(contexts)
}

/// Tells that an answer was of no use, unless a former process did.
fn tried(store: &Store, item: &Item, wanted: &Wanted, tell: &Tell) -> Result<(), StoreError> {
    let Some(record) = store.note(&item.path)? else { return Ok(()) };
    let untried = record.chunks.iter().filter(|chunk| context_key(&chunk.keys, chunk.hash) == wanted.key);
    if untried.filter_map(|chunk| chunk.due).any(|due| due.reason == Reason::Rebuild && due.tries == 0) {
        tell(BatchEvent::Note(item.path.clone(), ContextEvent::Tried(wanted.key)));
    }
    Ok(())
}
