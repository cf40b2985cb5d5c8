//! Graphs small enough to reckon by hand, and any graph against the plainest way to the same numbers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::measures::Measures;
use super::*;
use crate::Said;
use crate::testing::note;

fn always() -> bool {
    true
}

/// A graph of `n` notes with numbers 10, 20, …; edges are `(from, to)` counted from 0, in any order.
fn graph(n: usize, edges: &[(usize, usize)]) -> Graph {
    let notes: Vec<NoteEntry> = (0..n)
        .map(|from| NoteEntry {
            texts: {
                let links = edges.iter().filter(|edge| edge.0 == from).map(|(_, to)| to.to_string());
                Said { links: &links.collect::<Vec<_>>(), ..Said::default() }.pack()
            },
            ..note(10 * (from as u32 + 1), 1, &format!("{from}.md"))
        })
        .collect();
    let notes: Vec<&NoteEntry> = notes.iter().collect();
    let resolve = |target: &str, _: &VaultPath| Some(10 * (target.parse::<u32>().unwrap() + 1));
    Graph::new(7, &notes, resolve, false, &mut always).unwrap()
}

fn measured(n: usize, edges: &[(usize, usize)]) -> Graph {
    let mut graph = graph(n, edges);
    graph.measure(usize::MAX, &mut always);
    graph
}

fn of(graph: &Graph, measure: impl Fn(Centrality) -> f32) -> Vec<f32> {
    graph.notes().iter().map(|no| measure(graph.of(*no))).collect()
}

fn assert_near(got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len());
    for (a, b) in got.iter().zip(expected) {
        assert!((a - b).abs() < 1e-5, "{got:?}, not {expected:?}");
    }
}

#[test]
fn links_count_once_and_never_to_oneself() {
    let graph = graph(3, &[(0, 1), (0, 1), (0, 0), (1, 2), (2, 1)]);
    assert_eq!((graph.len(), graph.link_count(), graph.seq()), (3, 3, 7));
    assert_eq!(graph.links(10).collect::<Vec<_>>(), [20]);
    assert_eq!(graph.backlinks(20).collect::<Vec<_>>(), [10, 30]);
    assert_eq!((graph.of(20).links, graph.of(20).backlinks), (1, 2));
    assert_eq!((graph.links(11).count(), graph.of(11)), (0, Centrality::default()));
}

#[test]
fn measures_are_taken_over_only_for_the_same_links() {
    let (old, mut new, mut other) = (measured(3, &[(0, 1)]), graph(3, &[(0, 1)]), graph(3, &[(0, 2)]));
    assert!(new.take_over(&old) && new == old);
    assert!(!other.take_over(&old) && other.of(10).pagerank == 0.0);
}

#[test]
fn what_is_linked_and_not_there_is_kept() {
    let named = |no: u32, path: &str, links: &[&str]| NoteEntry {
        texts: Said { links, ..Said::default() }.pack(),
        ..note(no, 1, path)
    };
    let notes = [
        named(
            1,
            "a/One.md",
            &["Later", "pic.PNG", "pic.png?raw=true", "../Later.md", "Two", "v1.2", "../A", "../b/", "b"],
        ),
        named(2, "a/Two.md", &["later", "../../out.md", "../b/c", "c/"]),
        named(3, "Three.md", &["LATER", "Node.js", "./b", "b/c/", "/B", "b/d"]),
        named(4, "b/c/Four.md", &["~/x.md", "/etc/hosts.org", "/Users/u/x.md", "#later"]),
    ];
    let resolve = |target: &str, _: &VaultPath| (target == "Two").then_some(2);
    let graph = Graph::new(1, &notes.iter().collect::<Vec<_>>(), resolve, false, &mut always).unwrap();
    assert_eq!(
        missing(&graph),
        [("Later", &[1, 2, 3][..]), ("Node.js", &[3]), ("b", &[1]), ("b/d", &[3]), ("c/", &[2]), ("v1.2", &[1])],
        "neither a picture, a folder, a tag nor what lies outside is a note; two spellings of one name are one"
    );
    assert!(Graph::new(1, &notes.iter().collect::<Vec<_>>(), resolve, false, &mut || false).is_none());
}

fn missing(graph: &Graph) -> Vec<(&str, &[NoteNo])> {
    graph.unresolved().iter().map(|missing| (missing.target.as_str(), &*missing.notes)).collect()
}

#[test]
fn a_link_with_a_bar_that_leads_nowhere_is_read_as_the_others_of_the_vault() {
    let links = &["text\ngone"];
    let notes = [NoteEntry { texts: Said { links, ..Said::default() }.pack(), ..note(1, 1, "One.md") }];
    for (text_first, target) in [(false, "text"), (true, "gone")] {
        let graph = Graph::new(1, &[&notes[0]], |_, _| None, text_first, &mut always).unwrap();
        assert_eq!(missing(&graph), [(target, &[1][..])]);
    }
}

