//! Queries out of a vault, without a model: what people call a note where its name does not say it, and what a note
//! says of itself first.
//!
//! Four kinds: the text of a link that says more than the names of its target (title, aliases, file name) and is no
//! heading of it; an alias that says more than title and file name; a description from the front matter; the first
//! sentence of a note. A fifth only where these are too few to tell anything: the first sentence of a section. Each is
//! masked where it stood, in the parsed notes that are returned: a link still leads to its target but no longer shows
//! the text, and front matter and text no longer hold it. So the note that answers has to be found by what else it
//! says. Other notes may hold the same words, and may even answer as well: the figures are a lower bound, and good for
//! comparing.
//!
//! What was tried (`benches/TRIED.md`): first sentences order the ways of searching as judged questions do; headings,
//! any sentence, and first sentences of sections do so less, for masking them hides too little.

mod candidates;
mod lead;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::mask::masked;
use super::report::ENOUGH;
use super::words::key;
use super::{Relevance, Rng};
use crate::Side;
use candidates::{Candidate, all_names};
use note::VaultPath;
use note::{Link, Note, NoteRules, parse};

/// Which text a query comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum QueryKind {
    /// The text of a link.
    Link,
    /// Another name in the front matter.
    Alias,
    /// `description` or `summary` in the front matter.
    Description,
    /// The first sentence of the note.
    Lead,
    /// The first sentence of a section.
    Section,
}

impl QueryKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How queries are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MakeSettings {
    /// Decides which queries are drawn if there are more than `per_kind`.
    pub seed: u64,
    /// Queries of one kind at most.
    pub per_kind: usize,
}

/// A query made from a vault.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeQuery {
    /// What is asked.
    pub text: String,
    /// Which text it comes from.
    pub kind: QueryKind,
    /// The note that answers it.
    pub target: VaultPath,
    /// The notes where it was masked, in order; except for the text of a link, `target` is one of them.
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
    /// How many candidates there were of each kind.
    pub found: BTreeMap<QueryKind, usize>,
    /// All notes in the order given, masked.
    pub notes: Vec<Note>,
}

/// Which note a mention ([`Link::mention`]) means, seen from a note, and which of its sides says so.
pub type Resolve<'a> = &'a dyn Fn(&str, &VaultPath) -> Option<(Side, VaultPath)>;

/// A link to a note, with target and text each in its place, whichever of them is written first.
struct Meant {
    link: Link,
    side: Side,
    target: usize,
}

