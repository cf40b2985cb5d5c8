//! BM25 of what was found elsewhere, as if its chunks and those here were one collection.
//!
//! The engine weighs a word by how rare it is among its own chunks. Its score is a sum over the words of the query, and
//! it tells only the sum. But the texts that it returns show which words a chunk has, and how often. From them the sum
//! is computed twice, with each word's weight there and with its weight among all chunks, and the score is multiplied
//! by the ratio. The engine is told nothing of what is counted here.

use super::Outside;
use crate::statistics::{AskedTerm, WordStatistics, rarity};
use crate::terms::Counted;
use crate::{Corpus, LexicalError};

/// A term, its rarity at the engine, and its rarity among all chunks.
struct Weighed<'a> {
    term: &'a AskedTerm,
    there: f32,
    among_all: f32,
}

/// Makes the scores of words comparable with those of `corpus`, which includes these `statistics`.
///
/// # Errors
/// A word index cannot be read.
pub(super) fn put_on_one_scale(
    chunks: &mut [Outside],
    statistics: &[WordStatistics],
    corpus: &Corpus<'_>,
) -> Result<(), LexicalError> {
    for (engine, counted) in statistics.iter().enumerate() {
        let mut terms = Vec::with_capacity(counted.terms.len());
        for (term, having) in &counted.terms {
            let there = rarity(counted.chunks, *having);
            terms.push(Weighed { term, there, among_all: corpus.rarity(term)?.unwrap_or(there) });
        }
        for chunk in chunks.iter_mut().filter(|chunk| chunk.engine == engine) {
            let Some(score) = chunk.lexical else { continue };
            chunk.lexical = Some(score * ratio(chunk, &terms, counted));
        }
    }
    Ok(())
}

/// The score of a chunk's words among all chunks, over their score there; 1 if it has none of them as far as the engine
/// tells.
fn ratio(chunk: &Outside, terms: &[Weighed<'_>], counted: &WordStatistics) -> f32 {
    let Outside { note, text, heading_path, context, language, .. } = chunk;
    let (numbers, weights) = Counted::told(note, (text, heading_path), context, *language).weighed(counted.mean);
    let (mut there, mut among_all) = (0.0, 0.0);
    for weighed in terms {
        let Ok(at) = numbers.binary_search(&weighed.term.number) else { continue };
        let weight = weighed.term.weight * weights[at];
        there += weight * weighed.there;
        among_all += weight * weighed.among_all;
    }
    if there > 0.0 { among_all / there } else { 1.0 }
}
