//! Numbers and dates that a caption may hold: those of the note, and those that follow from its date.
//!
//! An invented number is the worst that a caption can say, for it reads like a fact. So every number is looked up: as
//! written, without the separators of thousands, as parts of dates and times, from words (`three`), and, if the note
//! has a date, its year, month, day and day of the week. If a note says "tomorrow" or "last week", a caption may also
//! name the days around its date.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::Date;

use super::words::is_unspaced;

/// Days around the note's date that "yesterday" or "next week" may mean.
const AROUND: i64 = 8;

/// Names of the months in the languages of captions, with the cases of Russian that dates are written in.
const MONTHS: [&str; 12] = [
    "january januar janvier enero gennaio janeiro januari январь января январе",
    "february februar février febrero febbraio fevereiro februari февраль февраля феврале",
    "march märz mars marzo março maart март марта марте",
    "april avril abril aprile апрель апреля апреле",
    "may mai mayo maggio maio mei май мая мае",
    "june juni juin junio giugno junho июнь июня июне",
    "july juli juillet julio luglio julho июль июля июле",
    "august août agosto augustus август августа августе",
    "september septembre septiembre settembre setembro сентябрь сентября сентябре",
    "october oktober octobre octubre ottobre outubro октябрь октября октябре",
    "november novembre noviembre novembro ноябрь ноября ноябре",
    "december dezember décembre diciembre dicembre dezembro декабрь декабря декабре",
];

/// Their short forms in notes. They are not looked for in captions, so a word like `mar` is not taken for a month
/// there.
const SHORT_MONTHS: &str = "jan|feb|mar mär mrz|apr avr||jun|jul juil|aug ago|sep sept|oct okt|nov|dec dez dic";

/// Names of the days of the week, Monday first.
const WEEKDAYS: [&str; 7] = [
    "monday montag lundi lunes lunedì maandag понедельник понедельника",
    "tuesday dienstag mardi martes martedì dinsdag вторник вторника",
    "wednesday mittwoch mercredi miércoles mercoledì woensdag среда среду",
    "thursday donnerstag jeudi jueves giovedì donderdag четверг четверга",
    "friday freitag vendredi viernes venerdì vrijdag пятница пятницу",
    "saturday samstag sonnabend samedi sábado sabato zaterdag суббота субботу",
    "sunday sonntag dimanche domingo domenica zondag воскресенье",
];

/// Their short forms in notes.
const SHORT_WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Words with which a note refers to days around its own date.
const RELATIVE: &str = "yesterday tomorrow tonight last next ago week weekend gestern morgen vorgestern übermorgen letzte \
     letzten letzter nächste nächsten nächster woche hier demain dernier dernière prochain prochaine semaine ayer mañana \
     pasado pasada próximo próxima semana вчера завтра послезавтра прошлой прошлом следующей следующем неделе неделю \
     昨天 明天 上周 下周 昨日 明日 先週 来週 어제 내일";

/// Small numbers in words, from one.
const IN_WORDS: [&str; 12] = [
    "one first ein eine eins un une uno una один одна 一",
    "two second zwei deux dos due два две 二 两",
    "three third drei trois tres tre три 三",
    "four fourth vier quatre cuatro quattro четыре 四",
    "five fifth fünf cinq cinco cinque пять 五",
    "six sixth sechs seis sei шесть 六",
    "seven seventh sieben sept siete sette семь 七",
    "eight eighth acht huit ocho otto восемь 八",
    "nine ninth neun neuf nueve nove девять 九",
    "ten tenth zehn dix diez dieci десять 十",
    "eleven elf onze once undici одиннадцать 十一",
    "twelve dozen zwölf dutzend douze doce dodici двенадцать 十二",
];

/// What a word says about numbers and days.
#[derive(Clone, Copy, Debug)]
enum Name {
    /// The month, counted from 0; `false` for a short form, which counts in notes only.
    Month(usize, bool),
    /// The day of the week, Monday is 0; `false` as for months.
    Weekday(usize, bool),
    Number(usize),
    Relative,
}

