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

/// The lines of a team's note; `None` if the request names no team's vault.
pub(super) fn get(teams: &BTreeMap<String, Arc<Team>>, request: &GetRequest) -> Result<Option<NoteText>, CallError> {
    let Some((team, vault)) = request.vault.as_deref().and_then(|name| name.split_once('/')) else {
        return Ok(None);
    };
    let Some(team) = teams.get(team).cloned() else { return Ok(None) };
    let reader = team.reader.clone().ok_or_else(|| CallError::NotFound {
        what: "vault",
        name: format!("{}/{vault}", team.name),
        hint: "it is not searched from here".to_owned(),
    })?;
    let within = WITHIN.max(team.config.timeout);
    let chunks = team.urgent.block_on(reader.note(vault, &request.path, within)).map_err(failed)?;
    let Some(first) = chunks.first() else {
        let hint = format!("give its path in `{vault}` as a search shows it");
        return Err(CallError::NotFound { what: "note", name: request.path.clone(), hint });
    };
    let lines = lines(&chunks);
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

/// The lines of a note from its chunks, each at its place; lines that no chunk has (front matter, comments) are empty.
fn lines(chunks: &[Payload]) -> Vec<&str> {
    let last = chunks.iter().map(|chunk| chunk.lines.1).max().unwrap_or(0) as usize;
    let mut lines = vec![""; last];
    for chunk in chunks {
        let places = lines.iter_mut().skip((chunk.lines.0 as usize).saturating_sub(1));
        for (place, line) in places.zip(chunk.text.lines()) {
            // A chunk may begin or end within a line that another one has whole.
            if line.len() > place.len() {
                *place = line;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests;
