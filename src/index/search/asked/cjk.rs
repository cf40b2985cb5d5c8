//! Times in Chinese and Japanese questions, which have no blanks between words.

use jiff::civil::Date;

use super::super::dates;
use super::{Days, When};

/// Words for times, with the unit and how many units before the current one.
const NAMED: [(&str, &str, i64); 17] = [
    ("今天|今日|今早|今朝|今晚|今晩|今夜", "day", 0),
    ("昨天|昨日|昨晚|昨晩|昨夜", "day", 1),
    ("前天|一昨日|おととい", "day", 2),
    ("大前天", "day", 3),
    ("这周末|這週末|本周末|今週末", "weekend", 0),
    ("上周末|上週末|先週末", "weekend", 1),
    ("这周|這週|本周|今週", "week", 0),
    ("上周|上週|上星期|上个星期|先週", "week", 1),
    ("上上周|上上週|上上星期|上上个星期|先々週", "week", 2),
    ("这个月|這個月|本月|今月", "month", 0),
    ("上个月|上個月|上月|先月", "month", 1),
    ("上上个月|上上個月|上上月|先々月", "month", 2),
    ("本季度", "quarter", 0),
    ("上季度", "quarter", 1),
    ("今年|本年", "year", 0),
    ("去年|昨年", "year", 1),
    ("前年|一昨年", "year", 2),
];

const NEWEST: [&str; 8] = ["最新", "最近", "目前", "现状", "現状", "現在の状況", "进展", "進捗"];

/// The counters behind a number of units, with `前` after them.
const AGO: [(&str, &str); 4] =
    [("天|日", "day"), ("周|週間|週|个星期", "week"), ("个月|個月|か月|ヶ月|カ月", "month"), ("年", "year")];

/// The first character of these scripts and their signs.
const FIRST: char = '\u{2e80}';

/// The first time that a text names, and its words.
pub(super) fn asked(text: &str, today: Date) -> Option<(When, &str)> {
    if text.chars().all(|c| c < FIRST) {
        return None;
    }
    let starts = text.char_indices().filter(|(at, c)| !is_within(&text[..*at], *c));
    starts.map(|(at, _)| &text[at..]).find_map(|text| {
        let (when, length) = at(text, today)?;
        Some((when, &text[..length]))
    })
}

/// Whether a character goes on with a number or a word that is not known, as in `上上季度`, `以前年度` and `几十年前`.
fn is_within(before: &str, c: char) -> bool {
    let of_year = before.trim_end_matches(['の', '的']);
    if ["明年", "来年", "來年"].iter().any(|ahead| of_year.ends_with(ahead)) {
        return true;
    }
    let last = before.chars().next_back();
    match c {
        '上' => last == Some('上'),
        '前' => matches!(last, Some('以' | '之' | '目' | '大' | '年')),
        _ if c.is_ascii_digit() => last.is_some_and(|last| last.is_ascii_digit()),
        _ => numeral(c).is_some() && last.is_some_and(|last| numeral(last).is_some() || MORE.contains(last)),
    }
}

/// Characters before a numeral that make another number of it.
const MORE: &str = "几幾数數百千第";

/// `a few`
const FEW: [char; 4] = ['几', '幾', '数', '數'];

/// Words between the first and the last of several times.
const TO: [&str; 6] = ["到", "至", "から", "～", "〜", "-"];
/// Words behind a time for what is before it, not of it, up to its end, and from its beginning on.
const BEFORE: [&str; 3] = ["以前", "之前", "より前"];
const BESIDES: [&str; 2] = ["以外", "除外"];
const UNTIL: [&str; 2] = ["まで", "为止"];
const SINCE: [&str; 10] = ["以降", "以后", "以後", "之后", "之後", "以来", "以來", "から", "开始", "開始"];

/// The time that a text begins with, and its length in bytes.
fn at(text: &str, today: Date) -> Option<(When, usize)> {
    if let Some(word) = NEWEST.iter().find(|word| text.starts_with(**word)) {
        return Some((When::Newest, word.len()));
    }
    let ((start, end), rest) = days(text, today)?;
    let behind = |words: &[&str]| {
        let rest = rest.strip_prefix('份').unwrap_or(rest);
        words.iter().find_map(|word| rest.strip_prefix(word))
    };
    if behind(&BESIDES).is_some() {
        return None;
    }
    let taken = |rest: &str| text.len() - rest.len();
    // The year of the first is that of the second, too.
    let second = |rest| {
        let same_year = month_of(start.year(), rest).filter(|((_, after), _)| start < *after);
        same_year.or_else(|| days(rest, today)).or_else(|| day_of(rest, start))
    };
    if let Some(((_, end), rest)) = behind(&TO).and_then(second) {
        let rest = UNTIL.iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
        return Some((When::of((start, end), today)?, taken(rest)));
    }
    for (words, until) in [(&BEFORE[..], start), (&UNTIL, end)] {
        if let Some(rest) = behind(words) {
            return (until <= today).then_some((When::Days(Date::constant(1, 1, 1), Some(until)), taken(rest)));
        }
    }
    if let Some(rest) = behind(&SINCE) {
        return (start <= today).then_some((When::Days(start, None), taken(rest)));
    }
    Some((When::of((start, end), today)?, taken(rest)))
}

