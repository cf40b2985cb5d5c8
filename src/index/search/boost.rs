//! What speaks for a hit beside its text: where its note stands among the links, whether it is linked with what the
//! query names, how new it is, whether it is of the time that the query asks about, of what kind it is.
//!
//! Each boost is a share (0..=1) times its weight; their sum is capped at [`MOST`]. A boosted score is
//! `1 − (1 − fused)^(1 + sum)`: a weak hit gains in proportion to its score, no score passes 1, and of two hits with
//! the same boosts the better one stays the better one. So boosts decide between hits that the lanes judge nearly
//! alike, and never lift what has nothing to do with the query.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::asked::When;
use super::elsewhere::NamesElsewhere;
use super::filter::day_of;
use super::fuse::Ranked;
use crate::links::key;
use crate::{Graph, NoteEntry, NoteNo, Snapshot};
use protocol::hit::Boosted;

/// All boosts of a hit together are worth this at most: a hit with a score of 0.4 comes to 0.54 with it.
const MOST: f32 = 0.5;

/// Words of a query that are looked at for names, and words of a name.
const QUERY_WORDS: usize = 48;
const NAME_WORDS: usize = 8;

/// A name that more notes bear (`index`, `readme`) names none of them.
pub(super) const BEARERS: usize = 4;

/// A word that more names begin with (`meeting`) names none of them.
const BEGINNINGS: usize = 256;

/// Share of a note that is named by the beginning of its name instead of all of it.
const PARTLY: f32 = 0.5;

/// Part of a named note's share that the notes linked with it get.
const LINKED: f32 = 0.5;

/// What notes are boosted for, and how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Boosts {
    /// Weight (0..=1) of the place among the links: [`crate::graph::Measures::score`].
    pub graph_weight: f32,
    /// Weight (0..=1) of being named by the query; half of it counts for being linked, either way, with such a note.
    pub link_weight: f32,
    /// Weight (0..=1) of being new.
    pub recency_weight: f32,
    /// Days after which a note counts as half as new.
    pub recency_half_life: f32,
    /// Weight (0..=1) of being of the time that the query asks about: `in March`, `last Tuesday`; of being new where it
    /// asks for the newest.
    pub date_weight: f32,
    /// Weights (0..=1) of kinds of notes, in lower case.
    pub type_weights: BTreeMap<String, f32>,
    /// The day that age is reckoned from; without it nothing is new.
    pub today: Option<Date>,
    /// When the query asks about.
    pub asked: Option<When>,
    /// The links; without them the first boost is 0, and the second counts only for the named notes.
    pub graph: Option<Arc<Graph>>,
}

impl Default for Boosts {
    fn default() -> Self {
        Boosts {
            graph_weight: 0.0,
            link_weight: 0.1,
            recency_weight: 0.15,
            recency_half_life: 30.0,
            date_weight: 0.3,
            type_weights: BTreeMap::from([("daily".to_owned(), 0.05)]),
            today: None,
            asked: None,
            graph: None,
        }
    }
}

/// The sum of all boosts of a hit, capped at [`MOST`].
fn sum(boosted: Boosted) -> f32 {
    (boosted.graph + boosted.links + boosted.recency + boosted.date + boosted.kind).clamp(0.0, MOST)
}

