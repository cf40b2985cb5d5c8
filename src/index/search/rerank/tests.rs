use proptest::prelude::*;

use super::super::fuse::Ranked;
use super::*;

fn ranking(chunks: &[(Row, f32)]) -> Ranking {
    let ranked = chunks.iter().map(|(row, score)| Ranked { score: *score, ..Ranked::sure(*row) }).collect();
    Ranking { ranked, ..Ranking::default() }
}

fn rows(ranking: &Ranking) -> Vec<Row> {
    ranking.ranked.iter().map(|ranked| ranked.candidate.row).collect()
}

/// All chunks as the answers of the rankings would be merged.
fn merged(rankings: &[Ranking]) -> Vec<RankedRow> {
    best(rankings, usize::MAX)
}

#[test]
fn the_best_of_several_rankings() {
    let rankings = [ranking(&[(7, 0.9), (8, 0.5)]), ranking(&[(7, 0.7), (9, 0.5), (1, 0.1)])];
    assert_eq!(best(&rankings, 3), [(0, 7), (1, 7), (0, 8)]);
    assert_eq!(best(&rankings, 99), [(0, 7), (1, 7), (0, 8), (1, 9), (1, 1)]);
    assert_eq!(best(&[], 3), []);
}

fn rejudged(ranking: &Ranking, row: Row) -> Rejudged {
    let ranked = ranking.ranked.iter().find(|ranked| ranked.candidate.row == row);
    ranked.and_then(|ranked| ranked.rejudged.clone()).unwrap()
}

#[test]
fn the_judged_come_first_and_the_rest_as_it_was() {
    let mut rankings = [ranking(&[(1, 0.9), (2, 0.8), (3, 0.7), (4, 0.2)]), ranking(&[(1, 0.85), (5, 0.1)])];
    let shown = best(&rankings, 4);
    assert_eq!(shown, [(0, 1), (1, 1), (0, 2), (0, 3)]);
    // The second was not judged, the third not with a number.
    reorder(&mut rankings, &shown, &[Some(0.2), None, Some(f32::NAN), Some(0.95)]);
    assert_eq!((rows(&rankings[0]), rows(&rankings[1])), (vec![3, 1, 2, 4], vec![1, 5]));
    assert_eq!(merged(&rankings), [(0, 3), (0, 1), (1, 1), (0, 2), (0, 4), (1, 5)]);
    let told = |of: usize, row: Row| rejudged(&rankings[of], row);
    assert_eq!(told(0, 3), Rejudged { before: 4, rank: Some(1), score: Some(0.95) });
    assert_eq!(told(0, 1), Rejudged { before: 1, rank: Some(2), score: Some(0.2) });
    assert_eq!(told(1, 5), Rejudged { before: 6, rank: None, score: None });
    assert!((rankings[0].ranked[0].score - 0.95).abs() < 0.01);
}

#[test]
fn what_may_not_be_shown_keeps_its_place() {
    let mut rankings = [ranking(&[(1, 0.9), (2, 0.8), (3, 0.7)]), ranking(&[(5, 0.85), (6, 0.75), (7, 0.65)])];
    // The first and the third of all are private, and so is the last.
    let shown = [(1, 5), (1, 6), (0, 3)];
    reorder(&mut rankings, &shown, &[Some(0.2), Some(0.95), None]);
    assert_eq!(merged(&rankings), [(0, 1), (1, 6), (0, 2), (1, 5), (0, 3), (1, 7)]);
    assert_eq!((rows(&rankings[0]), rows(&rankings[1])), (vec![1, 2, 3], vec![6, 5, 7]));
    assert!(rankings[0].ranked[0].score > 0.9, "it counts for what the next is worth");
    assert_eq!(rejudged(&rankings[0], 1), Rejudged { before: 1, rank: None, score: None });
}

#[test]
fn without_scores_nothing_moves() {
    let mut rankings = [ranking(&[(1, 0.9), (2, 0.8)])];
    let shown = best(&rankings, 9);
    for scores in [&[][..], &[None, None], &[Some(f32::INFINITY)]] {
        reorder(&mut rankings, &shown, scores);
        assert_eq!((rows(&rankings[0]), rankings[0].ranked[0].score), (vec![1, 2], 0.9));
    }
}

#[test]
fn logits_are_brought_into_bounds_and_kept_apart() {
    let scores = normal(&[80.0, 79.0, 2.0, -3.0, -90.0, -90.0]);
    assert!(scores.windows(2).all(|pair| pair[0] > pair[1]), "{scores:?}");
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert!(normal(&[1.0, 0.5])[0] >= 1.0);
}

#[test]
fn documents_say_where_they_stand() {
    assert_eq!(
        document("Plan", ["Plan", "Risks"], "Of the plan.", " Money.\n"),
        "Plan > Risks\n\nOf the plan.\n\nMoney."
    );
    assert_eq!(document("", [], "", "x"), "x");
    assert_eq!(document("T", [], "", &"ä".repeat(9999)).chars().count(), MOST_DOCUMENT);
}

#[test]
fn another_order_or_model_is_another_key() {
    let texts = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let keys = [
        key("m", "q", &texts(&["a", "b"])),
        key("m", "q", &texts(&["b", "a"])),
        key("m", "q", &texts(&["ab"])),
        key("m2", "q", &texts(&["a", "b"])),
        key("m", "q2", &texts(&["a", "b"])),
    ];
    assert!(keys.iter().enumerate().all(|(i, key)| !keys[..i].contains(key)));
}

proptest! {
    #[test]
    fn nothing_is_lost_and_the_order_is_the_models(
        sizes in proptest::collection::vec(0usize..12, 1..4), top in 0usize..30,
        scores in proptest::collection::vec(proptest::option::of(-9.0f32..9.0), 30),
    ) {
        let falling = |n: usize| (0..n).map(|i| (i as Row, 1.0 - i as f32 / 20.0)).collect::<Vec<_>>();
        let mut rankings: Vec<Ranking> = sizes.iter().map(|n| ranking(&falling(*n))).collect();
        let before = merged(&rankings);
        let shown = best(&rankings, top);
        let scores = &scores[..shown.len()];
        reorder(&mut rankings, &shown, scores);
        let after = merged(&rankings);
        let score = |place: &RankedRow| shown.iter().position(|p| p == place).and_then(|i| scores[i]);
        let first = |place: &RankedRow| before.iter().position(|p| p == place);
        let mut expected = before.clone();
        expected.sort_by(|a, b| {
            let by_score = score(b).partial_cmp(&score(a)).unwrap();
            by_score.then(first(a).cmp(&first(b)))
        });
        prop_assert_eq!(after, expected);
        prop_assert!(rankings.iter().flat_map(|r| &r.ranked).all(|r| (0.0..=1.0).contains(&r.score)));
    }
}
