//! Words that look like an operator but are none: those of other programs, names of properties, and misspelt ones.

use strum::VariantNames as _;

use super::{CLOSING, strip_quote, word_end};
use crate::search::filter::Key;

/// Operators of other programs, and names that people try, with the one that is meant here.
const ALSO: &[(&str, &str)] = &[
    ("backlink", "link"),
    ("backlinks", "link"),
    ("changed", "modified"),
    ("date", "on"),
    ("day", "on"),
    ("dir", "path"),
    ("directory", "path"),
    ("folder", "path"),
    ("hashtag", "tag"),
    ("kind", "type"),
    ("label", "tag"),
    ("links", "link"),
    ("linksto", "link"),
    ("month", "in"),
    ("since", "after"),
    ("tags", "tag"),
    ("until", "before"),
    ("updated", "modified"),
    ("year", "in"),
];

/// Operators of other programs for the name of a file.
const FILES: &[&str] = &["file", "filename"];

/// Names that many vaults' properties have.
const PROPERTIES: &[&str] = &[
    "author", "category", "due", "lang", "language", "owner", "priority", "project", "rating", "source", "state",
    "status", "url",
];

/// Operators that narrow a search to a part of the note.
const PARTS: &[&str] = &["alias", "block", "content", "heading", "line", "name", "section", "text", "title"];

/// Characters of a word that are shown.
const SHOWN: usize = 60;

/// Bytes of a value in quotes at most: not looking further keeps a flood of opening quotes linear.
const QUOTED: usize = 300;

/// The word that `body` begins with, with all of its value if that is in quotes.
pub(super) fn with_value(body: &str) -> &str {
    let word = &body[..word_end(body)];
    let quoted = word.split_once(':').and_then(|(name, _)| strip_quote(&body[name.len() + 1..]));
    let end = quoted.and_then(|value| {
        let mut near = value.char_indices().take_while(|(at, _)| *at < QUOTED);
        let (at, sign) = near.find(|(_, c)| CLOSING.contains(c))?;
        Some(body.len() - value.len() + at + sign.len_utf8())
    });
    end.map_or(word, |end| &body[..end])
}

/// What to write instead of a word that was meant as an operator; `None` for any other word.
pub(super) fn hint(word: &str) -> Option<String> {
    let (name, value) = word.split_once(':')?;
    let is_name = (2..=16).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    if !is_name || !value.starts_with(|c: char| c.is_alphanumeric() || "\"“„#[*><".contains(c)) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
    let meant = if name == "prop" || PROPERTIES.contains(&name.as_str()) {
        let name = if name == "prop" { "NAME" } else { &name };
        format!("a property is asked for by `prop.{name}:{}`", shown(value))
    } else if PARTS.contains(&name.as_str()) {
        "titles, headings and text are searched together".to_owned()
    } else {
        // A path counts from the top of the vault, and a file's name does not say where it lies.
        if FILES.contains(&name.as_str()) {
            let (quote, value) = match strip_quote(value) {
                Some(value) => ("\"", value.trim_end_matches(CLOSING)),
                None => ("", value),
            };
            let value = shown(value.trim_matches('*'));
            return Some(format!(
                "`{}` is searched for as words; `path:{quote}*{value}*{quote}` is a condition",
                shown(word)
            ));
        }
        let other = ALSO.iter().find(|(also, _)| *also == name).map(|(_, meant)| *meant);
        let meant = other.or_else(|| Key::VARIANTS.iter().copied().find(|key| is_slip(&name, key)))?;
        format!("`{meant}:{}` is a condition", shown(value))
    };
    Some(format!("`{}` is searched for as words; {meant}", shown(word)))
}

/// Whether a name is another one with one slip; short names are too near to each other.
fn is_slip(typed: &str, name: &str) -> bool {
    name.len() >= 3 && typed.len() >= 3 && strsim::osa_distance(typed, name) == 1
}

#[cfg(test)]
mod tests;
