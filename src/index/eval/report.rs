//! What was measured, in the shape that `--json` prints and the page shows.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::QueryMeasures;
use super::set::Missing;
use super::stats::{self, Interval, Paired};

/// What one system did with one query.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryRun {
    /// The query's kind; may be empty.
    pub kind: String,
    /// How well it was answered.
    pub measures: QueryMeasures,
    /// Rank of the first relevant one, from 1, if it was found at all.
    pub rank: Option<usize>,
    /// Milliseconds from query to ranking.
    pub ms: f64,
    /// Whether it should have been reranked and was not: no answer in time, or no budget.
    pub first_order: bool,
}

/// A way of answering, and how well it answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// `lexical`, `dense` or `hybrid`.
    pub lane: String,
    /// Which contexts it had: `off`, `template`, `model`.
    pub context: String,
    /// Whether links, age and kind of notes counted too.
    #[serde(default)]
    pub boosts: bool,
    /// Whether a reranker judged the best hits anew.
    #[serde(default)]
    pub rerank: bool,
    /// Queries that the reranker did not judge in time or within the budget; they count in their first order.
    #[serde(default)]
    pub first_order: usize,
    /// What its configuration is called, where several are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// By name ([`QueryMeasures::NAMES`]): mean and interval.
    pub measures: BTreeMap<String, Interval>,
    /// Means by kind of query, with the number of queries.
    pub kinds: BTreeMap<String, (usize, QueryMeasures)>,
    /// How many queries were answered at the ranks of [`RANKS`].
    pub ranks: [usize; 8],
    /// Median milliseconds of a query.
    pub p50_ms: f64,
}

/// The ranges of ranks that are counted, as they are called; the last is "not among the first 100".
pub const RANKS: [&str; 8] = ["1", "2", "3", "4–5", "6–10", "11–20", "21–100", "none"];

/// Where the ranges of ranks end.
const ENDS: [usize; 7] = [1, 2, 3, 5, 10, 20, 100];

/// Two configurations on the same queries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What the first is called.
    pub a: String,
    /// What the second is called.
    pub b: String,
    /// Chunks that each cut the notes into.
    #[serde(default)]
    pub chunks: [usize; 2],
    /// What each reached: the first, the second, and the second against the first, by name of the measure.
    pub measures: BTreeMap<String, (Interval, Interval, Paired)>,
}

/// Two systems on the same queries, by nDCG@10.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The place of the first among [`Report::systems`].
    pub a: usize,
    /// The place of the second.
    pub b: usize,
    /// What the second reached less what the first did, and how sure that is.
    #[serde(flatten)]
    pub paired: Paired,
}

/// The system of the highest nDCG@10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// What it is called: [`System::name`].
    pub system: String,
    /// Those that cannot be told from it: the interval of the difference holds 0.
    pub alike: Vec<String>,
}

/// A query that no system answered well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Miss {
    /// What was asked.
    pub query: String,
    /// Its kind.
    pub kind: String,
    /// What should have been found.
    pub expected: Vec<String>,
    /// The best rank that any system gave it, if any did.
    pub best: Option<usize>,
}

/// All that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the vault or set.
    pub name: String,
    /// `vault` or `set`.
    pub source: String,
    /// Notes that were searched.
    pub notes: usize,
    /// Chunks they were cut into; of two configurations by the second.
    pub chunks: usize,
    /// Files or documents that were left out.
    pub lost: usize,
    /// Queries that were asked.
    pub queries: usize,
    /// Of a set: queries that were left out, because all documents relevant to them are missing.
    #[serde(default)]
    pub unanswerable: usize,
    /// Of a set: documents that are missing, those that most queries need first; at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// Of a vault: how many queries of each kind there would have been, and how many were drawn.
    pub kinds: BTreeMap<String, (usize, usize)>,
    /// Chunks whose context a model wrote.
    pub written: usize,
    /// The seed.
    pub seed: u64,
    /// Version of the program.
    pub version: String,
    /// The embedder's identity.
    pub embedder: String,
    /// The day it was measured.
    pub date: String,
    /// Seconds that it took.
    pub took_s: f64,
    /// Each way of answering.
    pub systems: Vec<System>,
    /// Two configurations against each other, if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// The system that answered best, unless the queries are too few to tell or configurations are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Best>,
    /// Every two systems against each other, query by query.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
    /// The worst queries, at most [`MISSES`].
    pub misses: Vec<Miss>,
}

/// Queries that are needed to tell one system from another: with fewer the order is as likely luck. With 60 a
/// difference of .1 in nDCG@10, which is what contexts or a second lane are worth, is about as large as its interval.
pub const ENOUGH: usize = 60;

/// At most this many missed queries are listed.
pub const MISSES: usize = 100;

/// A miss is a query that no system answered at this rank or better.
const WELL: usize = 20;

impl System {
    /// Puts together what a system did with all queries.
    pub fn new(lane: &str, context: &str, runs: &[QueryRun], seed: u64) -> Self {
        let mut kinds: BTreeMap<String, Vec<QueryMeasures>> = BTreeMap::new();
        let mut ranks = [0; 8];
        for run in runs {
            kinds.entry(run.kind.clone()).or_default().push(run.measures);
            ranks[run.rank.map_or(7, |rank| ENDS.partition_point(|end| *end < rank))] += 1;
        }
        let mut times: Vec<f64> = runs.iter().map(|run| run.ms).collect();
        times.sort_by(f64::total_cmp);
        System {
            lane: lane.to_owned(),
            context: context.to_owned(),
            boosts: false,
            rerank: false,
            first_order: runs.iter().filter(|run| run.first_order).count(),
            config: None,
            measures: intervals(runs, seed),
            kinds: kinds.into_iter().map(|(kind, all)| (kind, (all.len(), QueryMeasures::mean(&all)))).collect(),
            ranks,
            p50_ms: times.get(times.len() / 2).copied().unwrap_or(0.0),
        }
    }

