//! What boosts are worth: each alone and at several weights, over one index per set, asked through the library.
//!
//! The index is built as the daemon builds it (see `arms.rs`). The queries of the sets do not ask for what is new, so
//! recency can only do harm here: it is told how much at worst, with days drawn by lot. Also prints how long the
//! graph takes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use index::embed::{Vector, builtin};
use index::search;
use index::search::{Boosts, Options, Parsed};
use index::{Graph, Index, NoteEntry, Said, Snapshot};
use note::VaultPath;
use provider::Embedder;
use serde_json::{Value, json};

use crate::arms::{Arm, build, read};
use crate::common::rng::Rng;
use crate::set::Set;
use index::eval::QueryMeasures;

const WEIGHTS: [f32; 4] = [0.05, 0.1, 0.2, 0.4];

/// Nothing boosted.
fn none() -> Boosts {
    Boosts {
        graph_weight: 0.0,
        link_weight: 0.0,
        recency_weight: 0.0,
        type_weights: std::collections::BTreeMap::new(),
        ..Boosts::default()
    }
}

/// Those that know of the links; without them only the notes that a query names gain by `link_weight`.
fn settings(graph: &Arc<Graph>) -> Vec<(String, Boosts)> {
    let mut all = vec![("none".to_owned(), none())];
    for weight in WEIGHTS {
        all.push((format!("named {weight}"), Boosts { link_weight: weight, ..none() }));
    }
    let none = || Boosts { graph: Some(graph.clone()), ..none() };
    for weight in WEIGHTS {
        all.push((format!("graph {weight}"), Boosts { graph_weight: weight, ..none() }));
    }
    for weight in WEIGHTS {
        all.push((format!("links {weight}"), Boosts { link_weight: weight, ..none() }));
    }
    all.push(("default".to_owned(), Boosts { graph: Some(graph.clone()), ..Boosts::default() }));
    all
}

/// Prints the table for each set.
pub(crate) fn run(dirs: &[PathBuf]) -> Result<()> {
    time()?;
    for dir in dirs {
        one(dir)?;
    }
    Ok(())
}

/// A set's query, ready to be asked many times.
struct Asked<'a> {
    parsed: Parsed,
    vector: Vector,
    judged: &'a index::eval::Relevance,
}

fn one(dir: &Path) -> Result<()> {
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let vault = home.path().join("vault");
    let set = Set::load(dir, &vault)?;
    let mut pages = read(&vault, &json!([]))?;
    let snapshot = build(&home.path().join("index"), &pages, Arm::Template)?;
    let began = Instant::now();
    let mut graph = snapshot.graph(&mut || true).context("nobody stops it")?;
    let built = began.elapsed();
    graph.measure(usize::MAX, &mut || true);
    let (took, missing) = (began.elapsed(), graph.unresolved().len());
    println!(
        "\n### {} ({} notes, {} links, {missing} unresolved targets; graph {built:.1?}, with measures {took:.1?})\n",
        set.name,
        graph.len(),
        graph.link_count()
    );
    let graph = Arc::new(graph);
    let today = jiff::Zoned::now().date();
    let queries: Vec<Asked<'_>> = set
        .queries()
        .iter()
        .map(|query| {
            let parsed = search::parse(&query.text, today)?;
            Ok(Asked { vector: builtin::model().embed(&parsed.text()), parsed, judged: &query.judged })
        })
        .collect::<Result<_>>()?;
    let days = by_lot(today, pages.len())?;
    pages.iter_mut().zip(days).for_each(|(page, day)| page.note.days.about = Some(day));
    let dated = build(&home.path().join("dated"), &pages, Arm::Template)?;
    let recency = [0.05, 0.1, 0.15, 0.2].map(|weight| {
        let boosts = Boosts { recency_weight: weight, ..none() };
        (format!("recency {weight}, days by lot"), boosts, &dated)
    });
    let settings = settings(&graph).into_iter().map(|(name, boosts)| (name, boosts, &snapshot));
    println!("| boosts | R@5 | R@20 | MRR@10 | nDCG@10 | better | worse |\n|---|---|---|---|---|---|---|");
    let mut plain: Option<Vec<f64>> = None;
    for (name, boosts, snapshot) in settings.chain(recency) {
        let boosts = Boosts { today: Some(today), ..boosts };
        let measures = ask(&set, snapshot, &queries, boosts)?;
        let each: Vec<f64> = measures.iter().map(|m| m.ndcg_10).collect();
        let plain = plain.get_or_insert_with(|| each.clone());
        let better = each.iter().zip(plain.iter()).filter(|(a, b)| a > b).count();
        let worse = each.iter().zip(plain.iter()).filter(|(a, b)| a < b).count();
        let m = QueryMeasures::mean(&measures);
        println!(
            "| {name} | {:.4} | {:.4} | {:.4} | {:.4} | {better} | {worse} |",
            m.recall_5, m.recall_20, m.mrr_10, m.ndcg_10
        );
    }
    Ok(())
}

