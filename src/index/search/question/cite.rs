//! Citations: the numbers in square brackets in a model's answer, recognised while the answer is still arriving.

use std::collections::BTreeSet;

use super::NOT_IN_NOTES;

/// Characters of a group of numbers at most; what is longer is text in brackets.
const MOST_GROUP: usize = 40;

/// Numbers that a range (`[2-5]`) may stand for.
const MOST_RANGE: u32 = 20;

/// Reads an answer as it arrives: passes its text on, keeps the numbers of passages that were shown, removes all
/// others, and notices when the model says that the notes do not hold the answer.
///
/// However the answer is cut into pieces, the same text comes out. In code nothing is a citation: `a[0]` stays.
#[derive(Clone, Debug, Default)]
pub struct Citations {
    /// Passages that were shown: 1 to this.
    given: u32,
    /// Blanks that are held back: they are dropped if the group behind them is.
    blanks: String,
    /// A group that is not closed yet, with its opening bracket.
    group: String,
    code: Code,
    /// Whether a bracket was passed on as text and is not closed yet.
    dangling: bool,
    used: BTreeSet<u32>,
    dropped: usize,
    begun: bool,
    not_found: bool,
}

/// Tracks whether the text is in code.
#[derive(Clone, Copy, Debug, Default)]
struct Code {
    /// Backticks that the text ends with.
    run: usize,
    /// Backticks that opened the code that it is in.
    open: Option<usize>,
    /// Whether the text ends with a line end.
    line_end: bool,
}

impl Code {
    /// Takes the next character, and says whether it is in code.
    fn take(&mut self, c: char) -> bool {
        if c == '`' {
            self.run += 1;
            self.line_end = false;
            return true;
        }
        if self.run > 0 {
            self.open = match self.open {
                None => Some(self.run),
                Some(open) if open == self.run || (open >= 3 && self.run >= open) => None,
                open => open,
            };
            self.run = 0;
        }
        // Code within a line ends with its paragraph, closed or not.
        if c == '\n' && self.line_end && self.open.is_some_and(|open| open < 3) {
            self.open = None;
        }
        if !matches!(c, ' ' | '\t' | '\r') {
            self.line_end = c == '\n';
        }
        self.open.is_some()
    }
}

impl Citations {
    /// For an answer to a question with `given` passages.
    pub fn new(given: usize) -> Self {
        Citations { given: u32::try_from(given).unwrap_or(u32::MAX), ..Citations::default() }
    }

    /// Takes a piece of the answer; returns what can be shown by now.
    pub fn take(&mut self, piece: &str) -> String {
        let mut out = String::new();
        piece.chars().for_each(|c| self.next(c, &mut out));
        out
    }

    /// Takes the end of the answer; returns what is left to show. Blanks at the end are dropped.
    pub fn end(&mut self) -> String {
        let mut out = String::new();
        if !self.group.is_empty() {
            self.flush(&mut out);
        }
        self.blanks.clear();
        out
    }

    /// The passages that are cited, in the order of their numbers.
    pub fn cited(&self) -> Vec<usize> {
        self.used.iter().map(|n| *n as usize).collect()
    }

    /// How many numbers were removed because no such passage was shown.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Whether the notes hold an answer, as far as the model says.
    pub fn found(&self) -> bool {
        !self.not_found
    }

    fn next(&mut self, c: char, out: &mut String) {
        // What follows the marker does not come from the notes.
        if self.not_found && !self.begun {
            return;
        }
        let code = self.code.take(c);
        if !self.group.is_empty() {
            if is_close(c) {
                self.close(c, out);
                return;
            }
            if !code && is_in_group(c) && self.group.chars().count() < MOST_GROUP {
                self.group.push(c);
                return;
            }
            self.flush(out);
        }
        match c {
            c if is_open(c) && !code => self.group.push(c),
            c if c.is_whitespace() => self.blanks.push(c),
            c => {
                self.show(out);
                out.push(c);
                self.dangling &= !is_close(c);
            }
        }
    }

    /// Passes on the held-back blanks, since text follows them; those before the whole answer are dropped.
    fn show(&mut self, out: &mut String) {
        if self.begun {
            out.push_str(&self.blanks);
        }
        self.blanks.clear();
        self.begun = true;
    }

    /// Passes on what was read as text: it is no group.
    fn flush(&mut self, out: &mut String) {
        self.show(out);
        out.push_str(&self.group);
        self.dangling = !self.group.ends_with(is_close);
        self.group.clear();
    }

