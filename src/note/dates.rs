//! Days as people and programs write them, in properties and in file names.

pub(super) mod words;

use jiff::Timestamp;
use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use serde_json::Value;

use super::Link;
use super::format::without_ending;

/// The kind of notes of a day.
pub(super) const DAILY: &str = "daily";

/// The day a property names: text in any of the forms of [`from_text`], or a number.
pub(super) fn from_value(value: &Value) -> Option<Date> {
    match value {
        Value::String(text) => from_text(text),
        // Numbers are read by their digits: 20261120, seconds or milliseconds since 1970.
        Value::Number(number) => match number.as_i64() {
            Some(integer) => from_digits(&integer.to_string()),
            None => {
                number.as_f64().filter(|f| (0.0..1e15).contains(f)).and_then(|f| from_digits(&(f as i64).to_string()))
            }
        },
        Value::Array(items) => items.first().filter(|first| !first.is_array()).and_then(from_value),
        _ => None,
    }
}

/// The day a text names: ISO 8601 with or without a time (the day as written, whatever the offset), the
/// same with `/`, `.` or `_`, `20.11.2026`, an unambiguous `11/20/2026`, `20 November 2026` and
/// `Nov 20th, 2026` with any weekday, in any of the languages of [`words`], `2026年11月20日`, digits (see
/// [`from_digits`]), all also in the brackets of Org's times, and as the note or the text of a link.
pub(super) fn from_text(text: &str) -> Option<Date> {
    let text = text.trim();
    if let Some(link) = link(text) {
        // A path and the text beside it have numbers that are no part of the day.
        let name = without_ending(link.target.rsplit('/').next().unwrap_or_default());
        return plain(name).or_else(|| plain(link.alias.as_deref()?));
    }
    plain(text.trim_start_matches(['[', '<']).trim_end_matches([']', '>']).trim())
}

/// The link that a whole property is.
fn link(text: &str) -> Option<Link> {
    (text.starts_with("[[") || text.contains("](")).then(|| super::link(text))?
}

/// The day that a text names that is no link.
fn plain(text: &str) -> Option<Date> {
    // No date is that long; this bounds the work on a property that is really a text.
    if text.len() > 100 {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return from_digits(text);
    }
    let in_words = || words::date(&words::fold(text)).map(|found| found.date);
    year_first(text).or_else(|| day_first(text)).map(|(date, _)| date).or_else(in_words)
}

/// The day that a whole text is, in digits and separators: `2026-11-20`, the same with `/`, `.` or `_`, `20.11.2026`, an
/// unambiguous `11/20/2026`, and `2026年11月20日`; with or without its weekday before it.
pub(super) fn in_figures(text: &str) -> Option<Date> {
    let weekday = text.split_once([',', ' ']).filter(|(word, _)| words::weekday(&words::fold(word)).is_some());
    let text = weekday.map_or(text, |(_, text)| text.trim_start_matches(' '));
    let (date, length) = year_first(text).or_else(|| day_first(text))?;
    (length == text.len()).then_some(date)
}

/// 8 digits: year, month, day; 12 or 14: the same with a time; else seconds or milliseconds since 1970 in UTC, told
/// apart by the number of digits (10, and 11 to 13).
fn from_digits(digits: &str) -> Option<Date> {
    let number: i64 = digits.parse().ok()?;
    let moment = match digits.len() {
        8 => return compact(digits),
        12 | 14 if compact_with_time(digits).is_some() => return compact_with_time(digits),
        10 => Timestamp::from_second(number).ok()?,
        11..=13 => Timestamp::from_millisecond(number).ok()?,
        _ => return None,
    };
    Some(moment.to_zoned(TimeZone::UTC).date())
}

fn compact(digits: &str) -> Option<Date> {
    let (year, rest) = digits.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    date(year, month, day).filter(|date| (1900..2200).contains(&date.year()))
}

fn compact_with_time(digits: &str) -> Option<Date> {
    let (day, time) = digits.split_at_checked(8)?;
    let (hour, rest) = time.split_at_checked(2)?;
    let (minute, second) = rest.split_at_checked(2)?;
    let below = |text: &str, limit: u8| text.is_empty() || text.parse::<u8>().is_ok_and(|n| n < limit);
    (below(hour, 24) && below(minute, 60) && below(second, 60)).then(|| compact(day))?
}

fn date(year: &str, month: &str, day: &str) -> Option<Date> {
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

/// Takes between `least` and `most` digits off the start; no digit follows them.
fn digits(text: &str, least: usize, most: usize) -> Option<(&str, &str)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    (least..=most).contains(&count).then(|| text.split_at(count))
}

/// A date at the start of `text` with the year first, and how many bytes it takes.
fn year_first(text: &str) -> Option<(Date, usize)> {
    let (year, rest) = digits(text, 4, 4)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/' | '.' | '_' | '年'))?;
    let (month, rest) = digits(&rest[separator.len_utf8()..], 1, 2)?;
    let rest = rest.strip_prefix(if separator == '年' { '月' } else { separator })?;
    let (day, rest) = digits(rest, 1, 2)?;
    let rest = rest.strip_prefix('日').filter(|_| separator == '年').unwrap_or(rest);
    Some((date(year, month, day)?, text.len() - rest.len()))
}

