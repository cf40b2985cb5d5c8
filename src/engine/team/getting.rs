//! A team's note, put together from its points: nobody needs a copy of the file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Team, failed};
use crate::handle::CallError;
use ::team::point::Payload;
use protocol::note::{GetRequest, NoteText};

/// How long a request waits for a note at least: somebody asked for this very note.
const WITHIN: Duration = Duration::from_secs(5);

/// The most bytes of a note: what damaged points say of their lines fills no memory.
const MOST: usize = 16 << 20;

/// The most bytes of an answer.
const MOST_TEXT: usize = 4 << 20;

/// The lines of a team's note; `None` if the request names no team's vault.
pub(super) fn get(teams: &BTreeMap<String, Arc<Team>>, request: &GetRequest) -> Result<Option<NoteText>, CallError> {
    let Some((vault, path)) = named(request) else { return Ok(None) };
    let Some((team, vault)) = vault.split_once('/') else { return Ok(None) };
    let Some(team) = teams.get(team).cloned() else { return Ok(None) };
    let reader = team.reader.clone().ok_or_else(|| CallError::NotFound {
        what: "vault",
        name: format!("{}/{vault}", team.name),
        hint: "it is not searched from here".to_owned(),
    })?;
    let within = WITHIN.max(team.config.timeout);
    let Some(chunks) = team.urgent.block_on(reader.note(vault, path, within)).map_err(failed)? else {
        let hint = format!("`situated team status {}` names the team's vaults", team.name);
        return Err(CallError::NotFound { what: "vault", name: format!("{}/{vault}", team.name), hint });
    };
    let Some(first) = chunks.first() else {
        let hint = format!("give its path in `{vault}` as a search shows it");
        return Err(CallError::NotFound { what: "note", name: path.to_owned(), hint });
    };
    let whole = whole(&chunks)
        .ok_or_else(|| CallError::Provider(format!("by its points, `{path}` has more than {} MiB", MOST >> 20)))?;
    let lines = whole.lines().count();
    let begin = request.line.unwrap_or(1).max(1) as usize;
    let most = request.lines.unwrap_or(u32::MAX) as usize;
    let (mut text, mut end) = (String::new(), begin - 1);
    for line in whole.lines().skip(begin - 1).take(most) {
        if text.len() + line.len() > MOST_TEXT {
            break;
        }
        text.extend([line, "\n"]);
        end += 1;
    }
    Ok(Some(NoteText {
        vault: format!("{}/{vault}", team.name),
        path: first.path.clone(),
        title: first.title.clone(),
        text,
        line: begin as u32,
        lines: lines as u32,
        mtime: first.mtime,
        truncated: end < lines,
        warnings: Vec::new(),
        links: None,
        backlinks: None,
    }))
}

/// The vault and the note that a request names, also as hits are shown: `TEAM/VAULT: NOTE`.
fn named(request: &GetRequest) -> Option<(&str, &str)> {
    match &request.vault {
        Some(vault) => Some((vault, &request.path)),
        None => shown(&request.path),
    }
}

/// The vault and the note of `VAULT: NOTE`.
pub(super) fn shown(typed: &str) -> Option<(&str, &str)> {
    typed.split_once(':').map(|(vault, path)| (vault, path.trim_start()))
}

/// A note from its chunks, each at its line; lines that no chunk has (front matter, comments) are empty. A chunk may begin
/// within the line that the one before ends in, and may repeat the end of its text. `None` if that is over [`MOST`].
fn whole(chunks: &[Payload]) -> Option<String> {
    let mut whole = String::new();
    let (mut line, mut end) = (1, None);
    for Payload { lines, span, text, .. } in chunks {
        // Where a comment is left out, less is repeated than the spans share. Points of earlier versions have no spans.
        let shared = span.zip(end).map(|((start, _), end): (_, u32)| end.saturating_sub(start) as usize);
        let most = shared.unwrap_or(text.len()).min(text.len()).min(whole.len());
        let repeated = repeated(&whole.as_bytes()[whole.len() - most..], &text.as_bytes()[..most]);
        if repeated == 0 {
            let between = if lines.0 > line { "\n" } else { " " };
            let is_apart = span.zip(end).is_none_or(|((start, _), end)| start > end) && !whole.is_empty();
            let times = if lines.0 > line { lines.0 - line } else { u32::from(is_apart) };
            if whole.len() + times as usize > MOST {
                return None;
            }
            whole.extend(std::iter::repeat_n(between, times as usize));
        }
        if whole.len() + text.len() > MOST {
            return None;
        }
        whole.push_str(&text[repeated..]);
        (line, end) = (lines.1.max(line), span.map(|(_, end)| end));
    }
    Some(whole)
}

/// The length of the longest beginning of `text` that `before` ends with (Knuth, Morris and Pratt).
fn repeated(before: &[u8], text: &[u8]) -> usize {
    let longer = |borders: &[usize], mut length: usize, byte: &u8| {
        while length > 0 && text.get(length) != Some(byte) {
            length = borders[length - 1];
        }
        length + usize::from(text.get(length) == Some(byte))
    };
    let mut borders = vec![0; text.len()];
    for at in 1..text.len() {
        borders[at] = longer(&borders, borders[at - 1], &text[at]);
    }
    before.iter().fold(0, |length, byte| longer(&borders, length, byte))
}

#[cfg(test)]
mod tests;
