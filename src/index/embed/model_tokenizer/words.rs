//! How a tokenizer cuts a text into words, before it looks for pieces: the steps of `pre_tokenizer`.

use serde::Deserialize;
use unicode_general_category::{GeneralCategory as G, get_general_category};

use super::super::tokenizer::is_punctuation;
use super::merges::bytes_as_characters;
use super::split::{Expression, MatchBehavior};

/// A step.
#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Words {
    /// At white space, and around each mark of punctuation.
    BertPreTokenizer,
    /// Runs of letters and digits, and runs of what is neither that nor white space.
    Whitespace,
    /// At white space.
    WhitespaceSplit,
    /// Around punctuation.
    Punctuation {
        #[serde(default)]
        behavior: Behavior,
    },
    /// Around numbers, or around each digit.
    Digits {
        #[serde(default)]
        individual_digits: bool,
    },
    /// A mark takes the place of spaces, and words begin with it.
    Metaspace {
        replacement: char,
        prepend_scheme: Option<Prepend>,
        add_prefix_space: Option<bool>,
        split: Option<bool>,
    },
    /// Where an expression matches.
    Split { pattern: Expression, behavior: MatchBehavior, invert: bool },
    /// By GPT-2's expression or not at all, and each byte becomes a character.
    ByteLevel(ByteLevel),
    /// One after another.
    Sequence { pretokenizers: Vec<Words> },
}

/// What becomes of a mark at which the text is cut.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
pub(super) enum Behavior {
    /// It is dropped.
    Removed,
    /// It is a word.
    #[default]
    Isolated,
    /// It is one word with the marks beside it.
    Contiguous,
}

/// Which words begin with the mark.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Prepend {
    Always,
    /// The first of a text.
    First,
    Never,
}

/// The step `ByteLevel`, ready for use.
#[derive(Deserialize)]
#[serde(try_from = "WrittenByteLevel")]
pub(super) struct ByteLevel {
    /// A space is put before a text that does not begin with one.
    space: bool,
    expression: Option<Expression>,
}

/// The step `ByteLevel` as it is in the file.
#[derive(Deserialize)]
struct WrittenByteLevel {
    add_prefix_space: bool,
    #[serde(default = "yes")]
    use_regex: bool,
}

fn yes() -> bool {
    true
}

impl TryFrom<WrittenByteLevel> for ByteLevel {
    type Error = String;

    fn try_from(written: WrittenByteLevel) -> Result<Self, String> {
        let expression = written.use_regex.then(Expression::gpt_2).transpose()?;
        Ok(ByteLevel { space: written.add_prefix_space, expression })
    }
}

/// Takes a word, and whether the text begins with it; returns whether it wants more.
type Sink<'a> = &'a mut dyn FnMut(&str, bool) -> bool;

impl Words {
    /// Gives the words of `text` to `out`, as long as that wants more.
    pub(super) fn cut(&self, text: &str, out: &mut dyn FnMut(&str) -> bool) {
        self.each(text, true, &mut |word, _| out(word));
    }

    fn each(&self, text: &str, begins: bool, out: Sink<'_>) -> bool {
        match self {
            Words::BertPreTokenizer => runs(text, begins, bert, out),
            Words::Whitespace => {
                runs(text, begins, |c| if c.is_whitespace() { None } else { Some((word(c), false)) }, out)
            }
            Words::WhitespaceSplit => runs(text, begins, |c| (!c.is_whitespace()).then_some((false, false)), out),
            Words::Punctuation { behavior } => {
                let class = |c: char| match (punctuation(c), behavior) {
                    (false, _) => Some((false, false)),
                    (true, Behavior::Removed) => None,
                    (true, behavior) => Some((true, *behavior == Behavior::Isolated)),
                };
                runs(text, begins, class, out)
            }
            Words::Digits { individual_digits } => {
                runs(text, begins, |c| Some((c.is_numeric(), c.is_numeric() && *individual_digits)), out)
            }
            Words::Metaspace { replacement, prepend_scheme, add_prefix_space, split } => {
                let scheme = prepend_scheme.unwrap_or(Prepend::Always);
                let never = *add_prefix_space == Some(false) || scheme == Prepend::Never;
                let prepend = !never && (begins || scheme == Prepend::Always);
                metaspace(text, *replacement, prepend, split.unwrap_or(true), begins, out)
            }
            Words::Split { pattern, behavior, invert } => {
                pattern.cut(text, (*behavior, *invert), &mut |start, word| out(word, begins && start == 0))
            }
            Words::ByteLevel(step) => byte_level(step, text, begins, out),
            Words::Sequence { pretokenizers } => chain(pretokenizers, text, begins, out),
        }
    }
}

