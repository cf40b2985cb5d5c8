use super::*;

fn answer(vault: &str, seq: u64, scores: &[f32]) -> Answer {
    let hit = |score: &f32| Hit {
        vault: vault.to_owned(),
        path: "a.md".to_owned(),
        line: 1,
        end_line: 2,
        score: *score,
        window_lines: (1, 2),
        ..Hit::default()
    };
    let warnings = vec!["same".to_owned()];
    Answer { hits: scores.iter().map(hit).collect(), seq, truncated: false, warnings, mode: Mode::Lexical }
}

#[test]
fn answers_merge_by_score() {
    let merged = merge(vec![answer("a", 7, &[0.9, 0.5, 0.1]), answer("b", 3, &[0.7, 0.5])], 4);
    let got: Vec<_> = merged.hits.iter().map(|hit| (hit.vault.as_str(), hit.score)).collect();
    assert_eq!(got, [("a", 0.9), ("b", 0.7), ("a", 0.5), ("b", 0.5)]);
    assert_eq!((merged.seq, merged.truncated, merged.warnings.len(), merged.mode), (7, true, 1, Mode::Lexical));
}

#[test]
fn equal_scores_are_taken_in_turn() {
    let merged = merge(vec![answer("a", 1, &[1.0, 1.0]), answer("b", 1, &[1.0, 1.0])], 9);
    assert_eq!(merged.hits.iter().map(|hit| hit.vault.as_str()).collect::<Vec<_>>(), ["a", "b", "a", "b"]);
    assert!(!merged.truncated);
    assert_eq!(merge(Vec::new(), 9), Answer::default());
}

#[test]
fn a_hit_goes_over_the_wire_and_back() {
    let answer = answer("a", 1, &[0.5]);
    let json = serde_json::to_string(&answer).unwrap();
    assert!(!json.contains("linked") && !json.contains("lanes"), "{json}");
    assert_eq!(serde_json::from_str::<Answer>(&json).unwrap(), answer);
}
