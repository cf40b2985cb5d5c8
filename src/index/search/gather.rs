//! Which of the ranked chunks become hits, each with a window of its own.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::rc::Rc;

use super::window::{Place, Window, grow};

/// A window that takes in others grows to so many times the length that one may have: to as much as so many hits
/// would show one by one. Otherwise a long note of which every chunk was found would be a single window.
const MOST_MERGED: usize = 4;

/// How many windows there may be, and how long they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Windows in all.
    pub(super) windows: usize,
    /// Windows of one note; at least one.
    pub(super) per_note: usize,
    /// Characters of a window.
    pub(super) chars: usize,
    /// Whether windows of a note that overlap or touch become one. None do if `chars` is 0: then a window is its
    /// chunk and nothing else.
    pub(super) merge: bool,
}

/// What was found, in one window.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    /// What was ranked best of it.
    pub(super) best: T,
    /// The others, best first.
    pub(super) also: Vec<T>,
    /// Its text.
    pub(super) window: Window,
}

/// What is asked about ranked chunks.
pub(super) trait Source<T> {
    /// Tells notes apart.
    type Note: Copy + Eq + Hash;
    /// A text could not be read.
    type Error;

    /// A chunk's note, and its index among [`Source::places`]; `None` if there is no such chunk.
    fn place(&mut self, item: &T) -> Option<(Self::Note, usize)>;

    /// The chunks of a note, in order.
    fn places(&mut self, note: Self::Note) -> Rc<[Place]>;

    /// The raw text of a chunk.
    fn text(&mut self, note: Self::Note, at: usize) -> Result<String, Self::Error>;
}

/// A window that may yet grow.
struct Open<T, N> {
    note: N,
    /// What was found in it, with ranks.
    found: Vec<(usize, T)>,
    window: Window,
    /// Characters of the longest window that it is made of.
    longest: usize,
}

impl<T, N> Open<T, N> {
    /// Takes in the one right behind it, unless both are too long together.
    fn join(&mut self, behind: &mut Self, chars: usize) -> bool {
        let longest = self.longest.max(behind.longest);
        let joined = self.window.join(&behind.window, chars.max(longest).saturating_mul(MOST_MERGED));
        if joined {
            self.longest = longest;
            self.found.append(&mut behind.found);
        }
        joined
    }
}

/// Takes chunks as they are ranked until there are [`Limits::windows`], and says whether there would be more.
///
/// With [`Limits::merge`] no text stands in two windows. What was found in a window that is there already goes into
/// that; a new window leaves what others have, and is joined with those that it then touches, unless they were too
/// long together. Either leaves its place to the next of the ranked. A note that has its share takes in what lies
/// right beside its windows, and nothing else. Windows come in the order of the best that is in each.
pub(super) fn gather<T, S: Source<T>>(
    ranked: impl IntoIterator<Item = T>,
    limits: &Limits,
    source: &mut S,
) -> Result<(Vec<Found<T>>, bool), S::Error> {
    let merge = limits.merge && limits.chars > 0;
    let mut windows: Vec<Open<T, S::Note>> = Vec::new();
    let mut shares: HashMap<S::Note, usize> = HashMap::new();
    let mut more = false;
    for (rank, item) in ranked.into_iter().enumerate() {
        let Some((note, at)) = source.place(&item) else { continue };
        let share = shares.entry(note).or_default();
        let near = if merge && *share > 0 { Near::find(&windows, note, at) } else { Near::default() };
        if let Some(inside) = near.inside {
            windows[inside].found.push((rank, item));
            continue;
        }
        let spent = *share >= limits.per_note.max(1);
        let beside = near.touches(at);
        if windows.len() >= limits.windows {
            if spent || beside {
                continue;
            }
            more = true;
            break;
        }
        if spent && !beside {
            continue;
        }
        let places = source.places(note);
        let window = grow(&places, at, near.bounds.clone(), limits.chars, |index| source.text(note, index))?;
        let new = Open { note, longest: window.chars, found: vec![(rank, item)], window };
        let mut row: Vec<Open<T, S::Note>> = near.take(&mut windows);
        let (before, parts) = (row.partition_point(|open| open.window.chunks.end <= at), row.len());
        row.insert(before, new);
        let mut joined: Vec<Open<T, S::Note>> = Vec::with_capacity(row.len());
        for mut open in row {
            if !joined.last_mut().is_some_and(|last| last.join(&mut open, limits.chars)) {
                joined.push(open);
            }
        }
        if spent && joined.len() > parts {
            joined.remove(before);
        }
        *share = *share + joined.len() - parts;
        windows.append(&mut joined);
    }
    Ok((in_order(windows), more))
}

/// Windows by the best that is in each.
fn in_order<T, N>(windows: Vec<Open<T, N>>) -> Vec<Found<T>> {
    let mut ranked: Vec<(usize, Found<T>)> = Vec::with_capacity(windows.len());
    for mut open in windows {
        open.found.sort_by_key(|(rank, _)| *rank);
        let mut found = open.found.into_iter();
        if let Some((rank, best)) = found.next() {
            ranked.push((rank, Found { best, also: found.map(|(_, item)| item).collect(), window: open.window }));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, found)| found).collect()
}

/// What of a note is around one of its chunks.
struct Near {
    /// The window that the chunk lies in.
    inside: Option<usize>,
    /// The chunks around it that no window has.
    bounds: Range<usize>,
    /// The windows that end and begin there.
    edges: [Option<usize>; 2],
}

impl Default for Near {
    fn default() -> Self {
        Near { inside: None, bounds: 0..usize::MAX, edges: [None; 2] }
    }
}

impl Near {
    fn find<T, N: Eq>(windows: &[Open<T, N>], note: N, at: usize) -> Self {
        let mut near = Near::default();
        for (i, open) in windows.iter().enumerate().filter(|(_, open)| open.note == note) {
            let chunks = &open.window.chunks;
            if chunks.contains(&at) {
                near.inside = Some(i);
            } else if chunks.end <= at && chunks.end > near.bounds.start {
                (near.bounds.start, near.edges[0]) = (chunks.end, Some(i));
            } else if chunks.start > at && chunks.start < near.bounds.end {
                (near.bounds.end, near.edges[1]) = (chunks.start, Some(i));
            }
        }
        near
    }

    /// Whether a window lies right beside the chunk.
    fn touches(&self, at: usize) -> bool {
        self.edges[0].is_some() && self.bounds.start == at || self.edges[1].is_some() && self.bounds.end == at + 1
    }

    /// Takes the windows at the edges out of all, in their order in the note.
    fn take<T, N>(&self, windows: &mut Vec<Open<T, N>>) -> Vec<Open<T, N>> {
        let mut taken: Vec<usize> = self.edges.into_iter().flatten().collect();
        taken.sort_unstable_by_key(|i| std::cmp::Reverse(*i));
        let mut row: Vec<Open<T, N>> = taken.into_iter().map(|i| windows.swap_remove(i)).collect();
        row.sort_by_key(|open| open.window.chunks.start);
        row
    }
}

#[cfg(test)]
mod tests;
