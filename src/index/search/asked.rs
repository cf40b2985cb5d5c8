//! The time that a question asks about, in the words of fourteen languages: `in March`, `last Tuesday`, `vor drei Wochen`,
//! `между январём и мартом`, `先週`, or the newest there is: `status of …`.
//!
//! It is a wish and no condition: notes of that time rank higher, and none is left out.

mod around;
mod cjk;
mod languages;
mod lexicon;

use std::ops::Range;

use jiff::civil::Date;

use super::dates::{self, quarter};
use languages::{ARTICLES, FRENCH, IN_FINNISH, LANGUAGES, ORDINAL_WEEKDAYS, SHORT_MONTHS, SINGULAR, VERBS};
use lexicon::{LEXICON, Role, Word, named, words};

/// A number of four digits alone is taken for a year within this range.
const YEARS: std::ops::RangeInclusive<i16> = 1990..=2100;
/// Beside a day, a month or a quarter it is one within this.
const YEARS_OF_DATES: std::ops::RangeInclusive<i16> = 1000..=2199;

/// Words that may stand within a date.
const FILLING: &str = "of de del dell' den do di d' van";

/// From the first day to the day after the last one.
type Days = (Date, Date);

/// When a question asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// These days: from the first up to, not including, the second; without it up to today and after.
    Days(Date, Option<Date>),
    /// Whatever is newest.
    Newest,
}

impl When {
    /// The time of some days; `None` if they begin after today. Days that reach up to today have no end.
    fn of((start, end): Days, today: Date) -> Option<Self> {
        (start <= today && start < end).then_some(When::Days(start, Some(end).filter(|end| *end <= today)))
    }
}

/// The time that a question asks about, and the words that say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// When.
    pub when: When,
    /// As the question has them.
    pub words: String,
}

/// Reads the first time that a question names. `last` and the like are reckoned from `today`. A time that lies ahead
/// does not count, because notes are not about it. Ambiguous words (`march`, `sun`, `may`) name a time only behind a
/// word that says so, or beside a number.
pub fn asked(question: &str, today: Date) -> Option<Asked> {
    let words = words(question);
    let reader = Reader { words: &words, today };
    let mut newest = None;
    let mut next = 0;
    while next < words.len() {
        let at = next;
        let Some((end, when)) = reader.at(at) else {
            next += 1;
            continue;
        };
        next = end;
        let Some(when) = when else {
            // What stands right behind a time that is not read belongs to it: `next year in March`.
            next = reader.at(end).map_or(end, |(end, _)| end);
            continue;
        };
        if reader.is_excluded(at) {
            continue;
        }
        let text = &question[words[at].start..words[end - 1].end];
        let asked = Asked { when, words: text.to_owned() };
        if when != When::Newest {
            return Some(asked);
        }
        // A time that is named says more than a wish for the newest: `status of the move in March`.
        newest.get_or_insert(asked);
    }
    newest.or_else(|| cjk::asked(question, today).map(|(when, words)| Asked { when, words: words.to_owned() }))
}

/// Reads times out of the words of a question. Each comes with the index behind its words.
struct Reader<'a> {
    words: &'a [Word],
    today: Date,
}

