use super::*;

fn run(kind: &str, rank: Option<usize>) -> QueryRun {
    let mrr_10 = rank.filter(|rank| *rank <= 10).map_or(0.0, |rank| 1.0 / rank as f64);
    QueryRun {
        kind: kind.into(),
        measures: QueryMeasures { mrr_10, ..QueryMeasures::default() },
        rank,
        ms: 1.0,
        first_order: false,
    }
}

#[test]
fn a_system_is_the_sum_of_its_runs() {
    let ranks = [Some(1), Some(3), Some(4), Some(5), Some(20), Some(21), Some(100), Some(101), None];
    let runs: Vec<QueryRun> =
        ranks.iter().enumerate().map(|(i, rank)| run(if i < 2 { "link" } else { "alias" }, *rank)).collect();
    let system = System::new("hybrid", "off", &runs, 1);
    assert_eq!(system.ranks, [1, 0, 1, 2, 0, 1, 2, 2]);
    assert_eq!(
        system.kinds.iter().map(|(kind, of)| (kind.as_str(), of.0)).collect::<Vec<_>>(),
        [("alias", 7), ("link", 2)]
    );
    assert!((system.kinds["link"].1.mrr_10 - 2.0 / 3.0).abs() < 1e-9);
    let Interval { mean, low, high } = system.measure("MRR@10");
    assert!(low <= mean && mean <= high && (mean - (1.0 + 1.0 / 3.0 + 0.25 + 0.2) / 9.0).abs() < 1e-9);
    assert_eq!(system.measure("nothing"), Interval::default());
}

#[test]
fn what_one_system_finds_is_no_miss() {
    let runs = [
        vec![run("", Some(1)), run("", None), run("", Some(50))],
        vec![run("", None), run("", None), run("", Some(30))],
    ];
    let asked = ["a", "b", "c"];
    let found = misses(asked.iter().map(|query| (*query, "", vec![format!("{query}.md")])), &runs);
    assert_eq!(
        found.iter().map(|miss| (miss.query.as_str(), miss.best)).collect::<Vec<_>>(),
        [("b", None), ("c", Some(30))]
    );
}

#[test]
fn a_comparison_has_every_measure() {
    let (a, b) = (vec![run("", None); 8], vec![run("", Some(1)); 8]);
    let compared = Comparison::new(("old", &a), ("new", &b), 1);
    let (of_a, of_b, paired) = compared.measures["MRR@10"];
    assert!(of_a.mean < 1e-9 && (of_b.mean - 1.0).abs() < 1e-9 && paired.wins == 8 && paired.p < 0.01);
    assert_eq!(compared.measures.len(), 4);
    assert_eq!(compared.measures["nDCG@10"].2.ties, 8);
}

fn ndcg(values: impl Iterator<Item = f64>) -> Vec<QueryRun> {
    let measures = |ndcg_10| QueryMeasures { ndcg_10, ..QueryMeasures::default() };
    values.map(|value| QueryRun { measures: measures(value), ..run("", Some(1)) }).collect()
}

/// Three systems: the second is mostly as good as the third, the first is worse everywhere.
fn measured(queries: usize) -> Report {
    let wave = |i: usize, from: usize| if i % 3 == from { 0.9 } else { 0.8 };
    let runs = vec![
        ndcg((0..queries).map(|_| 0.1)),
        ndcg((0..queries).map(|i| wave(i, 0))),
        ndcg((0..queries).map(|i| wave(i, 1) + 0.001)),
    ];
    let systems = ["off", "template", "model"].map(|context| context.to_owned());
    let systems = systems.iter().zip(&runs).map(|(context, runs)| System::new("hybrid", context, runs, 1)).collect();
    Report { queries, systems, pairs: pairs(&runs, 1), ..Report::default() }.judged()
}

#[test]
fn the_best_is_named_with_those_that_are_alike() {
    let report = measured(ENOUGH);
    let best = report.best.as_ref().unwrap();
    assert_eq!((best.system.as_str(), best.alike.as_slice()), ("hybrid, model", &["hybrid, template".to_owned()][..]));
    let orders: Vec<_> = report.pairs.iter().map(|pair| (pair.a, pair.b, pair.order())).collect();
    assert_eq!(orders, [(0, 1, Some(Ordering::Greater)), (0, 2, Some(Ordering::Greater)), (1, 2, None)]);

    let compared = Comparison::new(("a", &[]), ("b", &[]), 1);
    assert_eq!(Report { comparison: Some(compared), ..report }.judged().best, None, "the comparison tells");
}

#[test]
fn of_too_few_queries_none_is_the_best() {
    let report = measured(ENOUGH - 1);
    assert!(report.too_few() && !measured(ENOUGH).too_few());
    assert_eq!(report.best, None);
    assert_eq!(report.pairs.len(), 3, "the intervals are told all the same");
}
