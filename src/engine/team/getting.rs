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

/// The most empty lines in a row: what a damaged point says of its lines fills no memory.
const MOST_BETWEEN: usize = 1 << 20;

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
    let whole = whole(&chunks);
    let lines: Vec<&str> = whole.lines().collect();
    let begin = request.line.unwrap_or(1).max(1) as usize;
    let most = request.lines.unwrap_or(u32::MAX) as usize;
    let shown: Vec<&str> = lines.iter().skip(begin - 1).take(most).copied().collect();
    let truncated = begin - 1 + shown.len() < lines.len();
    Ok(Some(NoteText {
        vault: format!("{}/{vault}", team.name),
        path: first.path.clone(),
        title: first.title.clone(),
        text: shown.iter().flat_map(|line| [*line, "\n"]).collect(),
        line: begin as u32,
        lines: lines.len() as u32,
        mtime: first.mtime,
        truncated,
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
/// within the line that the one before ends in, and may repeat the end of its text.
fn whole(chunks: &[Payload]) -> String {
    let mut whole = String::new();
    let (mut line, mut end) = (1, None);
    for Payload { lines, span, text, .. } in chunks {
        // Where a comment is left out, less is repeated than the spans share. Points of earlier versions have no spans.
        let shared = span.zip(end).map(|((start, _), end): (_, u32)| end.saturating_sub(start) as usize);
        let most = shared.unwrap_or(text.len()).min(text.len()).min(whole.len());
        let is_repeated = |length: &usize| text.is_char_boundary(*length) && whole.ends_with(&text[..*length]);
        let repeated = (1..=most).rev().find(is_repeated).unwrap_or(0);
        if repeated == 0 {
            let between = if lines.0 > line { "\n" } else { " " };
            let is_apart = span.zip(end).is_none_or(|((start, _), end)| start > end) && !whole.is_empty();
            let times = if lines.0 > line { lines.0 - line } else { u32::from(is_apart) };
            whole.extend(std::iter::repeat_n(between, (times as usize).min(MOST_BETWEEN)));
        }
        whole.push_str(&text[repeated..]);
        (line, end) = (lines.1.max(line), span.map(|(_, end)| end));
    }
    whole
}

#[cfg(test)]
mod tests;
