use super::*;

fn score(rank: u32, score: f32) -> Option<LaneScore> {
    Some(LaneScore { rank, score })
}

#[test]
fn the_union_has_both_scores() {
    let lexical = vec![(7, 9.0), (3, 4.0)];
    let mut dense = vec![(3, 0.8), (5, 0.6)];
    assert_eq!(missing(&lexical, &dense), [7]);
    dense.push((7, 0.1));
    let union = candidates(lexical, Some(dense));
    assert_eq!(
        union,
        [
            Candidate { row: 7, lexical: score(1, 9.0), dense: score(3, 0.1) },
            Candidate { row: 3, lexical: score(2, 4.0), dense: score(1, 0.8) },
            Candidate { row: 5, lexical: None, dense: score(2, 0.6) },
        ]
    );
}

#[test]
fn one_lane_alone() {
    let union = candidates(vec![(1, 2.0)], None);
    assert_eq!(union, [Candidate { row: 1, lexical: score(1, 2.0), dense: None }]);
    let union = candidates(Vec::new(), Some(vec![(1, f32::NAN), (2, -0.5), (2, -0.5)]));
    assert_eq!(
        union.iter().map(|c| (c.row, c.dense.clone())).collect::<Vec<_>>(),
        [(1, score(1, 0.0)), (2, score(2, -0.5))]
    );
}

#[test]
fn a_vector_that_says_nothing_is_no_lane() {
    let zero = Vector { values: Box::new([0, 0]), scale: 0.0 };
    let some = Vector { values: Box::new([127, 0]), scale: 1.0 / 127.0 };
    assert_eq!(telling(Some(&zero)), None);
    assert_eq!(effective(Mode::Hybrid, telling(Some(&zero))), Mode::Lexical);
    assert_eq!(effective(Mode::Hybrid, telling(Some(&some))), Mode::Hybrid);
    assert_eq!(effective(Mode::Dense, None), Mode::Dense);
}
