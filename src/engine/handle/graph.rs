//! The graph of links, as the handle tells of it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::access::{parse_path, ready};
use super::{CallError, Cancel, GraphAnswer, GraphNote, GraphRequest, GraphTarget, Handle, Measure};
use index::graph::Centrality;
use index::{Graph, NoteEntry, NoteNo, Snapshot};

/// How long an answer waits for the graph of the present snapshot; then it shows the one that is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Notes, orphans and targets of an answer, unless the request says otherwise, and at most.
const USUAL: usize = 20;
const MOST: usize = 10_000;

/// Notes that are named for an unresolved target, and links between the notes of an answer.
const SOURCES: usize = 10;
const MOST_EDGES: usize = 500_000;

/// See [`Handle::graph`].
pub(super) fn graph(engine: &Handle, request: &GraphRequest, cancel: &Cancel) -> Result<GraphAnswer, CallError> {
    let limit = request.limit.unwrap_or(USUAL);
    if limit > MOST {
        return Err(CallError::Invalid(format!("`limit` must be 0 to {MOST}, not {limit}")));
    }
    let vault = engine.choose(request.vault.as_deref())?.first().cloned().ok_or(CallError::NotReady)?;
    ready(&vault)?;
    engine.0.grapher.wait(&vault, PATIENCE, cancel);
    cancel.check()?;
    let (snapshot, _) = ready(&vault)?;
    let graph = vault.graph.load_full().ok_or(CallError::NotReady)?;
    let mut answer = tell(&snapshot, &graph, request.by, limit);
    answer.vault = vault.name.clone();
    if request.edges {
        answer.edges = Some(edges(&snapshot, &graph, &answer.notes)?);
    }
    Ok(answer)
}

fn tell(snapshot: &Snapshot, graph: &Graph, by: Measure, limit: usize) -> GraphAnswer {
    // A note that has gone since is left out.
    let mut notes: Vec<(&Arc<NoteEntry>, Centrality)> =
        graph.notes().iter().filter_map(|no| Some((snapshot.note(*no)?, graph.of(*no)))).collect();
    notes.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    let alone = notes.iter().filter(|(_, of)| of.links + of.backlinks == 0);
    let orphans: Vec<&str> = alone.map(|(note, _)| note.path.as_str()).collect();
    let (orphan_count, note_count) = (orphans.len() as u64, notes.len() as u64);
    let orphans = orphans.into_iter().take(limit).map(str::to_owned).collect();
    notes.sort_by(|a, b| ranked(by, &a.1, &b.1));
    let note = |(note, of): &(&Arc<NoteEntry>, Centrality)| GraphNote {
        path: note.path.to_string(),
        title: note.title().to_owned(),
        score: of.score,
        pagerank: of.pagerank,
        betweenness: of.betweenness,
        clustering: of.clustering,
        links: of.links,
        backlinks: of.backlinks,
    };
    let path = |no: &NoteNo| snapshot.note(*no).map(|note| note.path.to_string());
    let target = |unresolved: &index::graph::Unresolved| GraphTarget {
        target: unresolved.target.clone(),
        count: unresolved.notes.len() as u64,
        notes: unresolved.notes.iter().filter_map(path).take(SOURCES).collect(),
    };
    GraphAnswer {
        vault: String::new(),
        seq: graph.seq(),
        current: graph.seq() == snapshot.seq(),
        note_count,
        link_count: graph.link_count() as u64,
        sources: graph.sample().map(|sample| sample.sources as u64),
        error: graph.sample().and_then(|sample| sample.error),
        notes: notes.iter().take(limit).map(note).collect(),
        edges: None,
        orphan_count,
        orphans,
        unresolved_count: graph.unresolved().len() as u64,
        unresolved: graph.unresolved().iter().take(limit).map(target).collect(),
    }
}

/// Most first; the sort is stable, so that equals stay in order of path.
fn ranked(by: Measure, a: &Centrality, b: &Centrality) -> Ordering {
    let of = |of: &Centrality| match by {
        Measure::Score => of.score,
        Measure::Pagerank => of.pagerank,
        Measure::Betweenness => of.betweenness,
        Measure::Clustering => of.clustering,
        // Degrees beyond 2²⁴ would not be told apart.
        Measure::In => of.backlinks as f32,
        Measure::Out => of.links as f32,
    };
    of(b).total_cmp(&of(a))
}

/// The links between the notes listed.
fn edges(snapshot: &Snapshot, graph: &Graph, listed: &[GraphNote]) -> Result<Vec<(u32, u32)>, CallError> {
    let number = |note: &GraphNote| Some(snapshot.note_at(&parse_path(&note.path).ok()?)?.no);
    let places: HashMap<NoteNo, u32> =
        (0..).zip(listed).filter_map(|(place, note)| Some((number(note)?, place))).collect();
    let from = |(no, place): (&NoteNo, &u32)| {
        let place = *place;
        graph.links(*no).filter_map(|to| Some((place, *places.get(&to)?))).collect::<Vec<_>>()
    };
    let mut edges: Vec<(u32, u32)> = places.iter().flat_map(from).collect();
    if edges.len() > MOST_EDGES {
        let count = edges.len();
        return Err(CallError::Invalid(format!("{count} links are too many for one answer; ask for fewer notes")));
    }
    edges.sort_unstable();
    Ok(edges)
}
