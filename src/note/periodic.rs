//! Names of daily, weekly, … notes as Obsidian is configured to make them: a folder and a format of moment.js. And how
//! Logseq is set to call its pages of days.

use jiff::civil::{Date, ISOWeekDate, Weekday};
use serde::Deserialize;

use super::dates::{self, DAILY, words};
use crate::VaultPath;

/// Where Obsidian keeps the settings of its daily notes, and the plugin Periodic Notes its own.
pub const SETTINGS: [&str; 2] = [".obsidian/daily-notes.json", ".obsidian/plugins/periodic-notes/data.json"];

/// Where Logseq keeps the settings of a vault.
pub const LOGSEQ: &str = "logseq/config.edn";

/// How Logseq calls pages of days by these settings of a vault, if it is not as usual.
pub fn journals(settings: &str) -> Option<String> {
    let set = |line: &str| {
        let (_, format) = line.split(';').next()?.split_once(":journal/page-title-format")?;
        format.split('"').nth(1).map(str::to_owned)
    };
    settings.lines().find_map(set).filter(|format| !format.is_empty() && format != dates::LOGSEQ)
}

/// Notes of one kind that are named by a day.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Periodic {
    /// `daily`, `weekly`, `monthly`, `quarterly` or `yearly`.
    pub kind: &'static str,
    /// Their folder, without slashes at its ends; empty for the vault itself.
    pub(super) folder: String,
    /// The format as it was written.
    pub(super) written: String,
    format: Vec<Token>,
}

/// The kinds, and how their names are formed where nothing is set.
const KINDS: [(&str, &str); 5] = [
    (DAILY, "YYYY-MM-DD"),
    ("weekly", "gggg-[W]ww"),
    ("monthly", "YYYY-MM"),
    ("quarterly", "YYYY-[Q]Q"),
    ("yearly", "YYYY"),
];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    /// Digits, at least and at most so many.
    Number(Field, usize, usize),
    /// A month's name.
    Month,
    /// A weekday's name: any letters, for the language is not known here.
    Weekday,
    /// A day with its ending: `3rd`.
    Ordinal,
    Text(char),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Field {
    Year,
    /// The last two digits of a year of this century.
    ShortYear,
    Quarter,
    Month,
    Day,
    Week,
    /// A number that says nothing about the day: of a weekday, an hour, a day of the year.
    Other,
}

/// The tokens of moment.js that Obsidian's users meet, the longest first.
const TOKENS: [(&str, Token); 31] = [
    ("YYYY", Token::Number(Field::Year, 4, 4)),
    ("GGGG", Token::Number(Field::Year, 4, 4)),
    ("gggg", Token::Number(Field::Year, 4, 4)),
    ("MMMM", Token::Month),
    ("dddd", Token::Weekday),
    ("DDDD", Token::Number(Field::Other, 3, 3)),
    ("MMM", Token::Month),
    ("ddd", Token::Weekday),
    ("DDD", Token::Number(Field::Other, 1, 3)),
    ("YY", Token::Number(Field::ShortYear, 2, 2)),
    ("GG", Token::Number(Field::ShortYear, 2, 2)),
    ("gg", Token::Number(Field::ShortYear, 2, 2)),
    ("MM", Token::Number(Field::Month, 2, 2)),
    ("DD", Token::Number(Field::Day, 2, 2)),
    ("Do", Token::Ordinal),
    ("dd", Token::Weekday),
    ("WW", Token::Number(Field::Week, 2, 2)),
    ("ww", Token::Number(Field::Week, 2, 2)),
    ("HH", Token::Number(Field::Other, 2, 2)),
    ("hh", Token::Number(Field::Other, 2, 2)),
    ("mm", Token::Number(Field::Other, 2, 2)),
    ("ss", Token::Number(Field::Other, 2, 2)),
    ("Q", Token::Number(Field::Quarter, 1, 1)),
    ("M", Token::Number(Field::Month, 1, 2)),
    ("D", Token::Number(Field::Day, 1, 2)),
    ("d", Token::Number(Field::Other, 1, 1)),
    ("E", Token::Number(Field::Other, 1, 1)),
    ("e", Token::Number(Field::Other, 1, 1)),
    ("W", Token::Number(Field::Week, 1, 2)),
    ("w", Token::Number(Field::Week, 1, 2)),
    ("H", Token::Number(Field::Other, 1, 2)),
];

#[derive(Default, Deserialize)]
struct Setting {
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    folder: Option<String>,
    /// Only the plugin has it.
    #[serde(default)]
    enabled: Option<bool>,
}

/// Reads two files of settings ([`SETTINGS`]), each if it exists; the plugin's come first. Also returns the problems,
/// for the user: a file that is not JSON of that form, a format that names no day.
pub fn read(core: Option<&str>, plugin: Option<&str>) -> (Vec<Periodic>, Vec<String>) {
    let (mut periodic, mut problems) = (Vec::new(), Vec::new());
    let mut add = |kind: usize, file: usize, setting: Setting| {
        let (kind, usual) = KINDS[kind];
        let format = setting.format.filter(|format| !format.trim().is_empty());
        match Periodic::new(kind, setting.folder.as_deref().unwrap_or(""), format.as_deref().unwrap_or(usual)) {
            Some(one) => periodic.push(one),
            None => problems.push(format!("{}: the format of {kind} notes names no day", SETTINGS[file])),
        }
    };
    type Object = serde_json::Map<String, serde_json::Value>;
    let no_json = |file: usize| format!("{} is not as Obsidian writes it", SETTINGS[file]);
    let mut unread = Vec::new();
    if let Some(text) = plugin {
        match serde_json::from_str::<Object>(text) {
            Ok(mut settings) => {
                for (place, (kind, _)) in KINDS.iter().enumerate() {
                    let of_kind = settings.remove(*kind).map(serde_json::from_value::<Setting>);
                    match of_kind {
                        Some(Ok(setting)) if setting.enabled == Some(true) => add(place, 1, setting),
                        Some(Err(_)) => unread.push(no_json(1)),
                        _ => {}
                    }
                }
            }
            Err(_) => unread.push(no_json(1)),
        }
    }
    if let Some(text) = core {
        match serde_json::from_str::<Object>(text).and_then(|object| serde_json::from_value(object.into())) {
            Ok(setting) => add(0, 0, setting),
            Err(_) => unread.push(no_json(0)),
        }
    }
    problems.extend(unread);
    (periodic, problems)
}

