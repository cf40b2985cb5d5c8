//! What stands around a time and makes another one of it, or none: `March last year`, `the last week of October`, `half a
//! year ago`, `not in March`, `week of March 3`, `March to May 2025`, `in March and April`. Where it cannot be read rightly,
//! it is not read.

use std::ops::Range;

use jiff::civil::Date;

use super::lexicon::{Role, Word};
use super::{ARTICLES, Days, FILLING, LANGUAGES, Reader, When, YEARS, dates, day, year};

/// Words that leave out the time behind them.
const EXCLUDING: &str = "not except excluding without unlike nicht ausser pas sauf hors excepto \
     menos salvo non tranne eccetto nao exceto niet behalve не кроме inte utom ikke unntatt undtagen undtaget ei \
     paitsi";
/// Words that may stand between such a word and a time.
const BETWEEN: &str = "for the in from im en à le";
/// Words between a time and a longer one that it is a part of: those that say so of whatever is behind them, without and
/// with an article, and others.
const OF: &str = "of de d' di van av af";
const OF_THE: &str = "du del des della dell' do da";
const IN: &str = "in im vom em en i na";
/// A share of a unit is no unit.
const SHARES: &str = "half quarter third";
/// A half more, as some languages say it behind a time.
const HALVES: &str = "half demi demie medio media mezzo meio meia";
/// `and` before it.
const AND: &str = "and et y e und en";
/// Words behind which a number is a name, and no year.
const NUMBERED: &str = "no nr num number nummer numero error fehler erreur code";
/// Words before which a number says how much.
const MEASURES: &str = "iu ie eur euro euros usd dollar dollars pounds gbp chf kr rub kcal mg g kg \
     ml mm m km mah h am pm uhr min minutes";
/// Words for a week that has a number in the calendar wherever one stands behind them.
const WEEKS: &str = "kw cw kalenderwoche vecka uke uge viikko viikolla";

/// Words that a time and the one that joins it to another take at most.
const MOST_OF_TIME: usize = 9;

/// Days of the shortest month, and of the shortest year.
const MONTH: i32 = 28;
const YEAR: i32 = 365;

