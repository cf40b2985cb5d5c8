//! Queries out of a vault, without a model: what people call a note where its name does not say it.
//!
//! Three kinds: the text of a link that says more than the names of its target (title, aliases, file name) and is no
//! heading of it; an alias that says more than title and file name; a description from the front matter. Each is masked where it stood, in the parsed notes that are handed back:
//! a link keeps leading to its target and no longer shows the text, the front matter no longer holds it. So the
//! note that answers has to be found by what else it says. Other notes may hold the same words, and may even answer
//! as well: what is measured is a lower bound, and good for comparing.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::mask::masked;
use super::words::{key, words};
use super::{Relevance, Rng};
use crate::search;
use note::VaultPath;
use note::{Link, LinkKind, Note, NoteRules, parse};

/// What a query was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryKind {
    /// The text of a link.
    Link,
    /// Another name in the front matter.
    Alias,
    /// `description` or `summary` in the front matter.
    Description,
}

impl QueryKind {
    /// As it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            QueryKind::Link => "link",
            QueryKind::Alias => "alias",
            QueryKind::Description => "description",
        }
    }
}

/// How queries are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakeSettings {
    /// Decides which are drawn where there are more than `per_kind`.
    pub seed: u64,
    /// Queries of one kind at most.
    pub per_kind: usize,
}

/// A query made from a vault.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeQuery {
    /// What is asked.
    pub text: String,
    /// What it was.
    pub kind: QueryKind,
    /// The note that answers it.
    pub target: VaultPath,
    /// The notes where it was masked, in order; for an alias or description its own is one of them.
    pub sources: Vec<VaultPath>,
}

impl MadeQuery {
    /// The one note that is judged relevant.
    pub fn judged(&self) -> Relevance {
        Relevance::from([(self.target.as_str().to_owned(), 1.0)])
    }
}

/// The queries of a vault, and the vault as it is to be searched for them.
#[derive(Clone, Debug)]
pub struct MadeQueries {
    /// Sorted by kind, then text.
    pub queries: Vec<MadeQuery>,
    /// How many there would have been of each kind.
    pub found: BTreeMap<QueryKind, usize>,
    /// All notes in the order given, masked.
    pub notes: Vec<Note>,
}

/// A word is telling if at most this share of the notes (one in so many) has it, or [`FEW`] notes do.
const TELLING: usize = 10;
const FEW: usize = 3;
/// A word is rare if at most one note in so many has it, or [`PAIR`] notes do.
const RARE: usize = 100;
const PAIR: usize = 2;
/// Longer link texts and aliases are sentences that nobody would type.
const MOST_WORDS: usize = 20;
/// A description is asked for up to here.
const DESCRIPTION_WORDS: usize = 30;

/// A text that may become a query: kind, words, text, target.
struct Candidate {
    kind: QueryKind,
    key: String,
    text: String,
    target: usize,
}