fn ask(set: &Set, snapshot: &Snapshot, queries: &[Asked<'_>], boosts: Boosts) -> Result<Vec<QueryMeasures>> {
    let options = Options { limit: 100, per_note: set.per_note(), window_chars: 0, boosts, ..Options::default() };
    let mut measures = Vec::new();
    for Asked { parsed, vector, judged } in queries {
        let answer = search::search(snapshot, "notes", parsed, Some(vector), &options)?;
        let hits = answer.hits.iter().map(serde_json::to_value).collect::<Result<Vec<Value>, _>>()?;
        measures.push(QueryMeasures::of(&set.rank(&hits), judged));
    }
    Ok(measures)
}

/// Days of the last three years, the newer the likelier, that have nothing to do with the notes.
fn by_lot(today: jiff::civil::Date, n: usize) -> Result<Vec<jiff::civil::Date>> {
    let mut rng = Rng::new(2);
    let mut day = || {
        let age = 1000f64.powf(rng.unit()) as i64;
        Ok(today.checked_sub(jiff::Span::new().days(age))?)
    };
    (0..n).map(|_| day()).collect()
}

/// How long a graph of 10,000 notes takes, of which each links to six others by title and one target is missing.
fn time() -> Result<()> {
    const NOTES: u32 = 10_000;
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let mut index = Index::open(home.path(), Embedder::Builtin.dimensions())?;
    let mut rng = Rng::new(1);
    for no in 1..=NOTES {
        // The lower the number, the more is linked to it, as in a vault that has grown.
        let mut link = || {
            let most = 1 + rng.below(NOTES as usize);
            format!("Note about {}", 1 + rng.below(most))
        };
        let mut links: Vec<String> = (0..6).map(|_| link()).collect();
        links.push("Still to be written".to_owned());
        let path = VaultPath::parse(&format!("{}/{}/index.md", no % 40, no)).context("a path")?;
        let note = NoteEntry {
            texts: Said { title: &format!("Note about {no}"), links: &links, ..Said::default() }.pack(),
            ..NoteEntry::new(no, 1, path)
        };
        index.put(note, Vec::new())?;
    }
    let snapshot = index.publish(1)?;
    let mut graph = Graph::default();
    let mut built = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        graph = snapshot.graph(&mut || true).context("nobody stops it")?;
        built = built.min(began.elapsed());
    }
    // The last is what the daemon allows itself.
    for sources in [0, 500, 3846] {
        let mut graph = graph.clone();
        let began = Instant::now();
        graph.measure(sources, &mut || true);
        let (took, sample) = (began.elapsed(), graph.sample());
        println!(
            "{} notes, {} links: graph {built:.1?}, measures {took:.1?} ({sample:?})",
            graph.len(),
            graph.link_count()
        );
    }
    Ok(())
}
