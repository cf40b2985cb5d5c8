//! One search of the matrix, in one look or in two.

#![allow(clippy::inline_always)] // A loop is as wide as the function that it is inlined into.

use std::ops::Range;

use super::best::{Best, Likely};
use super::bits::ones;
use super::code::Asked;
use super::dot::{TOGETHER, dots, dots_of};
use super::wide::{Width, fetch, widened};
use super::{BLOCK, Block, HERE, Rows, Windows};
use crate::{Allowed, Row, Vector};

/// Candidates for the second look, per wanted chunk. Of 35,000 windows 3,000 hold 99.1 % of the exact best 300 and all
/// of the best 30; 4,500 would hold 99.7 %. No answer's nDCG@10 changes by more than .0002
/// (`cargo bench --bench retrieval -- --dense`).
const AGAIN: usize = 10;
/// Windows that an exact scan compares in the time in which two looks choose one candidate and compare it again: both
/// ways took as long for 15,000 windows, and two looks .23 ms for 20,000 where one took .27.
const EXACT: usize = 6;
/// Windows that are compared in order in the time of one at a random place: .014 against .036 µs.
const APART: usize = 3;
/// Slots whose bits a word has.
const WORD: usize = u32::BITS as usize;
/// From this many bytes of vectors, or of signs, on, two threads share a search. One thread takes half a millisecond
/// for so many of vectors, and a thread starts in a twentieth of that. For so many of signs it takes one; with 6.7 MB
/// of them, on two cores with nothing else to do, two threads were no faster, and took .35 ms more of processor time.
const LARGE: usize = 8 << 20;

/// Up to this many windows an exact scan is faster than two looks, when `k` chunks are wanted.
fn few(k: usize) -> usize {
    k.saturating_mul(AGAIN * EXACT)
}

impl Windows {
    /// Whether a search for `k` chunks scans exactly.
    fn is_scanned(&self, k: usize) -> bool {
        self.exact || self.blocks.len() * BLOCK <= few(k)
    }

    /// If a search for `k` chunks allows no more chunks than this, it is faster to look at each of them
    /// ([`Scan::among`]). Where a search looks twice, it could miss some of so few; where it scans exactly, only time
    /// matters.
    pub fn few(&self, k: usize) -> usize {
        if self.is_scanned(k) { self.blocks.len() * BLOCK / APART } else { few(k) }
    }
}

/// A search for the nearest chunks. Its parts can be scanned separately, each on its own thread.
pub struct Scan<'a> {
    windows: &'a Windows,
    rows: Rows,
    query: &'a Vector,
    k: usize,
    look: Look,
    width: Width,
}

enum Look {
    /// At nothing: nothing can be found.
    None,
    /// At every vector.
    Exact,
    /// First at the signs of every vector, then at so many candidates exactly.
    First(Asked, usize),
}

/// What was found in a part.
pub struct Found(pub(super) Part);

pub(super) enum Part {
    Best(Best),
    Likely(Likely),
}

impl<'a> Scan<'a> {
    pub(super) fn new(windows: &'a Windows, query: &'a Vector, k: usize) -> Self {
        let most = (!windows.is_scanned(k)).then(|| k.saturating_mul(AGAIN));
        Scan::looking(windows, query, k, most, Width::chosen())
    }

    /// A search with a second look at `most` windows, or with one look.
    pub(super) fn looking(
        windows: &'a Windows,
        query: &'a Vector,
        k: usize,
        most: Option<usize>,
        width: Width,
    ) -> Self {
        let look = match most {
            _ if k == 0 || !windows.usable(query) || windows.dimensions == 0 => Look::None,
            Some(most) => Look::First(Asked::new(query, &windows.rotation, width), most),
            None => Look::Exact,
        };
        Scan { windows, rows: windows.rows(), query, k, look, width }
    }

    /// The range of all blocks.
    pub fn whole(&self) -> Range<usize> {
        0..self.windows.blocks.len()
    }

    /// The same range in two halves, if it is so large that two threads are faster.
    pub fn halves(&self) -> Option<[Range<usize>; 2]> {
        let blocks = self.windows.blocks.len();
        let bytes = match &self.look {
            Look::None => 0,
            Look::Exact => self.windows.dimensions,
            Look::First(..) => self.windows.rotation.length() / 8,
        };
        (blocks * BLOCK * bytes >= LARGE).then_some([0..blocks / 2, blocks / 2..blocks])
    }

