//! One pass over reStructuredText
//! (<https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html>): section titles and blocks of text. The text
//! stays as it is, so its lines are those of the file.

use std::ops::Range;

use super::markdown::Pass;
use super::marks::unmarked;
use super::plain::lines;
use super::{Block, BlockKind, Heading, outline};

/// The deepest level of a section.
const DEEPEST: usize = 6;

/// How a title is adorned: the character, and whether it has a line above, too. The order of first use is the level.
type Adornment = (char, bool);

/// Reads the text from `start` on.
pub(super) fn pass(text: &str, start: usize) -> Pass {
    let lines: Vec<Range<usize>> = lines(text, start).collect();
    let line = |n: usize| lines.get(n).map_or("", |span| text[span.clone()].trim_end());
    let mut pass = Pass::default();
    let mut levels: Vec<Adornment> = Vec::new();
    let mut open: Option<usize> = None;
    let mut n = 0;
    while n < lines.len() {
        let title = title(line(n), line(n + 1), line(n + 2));
        if let Some((adornment, length)) = title {
            close(&mut pass, &mut open, lines[n].start);
            let shown = if adornment.1 { line(n + 1) } else { line(n) };
            let level = levels.iter().position(|seen| *seen == adornment).unwrap_or_else(|| {
                levels.push(adornment);
                levels.len() - 1
            });
            let span = lines[n].start..lines[n + length - 1].end;
            let level = (level + 1).min(DEEPEST) as u8;
            let heading = Heading { level, text: outline::heading_text(&words(shown.trim())), span: span.clone() };
            pass.headings.push((heading, pass.blocks.len()));
            pass.blocks.push(Block { kind: BlockKind::Heading, span, cuts: Vec::new() });
            n += length;
            continue;
        }
        if line(n).trim().is_empty() {
            close(&mut pass, &mut open, lines[n].start);
        } else if open.is_none() {
            open = Some(lines[n].start);
        }
        if is_comment(line(n)) {
            // It goes on as long as its lines are indented; one without a first line ends at a blank line, too.
            let is_of_it = |next: &&Range<usize>| {
                let text = text[(*next).clone()].trim_end();
                text.starts_with([' ', '\t']) || text.is_empty() && line(n) != ".."
            };
            let length = 1 + lines[n + 1..].iter().take_while(is_of_it).count();
            pass.found.comments.extend_from_slice(&lines[n..n + length]);
            n += length;
            continue;
        }
        n += 1;
    }
    close(&mut pass, &mut open, text.len());
    pass
}

/// The adornment of the title that begins at the first of these lines, and how many lines it takes.
fn title(first: &str, second: &str, third: &str) -> Option<(Adornment, usize)> {
    let width = |line: &str| line.trim().chars().count();
    if let (Some(above), Some(below)) = (adornment(first), adornment(third))
        && above == below
        && !second.trim().is_empty()
        && first.chars().count() >= width(second)
    {
        return Some(((above, true), 3));
    }
    let below = adornment(second)?;
    let is_title = !first.trim().is_empty() && !first.starts_with([' ', '\t']) && adornment(first).is_none();
    (is_title && second.chars().count() >= width(first)).then_some(((below, false), 2))
}

/// The character of a line of two or more of the same punctuation marks.
fn adornment(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() > 1 && line.chars().all(|c| c == mark)).then_some(mark)
}

/// An explicit markup line that is no directive, target, footnote or substitution.
fn is_comment(line: &str) -> bool {
    let rest = line.strip_prefix(".. ").map(str::trim_start);
    line == ".." || rest.is_some_and(|rest| !rest.contains("::") && !rest.starts_with(['_', '[', '|']))
}

/// The text of a line without the marks in it.
pub(super) fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let marks = if after.starts_with('`') { "``" } else { "`" };
        let after = &after[marks.len() - 1..];
        let Some((inner, behind)) = after.split_once(marks).filter(|(inner, _)| !inner.is_empty()) else { break };
        out.push_str(&unmarked(without_role(before), &['*']));
        let text = inner.strip_suffix('>').and_then(|inner| inner.rsplit_once(" <")).map(|(text, _)| text);
        out.push_str(text.filter(|_| marks.len() == 1).unwrap_or(inner));
        rest = if marks.len() == 1 { behind.trim_start_matches('_') } else { behind };
    }
    out.push_str(&unmarked(rest, &['*']));
    out
}

/// Without the `:role:` that says what the text behind it is.
fn without_role(before: &str) -> &str {
    let role = before.strip_suffix(':').and_then(|before| before.rsplit_once(':'));
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    role.filter(|(_, name)| is_name(name)).map_or(before, |(before, _)| before)
}

fn close(pass: &mut Pass, open: &mut Option<usize>, end: usize) {
    if let Some(start) = open.take() {
        pass.blocks.push(Block { kind: BlockKind::Paragraph, span: start..end, cuts: Vec::new() });
    }
}

#[cfg(test)]
mod tests;
