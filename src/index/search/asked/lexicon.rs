//! The words of a question, and what each may do in a time, in whichever language.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::languages::{ENDINGS, LANGUAGES};
use crate::search::dates;

/// Words of a question that are looked at.
const MOST_WORDS: usize = 48;

/// A word of the question, folded, and where it stands.
pub(super) struct Word {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is in capitals, as names of series are: `RFC 2025`.
    pub(super) capitals: bool,
    /// Whether a dash stands before it, between blanks.
    pub(super) dashed: bool,
}

/// What is a separate word before an apostrophe, which it keeps: `d'octobre`, `dell'anno`.
const ELIDED: [&str; 8] = ["d", "l", "qu", "dell", "nell", "all", "dall", "jusqu"];

pub(super) fn words(question: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut dashed = false;
    for piece in question.split_whitespace() {
        if matches!(piece, "-" | "–" | "—") {
            dashed = true;
            continue;
        }
        let start = piece.as_ptr() as usize - question.as_ptr() as usize;
        let mut add = |from: usize, to: usize, after: &str| {
            let text = &piece[from..to];
            let trimmed = text.trim_start_matches(|c: char| !c.is_alphanumeric());
            let shortened = text[..text.len() - trimmed.len()].ends_with(['\'', '’']);
            let from = from + text.len() - trimmed.len();
            let trimmed = trimmed.trim_end_matches(|c: char| !c.is_alphanumeric());
            if !trimmed.is_empty() {
                let capitals = trimmed.len() > 1 && trimmed.bytes().all(|byte| byte.is_ascii_uppercase());
                // Folded, `før` (before) would be `for`.
                let text = match trimmed.to_lowercase() {
                    before if before == "før" => before,
                    // `March '26`
                    year if shortened && dates::number::<i16>(&year, 2..=2).is_some() => format!("20{year}"),
                    _ => possessor(&note::fold(trimmed).replace('’', "'")).to_owned() + after,
                };
                let start = start + from;
                let dashed = std::mem::take(&mut dashed);
                words.push(Word { text, start, end: start + trimmed.len(), capitals, dashed });
            }
        };
        match piece.find(['\'', '’']) {
            Some(at) if ELIDED.contains(&note::fold(&piece[..at]).as_str()) => {
                add(0, at, "'");
                add(at, piece.len(), "");
            }
            _ => add(0, piece.len(), ""),
        }
        if words.len() >= MOST_WORDS {
            break;
        }
    }
    words
}

/// A word without the ending of English that says whose something is: `last week's notes`, but `what's new`.
fn possessor(word: &str) -> &str {
    word.strip_suffix("'s").filter(|owner| *owner != "what").unwrap_or(word)
}

/// What a word of a language does in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Today,
    Yesterday,
    DayBefore,
    /// `last` (1), `this` (0) or `next` (-1) before what it belongs to, and behind it.
    Beside(i64),
    Behind(i64),
    Unit(&'static str),
    At,
    AgoBefore,
    AgoBehind,
    Between,
    And,
    From,
    To,
    Since,
    Before,
    Until,
    After,
    Beginning,
    End,
    Newest,
    State,
    Of,
    Number(i64),
    Few,
    Ordinal(i8),
    Month(i8),
    Weekday(i8),
}

/// A phrase that begins with a word.
pub(super) struct Phrase {
    pub(super) language: usize,
    pub(super) role: Role,
    /// Whether it says several: `days`, `derniers`.
    pub(super) several: bool,
    pub(super) rest: Vec<String>,
}

/// All phrases by their first word.
pub(super) static LEXICON: LazyLock<HashMap<String, Vec<Phrase>>> = LazyLock::new(|| {
    let mut lexicon: HashMap<String, Vec<Phrase>> = HashMap::new();
    for (language, l) in LANGUAGES.iter().enumerate() {
        let [today, yesterday, before] = l.days;
        let mut roles = vec![
            (today, Role::Today),
            (yesterday, Role::Yesterday),
            (before, Role::DayBefore),
            (l.last[0], Role::Beside(1)),
            (l.last[1], Role::Behind(1)),
            (l.this, Role::Beside(0)),
            (l.next[0], Role::Beside(-1)),
            (l.next[1], Role::Behind(-1)),
            (l.at, Role::At),
            (l.ago[0], Role::AgoBefore),
            (l.ago[1], Role::AgoBehind),
            (l.between[0], Role::Between),
            (l.between[1], Role::And),
            (l.from[0], Role::From),
            (l.from[1], Role::To),
            (l.since, Role::Since),
            (l.before, Role::Before),
            (l.until, Role::Until),
            (l.after, Role::After),
            (l.edges[0], Role::Beginning),
            (l.edges[1], Role::End),
            (l.newest, Role::Newest),
            (l.state, Role::State),
            (l.of, Role::Of),
            (l.few, Role::Few),
        ];
        roles.extend(l.units.split(',').zip(dates::UNITS).map(|(forms, unit)| (forms, Role::Unit(unit))));
        roles.extend((1..).zip(l.numbers.split(',')).map(|(number, forms)| (forms, Role::Number(number))));
        roles.extend((1..).zip(l.ordinals.split(',')).map(|(number, forms)| (forms, Role::Ordinal(number))));
        for (forms, role) in roles {
            let (one, more) = forms.split_once(" / ").unwrap_or((forms, ""));
            let forms =
                [(one, false), (more, true)].map(|(forms, several)| forms.split('|').map(move |form| (form, several)));
            for (form, several) in forms.into_iter().flatten() {
                let mut words = self::words(form).into_iter().map(|word| word.text);
                let Some(first) = words.next() else { continue };
                lexicon.entry(first).or_default().push(Phrase { language, role, several, rest: words.collect() });
            }
        }
    }
    let months = note::months().map(|(code, name, month)| (code, name, Role::Month(month)));
    for (code, name, role) in months.chain(note::weekdays().map(|(code, name, day)| (code, name, Role::Weekday(day)))) {
        let language = LANGUAGES.iter().position(|language| language.code == code);
        let phrase = language.map(|language| Phrase { language, role, several: false, rest: Vec::new() });
        lexicon.entry(name.to_owned()).or_default().extend(phrase);
    }
    lexicon
});

/// What a word names in a language or in any, as it is or without an ending of inflection.
pub(super) fn named(word: &str, of: Option<usize>, number: impl Fn(Role) -> Option<i8>) -> Option<i8> {
    let name = |name: &str, languages: &str| {
        let phrases = LEXICON.get(name)?.iter().filter(|phrase| of.is_none_or(|language| language == phrase.language));
        let phrases =
            phrases.filter(|phrase| languages.is_empty() || languages.contains(LANGUAGES[phrase.language].code));
        phrases.filter(|phrase| phrase.rest.is_empty()).find_map(|phrase| number(phrase.role))
    };
    let stems = ENDINGS.iter().filter_map(|(ending, languages)| Some((word.strip_suffix(ending)?, languages)));
    let mut stems = stems.filter(|(stem, _)| stem.chars().count() >= 4);
    name(word, "").or_else(|| stems.find_map(|(stem, languages)| name(stem, languages)))
}
