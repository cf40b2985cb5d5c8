//! Times in Chinese and Japanese questions, which have no blanks between words.

use jiff::civil::Date;

use super::super::dates;
use super::{Days, When};

/// Words for times, with the unit and how many units before the current one; a longer word stands before one that it
/// begins with.
const NAMED: [(&str, &str, i64); 42] = [
    ("一昨日", "day", 2),
    ("大前天", "day", 3),
    ("前天", "day", 2),
    ("おととい", "day", 2),
    ("昨天", "day", 1),
    ("昨日", "day", 1),
    ("今天", "day", 0),
    ("今日", "day", 0),
    ("先々週", "week", 2),
    ("上上周", "week", 2),
    ("上上週", "week", 2),
    ("上上星期", "week", 2),
    ("上上个星期", "week", 2),
    ("上周", "week", 1),
    ("上週", "week", 1),
    ("上星期", "week", 1),
    ("上个星期", "week", 1),
    ("先週", "week", 1),
    ("这周", "week", 0),
    ("這週", "week", 0),
    ("本周", "week", 0),
    ("今週", "week", 0),
    ("上上个月", "month", 2),
    ("上上個月", "month", 2),
    ("上上月", "month", 2),
    ("先々月", "month", 2),
    ("上个月", "month", 1),
    ("上個月", "month", 1),
    ("上月", "month", 1),
    ("先月", "month", 1),
    ("这个月", "month", 0),
    ("這個月", "month", 0),
    ("本月", "month", 0),
    ("今月", "month", 0),
    ("上季度", "quarter", 1),
    ("本季度", "quarter", 0),
    ("一昨年", "year", 2),
    ("前年", "year", 2),
    ("去年", "year", 1),
    ("昨年", "year", 1),
    ("今年", "year", 0),
    ("本年", "year", 0),
];

const NEWEST: [&str; 8] = ["最新", "最近", "目前", "现状", "現状", "現在の状況", "进展", "進捗"];

/// The counters behind a number of units, with `前` after them.
const AGO: [(&str, &str); 12] = [
    ("天", "day"),
    ("日", "day"),
    ("周", "week"),
    ("週間", "week"),
    ("週", "week"),
    ("个月", "month"),
    ("個月", "month"),
    ("か月", "month"),
    ("ヶ月", "month"),
    ("カ月", "month"),
    ("年", "year"),
    ("个星期", "week"),
];

/// The first time that a text names, and its words.
pub(super) fn asked(text: &str, today: Date) -> Option<(When, &str)> {
    if text.is_ascii() {
        return None;
    }
    let starts = text.char_indices().filter(|(at, c)| !is_within(&text[..*at], *c));
    starts.map(|(at, _)| &text[at..]).find_map(|text| {
        let (when, length) = at(text, today)?;
        Some((when, &text[..length]))
    })
}

/// Whether a character goes on with a number or a word that is not known, as in `上上季度` and `以前年度`.
fn is_within(before: &str, c: char) -> bool {
    let last = before.chars().next_back();
    match c {
        '上' => last == Some('上'),
        '前' => matches!(last, Some('以' | '之' | '目' | '大' | '年')),
        _ => c.is_ascii_digit() && last.is_some_and(|last| last.is_ascii_digit()),
    }
}

/// The time that a text begins with, and its length in bytes.
fn at(text: &str, today: Date) -> Option<(When, usize)> {
    if let Some((word, unit, back)) = NAMED.iter().find(|(word, ..)| text.starts_with(word)) {
        return Some((When::of(dates::ago(unit, *back, today)?, today)?, word.len()));
    }
    if let Some(word) = NEWEST.iter().find(|word| text.starts_with(**word)) {
        return Some((When::Newest, word.len()));
    }
    let (number, rest) = number(text)?;
    let ago =
        AGO.iter().find_map(|(counter, unit)| rest.strip_prefix(counter)?.strip_prefix('前').map(|rest| (unit, rest)));
    if let Some((unit, rest)) = ago {
        let days = dates::ago(unit, number.into(), today)?;
        return Some((When::of(days, today)?, text.len() - rest.len()));
    }
    let (days, rest) = calendar(number, rest, today)?;
    Some((When::of(days, today)?, text.len() - rest.len()))
}

/// `2025年10月23日`, `2025年10月`, `2025年`, `10月23日`, `10月`.
fn calendar(first: i16, rest: &str, today: Date) -> Option<(Days, &str)> {
    let (year, month, rest) = if let Some(rest) = rest.strip_prefix('年') {
        let year = (1900..2200).contains(&first).then_some(first)?;
        let month = number(rest).and_then(|(month, rest)| Some((month, rest.strip_prefix('月')?)));
        let Some((month, rest)) = month else {
            return Some((dates::running("year", Date::new(year, 1, 1).ok()?)?, rest));
        };
        (Some(year), month, rest)
    } else {
        (None, first, rest.strip_prefix('月').filter(|rest| !rest.starts_with(['前', '球', '光']))?)
    };
    let month = i8::try_from(month).ok()?;
    let day =
        number(rest).and_then(|(day, rest)| Some((i8::try_from(day).ok()?, rest.strip_prefix(['日', '号', '號'])?)));
    let unit = if day.is_some() { "day" } else { "month" };
    let of = |year: i16| dates::running(unit, Date::new(year, month, day.map_or(1, |(day, _)| day)).ok()?);
    let days = match year {
        Some(year) => of(year)?,
        None => dates::latest(today, of)?,
    };
    Some((days, day.map_or(rest, |(_, rest)| rest)))
}

/// Up to four digits that a text begins with.
fn number(text: &str) -> Option<(i16, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok().filter(|_| digits <= 4)?, rest))
}