impl Periodic {
    /// Notes of a kind in `folder` with names of `format`; `None` if such a name says no day.
    fn new(kind: &'static str, folder: &str, written: &str) -> Option<Self> {
        let format = tokens(written);
        let has = |field: Field| format.iter().any(|token| matches!(token, Token::Number(f, ..) if *f == field));
        let year = has(Field::Year) || has(Field::ShortYear);
        let month = has(Field::Month) || format.contains(&Token::Month);
        let day = has(Field::Day) || format.contains(&Token::Ordinal);
        let tells = year
            && match kind {
                DAILY => month && day,
                "weekly" => has(Field::Week) || (month && day),
                "monthly" => month,
                "quarterly" => has(Field::Quarter) || month,
                _ => true,
            };
        let (folder, written) = (folder.trim_matches('/').to_owned(), written.to_owned());
        tells.then_some(Periodic { kind, folder, written, format })
    }

    /// The day in the name of the note at `path`, the first one of its week, month, …; `None` if it is not one of these.
    pub(super) fn day(&self, path: &VaultPath) -> Option<Date> {
        let inside = path.as_str().strip_prefix(self.folder.as_str())?;
        let name = if self.folder.is_empty() { inside } else { inside.strip_prefix('/')? };
        let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
        // Without a folder of its own, such a note may be anywhere: it may have been moved out of an inbox.
        let name = if self.folder.is_empty() && !self.format.contains(&Token::Text('/')) { path.stem() } else { name };
        Parts::read(&self.format, name)?.date()
    }
}

fn tokens(format: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = format.strip_suffix(".md").unwrap_or(format).trim();
    while let Some(first) = rest.chars().next() {
        if let Some((literal, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            tokens.extend(literal.chars().map(Token::Text));
            rest = after;
        } else if let Some((name, token)) = TOKENS.iter().find(|(name, _)| rest.starts_with(name)) {
            tokens.push(token.clone());
            rest = &rest[name.len()..];
        } else {
            tokens.push(Token::Text(first));
            rest = &rest[first.len_utf8()..];
        }
    }
    tokens
}

/// What was read of a name; where it says something twice, both must be the same.
#[derive(Default)]
struct Parts {
    year: Option<i16>,
    quarter: Option<i16>,
    month: Option<i16>,
    day: Option<i16>,
    week: Option<i16>,
}

impl Parts {
    fn read(format: &[Token], name: &str) -> Option<Parts> {
        let mut parts = Parts::default();
        let mut rest = name;
        for token in format {
            rest = match token {
                Token::Text(c) => rest.strip_prefix(*c)?,
                Token::Number(field, least, most) => {
                    let count = rest.bytes().take(*most).take_while(u8::is_ascii_digit).count();
                    let (digits, after) = rest.split_at((count >= *least).then_some(count)?);
                    parts.put(*field, digits.parse().ok()?)?;
                    after
                }
                Token::Ordinal => {
                    let count = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
                    let (digits, after) = rest.split_at(count);
                    parts.put(Field::Day, digits.parse().ok()?)?;
                    after.trim_start_matches(|c: char| c.is_alphabetic() || matches!(c, 'º' | 'ª'))
                }
                Token::Month => {
                    let (word, after) = letters(rest)?;
                    parts.put(Field::Month, words::month(&words::fold(word))?.into())?;
                    after
                }
                Token::Weekday => letters(rest)?.1,
            };
        }
        rest.is_empty().then_some(parts)
    }

    fn put(&mut self, field: Field, value: i16) -> Option<()> {
        let (part, value) = match field {
            Field::Year => (&mut self.year, value),
            Field::ShortYear => (&mut self.year, 2000 + value),
            Field::Quarter => (&mut self.quarter, value),
            Field::Month => (&mut self.month, value),
            Field::Day => (&mut self.day, value),
            Field::Week => (&mut self.week, value),
            Field::Other => return Some(()),
        };
        (*part.get_or_insert(value) == value).then_some(())
    }

    fn date(&self) -> Option<Date> {
        let year = self.year?;
        let small = |part: Option<i16>| part.map(i8::try_from).transpose().ok();
        let (month, day, week, quarter) =
            (small(self.month)?, small(self.day)?, small(self.week)?, small(self.quarter)?);
        if let (None, Some(week)) = (day, week) {
            return Some(ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date());
        }
        let quarter = quarter.filter(|quarter| (1..=4).contains(quarter));
        Date::new(year, month.or(quarter.map(|quarter| quarter * 3 - 2)).unwrap_or(1), day.unwrap_or(1)).ok()
    }
}

/// A word at the start of a text, and an abbreviation's full stop.
fn letters(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_alphabetic() && !('\u{300}'..='\u{36f}').contains(&c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty()).then(|| (word, rest.strip_prefix('.').unwrap_or(rest)))
}

#[cfg(test)]
mod tests;
