//! Dates as people type them in a query.

use jiff::Span;
use jiff::civil::{Date, ISOWeekDate, Weekday, date};

/// What a user could have meant; for messages.
pub(super) const FORMS: &str = "2026, 2026-11, 2026-11-20, 2026-Q4, november, november-2026, friday, today, yesterday, 7d, 2w, 3m, 1y or last-week";

/// The first day, and the day after the last one: a year, a month, a day (`2026-11-20`, `20.11.2026`), `today`, `yesterday`, a day back from today
/// (`7d`, `2w`, `3m`, `1y`), a month or a weekday by name, in any language that names are known in (the last one,
/// today's included), `november-2026`, `november-20-2026`, `2026-W47`, `2026-Q4`, and `last` or `this` with `week` (from Monday on), `weekend`, `month`,
/// `quarter` or `year`.
pub(super) fn days(text: &str, today: Date) -> Option<(Date, Date)> {
    let text = text.trim().to_lowercase();
    match text.as_str() {
        "today" => running("day", today),
        "yesterday" => ago("day", 1, today),
        _ => match counted(&text) {
            Some((count, unit)) => running("day", before(unit, count, today)?),
            None => calendar_days(&text).or_else(|| in_figures(&text)).or_else(|| named(&text, today)),
        },
    }
}

/// The same, but a day back from today begins a time that reaches up to today.
pub(super) fn period(text: &str, today: Date) -> Option<(Date, Date)> {
    let (start, end) = days(text, today)?;
    let is_counted = counted(&text.trim().to_lowercase()).is_some();
    Some((start, if is_counted { today.tomorrow().ok()? } else { end }))
}

/// The units that times are counted in.
pub(super) const UNITS: [&str; 6] = ["day", "week", "month", "quarter", "year", "weekend"];

fn span(unit: &str, count: i64) -> Option<Span> {
    let span = match unit {
        "day" => Span::new().try_days(count),
        "week" | "weekend" => Span::new().try_weeks(count),
        "month" => Span::new().try_months(count),
        "quarter" => Span::new().try_months(count.checked_mul(3)?),
        "year" => Span::new().try_years(count),
        _ => return None,
    };
    span.ok()
}

/// The day `count` units before `day`.
pub(super) fn before(unit: &str, count: i64, day: Date) -> Option<Date> {
    day.checked_sub(span(unit, count)?).ok()
}

/// The day, week, month, quarter or year that is `count` units before the one of `day`.
pub(super) fn ago(unit: &str, count: i64, day: Date) -> Option<(Date, Date)> {
    running(unit, before(unit, count, day)?)
}

/// What `a few` of them says at least and at most.
pub(super) const FEW: (i64, i64) = (2, 6);

/// The days of the units from `most` before the one of `day` to `least` before it.
pub(super) fn ago_between(unit: &str, (least, most): (i64, i64), day: Date) -> Option<(Date, Date)> {
    Some((ago(unit, most, day)?.0, ago(unit, least, day)?.1))
}

/// What `of` gives for this year, or for last year if this year's begins after `today`.
pub(super) fn latest(today: Date, of: impl Fn(i16) -> Option<(Date, Date)>) -> Option<(Date, Date)> {
    let this = today.year();
    of(this).filter(|(start, _)| *start <= today).or_else(|| of(this - 1))
}

/// The latest month of this name, 1 (January) to 12: the running one, unless `last` is set.
pub(super) fn latest_month(month: i8, last: bool, today: Date) -> Option<(Date, Date)> {
    let day = if last { today.first_of_month().yesterday().ok()? } else { today };
    latest(day, |year| month_of(year, month))
}

/// The latest day that is this weekday, 1 (Monday) to 7: today, unless `last` is set.
pub(super) fn latest_weekday(weekday: i8, last: bool, today: Date) -> Option<(Date, Date)> {
    let back = (today.weekday().to_monday_one_offset() - weekday).rem_euclid(7);
    ago("day", i64::from(if back == 0 && last { 7 } else { back }), today)
}

/// A month, 1 to 12, of a year.
pub(super) fn month_of(year: i16, month: i8) -> Option<(Date, Date)> {
    running("month", Date::new(year, month, 1).ok()?)
}