/// Makes queries. `resolve` says which note a link's target means, seen from a note; `rules` are those the notes
/// were parsed with.
pub fn make(
    notes: Vec<Note>,
    rules: &NoteRules,
    resolve: &dyn Fn(&str, &VaultPath) -> Option<VaultPath>,
    settings: MakeSettings,
) -> MadeQueries {
    let by_path: HashMap<VaultPath, usize> = notes.iter().enumerate().map(|(i, n)| (n.path.clone(), i)).collect();
    let resolve = |link: &Link, from: &VaultPath| {
        (link.kind != LinkKind::Url)
            .then(|| resolve(&link.target, from))
            .flatten()
            .and_then(|p| by_path.get(&p).copied())
    };
    let targets: Vec<Vec<Option<usize>>> =
        notes.iter().map(|note| note.links.iter().map(|link| resolve(link, &note.path)).collect()).collect();
    let mut candidates = candidates(&notes, &targets);
    drop_unfit(&mut candidates, &notes, &targets);
    let mut found = BTreeMap::new();
    for candidate in &candidates {
        *found.entry(candidate.kind).or_insert(0) += 1;
    }
    let chosen = draw(candidates, settings, &notes);

    let mut hidden: HashMap<usize, HashSet<&str>> = HashMap::new();
    for candidate in &chosen {
        hidden.entry(candidate.target).or_default().insert(&candidate.key);
    }
    let mut sources: HashMap<(usize, &str), BTreeSet<usize>> = HashMap::new();
    let mut masked_notes = Vec::with_capacity(notes.len());
    for (i, note) in notes.iter().enumerate() {
        let mut edits = Vec::new();
        for (link, target) in note.links.iter().zip(&targets[i]) {
            let Some(target) = *target else { continue };
            let Some(hidden) = hidden.get(&target) else { continue };
            let shown = link.alias.as_deref().and_then(|shown| hidden.get(&*key(shown)).copied());
            let named = hidden.get(&*key(&link.target)).copied();
            if shown.is_none() && named.is_none() {
                continue;
            }
            let name = named.map(|_| link_name(&notes[target].path));
            if let Some(text) = masked(&note.text[link.span.clone()], link, shown.is_some(), name) {
                edits.push((link.span.clone(), text));
            }
            for hidden in [shown, named].into_iter().flatten() {
                sources.entry((target, hidden)).or_default().insert(i);
            }
        }
        masked_notes.push(if edits.is_empty() { note.clone() } else { edited(note, edits, rules) });
    }
    for candidate in &chosen {
        let note = &mut masked_notes[candidate.target];
        match candidate.kind {
            QueryKind::Link => continue,
            QueryKind::Alias => hide_alias(note, &candidate.key),
            QueryKind::Description => hide_description(note),
        }
        sources.entry((candidate.target, &candidate.key)).or_default().insert(candidate.target);
    }

    // What shows its text all the same, for whatever reason, proves nothing.
    let seen = still_shown(&masked_notes, &resolve);
    let query = |c: &Candidate| MadeQuery {
        text: c.text.clone(),
        kind: c.kind,
        target: notes[c.target].path.clone(),
        sources: sources
            .get(&(c.target, c.key.as_str()))
            .into_iter()
            .flatten()
            .map(|i| notes[*i].path.clone())
            .collect(),
    };
    let queries = chosen.iter().filter(|c| !seen.contains(&(c.target, c.key.clone()))).map(query).collect();
    MadeQueries { queries, found, notes: masked_notes }
}

/// Everything that somebody calls a note and that is not its name already, each once.
fn candidates(notes: &[Note], targets: &[Vec<Option<usize>>]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut seen = HashSet::new();
    let mut add = |kind, text: &str, target: usize| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let key = key(&text);
        if !key.is_empty() && seen.insert((key.clone(), target)) {
            candidates.push(Candidate { kind, key, text, target });
        }
    };
    for (target, note) in notes.iter().enumerate() {
        let own = own_names(note);
        for alias in note.front.aliases.iter().filter(|alias| says_more(&key(alias), &own)) {
            add(QueryKind::Alias, alias, target);
        }
        if let Some(description) = &note.front.description {
            let text = description.split_whitespace().take(DESCRIPTION_WORDS).collect::<Vec<_>>().join(" ");
            // What the note says in its text too would be found by it, word for word.
            let said = key(&note.text[note.body..]).contains(&key(&text));
            if !said && !own.contains(&key(&text)) {
                add(QueryKind::Description, &text, target);
            }
        }
    }
    let names: Vec<HashSet<String>> = notes.iter().map(all_names).collect();
    let heading_keys = |note: &Note| note.outline.iter().map(|heading| key(&heading.text)).collect();
    let headings: Vec<HashSet<String>> = notes.iter().map(heading_keys).collect();
    for (source, note) in notes.iter().enumerate() {
        for (link, target) in note.links.iter().zip(&targets[source]) {
            let (Some(shown), Some(target)) = (&link.alias, *target) else { continue };
            let words = key(shown);
            let elsewhere = target != source && !link.embed;
            if elsewhere && says_more(&words, &names[target]) && !headings[target].contains(&words) {
                add(QueryKind::Link, shown, target);
            }
        }
    }
    candidates
}

/// Whether a text has a word that none of these names has: else it is a name cut short, and tells nothing of how
/// a note is found by what it says.
fn says_more(text: &str, names: &HashSet<String>) -> bool {
    let words: HashSet<&str> = names.iter().flat_map(|name| name.split(' ')).collect();
    text.split(' ').any(|word| !words.contains(word))
}

