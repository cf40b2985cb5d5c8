//! Finds what makes a note private without being read as a tag: front matter that cannot be read, and Logseq's page
//! properties. A note that is being typed, or was written in part, must not become public for a moment: its user makes
//! it private with a tag, and only a tag that can be read can be seen to be removed.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::frontmatter::{Cut, Reading, is_tags, is_topics, repeats_a_key};
use super::lenient;
use super::private::{TAG, is_private};

/// The longest front matter that is looked through, in bytes; as long as what is read.
const LONGEST: usize = 64 * 1024;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Guard {
    /// Where front matter, or the beginning of one, is that cannot be read.
    pub(super) unread: Option<Range<usize>>,
    /// A private tag, where none was read as a tag.
    pub(super) tag: Option<String>,
}

/// Looks for what makes a note private. Its front matter begins at `start` and was read as `cut`.
pub(super) fn look(text: &str, start: usize, cut: &Cut) -> Guard {
    let (unread, told) = broken(text, start, cut).unzip();
    let meant = told.is_some_and(mentions) || cut.front.properties.iter().any(|(key, value)| nested(key, value));
    let tag = meant.then(|| TAG.to_owned()).or_else(|| page_tag(&text[cut.body..]));
    Guard { unread, tag }
}

/// Looks for a private tag in reStructuredText, which has no tags of its own: in a line of tags, as programs write it
/// above the text in several ways, or as `#private`.
pub(super) fn look_in_rst(text: &str) -> Guard {
    let fields = text.lines().filter_map(|line| line.trim_start_matches(['.', ':', ' ']).split_once(':'));
    let in_field = fields.filter(|(name, _)| is_tags(name)).flat_map(|(_, value)| parts(value)).any(is_private);
    let hashed = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#').starts_with('#');
    let in_text = || {
        let words = text.split_whitespace().filter(|word| hashed(word));
        words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).any(is_private)
    };
    Guard { unread: None, tag: (in_field || in_text()).then(|| TAG.to_owned()) }
}

/// Where front matter is that cannot be read, and the part of it that may name the tag.
fn broken<'a>(text: &'a str, start: usize, cut: &Cut) -> Option<(Range<usize>, &'a str)> {
    let block = &text[cut.block.clone()];
    let is_broken = match cut.reading {
        // The second check finds keys that only YAML considers equal; it runs for the few notes that name the tag.
        Reading::Strict => {
            lines(block).any(|line| names_tags_twice(block, line)) || (mentions(block) && repeats_a_key(block))
        }
        // Its reader refused keys that occur twice.
        Reading::Foreign => false,
        Reading::Lenient => true,
        Reading::Text => block.lines().any(lenient::is_property),
        Reading::None => {
            let text = &text[start..];
            let found = foreign(text).or_else(|| above_rule(text)).or_else(|| unfinished(text));
            return found.map(|(length, told)| (start..start + length, told));
        }
    };
    is_broken.then(|| (cut.block.clone(), block))
}

/// The lines of properties that are not indented.
fn lines(block: &str) -> impl Iterator<Item = &str> {
    block.lines().filter(|line| !line.starts_with([' ', '\t']))
}

/// Whether a line begins a property of tags whose name occurs a second time: it is unclear which of them counts.
fn names_tags_twice(block: &str, line: &str) -> bool {
    let name = |line: &str| lenient::name(line).map(str::to_lowercase).filter(|name| is_tags(name));
    let Some(own) = name(line) else { return false };
    lines(block).filter_map(name).filter(|other| *other == own).count() > 1
}

/// TOML or JSON that could not be read as front matter: its length, and as much of it as is looked through.
fn foreign(text: &str) -> Option<(usize, &str)> {
    if let Some(block) = json(text) {
        return Some((block.len(), block));
    }
    let is_fence = |line: &&str| line.trim_end() == "+++";
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(is_fence)?;
    let length = first.len() + lines.take_while(|line| !is_fence(line)).map(str::len).sum::<usize>();
    Some((length, &text[..text.floor_char_boundary(length.min(LONGEST))]))
}

/// JSON up to the line that closes it.
fn json(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?.trim_start();
    let parted = text[1..text.len() - inner.len()].contains('\n');
    if !(inner.starts_with('"') || (parted && inner.starts_with('}'))) {
        return None;
    }
    let mut at = 0;
    let ends = |line: &str| line.trim_end().ends_with('}') && (line.starts_with(['{', '}']));
    for line in text.split_inclusive('\n') {
        at += line.len();
        if ends(line) || at > LONGEST {
            break;
        }
    }
    Some(&text[..text.floor_char_boundary(at.min(LONGEST))])
}