/// Boosts what was found for the query's `text`. The days of notes without a date of their own are reckoned in
/// `zone`.
pub(super) fn boost(snapshot: &Snapshot, ranked: &mut [Ranked], text: &str, zone: &TimeZone, boosts: &Boosts) {
    let near = if boosts.link_weight > 0.0 {
        let named = named(text, |name| snapshot.bearing(name), |word| snapshot.beginning(word, BEGINNINGS));
        near(named, |no| {
            let graph = boosts.graph.as_deref().into_iter();
            graph.flat_map(|graph| graph.links(no).chain(graph.backlinks(no))).collect()
        })
    } else {
        HashMap::new()
    };
    let weigher = Weigher { near, zone, boosts };
    let mut known: HashMap<NoteNo, Boosted> = HashMap::new();
    // Chunks and then notes lie anywhere in memory. Side by side the processor waits for many of them at once.
    let chunks: Vec<_> = ranked.iter().map(|hit| snapshot.chunk(hit.candidate.row)).collect();
    let numbers: Vec<_> = chunks.into_iter().map(|chunk| chunk.map(|chunk| chunk.note)).collect();
    let notes: Vec<_> = numbers.into_iter().map(|no| no.and_then(|no| snapshot.note(no))).collect();
    for (hit, note) in ranked.iter_mut().zip(notes) {
        let Some(note) = note else { continue };
        hit.boosted = *known.entry(note.no).or_insert_with(|| weigher.weigh(note));
        hit.score = boosted(hit.fused, sum(hit.boosted));
    }
}

/// The same for notes that are in no snapshot: the row of a hit is the index of its note in `notes`.
pub(super) fn boost_notes(
    notes: &[&NoteEntry],
    linked: &NamesElsewhere,
    ranked: &mut [Ranked],
    text: &str,
    zone: &TimeZone,
    boosts: &Boosts,
) {
    let near = if boosts.link_weight > 0.0 {
        let named = named(text, |name| linked.bearing(name), |word| linked.beginning(word, BEGINNINGS));
        near(named, |no| linked.linked_with(no))
    } else {
        HashMap::new()
    };
    let weigher = Weigher { near, zone, boosts };
    for hit in ranked {
        let Some(note) = notes.get(hit.candidate.row as usize) else { continue };
        hit.boosted = weigher.weigh(note);
        hit.score = boosted(hit.fused, sum(hit.boosted));
    }
}

fn boosted(fused: f32, sum: f32) -> f32 {
    1.0 - (1.0 - fused.clamp(0.0, 1.0)).powf(1.0 + sum)
}

struct Weigher<'a> {
    /// Shares of the notes that the query names, and of their neighbours.
    near: HashMap<NoteNo, f32>,
    zone: &'a TimeZone,
    boosts: &'a Boosts,
}

impl Weigher<'_> {
    fn weigh(&self, note: &NoteEntry) -> Boosted {
        let boosts = self.boosts;
        let weigh = |weight: f32, share: f32| weight.clamp(0.0, 1.0) * share.clamp(0.0, 1.0);
        let graph = boosts.graph.as_ref().filter(|_| boosts.graph_weight > 0.0);
        let score = graph.map_or(0.0, |graph| graph.of(note.no).score);
        let kind = note.kind().and_then(|kind| boosts.type_weights.get(&kind.to_lowercase()));
        Boosted {
            graph: weigh(boosts.graph_weight, score),
            links: weigh(boosts.link_weight, self.near.get(&note.no).copied().unwrap_or(0.0)),
            recency: weigh(boosts.recency_weight, self.newness(note)),
            date: weigh(boosts.date_weight, self.asked_for(note)),
            kind: weigh(kind.copied().unwrap_or(0.0), 1.0),
            ..Boosted::default()
        }
    }

    /// How much a note is of the time that the query asks about.
    fn asked_for(&self, note: &NoteEntry) -> f32 {
        match self.boosts.asked {
            Some(When::Days(start, end)) => {
                let day = day_of(note, self.zone);
                f32::from(u8::from(start <= day && end.is_none_or(|end| day < end)))
            }
            Some(When::Newest) => self.newness(note),
            None => 0.0,
        }
    }

    /// 1 today, a half after the half-life, a quarter after two.
    fn newness(&self, note: &NoteEntry) -> f32 {
        let (Some(today), half_life) = (self.boosts.today, self.boosts.recency_half_life) else { return 0.0 };
        // Not `until`, which takes ten times as long: this runs for every candidate.
        let age = (today.duration_since(day_of(note, self.zone)).as_hours() / 24).max(0);
        if half_life > 0.0 { 0.5f32.powf(age as f32 / half_life) } else { 0.0 }
    }
}

