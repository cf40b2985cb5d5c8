use super::*;
use crate::cli::search::tests::Page;
use index::eval::report::{Best, System};
use index::eval::{QueryMeasures, QueryRun};

fn shown(report: &Report, width: usize) -> String {
    let page = Page::default();
    show(report, &mut Out::to(page.clone(), width)).unwrap();
    page.text()
}

#[test]
fn a_report_is_a_table() {
    let run = |i: usize| QueryRun {
        kind: if i.is_multiple_of(2) { "link".into() } else { "alias".into() },
        measures: QueryMeasures { ndcg_10: 0.25 * (i % 4) as f64, ..QueryMeasures::default() },
        rank: Some(i + 1),
        ms: 1.0,
        first_order: false,
    };
    let runs: Vec<QueryRun> = (0..20).map(run).collect();
    let mut report = Report {
        name: "no\u{1b}[2Jtes".into(),
        notes: 1234,
        queries: 20,
        kinds: [("link".to_owned(), (30, 10)), ("alias".to_owned(), (10, 10))].into(),
        systems: vec![System::new("hybrid", "template", &runs, 1), System::new("dense", "off", &runs, 1)],
        ..Report::default()
    };
    let wide = shown(&report, 100);
    for expected in
        ["1,234 notes in 0 chunks, 20 queries (alias 10, link 10)", "0.375 (0.", "Too few to tell: 20 queries"]
    {
        assert!(wide.contains(expected), "{expected}\n{wide}");
    }
    assert!(!wide.contains('\u{1b}') && !wide.contains("Best"), "{wide:?}");
    let narrow = shown(&report, 64);
    assert!(narrow.contains("0.375") && !narrow.contains("0.375 ("), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 64), "{narrow}");
    // The intervals stand below where there is no room beside.
    let interval = wide.split_once("0.375 (").and_then(|(_, rest)| rest.split_once(')')).unwrap().0;
    assert_eq!(narrow.matches(interval).count(), 2, "{interval}\n{narrow}");

    report.queries = 60;
    report.best = Some(Best { system: "hybrid, template".into(), alike: vec!["dense, off".into()] });
    let told = shown(&report, 100);
    for expected in [
        "Best by nDCG@10: “hybrid, template”; not to be told from it: “dense, off”.",
        "Its nDCG@10 by kind: alias 0.500, link 0.250",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
    assert!(!told.contains("Too few"), "{told}");
    report.best = report.best.map(|best| Best { alike: Vec::new(), ..best });
    assert!(shown(&report, 100).contains("“hybrid, template”; every other is surely worse."));
    let compared = Comparison::new(("A (x)", &runs), ("B (y)", &runs), 1);
    report.comparison = Some(Comparison { chunks: [7, 9], ..compared });
    assert!(shown(&report, 100).contains("1,234 notes in 7 and 9 chunks"));
    let compared = shown(&report, 100);
    assert!(
        compared.contains("B (y) against A (x)")
            && compared.contains("p 1.0000")
            && compared.contains("may well be chance")
    );
}

#[test]
fn no_end_is_less_than_nothing() {
    assert_eq!(ends(Interval { mean: 0.5, low: -1e-17, high: 1.0 }), "0.00–1.00");
}