    /// `hybrid, template`, `hybrid, template, boosts, rerank`, or with its configuration `A (small): hybrid, template`.
    pub fn name(&self) -> String {
        let config = self.config.as_ref().map_or(String::new(), |config| format!("{config}: "));
        // A configuration sets its own boosts, so the name leaves them out.
        let boosts = if self.boosts && self.config.is_none() { ", boosts" } else { "" };
        let rerank = if self.rerank { ", rerank" } else { "" };
        format!("{config}{}, {}{boosts}{rerank}", self.lane, self.context)
    }

    /// A measure by name; zeros for one that is not there.
    pub fn measure(&self, name: &str) -> Interval {
        self.measures.get(name).copied().unwrap_or_default()
    }
}

impl Report {
    /// Whether its queries are too few to tell one system from another.
    pub fn too_few(&self) -> bool {
        self.queries < ENOUGH
    }

    /// The same report, which names the best system if that can be told.
    #[must_use]
    pub fn judged(self) -> Self {
        let best = if self.too_few() || self.comparison.is_some() { None } else { self.find_best() };
        Report { best, ..self }
    }

    fn find_best(&self) -> Option<Best> {
        let mean = |system: &System| system.measure("nDCG@10").mean;
        let (best, system) = self.systems.iter().enumerate().max_by(|a, b| mean(a.1).total_cmp(&mean(b.1)))?;
        let others = self.pairs.iter().filter(|pair| pair.order().is_none()).filter_map(|pair| pair.other_than(best));
        let mut alike: Vec<usize> = others.collect();
        alike.sort_unstable();
        let alike = alike.into_iter().filter_map(|place| self.systems.get(place)).map(System::name).collect();
        Some(Best { system: system.name(), alike })
    }
}

impl Pair {
    /// How the second did against the first; `None` if the interval of the difference holds 0.
    pub fn order(&self) -> Option<Ordering> {
        let Interval { low, high, .. } = self.paired.difference;
        match (low > 0.0, high < 0.0) {
            (true, _) => Some(Ordering::Greater),
            (_, true) => Some(Ordering::Less),
            _ => None,
        }
    }

    /// The other of the two, if the system at `place` is one of them.
    fn other_than(&self, place: usize) -> Option<usize> {
        match place {
            _ if place == self.a => Some(self.b),
            _ if place == self.b => Some(self.a),
            _ => None,
        }
    }
}

impl Comparison {
    /// Compares two systems that answered the same queries in the same order.
    pub fn new(a: (&str, &[QueryRun]), b: (&str, &[QueryRun]), seed: u64) -> Self {
        let (of_a, of_b) = (intervals(a.1, seed), intervals(b.1, seed));
        let measure = |(i, name): (usize, &&str)| {
            let values = |runs: &[QueryRun]| runs.iter().map(|run| run.measures.values()[i]).collect::<Vec<f64>>();
            let paired = stats::paired(&values(a.1), &values(b.1), seed);
            ((*name).to_owned(), (of_a[*name], of_b[*name], paired))
        };
        Comparison {
            a: a.0.to_owned(),
            b: b.0.to_owned(),
            chunks: [0; 2],
            measures: QueryMeasures::NAMES.iter().enumerate().map(measure).collect(),
        }
    }
}

/// Compares every two of the systems, whose runs are of the same queries in the same order.
pub fn pairs(runs: &[Vec<QueryRun>], seed: u64) -> Vec<Pair> {
    let values: Vec<Vec<f64>> = runs.iter().map(|runs| runs.iter().map(|run| run.measures.ndcg_10).collect()).collect();
    let places = (0..values.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    places.map(|(a, b)| Pair { a, b, paired: stats::paired(&values[a], &values[b], seed) }).collect()
}

fn intervals(runs: &[QueryRun], seed: u64) -> BTreeMap<String, Interval> {
    let of = |i: usize| runs.iter().map(|run| run.measures.values()[i]).collect::<Vec<f64>>();
    let measure = |(i, name): (usize, &&str)| ((*name).to_owned(), stats::interval(&of(i), seed));
    QueryMeasures::NAMES.iter().enumerate().map(measure).collect()
}

/// The queries that no system answered among the first 20, the worst first. `runs` has a list for each system, in
/// the order of `queries`: text, kind, and what was expected.
pub fn misses<'a>(queries: impl Iterator<Item = (&'a str, &'a str, Vec<String>)>, runs: &[Vec<QueryRun>]) -> Vec<Miss> {
    let mut misses: Vec<Miss> = queries
        .enumerate()
        .map(|(i, (query, kind, expected))| Miss {
            query: query.to_owned(),
            kind: kind.to_owned(),
            expected,
            best: runs.iter().filter_map(|runs| runs.get(i)?.rank).min(),
        })
        .filter(|miss| miss.best.is_none_or(|best| best > WELL))
        .collect();
    misses.sort_by_key(|miss| std::cmp::Reverse(miss.best.unwrap_or(usize::MAX)));
    misses.truncate(MISSES);
    misses
}

#[cfg(test)]
mod tests;
