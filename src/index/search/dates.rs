//! Dates as people type them in a query.

use jiff::Span;
use jiff::civil::{Date, date};

/// Whole days: from `start` up to, not including, `end` (`None`: without end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// First day.
    pub(super) start: Date,
    /// The day after the last one.
    pub(super) end: Option<Date>,
}

/// What a user could have meant; for messages.
pub(super) const FORMS: &str = "2026, 2026-11, 2026-11-20, today, yesterday, 7d, 2w, 3m or 1y";

/// Reads a year, a month, a day, `today`, `yesterday`, or a time back from today (`7d`, `2w`, `3m`, `1y`).
///
/// What reaches up to today has no end: a clock that is a little ahead, or a time zone, must not hide the
/// note that was saved a moment ago.
pub(super) fn period(text: &str, today: Date) -> Option<Period> {
    let text = text.trim().to_lowercase();
    let (start, end) = match text.as_str() {
        "today" => (today, None),
        "yesterday" => (today.yesterday().ok()?, Some(today)),
        _ => match back(&text) {
            Some(span) => (today.checked_sub(span).ok()?, None),
            None => calendar(&text)?,
        },
    };
    Some(Period { start, end: end.filter(|end| *end <= today) })
}

/// The days that a text means, whether they lie ahead or not: from the first, before the second. A time back from
/// today is a single day.
pub(super) fn whole_days(text: &str, today: Date) -> Option<(Date, Date)> {
    let text = text.trim().to_lowercase();
    match calendar(&text) {
        Some((start, end)) => Some((start, end?)),
        None => period(&text, today).and_then(|period| Some((period.start, period.start.tomorrow().ok()?))),
    }
}

fn back(text: &str) -> Option<Span> {
    let unit = text.chars().next_back().filter(char::is_ascii_alphabetic)?;
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let n: i32 = digits.parse().ok()?;
    let span = match unit {
        'd' => Span::new().try_days(n),
        'w' => Span::new().try_weeks(n),
        'm' => Span::new().try_months(n),
        'y' => Span::new().try_years(n),
        _ => return None,
    };
    span.ok()
}

fn calendar(text: &str) -> Option<(Date, Option<Date>)> {
    let mut parts = text.split('-');
    let year: i16 = number(parts.next()?, 4..=4)?;
    let month: Option<i8> = parts.next().map(|m| number(m, 1..=2)).map_or(Some(None), |m| m.map(Some))?;
    let day: Option<i8> = parts.next().map(|d| number(d, 1..=2)).map_or(Some(None), |d| d.map(Some))?;
    if parts.next().is_some() {
        return None;
    }
    let start = Date::new(year, month.unwrap_or(1), day.unwrap_or(1)).ok()?;
    let last = match (month, day) {
        (_, Some(_)) => start,
        (Some(_), None) => start.last_of_month(),
        (None, _) => date(year, 12, 31),
    };
    Some((start, last.tomorrow().ok()))
}

/// Digits only: a sign or a blank is no date.
fn number<T: std::str::FromStr>(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<T> {
    let plain = digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
