//! How well the daemon finds: sets in BEIR's form, asked over the socket.
//!
//! ```text
//! cargo bench --bench retrieval -- DIR [DIR…] [--csv FILE] [--typos SEED] [--embed-static TABLE]
//! cargo bench --bench retrieval -- --arms DIR
//! cargo bench --bench retrieval -- --ablation DIR [DIR…]
//! cargo bench --bench retrieval -- --boosts DIR [DIR…]
//! cargo bench --bench retrieval -- --truth DIR [DIR…]
//! cargo bench --bench retrieval -- --dense DIR [DIR…]
//! cargo bench --bench retrieval -- --builtin-as-table TABLE
//! ```
//!
//! Each DIR holds `corpus.jsonl`, `queries.jsonl`, `qrels.tsv`, and maybe `vault/`. The release binary indexes a
//! copy of the vault (or else one note per document), every query is asked by each lane with and without contexts,
//! and the hits are mapped to the set's ids. `--arms` takes a set whose documents carry contexts that a model
//! wrote: see `arms.rs`. With `--typos` one word of each query is misspelt: see `typos.rs`. `--boosts` compares weights of boosts: see `boosts.rs`.
//! `--dense` says what is lost and saved by looking twice for vectors that are near: see `dense.rs`.
//! `--truth` asks whether `situated eval` orders the arms as the set does: see `truth.rs`.
//! With `--embed-static` a table in the form of model2vec makes the vectors; `--builtin-as-table` writes the built-in model as one.

mod ablation;
mod arms;
mod baselines;
mod boosts;
mod builtin;
#[path = "../common/mod.rs"]
mod common;
mod dense;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/http.rs"]
mod http;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/model.rs"]
mod model;
mod set;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/tables.rs"]
mod tables;
mod truth;
mod typos;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use common::daemon::{Client, Daemon};
use common::{option, percentile};
use index::eval::QueryMeasures;
use serde_json::json;
use set::Set;

const EXE: &str = env!("CARGO_BIN_EXE_situated");
const MODES: [&str; 3] = ["lexical", "dense", "hybrid"];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(dir) = option(&args, "--arms") {
        return arms::run(Path::new(&dir));
    }
    if let Some(dir) = option(&args, "--builtin-as-table") {
        return builtin::write(Path::new(&dir));
    }
    let csv = option(&args, "--csv");
    let typos = option(&args, "--typos");
    let table = option(&args, "--embed-static");
    let values = [&csv, &typos, &table];
    let dirs: Vec<PathBuf> = args
        .iter()
        // Cargo adds `--bench` of its own.
        .filter(|a| !a.starts_with("--") && !values.iter().any(|value| value.as_ref() == Some(*a)))
        .map(PathBuf::from)
        .collect();
    if args.iter().any(|arg| arg == "--ablation") {
        return ablation::run(&dirs);
    }
    if args.iter().any(|arg| arg == "--boosts") {
        return boosts::run(&dirs);
    }
    if args.iter().any(|arg| arg == "--dense") {
        return dense::run(&dirs);
    }
    if args.iter().any(|arg| arg == "--truth") {
        return truth::run(&dirs);
    }
    if dirs.is_empty() {
        println!("retrieval: give the folders of one or more sets, and maybe --csv FILE");
        return Ok(());
    }
    let mut results = Vec::new();
    for dir in &dirs {
        let result = run(dir, typos.as_deref().map(str::parse).transpose()?, table.as_deref())?;
        result.print();
        results.push(result);
    }
    print_means(&results);
    if let Some(path) = csv {
        std::fs::write(path, to_csv(&results))?;
    }
    Ok(())
}

/// What the daemon reached on one set.
struct Outcome {
    set: String,
    has_vault: bool,
    queries: usize,
    systems: Vec<System>,
}

struct System {
    mode: &'static str,
    contextual: bool,
    measures: QueryMeasures,
    /// Median milliseconds of a query.
    p50: f64,
    failed: usize,
}