/// The notes that are named, and those that link to them or from them, with what that is worth.
fn near(named: Vec<(NoteNo, f32)>, linked_with: impl Fn(NoteNo) -> Vec<NoteNo>) -> HashMap<NoteNo, f32> {
    let mut near = HashMap::new();
    let mut count = |no: NoteNo, share: f32| {
        let known = near.entry(no).or_insert(share);
        *known = known.max(share);
    };
    for (no, share) in named {
        count(no, share);
        linked_with(no).into_iter().for_each(|linked| count(linked, share * LINKED));
    }
    near
}

/// The notes whose file name, title or alias is in a text, each with a share of 1; a longer name hides those within it.
/// Words that are left over name the notes whose names begin with them, with a share of [`PARTLY`]. `bearing` gives the
/// notes of a name, `beginning` the names that begin with a word; it is called at most once per word.
fn named(
    text: &str,
    bearing: impl Fn(&str) -> Vec<NoteNo>,
    beginning: impl Fn(&str) -> Vec<(NoteNo, Box<str>)>,
) -> Vec<(NoteNo, f32)> {
    let words: Vec<&str> =
        text.split_whitespace().map(bare).filter(|word| !word.is_empty()).take(QUERY_WORDS).collect();
    let mut taken = vec![false; words.len()];
    let mut named = Vec::new();
    let mut look = |share: f32, bearers_of: &dyn Fn(usize, &[&str]) -> Vec<NoteNo>| {
        for length in (1..=words.len().min(NAME_WORDS)).rev() {
            for (at, run) in words.windows(length).enumerate() {
                if taken[at..at + length].iter().any(|taken| *taken) {
                    continue;
                }
                let mut bearers = bearers_of(at, run);
                bearers.sort_unstable();
                bearers.dedup();
                if !bearers.is_empty() && bearers.len() <= BEARERS {
                    taken[at..at + length].fill(true);
                    named.extend(bearers.into_iter().map(|no| (no, share)));
                }
            }
        }
    };
    look(1.0, &|_, run| spellings(run).iter().flat_map(|name| bearing(name)).collect());
    let first = words.first().copied();
    let names: Vec<OnceCell<_>> = words.iter().map(|_| OnceCell::new()).collect();
    look(PARTLY, &|at, run| {
        if !begins_a_name(run, first) {
            return Vec::new();
        }
        let begin = format!("{} ", key(&run.join(" ")));
        let names = names[at].get_or_init(|| beginning(words[at])).iter();
        names.filter(|(_, name)| name.starts_with(&begin)).map(|(no, _)| *no).collect()
    });
    named
}

/// Whether words may be meant as the beginning of a name. A single word needs a capital or a digit (`Lr`, `Q4`), for
/// `how` and `the` begin many titles. The first letter of a question's `first` word does not count: it is a capital
/// anyway.
fn begins_a_name(run: &[&str], first: Option<&str>) -> bool {
    match run {
        [word] => {
            let skipped = usize::from(first.is_some_and(|first| std::ptr::eq(first, *word)));
            word.chars().skip(skipped).any(|c| c.is_uppercase() || c.is_numeric())
        }
        _ => true,
    }
}

/// A word without the punctuation of its sentence and without a possessive `'s`.
fn bare(word: &str) -> &str {
    let outside = |c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '_' | '@' | '&');
    let word = word.trim_matches(outside);
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

/// How a name of these words may be spelt; none for a single word that is too short to name something.
fn spellings(words: &[&str]) -> Vec<String> {
    match words {
        [word] if word.chars().count() < 3 && word.is_ascii() => Vec::new(),
        [word] if word.contains(['-', '_']) => vec![(*word).to_owned(), word.replace(['-', '_'], " ")],
        [word] => vec![(*word).to_owned()],
        _ => [" ", "-", "_"].map(|between| words.join(between)).to_vec(),
    }
}

#[cfg(test)]
mod tests;
