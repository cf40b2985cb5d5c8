//! Fusion: one score out of two lanes.
//!
//! The convex combination of scores, `w · max(cos, 0) + (1 − w) · bm25 / max bm25`, where the maximum is
//! taken over the query's own candidates in all vaults. Scores, unlike ranks, say how sure a lane is: where the embedder
//! does not know a language all its cosines are alike and low, and the words decide. Reciprocal rank fusion
//! (Cormack, Clarke, Büttcher, SIGIR 2009) trusts every lane alike and falls far behind there.
//! That a convex combination is the better of the two, and robust to how scores are normalised, is the
//! finding of Bruch, Gai, Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 42(1),
//! 2023 (arXiv 2210.11934). The cosine needs no normalisation by maximum: its scale means something.

use std::cmp::Ordering;

use super::lanes::Candidate;
use super::{Boosted, Lanes, Rejudged};
use crate::Row;

/// Weight of the dense lane: the best single value for the built-in embedder over sixteen evaluation sets.
pub(super) const DENSE_WEIGHT: f32 = 0.5;

/// A candidate with its place in the answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ranked {
    /// The chunk and how the lanes judged it.
    pub(super) candidate: Candidate,
    /// Score of the lanes together, 0..=1.
    pub(super) fused: f32,
    /// What the answer is sorted by; equals `fused` until something boosts it.
    pub(super) score: f32,
    /// What boosted it.
    pub(super) boosted: Boosted,
    /// What a reranker made of it.
    pub(super) rejudged: Option<Rejudged>,
}

impl Ranked {
    /// A chunk that the lanes judge so.
    fn new(candidate: Candidate, fused: f32) -> Self {
        Ranked { candidate, fused, score: fused, boosted: Boosted::default(), rejudged: None }
    }

    /// A chunk that no lane had to judge: it meets the conditions.
    pub(super) fn sure(row: Row) -> Self {
        Ranked::new(Candidate { row, lexical: None, dense: None }, 1.0)
    }

    /// A chunk that meets the conditions, and of which no lane says anything.
    pub(super) fn unscored(row: Row) -> Self {
        Ranked { fused: 0.0, score: 0.0, ..Ranked::sure(row) }
    }

    /// How it came about, as shown in an answer; `None` if no lane was asked.
    pub(super) fn lanes(&self) -> Option<Lanes> {
        let Candidate { lexical, dense, .. } = &self.candidate;
        let asked = lexical.is_some() || dense.is_some();
        asked.then(|| Lanes {
            lexical: lexical.clone(),
            dense: dense.clone(),
            fused: self.fused,
            boosts: self.boosted,
            in_questions: Vec::new(),
            rerank: self.rejudged.clone(),
        })
    }
}

/// The scale of the lanes' scores, over all vaults that answer together. With a separate maximum for each vault, the
/// best of a vault that hardly knows the words would count as much as the very note that was meant in another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Scale {
    /// The best BM25; 0 if the lexical lane found nothing anywhere.
    best: f32,
    /// Whether a dense lane was asked anywhere.
    dense: bool,
}

impl Scale {
    /// The scale of these candidates.
    pub(super) fn of<'a>(candidates: impl IntoIterator<Item = &'a Candidate>) -> Self {
        candidates.into_iter().fold(Scale::default(), |scale, candidate| Scale {
            best: scale.best.max(bm25(candidate)),
            dense: scale.dense || candidate.dense.is_some(),
        })
    }

    /// Whether no chunk has any of the words.
    pub(super) fn has_no_word(self) -> bool {
        self.best <= 0.0
    }

    /// The weights of the dense lane and of the words: a lane that found nothing, or was not asked, has weight 0. Alone
    /// the dense lane weighs as much as the embedder knows the language: 0, if it does not know it.
    fn weights(self, dense: Dense) -> (f32, f32) {
        let familiarity = dense.familiarity.clamp(0.0, 1.0);
        match self {
            Scale { best, .. } if best <= 0.0 => (familiarity, 0.0),
            Scale { dense: false, .. } => (0.0, 1.0),
            Scale { .. } => {
                let weight = dense.weight.clamp(0.0, 1.0) * familiarity;
                (weight, 1.0 - weight)
            }
        }
    }
}

/// How much the dense lane counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dense {
    /// Its weight beside the words, 0..=1.
    pub(super) weight: f32,
    /// How far the embedder knows the language of the query, 0..=1.
    pub(super) familiarity: f32,
}

fn bm25(candidate: &Candidate) -> f32 {
    candidate.lexical.as_ref().map_or(0.0, |lexical| lexical.score.max(0.0))
}

fn cosine(candidate: &Candidate) -> f32 {
    candidate.dense.as_ref().map_or(0.0, |dense| dense.score.clamp(0.0, 1.0))
}

/// Fuses the lanes' scores. Candidates with a score of 0 are left out. Keeps the order of `candidates`: see [`sort`].
pub(super) fn fuse(candidates: Vec<Candidate>, scale: Scale, dense: Dense) -> Vec<Ranked> {
    let (of_meaning, of_words) = scale.weights(dense);
    let ranked = candidates.into_iter().map(|candidate| {
        let words = if scale.best > 0.0 { bm25(&candidate) / scale.best } else { 0.0 };
        let fused = of_meaning * cosine(&candidate) + of_words * words;
        Ranked::new(candidate, fused)
    });
    ranked.filter(|r| r.fused > 0.0).collect()
}

/// Best first; among equals one whose name was typed, and then `tie` decides, so that an answer never depends on how an
/// index came about.
pub(super) fn sort(ranked: &mut [Ranked], tie: impl Fn(Row, Row) -> Ordering) {
    let place = |hit: &Ranked| (hit.score, hit.boosted.name);
    ranked.sort_by(|a, b| {
        let (a_place, b_place) = (place(a), place(b));
        let better = b_place.0.total_cmp(&a_place.0).then_with(|| b_place.1.total_cmp(&a_place.1));
        better.then_with(|| tie(a.candidate.row, b.candidate.row))
    });
}

#[cfg(test)]
mod tests;
