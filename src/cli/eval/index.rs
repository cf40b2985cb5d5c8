//! An index of its own for each kind of contexts, and the queries asked of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::Bench;
use super::source::Source;
use crate::cli::exit;
use crate::cli::session::Failure;
use crate::config::Config;
use crate::embed::builtin;
use crate::eval::docs::{Arm, Page};
use crate::eval::report::Run;
use crate::eval::set::Place;
use crate::eval::{Measures, metrics};
use crate::index::{Index, LexicalError, NoteNo, Snapshot};
use crate::search::{self, Mode, Options, Ranking};

/// Hits of a query that are judged.
const DEPTH: usize = 100;

impl From<LexicalError> for Failure {
    fn from(error: LexicalError) -> Self {
        Failure::new(exit::IO, format!("{error}; is there room in the temporary folder? TMPDIR chooses another"))
    }
}

/// Indexes the pages with one kind of contexts.
pub(super) fn build(pages: &[Page], arm: Arm, bench: &mut Bench) -> Result<Arc<Snapshot>, Failure> {
    let mut index = Index::open(&bench.place()?, builtin::DIMENSIONS)?;
    index.bulk(true)?;
    bench.phase(&format!("indexing, contexts: {}", arm.name()), pages.len());
    for (no, page) in (1..).zip(pages) {
        let (entry, docs) = page.docs(no, arm);
        index.put(entry, docs)?;
        bench.step()?;
    }
    Ok(index.publish(pages.len() as u64)?)
}

/// Asks every query, in order.
pub(super) fn ask(
    source: &Source,
    snapshot: &Snapshot,
    config: &Config,
    mode: Mode,
    contextual: bool,
    bench: &Bench,
) -> Result<Vec<Run>, Failure> {
    let options =
        Options { mode, limit: DEPTH, contextual, dense_weight: config.search.dense_weight, ..Options::default() };
    let today = jiff::Zoned::now().date();
    bench.phase("asking", source.queries.len());
    let mut runs = Vec::with_capacity(source.queries.len());
    for query in &source.queries {
        let began = Instant::now();
        let parsed = search::parse(&query.text, today);
        let vector = (mode != Mode::Lexical).then(|| builtin::model().embed(&parsed.text()));
        let ranking = search::rank(snapshot, &parsed, vector.as_ref(), &options)?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let ranked = source.rank(hits(snapshot, &ranking, source.per_note()));
        runs.push(Run {
            kind: query.kind.clone(),
            measures: Measures::of(&ranked, &query.judged),
            rank: metrics::first(&ranked, &query.judged),
            ms,
        });
        bench.step()?;
    }
    Ok(runs)
}

/// Where the hits lie, best first, at most so many of one note.
fn hits<'a>(snapshot: &'a Snapshot, ranking: &Ranking, per_note: usize) -> impl Iterator<Item = Place<'a>> {
    let mut taken: HashMap<NoteNo, usize> = HashMap::new();
    let place = move |row| {
        let chunk = snapshot.chunk(row)?;
        let count = taken.entry(chunk.note).or_default();
        *count += 1;
        let path = snapshot.note(chunk.note)?.path.as_str();
        (*count <= per_note).then_some(Place { path, line: chunk.lines.0, end_line: chunk.lines.1 })
    };
    ranking.rows(usize::MAX).into_iter().filter_map(place).take(DEPTH)
}