    /// Scans some blocks for chunks that `allowed` admits, or for any. `allowed` is asked only about those that reach
    /// the threshold.
    pub fn part(&self, blocks: Range<usize>, allowed: Option<&Allowed<'_>>) -> Found {
        Found(match &self.look {
            Look::None => Part::Best(Best::new(0)),
            Look::Exact => Part::Best(self.exact(blocks, allowed)),
            Look::First(asked, most) => Part::Likely(self.first(asked, *most, blocks, allowed)),
        })
    }

    /// The `k` chunks with the highest cosine (best window of each), best first, equals by row, of what all parts
    /// found.
    pub fn finish(&self, found: Found) -> Vec<(Row, f32)> {
        match found.0 {
            Part::Best(best) => best.finish(),
            Part::Likely(likely) => self.best_of(&likely.finish()),
        }
    }

    /// As [`Scan::finish`], of these chunks alone, each of which is compared exactly.
    pub fn among(&self, rows: impl Iterator<Item = Row>) -> Vec<(Row, f32)> {
        if matches!(self.look, Look::None) {
            return Vec::new();
        }
        let numbers = self.windows.slots_of(&rows.collect::<Vec<_>>());
        let mut slots: Vec<u32> = numbers.into_iter().map(|(_, slot)| slot).collect();
        slots.sort_unstable();
        self.best_of(&slots)
    }

    fn exact(&self, blocks: Range<usize>, allowed: Option<&Allowed<'_>>) -> Best {
        let (mut best, mut products) = (Best::new(self.k), Vec::with_capacity(BLOCK));
        let mut shown = Shown::default();
        for block in self.windows.blocks.get(blocks).unwrap_or_default() {
            shown.clear();
            let slots = &block.slots[..block.used];
            if slots.iter().all(|slot| slot.record == HERE) {
                dots(self.width, &self.query.values, &block.values, &mut products);
                shown.scales.extend_from_slice(&block.scales);
            } else {
                shown.extend((0..block.used).map(|at| self.row(block, at)));
                dots_of(self.width, &self.query.values, &shown.rows, &mut products);
            }
            for (at, ((product, scale), slot)) in products.iter().zip(&shown.scales).zip(slots).enumerate() {
                let cosine = *product as f32 * scale * self.query.scale;
                let is_shown = || shown.rows.get(at).is_none_or(|row| !row.is_empty());
                let is_allowed = |row: &Row| allowed.is_none_or(|allowed| allowed(*row));
                let reaches = cosine >= best.threshold && is_shown();
                if let Some(row) = slot.row().filter(|_| reaches).filter(is_allowed) {
                    best.push(row, cosine);
                }
            }
        }
        best
    }

    fn first(&self, asked: &Asked, most: usize, blocks: Range<usize>, allowed: Option<&Allowed<'_>>) -> Likely {
        let (mut likely, mut estimates) = (Likely::new(most), [0.0; BLOCK]);
        let mut words = [0; BLOCK / WORD];
        let begins = (blocks.start * BLOCK..).step_by(BLOCK);
        let blocks = self.windows.blocks.get(blocks).unwrap_or_default();
        for (at, (block, begin)) in blocks.iter().zip(begins).enumerate() {
            // A block points to its signs, so its line must be in the cache before they are prefetched.
            blocks.get(at + 2).into_iter().for_each(|later| fetch(&later.signs));
            let next = blocks.get(at + 1).unwrap_or(block);
            asked.estimates(block.codes(), next.codes(), &mut estimates);
            reaching(self.width, likely.threshold, &estimates, &mut words);
            let firsts = (0..).step_by(WORD);
            let reach = |(word, first): (&u32, usize)| ones(u64::from(*word)).map(move |at| first + at as usize);
            for at in words.iter().zip(firsts).flat_map(reach) {
                // The estimate of a free slot is NaN, so it reaches no threshold.
                if allowed.is_none_or(|allowed| block.slots[at].row().is_some_and(allowed)) {
                    likely.push((begin + at) as u32, estimates[at]);
                }
            }
        }
        likely
    }

    fn row<'s>(&'s self, block: &'s Block, at: usize) -> (&'s [i8], f32) {
        self.windows.row(block, at, &self.rows)
    }

    /// The best chunks of these slots.
    fn best_of(&self, slots: &[u32]) -> Vec<(Row, f32)> {
        let mut best = Best::new(self.k);
        self.windows.compare((self.query, self.width), slots, &self.rows, |_, row, cosine| {
            if let Some(row) = row.filter(|_| cosine >= best.threshold) {
                best.push(row, cosine);
            }
        });
        best.finish()
    }
}