#[test]
fn a_chain_by_hand() {
    // 0 → 1 → 2: every shortest path between 0 and 2 leads through 1, and there is one such pair.
    let graph = measured(3, &[(0, 1), (1, 2)]);
    assert_near(&of(&graph, |c| c.betweenness), &[0.0, 1.0, 0.0]);
    assert_near(&of(&graph, |c| c.clustering), &[0.0, 0.0, 0.0]);
    // x = t, y = t + .85 x, z = t + .85 y with t = .15 / 3 + .85 z / 3 and x + y + z = 1.
    let t = 1.0 / (1.0 + 1.85 + 1.0 + 0.85 * 1.85);
    assert_near(&of(&graph, |c| c.pagerank), &[t, 1.85 * t, (1.0 + 0.85 * 1.85) * t]);
    // Node 1 is the bridge and 0 links to it, which counts a half; of PageRank 1 has more than one of two others, 2 than both.
    assert_near(&of(&graph, |c| c.score), &[0.4 * 0.5, 0.3 * 0.5 + 0.2, 0.3]);
    assert_eq!(graph.sample(), None);
}

#[test]
fn a_square_with_a_diagonal_by_hand() {
    // 0-1-2-3-0 and 0-2. Between 1 and 3 two shortest paths, one through 0 and one through 2.
    let graph = measured(4, &[(0, 1), (2, 1), (2, 3), (0, 3), (0, 2), (2, 0)]);
    assert_near(&of(&graph, |c| c.betweenness), &[1.0 / 6.0, 0.0, 1.0 / 6.0, 0.0]);
    assert_near(&of(&graph, |c| c.clustering), &[2.0 / 3.0, 1.0, 2.0 / 3.0, 1.0]);
}

#[test]
fn no_notes_and_no_links() {
    assert_eq!(measured(0, &[]).measures, Measures { sample: None, ..Measures::default() });
    for n in 1..4 {
        let graph = measured(n, &[]);
        assert_near(&of(&graph, |c| c.pagerank), &vec![1.0 / n as f32; n]);
        assert_near(&of(&graph, |c| c.score), &vec![0.0; n]);
    }
}

#[test]
fn a_sample_says_so_and_is_near() {
    // Two stars, linked at their centres.
    let mut edges: Vec<(usize, usize)> = (2..400).map(|leaf| (leaf, leaf % 2)).collect();
    edges.push((0, 1));
    let exact = measured(400, &edges);
    let mut sampled = graph(400, &edges);
    sampled.measure(100, &mut always);
    let sample = sampled.sample().unwrap();
    let error = sample.error.unwrap();
    assert!(sample.sources == 100 && error > 0.0 && error < 0.1, "{sample:?}");
    let (exact, sampled) = (of(&exact, |c| c.betweenness), of(&sampled, |c| c.betweenness));
    for (exact, sampled) in exact.iter().zip(&sampled) {
        assert!((exact - sampled).abs() <= 4.0 * error as f32 + 1e-6, "{exact} against {sampled}, error {error}");
    }
    let mut steps = 0;
    let mut stopped = graph(400, &edges);
    stopped.measure(usize::MAX, &mut || {
        steps += 1;
        steps < 30
    });
    assert!(stopped.sample().unwrap().sources < 30, "{:?}", stopped.sample());
    stopped.measure(0, &mut always);
    assert_eq!(stopped.sample(), Some(Sample { sources: 0, error: None }));
}

#[test]
fn more_paths_than_a_number_holds() {
    // Layers of three notes, each linked to all of the next: 3^700 shortest paths from end to end.
    let edges: Vec<(usize, usize)> =
        (0..699).flat_map(|layer| (0..9).map(move |i| (3 * layer + i / 3, 3 * layer + 3 + i % 3))).collect();
    let mut graph = graph(2100, &edges);
    graph.measure(40, &mut always);
    assert!(of(&graph, |c| c.betweenness).iter().all(|b| (0.0..=1.0).contains(b)));
}

/// Pairs of nodes, distance and number of shortest paths, by a walk that keeps nothing but what it needs.
fn distances(n: usize, near: &[BTreeSet<usize>], from: usize) -> (Vec<usize>, Vec<f64>) {
    let (mut distance, mut paths) = (vec![usize::MAX; n], vec![0.0; n]);
    (distance[from], paths[from]) = (0, 1.0);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for other in &near[node] {
            if distance[*other] == usize::MAX {
                distance[*other] = distance[node] + 1;
                queue.push_back(*other);
            }
            if distance[*other] == distance[node] + 1 {
                paths[*other] += paths[node];
            }
        }
    }
    (distance, paths)
}

