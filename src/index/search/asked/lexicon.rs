//! The words of a question, and what each may do in a time, in whichever language.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::languages::LANGUAGES;
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

/// What is a separate word before an apostrophe: `d'octobre`, `dell'anno`.
const ELIDED: [&str; 9] = ["d", "l", "qu", "dell", "nell", "all", "dall", "jusqu", "un"];

pub(super) fn words(question: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut dashed = false;
    for piece in question.split_whitespace() {
        if matches!(piece, "-" | "–" | "—") {
            dashed = true;
            continue;
        }
        let start = piece.as_ptr() as usize - question.as_ptr() as usize;
        let mut add = |from: usize, to: usize| {
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
                    _ => note::fold(trimmed).replace('’', "'"),
                };
                let start = start + from;
                let dashed = std::mem::take(&mut dashed);
                words.push(Word { text, start, end: start + trimmed.len(), capitals, dashed });
            }
        };
        match piece.find(['\'', '’']) {
            Some(at) if ELIDED.contains(&note::fold(&piece[..at]).as_str()) => {
                add(0, at);
                add(at, piece.len());
            }
            _ => add(0, piece.len()),
        }
        if words.len() >= MOST_WORDS {
            break;
        }
    }
    words
}

/// What a word of a language does in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Today,
    Yesterday,
    DayBefore,
    Last,
    LastBehind,
    This,
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
}

/// A phrase that begins with a word.
pub(super) struct Phrase {
    pub(super) language: usize,
    pub(super) role: Role,
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
            (l.last[0], Role::Last),
            (l.last[1], Role::LastBehind),
            (l.this, Role::This),
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
        ];
        roles.extend(l.units.into_iter().zip(dates::UNITS).map(|(forms, unit)| (forms, Role::Unit(unit))));
        roles.extend((1..).zip(l.numbers.split(',')).map(|(number, forms)| (forms, Role::Number(number))));
        for (forms, role) in roles {
            for form in forms.split('|').filter(|form| !form.is_empty()) {
                let mut words = self::words(form).into_iter().map(|word| word.text);
                let Some(first) = words.next() else { continue };
                lexicon.entry(first).or_default().push(Phrase { language, role, rest: words.collect() });
            }
        }
    }
    lexicon
});
