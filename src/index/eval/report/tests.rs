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
