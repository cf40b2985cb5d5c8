use super::*;
use crate::search::LaneScore;
use proptest::prelude::*;

fn candidate(row: Row, bm25: Option<f32>, cosine: Option<f32>) -> Candidate {
    let lane = |score| LaneScore { rank: 1, score };
    Candidate { row, lexical: bm25.map(lane), dense: cosine.map(lane) }
}

fn fused(candidates: &[Candidate], weight: f32) -> Vec<(Row, f32)> {
    let mut ranked = fuse(candidates.to_vec(), Scale::of(candidates), Dense { weight, familiarity: 1.0 });
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
    let scores = vaults.clone().map(|vault| fuse(vault, scale, Dense { weight: 0.5, familiarity: 1.0 })[0].fused);
    assert!((scores[0] - 0.75).abs() < 1e-6 && (scores[1] - 0.35).abs() < 1e-6, "{scores:?}");
    // One without a dense lane has no advantage by that.
    let vaults = [vec![candidate(1, Some(9.0), Some(0.5))], vec![candidate(1, Some(8.0), None)]];
    let scale = Scale::of(vaults.iter().flatten());
    let scores = vaults.map(|vault| fuse(vault, scale, Dense { weight: 0.5, familiarity: 1.0 })[0].fused);
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
