//! The two edits of `situated try`: a sentence in a body, and a heading with another name. They apply to whatever
//! passages the questions found, so the sample vault can change without changing them.

use std::fs;
use std::path::Path;

use super::exit;
use super::print::{bold, printable};
use super::session::CliFailure;
use protocol::hit::Hit;

/// The sentence that is written into a body; none of its words occurs in the sample vault.
const SENTENCE: &str = "The harmonium in the attic is to be tuned before the solstice concert.";
const SENTENCE_QUERY: &str = "when is the harmonium tuned";

/// What a heading is renamed to.
const HEADING: &str = "Quincunx orchard";

/// A change to a note of the copy, and the query that must find it.
pub(super) struct Edit {
    /// What is done, for a person.
    pub what: String,
    /// The note.
    pub path: String,
    /// Its new text.
    pub text: String,
    /// The query that must find it.
    pub query: String,
}

/// Adds a sentence to the passage that the first question found.
pub(super) fn edit_body(hits: &[Hit], vault: &Path) -> Result<Edit, CliFailure> {
    let hit = hits.first().ok_or_else(|| CliFailure::new(exit::INTERNAL, "there is no passage to edit"))?;
    let text = fs::read_to_string(vault.join(&hit.path))?;
    Ok(Edit {
        what: format!("Add a sentence to {}", bold(printable(&hit.path))),
        path: hit.path.clone(),
        text: with_sentence(&text, hit.end_line as usize),
        query: SENTENCE_QUERY.to_owned(),
    })
}

/// The text with the sentence as a separate paragraph after that line (from 1).
fn with_sentence(text: &str, line: usize) -> String {
    let at = text.split_inclusive('\n').take(line).map(str::len).sum();
    let (before, after) = text.split_at(at);
    let before = before.trim_end_matches('\n');
    let gap = if after.is_empty() { "" } else { "\n" };
    format!("{before}\n\n{SENTENCE}\n{gap}{}", after.trim_start_matches('\n'))
}

/// Renames the heading of a passage that was found, preferably one deep in its note.
pub(super) fn rename_heading(hits: &[Hit], vault: &Path) -> Result<Edit, CliFailure> {
    let mut candidates: Vec<&Hit> = hits.iter().skip(1).collect();
    candidates.sort_by_key(|hit| std::cmp::Reverse(hit.heading_path.len()));
    for hit in candidates {
        let text = fs::read_to_string(vault.join(&hit.path))?;
        if let Some(heading) = hit.heading_path.last()
            && let Some(renamed) = with_heading(&text, heading)
        {
            let what = format!("Rename the heading {} in {}", bold(printable(heading)), bold(printable(&hit.path)));
            return Ok(Edit { what, path: hit.path.clone(), text: renamed, query: HEADING.to_owned() });
        }
    }
    Err(CliFailure::new(exit::INTERNAL, "no passage that was found stands under a heading"))
}

/// The text with that ATX heading renamed; `None` if no line is that heading.
fn with_heading(text: &str, heading: &str) -> Option<String> {
    let mut found = false;
    let lines = text.split_inclusive('\n').map(|line| {
        let marks = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_it = !found && (1..=6).contains(&marks) && line[marks..].trim() == heading;
        if is_it {
            found = true;
            let end = if line.ends_with('\n') { "\n" } else { "" };
            format!("{} {HEADING}{end}", &line[..marks])
        } else {
            line.to_owned()
        }
    });
    let renamed: String = lines.collect();
    found.then_some(renamed)
}

#[cfg(test)]
mod tests;
