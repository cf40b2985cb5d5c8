//! Lines that match a pattern.

use std::fmt::Write as _;

use super::{ToolResult, vault};
use crate::mcp::caller::Caller;
use crate::mcp::daemon::Trouble;
use crate::mcp::{clean, params, show, size};
use protocol::grep::{GrepLine, GrepRequest};

/// The usual limit of lines, and the highest.
const USUAL: usize = 50;
const MOST: usize = 1000;

/// The most characters of a result: many lines of a kind say little more than a few do.
const ROOM: usize = 12_000;

/// `grep_notes`, as text alone.
pub(in crate::mcp) async fn lines(asked: params::Grep, caller: &Caller) -> Result<ToolResult, Trouble> {
    let params::Grep { pattern, fixed, within, context, vault: of, limit } = asked;
    let limit = limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(Trouble::invalid(format!("`limit` is {limit}: it may be 1 to {MOST}")));
    }
    let asked = GrepRequest {
        pattern,
        fixed,
        within,
        before: context,
        after: context,
        vault: vault(of.as_ref()),
        limit: Some(limit),
        ..GrepRequest::default()
    };
    let found = caller.call(asked).await?;
    let more = if found.truncated { ", and there are more" } else { "" };
    let about = format!("{} lines match in {} of {} notes{more}.", found.lines, found.notes.len(), found.searched);
    let mut text = show::head(&about);
    let (mut shown, mut left) = (0, 0);
    for note in &found.notes {
        let mut of_note = format!("\nvault {}, {}\n", clean::name(&note.vault), clean::name(&note.path));
        note.lines.iter().for_each(|line| numbered(&mut of_note, line));
        if shown > 0 && text.chars().count() + of_note.chars().count() > ROOM {
            left += 1;
            continue;
        }
        text.push_str(&size::cut(&of_note, ROOM));
        shown += 1;
    }
    if left > 0 {
        let _ = writeln!(text, "\nLeft out: matches in {left} notes. A narrower pattern, or `within`, shows them.");
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