/// Makes queries. `rules` are those the notes were parsed with.
pub fn make(notes: Vec<Note>, rules: &NoteRules, resolve: Resolve<'_>, settings: MakeSettings) -> MadeQueries {
    let by_path: HashMap<VaultPath, usize> = notes.iter().enumerate().map(|(i, n)| (n.path.clone(), i)).collect();
    let meant = |link: &Link, from: &VaultPath| {
        let (side, path) = resolve(&link.mention()?, from)?;
        let target = *by_path.get(&path)?;
        let link = if side == Side::Second { link.text_first()? } else { link.clone() };
        Some(Meant { link, side, target })
    };
    let links_of = |note: &Note| note.links.iter().filter_map(|link| meant(link, &note.path)).collect();
    let links: Vec<Vec<Meant>> = notes.iter().map(links_of).collect();
    let candidates = candidates::candidates(&notes, &links);
    let mut found = BTreeMap::new();
    for candidate in &candidates {
        *found.entry(candidate.kind).or_insert(0) += 1;
    }
    let chosen = draw(candidates, settings, &notes);

    let mut hidden: HashMap<usize, HashSet<&str>> = HashMap::new();
    for candidate in &chosen {
        hidden.entry(candidate.target).or_default().insert(&candidate.key);
    }
    let mut cuts: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
    for (target, span) in chosen.iter().filter_map(|candidate| Some((candidate.target, candidate.span.clone()?))) {
        cuts.entry(target).or_default().push(span);
    }
    let mut sources: HashMap<(usize, &str), BTreeSet<usize>> = HashMap::new();
    let mut masked_notes = Vec::with_capacity(notes.len());
    for (i, note) in notes.iter().enumerate() {
        let mut edits: Vec<(Range<usize>, String)> =
            cuts.remove(&i).into_iter().flatten().map(|span| (span, String::new())).collect();
        for Meant { link, side, target } in &links[i] {
            let target = *target;
            let Some(hidden) = hidden.get(&target) else { continue };
            let shown = link.alias.as_deref().and_then(|shown| hidden.get(&*key(shown)).copied());
            let named = hidden.get(&*key(&link.target)).copied();
            if shown.is_none() && named.is_none() {
                continue;
            }
            let name = named.map(|_| link_name(&notes[target].path));
            if let Some(text) = masked(&note.text[link.span.clone()], link, *side, shown.is_some(), name) {
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
            // Cut out of the text already.
            QueryKind::Lead | QueryKind::Section => {}
        }
        sources.entry((candidate.target, &candidate.key)).or_default().insert(candidate.target);
    }

    // A query whose text is still shown, for whatever reason, proves nothing.
    let seen = still_shown(&masked_notes, &links_of);
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

/// At most `per_kind` of each kind, drawn by the seed from an order that does not depend on how notes were listed.
fn draw(candidates: Vec<Candidate>, settings: MakeSettings, notes: &[Note]) -> Vec<Candidate> {
    let mut kinds: BTreeMap<QueryKind, Vec<Candidate>> = BTreeMap::new();
    for candidate in candidates {
        kinds.entry(candidate.kind).or_default().push(candidate);
    }
    let mut drawn = Vec::new();
    for (kind, mut of_kind) in kinds {
        if kind == QueryKind::Section && drawn.len() >= ENOUGH {
            continue;
        }
        let order = |c: &Candidate| (c.key.clone(), notes[c.target].path.clone());
        of_kind.sort_by_cached_key(order);
        if of_kind.len() > settings.per_kind {
            Rng::new(settings.seed.wrapping_add(kind as u64)).shuffle(&mut of_kind);
            if kind == QueryKind::Section {
                spread(&mut of_kind);
            }
            of_kind.truncate(settings.per_kind);
            of_kind.sort_by_cached_key(order);
        }
        drawn.append(&mut of_kind);
    }
    drawn
}

/// Puts one of each note first, then a second of each, and so on.
fn spread(candidates: &mut Vec<Candidate>) {
    let mut taken: HashMap<usize, usize> = HashMap::new();
    let turn = |candidate: Candidate| {
        let turn = taken.entry(candidate.target).or_default();
        *turn += 1;
        (*turn, candidate)
    };
    let mut turns: Vec<(usize, Candidate)> = candidates.drain(..).map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    candidates.extend(turns.into_iter().map(|(_, candidate)| candidate));
}

/// How a wikilink names a note without saying any other name of it.
fn link_name(path: &VaultPath) -> &str {
    let path = path.as_str();
    path.strip_suffix(".md").unwrap_or(path)
}

/// The note with other text in these spans, parsed anew.
fn edited(note: &Note, mut edits: Vec<(Range<usize>, String)>, rules: &NoteRules) -> Note {
    edits.sort_by_key(|(span, _)| span.start);
    let (mut text, mut at) = (String::with_capacity(note.text.len()), 0);
    for (span, new) in edits {
        // A link within a link's text is in a span that is already rewritten.
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
fn still_shown(notes: &[Note], links_of: &dyn Fn(&Note) -> Vec<Meant>) -> HashSet<(usize, String)> {
    let mut shown = HashSet::new();
    for (i, note) in notes.iter().enumerate() {
        for Meant { link, target, .. } in links_of(note) {
            shown.extend(link.alias.iter().chain([&link.target]).map(|text| (target, key(text))));
        }
        shown.extend(all_names(note).into_iter().map(|name| (i, name)));
    }
    shown
}

#[cfg(test)]
mod tests;
