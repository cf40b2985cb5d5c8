//! One note: its text, and what is decided about it.

use std::borrow::Cow;
use std::time::Instant;

use super::access::{Served, not_found, read, ready, stored};
use super::resolve::{self, Named};
use super::search::include::links_of;
use super::{CallError, Handle};
use crate::decide::Task;
use crate::indexer::commit::decision;
use crate::now_s;
use index::Snapshot;
use note::chunk::seen;
use note::{FileStat, VaultPath, Warning};
use protocol::audience::Audience;
use protocol::decision::{DecidedStep, Decision};
use protocol::note::{GetRequest, NoteText};
use store::record::NoteRecord;
use vault::documents::FileText;
use vault::read::ReadError;

/// Text that `get` sends at most, in bytes.
const MOST_TEXT: usize = 4 << 20;

/// Linked notes that `get` names, of each kind.
const MOST_LINKS: usize = 200;

/// See [`Handle::get`].
pub(super) fn get(engine: &Handle, request: GetRequest) -> Result<NoteText, CallError> {
    if let Some(note) = engine.0.teams.note(&request)? {
        return Ok(note);
    }
    let named = engine.readable(request.vault.as_deref(), &request.path, request.audience)?;
    let doubt = named.doubt();
    let Named { vault, path, lines, .. } = named;
    let hides = request.audience.is_assistant();
    let served = Served::new(&vault, hides)?;
    let Served { snapshot, pipeline, hidden, .. } = &served;
    let (vaults, _) = engine.served(request.vault.as_deref())?;
    // A caller that may not see a note gets the same answer as for one that is not there.
    let unknown = || resolve::unknown(&vaults, &request.path, request.audience);
    let FileText { bytes, stat, remark } = read(&vault, &path, pipeline.max_note_bytes)?.map_err(|error| {
        if hidden.is_some() || error == ReadError::Gone {
            return unknown();
        }
        unreadable(snapshot, &path, &error)
    })?;
    let mut note = note::parse(&path, &bytes, &pipeline.rules);
    note.warnings.extend(remark.map(|message| Warning { line: 1, message }));
    let known = snapshot.note_at(&path).map(|entry| entry.tags());
    if hidden.as_ref().is_some_and(|hidden| hidden.covers_now(&note, known)) {
        return Err(unknown());
    }
    if request.line == Some(0) {
        return Err(CallError::Invalid("lines count from 1".to_owned()));
    }
    let first = request.line.or(lines.map(|(first, _)| first)).unwrap_or(1).max(1);
    // Text that a reader of the note does not see could only be meant for the machine.
    let visible = if hides { seen(&note) } else { Cow::Borrowed(note.text.as_str()) };
    // This mark says how the file is encoded, and is not part of the first line.
    let visible = visible.strip_prefix('\u{FEFF}').unwrap_or(&visible);
    let total = visible.lines().count() as u32;
    let named = lines.filter(|_| request.line.is_none()).map(|(first, last)| last - first + 1);
    let wanted = request.lines.or(named).unwrap_or(u32::MAX);
    let mut text = String::new();
    let mut sent = 0;
    for line in visible.split_inclusive('\n').skip(first as usize - 1).take(wanted as usize) {
        if text.len() + line.len() > MOST_TEXT {
            break;
        }
        text.push_str(line);
        sent += 1;
    }
    let linked = snapshot.note_at(&path).filter(|_| request.links);
    let linked = linked.map(|entry| links_of(&served, entry, MOST_LINKS));
    let (links, backlinks) = linked.unzip();
    let title = snapshot.note_at(&path).map_or_else(|| note.title.clone(), |entry| entry.title().to_owned());
    Ok(NoteText {
        vault: vault.name.clone(),
        path: path.to_string(),
        title,
        text,
        line: first,
        lines: total,
        mtime: stat.mtime_ns.div_euclid(1_000_000_000),
        truncated: first - 1 + sent < total,
        warnings: doubt
            .into_iter()
            .chain(note.warnings.iter().map(|w| format!("line {}: {}", w.line, w.message)))
            .collect(),
        links,
        backlinks,
    })
}

