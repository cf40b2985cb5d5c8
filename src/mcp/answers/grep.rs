//! Lines that match a pattern.

use std::fmt::Write as _;

use super::{ToolResult, vault};
use crate::mcp::caller::Caller;
use crate::mcp::daemon::Trouble;
use crate::mcp::{clean, params, show, size};
use protocol::grep::{GrepLine, GrepRequest, MAX_CONTEXT};

/// The usual limit of lines, and the highest.
const USUAL: usize = 50;
const MOST: usize = 1000;

/// The most characters of a result: many lines of a kind say little more than a few do.
const ROOM: usize = 12_000;

/// `grep_notes`, as text alone.
pub(in crate::mcp) async fn lines(asked: params::Grep, caller: &Caller) -> Result<ToolResult, Trouble> {
    let params::Grep { pattern, fixed, within, context, vault: of, limit } = asked;
    let (limit, within_is_empty) = (limit.unwrap_or(USUAL), within.trim().is_empty());
    if context > MAX_CONTEXT {
        return Err(Trouble::invalid(format!("`context` is {context}: it may be 0 to {MAX_CONTEXT}")));
    }
    if !(1..=MOST).contains(&limit) {
        return Err(Trouble::invalid(format!("`limit` is {limit}: it may be 1 to {MOST}")));
    }
    let asked = GrepRequest {
        pattern,
        fixed,
        within: clean::named(&within),
        before: context,
        after: context,
        vault: vault(of.as_ref()),
        limit: Some(limit),
        ..GrepRequest::default()
    };
    let found = caller.call(asked).await?;
    let least = if found.truncated { "At least " } else { "" };
    let none = if found.searched == 0 && !within_is_empty { " No note meets `within`." } else { "" };
    let lines = if found.lines == 1 { "line matches" } else { "lines match" };
    let about = format!("{least}{} {lines} in {} of {} notes.{none}", found.lines, found.notes.len(), found.searched);
    let mut text = show::head(&about);
    let (mut used, mut shown) = (text.chars().count(), 0);
    'notes: for note in &found.notes {
        let mut head = format!("\nvault {}, {}\n", clean::name(&note.vault), clean::name(&note.path));
        for line in &note.lines {
            let mut more = std::mem::take(&mut head);
            numbered(&mut more, line);
            if shown > 0 && used + more.chars().count() > ROOM {
                break 'notes;
            }
            let more = size::cut(&more, ROOM);
            used += more.chars().count();
            text.push_str(&more);
            shown += 1;
        }
    }
    let mut left = Vec::new();
    left.extend((shown < found.lines).then(|| format!("{} of these lines", found.lines - shown)));
    left.extend(found.truncated.then(|| "what matches after them".to_owned()));
    if !left.is_empty() {
        let limit = if found.truncated && limit < MOST { "A larger `limit`, a" } else { "A" };
        let _ =
            writeln!(text, "\nLeft out: {}. {limit} narrower pattern, or `within`, shows more.", left.join(", and "));
    }
    for warning in &found.warnings {
        let _ = writeln!(text, "\nNote: {}", clean::line(warning));
    }
    Ok(ToolResult { text, structured: None })
}

/// A line with those around it, as `read_note` shows lines.
fn numbered(out: &mut String, found: &GrepLine) {
    let start = found.line.saturating_sub(found.before.len() as u32);
    let lines = found.before.iter().chain([&found.text]).chain(&found.after);
    for (number, line) in (start..).zip(lines) {
        let _ = writeln!(out, "{number:>5} | {}", clean::line(line));
    }
}