static NAMES: LazyLock<HashMap<&str, Vec<Name>>> = LazyLock::new(|| {
    let mut all: HashMap<&str, Vec<Name>> = HashMap::new();
    let mut put = |names: &'static str, name: Name| {
        for word in names.split_whitespace() {
            all.entry(word).or_default().push(name);
        }
    };
    for (month, (long, short)) in MONTHS.into_iter().zip(SHORT_MONTHS.split('|')).enumerate() {
        put(long, Name::Month(month, true));
        put(short, Name::Month(month, false));
    }
    for (day, (long, short)) in WEEKDAYS.into_iter().zip(SHORT_WEEKDAYS).enumerate() {
        put(long, Name::Weekday(day, true));
        put(short, Name::Weekday(day, false));
    }
    for (n, names) in (1..).zip(IN_WORDS) {
        put(names, Name::Number(n));
    }
    put(RELATIVE, Name::Relative);
    all
});

fn names_of(word: &str) -> &'static [Name] {
    NAMES.get(word).map_or(&[], Vec::as_slice)
}

/// Whether a caption holds a number, a month or a day of the week that neither stands in the note nor follows
/// from its date.
pub(super) fn invented(caption: &str, note: &str, date: Option<Date>) -> bool {
    let (tokens, days) = (tokens(caption), days_named(caption));
    if tokens.is_empty() && days.is_empty() {
        return false;
    }
    let known = Known::of(note, date);
    let lacks = |name: &Name| match name {
        Name::Month(month, _) => !known.months[*month],
        Name::Weekday(day, _) => !known.weekdays[*day],
        Name::Number(_) | Name::Relative => false,
    };
    let mut items = 0;
    let mut wrong = |token: &Token| {
        // `1) … 2) …` counts the caption's own items.
        let item = token.after == Some(')') && token.parts.first() == Some(&(items + 1).to_string());
        items += usize::from(item);
        !item && !known.has(token)
    };
    tokens.iter().any(&mut wrong) || days.iter().any(lacks)
}

/// The months and days of the week that a caption names. Words like `May` and `March` that are verbs, too, count only
/// where they have a capital and do not begin a sentence.
fn days_named(caption: &str) -> Vec<Name> {
    let mut days = Vec::new();
    let mut starts_sentence = true;
    for word in caption.split_whitespace() {
        let name = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = name.to_lowercase();
        let verb = matches!(lower.as_str(), "may" | "march" | "mars" | "mai" | "mei");
        if !verb || (name.starts_with(char::is_uppercase) && !starts_sentence) {
            let long = |name: &&Name| matches!(name, Name::Month(_, true) | Name::Weekday(_, true));
            days.extend(names_of(&lower).iter().filter(long));
        }
        starts_sentence = word.ends_with(['.', '!', '?', ':']);
    }
    days
}

/// Groups of digits with the characters between and around them.
#[derive(Debug, PartialEq, Eq)]
struct Token {
    /// The groups of digits, without leading zeros.
    parts: Vec<String>,
    /// The same groups with leading zeros.
    raw: Vec<String>,
    /// What separates them.
    separators: Vec<char>,
    /// The letter before.
    before: Option<char>,
    /// The character after.
    after: Option<char>,
}

impl Token {
    /// The number it stands for, if its separators are those of thousands or of a decimal fraction.
    fn number(&self) -> Option<String> {
        let (first, rest) = self.raw.split_first()?;
        if rest.is_empty() {
            return self.parts.first().cloned();
        }
        let alike = self.separators.iter().all(|s| Some(s) == self.separators.first());
        let thousands = alike && first.len() <= 3 && rest.iter().all(|group| group.len() == 3);
        if thousands && !matches!(self.separators.first(), Some('-' | '/' | ':')) {
            return Some(bare(&self.raw.concat()));
        }
        match (self.separators.as_slice(), self.parts.first(), rest) {
            (['.' | ','], Some(whole), [fraction]) => {
                let fraction = fraction.trim_end_matches('0');
                Some(if fraction.is_empty() { whole.clone() } else { format!("{whole}.{fraction}") })
            }
            _ => None,
        }
    }

