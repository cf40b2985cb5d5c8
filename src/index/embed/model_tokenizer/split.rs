//! Cutting a text where an expression matches: the step `Split`, and the expression of the step `ByteLevel`.

use std::ops::Range;

use regex::Regex;
use serde::Deserialize;

/// GPT-2's expression, by which the step `ByteLevel` cuts: contractions, letters, numbers, anything else, white space.
const GPT_2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// The usual end of such expressions: a run of white space before other text leaves its last character to that text,
/// unless it has only one.
const GIVES_BACK: &str = r"|\s+(?!\S)|\s+";

/// What becomes of a match.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
pub(super) enum MatchBehavior {
    /// It is dropped.
    Removed,
    /// It is a word.
    Isolated,
    /// It is part of a word with the matches beside it.
    Contiguous,
    /// The word before it ends with it.
    MergedWithPrevious,
    /// The word after it begins with it.
    MergedWithNext,
}

/// What is looked for, as it is written in the file.
#[derive(Deserialize)]
pub(super) enum Pattern {
    /// A text.
    String(String),
    /// An expression.
    Regex(String),
}

/// An expression.
#[derive(Deserialize)]
#[serde(try_from = "Pattern")]
pub(super) struct Expression {
    regex: Regex,
    /// The group of white space that may have to give back its last character.
    gives_back: Option<usize>,
}

impl TryFrom<Pattern> for Expression {
    type Error = String;

    fn try_from(pattern: Pattern) -> Result<Self, String> {
        match pattern {
            Pattern::String(text) => Expression::compile(&regex::escape(&text), false),
            Pattern::Regex(expression) => Expression::new(&expression),
        }
    }
}

impl Expression {
    /// GPT-2's.
    pub(super) fn gpt_2() -> Result<Self, String> {
        Expression::new(GPT_2)
    }

    fn new(expression: &str) -> Result<Self, String> {
        let said = |what: &str| format!("the expression `{}` {what}", expression.escape_debug());
        let (regular, gives_back) = match expression.strip_suffix(GIVES_BACK) {
            Some(before) => (format!(r"(?:{before})|(\s+)"), true),
            None => (expression.to_owned(), false),
        };
        if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|around| regular.contains(around)) {
            return Err(said(
                r"looks around itself elsewhere than in `|\s+(?!\S)|\s+` at its end, which is not known here",
            ));
        }
        if is_possessive(&regular) {
            return Err(said("has a possessive quantifier (`++`, `*+` or `?+`), which is not known here"));
        }
        Expression::compile(&regular, gives_back)
    }

    fn compile(regular: &str, gives_back: bool) -> Result<Self, String> {
        let regex = Regex::new(regular).map_err(|error| {
            let last = error.to_string();
            let last = last.lines().last().unwrap_or_default().to_owned();
            format!("the expression `{}` does not compile: {last}", regular.escape_debug())
        })?;
        let group = regex.captures_len() - 1;
        Ok(Expression { regex, gives_back: gives_back.then_some(group) })
    }

    /// The first match from `from` on that is not empty.
    fn find(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let mut from = from;
        let found = loop {
            let found = self.regex.find_at(text, from)?;
            if !found.is_empty() {
                break found;
            }
            from = found.end() + text[found.end()..].chars().next()?.len_utf8();
        };
        let last = found.as_str().chars().next_back().filter(|c| c.is_whitespace());
        let (Some(group), Some(last)) = (self.gives_back, last) else { return Some(found.range()) };
        // A single character is kept, and so is white space at the end of the text.
        if found.len() == last.len_utf8() || found.end() == text.len() {
            return Some(found.range());
        }
        // White space that an earlier alternative matched, such as `\s*[\r\n]+`, gives nothing back: only the group
        // tells which one matched.
        let mut groups = self.regex.capture_locations();
        self.regex.captures_read_at(&mut groups, text, found.start());
        let kept = if groups.get(group).is_some() { found.end() - last.len_utf8() } else { found.end() };
        Some(found.start()..kept)
    }

    /// Gives the words of `text`, each with the place where it begins, to `out`, as long as that wants more; returns
    /// whether it does. With `invert`, the stretches that do not match count as matches.
    pub(super) fn cut(
        &self,
        text: &str,
        (behavior, invert): (MatchBehavior, bool),
        out: &mut dyn FnMut(usize, &str) -> bool,
    ) -> bool {
        // A stretch waits for the one after it, which may join it.
        let (mut held, mut held_matches) = (0..0, false);
        for (stretch, matches) in self.stretches(text) {
            let matches = matches != invert;
            let joins = match behavior {
                MatchBehavior::Removed | MatchBehavior::Isolated => false,
                MatchBehavior::Contiguous => matches == held_matches,
                MatchBehavior::MergedWithPrevious => matches && !held_matches,
                MatchBehavior::MergedWithNext => held_matches && !matches,
            };
            if joins && !held.is_empty() {
                held.end = stretch.end;
            } else {
                if !held.is_empty() && !out(held.start, &text[held]) {
                    return false;
                }
                held = if matches && behavior == MatchBehavior::Removed { 0..0 } else { stretch };
            }
            held_matches = matches;
        }
        held.is_empty() || out(held.start, &text[held])
    }

    /// The matches and the stretches between them, in order, none empty.
    fn stretches(&self, text: &str) -> impl Iterator<Item = (Range<usize>, bool)> {
        let (mut at, mut pending) = (0, None);
        std::iter::from_fn(move || {
            if let Some(found) = pending.take() {
                return Some((found, true));
            }
            if at == text.len() {
                return None;
            }
            let Range { start, end } = self.find(text, at).unwrap_or(text.len()..text.len());
            let before = at..start;
            at = end;
            if before.is_empty() {
                return Some((start..end, true));
            }
            pending = Some(start..end).filter(|found| !found.is_empty());
            Some((before, false))
        })
    }
}

/// Whether a quantifier is followed by `+`, which the crate `regex` reads as a second quantifier.
fn is_possessive(expression: &str) -> bool {
    let (mut quantified, mut class) = (false, 0);
    let mut chars = expression.chars().peekable();
    while let Some(c) = chars.next() {
        let was = std::mem::take(&mut quantified);
        match c {
            '\\' => {
                let escaped = chars.next();
                if matches!(escaped, Some('p' | 'P' | 'x' | 'u')) && chars.peek() == Some(&'{') {
                    chars.by_ref().find(|c| *c == '}');
                }
            }
            '[' => class += 1,
            ']' if class > 0 => class -= 1,
            _ if class > 0 => {}
            '+' if was => return true,
            '+' | '*' | '?' | '}' => quantified = true,
            _ => {}
        }
    }
    false
}
