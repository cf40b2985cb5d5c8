//! Measures of a ranking, as trec_eval defines them (linear gain).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What is relevant to a query, and how much.
pub type Relevance = HashMap<String, f64>;

/// The measures of one query, or their mean over many; each is 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryMeasures {
    /// Share of what is relevant among the first 5.
    pub recall_5: f64,
    /// Share of what is relevant among the first 20.
    pub recall_20: f64,
    /// One over the rank of the first relevant one among the first 10.
    pub mrr_10: f64,
    /// Discounted gain of the first 10 over that of the best possible order (Järvelin, Kekäläinen, ACM TOIS
    /// 20(4), 2002).
    pub ndcg_10: f64,
}

impl QueryMeasures {
    /// What the measures are called, in the order of [`QueryMeasures::values`].
    pub const NAMES: [&'static str; 4] = ["Recall@5", "Recall@20", "MRR@10", "nDCG@10"];

    /// The measures of a ranking without repetitions, best first. `judged` holds at least one gain above 0.
    pub fn of(ranked: &[String], judged: &Relevance) -> Self {
        let gain = |id: &String| judged.get(id).copied().unwrap_or(0.0).max(0.0);
        let relevant = judged.values().filter(|g| **g > 0.0).count().max(1) as f64;
        let recall = |k| ranked.iter().take(k).filter(|id| gain(id) > 0.0).count() as f64 / relevant;
        let first = first(ranked, judged).filter(|rank| *rank <= 10);
        let mut best: Vec<f64> = judged.values().copied().filter(|g| *g > 0.0).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        let ideal = discounted(best.into_iter());
        QueryMeasures {
            recall_5: recall(5),
            recall_20: recall(20),
            mrr_10: first.map_or(0.0, |rank| 1.0 / rank as f64),
            ndcg_10: if ideal > 0.0 { discounted(ranked.iter().map(gain)) / ideal } else { 0.0 },
        }
    }

    /// The mean of each measure; zeros if there are none.
    pub fn mean(all: &[QueryMeasures]) -> Self {
        let mean = |f: fn(&QueryMeasures) -> f64| all.iter().map(f).sum::<f64>() / all.len().max(1) as f64;
        QueryMeasures {
            recall_5: mean(|m| m.recall_5),
            recall_20: mean(|m| m.recall_20),
            mrr_10: mean(|m| m.mrr_10),
            ndcg_10: mean(|m| m.ndcg_10),
        }
    }

    /// All of them, in the order of [`QueryMeasures::NAMES`].
    pub fn values(&self) -> [f64; 4] {
        [self.recall_5, self.recall_20, self.mrr_10, self.ndcg_10]
    }
}

/// The rank, from 1, of the first relevant one.
pub fn first(ranked: &[String], judged: &Relevance) -> Option<usize> {
    ranked.iter().position(|id| judged.get(id).is_some_and(|gain| *gain > 0.0)).map(|i| i + 1)
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    // A sum of nothing is -0.
    0.0 + gains.take(10).enumerate().map(|(i, gain)| gain / (i as f64 + 2.0).log2()).sum::<f64>()
}

#[cfg(test)]
mod tests;
