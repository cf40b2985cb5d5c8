//! Which of the ranked chunks become hits, each with its own window.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::rc::Rc;

use super::window::{Place, Window, grow};

/// How many windows there may be, and how long they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Windows in all.
    pub(super) windows: usize,
    /// Windows of one note; at least one.
    pub(super) per_note: usize,
    /// Characters of a window; only a single chunk may be longer.
    pub(super) chars: usize,
    /// Whether a chunk inside an existing window joins that window. None does if `chars` is 0: then a window is its
    /// chunk and nothing else.
    pub(super) merge: bool,
}

/// What was found, in one window.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    /// The best-ranked chunk in it.
    pub(super) best: T,
    /// The others, best first.
    pub(super) also: Vec<T>,
    /// Its text.
    pub(super) window: Window,
}

/// What [`gather`] asks about ranked chunks.
pub(super) trait Source<T> {
    /// Tells notes apart.
    type Note: Copy + Eq + Hash;
    /// A text could not be read.
    type Error;

    /// A chunk's note, and its index among [`Source::places`]; `None` if there is no such chunk.
    fn place(&mut self, item: &T) -> Option<(Self::Note, usize)>;

    /// The chunks of a note, in order.
    fn places(&mut self, note: Self::Note) -> Rc<[Place]>;

    /// Whether the text of a chunk is there. A chunk that was found by its vector alone may lack it.
    fn has_text(&mut self, note: Self::Note, at: usize) -> Result<bool, Self::Error>;

    /// The raw text of a chunk.
    fn text(&mut self, note: Self::Note, at: usize) -> Result<String, Self::Error>;
}

/// A window in the making: what was found in it, with ranks.
struct Open<T, N> {
    note: N,
    found: Vec<(usize, T)>,
    window: Window,
}

/// Takes chunks in the order of their ranks until there are [`Limits::windows`] windows, and says whether there would
/// be more.
///
/// With [`Limits::merge`] no text is in two windows. A chunk inside an existing window joins that window, and leaves
/// its place to the next ranked chunk; a new window leaves out what others have. Two windows that touch stay two: each
/// has grown as far as its limit allows, so that both together are over it. Windows come in the order of the best chunk
/// in each.
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
        let free = if merge && *share > 0 { Free::around(&windows, note, at) } else { Free::Between(0..usize::MAX) };
        let bounds = match free {
            Free::Inside(window) => {
                windows[window].found.push((rank, item));
                continue;
            }
            Free::Between(bounds) => bounds,
        };
        if *share >= limits.per_note.max(1) {
            continue;
        }
        if windows.len() >= limits.windows {
            more = true;
            break;
        }
        if !source.has_text(note, at)? {
            continue;
        }
        let places = source.places(note);
        let window = grow(&places, at, bounds, limits.chars, |index| source.text(note, index))?;
        windows.push(Open { note, found: vec![(rank, item)], window });
        *share += 1;
    }
    Ok((in_order(windows), more))
}

/// Windows in the order of the best chunk in each.
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

/// What the windows of a note leave to a new one.
enum Free {
    /// The chunk lies in this window.
    Inside(usize),
    /// The chunks around it that no window has.
    Between(Range<usize>),
}

impl Free {
    fn around<T, N: Eq>(windows: &[Open<T, N>], note: N, at: usize) -> Self {
        let mut bounds = 0..usize::MAX;
        for (i, open) in windows.iter().enumerate().filter(|(_, open)| open.note == note) {
            let chunks = &open.window.chunks;
            if chunks.contains(&at) {
                return Free::Inside(i);
            }
            if chunks.end <= at {
                bounds.start = bounds.start.max(chunks.end);
            } else {
                bounds.end = bounds.end.min(chunks.start);
            }
        }
        Free::Between(bounds)
    }
}

#[cfg(test)]
mod tests;