fn run(dir: &Path, typos: Option<u64>, table: Option<&str>) -> Result<Outcome> {
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let vault = home.path().join("vault");
    let mut set = Set::load(dir, &vault)?;
    if let Some(seed) = typos {
        set.misspell(seed);
    }
    if set.lost() > 0 {
        eprintln!("{}: {} documents are nowhere in the vault", set.name, set.lost());
    }
    let mut daemon = match table {
        Some(table) => {
            let path = toml::Value::from(std::fs::canonicalize(table)?.to_str().context("the path is Unicode")?);
            let settings = format!("[embed]\nprovider = \"static\"\npath = {path}\n");
            Daemon::configured(EXE, home.path(), &vault, &settings)?
        }
        None => Daemon::start(EXE, home.path(), &vault)?,
    };
    let mut client = daemon.client()?;
    let mut status = daemon.indexed(&mut client)?;
    while table.is_some() && !status["embedder"].as_str().is_some_and(|name| name.starts_with("static ")) {
        anyhow::ensure!(status["problems"][0].is_null(), "{}", status["problems"]);
        std::thread::sleep(Duration::from_millis(20));
        status = daemon.idle(&mut client)?;
    }
    let vault = &status["vaults"][0];
    eprintln!(
        "{}: {} notes, {} chunks, {} queries; {}, {:.0} MB resident",
        set.name,
        vault["notes"],
        vault["chunks"],
        set.queries().len(),
        status["embedder"],
        status["rss_bytes"].as_f64().unwrap_or(f64::NAN) / 1e6
    );
    let mut systems = Vec::new();
    for mode in MODES {
        for contextual in [false, true] {
            systems.push(ask(&set, &mut client, mode, contextual)?);
        }
    }
    drop(client);
    daemon.stop()?;
    let queries = set.queries().len();
    Ok(Outcome { set: set.name, has_vault: set.has_vault, queries, systems })
}

fn ask(set: &Set, client: &mut Client, mode: &'static str, contextual: bool) -> Result<System> {
    let (mut measures, mut times, mut failed) = (Vec::new(), Vec::new(), 0);
    for query in set.queries() {
        let params = json!({
            "query": query.text, "limit": 100, "per_note": set.per_note(), "mode": mode, "contextual": contextual,
            // Each found chunk counts by itself.
            "merge": false,
        });
        // A query that the daemon refuses counts as one that finds nothing.
        let hits = match client.timed("search", &params) {
            Ok((time, mut answer)) => {
                times.push(time);
                answer["hits"].take()
            }
            Err(error) if failed == 0 => {
                eprintln!("{}: {error}", set.name);
                failed += 1;
                json!([])
            }
            Err(_) => {
                failed += 1;
                json!([])
            }
        };
        let ranked = set.rank(hits.as_array().map_or(&[], Vec::as_slice));
        measures.push(QueryMeasures::of(&ranked, &query.judged));
    }
    anyhow::ensure!(!times.is_empty() || set.queries().is_empty(), "{}: no query was answered", set.name);
    Ok(System { mode, contextual, measures: QueryMeasures::mean(&measures), p50: percentile(&times, 50.0), failed })
}

const HEADER: &str = "| system | context | R@5 | R@20 | MRR@10 | nDCG@10 | p50 ms |\n|---|---|---|---|---|---|---|";

fn line(system: &str, context: &str, m: QueryMeasures, p50: &str) -> String {
    let cell = |x: f64| {
        if x.is_nan() { String::new() } else { format!("{x:.3}") }
    };
    let QueryMeasures { recall_5, recall_20, mrr_10, ndcg_10 } = m;
    let cells = [recall_5, recall_20, mrr_10, ndcg_10].map(cell).join(" | ");
    format!("| {system} | {context} | {cells} | {p50} |")
}