/// The days that a text begins with, and what follows.
fn days(text: &str, today: Date) -> Option<(Days, &str)> {
    let named = NAMED.iter().flat_map(|(words, unit, back)| words.split('|').map(move |word| (word, *unit, *back)));
    if let Some((word, unit, back)) =
        named.filter(|(word, ..)| text.starts_with(word)).max_by_key(|(word, ..)| word.len())
    {
        let (days, rest) = (dates::ago(unit, back, today)?, &text[word.len()..]);
        let within = match unit {
            "year" => month_of(days.0.year(), rest.strip_prefix(['の', '的']).unwrap_or(rest)),
            "month" => day_of(rest, days.0),
            "week" => weekday_of(days.0, rest),
            _ => None,
        };
        return Some(within.unwrap_or((days, rest)));
    }
    let (number, rest) = match text.strip_prefix(FEW) {
        Some(rest) => (dates::FEW, rest),
        None => number(text).map(|(number, rest)| ((number.into(), number.into()), rest))?,
    };
    let ago = AGO.iter().find_map(|(counters, unit)| {
        let mut behind = counters.split('|').filter_map(|counter| rest.strip_prefix(counter)?.strip_prefix('前'));
        behind.next().map(|rest| (unit, rest))
    });
    match ago {
        Some((unit, rest)) => Some((dates::ago_between(unit, number, today)?, rest)),
        None => calendar(i16::try_from(number.0).ok().filter(|_| number != dates::FEW)?, rest, today),
    }
}

/// The day of a week that a text begins with: `一` behind `上周`, `の金曜日` behind `先週`.
fn weekday_of(monday: Date, text: &str) -> Option<(Days, &str)> {
    let named = text.strip_prefix('の').unwrap_or(text);
    let japanese = named.chars().next().zip(named.chars().nth(1)).filter(|(_, next)| *next == '曜');
    let (place, rest) = if let Some((c, _)) = japanese {
        let rest = named.get(c.len_utf8() + '曜'.len_utf8()..)?;
        ("月火水木金土日".chars().position(|day| day == c)?, rest.strip_prefix('日').unwrap_or(rest))
    } else {
        let c = text.chars().next()?;
        let rest = &text[c.len_utf8()..];
        // `上周一直` is no Monday, nor is `上周日记` a Sunday.
        let ends = !rest.starts_with(|next| "直起共些下个個次天同种種记記程志誌报報常".contains(next));
        ("一二三四五六日".chars().position(|day| day == c || (c == '天' && day == '日')).filter(|_| ends)?, rest)
    };
    let back = i64::try_from(place).ok()?;
    Some((dates::running("day", dates::before("day", -back, monday)?)?, rest))
}

/// `2025年10月23日`, `2025年10月`, `2025年`, `10月23日`, `10月`.
fn calendar(first: i16, rest: &str, today: Date) -> Option<(Days, &str)> {
    if let Some(rest) = rest.strip_prefix('年') {
        let year = (1900..2200).contains(&first).then_some(first)?;
        return month_of(year, rest).or_else(|| Some((dates::running("year", Date::new(year, 1, 1).ok()?)?, rest)));
    }
    let rest = rest.strip_prefix('月').filter(|rest| !rest.starts_with(['前', '球', '光']))?;
    let month = i8::try_from(first).ok()?;
    let of = |year: i16| {
        let month = dates::month_of(year, month)?;
        Some(day_of(rest, month.0).unwrap_or((month, rest)))
    };
    let (.., after) = of(today.year())?;
    Some((dates::latest(today, |year| Some(of(year)?.0))?, after))
}

/// A month of a year, or a day of it, that a text begins with.
fn month_of(year: i16, text: &str) -> Option<(Days, &str)> {
    let (month, rest) = number(text)?;
    let rest = rest.strip_prefix('月')?;
    let month = dates::month_of(year, i8::try_from(month).ok()?)?;
    Some(day_of(rest, month.0).unwrap_or((month, rest)))
}

/// The day that a text begins with, in the month of another.
fn day_of(text: &str, month: Date) -> Option<(Days, &str)> {
    let (day, rest) = number(text)?;
    let rest = rest.strip_prefix(['日', '号', '號'])?;
    Some((dates::running("day", month.with().day(i8::try_from(day).ok()?).build().ok()?)?, rest))
}

/// Up to four digits that a text begins with, in figures or in words, or a number below a hundred in words.
fn number(text: &str) -> Option<(i16, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let (number, rest) = text.split_at(digits);
        return Some((number.parse().ok().filter(|_| digits <= 4)?, rest));
    }
    // A year has its digits side by side: `二〇二五`.
    let end = text.find(|c| numeral(c).is_none_or(|value| value >= 10)).unwrap_or(text.len());
    if text[..end].chars().count() == 4 {
        return Some((text[..end].chars().filter_map(numeral).fold(0, |year, digit| year * 10 + digit), &text[end..]));
    }
    let (mut number, mut length, mut last) = (0, 0, None);
    for c in text.chars() {
        let Some(value) = numeral(c) else { break };
        number = match (last, value) {
            (None, 1..) => value,
            (Some(1..=9), 10) => number * 10,
            (Some(10), 1..=9) => number + value,
            _ => return None,
        };
        (length, last) = (length + c.len_utf8(), Some(value));
    }
    last.map(|_| (number, &text[length..]))
}

/// Zero to ten.
fn numeral(c: char) -> Option<i16> {
    let place = "〇一二三四五六七八九十".chars().position(|numeral| numeral == c);
    match c {
        '零' => Some(0),
        '两' | '兩' => Some(2),
        _ => i16::try_from(place?).ok(),
    }
}
