//! Days as people and programs write them, in properties and in file names.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

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
/// `Nov 20th, 2026` with any weekday, `2026年11月20日`, digits (see [`from_digits`]), all also as `[[link]]`.
pub(super) fn from_text(text: &str) -> Option<Date> {
    let text = text.trim().trim_start_matches("[[").trim_end_matches("]]").trim();
    // No date is that long; this bounds the work on a property that is really a text.
    if text.len() > 100 {
        return None;
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return from_digits(text);
    }
    year_first(text).map(|(date, _)| date).or_else(|| day_first(text)).or_else(|| month_in_words(text))
}

/// 8 digits: year, month, day; 12 or 14: the same with a time; else seconds or milliseconds since 1970,
/// told apart by their number (10 and 11 to 13), in UTC.
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
    Some((date(year, month, day)?, text.len() - rest.len()))
}

/// `20.11.2026`; with `/` or `-` only if one of the two can be no month, for both orders are in use.
fn day_first(text: &str) -> Option<Date> {
    let (first, rest) = digits(text, 1, 2)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '.' | '/' | '-'))?;
    let (second, rest) = digits(&rest[1..], 1, 2)?;
    let (year, _) = digits(rest.strip_prefix(separator)?, 4, 4)?;
    let is_day = |text: &str| text.parse::<u8>().is_ok_and(|n| n > 12);
    match separator {
        '.' => date(year, second, first),
        _ if is_day(first) || first == second => date(year, second, first),
        _ if is_day(second) => date(year, first, second),
        _ => None,
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// A month's English name or its first three letters or more, a day before or after it, a year of four digits.
fn month_in_words(text: &str) -> Option<Date> {
    let (mut month, mut day, mut year) = (None, None, None);
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.is_ascii()) {
        let lower = word.to_ascii_lowercase();
        let number = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = &lower[number.len()..];
        match number.len() {
            0 if lower.len() >= 3 => {
                let named =
                    MONTHS.iter().position(|name| name.starts_with(&lower) || lower == "sept" && *name == "september");
                month = month.or(named.and_then(|index| i8::try_from(index + 1).ok()));
            }
            1 | 2 if matches!(suffix, "" | "st" | "nd" | "rd" | "th") => {
                day = day.or(number.parse::<i8>().ok());
            }
            4 if suffix.is_empty() => year = year.or(number.parse::<i16>().ok()),
            _ => {}
        }
    }
    Date::new(year?, month?, day?).ok()
}

/// The first date in a file name: `2026-11-20`, `2026_11_20`, `2026.11.20`, `20261120`, or a note id that
/// begins with one (`202611201230`). Digits beside it make it no date.
pub(super) fn in_name(name: &str) -> Option<Date> {
    let bytes = name.as_bytes();
    (0..bytes.len())
        .filter(|&at| bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_digit()))
        .find_map(|at| name_date(&name[at..]).map(|(date, _)| date))
}

/// Whether a file name is a date and nothing else, as a daily note's is.
pub(super) fn is_name(name: &str) -> bool {
    name_date(name).is_some_and(|(_, length)| length == name.len() && length <= 10)
}

fn name_date(text: &str) -> Option<(Date, usize)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    match count {
        4 => year_first(text).filter(|(_, length)| *length == 10 && !matches!(text.as_bytes()[4], b'/')),
        8 => compact(&text[..count]).map(|date| (date, count)),
        12 | 14 => compact_with_time(&text[..count]).map(|date| (date, count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
