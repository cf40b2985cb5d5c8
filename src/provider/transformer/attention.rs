//! Attention: what each token of a text takes from the others. Vaswani et al., "Attention Is All You Need" (2017).
//!
//! Texts of a batch follow each other without padding, and each is computed separately.

use super::functions::softmax;
use super::matrix::{Rows, product_of, product_transposed};

/// How the values of a token are shared among heads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    /// Query heads.
    pub(super) count: usize,
    /// Key and value heads: as many, or a divisor of that, each shared by several query heads (Ainslie et al., "GQA",
    /// 2023).
    pub(super) asked: usize,
    /// Values of a head.
    pub(super) size: usize,
}

impl Heads {
    /// As many key and value heads as query heads.
    pub(super) fn alike(count: usize, size: usize) -> Self {
        Heads { count, asked: count, size }
    }

    /// Values of a token's queries, and of its attention output.
    pub(super) fn asking(self) -> usize {
        self.count * self.size
    }

    /// Values of a token's queries, keys and values, in this order.
    pub(super) fn width(self) -> usize {
        (self.count + 2 * self.asked) * self.size
    }
}

/// Which tokens a token looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    All,
    /// At most so many places away.
    Near(usize),
    /// Itself and those before it.
    Before,
}

impl Sight {
    /// The range of tokens that those from `start` to `end` of `n` see together.
    fn range(self, start: usize, end: usize, n: usize) -> (usize, usize) {
        match self {
            Sight::All => (0, n),
            Sight::Near(most) => (start.saturating_sub(most), (end + most).min(n)),
            Sight::Before => (0, end),
        }
    }
}

/// What is added to the attention score of two tokens for their distance: for each head a value per distance.
pub(super) struct Distances {
    /// Head after head, from the farthest before a token to the farthest after it.
    values: Vec<f32>,
    longest: usize,
}

impl Distances {
    /// For texts of at most `longest` tokens. `value` gets a head, the place of the token that looks, and that of the
    /// other.
    pub(super) fn new(heads: usize, longest: usize, value: impl Fn(usize, usize, usize) -> f32) -> Self {
        let of_head = |head| {
            let (before, after) = ((1..longest).rev(), 0..longest);
            let value = &value;
            before.map(move |far| value(head, far, 0)).chain(after.map(move |far| value(head, 0, far)))
        };
        Distances { values: (0..heads).flat_map(of_head).collect(), longest }
    }

    /// The values of the token at `place` for the tokens from `other` on.
    fn row(&self, head: usize, place: usize, other: usize) -> &[f32] {
        let start = head * (2 * self.longest - 1) + self.longest - 1 + other - place;
        &self.values[start..]
    }
}

/// Query tokens that are computed together: their intermediate values stay in the L2 cache.
const TOGETHER: usize = 64;

/// Which tokens of a text need an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    First,
}

impl Wanted {
    /// How many tokens of a text of `n` these are.
    pub(super) fn of(self, n: usize) -> usize {
        match self {
            Wanted::All => n,
            Wanted::First => n.min(1),
        }
    }
}

/// What each wanted token takes from all of its text: rows of [`Heads::asking`] values. `parts` has a row of
/// [`Heads::width`] values for each token of texts of these lengths.
pub(super) fn attend(
    parts: &[f32],
    lengths: &[usize],
    heads: Heads,
    sight: Sight,
    wanted: Wanted,
    distances: Option<&Distances>,
) -> Vec<f32> {
    let Heads { count, asked, size } = heads;
    let (width, asking) = (heads.width(), heads.asking());
    let scale = 1.0 / (size as f32).sqrt();
    let mut out = vec![0.0; lengths.iter().map(|n| wanted.of(*n)).sum::<usize>() * asking];
    let mut likeness = Vec::new();
    let (mut first, mut first_out) = (0, 0);
    for &n in lengths {
        for head in 0..count {
            let shared = head / (count / asked);
            let (key, value) = (asking + shared * size, asking + (asked + shared) * size);
            for start in (0..wanted.of(n)).step_by(TOGETHER) {
                let end = (start + TOGETHER).min(wanted.of(n));
                let (from, to) = sight.range(start, end, n);
                let seen = to - from;
                likeness.resize((end - start) * seen, 0.0);
                let queries = Rows::within(parts, (first + start) * width + head * size, end - start, size, width);
                let keys = Rows::within(parts, (first + from) * width + key, seen, size, width);
                product_transposed(queries, keys, scale, &mut likeness, seen);
                for (row, place) in likeness.chunks_exact_mut(seen).zip(start..) {
                    if let Some(distances) = distances {
                        row.iter_mut().zip(distances.row(head, place, from)).for_each(|(x, more)| *x += more);
                    }
                    let (least, most) = sight.range(place, place + 1, n);
                    row[..least - from].fill(0.0);
                    row[most - from..].fill(0.0);
                    softmax(&mut row[least - from..most - from]);
                }
                let values = Rows::within(parts, (first + from) * width + value, seen, size, width);
                let out = &mut out[(first_out + start) * asking + head * size..];
                product_of(Rows::dense(&likeness, seen), values, out, asking);
            }
        }
        first += n;
        first_out += wanted.of(n);
    }
    out
}

/// Rotary positions: turns pairs of values by angles that grow with the place of a token, so that scores depend on
/// distance. Su et al., "RoFormer" (2021); pairs as Llama has them: a value, and the one half a head after it.
pub(super) struct Rotation {
    /// Cosine and sine of each pair, place after place.
    turns: Vec<(f32, f32)>,
    half: usize,
}

impl Rotation {
    /// For heads of `size` values and texts of at most `longest` tokens; the slowest pair turns (almost) `base` times
    /// slower than the first.
    pub(super) fn new(base: f64, size: usize, longest: usize) -> Self {
        let half = size / 2;
        let speeds: Vec<f64> = (0..half).map(|i| base.powf(-(i as f64) / half as f64)).collect();
        let turn = |angle: f64| (angle.cos() as f32, angle.sin() as f32);
        let turns = (0..longest).flat_map(|place| speeds.iter().map(move |speed| turn(place as f64 * speed)));
        Rotation { turns: turns.collect(), half }
    }

    /// Turns the queries and the keys, which come first in each row of `parts`; the values after them stay.
    pub(super) fn turn(&self, parts: &mut [f32], lengths: &[usize], heads: Heads) {
        let places = lengths.iter().flat_map(|n| 0..*n);
        for (row, place) in parts.chunks_exact_mut(heads.width()).zip(places) {
            let turns = &self.turns[place * self.half..(place + 1) * self.half];
            for head in row[..(heads.count + heads.asked) * heads.size].chunks_exact_mut(heads.size) {
                let (first, second) = head.split_at_mut(self.half);
                for ((x, y), (cosine, sine)) in first.iter_mut().zip(second).zip(turns) {
                    (*x, *y) = (*x * cosine - *y * sine, *y * cosine + *x * sine);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
