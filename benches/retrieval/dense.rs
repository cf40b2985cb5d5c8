//! What looking twice loses, and what it saves: the vaults of all sets as one, asked through the library.
//!
//! A set alone may be so small that it is scanned exactly. So all notes are put in one index, under the set's name, and the
//! queries of each set are asked of all of it: once as it is, once with every vector looked at exactly.

use std::collections::HashSet;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use index::embed::{Vector, builtin};
use index::{Index, Row, Snapshot};
use note::VaultPath;
use serde_json::json;

use crate::arms::{ask_within, read};
use crate::common::{library, percentile};
use crate::set::Set;

/// Chunks that a search asks the lane for.
const DEPTH: usize = 300;
/// How many of the exact best are looked for among them.
const BEST: [usize; 4] = [10, 30, 100, DEPTH];
/// How often the whole is scanned for one figure.
const TIMES: usize = 101;

/// Prints the recall of the exact best, what the answers are worth both ways, and how long a scan takes.
pub(crate) fn run(dirs: &[PathBuf]) -> Result<()> {
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let mut index = Index::open(&home.path().join("index"), builtin::DIMENSIONS)?;
    index.begin_bulk(|| ())?;
    let (mut sets, mut no) = (Vec::new(), 0);
    for dir in dirs {
        let vault = home.path().join(dir.file_name().unwrap_or_default());
        let set = Set::load(dir, &vault)?;
        for mut page in read(&vault, &json!([]))? {
            no += 1;
            let path = format!("{}/{}", set.name, page.note.path.as_str());
            page.note.path = VaultPath::parse(&path).with_context(|| format!("no path of a vault: {path}"))?;
            let chunks: Vec<_> = page.cuts.iter().map(|cut| (&cut.chunk, cut.template.clone())).collect();
            library::put(&mut index, no, &page.note, &chunks)?;
        }
        sets.push(set);
    }
    let twice = index.publish(1)?;
    index.end_bulk()?;
    let once = twice.exact();
    let rows = 0..twice.rows() as Row;
    let windows: usize = rows.map(|row| twice.vectors(row).len()).sum();
    println!("{} notes, {} chunks, {windows} vectors\n", twice.note_count(), twice.chunk_count());

    println!("| set | queries | {} |", BEST.map(|k| format!("recall of the best {k}: mean, worst")).join(" | "));
    println!("|---|---|{}", "---|".repeat(BEST.len()));
    let mut vectors = Vec::new();
    for set in &sets {
        let asked: Vec<Vector> = set.queries().iter().map(|query| builtin::model().embed(&query.text)).collect();
        let cells = BEST.map(|k| {
            let recalls: Vec<f64> = asked.iter().map(|vector| recall(&once, &twice, vector, k)).collect();
            let mean = recalls.iter().sum::<f64>() / recalls.len().max(1) as f64;
            format!("{:.2} %, {:.1} %", 100.0 * mean, 100.0 * percentile(&recalls, 0.0))
        });
        println!("| {} | {} | {} |", set.name, asked.len(), cells.join(" | "));
        vectors.extend(asked);
    }

    println!("\n| set | lane | nDCG@10: one look | two | R@20: one look | two |\n|---|---|---|---|---|---|");
    for set in &sets {
        for lane in ["dense", "hybrid"] {
            let [one, two] = [ask_within(set, &once, lane)?, ask_within(set, &twice, lane)?];
            let (name, before, after) = (&set.name, one.recall_20, two.recall_20);
            println!("| {name} | {lane} | {:.4} | {:.4} | {before:.4} | {after:.4} |", one.ndcg_10, two.ndcg_10);
        }
    }

    // By turns, so that a busy machine slows both.
    let mut times = [Vec::new(), Vec::new()];
    for vector in vectors.iter().cycle().step_by(17).take(TIMES) {
        for (snapshot, times) in [&once, &*twice].into_iter().zip(&mut times) {
            times.push(time(|| snapshot.dense(vector, None, DEPTH)).as_secs_f64() * 1e3);
        }
    }
    let [one, two] = times.map(|times| percentile(&times, 50.0));
    println!("\nMedian of {TIMES} scans: {one:.3} ms with one look, {two:.3} with two.");
    Ok(())
}

/// The share of the `k` exact best that are among what two looks find.
fn recall(once: &Snapshot, twice: &Snapshot, vector: &Vector, k: usize) -> f64 {
    let one = once.dense(vector, None, k);
    let found: HashSet<Row> = twice.dense(vector, None, DEPTH).into_iter().map(|(row, _)| row).collect();
    one.iter().filter(|(row, _)| found.contains(row)).count() as f64 / one.len().max(1) as f64
}

fn time<T>(work: impl Fn() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}
