//! One note: its text, and what is decided about it.

use std::borrow::Cow;
use std::time::Instant;

use super::{CallError, HINT, Handle, MOST_TEXT, hidden, not_found, read, ready, recorded, stored, visible};
use crate::decide::Task;
use crate::indexer::commit::decision;
use crate::now_s;
use note::FileStat;
use protocol::decision::Decision;
use protocol::note::{GetRequest, NoteText};

/// See [`Handle::get`].
pub(super) fn get(engine: &Handle, request: GetRequest) -> Result<NoteText, CallError> {
    let (vault, path) = engine.find_readable(request.vault.as_deref(), &request.path)?;
    let (snapshot, pipeline) = ready(&vault)?;
    let hidden = hidden(&pipeline, request.audience);
    let (bytes, seen) = read(&vault, &path, pipeline.max_note_bytes)?.map_err(|error| {
        // A caller that may not see a note gets the same answer as for one that is not there.
        let why = if hidden.is_some() { HINT.to_owned() } else { format!("it cannot be read: {error}") };
        not_found("note", path.as_str(), &why)
    })?;
    let note = note::parse(&path, &bytes, &pipeline.rules);
    let known = snapshot.note_at(&path).map(|entry| entry.tags.as_slice());
    if hidden.is_some_and(|hidden| hidden.covers_now(&note, known)) {
        return Err(not_found("note", path.as_str(), HINT));
    }
    let first = request.line.unwrap_or(1).max(1);
    // What a reader of the note does not see could only be meant for the machine.
    let visible = if request.audience.is_assistant() { visible(&note) } else { Cow::Borrowed(note.text.as_str()) };
    let total = visible.lines().count() as u32;
    let wanted = request.lines.unwrap_or(u32::MAX);
    let mut text = String::new();
    let mut sent = 0;
    for line in visible.split_inclusive('\n').skip(first as usize - 1).take(wanted as usize) {
        if text.len() + line.len() > MOST_TEXT {
            break;
        }
        text.push_str(line);
        sent += 1;
    }
    let title = snapshot.note_at(&path).map_or_else(|| note.title.clone(), |entry| entry.title.clone());
    Ok(NoteText {
        vault: vault.name.clone(),
        path: path.to_string(),
        title,
        text,
        line: first,
        lines: total,
        mtime: seen.mtime_ns.div_euclid(1_000_000_000),
        truncated: first - 1 + sent < total,
        warnings: note.warnings.iter().map(|w| format!("line {}: {}", w.line, w.message)).collect(),
    })
}

/// See [`Handle::plan`].
pub(super) fn plan(
    engine: &Handle,
    vault: Option<&str>,
    path: &str,
    text: Option<&str>,
) -> Result<Decision, CallError> {
    let began = Instant::now();
    let (vault, path) = engine.find_readable(vault, path)?;
    let (_, pipeline) = ready(&vault)?;
    let (bytes, seen) = match text {
        Some(text) => (text.as_bytes().to_vec(), FileStat::default()),
        None => read(&vault, &path, pipeline.max_note_bytes)?
            .map_err(|error| not_found("note", path.as_str(), &format!("it cannot be read: {error}")))?,
    };
    let stored = stored(&pipeline, &path)?;
    let task = Task::again(path.clone());
    let decided =
        pipeline.decide(&task, &bytes, seen, stored, now_s()).map_err(|e| CallError::Storage(e.to_string()))?;
    let record = decided.write.put.map(|(record, _)| record);
    let record = record.ok_or_else(|| CallError::Storage("a plan without a note".to_owned()))?;
    Ok(decision(&vault.name, &path, &decided.plan, &record, &decided.before, began))
}

/// See [`Handle::explain`].
pub(super) fn explain(engine: &Handle, vault: Option<&str>, path: &str) -> Result<Vec<Decision>, CallError> {
    let found = engine.find_note(vault, path);
    let text = found.as_ref().map_or(path, |(_, path)| path.as_str());
    let of_note = |d: &Decision| d.path == text && vault.is_none_or(|name| d.vault == name);
    let remembered = engine.0.feed.last(20, of_note);
    if !remembered.is_empty() {
        return Ok(remembered);
    }
    let (vault, path) = found?;
    let (_, pipeline) = ready(&vault)?;
    match stored(&pipeline, &path)? {
        Some((record, _)) => Ok(vec![recorded(&vault.name, &record)]),
        None => Err(not_found("note", path.as_str(), "nothing was decided about it yet")),
    }
}