impl Reader<'_> {
    fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(|word| word.text.as_str())
    }

    /// The phrases that begin at a word, in all languages or in one: language, role and number of words.
    fn phrases(&self, at: usize, language: Option<usize>) -> impl Iterator<Item = (usize, Role, usize)> {
        let phrases = self.word(at).and_then(|word| LEXICON.get(word)).map_or(&[][..], Vec::as_slice);
        phrases.iter().filter_map(move |phrase| {
            let fits = |(i, word): (usize, &String)| self.word(at + 1 + i) == Some(word);
            (language.is_none_or(|language| language == phrase.language) && phrase.rest.iter().enumerate().all(fits))
                .then_some((phrase.language, phrase.role, 1 + phrase.rest.len()))
        })
    }

    /// How many words the longest phrase with this role takes.
    fn role(&self, at: usize, language: usize, role: Role) -> Option<usize> {
        self.phrases(at, Some(language)).filter(|(_, other, _)| *other == role).map(|(.., count)| count).max()
    }

    fn unit(&self, at: usize, language: usize) -> Option<(usize, &'static str)> {
        self.phrases(at, Some(language)).find_map(|(_, role, count)| match role {
            Role::Unit(unit) => Some((count, unit)),
            _ => None,
        })
    }

    /// A number, `3 to 4`, `two or three` or `a few`: the place behind it, the least and the most that it says.
    fn number(&self, at: usize, language: usize) -> Option<(usize, (i64, i64))> {
        let (next, (least, most)) = self.one_number(at, language)?;
        let second = self.behind_to(next, Some(language)).or_else(|| self.behind_and(next, language));
        let second = second.and_then(|at| self.one_number(at, language)).filter(|(_, (second, _))| least < *second);
        Some(second.map_or((next, (least, most)), |(end, (_, most))| (end, (least, most))))
    }

    /// A number in digits or, up to ten, in words, or `a few`.
    fn one_number(&self, at: usize, language: usize) -> Option<(usize, (i64, i64))> {
        if let Some(number) = dates::number::<i64>(self.word(at)?, 1..=3) {
            return Some((at + 1, (number, number)));
        }
        let numbers = self.phrases(at, Some(language)).filter_map(|(_, role, count)| match role {
            Role::Number(number) => Some((at + count, (number, number))),
            Role::Few => Some((at + count, dates::FEW)),
            _ => None,
        });
        numbers.max_by_key(|(next, _)| *next)
    }

    /// The longest time that begins at a word; without days or a wish where it is understood and not read: it lies ahead, or
    /// is two that are not one.
    fn at(&self, at: usize) -> Option<(usize, Option<When>)> {
        let bound = self.phrases(at, None).filter_map(|(language, role, count)| {
            let (end, when) = self.bound(at, language, role, count)?;
            Some((end, matches!(role, Role::Since | Role::Before | Role::Until | Role::After), when))
        });
        let times = self.relative(at, None).chain(self.point(at, None));
        let times = times.map(|(end, days)| (end, When::of(days, self.today)));
        let all = bound.chain(times.chain(self.together(at)).map(|(end, when)| (end, false, when)));
        // Of two with as many words, the one that says more: `da agosto` is Italian for "since", and Portuguese for "of".
        let (end, _, when) = all.max_by_key(|(end, bounds, when)| (*end, *bounds, when.is_some()))?;
        Some((end, when))
    }

    /// The time that a phrase of `count` words with this role makes of the one behind it, or asks for by itself.
    fn bound(&self, at: usize, language: usize, role: Role, count: usize) -> Option<(usize, Option<When>)> {
        let (today, next) = (self.today, at + count);
        if matches!(role, Role::From | Role::Since | Role::At | Role::Between)
            && let Some(range) = self.range(next, language, role == Role::Between)
        {
            return Some(range);
        }
        match role {
            // Where `from` also means `since`, as in Italian, the other role reads it when it stands alone.
            Role::From if self.role(at, language, Role::Since).is_some() => None,
            Role::At | Role::From => self.at_name(next, language),
            Role::Beginning | Role::End => {
                // `Ende November`; but `end may` says what may be.
                self.month(next, Some(language)).filter(|_| !self.is_verb(next))?;
                self.at_name(next, language)
            }
            Role::Since => {
                let (end, (start, _)) = self.time(next, language)?;
                Some((end, (start <= today).then_some(When::Days(start, None))))
            }
            Role::Before | Role::Until => {
                let (end, (before, after)) = self.time(next, language)?;
                let until = if role == Role::Before { before } else { after };
                // A time that reaches up to today leaves nothing out.
                Some((end, (until <= today).then_some(When::Days(Date::constant(1, 1, 1), Some(until)))))
            }
            Role::After => {
                let (end, (_, after)) = self.time(next, language)?;
                Some((end, (after <= today).then_some(When::Days(after, None))))
            }
            Role::Newest => Some((next, Some(When::Newest))),
            Role::State => self.role(next, language, Role::Of).map(|_| (next, Some(When::Newest))),
            _ => None,
        }
    }

    /// The longest time behind a word of a language, whether it is reckoned from today or not; an article may precede it, or
    /// a word that makes a name a time: `bis Mitte März`.
    fn time(&self, at: usize, language: usize) -> Option<(usize, Days)> {
        let longest = |at: usize| {
            self.relative(at, Some(language)).chain(self.point(at, Some(language))).max_by_key(|(end, _)| *end)
        };
        let bare = self.behind(ARTICLES, at);
        // Behind an article, `march` goes on foot.
        let is_name = |(end, _): &(usize, Days)| *end > bare + 1 || !self.is_verb(bare);
        let named = || longest(at + self.role(at, language, Role::At)?);
        longest(at).or_else(|| longest(bare).filter(is_name)).or_else(|| self.edge(bare, language)).or_else(named)
    }

    /// The first or the last day of a time: `the beginning of March`, `Ende letzter Woche`.
    fn edge(&self, at: usize, language: usize) -> Option<(usize, Days)> {
        let first = self.role(at, language, Role::Beginning);
        let next = at + first.or_else(|| self.role(at, language, Role::End))?;
        let next = next + self.role(next, language, Role::Of).unwrap_or(0);
        let (end, (start, after)) = self.time(next, language)?;
        let day = if first.is_some() { start } else { after.yesterday().ok()? };
        Some((end, (day, day.tomorrow().ok()?)))
    }

    /// The times that are reckoned from today and begin at a word, in all languages or in one.
    fn relative(&self, at: usize, language: Option<usize>) -> impl Iterator<Item = (usize, Days)> {
        let in_words = self.phrases(at, language);
        let in_words = in_words.filter_map(move |(language, role, count)| self.phrase(at, language, role, at + count));
        let digits = self.word(at).is_some_and(|word| dates::number::<i64>(word, 1..=3).is_some());
        let languages =
            (0..LANGUAGES.len()).filter(move |of| digits && language.is_none_or(|language| language == *of));
        let counted = languages.filter_map(move |language| self.counted(at, language));
        let all = in_words.chain(self.named_behind(at, language)).chain(counted);
        all.filter(|(end, days)| !self.is_part(*end, *days))
    }

    /// The time that a phrase with this role begins, and where it ends; `next` is the index behind the phrase.
    fn phrase(&self, at: usize, language: usize, role: Role, next: usize) -> Option<(usize, Days)> {
        let day = |back: i64| Some((next, dates::ago("day", back, self.today)?));
        match role {
            Role::Today => day(0),
            Role::Yesterday if self.is_yesterday(at) => day(1),
            Role::DayBefore => day(2),
            // The unit may be a part of the phrase: `i år`.
            Role::Beside(step) => {
                self.beside(next - usize::from(self.unit(next - 1, language).is_some()), language, step)
            }
            Role::Unit(unit) => match self.steps_behind(next, Some(language)).next() {
                Some((_, step, end)) => Some((end, self.units(unit, step, at..end)?)),
                None => self.counted(at, language),
            },
            Role::AgoBefore => {
                let (next, number) = self.number(next, language)?;
                let (count, unit) = self.unit(next, language)?;
                Some((next + count, dates::ago_between(unit, number, self.today)?))
            }
            Role::Number(_) | Role::Few => self.counted(at, language),
            _ => None,
        }
    }

    /// Whether the word means yesterday: `hier` does so only if the question has a French word.
    fn is_yesterday(&self, at: usize) -> bool {
        self.word(at) != Some("hier") || self.words.iter().any(|word| FRENCH.contains(&word.text.as_str()))
    }

    /// Behind `last`, `this` or `next`: a unit, a number of them, a month or a weekday.
    fn beside(&self, at: usize, language: usize, step: i64) -> Option<(usize, Days)> {
        let counted = self.number(at, language).filter(|_| step == 1);
        let (end, days) = if let Some((count, unit)) = self.unit(at, language) {
            (at + count, self.units(unit, step, at - 1..at + count)?)
        } else if let Some((next, (_, most))) = counted {
            let (count, unit) = self.unit(next, language)?;
            (next + count, self.up_to_today(most, unit)?)
        } else if step == 0 {
            let month = self.month(at, Some(language)).filter(|_| !self.is_verb(at))?;
            (at + 1, dates::month_of(self.today.year(), month)?)
        } else {
            (at + 1, self.name(at, language, step)?)
        };
        (step != 1 || !self.is_last_of(end, language, counted.is_some())).then_some((end, days))
    }

    /// The unit that is `step` before the running one; if one of the words says several, as `letzten Tage` does, the last few.
    fn units(&self, unit: &str, step: i64, mut words: Range<usize>) -> Option<Days> {
        let several =
            |at| self.word(at).and_then(|word| LEXICON.get(word)).is_some_and(|all| all.iter().any(|one| one.several));
        match step {
            1 if words.any(several) => self.up_to_today(dates::FEW.1, unit),
            _ => dates::ago(unit, step, self.today),
        }
    }

    /// The last so many units, today included.
    fn up_to_today(&self, number: i64, unit: &str) -> Option<Days> {
        Some((dates::before(unit, number, self.today)?, self.today.tomorrow().ok()?))
    }

    /// `dernier`, `que viene` and the like behind a time: language, step, and the place behind it.
    fn steps_behind(&self, at: usize, language: Option<usize>) -> impl Iterator<Item = (usize, i64, usize)> {
        self.phrases(at, language).filter_map(move |(language, role, count)| match role {
            Role::Behind(step) => Some((language, step, at + count)),
            _ => None,
        })
    }

    /// A name with such a word behind it: `mardi dernier`, `março passado`.
    fn named_behind(&self, at: usize, language: Option<usize>) -> Option<(usize, Days)> {
        let mut steps = self.steps_behind(at + 1, language);
        steps.find_map(|(language, step, end)| Some((end, self.name(at, language, step)?)))
    }

    /// `3 days ago`, `3 derniers jours`; the number in words or digits, or left out where a language does so.
    fn counted(&self, at: usize, language: usize) -> Option<(usize, Days)> {
        if self.is_share(at) {
            return None;
        }
        let one = || SINGULAR.contains(&self.word(at)?).then_some((at, (1, 1)));
        let (next, number) = self.number(at, language).or_else(one)?;
        if let Some(last) = self.role(next, language, Role::Beside(1)) {
            let (count, unit) = self.unit(next + last, language)?;
            let end = next + last + count;
            return Some((end, self.up_to_today(number.1, unit).filter(|_| !self.is_last_of(end, language, true))?));
        }
        let (count, unit) = self.unit(next, language)?;
        let behind = self.role(next + count, language, Role::AgoBehind)?;
        Some((next + count + behind, dates::ago_between(unit, number, self.today)?))
    }

    /// Behind `in` or `on`: here the name of a month or a weekday is enough.
    fn at_name(&self, at: usize, language: usize) -> Option<(usize, Option<When>)> {
        let times = self.point(at, Some(language)).into_iter().chain(self.named_behind(at, Some(language)));
        let (end, days) = times.max_by_key(|(end, _)| *end)?;
        // `January, February and March`
        let is_list = self.name(end, language, 0).is_some() && !self.is_verb(end);
        Some((end, When::of(days, self.today).filter(|_| !is_list)))
    }

    /// The days that the name of a month or a weekday means alone: the latest one; with `last` it is over, with `next` ahead.
    fn name(&self, at: usize, language: usize, step: i64) -> Option<Days> {
        let by = |unit| dates::before(unit, step.min(0), self.today);
        if let Some(month) = self.month(at, Some(language)) {
            return dates::latest_month(month, step > 0, by("year")?);
        }
        let word = self.word(at)?;
        let sure = word.chars().count() >= 5 && (step != 0 || !ORDINAL_WEEKDAYS.contains(&word));
        dates::latest_weekday(self.weekday(at, Some(language)).filter(|_| sure)?, step > 0, by("week")?)
    }

    /// The weekday that a word names in a language or in any.
    fn weekday(&self, at: usize, of: Option<usize>) -> Option<i8> {
        named(self.word(at)?, of, |role| if let Role::Weekday(number) = role { Some(number) } else { None })
    }

    /// The month that a word names: by its whole name in a language, for `mars` is no month in English, nor `may` in Swedish;
    /// beside a number (`of` is `None`) in any, or by a short one.
    fn month(&self, at: usize, of: Option<usize>) -> Option<i8> {
        let word = self.word(at)?;
        let short = of.is_none() && SHORT_MONTHS.contains(&word);
        let month = |role| if let Role::Month(number) = role { Some(number) } else { None };
        if short { note::month(word) } else { named(word, of, month) }
    }

    /// Whether the word is the name of a month and a verb.
    fn is_verb(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| VERBS.contains(&word))
    }

    /// A stretch of the calendar that needs no word before it; behind a word of `language`, also a month or a weekday
    /// by name.
    fn point(&self, at: usize, language: Option<usize>) -> Option<(usize, Days)> {
        let word = self.word(at)?;
        let dated = self.date(at).or_else(|| self.dated_weekday(at, language)).or_else(|| self.month_and_year(at));
        let dated = dated.or_else(|| self.quarter(at)).or_else(|| self.year(at)).or_else(|| self.week(at));
        let finnish = IN_FINNISH.iter().any(|ending| word.ends_with(ending)).then_some(LANGUAGES.len() - 1);
        dated.or_else(|| Some((at + 1, self.name(at, language.or(finnish)?, 0)?)))
    }

    /// A day, or several of a month; its weekday may stand behind it: `2025-03-03 - Monday`.
    fn date(&self, at: usize) -> Option<(usize, Days)> {
        let in_figures = || {
            let word = self.word(at)?;
            let days = if word.contains('-') { dates::calendar_days(word) } else { None };
            Some((at + 1, days.or_else(|| dates::in_figures(word))?))
        };
        let (end, days) = self.days_of_month(at).or_else(|| self.day_and_month(at)).or_else(in_figures)?;
        let weekday = self.weekday(end, None).is_some() && self.dated_weekday(end, None).is_none();
        Some((end + usize::from(weekday), days))
    }

    /// A weekday that the words behind it date: `Tuesday, 3 March`, `last Friday, 14 November`, `Dienstag, den 3. März`,
    /// `Monday last week`.
    fn dated_weekday(&self, at: usize, language: Option<usize>) -> Option<(usize, Days)> {
        let last = self.phrases(at, language).find(|(_, role, _)| matches!(role, Role::Beside(_)));
        let at = last.map_or(at, |(.., count)| at + count);
        let weekday = self.weekday(at, language)?;
        if let Some((end, (monday, _))) = self.whole_behind(at + 1, "week") {
            return Some((end, dates::running("day", dates::before("day", i64::from(1 - weekday), monday)?)?));
        }
        let next = self.behind(ARTICLES, at + 1);
        let by = |years: i64| Reader { words: self.words, today: dates::before("year", years, self.today)? }.date(next);
        // A day without a year may be last year's, where that is such a weekday.
        let fits = |(_, (day, _)): &(usize, Days)| day.weekday().to_monday_one_offset() == weekday;
        by(0).filter(fits).or_else(|| by(1).filter(fits)).or_else(|| by(0))
    }

    /// `23 October 2025`, `23. Oktober`, `October 23rd, 2025`, `23 de octubre`.
    fn day_and_month(&self, at: usize) -> Option<(usize, Days)> {
        let (month_at, day, end) = match day(self.word(at)?) {
            Some(day) => {
                let month_at = self.behind(FILLING, at + 1);
                (month_at, day, month_at + 1)
            }
            None => (at, day(self.word(at + 1)?)?, at + 2),
        };
        if self.words.get(at + 1)?.dashed {
            return None;
        }
        let month = self.month(month_at, None)?;
        self.in_year(end, |year| dates::running("day", Date::new(year, month, day).ok()?))
    }

    /// The days that `of` gives for the year behind a day and a month, or else the latest. The year may be short, `3 March
    /// 25`, behind the month and if it counts nothing.
    fn in_year(&self, end: usize, of: impl Fn(i16) -> Option<Days>) -> Option<(usize, Days)> {
        let short = || {
            let is_year = !self.words.get(end)?.dashed && !self.is_measured(end);
            let year = dates::number::<i16>(self.word(end)?, 2..=2).filter(|_| is_year)?;
            self.month(end - 1, None).map(|_| (end + 1, 2000 + year))
        };
        match self.year_of(end).or_else(short) {
            Some((end, year)) => Some((end, of(year)?)),
            None => Some((end, dates::latest(self.today, of)?)),
        }
    }

    /// The year of what ends before a word, in figures or reckoned from today.
    fn year_of(&self, end: usize) -> Option<(usize, i16)> {
        let named = self.behind(FILLING, end);
        let behind = || self.whole_behind(end, "year").map(|(end, (start, _))| (end, start.year()));
        self.a_year(named).map(|year| (named + 1, year)).or_else(behind)
    }

    fn month_and_year(&self, at: usize) -> Option<(usize, Days)> {
        let month = self.month(at, None)?;
        let (end, year) = self.year_of(at + 1)?;
        Some((end, dates::month_of(year, month)?))
    }

    /// `Q3`, `Q3 2025`, `Q3 last year`, `2025 Q3`, `2025-Q3`, `T3 2025`, `3rd quarter of 2025`, `drittes Quartal 2025`, `Quartal
    /// 3 2025`.
    fn quarter(&self, at: usize) -> Option<(usize, Days)> {
        let (word, next) = (self.word(at)?, self.word(at + 1));
        if let Some((year, quarter)) =
            word.split_once('-').and_then(|(a, b)| year(a).zip(quarter(b)).or_else(|| year(b).zip(quarter(a))))
        {
            return Some((at + 1, dates::quarter_of(year, quarter)?));
        }
        if let Some((year, quarter)) = year(word).zip(next.and_then(quarter)) {
            return Some((at + 2, dates::quarter_of(year, quarter)?));
        }
        let number = |word: &str| day(word).filter(|number| *number <= 4);
        let ordinal = |(_, role, _)| if let Role::Ordinal(number) = role { Some(number) } else { None };
        let (number, end) = match quarter(word) {
            Some(number) => (number, at + 1),
            None if self.is_quarter(at) => (number(next?)?, at + 2),
            None if self.is_quarter(at + 1) => {
                (self.phrases(at, None).find_map(ordinal).or_else(|| number(word))?, at + 2)
            }
            None => return None,
        };
        if let Some((end, year)) = self.year_of(end) {
            return Some((end, dates::quarter_of(year, number)?));
        }
        // `T3` alone is a name of many things.
        let latest = dates::latest(self.today, |year| dates::quarter_of(year, number));
        Some((end, latest.filter(|_| quarter(word).is_some() && word.starts_with('q'))?))
    }

    fn is_quarter(&self, at: usize) -> bool {
        self.phrases(at, None).any(|(_, role, _)| role == Role::Unit("quarter"))
    }

    /// A year by itself, unless it counts something, `RFC 2025`, or has a part of it before it, `second quarter of 2025`.
    fn year(&self, at: usize) -> Option<(usize, Days)> {
        if let Some((first, last)) = self.word(at).and_then(years) {
            return Some((at + 1, (Date::new(first, 1, 1).ok()?, Date::new(last.checked_add(1)?, 1, 1).ok()?)));
        }
        let year = self.a_year(at).filter(|year| YEARS.contains(year) && *year <= self.today.year())?;
        (!self.counts(at)).then_some(())?;
        let is_of = |unit: usize| self.is_quarter(unit) && self.behind(FILLING, unit + 1) == at;
        (!(at.saturating_sub(2)..at).any(is_of)).then_some(())?;
        Some((at + 1, dates::running("year", Date::new(year, 1, 1).ok()?)?))
    }

    fn a_year(&self, at: usize) -> Option<i16> {
        self.word(at).and_then(year)
    }
}

fn year(word: &str) -> Option<i16> {
    dates::number::<i16>(word, 4..=4).filter(|year| YEARS_OF_DATES.contains(year))
}

/// `2024-2025`.
fn years(word: &str) -> Option<(i16, i16)> {
    let (first, last) = word.split_once(['-', '–'])?;
    year(first).zip(year(last)).filter(|(first, last)| first < last && YEARS.contains(first) && YEARS.contains(last))
}

/// The day of a month: `23`, `23rd`, `1er`.
fn day(word: &str) -> Option<i8> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, ending) = word.split_at(digits);
    let day = dates::number(number, 1..=2).filter(|day| (1..=31).contains(day))?;
    ["", ".", "st", "nd", "rd", "th", "er", "e", "º", "ª", "o"].contains(&ending).then_some(day)
}

#[cfg(test)]
mod tests;
