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

use super::Lanes;
use super::boost::Boosted;
use super::lanes::Candidate;
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
}

impl Ranked {
    /// A chunk that no lane had to judge: it meets the conditions.
    pub(super) fn sure(row: Row) -> Self {
        Ranked {
            candidate: Candidate { row, lexical: None, dense: None },
            fused: 1.0,
            score: 1.0,
            boosted: Boosted::default(),
        }
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
            rerank: None,
        })
    }
}

/// What the lanes' scores are measured by: of all vaults that answer together. With a maximum of each vault's own, the best
/// of a vault that hardly knows the words would count as much as the very note that was meant in another.
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

    /// The weight of the dense lane: one that found nothing, or was not asked, has no say.
    fn weight(self, dense_weight: f32) -> f32 {
        match self {
            Scale { best, .. } if best <= 0.0 => 1.0,
            Scale { dense: false, .. } => 0.0,
            Scale { .. } => dense_weight.clamp(0.0, 1.0),
        }
    }
}

fn bm25(candidate: &Candidate) -> f32 {
    candidate.lexical.as_ref().map_or(0.0, |lexical| lexical.score.max(0.0))
}

fn cosine(candidate: &Candidate) -> f32 {
    candidate.dense.as_ref().map_or(0.0, |dense| dense.score.clamp(0.0, 1.0))
}

/// Fuses the lanes' scores; `dense_weight` is 0..=1. What neither lane has anything to say for is left out.
/// In the order of `candidates`: see [`sort`].
pub(super) fn fuse(candidates: Vec<Candidate>, scale: Scale, dense_weight: f32) -> Vec<Ranked> {
    let weight = scale.weight(dense_weight);
    let ranked = candidates.into_iter().map(|candidate| {
        let words = if scale.best > 0.0 { bm25(&candidate) / scale.best } else { 0.0 };
        let fused = weight * cosine(&candidate) + (1.0 - weight) * words;
        Ranked { candidate, fused, score: fused, boosted: Boosted::default() }
    });
    ranked.filter(|r| r.fused > 0.0).collect()
}

/// Best first; among equals `tie` decides, so that an answer never depends on how an index came about.
pub(super) fn sort(ranked: &mut [Ranked], tie: impl Fn(Row, Row) -> Ordering) {
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| tie(a.candidate.row, b.candidate.row)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::LaneScore;
    use proptest::prelude::*;

    fn candidate(row: Row, bm25: Option<f32>, cosine: Option<f32>) -> Candidate {
        let lane = |score| LaneScore { rank: 1, score };
        Candidate { row, lexical: bm25.map(lane), dense: cosine.map(lane) }
    }

    fn fused(candidates: &[Candidate], weight: f32) -> Vec<(Row, f32)> {
        let mut ranked = fuse(candidates.to_vec(), Scale::of(candidates), weight);
        sort(&mut ranked, |a, b| a.cmp(&b));
        ranked.iter().map(|r| (r.candidate.row, r.score)).collect()
    }

    #[test]
    fn both_lanes() {
        let candidates = [
            candidate(1, Some(10.0), Some(0.2)),
            candidate(2, Some(5.0), Some(0.9)),
            candidate(3, None, Some(0.8)),
            candidate(4, Some(2.0), Some(-0.5)),
        ];
        assert_eq!(fused(&candidates, 0.5), [(2, 0.7), (1, 0.6), (3, 0.4), (4, 0.1)]);
        assert_eq!(fused(&candidates, 0.0).iter().map(|h| h.0).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(fused(&candidates, 7.0).iter().map(|h| h.0).collect::<Vec<_>>(), [2, 3, 1]);
    }

    #[test]
    fn a_silent_lane_has_no_say() {
        assert_eq!(fused(&[candidate(1, None, Some(0.4))], 0.5), [(1, 0.4)]);
        assert_eq!(fused(&[candidate(1, Some(3.0), None)], 0.5), [(1, 1.0)]);
        assert_eq!(fused(&[candidate(1, Some(0.0), Some(-1.0))], 0.5), []);
        assert_eq!(fused(&[], 0.5), []);
    }

    #[test]
    fn vaults_are_measured_by_one_scale() {
        // The first has the words; the second is a little near in meaning, and knows next to nothing of the words.
        let vaults = [vec![candidate(1, Some(9.0), Some(0.5))], vec![candidate(1, Some(0.9), Some(0.6))]];
        let scale = Scale::of(vaults.iter().flatten());
        let scores = vaults.clone().map(|vault| fuse(vault, scale, 0.5)[0].fused);
        assert!((scores[0] - 0.75).abs() < 1e-6 && (scores[1] - 0.35).abs() < 1e-6, "{scores:?}");
        // One without a dense lane has no advantage by that.
        let vaults = [vec![candidate(1, Some(9.0), Some(0.5))], vec![candidate(1, Some(8.0), None)]];
        let scale = Scale::of(vaults.iter().flatten());
        let scores = vaults.map(|vault| fuse(vault, scale, 0.5)[0].fused);
        assert!(scores[0] > scores[1], "{scores:?}");
    }

    #[test]
    fn equals_are_ordered() {
        let same = [candidate(9, Some(1.0), None), candidate(2, Some(1.0), None), candidate(5, Some(1.0), None)];
        assert_eq!(fused(&same, 0.5).iter().map(|h| h.0).collect::<Vec<_>>(), [2, 5, 9]);
    }

    proptest! {
        #[test]
        fn scores_are_between_0_and_1_and_order_does_not_matter(
            lanes in proptest::collection::vec((proptest::option::of(-1.0f32..50.0), proptest::option::of(-1.5f32..1.5)), 0..20),
            weight in -0.5f32..1.5,
        ) {
            let mut candidates: Vec<Candidate> = (0..).zip(&lanes).map(|(row, (l, d))| candidate(row, *l, *d)).collect();
            let forward = fused(&candidates, weight);
            prop_assert!(forward.iter().all(|(_, score)| *score > 0.0 && *score <= 1.000_001));
            prop_assert!(forward.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            candidates.reverse();
            prop_assert_eq!(forward, fused(&candidates, weight));
        }
    }
}
