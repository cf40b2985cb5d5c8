//! What a condition is as it is typed: `tag:work`, `in:march 2025`, `[status:done]`.

use super::{starts_blank, word_end};
use crate::search::filter::Key;

/// What a condition is about, as typed.
#[derive(Clone, Copy)]
pub(super) enum Field<'a> {
    Key(Key),
    Property(&'a str),
}

impl<'a> Field<'a> {
    pub(super) fn named(name: &'a str) -> Option<Self> {
        let property = name.get(..5).filter(|start| start.eq_ignore_ascii_case("prop.")).map(|_| &name[5..]);
        property.map(Field::Property).or_else(|| name.parse().ok().map(Field::Key))
    }
}

/// The field of the condition that a text begins with, and all that follows the colon. Two colons stand behind a field in
/// notes and behind a path in code, and neither is a condition: `type:: project`, `path::Path`.
pub(super) fn condition(text: &str) -> Option<(Field<'_>, &str)> {
    let (name, _) = text[..word_end(text)].split_once(':')?;
    let (field, value) = (Field::named(name)?, &text[name.len() + 1..]);
    (matches!(field, Field::Property(_)) || !value.starts_with(':')).then_some((field, value))
}

/// Bytes of a condition in brackets at most: not looking further keeps a flood of opening brackets linear.
pub(super) const BRACKETED: usize = 300;

/// Splits a condition in brackets off the start of `body`: name, value, and what follows. A link, a check box or the
/// option of a command (`[-Id]`) does not count, nor do brackets with more letters right behind them: `ends` says whether
/// what follows may follow.
pub(super) fn bracketed(body: &str, ends: impl Fn(&str) -> bool) -> Option<(&str, Option<&str>, &str)> {
    let inner = body.strip_prefix('[').filter(|inner| !inner.starts_with(['[', ']', '-']))?;
    let mut quoted = false;
    let close = inner.char_indices().take_while(|(at, _)| *at < BRACKETED).find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == ']' && !quoted).then_some(at)
    })?;
    let (inner, after) = (&inner[..close], &inner[close + 1..]);
    if !ends(after) || inner.trim().chars().nth(1).is_none() {
        return None;
    }
    match inner.split_once(':') {
        Some((name, value)) => Some((name.trim(), Some(of_field(value).trim()), after)),
        None => Some((inner.trim(), None, after)),
    }
}

/// The value without the second colon that a field has in a note's text: `[rating:: 8]`.
pub(super) fn of_field(value: &str) -> &str {
    value.strip_prefix(':').unwrap_or(value)
}

pub(super) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Where a condition ends that a year behind a blank belongs to: `in:march 2025`.
pub(super) fn dated_end(text: &str) -> Option<usize> {
    let (field, value) = condition(text)?;
    Some(text.len() - value.len() + dated(field, value)?)
}

/// Where the value of a condition ends that has a year behind a blank.
pub(super) fn dated(field: Field<'_>, value: &str) -> Option<usize> {
    let (month, rest) = value.split_at(word_end(value));
    let is_day = matches!(field, Field::Key(key) if key.is_day());
    note::month(month.trim_start_matches(['<', '>', '='])).filter(|_| is_day)?;
    let (year, after) = rest.trim_start().split_at_checked(4)?;
    let is_year = year.bytes().all(|byte| byte.is_ascii_digit()) && (starts_blank(after) || after.starts_with(')'));
    is_year.then_some(value.len() - after.len())
}