fn chain(steps: &[Words], text: &str, begins: bool, out: Sink<'_>) -> bool {
    match steps {
        [] => out(text, begins),
        [step, rest @ ..] => step.each(text, begins, &mut |word, begins| chain(rest, word, begins, out)),
    }
}

/// Gives runs of characters of one class to `out`. A character without a class is dropped and ends a run. If the second
/// value of a class is `true`, each of its characters is a run.
fn runs(text: &str, begins: bool, class: impl Fn(char) -> Option<(bool, bool)>, out: Sink<'_>) -> bool {
    let mut run: Option<(usize, (bool, bool))> = None;
    for (at, c) in text.char_indices() {
        let class = class(c);
        if let Some((start, _)) = run.filter(|(_, of)| Some(*of) != class || of.1) {
            if !out(&text[start..at], begins && start == 0) {
                return false;
            }
            run = None;
        }
        run = run.or(class.map(|class| (at, class)));
    }
    run.is_none_or(|(start, _)| out(&text[start..], begins && start == 0))
}

fn metaspace(text: &str, mark: char, prepend: bool, split: bool, begins: bool, out: Sink<'_>) -> bool {
    if text.is_empty() {
        return true;
    }
    let mut marked = String::with_capacity(text.len() + 8);
    if prepend && !text.starts_with([' ', mark]) {
        marked.push(mark);
    }
    marked.extend(text.chars().map(|c| if c == ' ' { mark } else { c }));
    let mut start = 0;
    for (at, _) in marked.match_indices(mark).filter(|(at, _)| split && *at > 0) {
        if !out(&marked[start..at], begins && start == 0) {
            return false;
        }
        start = at;
    }
    out(&marked[start..], begins && start == 0)
}

fn byte_level(step: &ByteLevel, text: &str, begins: bool, out: Sink<'_>) -> bool {
    if text.is_empty() {
        return true;
    }
    let spaced = (step.space && !text.starts_with(' ')).then(|| format!(" {text}"));
    let text = spaced.as_deref().unwrap_or(text);
    let mut give = |start: usize, word: &str| out(&bytes_as_characters(word), begins && start == 0);
    match &step.expression {
        Some(expression) => expression.cut(text, (MatchBehavior::Isolated, false), &mut give),
        None => give(0, text),
    }
}

fn bert(c: char) -> Option<(bool, bool)> {
    if c.is_whitespace() { None } else { Some((punctuation(c), punctuation(c))) }
}

fn punctuation(c: char) -> bool {
    // Most characters are ASCII, whose categories need not be looked up.
    if c.is_ascii() { c.is_ascii_punctuation() } else { is_punctuation(c, get_general_category(c)) }
}

/// Whether the tokenizers' expression `\w` matches the character.
fn word(c: char) -> bool {
    use G::{ConnectorPunctuation, EnclosingMark, NonspacingMark, SpacingMark};
    let joins =
        || matches!(get_general_category(c), ConnectorPunctuation | EnclosingMark | NonspacingMark | SpacingMark);
    c.is_alphanumeric() || (!c.is_ascii() && joins()) || c == '_'
}