impl Outcome {
    fn print(&self) {
        println!("\n### {} ({} queries)\n\n{HEADER}", self.set, self.queries);
        for (system, measures) in baselines::of(&self.set) {
            println!("{}", line(system, "", measures, ""));
        }
        for s in &self.systems {
            println!("{}", line(s.mode, on(s.contextual), s.measures, &format!("{:.2}", s.p50)));
        }
        let failed: usize = self.systems.iter().map(|s| s.failed).sum();
        if failed > 0 {
            println!("\n{failed} queries failed.");
        }
    }

    fn of(&self, mode: &str, contextual: bool) -> QueryMeasures {
        let found = self.systems.iter().find(|s| s.mode == mode && s.contextual == contextual);
        found.map(|s| s.measures).unwrap_or_default()
    }

    fn baseline(&self, system: &str) -> Option<QueryMeasures> {
        baselines::of(&self.set).find(|(name, _)| *name == system).map(|(_, m)| m)
    }
}

fn on(contextual: bool) -> &'static str {
    if contextual { "on" } else { "off" }
}

/// The means over the sets with a vault, and whether the hybrid keeps its promises.
fn print_means(results: &[Outcome]) {
    let vaults: Vec<&Outcome> = results.iter().filter(|r| r.has_vault).collect();
    if vaults.is_empty() {
        return;
    }
    println!("\n### Mean over {} sets with a vault\n\n{HEADER}", vaults.len());
    let mut bm25 = None;
    for system in ["BM25", "MiniLM", "RRF", "cc"] {
        let known: Option<Vec<QueryMeasures>> = vaults.iter().map(|r| r.baseline(system)).collect();
        // A mean over fewer sets would not be comparable.
        if let Some(known) = known {
            let mean = QueryMeasures::mean(&known);
            if system == "BM25" {
                bm25 = Some(mean.ndcg_10);
            }
            println!("{}", line(system, "", mean, ""));
        }
    }
    let mean = |mode: &str, contextual: bool| {
        QueryMeasures::mean(&vaults.iter().map(|r| r.of(mode, contextual)).collect::<Vec<_>>())
    };
    for mode in MODES {
        for contextual in [false, true] {
            println!("{}", line(mode, on(contextual), mean(mode, contextual), ""));
        }
    }
    let hybrid = mean("hybrid", true).ndcg_10;
    let lanes = ["lexical", "dense"].into_iter().flat_map(|m| [false, true].map(|c| mean(m, c).ndcg_10));
    let best = lanes.fold(0.0, f64::max);
    println!(
        "\nHybrid with contexts, nDCG@10 {hybrid:.3}: {} the best single lane ({best:.3}).",
        compare(hybrid, best)
    );
    if let Some(bm25) = bm25 {
        println!("It is {} the BM25 baseline ({bm25:.3}).", compare(hybrid, bm25));
    }
    for result in &vaults {
        let ours = result.of("hybrid", true).ndcg_10;
        if let Some(bm25) = result.baseline("BM25").map(|m| m.ndcg_10).filter(|b| ours < b * 0.99) {
            println!("More than 1 % below BM25 on {}: {ours:.3} against {bm25:.3}.", result.set);
        }
    }
}

fn compare(a: f64, b: f64) -> &'static str {
    if a > b { "above" } else { "NOT above" }
}

fn to_csv(results: &[Outcome]) -> String {
    let mut out = "set,system,contextual,recall_5,recall_20,mrr_10,ndcg_10,p50_ms\n".to_owned();
    let mut row = |set: &str, system: &str, contextual: &str, m: QueryMeasures, p50: &str| {
        let cell = |x: f64| {
            if x.is_nan() { String::new() } else { format!("{x:.5}") }
        };
        let cells = [m.recall_5, m.recall_20, m.mrr_10, m.ndcg_10].map(cell).join(",");
        let _ = writeln!(out, "{set},{system},{contextual},{cells},{p50}");
    };
    for result in results {
        for (system, measures) in baselines::of(&result.set) {
            row(&result.set, system, "", measures, "");
        }
        for s in &result.systems {
            row(&result.set, s.mode, on(s.contextual), s.measures, &format!("{:.3}", s.p50));
        }
    }
    out
}