impl Windows {
    /// The best cosine of `query` with any window of each chunk; 0 if either has no vector.
    pub fn cosines(&self, query: &Vector, chunks: &[Row]) -> Vec<f32> {
        let mut best = vec![None; chunks.len()];
        if self.usable(query) {
            let (of, slots): (Vec<usize>, Vec<u32>) = self.slots_of(chunks).into_iter().unzip();
            self.compare((query, Width::chosen()), &slots, &self.rows(), |at, _, cosine| {
                let best: &mut Option<f32> = &mut best[of[at]];
                *best = Some(best.map_or(cosine, |best| best.max(cosine)));
            });
        }
        best.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// The numbers of all slots of these chunks, each with the index of its chunk. It prefetches, like
    /// [`Windows::compare`].
    fn slots_of(&self, chunks: &[Row]) -> Vec<(usize, u32)> {
        for first in chunks.iter().filter_map(|row| self.first.get(*row)) {
            let (block, at) = self.slot(first.get() - 1);
            fetch(&block.slots[at]);
        }
        let numbers = |(at, row): (usize, &Row)| self.numbers(*row).map(move |slot| (at, slot));
        chunks.iter().enumerate().flat_map(numbers).collect()
    }

    /// Calls `each` with the index of each slot whose values the matrix shows, the chunk that owns it, and its cosine
    /// with the query. Slots lie anywhere in memory, so each step prefetches what the next one reads: otherwise that
    /// would wait for one slot after another.
    fn compare(
        &self,
        (query, width): (&Vector, Width),
        slots: &[u32],
        rows: &Rows,
        mut each: impl FnMut(usize, Option<Row>, f32),
    ) {
        let (mut products, mut places) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
        let mut shown = Shown::default();
        for (slots, begin) in slots.chunks(TOGETHER).zip((0..).step_by(TOGETHER)) {
            places.clear();
            places.extend(slots.iter().map(|slot| self.slot(*slot)));
            places.iter().for_each(|(block, at)| fetch(&block.slots[*at]));
            places.iter().for_each(|(block, at)| rows.fetch(block.slots[*at].record));
            shown.clear();
            shown.extend(places.iter().map(|(block, at)| self.row(block, *at, rows)));
            dots_of(width, &query.values, &shown.rows, &mut products);
            let seen = products.iter().zip(&shown.scales).zip(&shown.rows);
            for (number, ((block, at), ((product, scale), values))) in (begin..).zip(places.iter().zip(seen)) {
                if !values.is_empty() {
                    each(number, block.slots[*at].row(), *product as f32 * scale * query.scale);
                }
            }
        }
    }
}

/// Values of slots, and their factors.
#[derive(Default)]
struct Shown<'a> {
    rows: Vec<&'a [i8]>,
    scales: Vec<f32>,
}

impl<'a> Shown<'a> {
    fn clear(&mut self) {
        self.rows.clear();
        self.scales.clear();
    }

    fn extend(&mut self, shown: impl Iterator<Item = (&'a [i8], f32)>) {
        for (row, scale) in shown {
            self.rows.push(row);
            self.scales.push(scale);
        }
    }
}

widened! {
    /// Sets a bit of `words` for each slot whose estimate reaches a threshold; the first slot's is the lowest of the
    /// first word.
    fn reaching(threshold: f32, estimates: &[f32; BLOCK], words: &mut [u32; BLOCK / WORD]) as each_reaching
}

/// No branch per slot, for no processor can predict it.
#[inline(always)]
fn each_reaching(threshold: f32, estimates: &[f32; BLOCK], words: &mut [u32; BLOCK / WORD]) {
    for (word, estimates) in words.iter_mut().zip(estimates.as_chunks::<WORD>().0) {
        *word = (0..).zip(estimates).fold(0, |word, (at, estimate)| word | u32::from(*estimate >= threshold) << at);
    }
}

impl Found {
    /// Takes in what was found in a later part of the same search.
    #[must_use]
    pub fn join(self, other: Found) -> Found {
        Found(match (self.0, other.0) {
            (Part::Best(one), Part::Best(other)) => Part::Best(one.join(other)),
            (Part::Likely(one), Part::Likely(other)) => Part::Likely(one.join(other)),
            // Parts of one search are of one kind.
            (one, _) => one,
        })
    }
}
