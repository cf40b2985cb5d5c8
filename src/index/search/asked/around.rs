//! What stands around a time and makes another one of it, or none: `March last year`, `the last week of October`, `half a
//! year ago`, `not in March`, `10 to 14 March`. Where it cannot be read rightly, it is not read.

use jiff::civil::Date;

use super::lexicon::Role;
use super::{ARTICLES, Days, FILLING, LANGUAGES, Reader, day};

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
    ["of", "in", "du", "de", "del", "des", "d", "im", "vom", "di", "do", "da", "em", "en", "van", "i", "av"];
/// A share of a unit is no unit.
const SHARES: [&str; 3] = ["half", "quarter", "third"];
/// A half more, as some languages say it behind a time.
const HALVES: [&str; 8] = ["half", "demi", "demie", "medio", "media", "mezzo", "meio", "meia"];
/// `and` before it.
const AND: [&str; 6] = ["and", "et", "y", "e", "und", "en"];
/// Words between two years that are both meant.
const OR: [&str; 18] =
    ["or", "and", "oder", "und", "ou", "et", "o", "u", "y", "e", "of", "en", "или", "и", "eller", "och", "og", "ja"];

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
        let is_month = || (0..LANGUAGES.len()).any(|language| self.month(next, Some(language)).is_some());
        let longer = match self.unit_of_last(next) {
            Some("year") => YEAR,
            Some("quarter" | "month") => MONTH,
            Some(_) => 0,
            None if self.a_year(next).is_some() => YEAR,
            None => {
                if is_month() {
                    MONTH
                } else {
                    0
                }
            }
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
        let at = self.behind(&ARTICLES, self.behind(&FILLING, at));
        let is_year = |(_, (start, after)): &(usize, Days)| {
            (start.month(), start.day(), after.month(), after.day()) == (1, 1, 1, 1) && after.year() == start.year() + 1
        };
        self.relative(at, None).filter(is_year).map(|(end, (start, _))| (end, start.year())).max()
    }

    /// The place behind what joins the first and the last of several days or years, if it stands here.
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

    /// The last of the years that begin with one, and the place behind it: `2024 to 2026`, `2024 or 2025`. None if they
    /// are not all the years between.
    pub(super) fn up_to_year(&self, at: usize, year: i16) -> Option<(usize, i16)> {
        // The second of two years that could not be read together.
        let joins = |between: usize| self.is_any(Some(between), &OR) || self.joined(between) == Some(at);
        if (at >= 1 && self.joined(at) == Some(at) && self.a_year(at - 1).is_some())
            || (at >= 2 && joins(at - 1) && self.a_year(at - 2).is_some())
        {
            return None;
        }
        if let Some((end, last)) = self.joined(at + 1).and_then(|end| Some((end, self.a_year(end)?))) {
            return (last > year).then_some((end + 1, last));
        }
        match self.a_year(at + 2).filter(|_| self.is_any(Some(at + 1), &OR)) {
            Some(last) => (last == year + 1).then_some((at + 3, last)),
            None => Some((at + 1, year)),
        }
    }
}

fn days(start: Date, after: Date) -> i32 {
    after.duration_since(start).as_hours() as i32 / 24
}