/// By definition: for every pair, the part of its shortest paths that lead through a node.
fn plain_betweenness(n: usize, near: &[BTreeSet<usize>]) -> Vec<f32> {
    let walks: Vec<_> = (0..n).map(|from| distances(n, near, from)).collect();
    let through = |node: usize| {
        let mut sum = 0.0;
        for a in (0..n).filter(|a| *a != node) {
            for b in (0..n).filter(|b| *b != node && *b != a && walks[a].0[*b] != usize::MAX) {
                let (to, on) = (walks[a].0[node], walks[node].0[b]);
                if to != usize::MAX && on != usize::MAX && to + on == walks[a].0[b] {
                    sum += walks[a].1[node] * walks[node].1[b] / walks[a].1[b];
                }
            }
        }
        let pairs = n.saturating_sub(1) * n.saturating_sub(2);
        if pairs == 0 { 0.0 } else { (sum / pairs as f64) as f32 }
    };
    (0..n).map(through).collect()
}

/// By definition: the stationary share, by the whole matrix, long after nothing moves any more.
fn plain_pagerank(n: usize, out: &[BTreeSet<usize>]) -> Vec<f32> {
    let mut rank = vec![1.0 / n as f64; n];
    for _ in 0..400 {
        let mut next = vec![0.15 / n as f64; n];
        for from in 0..n {
            for (to, next) in next.iter_mut().enumerate() {
                let chance = if out[from].is_empty() {
                    1.0 / n as f64
                } else {
                    f64::from(u8::from(out[from].contains(&to))) / out[from].len() as f64
                };
                *next += 0.85 * rank[from] * chance;
            }
        }
        rank = next;
    }
    rank.into_iter().map(|rank| rank as f32).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_graph_is_as_by_definition(n in 1usize..14, edges in proptest::collection::vec((0usize..14, 0usize..14), 0..50)) {
        let edges: Vec<(usize, usize)> = edges.into_iter().map(|(a, b)| (a % n, b % n)).collect();
        let (mut out, mut near) = (vec![BTreeSet::new(); n], vec![BTreeSet::new(); n]);
        for (a, b) in edges.iter().filter(|(a, b)| a != b) {
            out[*a].insert(*b);
            near[*a].insert(*b);
            near[*b].insert(*a);
        }
        let graph = measured(n, &edges);
        let triangles = |node: usize| {
            let links = near[node].iter().flat_map(|a| near[node].iter().map(move |b| (a, b)));
            let degree = near[node].len() as f32;
            let linked = links.filter(|(a, b)| near[**a].contains(b)).count() as f32;
            if degree < 2.0 { 0.0 } else { linked / (degree * (degree - 1.0)) }
        };
        assert_near(&of(&graph, |c| c.clustering), &(0..n).map(triangles).collect::<Vec<_>>());
        assert_near(&of(&graph, |c| c.betweenness), &plain_betweenness(n, &near));
        let pagerank = of(&graph, |c| c.pagerank);
        prop_assert!((pagerank.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        for (a, b) in pagerank.iter().zip(plain_pagerank(n, &out)) {
            prop_assert!((a - b).abs() < 2e-3, "{} {}", a, b);
        }
        prop_assert!(of(&graph, |c| c.score).iter().all(|score| (0.0..=1.0).contains(score)));
        let all: usize = graph.notes().iter().map(|no| graph.links(*no).count()).sum();
        prop_assert_eq!(all, graph.link_count());
    }

    #[test]
    fn what_notes_are_called_does_not_matter(n in 2usize..12, edges in proptest::collection::vec((0usize..12, 0usize..12), 0..40), turn in 1usize..12) {
        let edges: Vec<(usize, usize)> = edges.into_iter().map(|(a, b)| (a % n, b % n)).collect();
        let renamed = |node: usize| (node + turn) % n;
        let other: Vec<(usize, usize)> = edges.iter().map(|(a, b)| (renamed(*a), renamed(*b))).collect();
        let (a, b) = (measured(n, &edges), measured(n, &other));
        for measure in [|c: Centrality| c.pagerank, |c: Centrality| c.betweenness, |c: Centrality| c.clustering] {
            let (a, b) = (of(&a, measure), of(&b, measure));
            let back: BTreeMap<usize, f32> = (0..n).map(|node| (node, b[renamed(node)])).collect();
            assert_near(&a, &back.into_values().collect::<Vec<_>>());
        }
    }
}
