//! Exact search: which lines of a text match a regular expression, and which texts cannot.
//!
//! Two steps. A [`Signature`] of each text says in nanoseconds which trigrams it may hold; a [`Pattern`] knows which
//! ones its matches need ([`needs`]), so that most texts are never read. The rest is searched line by line by the
//! crates that ripgrep is made of, so that patterns, lines and word boundaries mean what its users expect.

mod line;
mod needs;
mod signature;

use std::ops::Range;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use thiserror::Error;

use self::line::Lines;
pub use self::line::{Context, Matched};
use self::needs::Needs;
pub use self::signature::Signature;

/// Bytes of a pattern at most.
pub const MAX_PATTERN: usize = 4096;

/// Most bytes of a compiled pattern, and of the caches of its automata. ripgrep's limits are ten times as large, but a
/// daemon may hold several patterns at once.
const COMPILED: usize = 10 << 20;

/// Bytes of text that are searched between two calls of `go_on`.
const PIECE: usize = 64 << 10;

/// Whether capitals matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// Only if the pattern has one.
    #[default]
    Smart,
    /// They do.
    Sensitive,
    /// They do not.
    Insensitive,
}

/// How a pattern is read, and what is kept of what it finds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Whether capitals matter.
    pub case: Case,
    /// Whether the pattern is a literal text and not a regular expression.
    pub fixed: bool,
    /// Whether only whole words match.
    pub word: bool,
    /// Lines before and after a match.
    pub context: Context,
}

/// Why a pattern cannot be searched for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// There is nothing to search for.
    #[error("the pattern is empty")]
    Empty,
    /// It is too long; its length in bytes.
    #[error("the pattern has {0} bytes; {MAX_PATTERN} is the most")]
    TooLong(usize),
    /// It is no regular expression, and what is wrong with it.
    #[error("{0}")]
    Wrong(String),
}

/// Why a search ended before the text did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// `go_on` said so.
    Stopped,
    /// A line is longer than may be held in memory.
    LongLine,
}

/// A regular expression that lines are searched for.
#[derive(Clone, Debug)]
pub struct Pattern {
    matcher: RegexMatcher,
    needs: Needs,
    context: Context,
}

impl Pattern {
    /// Parses and compiles a pattern.
    ///
    /// # Errors
    /// It is empty, too long, no regular expression, one that only a line end could match, or one that takes too much
    /// memory.
    pub fn new(pattern: &str, rules: Rules) -> Result<Self, PatternError> {
        // A literal text of several lines is found where any of them is, as `grep -F` has it.
        let lines = if rules.fixed { pattern.lines().filter(|line| !line.is_empty()).collect() } else { vec![pattern] };
        if lines.iter().all(|line| line.is_empty()) {
            return Err(PatternError::Empty);
        }
        if pattern.len() > MAX_PATTERN {
            return Err(PatternError::TooLong(pattern.len()));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_smart(rules.case == Case::Smart)
            .case_insensitive(rules.case == Case::Insensitive)
            .fixed_strings(rules.fixed)
            .word(rules.word)
            // `^` and `$` are those of a line.
            .multi_line(true)
            // A line may also end with a carriage return, which is not part of it.
            .crlf(true)
            .size_limit(COMPILED)
            .dfa_size_limit(COMPILED);
        let matcher = builder.build_many(&lines).map_err(|error| PatternError::Wrong(wrong(&error)))?;
        let needs = if rules.fixed { Needs::of_text(pattern) } else { Needs::of_pattern(pattern) };
        Ok(Pattern { matcher, needs, context: rules.context })
    }

    /// Whether a text with this signature may hold a match; `false` is certain.
    pub fn may_match(&self, signature: &Signature) -> bool {
        self.needs.are_met_by(signature)
    }

    /// Tells of many texts, one after the other, whether a line of them matches.
    pub fn finder(&self) -> Finder<'_> {
        Finder { pattern: self, searcher: self.searcher() }
    }

    /// The byte ranges of `text` that match, line by line: at most `most`, without empty matches.
    pub fn ranges(&self, text: &str, most: usize) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let ranges = line::matches(&self.matcher, line::without_end(line), most - found.len());
            found.extend(ranges.into_iter().map(|at| start + at.start..start + at.end));
            if found.len() >= most {
                break;
            }
            start += line.len();
        }
        found
    }

    /// Gives the matching lines of `text` to `on_line`, in order, until that returns `false`. `go_on` is asked between
    /// pieces of a long text.
    ///
    /// # Errors
    /// The text was not searched to its end.
    pub fn search(
        &self,
        text: &str,
        go_on: &dyn Fn() -> bool,
        on_line: &mut dyn FnMut(Matched) -> bool,
    ) -> Result<(), Ended> {
        let mut lines = Lines::new(&self.matcher, on_line);
        let mut searcher = self.searcher();
        let found = if text.len() <= PIECE {
            searcher.search_slice(&self.matcher, text.as_bytes(), &mut lines)
        } else {
            searcher.search_reader(&self.matcher, line::Pieces::new(text, go_on), &mut lines)
        };
        lines.finish();
        found.map_err(|error| match error.kind() {
            std::io::ErrorKind::Interrupted | std::io::ErrorKind::TimedOut => Ended::Stopped,
            _ => Ended::LongLine,
        })
    }

    fn searcher(&self) -> Searcher {
        let Context { before, after } = self.context;
        let mut builder = SearcherBuilder::new();
        builder
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(before)
            .after_context(after)
            // A text with a NUL is a note all the same.
            .binary_detection(BinaryDetection::none())
            .heap_limit(Some(MOST_LINE));
        builder.build()
    }
}

/// Looks through many texts, one after the other.
pub struct Finder<'a> {
    pattern: &'a Pattern,
    searcher: Searcher,
}

impl Finder<'_> {
    /// Whether a line of `text` matches; a text with a line that is too long to be searched does not.
    pub fn is_in(&mut self, text: &str) -> bool {
        let mut first = line::First::default();
        self.searcher.search_slice(&self.pattern.matcher, text.as_bytes(), &mut first).is_ok() && first.is_there
    }
}

/// Bytes of a line at most, in texts that are searched in pieces.
const MOST_LINE: usize = 64 << 20;

/// What is wrong with a pattern, without the pattern itself, which may be long.
fn wrong(error: &grep_regex::Error) -> String {
    let said = error.to_string();
    let last = said.lines().rev().find_map(|line| line.trim().strip_prefix("error: ")).unwrap_or(&said);
    last.trim().to_owned()
}

#[cfg(test)]
mod tests;