/// The properties above a line of dashes, as Denote begins a file of plain text, and the line of tags among them.
fn above_rule(text: &str) -> Option<(usize, &str)> {
    let is_property = |line: &str| lenient::is_property(line.trim_end());
    let length = text.split_inclusive('\n').take_while(|line| is_property(line)).map(str::len).sum();
    let (properties, rest) = text.split_at(length);
    let tags = properties.lines().find(|line| lenient::name(line).is_some_and(is_tags))?;
    let rule = rest.lines().next()?.trim_end();
    (rule.len() >= 3 && rule.bytes().all(|b| b == b'-')).then_some((length, tags))
}

/// Front matter that begins but does not end: the note is being typed, or part of it is missing. Its tags may be anywhere.
fn unfinished(text: &str) -> Option<(usize, &str)> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim_end();
    if !text.contains('\n') {
        return "---".starts_with(first).then_some((0, text));
    }
    if first != "---" {
        return None;
    }
    let mut told = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    // Nobody indents the first paragraph below a line of dashes.
    let of_yaml = |line: &str| line.starts_with([' ', '\t']) || lenient::is_property(line);
    let begun = told.next().is_none_or(|line| of_yaml(line) || told.next().is_none());
    begun.then(|| (properties(text), &text[..text.floor_char_boundary(LONGEST)]))
}

/// The length of the properties that a text without their end begins with: up to the first paragraph of prose.
fn properties(text: &str) -> usize {
    let (mut at, mut end, mut is_parted) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let line = line.trim_end();
        if line.is_empty() {
            is_parted = true;
        } else if !is_parted || line.starts_with([' ', '\t', '-']) || lenient::is_property(line) {
            (end, is_parted) = (at, false);
        } else if !line.starts_with('#') {
            break;
        }
    }
    end
}

/// Whether the private tag occurs in a text as a word, even in a list that is not closed or under something that is no
/// key.
fn mentions(block: &str) -> bool {
    let block = unescaped(block).to_lowercase();
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    block.match_indices(TAG).any(|(at, _)| {
        let (before, after) = (block[..at].chars().next_back(), block[at + TAG.len()..].chars().next());
        !word(before) && !word(after)
    })
}

/// Resolves what YAML's double quotes allow to be written in another way (YAML 1.2.2, 5.7): characters as numbers, and
/// lines that continue in the next one.
fn unescaped(block: &str) -> Cow<'_, str> {
    if !block.contains('\\') {
        return Cow::Borrowed(block);
    }
    let mut out = String::with_capacity(block.len());
    let mut rest = block;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = match after.chars().next() {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        let number = after.get(1..=digits).and_then(|number| u32::from_str_radix(number, 16).ok());
        rest = match number.filter(|_| digits > 0).and_then(char::from_u32) {
            Some(char) => {
                out.push(char);
                &after[1 + digits..]
            }
            None if after.starts_with(['\n', '\r']) => after.trim_start(),
            None => {
                // Two backslashes stand for one, which begins no escape.
                let taken = after.chars().next().map_or(0, char::len_utf8);
                out.push_str(&after[..taken]);
                &after[taken..]
            }
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether a property called tags or the like, however deep, names a private one.
fn nested(key: &str, value: &Value) -> bool {
    if (is_tags(key) && names(value, &|text| parts(text).any(is_private)))
        // They are parted by commas alone: `private equity` is one.
        || (is_topics(key) && names(value, &|text| text.split(',').any(|topic| is_private(topic.trim()))))
    {
        return true;
    }
    match value {
        Value::Object(properties) => properties.iter().any(|(key, value)| nested(key, value)),
        Value::Array(items) => items.iter().any(|item| nested("", item)),
        _ => false,
    }
}

/// Whether a value, or what is in it, is a private tag.
fn names(value: &Value, private: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => private(text),
        Value::Array(items) => items.iter().any(|item| names(item, private)),
        Value::Object(properties) => properties.iter().any(|(key, value)| private(key) || names(value, private)),
        _ => false,
    }
}

/// The tags in a text, as they are typed: `#a, [[b]]`.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c == ',' || c.is_whitespace());
    parts.map(|part| part.trim_matches(|c: char| matches!(c, '#' | '[' | ']' | '{' | '}' | '"' | '\'')))
}

/// The private tag among Logseq's page properties: lines `key:: value` at the top of the note.
fn page_tag(body: &str) -> Option<String> {
    let lines = body.lines().map(|line| line.trim().trim_start_matches("- ").trim_start());
    let properties = lines.skip_while(|line| line.is_empty()).map_while(|line| line.split_once("::"));
    let mut tags = properties.filter(|(key, _)| is_tags(key.trim())).flat_map(|(_, value)| parts(value));
    tags.find(|tag| is_private(tag)).map(str::to_owned)
}

#[cfg(test)]
mod tests;
