//! A section cut where what it says changes: where the sentences before and after are least alike.
//!
//! How alike is measured as in TextTiling (Hearst 1997, "TextTiling: Segmenting Text into Multi-paragraph Subtopic
//! Passages", Computational Linguistics 23): the cosine between the [`BLOCK`] units before a gap and those after it,
//! with vectors of the model instead of counts of words. Which gaps become cuts is not decided one by one by a
//! threshold, but for the whole section at once, as lines are broken in a paragraph (Knuth and Plass 1981, "Breaking
//! Paragraphs into Lines"): the chosen cuts are those whose gaps and chunk lengths cost least in total.

use std::collections::VecDeque;
use std::ops::Range;

use super::{ChunkConfig, Ruler, Tools, sentence};
use crate::Note;

/// Units on each side of a gap that are compared.
const BLOCK: usize = 3;
/// Shorter sentences go with the one before: their vectors say little, and there may be a million of them.
const LEAST_TOKENS: u32 = 8;
/// The cost of a chunk of no length or twice the wanted length, in standard deviations of the gaps' cosines.
const LENGTH_COST: f64 = 4.0;
/// The cost of a chunk that is shorter than `min`: more than any gap can save.
const SHORT_COST: f64 = 100.0;

/// Cuts `span` into parts of about `target`, at most `max` and, where possible, at least `min` tokens.
pub(super) fn split(
    note: &Note,
    span: &Range<usize>,
    config: &ChunkConfig,
    ruler: &Ruler<'_>,
    tools: &Tools<'_>,
) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    for unit in sentence::units(note, span, config, ruler) {
        match units.last_mut() {
            Some(last)
                if ruler.tokens(&unit).min(ruler.tokens(last)) < LEAST_TOKENS
                    && ruler.tokens(&(last.start..unit.end)) <= config.target =>
            {
                last.end = unit.end;
            }
            _ => units.push(unit),
        }
    }
    let gaps = standardised(gaps(&note.text, &units, tools));
    let mut parts: Vec<Range<usize>> =
        cuts(&units, &gaps, config, ruler).windows(2).map(|cut| units[cut[0]].start..units[cut[1] - 1].end).collect();
    sentence::overlap(note, &mut parts, &units, config, ruler);
    parts
}

/// How alike the two sides are of the gap before each unit except the first: -1..=1.
fn gaps(text: &str, units: &[Range<usize>], tools: &Tools<'_>) -> Vec<f64> {
    let mut gaps = Vec::with_capacity(units.len());
    // The vectors around the current gap only: a section may have many sentences.
    let mut near: VecDeque<Vec<f32>> = VecDeque::with_capacity(2 * BLOCK + 1);
    let mut ahead = units.iter().map(|unit| (tools.embed)(&text[unit.clone()]));
    near.extend(ahead.by_ref().take(BLOCK));
    let mut before = 0;
    for _ in 1..units.len() {
        near.extend(ahead.next());
        before += 1;
        if before > BLOCK {
            near.pop_front();
            before -= 1;
        }
        gaps.push(cosine(&sum(near.iter().take(before)), &sum(near.iter().skip(before).take(BLOCK))));
    }
    gaps
}

fn sum<'a>(vectors: impl Iterator<Item = &'a Vec<f32>>) -> Vec<f32> {
    let mut sum = Vec::new();
    for vector in vectors {
        sum.resize(vector.len().max(sum.len()), 0.0);
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
    }
    sum
}

/// The cosine of two vectors; 0 if either has no direction.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
    if cosine.is_finite() { cosine } else { 0.0 }
}

/// The values in standard deviations from their mean.
fn standardised(mut values: Vec<f64>) -> Vec<f64> {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt().max(1e-6);
    values.iter_mut().for_each(|x| *x = (*x - mean) / deviation);
    values
}

/// The cheapest cuts, as indices of units: the first is 0, the last their number. Time: units × units of a chunk.
fn cuts(units: &[Range<usize>], gaps: &[f64], config: &ChunkConfig, ruler: &Ruler<'_>) -> Vec<usize> {
    let sizes: Vec<u32> = units.iter().map(|unit| ruler.tokens(unit)).collect();
    let target = f64::from(config.target.max(1));
    // The cost of the best way to cut before each unit, and where its last chunk begins.
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=units.len() {
        let gap = if end < units.len() { gaps.get(end - 1).copied().unwrap_or(0.0) } else { 0.0 };
        let mut size = 0;
        let mut found = (f64::INFINITY, end - 1);
        for start in (0..end).rev() {
            size += sizes[start];
            if size > config.max && start + 1 < end {
                break;
            }
            let off = (f64::from(size) - target) / target;
            let short = if size < config.min { SHORT_COST } else { 0.0 };
            let cost = best[start].0 + gap + LENGTH_COST * off * off + short;
            if cost < found.0 {
                found = (cost, start);
            }
        }
        best.push(found);
    }
    let mut cuts = vec![units.len()];
    while let Some(end) = cuts.last().copied().filter(|end| *end > 0) {
        cuts.push(best[end].1);
    }
    cuts.reverse();
    cuts
}
