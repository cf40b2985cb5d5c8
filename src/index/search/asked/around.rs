//! What stands around a time and makes another one of it, or none: `March last year`, `the last week of October`, `half a
//! year ago`, `not in March`, `week of March 3`, `March to May 2025`, `in March and April`. Where it cannot be read rightly,
//! it is not read.

use jiff::civil::Date;

use super::lexicon::{Role, Word};
use super::{ARTICLES, Days, FILLING, LANGUAGES, Reader, When, YEARS, dates, day, year};

/// Words that leave out the time behind them.
const EXCLUDING: [&str; 30] = [
    "not",
    "except",
    "excluding",
    "without",
    "unlike",
    "nicht",
    "ausser",
    "pas",
    "sauf",
    "hors",
    "excepto",
    "menos",
    "salvo",
    "non",
    "tranne",
    "eccetto",
    "nao",
    "exceto",
    "niet",
    "behalve",
    "не",
    "кроме",
    "inte",
    "utom",
    "ikke",
    "unntatt",
    "undtagen",
    "undtaget",
    "ei",
    "paitsi",
];
/// Words that may stand between such a word and a time.
const BETWEEN: [&str; 8] = ["for", "the", "in", "from", "im", "en", "à", "le"];
/// Words between a time and a longer one that it is a part of.
const PART_OF: [&str; 17] =
    ["of", "in", "du", "de", "del", "des", "d'", "im", "vom", "di", "do", "da", "em", "en", "van", "i", "av"];
/// A share of a unit is no unit.
const SHARES: [&str; 3] = ["half", "quarter", "third"];
/// A half more, as some languages say it behind a time.
const HALVES: [&str; 8] = ["half", "demi", "demie", "medio", "media", "mezzo", "meio", "meia"];
/// `and` before it.
const AND: [&str; 6] = ["and", "et", "y", "e", "und", "en"];
/// Words between two years that are both meant.
const OR: [&str; 18] =
    ["or", "and", "oder", "und", "ou", "et", "o", "u", "y", "e", "of", "en", "или", "и", "eller", "och", "og", "ja"];
/// Words behind which a number is a name, and no year.
const NUMBERED: [&str; 10] = ["no", "nr", "num", "number", "nummer", "numero", "error", "fehler", "erreur", "code"];
/// Words before which a number says how much.
const MEASURES: [&str; 22] = [
    "iu", "ie", "eur", "euro", "euros", "usd", "dollar", "dollars", "pounds", "gbp", "chf", "kr", "rub", "kcal", "mg",
    "g", "kg", "ml", "mm", "m", "km", "mah",
];
/// Words for a week that has a number in the calendar wherever one stands behind them.
const WEEKS: [&str; 8] = ["kw", "cw", "kalenderwoche", "vecka", "uke", "uge", "viikko", "viikolla"];

/// Days of the shortest month, and of the shortest year.
const MONTH: i32 = 28;
const YEAR: i32 = 365;

