//! What may become a query, and what is not fit to.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jiff::civil::Date;

use super::{Meant, QueryKind, lead, link_name};
use crate::eval::mask::masked;
use crate::eval::words::{key, words};
use crate::search;
use note::Note;

/// A word is telling if at most one note in this many has it, or at most [`FEW`] notes do.
const TELLING: usize = 10;
const FEW: usize = 3;
/// A word is rare if at most one note in this many has it, or at most [`PAIR`] notes do.
const RARE: usize = 100;
const PAIR: usize = 2;
/// Longer link texts and aliases are sentences that nobody would type.
const MOST_WORDS: usize = 20;
/// A query has at most this many words of a description.
const DESCRIPTION_WORDS: usize = 30;

/// A text that may become a query.
pub(super) struct Candidate {
    pub(super) kind: QueryKind,
    /// Its words.
    pub(super) key: String,
    pub(super) text: String,
    pub(super) target: usize,
    /// Where it stands in the text of its target, if it does.
    pub(super) span: Option<Range<usize>>,
}

/// What may become a query.
pub(super) fn candidates(notes: &[Note], links: &[Vec<Meant>]) -> Vec<Candidate> {
    let mut all = everything(notes, links);
    drop_unfit(&mut all, notes, links);
    all
}

/// Everything that notes are called besides their names, and what they begin with, each once.
fn everything(notes: &[Note], links: &[Vec<Meant>]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |kind, text: &str, target: usize, span: Option<Range<usize>>| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let key = key(&text);
        if !key.is_empty() && seen.insert((key.clone(), target)) {
            candidates.push(Candidate { kind, key, text, target, span });
        }
    };
    for (target, note) in notes.iter().enumerate() {
        for lead in lead::leads(note) {
            let kind = if lead.first { QueryKind::Lead } else { QueryKind::Section };
            add(kind, &lead.text, target, Some(lead.span));
        }
        let own = own_names(note);
        for alias in note.front.aliases.iter().filter(|alias| says_more(&key(alias), &own)) {
            add(QueryKind::Alias, alias, target, None);
        }
        if let Some(description) = &note.front.description {
            let text = description.split_whitespace().take(DESCRIPTION_WORDS).collect::<Vec<_>>().join(" ");
            // A description that the text repeats would be found by the text, word for word.
            let said = key(&note.text[note.body..]).contains(&key(&text));
            if !said && !own.contains(&key(&text)) {
                add(QueryKind::Description, &text, target, None);
            }
        }
    }
    let names: Vec<HashSet<String>> = notes.iter().map(all_names).collect();
    let heading_keys = |note: &Note| note.outline.iter().map(|heading| key(&heading.text)).collect();
    let headings: Vec<HashSet<String>> = notes.iter().map(heading_keys).collect();
    for (source, links) in links.iter().enumerate() {
        for Meant { link, target, .. } in links {
            let (Some(shown), target) = (&link.alias, *target) else { continue };
            let words = key(shown);
            let elsewhere = target != source && !link.embed;
            if elsewhere && says_more(&words, &names[target]) && !headings[target].contains(&words) {
                add(QueryKind::Link, shown, target, None);
            }
        }
    }
    candidates
}

/// Whether a text has a word that none of these names has. Otherwise it is a shortened name, and does not test how a
/// note is found by what it says.
fn says_more(text: &str, names: &HashSet<String>) -> bool {
    let words: HashSet<&str> = names.iter().flat_map(|name| name.split(' ')).collect();
    text.split(' ').any(|word| !words.contains(word))
}

/// Title and file name of a note.
fn own_names(note: &Note) -> HashSet<String> {
    [note.title.as_str(), note.path.stem()].into_iter().map(key).collect()
}

/// Title, file name and aliases of a note.
pub(super) fn all_names(note: &Note) -> HashSet<String> {
    let mut names = own_names(note);
    names.extend(note.front.aliases.iter().map(|alias| key(alias)));
    names
}

/// Leaves only what says enough, means one note, is read as plain words, and can be masked everywhere.
fn drop_unfit(candidates: &mut Vec<Candidate>, notes: &[Note], links: &[Vec<Meant>]) {
    let common = Common::of(notes);
    let mut called: HashMap<String, HashSet<usize>> = HashMap::new();
    for (i, note) in notes.iter().enumerate() {
        for name in all_names(note) {
            called.entry(name).or_default().insert(i);
        }
    }
    for candidate in candidates.iter() {
        called.entry(candidate.key.clone()).or_default().insert(candidate.target);
    }
    let mut fixed: HashSet<(usize, String)> = HashSet::new();
    for (note, links) in notes.iter().zip(links) {
        for Meant { link, side, target } in links {
            let source = &note.text[link.span.clone()];
            if let Some(shown) = &link.alias
                && masked(source, link, *side, true, None).is_none()
            {
                fixed.insert((*target, key(shown)));
            }
            if masked(source, link, *side, false, Some(link_name(&notes[*target].path))).is_none() {
                fixed.insert((*target, key(&link.target)));
            }
        }
    }
    candidates.retain(|c| {
        let name = matches!(c.kind, QueryKind::Link | QueryKind::Alias);
        let long = name && c.key.split(' ').count() > MOST_WORDS;
        !long
            && called.get(&c.key).is_some_and(|notes| notes.len() == 1)
            && !fixed.contains(&(c.target, c.key.clone()))
            && common.says_enough(&c.key)
            && is_plain(&c.text)
    });
}

/// Whether the query language reads a text as nothing but words.
fn is_plain(text: &str) -> bool {
    search::parse(text, Date::constant(2000, 1, 1)).is_ok_and(|parsed| {
        let no_operators = parsed.phrases.is_empty() && parsed.without.is_empty() && parsed.patterns.is_empty();
        no_operators && parsed.filter.is_empty() && parsed.warnings.is_empty()
    })
}

/// In how many notes each word stands.
struct Common {
    notes: usize,
    holding: HashMap<String, usize>,
}

impl Common {
    fn of(notes: &[Note]) -> Self {
        let mut holding = HashMap::new();
        for note in notes {
            let all: HashSet<String> = words(&note.text).into_iter().collect();
            for word in all {
                *holding.entry(word).or_insert(0) += 1;
            }
        }
        Common { notes: notes.len(), holding }
    }

    /// Whether a text has at least two telling words, or a rare one.
    fn says_enough(&self, key: &str) -> bool {
        let holding = |word: &str| self.holding.get(word).copied().unwrap_or(0);
        let is_word = |word: &&str| word.chars().any(char::is_alphabetic) && (word.len() > 1);
        let words: HashSet<&str> = key.split(' ').filter(is_word).collect();
        let telling = words.iter().filter(|word| holding(word) <= FEW.max(self.notes / TELLING)).count();
        // A single letter of a script without spaces is a word and says little.
        let rare = |word: &&&str| word.chars().count() > 2 && holding(word) <= PAIR.max(self.notes / RARE);
        telling >= 2 || words.iter().any(|word| rare(&word))
    }
}