/// The error for a note whose file cannot be read now. Searches find one that is in the index.
fn unreadable(snapshot: &Snapshot, path: &VaultPath, error: &ReadError) -> CallError {
    match snapshot.note_at(path) {
        Some(_) => CallError::Storage(format!("`{path}` is known, but cannot be read now: {error}")),
        None => not_found("note", path.as_str(), &format!("it cannot be read: {error}")),
    }
}

/// See [`Handle::plan`].
pub(super) fn plan(
    engine: &Handle,
    vault: Option<&str>,
    path: &str,
    text: Option<&str>,
) -> Result<Decision, CallError> {
    let began = Instant::now();
    let typed = path;
    let (vaults, _) = engine.served(vault)?;
    let Named { vault, path, .. } = engine.readable(vault, typed, Audience::default())?;
    let (snapshot, pipeline) = ready(&vault)?;
    let text = match text {
        Some(text) => FileText { bytes: text.as_bytes().to_vec(), stat: FileStat::default(), remark: None },
        None => read(&vault, &path, pipeline.max_note_bytes)?.map_err(|error| match error {
            ReadError::Gone => resolve::unknown(&vaults, typed, Audience::default()),
            error => unreadable(&snapshot, &path, &error),
        })?,
    };
    let stored = stored(&pipeline, &path)?;
    let task = Task::again(path.clone());
    let decided = pipeline.decide(&task, text, stored, now_s())?;
    let record = decided.write.put.map(|(record, _)| record);
    let record = record.ok_or_else(|| CallError::Storage("a plan without a note".to_owned()))?;
    Ok(decision(&vault.name, &path, &decided.plan, &record, &decided.before, began))
}

/// See [`Handle::explain`].
pub(super) fn explain(engine: &Handle, vault: Option<&str>, path: &str) -> Result<Vec<Decision>, CallError> {
    let found = resolve::note(&engine.served(vault)?.0, path, Audience::default());
    let text = found.as_ref().map_or(path, |named| named.path.as_str());
    // A note that is gone may have been in any of them.
    let is_there =
        |named: &Named| named.vault.snapshot().is_some_and(|snapshot| snapshot.note_at(&named.path).is_some());
    let there = found.as_ref().ok().filter(|named| is_there(named)).map(|named| named.vault.name.as_str());
    let of_note = |d: &Decision| d.path == text && vault.or(there).is_none_or(|name| d.vault == name);
    let remembered = engine.0.feed.last(20, of_note);
    if !remembered.is_empty() {
        return Ok(remembered);
    }
    let Named { vault, path, .. } = found?;
    let (_, pipeline) = ready(&vault)?;
    if let Some((record, _)) = stored(&pipeline, &path)? {
        return Ok(vec![recorded(&vault.name, &record)]);
    }
    let why = resolve::left_out(&vault, &path);
    Err(not_found("note", path.as_str(), why.as_deref().unwrap_or("nothing was decided about it yet")))
}

/// What a record remembers of the last decision that changed a note.
fn recorded(vault: &str, record: &NoteRecord) -> Decision {
    let steps = record.chunks.iter().map(|chunk| DecidedStep {
        action: chunk.decided.0,
        reason: chunk.decided.1,
        chunk: chunk.id.to_string(),
        heading_path: chunk.heading_path.clone(),
        lines: chunk.lines,
        later: chunk.later,
    });
    let steps: Vec<DecidedStep> = steps.collect();
    let count = |action| steps.iter().filter(|s| s.action == action).count() as u32;
    Decision {
        vault: vault.to_owned(),
        path: record.path.to_string(),
        reason: record.decided.0,
        kept: count(context::plan::Action::Keep),
        reembedded: count(context::plan::Action::Reembed),
        regenerated: count(context::plan::Action::Regenerate),
        removed: 0,
        seq: record.seq,
        took_ms: 0.0,
        at: record.decided.1,
        steps,
    }
}
