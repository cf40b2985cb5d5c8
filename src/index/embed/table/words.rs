//! How a tokenizer cuts a text into words, before it looks for pieces: the steps of `pre_tokenizer`.

use serde::Deserialize;
use unicode_general_category::{GeneralCategory as G, get_general_category};

use super::super::tokenizer::is_punctuation;

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
    /// One after another.
    Sequence { pretokenizers: Vec<Words> },
}

/// What becomes of a mark at which is cut.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
pub(super) enum Behavior {
    /// It is dropped.
    Removed,
    /// It is a word.
    #[default]
    Isolated,
    /// It is part of a word with its like.
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

/// Takes a word, and whether the text begins with it.
type Sink<'a> = &'a mut dyn FnMut(&str, bool);

impl Words {
    /// Gives the words of `text` to `out`.
    pub(super) fn cut(&self, text: &str, out: &mut dyn FnMut(&str)) {
        self.each(text, true, &mut |word, _| out(word));
    }

    fn each(&self, text: &str, begins: bool, out: Sink<'_>) {
        match self {
            Words::BertPreTokenizer => runs(text, begins, bert, out),
            Words::Whitespace => {
                runs(text, begins, |c| if c.is_whitespace() { None } else { Some((word(c), false)) }, out);
            }
            Words::WhitespaceSplit => runs(text, begins, |c| (!c.is_whitespace()).then_some((false, false)), out),
            Words::Punctuation { behavior } => {
                let class = |c: char| match (punctuation(c), behavior) {
                    (false, _) => Some((false, false)),
                    (true, Behavior::Removed) => None,
                    (true, behavior) => Some((true, *behavior == Behavior::Isolated)),
                };
                runs(text, begins, class, out);
            }
            Words::Digits { individual_digits } => {
                runs(text, begins, |c| Some((c.is_numeric(), c.is_numeric() && *individual_digits)), out);
            }
            Words::Metaspace { replacement, prepend_scheme, add_prefix_space, split } => {
                let scheme = prepend_scheme.unwrap_or(Prepend::Always);
                let never = *add_prefix_space == Some(false) || scheme == Prepend::Never;
                let prepend = !never && (begins || scheme == Prepend::Always);
                metaspace(text, *replacement, prepend, split.unwrap_or(true), begins, out);
            }
            Words::Sequence { pretokenizers } => chain(pretokenizers, text, begins, out),
        }
    }
}

fn chain(steps: &[Words], text: &str, begins: bool, out: Sink<'_>) {
    match steps {
        [] => out(text, begins),
        [step, rest @ ..] => step.each(text, begins, &mut |word, begins| chain(rest, word, begins, out)),
    }
}

/// Runs of characters of one class; a character without a class is dropped and ends a run. Of a class, with `true` as
/// second, each character is a run.
fn runs(text: &str, begins: bool, class: impl Fn(char) -> Option<(bool, bool)>, out: Sink<'_>) {
    let mut run: Option<(usize, (bool, bool))> = None;
    for (at, c) in text.char_indices() {
        let class = class(c);
        if let Some((start, _)) = run.filter(|(_, of)| Some(*of) != class || of.1) {
            out(&text[start..at], begins && start == 0);
            run = None;
        }
        run = run.or(class.map(|class| (at, class)));
    }
    if let Some((start, _)) = run {
        out(&text[start..], begins && start == 0);
    }
}

fn metaspace(text: &str, mark: char, prepend: bool, split: bool, begins: bool, out: Sink<'_>) {
    if text.is_empty() {
        return;
    }
    let mut marked = String::with_capacity(text.len() + 8);
    if prepend && !text.starts_with([' ', mark]) {
        marked.push(mark);
    }
    marked.extend(text.chars().map(|c| if c == ' ' { mark } else { c }));
    let mut start = 0;
    for (at, _) in marked.match_indices(mark).filter(|(at, _)| split && *at > 0) {
        out(&marked[start..at], begins && start == 0);
        start = at;
    }
    out(&marked[start..], begins && start == 0);
}

fn bert(c: char) -> Option<(bool, bool)> {
    if c.is_whitespace() { None } else { Some((punctuation(c), punctuation(c))) }
}

fn punctuation(c: char) -> bool {
    // Most characters are ASCII, whose categories need not be looked up.
    if c.is_ascii() { c.is_ascii_punctuation() } else { is_punctuation(c, get_general_category(c)) }
}

/// What the expression `\w` of the tokenizers takes.
fn word(c: char) -> bool {
    use G::{ConnectorPunctuation, EnclosingMark, NonspacingMark, SpacingMark};
    let joins =
        || matches!(get_general_category(c), ConnectorPunctuation | EnclosingMark | NonspacingMark | SpacingMark);
    c.is_alphanumeric() || (!c.is_ascii() && joins()) || c == '_'
}