/// `20.11.2026` at the start of `text`, and how many bytes it takes. With `/`, `-` or `_` only if one of the two numbers
/// cannot be a month or both are equal, since both orders are in use.
fn day_first(text: &str) -> Option<(Date, usize)> {
    let (first, rest) = digits(text, 1, 2)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '.' | '/' | '-' | '_'))?;
    let (second, rest) = digits(&rest[1..], 1, 2)?;
    let (year, rest) = digits(rest.strip_prefix(separator)?, 4, 4)?;
    let is_day = |text: &str| text.parse::<u8>().is_ok_and(|n| n > 12);
    let date = match separator {
        '.' => date(year, second, first),
        _ if is_day(first) || first == second => date(year, second, first),
        _ if is_day(second) => date(year, first, second),
        _ => None,
    };
    Some((date?, text.len() - rest.len()))
}

/// The day that a whole name is in one of the forms that Logseq uses for files.
pub(super) fn of_journal(name: &str) -> Option<Date> {
    let (date, _) = year_first(name).filter(|(_, length)| (*length, name.len()) == (10, 10))?;
    matches!(name.as_bytes()[4], b'-' | b'_').then_some(date)
}

/// The format in which Logseq writes days in links unless it is set otherwise: `Mar 5th, 2026`.
pub(super) const LOGSEQ: &str = "MMM do, yyyy";

/// The letters of such formats, the longest first, with those of [`jiff::fmt::strtime`].
const LETTERS: [(&str, &str); 10] = [
    ("yyyy", "%Y"),
    ("EEEE", "%A"),
    ("MMMM", "%B"),
    ("EEE", "%a"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("E", "%a"),
    ("M", "%-m"),
    ("d", "%-d"),
];

/// A day as Logseq writes it in this format.
pub(super) fn in_logseq(date: Date, format: &str) -> String {
    let ending = match date.day() {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    };
    let (mut out, mut rest) = (String::new(), format);
    while let Some(first) = rest.chars().next() {
        let of = LETTERS.iter().find(|(letters, _)| rest.starts_with(letters));
        rest = &rest[of.map_or(first.len_utf8(), |(letters, _)| letters.len())..];
        match of {
            Some((_, of_system)) => out += &date.strftime(of_system).to_string(),
            None => out.push(first),
        }
        if let Some(("d", after)) = of.map(|(letters, _)| *letters).zip(rest.strip_prefix('o')) {
            out += ending;
            rest = after;
        }
    }
    out
}

/// What a file name says about days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The day; of a week, a month or a quarter the first one.
    pub(super) date: Date,
    /// The kind of a note with that name, if the name says nothing else.
    pub(super) kind: Option<&'static str>,
}

/// The first date in a file name: `2026-11-20`, `2026_11_20`, `2026.11.20`, `20261120`, `2026年11月20日`, or a note id that begins with
/// one (`202611201230`), none with further digits beside it; `20.11.2026`; with the month in words. A name that is a
/// date, with or without a weekday, is a daily note's; `2026-W47`, `2026-11` and `2026-Q4` are names of weeks, months
/// and quarters.
pub(super) fn in_name(name: &str) -> Option<Named> {
    in_digits(name).or_else(|| in_words(name)).or_else(|| period(name))
}

fn in_digits(name: &str) -> Option<Named> {
    let bytes = name.as_bytes();
    let starts =
        (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_digit()));
    let mut dates = starts.filter_map(|at| name_date(name, at).map(|(date, length)| (at, date, length)));
    let (at, date, length) = dates.next()?;
    // With a time it is the id of a note, not the name of a day.
    let has_time = length > 10 && name.as_bytes()[at..at + length].iter().all(u8::is_ascii_digit);
    let is_alone = !has_time
        && [&name[..at], &name[at + length..]].map(words::fold).iter().all(|rest| words::is_only_weekday(rest));
    Some(Named { date, kind: is_alone.then_some(DAILY) })
}

fn name_date(name: &str, at: usize) -> Option<(Date, usize)> {
    let text = &name[at..];
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    match count {
        1 | 2 if at == 0 || name.as_bytes()[at - 1] == b' ' => day_first(text),
        4 if text[4..].starts_with('年') => year_first(text),
        4 => year_first(text).filter(|(_, length)| *length == 10 && !matches!(text.as_bytes()[4], b'/')),
        8 => compact(&text[..count]).map(|date| (date, count)),
        12 | 14 => compact_with_time(&text[..count]).map(|date| (date, count)),
        _ => None,
    }
}

fn in_words(name: &str) -> Option<Named> {
    let found = words::date(&words::fold(name)).filter(|found| found.together)?;
    Some(Named { date: found.date, kind: found.alone.then_some(DAILY) })
}

fn period(name: &str) -> Option<Named> {
    let (year, rest) = digits(name, 4, 4)?;
    let rest = rest.strip_prefix(['-', '_', ' ']).unwrap_or(rest);
    let number =
        |letter: char| rest.strip_prefix([letter, letter.to_ascii_lowercase()]).and_then(|text| digits(text, 1, 2));
    let (date, kind, after) = if let Some((week, after)) = number('W') {
        let week = ISOWeekDate::new(year.parse().ok()?, week.parse().ok()?, Weekday::Monday).ok()?;
        (week.date(), "weekly", after)
    } else if let Some((quarter, after)) = number('Q') {
        let quarter: i8 = quarter.parse().ok().filter(|quarter| (1..=4).contains(quarter))?;
        (Date::new(year.parse().ok()?, quarter * 3 - 2, 1).ok()?, "quarterly", after)
    } else if rest.len() + 5 == name.len() {
        let (month, after) = digits(rest, 2, 2)?;
        (date(year, month, "1")?, "monthly", after)
    } else {
        return None;
    };
    after.is_empty().then_some(Named { date, kind: Some(kind) })
}

#[cfg(test)]
mod tests;