    /// The number with `k` or `M` written out.
    fn written_out(&self) -> Option<String> {
        let factor = match self.after? {
            'k' | 'K' => 1e3,
            'm' | 'M' => 1e6,
            _ => return None,
        };
        let number = self.number()?.parse::<f64>().ok()? * factor;
        (number < 1e15).then(|| format!("{number:.0}"))
    }

    /// Year, month and day, if it reads like a date in one of the usual orders.
    fn date(&self) -> Option<Date> {
        let [a, b, c] = self.parts.as_slice() else { return None };
        let number = |text: &str| text.parse::<i16>().ok();
        let (a, b, c) = (number(a)?, number(b)?, number(c)?);
        let of = |y: i16, m: i16, d: i16| Date::new(y, i8::try_from(m).ok()?, i8::try_from(d).ok()?).ok();
        if a > 31 { of(a, b, c) } else { of(c, b, a).or_else(|| of(c, a, b)) }
    }

    /// Whether one of its parts is a month: `3月`, `2026-03`, `3/14`, `14.03`, `14.3.`, but not `12.5` or `3-5`.
    fn names_a_month(&self) -> bool {
        let days = || self.parts.iter().all(|part| part.parse::<u32>().is_ok_and(|n| (1..=31).contains(&n)));
        let year = || self.raw.iter().any(|group| group.len() == 4);
        match self.separators.as_slice() {
            [] => matches!(self.after, Some('月' | '월')),
            ['-'] => year(),
            ['/'] => days() || year(),
            ['.'] => days() && (self.after == Some('.') || self.raw.iter().all(|group| group.len() == 2)),
            [_, _] => self.date().is_some(),
            _ => false,
        }
    }

    /// Whether its parts may be looked up one by one: it is a date, a time or a range.
    fn is_compound(&self) -> bool {
        self.parts.len() > 2 || self.separators.iter().any(|s| matches!(s, '-' | '/' | ':' | ' ' | '\u{a0}'))
    }
}

/// A group of digits without leading zeros.
fn bare(digits: &str) -> String {
    let bare = digits.trim_start_matches('0');
    if bare.is_empty() { "0".to_owned() } else { bare.to_owned() }
}

/// The numbers of a text.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().map(|c| digit(c).unwrap_or(c)).collect();
    let at = |i: usize| chars.get(i).copied();
    let digits_from = |i: usize| chars.iter().skip(i).take_while(|c| c.is_ascii_digit()).count();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        if !chars[i].is_ascii_digit() {
            i += 1;
            continue;
        }
        let before = i.checked_sub(1).and_then(at).filter(|c| c.is_alphabetic());
        let (mut raw, mut separators) = (Vec::new(), Vec::new());
        loop {
            let end = i + digits_from(i);
            raw.push(chars[i..end].iter().collect::<String>());
            i = end;
            let Some(separator) = at(i) else { break };
            let next = digits_from(i + 1);
            let joins = match separator {
                '.' | ',' | ':' | '/' | '-' => next > 0,
                '\'' | '’' | '\u{a0}' | '\u{202f}' => next == 3,
                // This separates thousands; it does not stand between two numbers.
                ' ' => next == 3 && raw.last().is_some_and(|group| group.len() <= 3),
                _ => false,
            };
            if !joins {
                break;
            }
            separators.push(separator);
            i += 1;
        }
        let parts = raw.iter().map(|group| bare(group)).collect();
        tokens.push(Token { parts, raw, separators, before, after: at(i) });
    }
    tokens
}

/// Digits of other scripts as ASCII.
fn digit(c: char) -> Option<char> {
    let zero = match u32::from(c) {
        0x660..=0x669 => 0x660,
        0x6f0..=0x6f9 => 0x6f0,
        0x966..=0x96f => 0x966,
        0xe50..=0xe59 => 0xe50,
        0xff10..=0xff19 => 0xff10,
        _ => return None,
    };
    char::from_digit(u32::from(c) - zero, 10)
}

