//! Months and weekdays by name, in the languages whose words are stemmed.
//!
//! The names are folded as [`fold`] does: lower case, no accents. Where the first letters are enough, so are inflected
//! forms that are longer than the name (`20. marraskuuta`, `20 ноября`) if they are listed.

use jiff::civil::Date;
use unicode_normalization::UnicodeNormalization as _;

/// Months from January on, with the languages that name them so; `|` separates forms. English comes first: a word that could
/// be two months in two languages (`mar`: March, marraskuu) is the month of the language listed first.
const MONTHS: [(&str, &str); 11] = [
    ("en", "january february march april may june july august september|sept october november december"),
    ("de", "januar|janner februar|feber marz|maerz april mai juni juli august september oktober november dezember"),
    ("fr", "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre"),
    ("es", "enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre noviembre diciembre"),
    ("it", "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
    ("pt", "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro"),
    ("nl", "januari februari maart april mei juni juli augustus september oktober november december"),
    (
        "ru",
        "января|январь|январе|январем февраля|февраль|феврале|февралем марта|март|марте|мартом \
         апреля|апрель|апреле|апрелем мая|маи|мае|маем июня|июнь|июне|июнем июля|июль|июле|июлем \
         августа|август|августе|августом сентября|сентябрь|сентябре|сентябрем октября|октябрь|октябре|октябрем \
         ноября|ноябрь|ноябре|ноябрем декабря|декабрь|декабре|декабрем",
    ),
    ("sv", "januari februari mars april maj juni juli augusti september oktober november december"),
    ("nb da", "januar februar mars|marts april mai|maj juni juli august september oktober november december|desember"),
    (
        "fi",
        "tammikuuta|tammikuu helmikuuta|helmikuu maaliskuuta|maaliskuu huhtikuuta|huhtikuu toukokuuta|toukokuu \
         kesakuuta|kesakuu heinakuuta|heinakuu elokuuta|elokuu syyskuuta|syyskuu lokakuuta|lokakuu \
         marraskuuta|marraskuu joulukuuta|joulukuu",
    ),
];

/// Weekdays from Monday on, as above.
const WEEKDAYS: [(&str, &str); 10] = [
    ("en", "monday tuesday wednesday thursday friday saturday sunday"),
    ("de", "montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag"),
    ("fr", "lundi mardi mercredi jeudi vendredi samedi dimanche"),
    ("es", "lunes martes miercoles jueves viernes sabado domingo"),
    ("it", "lunedi martedi mercoledi giovedi venerdi sabato domenica"),
    ("pt", "segunda terca quarta quinta sexta sabado domingo"),
    ("nl", "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
    // Not `среде`: `в среде` is "in the environment".
    (
        "ru",
        "понедельник|понедельника|понедельником|пн вторник|вторника|вторником|вт среда|среды|среду|средои|ср \
         четверг|четверга|четвергом|чт пятница|пятницы|пятницу|пятницеи|пт суббота|субботы|субботу|субботои|сб \
         воскресенье|воскресенья|воскресеньем|вс",
    ),
    ("sv nb da", "mandag tisdag|tirsdag onsdag torsdag fredag lordag sondag"),
    ("fi", "maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai"),
];

/// Words between the parts of a date, and beside a weekday.
const FILLERS: [&str; 12] = ["of", "the", "de", "del", "le", "el", "den", "der", "di", "do", "feira", "г"];

/// The endings of numbers of days: `1st`, `1er`, `20e`.
const ORDINALS: [&str; 9] = ["st", "nd", "rd", "th", "er", "re", "e", "a", "o"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Day(i8),
    Month(i8),
    Year(i16),
    Weekday,
    Filler,
    Other,
}

/// A date with its month in words.
pub(super) struct Found {
    pub(super) date: Date,
    /// Whether its three parts stand side by side.
    pub(super) together: bool,
    /// Whether the text holds nothing else except a weekday.
    pub(super) alone: bool,
}

/// In lower case, without the accents that a keyboard may lack: `März` and, in whatever normal form, `août`.
pub(crate) fn fold(text: &str) -> String {
    let bare = |c: &char| !matches!(c, '\u{300}'..='\u{36f}');
    text.to_lowercase().nfd().filter(bare).map(|c| if c == 'ø' { 'o' } else { c }).collect()
}

/// The month, 1 to 12, that a folded word names: by its whole name, or by at least the first three letters of it.
pub(crate) fn month(word: &str) -> Option<i8> {
    MONTHS.iter().find_map(|(_, names)| one_of(names, word, 3))
}

/// The weekday, 1 (Monday) to 7, that a folded word names.
pub(crate) fn weekday(word: &str) -> Option<i8> {
    WEEKDAYS.iter().find_map(|(_, names)| one_of(names, word, 2))
}

/// The whole names of months: the language (`en`), the name, and which month it is.
pub(crate) fn months() -> impl Iterator<Item = (&'static str, &'static str, i8)> {
    whole(&MONTHS)
}

/// The whole names of weekdays, in the same way.
pub(crate) fn weekdays() -> impl Iterator<Item = (&'static str, &'static str, i8)> {
    whole(&WEEKDAYS)
}

fn whole(names: &'static [(&str, &str)]) -> impl Iterator<Item = (&'static str, &'static str, i8)> {
    let of_language = |(language, names): (&'static str, &'static str)| {
        let places = (1..).zip(names.split_ascii_whitespace());
        places.flat_map(move |(place, forms)| forms.split('|').map(move |name| (language, name, place)))
    };
    names.iter().flat_map(move |(languages, names)| languages.split(' ').flat_map(move |of| of_language((of, *names))))
}

/// The position, from 1, of the one of `names` that begins with `word`; `None` if several do.
fn one_of(names: &str, word: &str, least: usize) -> Option<i8> {
    if word.chars().count() < least {
        return None;
    }
    let fits = |(_, forms): &(i8, &str)| forms.split('|').any(|name| name.starts_with(word));
    let mut places = (1..).zip(names.split_ascii_whitespace()).filter(fits);
    let (place, _) = places.next()?;
    places.next().is_none().then_some(place)
}

fn part(word: &str) -> Part {
    let digits = digits_of(word);
    let (number, rest) = word.split_at(digits);
    match digits {
        0 => month(word).map_or_else(|| beside(word), Part::Month),
        1 | 2 if rest.is_empty() || ORDINALS.contains(&rest) => number.parse().map_or(Part::Other, Part::Day),
        4 if rest.is_empty() => number.parse().map_or(Part::Other, Part::Year),
        _ => Part::Other,
    }
}

/// How many digits a word begins with.
fn digits_of(word: &str) -> usize {
    word.bytes().take_while(u8::is_ascii_digit).count()
}

fn beside(word: &str) -> Part {
    match weekday(word) {
        _ if FILLERS.contains(&word) => Part::Filler,
        Some(_) => Part::Weekday,
        None => Part::Other,
    }
}

/// Whether a folded text beside a date holds at most a weekday.
pub(super) fn is_only_weekday(text: &str) -> bool {
    words(text).all(|word| beside(word) != Part::Other)
}

fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The first date of a folded text with its month in words: day and month side by side in either order, with a year of
/// four digits before or after them; else the first day, month and year, wherever they are.
pub(super) fn date(folded: &str) -> Option<Found> {
    // Most names have no day or no year, which is cheaper to see than what their words mean.
    let has = |digits: &[usize]| words(folded).any(|word| digits.contains(&digits_of(word)));
    if !has(&[4]) || !has(&[1, 2]) {
        return None;
    }
    let parts: Vec<Part> = words(folded).map(part).filter(|part| *part != Part::Filler).collect();
    let side_by_side = parts.windows(3).find_map(|three| match *three {
        [Part::Day(day), Part::Month(month), Part::Year(year)]
        | [Part::Month(month), Part::Day(day), Part::Year(year)]
        | [Part::Year(year), Part::Month(month), Part::Day(day)] => Date::new(year, month, day).ok(),
        _ => None,
    });
    if let Some(date) = side_by_side {
        let others = parts.iter().filter(|part| **part != Part::Weekday).count();
        return Some(Found { date, together: true, alone: others == 3 });
    }
    let day = parts.iter().find_map(|part| if let Part::Day(day) = part { Some(*day) } else { None })?;
    let month = parts.iter().find_map(|part| if let Part::Month(month) = part { Some(*month) } else { None })?;
    let year = parts.iter().find_map(|part| if let Part::Year(year) = part { Some(*year) } else { None })?;
    Some(Found { date: Date::new(year, month, day).ok()?, together: false, alone: false })
}

#[cfg(test)]
mod tests;
