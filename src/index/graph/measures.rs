//! How central a note is: PageRank, betweenness, clustering, and one score of them all.

use super::{GoOn, Rows, SLICE};
use crate::NoteNo;
use vector::SplitMix64;

/// The chance to follow a link rather than to begin anew, as in Page, Brin, Motwani, Winograd, "The PageRank
/// Citation Ranking", 1999.
const DAMPING: f64 = 0.85;

/// Rounds at most, and the change (sum over all notes) that ends them. 0.85⁵⁰ is 0.0003: after that many rounds
/// nothing moves in the ranks.
const ROUNDS: usize = 50;
const SETTLED: f64 = 1e-8;

/// Notes with more betweenness than this share of the others are bridges.
const HIGH: f32 = 0.9;

/// Parts of [`Measures::score`]: links to bridges, PageRank, betweenness, clustering.
const SCORE: [f32; 4] = [0.4, 0.3, 0.2, 0.1];

/// Cap on the number of paths between two notes, so that it never becomes infinite: more are as good as this many.
const MOST_PATHS: f64 = 1e300;

/// From how many notes the shortest paths were followed, if not from all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How many.
    pub sources: usize,
    /// The largest standard error of any note's betweenness; `None` if one source or none was walked.
    pub error: Option<f64>,
}

/// Measures of all nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// The share of the time that a reader who follows links at random (damping 0.85) spends at a note; they add up
    /// to 1. Notes without links send the reader anywhere.
    pub pagerank: Vec<f32>,
    /// The share (0..=1) of all pairs of other notes on whose shortest paths a note lies; where a pair has several
    /// shortest paths, the part of them. Links are followed both ways, as a reader does who sees backlinks.
    ///
    /// Brandes, "A Faster Algorithm for Betweenness Centrality", 2001. Followed from a sample of the notes it is an
    /// estimate: Brandes and Pich, "Centrality Estimation in Large Networks", 2007.
    pub betweenness: Vec<f32>,
    /// The share (0..=1) of pairs of neighbours that are linked with each other, whatever the direction: Watts and
    /// Strogatz, "Collective dynamics of small-world networks", 1998. 0 with fewer than two neighbours.
    pub clustering: Vec<f32>,
    /// 0.4 links to bridges (the tenth of the notes with the highest betweenness) + 0.3 PageRank + 0.2 betweenness +
    /// 0.1 clustering. One link to a bridge counts a half, each further one half of what is left. Each other part
    /// counts by the share of the notes that have less of it, so that all have the same spread, however steeply they
    /// fall.
    pub score: Vec<f32>,
    /// If betweenness is an estimate.
    pub sample: Option<Sample>,
}

impl Measures {
    /// The measures of a graph whose nodes are `notes`. Betweenness follows paths from at most `sources` notes.
    pub(super) fn of(notes: &[NoteNo], links: &Rows, backlinks: &Rows, sources: usize, go_on: GoOn<'_>) -> Self {
        let n = links.len();
        let both = both_ways(links, backlinks);
        let clustering = clustering(&both, go_on);
        let pagerank = pagerank(links, go_on);
        let (betweenness, sample) = betweenness(&both, &order(notes), sources, go_on);
        let [high, central, passed] = [&betweenness, &pagerank, &betweenness].map(|values| shares(values));
        let is_bridge = |node: &&u32| high[**node as usize] > HIGH;
        // Counted directly, not as a share of notes with fewer: where most notes link to a bridge, as daily notes do,
        // hardly any note has fewer, and the share would be nothing for each.
        let bridges: Vec<f32> =
            (0..n).map(|node| 1.0 - 0.5f32.powi(links.of_node(node).iter().filter(is_bridge).count() as i32)).collect();
        let clustered = shares(&clustering);
        let score = (0..n).map(|node| {
            let parts = [bridges[node], central[node], passed[node], clustered[node]];
            SCORE.iter().zip(parts).map(|(weight, part)| weight * part).sum()
        });
        Measures { score: score.collect(), pagerank, betweenness, clustering, sample }
    }
}

/// Neighbours whatever the direction.
fn both_ways(links: &Rows, backlinks: &Rows) -> Rows {
    let mut rows = Rows { starts: vec![0], nodes: Vec::with_capacity(2 * links.nodes.len()) };
    for node in 0..links.len() {
        let begin = rows.nodes.len();
        let (mut out, mut back) = (links.of_node(node), backlinks.of_node(node));
        // Both are sorted, so the merged list is, too.
        while let Some(next) = [out.first(), back.first()].into_iter().flatten().min().copied() {
            rows.nodes.push(next);
            out = &out[usize::from(out.first() == Some(&next))..];
            back = &back[usize::from(back.first() == Some(&next))..];
        }
        debug_assert!(rows.nodes[begin..].is_sorted());
        rows.starts.push(rows.nodes.len() as u32);
    }
    rows
}

fn pagerank(links: &Rows, go_on: GoOn<'_>) -> Vec<f32> {
    let n = links.len();
    let mut rank = vec![1.0 / n as f64; n];
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; n];
        let mut lost = 0.0;
        for (node, rank) in rank.iter().enumerate() {
            let targets = links.of_node(node);
            if targets.is_empty() {
                lost += rank;
            }
            for target in targets {
                next[*target as usize] += rank / targets.len() as f64;
            }
        }
        let mut change = 0.0;
        for (next, rank) in next.iter_mut().zip(&rank) {
            *next = (1.0 - DAMPING + DAMPING * lost) / n as f64 + DAMPING * *next;
            change += (*next - rank).abs();
        }
        rank = next;
        if change < SETTLED || !go_on() {
            break;
        }
    }
    rank.into_iter().map(|rank| rank as f32).collect()
}