/// The numbers and dates that a caption may name.
#[derive(Debug, Default)]
struct Known {
    /// The note's numbers, whole and in parts.
    numbers: HashSet<String>,
    /// Parts of dates.
    of_dates: HashSet<String>,
    /// January first.
    months: [bool; 12],
    /// Monday first.
    weekdays: [bool; 7],
}

impl Known {
    fn of(note: &str, date: Option<Date>) -> Self {
        let mut known = Known::default();
        for token in tokens(note) {
            known.add(&token);
        }
        let mut relative = false;
        for word in note.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            for name in names_of(&word.to_lowercase()) {
                match name {
                    Name::Month(month, _) => known.add_month(*month),
                    Name::Weekday(day, _) => known.weekdays[*day] = true,
                    Name::Number(n) => drop(known.numbers.insert(n.to_string())),
                    Name::Relative => relative = true,
                }
            }
        }
        // Words of scripts without spaces are looked for anywhere.
        let unspaced = |names: &'static str| names.split_whitespace().filter(|name| name.chars().all(is_unspaced));
        relative |= unspaced(RELATIVE).any(|name| note.contains(name));
        for (n, names) in (1..).zip(IN_WORDS) {
            if unspaced(names).any(|name| note.contains(name)) {
                known.numbers.insert(n.to_string());
            }
        }
        if let Some(date) = date {
            known.add_date(date);
            if relative {
                known.add_days_around(date);
            }
        }
        known
    }

    fn add(&mut self, token: &Token) {
        self.numbers.extend(token.parts.iter().cloned());
        self.numbers.extend(token.number());
        self.numbers.extend(token.written_out());
        if let Some(date) = token.date() {
            self.add_date(date);
        }
        if token.names_a_month() {
            let small = |part: &String| part.parse::<usize>().ok().filter(|n| (1..=12).contains(n));
            for month in token.parts.iter().filter_map(small) {
                self.months[month - 1] = true;
                self.of_dates.extend(token.parts.iter().cloned());
            }
        }
        // `14:30` is half past two.
        if token.separators.first() == Some(&':') {
            let hour = token.parts.first().and_then(|hour| hour.parse::<u32>().ok());
            self.numbers.extend(hour.filter(|hour| (13..24).contains(hour)).map(|hour| (hour - 12).to_string()));
        }
    }

    fn add_month(&mut self, month: usize) {
        self.months[month] = true;
        self.of_dates.insert((month + 1).to_string());
    }

    fn add_date(&mut self, date: Date) {
        self.add_month(usize::from(date.month().unsigned_abs().clamp(1, 12)) - 1);
        self.weekdays[usize::from(date.weekday().to_monday_zero_offset().unsigned_abs()) % 7] = true;
        self.of_dates.extend([date.year().to_string(), date.day().to_string(), (date.year() % 100).to_string()]);
        self.of_dates.insert(date.iso_week_date().week().to_string());
    }

    fn add_days_around(&mut self, date: Date) {
        for days in -AROUND..=AROUND {
            if let Ok(day) = date.checked_add(days.days()) {
                self.add_date(day);
            }
        }
        for months in [-1, 1] {
            if let Ok(day) = date.checked_add(months.months()) {
                self.add_month(usize::from(day.month().unsigned_abs().clamp(1, 12)) - 1);
            }
            self.of_dates.insert((date.year() + months as i16).to_string());
        }
    }

    /// Whether a caption may name this number.
    fn has(&self, token: &Token) -> bool {
        let named = |part: &String| self.numbers.contains(part) || self.of_dates.contains(part);
        let whole = [token.number(), token.written_out()].into_iter().flatten();
        if whole.into_iter().any(|number| named(&number)) {
            return true;
        }
        if matches!(token.before, Some('q' | 'Q')) {
            let quarter = |month: usize| (month / 3 + 1).to_string();
            let months = (0..12).filter(|month| self.months[*month]);
            return months.map(quarter).any(|quarter| token.parts.first() == Some(&quarter));
        }
        match token.parts.as_slice() {
            [] | [_] => false,
            parts if token.is_compound() => parts.iter().all(named),
            parts => parts.iter().all(|part| self.of_dates.contains(part)),
        }
    }
}

#[cfg(test)]
mod tests;
