//! What `path:` means: a note, a folder, or a glob.
//!
//! Matching is by characters, not bytes, and on folded text, so `?` stands for any one letter and case
//! never counts; that is why the globs of the ignore rules do not serve here.

use super::fold::fold;

/// A compiled `path:` value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathPattern {
    /// A folder with everything below it, or a note with or without its extension.
    Prefix(String),
    /// A glob. `*` and `?` stay within a folder, `**` does not. Without a `/` it may match at any depth;
    /// when it matches a folder, everything below that folder is meant.
    Glob(Vec<Token>),
}

/// One step of a glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This character.
    Char(char),
    /// Any one character but `/`.
    One,
    /// Any characters but `/`.
    Star,
    /// Any characters.
    Any,
    /// No folder, or any number of whole folders with their `/`.
    Folders,
}

impl PathPattern {
    /// Compiles what the user typed; `None` if nothing but slashes is there.
    pub(super) fn new(typed: &str) -> Option<Self> {
        let folded = fold(typed.trim());
        let inner = folded.trim_start_matches("./").trim_matches('/');
        if inner.is_empty() {
            return None;
        }
        if !inner.contains(['*', '?']) {
            return Some(PathPattern::Prefix(inner.to_owned()));
        }
        let mut tokens = Vec::new();
        if !folded.contains('/') {
            tokens.push(Token::Folders);
        }
        push_tokens(inner, &mut tokens);
        Some(PathPattern::Glob(tokens))
    }

    /// Whether the note at `path` is meant.
    pub(super) fn matches(&self, path: &str) -> bool {
        let path = fold(path);
        match self {
            PathPattern::Prefix(prefix) => path
                .strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || is_extension(rest)),
            PathPattern::Glob(tokens) => glob(tokens, &path),
        }
    }
}

/// Whether what is left of a path after the typed part is just a note's extension.
fn is_extension(rest: &str) -> bool {
    rest.rfind('.') == Some(0) && note::Format::of(&format!("note{rest}")).is_some()
}

fn push_tokens(pattern: &str, tokens: &mut Vec<Token>) {
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let at_start = rest.len() == pattern.len() || pattern[..pattern.len() - rest.len()].ends_with('/');
        if at_start && rest.starts_with("**/") {
            // `**/**/` says no more than `**/`.
            if tokens.last() != Some(&Token::Folders) {
                tokens.push(Token::Folders);
            }
            rest = &rest[3..];
        } else if rest.starts_with("**") {
            tokens.push(Token::Any);
            rest = rest.trim_start_matches('*');
        } else {
            tokens.push(match c {
                '*' => Token::Star,
                '?' => Token::One,
                c => Token::Char(c),
            });
            rest = &rest[c.len_utf8()..];
        }
    }
}

/// A place to go back to: the tokens after a wildcard, and how far the wildcard reaches now.
#[derive(Clone, Copy)]
struct Retry {
    token: usize,
    text: usize,
}

/// Matches the whole of `text`, or a leading folder of it.
///
/// Of each kind of wildcard only the last one is ever retried: whatever an earlier one would gain by
/// reaching further, the later one can take instead. Hence at most quadratic, and no recursion.
fn glob(tokens: &[Token], text: &str) -> bool {
    let (mut t, mut at) = (0, 0);
    // Within a folder, and across folders.
    let (mut near, mut far): (Option<Retry>, Option<Retry>) = (None, None);
    loop {
        let next = text[at..].chars().next();
        let step = match (tokens.get(t), next) {
            // The end of the pattern is also reached where a folder's name ends.
            (None, None | Some('/')) => return true,
            (Some(Token::Star), _) => {
                near = Some(Retry { token: t + 1, text: at });
                Some(0)
            }
            (Some(Token::Any | Token::Folders), _) => {
                (near, far) = (None, Some(Retry { token: t + 1, text: at }));
                Some(0)
            }
            (Some(Token::One), Some(c)) if c != '/' => Some(c.len_utf8()),
            (Some(Token::Char(want)), Some(c)) if *want == c => Some(c.len_utf8()),
            _ => None,
        };
        if let Some(bytes) = step {
            (t, at) = (t + 1, at + bytes);
        } else if let Some(retry) = near.take().and_then(|retry| reach_near(retry, text)) {
            (near, t, at) = (Some(retry), retry.token, retry.text);
        } else if let Some(retry) = far.take().and_then(|retry| reach_far(retry, tokens, text)) {
            (far, t, at) = (Some(retry), retry.token, retry.text);
        } else {
            return false;
        }
    }
}

/// Lets a `*` take one more character of its folder's or file's name.
fn reach_near(retry: Retry, text: &str) -> Option<Retry> {
    let c = text[retry.text..].chars().next().filter(|c| *c != '/')?;
    Some(Retry { text: retry.text + c.len_utf8(), ..retry })
}

/// Lets a `**` take one more character, a `**/` one more folder.
fn reach_far(retry: Retry, tokens: &[Token], text: &str) -> Option<Retry> {
    let rest = &text[retry.text..];
    let more = match tokens[retry.token - 1] {
        Token::Folders => rest.find('/')? + 1,
        _ => rest.chars().next()?.len_utf8(),
    };
    Some(Retry { text: retry.text + more, ..retry })
}

#[cfg(test)]
mod tests;
