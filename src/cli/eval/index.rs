//! Builds an index for each kind of contexts, and asks it the queries.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::Bench;
use super::source::Source;
use crate::cli::exit;
use crate::cli::session::CliFailure;
use crate::daemon::config::Config;
use engine::handle::Cancel;
use engine::rerank::Reranker;
use index::embed::builtin;
use index::eval::docs::{Arm, Page};
use index::eval::report::QueryRun;
use index::eval::set::HitPlace;
use index::eval::{QueryMeasures, metrics};
use index::search::{self, AsWords, Boosts, Options, Ranking};
use index::{Graph, Index, LexicalError, NoteNo, Snapshot};
use protocol::search::Mode;

/// Most hits of a query that are judged.
const DEPTH: usize = 100;

impl From<LexicalError> for CliFailure {
    fn from(error: LexicalError) -> Self {
        CliFailure::new(exit::IO, format!("{error}; is there room in the temporary folder? TMPDIR chooses another"))
    }
}

/// Notes from which betweenness is walked if the graph has a weight: enough for an order, and quick.
const SOURCES: usize = 500;

/// An index, and the links between its notes.
pub(super) struct Built {
    snapshot: Arc<Snapshot>,
    graph: Option<Arc<Graph>>,
}

/// How queries are asked.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    pub(super) config: &'a Config,
    pub(super) mode: Mode,
    /// Whether contexts take part.
    pub(super) contextual: bool,
    /// Whether the configuration's boosts count.
    pub(super) boosts: bool,
    /// The reranker of the best hits, if there is one.
    pub(super) reranker: Option<&'a Reranker>,
}

/// Indexes the pages with one kind of contexts.
pub(super) fn build(
    source: &Source,
    pages: &[Page],
    arm: Arm,
    config: &Config,
    bench: &mut Bench,
) -> Result<Built, CliFailure> {
    let mut index = Index::open(&bench.place()?, builtin::DIMENSIONS)?;
    index.begin_bulk(engine::host::background_thread)?;
    bench.phase(&format!("indexing, contexts: {}", arm.name()), pages.len());
    for (no, page) in (1..).zip(pages) {
        let (mut entry, docs) = page.docs(no, arm);
        entry.stat = source.stats.get(&entry.path).copied().unwrap_or_default();
        index.put(entry, docs)?;
        bench.step()?;
    }
    let snapshot = index.publish(pages.len() as u64)?;
    let mut go_on = || !bench.interrupt.raised();
    let mut graph = snapshot.graph(&mut go_on);
    if let Some(graph) = graph.as_mut().filter(|_| config.engine.search.graph_weight > 0.0) {
        graph.measure(SOURCES, &mut go_on);
    }
    Ok(Built { snapshot, graph: graph.map(Arc::new) })
}

/// Asks every query, in order.
pub(super) fn ask(source: &Source, built: &Built, how: How<'_>, bench: &Bench) -> Result<Vec<QueryRun>, CliFailure> {
    let today = jiff::Zoned::now().date();
    let (search, mode, snapshot) = (&how.config.engine.search, how.mode, &*built.snapshot);
    let weight = |weight: f32| if how.boosts { weight } else { 0.0 };
    let boosts = Boosts {
        graph_weight: weight(search.graph_weight),
        link_weight: weight(search.link_weight),
        recency_weight: weight(search.recency_weight),
        date_weight: weight(search.date_weight),
        recency_half_life: search.recency_half_life.as_secs_f32() / 86_400.0,
        type_weights: if how.boosts { search.type_weights.clone() } else { BTreeMap::new() },
        today: Some(today),
        asked: None,
        graph: built.graph.clone(),
    };
    let (contextual, dense_weight) = (how.contextual, search.dense_weight);
    let options = Options { mode, limit: DEPTH, contextual, dense_weight, boosts, ..Options::default() };
    bench.phase("asking", source.queries.len());
    let mut runs = Vec::with_capacity(source.queries.len());
    for query in &source.queries {
        let began = Instant::now();
        let parse = |as_words: &AsWords| {
            let parsed = search::parse_as(&query.text, today, as_words);
            parsed.map_err(|over| CliFailure::new(exit::USAGE, over.to_string()))
        };
        let mut parsed =
            search::settled(parse(&AsWords::default())?, &parse, (&[("", snapshot, None)], &[]), &options)?;
        // As a search does: only the hybrid lane has its vector made of corrected words.
        if mode == Mode::Hybrid {
            parsed.understand([(snapshot, None)], &options)?;
        }
        let text = parsed.text_meant();
        let vector = (mode != Mode::Lexical).then(|| builtin::model().embed(&text));
        let familiarity = builtin::model().familiarity(&text);
        let mut options = Options { familiarity, ..options.clone() };
        options.boosts.asked = search::asked(&parsed.words, today).map(|asked| asked.when);
        let mut rankings = [search::rank(snapshot, &parsed, vector.as_ref(), &options)?];
        let first_order = match how.reranker.filter(|_| parsed.has_text()) {
            Some(reranker) => {
                let vaults = [(built.snapshot.clone(), source.private.clone())];
                // As it was made: a word may have been read as the name of a private note.
                let asked = parsed.text();
                let unjudged = reranker.rerank(&asked, contextual, &vaults, &mut rankings, &Cancel::new());
                unjudged.map_err(|error| CliFailure::new(exit::IO, error.to_string()))?.is_some()
            }
            None => false,
        };
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let [ranking] = rankings;
        let ranked = source.rank(hits(snapshot, &ranking, source.per_note()));
        runs.push(QueryRun {
            kind: query.kind.clone(),
            measures: QueryMeasures::of(&ranked, &query.judged),
            rank: metrics::first(&ranked, &query.judged),
            ms,
            first_order,
        });
        bench.step()?;
    }
    Ok(runs)
}

/// The places of the hits, best first, at most `per_note` of one note.
fn hits<'a>(snapshot: &'a Snapshot, ranking: &Ranking, per_note: usize) -> impl Iterator<Item = HitPlace<'a>> {
    let mut taken: HashMap<NoteNo, usize> = HashMap::new();
    let place = move |row| {
        let chunk = snapshot.chunk(row)?;
        let count = taken.entry(chunk.note).or_default();
        *count += 1;
        let path = snapshot.note(chunk.note)?.path.as_str();
        (*count <= per_note).then_some(HitPlace { path, line: chunk.lines.0, end_line: chunk.lines.1 })
    };
    ranking.rows(usize::MAX).into_iter().filter_map(place).take(DEPTH)
}