    /// Leaves a group out. Within another bracket an ellipsis takes its place, or else the text around it could join to
    /// a number that the model did not give: `[1[9]0]`.
    fn leave_out(&mut self, out: &mut String) {
        self.group.clear();
        if self.dangling {
            self.show(out);
            out.push('…');
        } else {
            // The blank before it goes with it, unless it ends a line.
            self.blanks.truncate(self.blanks.trim_end_matches([' ', '\t']).len());
        }
    }

    fn close(&mut self, c: char, out: &mut String) {
        let opening = self.group.chars().next().map_or(0, char::len_utf8);
        let inner = self.group[opening..].to_owned();
        if is_marker(&inner) {
            self.leave_out(out);
            // Behind an answer with citations the marker only says that something is missing.
            self.not_found |= self.used.is_empty();
            return;
        }
        let Some(numbers) = numbers(&inner) else {
            self.group.push(c);
            self.flush(out);
            return;
        };
        self.group.clear();
        let mut known: Vec<u32> = Vec::new();
        for n in numbers {
            match n.filter(|n| (1..=self.given).contains(n)) {
                Some(n) if known.contains(&n) => {}
                Some(n) => known.push(n),
                None => self.dropped += 1,
            }
        }
        if known.is_empty() {
            self.leave_out(out);
            return;
        }
        self.show(out);
        let shown: Vec<String> = known.iter().map(u32::to_string).collect();
        out.push_str(&format!("[{}]", shown.join(", ")));
        self.used.extend(known);
    }
}

/// An answer without its citations: their numbers mean nothing beside other passages.
pub fn without_citations(answer: &str) -> String {
    let mut citations = Citations::new(0);
    let mut text = citations.take(answer);
    text.push_str(&citations.end());
    text
}

/// Text in which nothing has the form of a citation, or of the words that say that there is no answer: round
/// brackets take the place of square ones.
pub(super) fn defused(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_open) {
        let opening = rest[at..].chars().next().map_or(1, char::len_utf8);
        out.push_str(&rest[..at]);
        let inside = &rest[at + opening..];
        let end = inside.char_indices().take(MOST_GROUP + 1).find(|(_, c)| !is_in_group(*c));
        match end {
            Some((end, c)) if is_close(c) && (numbers(&inside[..end]).is_some() || is_marker(&inside[..end])) => {
                out.push('(');
                out.push_str(&inside[..end]);
                out.push(')');
                rest = &inside[end + c.len_utf8()..];
            }
            _ => {
                out.push_str(&rest[at..at + opening]);
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Some models cite in brackets of East Asian typography.
fn is_open(c: char) -> bool {
    matches!(c, '[' | '【' | '［')
}

fn is_close(c: char) -> bool {
    matches!(c, ']' | '】' | '］')
}

/// What stands in a group of numbers, and in the words that say that there is no answer.
fn is_in_group(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | ',' | ';' | '-' | '–' | '^' | '†')
}

fn is_marker(inner: &str) -> bool {
    let words = |text: &str| text.split([' ', '_', '-']).filter(|w| !w.is_empty()).map(str::to_uppercase).collect();
    let (said, marker): (Vec<String>, Vec<String>) = (words(inner), words(NOT_IN_NOTES.trim_matches(['[', ']'])));
    said == marker
}

/// The numbers of a group; `None` if it is none. In the list, a number that is too large or a range that is not valid
/// is `None`.
fn numbers(inner: &str) -> Option<Vec<Option<u32>>> {
    let mut all = Vec::new();
    for part in inner.split([',', ';']) {
        // `[^1]` is how Markdown writes footnotes, `【1†source】` how some models cite.
        let part = part.trim().trim_start_matches('^').split('†').next().unwrap_or_default();
        let ends: Vec<&str> = part.split(['-', '–']).map(str::trim).collect();
        if !ends.iter().all(|end| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit())) {
            return None;
        }
        match ends[..] {
            [one] => all.push(one.parse().ok()),
            [from, to] => match (from.parse::<u32>(), to.parse::<u32>()) {
                (Ok(from), Ok(to)) if from <= to && to - from <= MOST_RANGE => all.extend((from..=to).map(Some)),
                _ => all.push(None),
            },
            _ => return None,
        }
    }
    Some(all)
}