impl Reader<'_> {
    fn is_any(&self, at: usize, words: &str) -> bool {
        self.word(at).is_some_and(|word| words.split(' ').any(|one| one == word))
    }

    /// The place behind one of these words, if there is one.
    pub(super) fn behind(&self, words: &str, at: usize) -> usize {
        at + usize::from(self.is_any(at, words))
    }

    /// Whether the time that begins at a word is to be left out.
    pub(super) fn is_excluded(&self, at: usize) -> bool {
        let before = at.wrapping_sub(1);
        self.is_any(before, EXCLUDING) || self.is_any(before, BETWEEN) && self.is_any(at.wrapping_sub(2), EXCLUDING)
    }

    /// Whether a number counts units of which a share is meant: `half a year`, `a quarter of a year`.
    pub(super) fn is_share(&self, at: usize) -> bool {
        let before = at.wrapping_sub(1);
        self.is_any(before, SHARES) || self.is_any(before, "of") && self.is_any(at.wrapping_sub(2), SHARES)
    }

    /// The place behind words that may stand between a time and a longer one that it is a part of.
    fn behind_part(&self, at: usize) -> usize {
        match self.behind(OF, self.behind(OF_THE, self.behind(IN, at))) {
            next if next > at => self.behind(ARTICLES, next),
            _ => at,
        }
    }

    /// Whether days that end before a word are said to be a part of a longer time, so that they are reckoned from its end
    /// and not from today; or are said to be half a unit more.
    pub(super) fn is_part(&self, end: usize, (start, after): Days) -> bool {
        if self.is_any(end, AND) && (end + 1..end + 3).any(|at| self.is_any(at, HALVES)) {
            return true;
        }
        let next = self.behind_part(end);
        let longer = match self.unit_of_last(next) {
            _ if next == end => 0,
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
        let mut phrases = self.phrases(at, None).filter(|(_, role, _)| matches!(role, Role::Beside(_)));
        phrases.find_map(|(language, _, count)| Some(self.unit(at + count, language)?.1))
    }

    /// Whether `last …` that ends before a word is the last one of something, and not reckoned from today: `last day of the
    /// course`, `last quarter 2025`, `последняя неделя октября`; but of `the last two weeks of meetings` any may be meant.
    pub(super) fn is_last_of(&self, end: usize, language: usize, counted: bool) -> bool {
        let month = || self.month(end, Some(language)).is_some() && !self.is_verb(end);
        let is_of = self.is_any(end, OF) && (!counted || self.is_any(end + 1, ARTICLES));
        is_of || self.is_any(end, OF_THE) || self.a_year(end).is_some() || month()
    }

    /// The year or the week that is reckoned from today behind a part of it: `March last year`, `Monday of last week`.
    pub(super) fn whole_behind(&self, at: usize, unit: &str) -> Option<(usize, Days)> {
        // `i år`, `il y a deux ans` begin with what may stand before them.
        let behind = (at..=self.behind(ARTICLES, self.behind_part(at))).flat_map(|at| self.relative(at, None));
        behind.filter(|(_, days)| dates::running(unit, days.0) == Some(*days)).max()
    }

    /// Whether the number at a word is none of a year, for what stands beside it: `RFC 2025`, `error 2013`, `2021 euros`,
    /// `0000 2020 51`.
    pub(super) fn counts(&self, at: usize) -> bool {
        let before = at.wrapping_sub(1);
        let is_group = |word: &Word| {
            word.text.len() > 2 && word.text.bytes().all(|b| b.is_ascii_digit()) && year(&word.text).is_none()
        };
        self.words.get(before).is_some_and(|word| word.capitals || is_group(word))
            || self.is_any(before, NUMBERED)
            || self.is_any(at + 1, MEASURES)
    }

    /// Whether the number at a word says how much of what stands behind it, or which day of it.
    pub(super) fn is_measured(&self, at: usize) -> bool {
        let is_unit = |(_, role, _)| matches!(role, Role::Unit(_) | Role::Month(_));
        self.is_any(at + 1, MEASURES) || self.a_year(at + 1).is_some() || self.phrases(at + 1, None).any(is_unit)
    }

    /// `week of March 3`; `KW 47`, `vecka 47 2025`, `week 47 of 2025`: without a year, `week` may be one of a course.
    pub(super) fn week(&self, at: usize) -> Option<(usize, Days)> {
        let next = at + self.phrases(at, None).find(|(_, role, _)| *role == Role::Unit("week"))?.2;
        if let Some(week) = self.word(next).and_then(|word| dates::number::<i8>(word, 1..=2)) {
            let of = |year: i16| dates::week_of(year, week);
            return match self.year_of(next + 1) {
                Some((end, year)) => Some((end, of(year)?)),
                None => Some((next + 1, dates::latest(self.today, of).filter(|_| self.is_any(at, WEEKS))?)),
            };
        }
        let day = self.behind_part(next);
        let is_day = |(_, (start, after)): &(usize, Days)| day > next && days(*start, *after) == 1;
        let (end, (start, _)) = self.date(day).filter(is_day)?;
        Some((end, dates::running("week", start)?))
    }

    /// Times that belong together without a word before them, and where they end: `June to August 2025`, `01.03. bis
    /// 15.04.2025`, `1 March - 15 April`, `March and April 2025`. Where they cannot be read, neither is one of them.
    pub(super) fn together(&self, at: usize) -> Option<(usize, Option<When>)> {
        if self.days_of_month(at).is_some() {
            return None;
        }
        self.joined(at).find_map(|language| {
            let (end, when) = self.range(at, language, false)?;
            let digits = |at| self.word(at).is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()));
            let is_sure = (at..end).any(|at| digits(at) || self.relative(at, None).next().is_some());
            let is_to = (at + 1..end).any(|at| self.behind_to(at, Some(language)).is_some());
            // `April and June` are people; `Montag bis Freitag` is every week.
            (is_sure || is_to).then(|| (end, when.filter(|_| is_sure || self.weekday(at, None).is_none())))
        })
    }

    /// The languages of words near behind a place that may join two times; of a dash, all.
    fn joined(&self, at: usize) -> impl Iterator<Item = usize> {
        let near = at + 1..(at + MOST_OF_TIME).min(self.words.len());
        let dashed = near.clone().any(|at| self.words[at].dashed).then_some(0..LANGUAGES.len());
        let joints = near.flat_map(|at| self.phrases(at, None));
        let joints = joints.filter(|(_, role, _)| matches!(role, Role::To | Role::And)).map(|(language, ..)| language);
        dashed.into_iter().flatten().chain(joints)
    }

    /// Two times that are one, and where they end: from one to the other, as `to` joins them, or as `and` does behind
    /// `between`; or both of them, which must be neighbours. No time if they are none, or lie ahead. The first may be a part
    /// of the second: `10 and 12 March`, `01.03. to 15.04.2025`.
    pub(super) fn range(&self, at: usize, language: usize, between: bool) -> Option<(usize, Option<When>)> {
        let bare = self.behind(ARTICLES, at);
        if let Some((end, days)) = self.days_of_month(bare) {
            return Some((end, When::of(days, self.today)));
        }
        self.joined(at).any(|joined| joined == language).then_some(())?;
        // `du lundi 3 au vendredi 7 mars`
        let is_day = self.word(bare + 1).and_then(day).is_some() && self.date(bare + 1).is_none();
        let is_day = is_day && self.weekday(bare, None).is_some();
        let bare = bare + usize::from(is_day);
        let first = if is_day { None } else { self.side(at, language) };
        let next = first.map_or(bare + 1, |(end, _)| end);
        let to = self.behind_to(next, Some(language)).filter(|_| !between);
        let second = to.or_else(|| self.behind_and(next, language))?;
        // The second is the last one within a year from the first, and the first the latest before the second.
        let year_later = first.and_then(|(_, (start, _))| dates::before("year", -1, start));
        let by = year_later.map_or(self.today, |day| day.min(self.today));
        let (end, (last, after)) = self.side_by(second, language, by)?;
        let (start, first_after) = match first {
            Some(_) => self.side_by(at, language, after.yesterday().ok()?)?.1,
            None => self.day_before(bare, second..end, last).filter(|_| days(last, after) == 1)?,
        };
        let is_number = |at| self.a_year(at).is_some_and(|year| !YEARS.contains(&year));
        let days = if [bare, second].into_iter().any(is_number) {
            None
        } else if between || to.is_some() {
            (start <= last).then_some((start, after))
        } else if first_after == last {
            Some((start, after))
        } else {
            (after == start).then_some((last, first_after))
        };
        Some((end, days.and_then(|days| When::of(days, self.today))))
    }

    /// A time that is one of two; of a year, only that one.
    fn side(&self, at: usize, language: usize) -> Option<(usize, Days)> {
        let bare = self.behind(ARTICLES, at);
        match self.a_year(bare).filter(|_| !self.counts(bare)) {
            Some(year) if self.quarter(bare).is_none() => {
                Some((bare + 1, dates::running("year", Date::new(year, 1, 1).ok()?)?))
            }
            _ => {
                let short = || Some((bare + 1, dates::latest_month(self.month(bare, None)?, false, self.today)?));
                self.time(at, language).or_else(short)
            }
        }
    }

    /// The same, as the latest before a day, unless it is reckoned from today.
    fn side_by(&self, at: usize, language: usize, today: Date) -> Option<(usize, Days)> {
        let (end, days) = self.side(at, language)?;
        let is_relative = (at..end).any(|at| self.relative(at, Some(language)).next().is_some());
        if is_relative { Some((end, days)) } else { Reader { words: self.words, today }.side(at, language) }
    }

    /// The place behind what joins the first and the last of several, in a language or in any, if it stands here.
    pub(super) fn behind_to(&self, at: usize, language: Option<usize>) -> Option<usize> {
        if self.words.get(at)?.dashed {
            return Some(at);
        }
        self.phrases(at, language).filter(|(_, role, _)| *role == Role::To).map(|(.., count)| at + count).max()
    }

    /// The same of what joins two.
    pub(super) fn behind_and(&self, at: usize, language: usize) -> Option<usize> {
        Some(at + self.role(at, language, Role::And)?)
    }

    /// `10 to 14 March`, `10-14 March 2025`, `March 10 – 14`.
    pub(super) fn days_of_month(&self, at: usize) -> Option<(usize, Days)> {
        let (month, (first, last, end)) = match self.some_days(at) {
            Some(days) => {
                let month_at = self.behind(FILLING, days.2);
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
            let next = self.behind_to(at + 1, None)?;
            (day(word)?, day(self.word(next)?)?, next + 1)
        };
        (first < last).then_some((first, last, end))
    }

    /// The day that a number before another is, in the month of the other, or day and month in figures (`01.03`), in the year
    /// up to it.
    fn day_before(&self, at: usize, mut second: Range<usize>, last: Date) -> Option<Days> {
        let word = self.word(at)?;
        let start = if let Some((day, month)) = word.split_once('.') {
            let (day, month) = (dates::number(day, 1..=2)?, dates::number(month, 1..=2)?);
            dates::latest(last, |year| dates::running("day", Date::new(year, month, day).ok()?))?.0
        } else {
            second.find(|at| self.word(*at).and_then(day).is_some())?;
            last.with().day(day(word)?).build().ok()?
        };
        dates::running("day", start).filter(|_| start <= last)
    }
}

fn days(start: Date, after: Date) -> i32 {
    after.duration_since(start).as_hours() as i32 / 24
}