impl Reader<'_> {
    fn is_any(&self, at: Option<usize>, words: &[&str]) -> bool {
        at.and_then(|at| self.word(at)).is_some_and(|word| words.contains(&word))
    }

    /// Whether the time that begins at a word is to be left out.
    pub(super) fn is_excluded(&self, at: usize) -> bool {
        let before = at.checked_sub(1);
        self.is_any(before, &EXCLUDING) || self.is_any(before, &BETWEEN) && self.is_any(at.checked_sub(2), &EXCLUDING)
    }

    /// Whether a number counts units of which a share is meant: `half a year`, `a quarter of a year`.
    pub(super) fn is_share(&self, at: usize) -> bool {
        let before = at.checked_sub(1);
        self.is_any(before, &SHARES) || self.is_any(before, &["of"]) && self.is_any(at.checked_sub(2), &SHARES)
    }

    /// Whether days that end before a word are said to be a part of a longer time, so that they are reckoned from its end
    /// and not from today; or are said to be half a unit more.
    pub(super) fn is_part(&self, end: usize, (start, after): Days) -> bool {
        if self.is_any(Some(end), &AND) && (end + 1..end + 3).any(|at| self.is_any(Some(at), &HALVES)) {
            return true;
        }
        if !self.is_any(Some(end), &PART_OF) {
            return false;
        }
        let next = self.behind(&ARTICLES, end + 1);
        let longer = match self.unit_of_last(next) {
            Some("year") => YEAR,
            Some("quarter" | "month") => MONTH,
            Some(_) => 0,
            None if self.a_year(next).is_some() => YEAR,
            None if self.month(next, None).is_some() => MONTH,
            None => 0,
        };
        days(start, after) < longer
    }

    /// The unit of `last month`, `this year`.
    fn unit_of_last(&self, at: usize) -> Option<&'static str> {
        let mut phrases = self.phrases(at, None).filter(|(_, role, _)| matches!(role, Role::Last | Role::This));
        phrases.find_map(|(language, _, count)| Some(self.unit(at + count, language)?.1))
    }

    /// The year that is reckoned from today behind a month: `last year`, `two years ago`.
    pub(super) fn year_behind(&self, at: usize) -> Option<(usize, i16)> {
        let at = self.behind(&FILLING, at);
        let is_year = |(_, (start, after)): &(usize, Days)| {
            (start.month(), start.day(), after.month(), after.day()) == (1, 1, 1, 1) && after.year() == start.year() + 1
        };
        // `il y a deux ans` begins with what is an article elsewhere.
        let behind = self.relative(at, None).chain(self.relative(self.behind(&ARTICLES, at), None));
        behind.filter(is_year).map(|(end, (start, _))| (end, start.year())).max()
    }

    /// Whether the number at a word is none of a year, for what stands beside it: `RFC 2025`, `error 2013`, `2021 euros`,
    /// `0000 2020 51`.
    pub(super) fn counts(&self, at: usize) -> bool {
        let before = at.checked_sub(1);
        let is_group = |word: &Word| {
            word.text.len() > 2 && word.text.bytes().all(|b| b.is_ascii_digit()) && year(&word.text).is_none()
        };
        before.is_some_and(|before| self.words[before].capitals || is_group(&self.words[before]))
            || self.is_any(before, &NUMBERED)
            || self.is_any(Some(at + 1), &MEASURES)
    }

    /// `week of March 3`; `KW 47`, `vecka 47 2025`, `week 47 of 2025`: without a year, `week` may be one of a course. `next` is
    /// the place behind the word for a week.
    pub(super) fn week(&self, at: usize, next: usize) -> Option<(usize, Days)> {
        if let Some(week) = self.word(next).and_then(|word| dates::number::<i8>(word, 1..=2)) {
            let of = |year: i16| dates::week_of(year, week);
            return match self.year_of(next + 1) {
                Some((end, year)) => Some((end, of(year)?)),
                None => Some((next + 1, dates::latest(self.today, of).filter(|_| self.is_any(Some(at), &WEEKS))?)),
            };
        }
        let day = self.is_any(Some(next), &PART_OF).then(|| self.behind(&ARTICLES, next + 1))?;
        let (end, (start, _)) = self.point(day, None).filter(|(_, (start, after))| days(*start, *after) == 1)?;
        Some((end, dates::running("week", start)?))
    }

    /// `KW 47`
    pub(super) fn week_in_figures(&self, at: usize) -> Option<(usize, Days)> {
        self.is_any(Some(at), &["kw", "cw"]).then(|| self.week(at, at + 1))?
    }

    /// Times that belong together without a word before them, and where they end: `June to August 2025`, `01.03. bis
    /// 15.04.2025`, `1 March - 15 April`, `March and April 2025`. Where they cannot be read, neither is one of them.
    pub(super) fn together(&self, at: usize) -> Option<(usize, Option<When>)> {
        let begins = self.word(at)?.starts_with(|c: char| c.is_ascii_digit()) || self.month(at, None).is_some();
        if !begins || self.days_of_month(at).is_some() {
            return None;
        }
        let months =
            || self.months(at, None).map(|(end, days)| (end, days.and_then(|days| When::of(days, self.today))));
        (0..LANGUAGES.len()).find_map(|language| self.range(at, language, Role::To)).or_else(months)
    }

    /// From one time to another, and where they end; no time if both lie ahead, or the second before the first. The first
    /// may be a part of the second: `10 and 12 March`, `01.03. to 15.04.2025`.
    pub(super) fn range(&self, at: usize, language: usize, joint: Role) -> Option<(usize, Option<When>)> {
        let bare = self.behind(&ARTICLES, at);
        if let Some((end, days)) = self.days_of_month(bare) {
            return Some((end, When::of(days, self.today)));
        }
        let first_of = |reader: &Self| {
            let short = || Some((bare + 1, dates::latest_month(reader.month(bare, None)?, false, reader.today)?));
            reader.side(at, language).or_else(short)
        };
        let first = first_of(self);
        let next = first.map_or(bare + 1, |(end, _)| end);
        let is_dash = joint == Role::To && self.words.get(next)?.dashed;
        let count = if is_dash { 0 } else { self.role(next, language, joint)? };
        let (taken, (last, end)) = self.side(next + count, language)?;
        let day = end.yesterday().ok()?;
        let start = match first {
            // What is reckoned from today stays so; `March` is the latest one before the end.
            Some((_, (start, _))) if (at..next).any(|at| self.relative(at, Some(language)).next().is_some()) => start,
            Some(_) => first_of(&Reader { words: self.words, today: day })?.1.0,
            None if day == last => day_before(self.word(bare)?, last)?,
            None => return None,
        };
        Some((taken, if start <= last { When::of((start, end), self.today) } else { None }))
    }

    /// A time that is one of two; of a year, only that one.
    fn side(&self, at: usize, language: usize) -> Option<(usize, Days)> {
        let bare = self.behind(&ARTICLES, at);
        match self.a_year(bare).filter(|year| YEARS.contains(year)) {
            Some(year) if self.quarter(bare).is_none() => {
                Some((bare + 1, dates::running("year", Date::new(year, 1, 1).ok()?)?))
            }
            _ => self.time(at, language),
        }
    }

    /// Two neighbouring months and where they end; no days if others lie between. With a language, their names are enough.
    pub(super) fn months(&self, at: usize, language: Option<usize>) -> Option<(usize, Option<Days>)> {
        let month = self.month(at, language)?;
        let next = self.word(at + 1).filter(|word| OR.contains(word)).map(|_| at + 2)?;
        let named = || Some((next + 1, dates::latest_month(self.month(next, Some(language?))?, false, self.today)?));
        let (end, (start, after)) = self.month_and_year(next).or_else(named)?;
        let first = start.yesterday().ok()?.first_of_month();
        Some((end, (first.month() == month).then_some((first, after))))
    }

    /// The place behind what joins the first and the last of several days, if it stands here.
    fn joined(&self, at: usize) -> Option<usize> {
        if self.words.get(at)?.dashed {
            return Some(at);
        }
        self.phrases(at, None).filter(|(_, role, _)| *role == Role::To).map(|(.., count)| at + count).max()
    }

    /// `10 to 14 March`, `10-14 March 2025`, `March 10 – 14`.
    pub(super) fn days_of_month(&self, at: usize) -> Option<(usize, Days)> {
        let (month, (first, last, end)) = match self.some_days(at) {
            Some(days) => {
                let month_at = self.behind(&FILLING, days.2);
                (self.month(month_at, None)?, (days.0, days.1, month_at + 1))
            }
            None => (self.month(at, None)?, self.some_days(at + 1)?),
        };
        self.in_year(end, |year| {
            let last = Date::new(year, month, last).ok()?;
            Some((Date::new(year, month, first).ok()?, last.tomorrow().ok()?))
        })
    }

    /// The numbers of two days, and the place behind them.
    fn some_days(&self, at: usize) -> Option<(i8, i8, usize)> {
        let word = self.word(at)?;
        let (first, last, end) = if let Some((first, last)) = word.split_once(['-', '–']) {
            (day(first)?, day(last)?, at + 1)
        } else {
            let next = self.joined(at + 1)?;
            (day(word)?, day(self.word(next)?)?, next + 1)
        };
        (first < last).then_some((first, last, end))
    }

    /// The last of the years that begin with one, and the place behind it: `2024 or 2025`. None if they are not all the
    /// years between.
    pub(super) fn up_to_year(&self, at: usize, year: i16) -> Option<(usize, i16)> {
        let joins = |at: usize| self.word(at).is_some_and(|word| OR.contains(&word));
        if at >= 2 && joins(at - 1) && self.a_year(at - 2).is_some() {
            // The second of two years that could not be read together.
            return None;
        }
        match self.a_year(at + 2).filter(|_| joins(at + 1)) {
            Some(last) => (last == year + 1).then_some((at + 3, last)),
            None => Some((at + 1, year)),
        }
    }
}

fn days(start: Date, after: Date) -> i32 {
    after.duration_since(start).as_hours() as i32 / 24
}

/// The day that a number is, or day and month in figures (`01.03`), in the month or year up to another day.
fn day_before(word: &str, last: Date) -> Option<Date> {
    let start = match word.split_once('.') {
        Some((day, month)) => {
            let (day, month) = (dates::number(day, 1..=2)?, dates::number(month, 1..=2)?);
            dates::latest(last, |year| dates::running("day", Date::new(year, month, day).ok()?))?.0
        }
        None => last.with().day(day(word)?).build().ok()?,
    };
    (start <= last).then_some(start)
}
