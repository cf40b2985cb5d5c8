//! Texts as a network reads them, which of them are computed together, and in which order.

use rayon::prelude::*;

use super::TransformerError;

/// What a network reads: one text, or two that are judged together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) ids: Vec<u32>,
    /// Which of the two texts each token is of, as long as `ids`.
    pub(super) types: Vec<u32>,
}

impl Tokens {
    /// Adds tokens, which are of one text.
    pub(super) fn push(&mut self, ids: &[u32], side: u32) {
        self.ids.extend_from_slice(ids);
        self.types.resize(self.ids.len(), side);
    }
}

/// Texts that are computed together, one after another, without padding.
pub(super) struct Batch {
    /// Tokens of each text.
    pub(super) lengths: Vec<usize>,
    pub(super) ids: Vec<u32>,
    /// Which of a pair's texts each token is of.
    pub(super) types: Vec<u32>,
}

impl Batch {
    pub(super) fn new(texts: &[&Tokens]) -> Self {
        Batch {
            lengths: texts.iter().map(|text| text.ids.len()).collect(),
            ids: texts.iter().flat_map(|text| text.ids.iter().copied()).collect(),
            types: texts.iter().flat_map(|text| text.types.iter().copied()).collect(),
        }
    }

    /// Tokens of the longest text.
    pub(super) fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// The place of each token in its text.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.lengths.iter().flat_map(|n| 0..*n)
    }
}

/// Most tokens of a batch, unless a single text has more. Larger batches compute no faster, need more memory, and leave
/// cores idle.
pub(super) const BATCH_TOKENS: usize = 256;

/// Passes all of `texts` to `compute` in batches, several at once, and returns the results in the order of the texts.
pub(super) fn in_batches<T: Send>(
    texts: &[Tokens],
    compute: impl Fn(&Batch) -> Result<Vec<T>, TransformerError> + Sync,
) -> Result<Vec<T>, TransformerError> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    // The longest texts come first: if they began last, everything else would wait for them.
    order.sort_by_key(|i| std::cmp::Reverse(texts[*i].ids.len()));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for i in order {
        let tokens = texts[i].ids.len();
        if let Some(batch) = batches.last_mut().filter(|_| tokens <= room) {
            batch.push(i);
        } else {
            batches.push(vec![i]);
            room = BATCH_TOKENS;
        }
        room = room.saturating_sub(tokens);
    }
    let done = batches.par_iter().with_max_len(1).map(|batch| {
        let tokens: Vec<&Tokens> = batch.iter().map(|i| &texts[*i]).collect();
        Ok(batch.iter().copied().zip(compute(&Batch::new(&tokens))?).collect::<Vec<_>>())
    });
    let mut results: Vec<(usize, T)> = done.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    results.sort_by_key(|(i, _)| *i);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}
