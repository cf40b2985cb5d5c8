//! Measures of a ranking, as trec_eval defines them (linear gain).

use std::collections::HashMap;

/// What is relevant to a query, and how much.
pub(crate) type Judged = HashMap<String, f64>;

/// The measures of one query, or their mean over many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measures {
    /// Share of what is relevant among the first 5.
    pub(crate) recall_5: f64,
    /// Share of what is relevant among the first 20.
    pub(crate) recall_20: f64,
    /// One over the rank of the first relevant one among the first 10.
    pub(crate) mrr_10: f64,
    /// Discounted gain of the first 10 over that of the best possible order.
    pub(crate) ndcg_10: f64,
}

impl Measures {
    /// Of a ranking without repetitions, best first. `judged` holds at least one gain above 0.
    pub(crate) fn of(ranked: &[String], judged: &Judged) -> Self {
        let gain = |id: &String| judged.get(id).copied().unwrap_or(0.0).max(0.0);
        let relevant = judged.values().filter(|g| **g > 0.0).count().max(1) as f64;
        let recall = |k| ranked.iter().take(k).filter(|id| gain(id) > 0.0).count() as f64 / relevant;
        let first = ranked.iter().take(10).position(|id| gain(id) > 0.0);
        let mut best: Vec<f64> = judged.values().copied().filter(|g| *g > 0.0).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let ideal = discounted(best.into_iter());
        Measures {
            recall_5: recall(5),
            recall_20: recall(20),
            mrr_10: first.map_or(0.0, |i| 1.0 / (i + 1) as f64),
            ndcg_10: if ideal > 0.0 { discounted(ranked.iter().map(gain)) / ideal } else { 0.0 },
        }
    }

    /// The mean; zero of none.
    pub(crate) fn mean(all: &[Measures]) -> Self {
        let mean = |f: fn(&Measures) -> f64| all.iter().map(f).sum::<f64>() / all.len().max(1) as f64;
        Measures {
            recall_5: mean(|m| m.recall_5),
            recall_20: mean(|m| m.recall_20),
            mrr_10: mean(|m| m.mrr_10),
            ndcg_10: mean(|m| m.ndcg_10),
        }
    }
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains.take(10).enumerate().map(|(i, gain)| gain / (i as f64 + 2.0).log2()).sum()
}

/// Compares with values computed by hand; the benches call it before they measure anything.
pub(crate) fn check() {
    let ranked = |ids: &str| ids.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let judged = |ids: &[(&str, f64)]| ids.iter().map(|(id, g)| ((*id).to_owned(), *g)).collect::<Judged>();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4, "{a} is not {b}");

    // Two relevant ones at ranks 2 and 6: nDCG = (1/log2 3 + 1/log2 7) / (1 + 1/log2 3).
    let m = Measures::of(&ranked("x a y z w b v"), &judged(&[("a", 1.0), ("b", 1.0)]));
    near(m.recall_5, 0.5);
    near(m.recall_20, 1.0);
    near(m.mrr_10, 0.5);
    near(m.ndcg_10, (0.630_930 + 0.356_207) / 1.630_930);
    // Graded: the lesser first. (1 + 2/log2 3) / (2 + 1/log2 3).
    let m = Measures::of(&ranked("a b"), &judged(&[("a", 1.0), ("b", 2.0), ("c", 0.0)]));
    near(m.ndcg_10, 2.261_860 / 2.630_930);
    near(m.recall_5, 1.0);
    near(m.mrr_10, 1.0);
    // At rank 11 it counts for recall only.
    let m = Measures::of(&ranked("q w e r t y u i o p a"), &judged(&[("a", 1.0)]));
    near(m.mrr_10 + m.ndcg_10 + m.recall_5, 0.0);
    near(m.recall_20, 1.0);
    near(Measures::of(&[], &judged(&[("a", 1.0)])).ndcg_10, 0.0);
    near(Measures::mean(&[m, Measures::default()]).recall_20, 0.5);
}