/// Title and file name of a note.
fn own_names(note: &Note) -> HashSet<String> {
    [note.title.as_str(), note.path.stem()].into_iter().map(key).collect()
}

/// These, and its aliases.
fn all_names(note: &Note) -> HashSet<String> {
    let mut names = own_names(note);
    names.extend(note.front.aliases.iter().map(|alias| key(alias)));
    names
}

/// Leaves only what says enough, means one note, is read as plain words, and can be masked everywhere.
fn drop_unfit(candidates: &mut Vec<Candidate>, notes: &[Note], targets: &[Vec<Option<usize>>]) {
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
    for (note, targets) in notes.iter().zip(targets) {
        for (link, target) in note.links.iter().zip(targets) {
            let Some(target) = *target else { continue };
            let source = &note.text[link.span.clone()];
            if let Some(shown) = &link.alias
                && masked(source, link, true, None).is_none()
            {
                fixed.insert((target, key(shown)));
            }
            if masked(source, link, false, Some(link_name(&notes[target].path))).is_none() {
                fixed.insert((target, key(&link.target)));
            }
        }
    }
    candidates.retain(|c| {
        let long = c.kind != QueryKind::Description && c.key.split(' ').count() > MOST_WORDS;
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
        let no_operators = parsed.phrases.is_empty() && parsed.without.is_empty();
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

    /// At least two telling words, or a rare one.
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

/// At most so many of each kind, drawn by the seed from an order that does not depend on how notes were listed.
fn draw(candidates: Vec<Candidate>, settings: MakeSettings, notes: &[Note]) -> Vec<Candidate> {
    let mut kinds: BTreeMap<QueryKind, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        kinds.entry(candidate.kind).or_default().push(candidate);
    }
    let mut drawn = Vec::new();
    for (no, mut of_kind) in kinds.into_values().enumerate() {
        let order = |c: &Candidate| (c.key.clone(), notes[c.target].path.clone());
        of_kind.sort_by_cached_key(order);
        if of_kind.len() > settings.per_kind {
            Rng::new(settings.seed.wrapping_add(no as u64)).shuffle(&mut of_kind);
            of_kind.truncate(settings.per_kind);
            of_kind.sort_by_cached_key(order);
        }
        drawn.append(&mut of_kind);
    }
    drawn
}

/// How a wikilink names a note without saying any other name of it.
fn link_name(path: &VaultPath) -> &str {
    let path = path.as_str();
    path.strip_suffix(".md").unwrap_or(path)
}

/// The note with other text in these spans, parsed anew.
fn edited(note: &Note, mut edits: Vec<(std::ops::Range<usize>, String)>, rules: &NoteRules) -> Note {
    edits.sort_by_key(|(span, _)| span.start);
    let (mut text, mut at) = (String::with_capacity(note.text.len()), 0);
    for (span, new) in edits {
        // A link within a link's text lies in what is rewritten already.
        if span.start >= at {
            text.push_str(&note.text[at..span.start]);
            text.push_str(&new);
            at = span.end;
        }
    }
    text.push_str(&note.text[at..]);
    parse(&note.path, text.as_bytes(), rules)
}

fn hide_alias(note: &mut Note, hidden: &str) {
    note.front.aliases.retain(|alias| key(alias) != hidden);
    note.front.properties.retain(|name, _| !matches!(key(name).as_str(), "alias" | "aliases"));
}

fn hide_description(note: &mut Note) {
    note.front.description = None;
    note.front.properties.retain(|name, _| !matches!(key(name).as_str(), "description" | "summary" | "desc"));
}

/// What the notes' links and front matter call each note.
fn still_shown(notes: &[Note], resolve: &dyn Fn(&Link, &VaultPath) -> Option<usize>) -> HashSet<(usize, String)> {
    let mut shown = HashSet::new();
    for (i, note) in notes.iter().enumerate() {
        for link in &note.links {
            if let Some(target) = resolve(link, &note.path) {
                shown.extend(link.alias.iter().chain([&link.target]).map(|text| (target, key(text))));
            }
        }
        shown.extend(all_names(note).into_iter().map(|name| (i, name)));
    }
    shown
}

#[cfg(test)]
mod tests;