/// Each triangle is found once, from its node of least degree. As an edge is kept at that end only, no list is longer
/// than √(2m), and hubs cost no more than other nodes (Chiba and Nishizeki, "Arboricity and Subgraph Listing
/// Algorithms", 1985; Latapy, "Main-memory triangle computations", 2008).
fn clustering(both: &Rows, go_on: GoOn<'_>) -> Vec<f32> {
    let n = both.len();
    let rank = |node: u32| (both.of_node(node as usize).len(), node);
    let mut up = Rows { starts: vec![0], nodes: Vec::new() };
    for node in 0..n {
        up.nodes.extend(both.of_node(node).iter().filter(|other| rank(**other) > rank(node as u32)));
        up.starts.push(up.nodes.len() as u32);
    }
    let mut triangles = vec![0u64; n];
    let mut near = vec![u32::MAX; n];
    for node in 0..n {
        if node % SLICE == 0 && !go_on() {
            break;
        }
        for other in up.of_node(node) {
            near[*other as usize] = node as u32;
        }
        for other in up.of_node(node) {
            for third in up.of_node(*other as usize) {
                if near[*third as usize] == node as u32 {
                    for corner in [node, *other as usize, *third as usize] {
                        triangles[corner] += 1;
                    }
                }
            }
        }
    }
    let share = |(node, triangles): (usize, &u64)| {
        let degree = both.of_node(node).len() as f64;
        if degree < 2.0 { 0.0 } else { (2.0 * *triangles as f64 / (degree * (degree - 1.0))) as f32 }
    };
    triangles.iter().enumerate().map(share).collect()
}

/// The nodes in an order that is independent of the graph and that a new note does not reshuffle: by their numbers, mixed.
fn order(notes: &[NoteNo]) -> Vec<u32> {
    let mixed = |no: NoteNo| SplitMix64::new(no.into()).bits();
    let mut order: Vec<(u64, u32)> = (0..).zip(notes).map(|(node, no)| (mixed(*no), node)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, node)| node).collect()
}

/// Follows shortest paths from the first `most` nodes of `order`, or until it is stopped.
fn betweenness(both: &Rows, order: &[u32], most: usize, go_on: GoOn<'_>) -> (Vec<f32>, Option<Sample>) {
    let n = both.len();
    let (mut sums, mut squares) = (vec![0.0f64; n], vec![0.0f64; n]);
    let mut walk = Walk::new(n);
    let mut walked = 0;
    for source in order.iter().take(most) {
        if !go_on() {
            break;
        }
        walk.from(*source, both, |node, share| {
            sums[node] += share;
            squares[node] += share * share;
        });
        walked += 1;
    }
    let pairs = n.saturating_sub(1) as f64 * n.saturating_sub(2) as f64;
    if walked == 0 || pairs <= 0.0 {
        return (vec![0.0; n], (walked < n).then_some(Sample { sources: walked, error: None }));
    }
    let k = walked as f64;
    let scale = n as f64 / k / pairs;
    // The standard error of a mean over k of n, drawn without replacement.
    let error = |(sum, square): (&f64, &f64)| {
        let variance = (square - sum * sum / k).max(0.0) / (k - 1.0);
        (variance * k * (1.0 - k / n as f64)).sqrt() * scale
    };
    let sample = (walked < n).then(|| Sample {
        sources: walked,
        error: (walked > 1).then(|| sums.iter().zip(&squares).map(error).fold(0.0, f64::max)),
    });
    (sums.iter().map(|sum| (sum * scale) as f32).collect(), sample)
}

/// The tables of one walk, reused for the next.
struct Walk {
    distance: Vec<u32>,
    paths: Vec<f64>,
    share: Vec<f64>,
    reached: Vec<u32>,
}

impl Walk {
    fn new(n: usize) -> Self {
        Walk { distance: vec![u32::MAX; n], paths: vec![0.0; n], share: vec![0.0; n], reached: Vec::with_capacity(n) }
    }

    /// Tells for each node, except the source, what part of the shortest paths from the source leads on through it.
    fn from(&mut self, source: u32, both: &Rows, mut tell: impl FnMut(usize, f64)) {
        let Walk { distance, paths, share, reached } = self;
        (distance[source as usize], paths[source as usize]) = (0, 1.0);
        reached.push(source);
        let mut next = 0;
        while let Some(node) = reached.get(next).map(|node| *node as usize) {
            next += 1;
            for other in both.of_node(node) {
                let at = *other as usize;
                if distance[at] == u32::MAX {
                    distance[at] = distance[node] + 1;
                    reached.push(*other);
                }
                if distance[at] == distance[node] + 1 {
                    paths[at] = (paths[at] + paths[node]).min(MOST_PATHS);
                }
            }
        }
        for node in reached.iter().rev().map(|node| *node as usize) {
            let before = both.of_node(node).iter().map(|before| *before as usize);
            let before = before.filter(|before| distance[*before] + 1 == distance[node]);
            let all = if paths[node] < MOST_PATHS { paths[node] } else { before.clone().map(|node| paths[node]).sum() };
            let part = (1.0 + share[node]) / all;
            for before in before {
                share[before] += paths[before] * part;
            }
            if node != source as usize {
                tell(node, share[node]);
            }
        }
        for node in reached.drain(..).map(|node| node as usize) {
            (distance[node], paths[node], share[node]) = (u32::MAX, 0.0, 0.0);
        }
    }
}

/// For each value the share of the others that are less.
fn shares(values: &[f32]) -> Vec<f32> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let others = values.len().saturating_sub(1).max(1) as f32;
    values.iter().map(|value| sorted.partition_point(|other| other < value) as f32 / others).collect()
}