/// The quarter, 1 to 4, that a word names: `q3`, `t3`.
pub(super) fn quarter(word: &str) -> Option<i8> {
    number(word.strip_prefix(['q', 't'])?, 1..=1).filter(|quarter| (1..=4).contains(quarter))
}

/// A quarter of a year.
pub(super) fn quarter_of(year: i16, quarter: i8) -> Option<(Date, Date)> {
    running("quarter", Date::new(year, quarter * 3 - 2, 1).ok()?)
}

/// A period by name. "Last Friday" is not today's, and "last November" not the running one.
fn named(text: &str, today: Date) -> Option<(Date, Date)> {
    let words: Vec<&str> = text.split([' ', '-', '_', ',']).filter(|word| !word.is_empty()).collect();
    let year = |text: &str| number::<i16>(text, 4..=4);
    let last = words.len() == 2;
    match *words {
        ["last", unit] if let Some(days) = ago(unit, 1, today) => Some(days),
        ["this", unit] => running(unit, today),
        ["last", name] | [name] if let Some(month) = note::month(name) => latest_month(month, last, today),
        [name] if let Some(quarter) = quarter(name) => latest(today, |year| quarter_of(year, quarter)),
        ["last", name] | [name] => latest_weekday(note::weekday(name)?, last, today),
        [name, digits] | [digits, name] if let Some((month, year)) = note::month(name).zip(year(digits)) => {
            month_of(year, month)
        }
        [name, digits] | [digits, name] if let Some((quarter, year)) = quarter(name).zip(year(digits)) => {
            quarter_of(year, quarter)
        }
        [name, day, digits] | [day, name, digits] if let Some(month) = note::month(name) => {
            running("day", Date::new(year(digits)?, month, number(day, 1..=2)?).ok()?)
        }
        _ => None,
    }
}

/// The week, month, quarter or year that a day lies in, the end of its week, or the day itself: its first day, and the day
/// after its last.
pub(super) fn running(unit: &str, day: Date) -> Option<(Date, Date)> {
    let start = match unit {
        "weekend" => {
            let (_, monday) = running("week", day)?;
            return Some((before("day", 2, monday)?, monday));
        }
        "day" => day,
        "week" => before("day", i64::from(day.weekday().to_monday_zero_offset()), day)?,
        "month" => day.first_of_month(),
        "quarter" => Date::new(day.year(), (day.month() - 1) / 3 * 3 + 1, 1).ok()?,
        "year" => day.first_of_year(),
        _ => return None,
    };
    Some((start, start.checked_add(span(unit, 1)?).ok()?))
}

/// A number of units, as `7d`, `2w`, `3m` or `1y`; `last` says the same.
fn counted(text: &str) -> Option<(i64, &'static str)> {
    let text = text.strip_prefix("last ").unwrap_or(text);
    let letter = text.chars().next_back().filter(char::is_ascii_alphabetic)?;
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let unit = UNITS.into_iter().find(|unit| *unit != "quarter" && unit.starts_with(letter))?;
    Some((digits.parse().ok()?, unit))
}

/// The days of a week that is numbered as in ISO 8601.
pub(super) fn week_of(year: i16, week: i8) -> Option<(Date, Date)> {
    running("week", ISOWeekDate::new(year, week, Weekday::Monday).ok()?.date())
}

/// `2025`, `2025-10`, `2025-10-23`, `2025-W43`.
pub(super) fn calendar_days(text: &str) -> Option<(Date, Date)> {
    let mut parts = text.split('-');
    let year: i16 = number(parts.next()?, 4..=4)?;
    if let Some(week) = text[4..].strip_prefix("-w").or_else(|| text[4..].strip_prefix("-W")) {
        return week_of(year, number(week, 1..=2)?);
    }
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
    // No day comes after the last one of 9999, which stands for "never".
    Some((start, last.tomorrow().unwrap_or(last)))
}

/// A whole day with other marks between its numbers: `20.11.2026`, `2026/11/20`.
pub(super) fn in_figures(text: &str) -> Option<(Date, Date)> {
    running("day", note::day_in_figures(text)?)
}

/// Digits only: a sign or a blank is no date.
pub(super) fn number<T: std::str::FromStr>(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<T> {
    let plain = digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
