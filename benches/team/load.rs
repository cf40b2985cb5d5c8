//! One server, many notes: filling it, searching it, and what its quantised vectors miss.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use context::settings::KeyConfig;
use index::embed::{Vector, builtin};
use provider::rest::{Method, RestServer};
use serde_json::{Value, json};
use team::{Asked, Collection, Condition, Described, Done, Reader, Source as _};

use super::Arguments;
use super::common::daemon::Usage;
use super::common::percentile;
use super::common::rng::Rng;
use super::node::Node;
use super::source::{EMBEDDER, Vault};

const NAME: &str = "handbook";

/// Chunks that a search asks of each lane, and that are shown.
const DEPTH: usize = 60;
const SHOWN: usize = 10;

/// How long the bench waits for an answer: longer than a member does.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the server is asked whether it has put its collection in order.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let (notes, queries) = (arguments.number("--notes", 10_000)?, arguments.number("--queries", 200)?);
    let program = arguments.program()?;
    let folder = arguments.folder()?;
    let vault = Vault::generate(notes, 1);
    eprintln!("{notes} notes, {:.1} MB", vault.bytes() as f64 / 1e6);
    let node = Node::start(&program, folder.path(), &[], None).await?;
    let collection = Collection::new(node.server()?, NAME);
    vault.init(&collection).await?;
    if arguments.has("--links") {
        let (links, kept) = (arguments.number("--links", 16)?, arguments.number("--construct", 100)?);
        let graph = json!({"hnsw_config": {"m": links, "ef_construct": kept}});
        node.patch(&format!("/collections/{NAME}"), &graph)?;
    }
    println!("| what | |\n|---|---|");
    row("notes, MB of text", format!("{notes}, {:.1}", vault.bytes() as f64 / 1e6));
    if arguments.has("--graph-from-kb") {
        // Below so many the server makes no graph of a segment.
        let kilobytes = arguments.number("--graph-from-kb", 10_000)?;
        let optimizers = json!({"optimizers_config": {"indexing_threshold": kilobytes}});
        node.patch(&format!("/collections/{NAME}"), &optimizers)?;
    }
    let most = Duration::from_secs(60 * arguments.number("--minutes", 24 * 60)? as u64);
    fill(&vault, &node, &collection, most).await?;
    settle(&node, "the same, until the collection is in order").await?;
    standing(&node).await?;
    let asked = queries_of(&vault, queries);
    search(&vault, &collection, &asked).await?;
    recall(&node, &asked, "one byte per value").await?;
    if arguments.has("--bits") {
        let bits = json!({"quantization_config": {"binary": {"always_ram": true}}});
        node.patch(&format!("/collections/{NAME}"), &bits)?;
        let described = collection.described().await?.context("it was made with one")?;
        collection.describe(&Described { bits: true, ..described }).await?;
        settle(&node, "bits in the place of bytes, until in order").await?;
        standing(&node).await?;
        timed("hybrid, with bits", &collection, &asked, None, 1).await?;
        recall(&node, &asked, "one bit per value").await?;
    }
    Ok(())
}

/// Searches a server that was filled by `load`, as it is.
pub(crate) async fn ask(arguments: &Arguments, url: &str) -> Result<()> {
    let (notes, queries) = (arguments.number("--notes", 10_000)?, arguments.number("--queries", 200)?);
    let vault = Vault::generate(notes, 1);
    let server = RestServer::new(url, "api-key", &KeyConfig::default(), None).map_err(anyhow::Error::msg)?;
    search(&vault, &Collection::new(server, NAME), &queries_of(&vault, queries)).await
}

fn row(what: &str, value: impl std::fmt::Display) {
    println!("| {what} | {value} |");
}

/// Publishes the vault, or what of it is published within `most`.
async fn fill(vault: &Arc<Vault>, node: &Node, collection: &Collection, most: Duration) -> Result<()> {
    let own = |usage: Option<Usage>| usage.map_or(0.0, |usage| usage.cpu);
    let before = (own(Usage::of(std::process::id())), node.usage()?.cpu);
    let began = Instant::now();
    let mut keeper = vault.keeper(collection);
    let watched = collection.clone();
    let watch = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(30)).await;
            if let Ok(Some(info)) = watched.inspect().await {
                eprintln!("{:.0} s: {} points", began.elapsed().as_secs_f64(), info.points);
            }
        }
    });
    let mut anew = 0;
    let until = tokio::time::Instant::now() + most;
    while let Ok(Done::Waits(wait, failure)) = tokio::time::timeout_at(until, keeper.turn()).await {
        eprintln!("the keeper waits {} s: {failure}", wait.as_secs());
        ensure!(failure.kind.may_pass(), "the keeper does not get through: {failure}");
        anew += 1;
        tokio::time::sleep(wait).await;
    }
    watch.abort();
    let (took, chunks) = (began.elapsed().as_secs_f64(), count(collection, &[]).await?);
    let after = (own(Usage::of(std::process::id())), node.usage()?.cpu);
    row("chunks", chunks);
    let rate = chunks as f64 / took;
    row("published in, chunks per second; begun anew", format!("{took:.1} s, {rate:.0}; {anew} times"));
    row(
        "processor time of the keeper; of the server",
        format!("{:.1}; {:.1} s", after.0 - before.0, after.1 - before.1),
    );
    Ok(())
}

/// Chunks that meet these conditions, as a search asks for them.
async fn count(collection: &Collection, conditions: &[Value]) -> Result<u64> {
    let chunk = json!({"key": "situated", "match": {"value": "chunk"}});
    let must = [&[chunk], conditions].concat();
    Ok(collection.count(&json!({"must": must})).await?)
}

/// Waits until the server has nothing more to do with the collection.
async fn settle(node: &Node, what: &str) -> Result<()> {
    let (began, before) = (Instant::now(), node.usage()?.cpu);
    let mut calm = 0;
    // Between two pieces of such work it says that there is none.
    while calm < 6 {
        tokio::time::sleep(LOOK).await;
        let info = node.ask(Method::GET, &format!("/collections/{NAME}"), Value::Null).await?;
        calm = if info["status"] == "green" { calm + 1 } else { 0 };
    }
    let took = (began.elapsed().saturating_sub(LOOK * calm)).as_secs_f64();
    row(what, format!("{took:.1} s more, {:.1} s of the server's processor time", node.usage()?.cpu - before));
    Ok(())
}

/// Memory and disk.
async fn standing(node: &Node) -> Result<()> {
    let usage = node.usage()?;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    row("the server's memory; that no file backs", format!("{:.0}; {:.0} MB", mb(usage.rss), mb(usage.anonymous)));
    row("its files", format!("{:.0} MB", mb(node.disk()?)));
    let info = node.ask(Method::GET, &format!("/collections/{NAME}"), Value::Null).await?;
    let part = |name: &str| info[name].as_u64().unwrap_or(0);
    row("points; vectors in an index; segments", {
        format!("{}; {}; {}", part("points_count"), part("indexed_vectors_count"), part("segments_count"))
    });
    Ok(())
}

/// Queries, with their vectors.
fn queries_of(vault: &Vault, count: usize) -> Vec<(String, Vector)> {
    let (paths, mut rng) = (vault.paths(), Rng::new(7));
    let phrase = |_| {
        let words = vault.phrase(&paths, &mut rng);
        let vector = builtin::model().embed(&words);
        (words, vector)
    };
    (0..count).map(phrase).collect()
}

/// Searches as members make them, without and with conditions.
async fn search(vault: &Vault, collection: &Collection, queries: &[(String, Vector)]) -> Result<()> {
    // A tag that is somewhere in the middle.
    let mut tags: BTreeMap<String, usize> = BTreeMap::new();
    for path in vault.paths().iter().take(500) {
        let Ok(Some(document)) = vault.document(path) else { continue };
        document.note.tags().for_each(|tag| *tags.entry(tag.to_lowercase()).or_default() += 1);
    }
    let mut by_count: Vec<(usize, String)> = tags.into_iter().map(|(tag, count)| (count, tag)).collect();
    by_count.sort();
    let tag = by_count.get(by_count.len() / 2).map(|(_, tag)| tag.clone()).unwrap_or_default();
    let conditions = [
        ("no condition", None, json!({"must": []})),
        ("a tag", Some(Condition::Tags(vec![tag.clone()])), json!({"key": "tags", "match": {"value": tag}})),
        (
            "a folder",
            Some(Condition::Paths(vec!["projects".to_owned()])),
            json!({"key": "folders", "match": {"value": "projects"}}),
        ),
        (
            "a year",
            Some(Condition::Days(Some(20_050_101), Some(20_060_101))),
            json!({"key": "day", "range": {"gte": 20_050_101, "lt": 20_060_101}}),
        ),
    ];
    for (what, condition, filter) in conditions {
        let meets =
            if condition.is_some() { count(collection, &[filter]).await? } else { count(collection, &[]).await? };
        for clients in [1, 4] {
            let what = format!("hybrid, {what} ({meets} chunks), {clients} at a time");
            timed(&what, collection, queries, condition.clone(), clients).await?;
        }
    }
    Ok(())
}

/// Asks all queries, by so many clients in turn, and says how long they waited.
async fn timed(
    what: &str,
    collection: &Collection,
    queries: &[(String, Vector)],
    condition: Option<Condition>,
    clients: usize,
) -> Result<()> {
    let reader = Reader::new(collection.clone());
    // Who asks for the first time asks what the collection is, too.
    reader.search(&asked(&queries[0], condition.as_ref()), PATIENCE).await?;
    let began = Instant::now();
    let ask = |client: usize| {
        let (reader, condition) = (reader.clone(), condition.clone());
        let own: Vec<(String, Vector)> = queries.iter().skip(client).step_by(clients).cloned().collect();
        tokio::spawn(async move {
            let (mut waits, mut found) = (Vec::new(), 0);
            for query in &own {
                let began = Instant::now();
                found += reader.search(&asked(query, condition.as_ref()), PATIENCE).await?.found.len();
                waits.push(began.elapsed().as_secs_f64() * 1e3);
            }
            anyhow::Ok((waits, found))
        })
    };
    let asking: Vec<_> = (0..clients).map(ask).collect();
    let (mut waits, mut found) = (Vec::new(), 0);
    for asking in asking {
        let (some, of_some) = asking.await??;
        waits.extend(some);
        found += of_some;
    }
    let rate = queries.len() as f64 / began.elapsed().as_secs_f64();
    let (p50, p99) = (percentile(&waits, 50.0), percentile(&waits, 99.0));
    let each = found as f64 / queries.len() as f64;
    row(what, format!("p50 {p50:.0}, p99 {p99:.0} ms; {rate:.1} a second; {each:.0} chunks come"));
    Ok(())
}

fn asked((words, vector): &(String, Vector), condition: Option<&Condition>) -> Asked {
    Asked {
        words: words.clone(),
        contextual: true,
        expansion: 0.5,
        vector: Some((EMBEDDER.to_owned(), vector.clone())),
        conditions: condition.cloned().into_iter().collect(),
        depth: DEPTH,
        without: Vec::new(),
    }
}

/// How many of the nearest chunks the dense lane finds, by what it looks at first.
async fn recall(node: &Node, queries: &[(String, Vector)], what: &str) -> Result<()> {
    let members =
        |seen: u64, times: f64| json!({"hnsw_ef": seen, "quantization": {"rescore": true, "oversampling": times}});
    let ways = [
        ("not quantised", json!({"quantization": {"ignore": true}})),
        ("twice as many, then exactly", json!({"quantization": {"rescore": true, "oversampling": 2.0}})),
        ("1,024 in view", members(1024, 2.0)),
        ("2,048 in view", members(2048, 2.0)),
        ("1,024 in view, 4 times as many, then exactly", members(1024, 4.0)),
        ("1,024 in view, 16 times as many, then exactly", members(1024, 16.0)),
        ("1,024 in view, 50 times as many, then exactly", members(1024, 50.0)),
        ("1,024 in view, quantised alone", json!({"hnsw_ef": 1024, "quantization": {"rescore": false}})),
    ];
    let mut exact = Vec::new();
    let began = Instant::now();
    for (_, vector) in queries {
        exact.push(nearest(node, vector, json!({"exact": true})).await?);
    }
    let each = began.elapsed().as_secs_f64() * 1e3 / queries.len() as f64;
    row("the dense lane exactly, on the mean", format!("{each:.0} ms"));
    for (way, params) in ways {
        let (mut of_shown, mut of_all, began) = (0.0, 0.0, Instant::now());
        for ((_, vector), exact) in queries.iter().zip(&exact) {
            let found = nearest(node, vector, params.clone()).await?;
            of_shown += share(&found, exact, SHOWN);
            of_all += share(&found, exact, DEPTH);
        }
        let count = queries.len() as f64;
        let each = began.elapsed().as_secs_f64() * 1e3 / count;
        row(&format!("{what}, {way}: of the nearest {SHOWN}; of {DEPTH}"), {
            format!("{:.4}; {:.4}; {each:.0} ms", of_shown / count, of_all / count)
        });
    }
    Ok(())
}

/// Of the first `most` of `exact` the share that is among the first `most` found.
fn share(found: &[String], exact: &[String], most: usize) -> f64 {
    let found: HashSet<&String> = found.iter().take(most).collect();
    let exact: Vec<&String> = exact.iter().take(most).collect();
    exact.iter().filter(|id| found.contains(*id)).count() as f64 / exact.len().max(1) as f64
}

/// Ids of the nearest chunks, nearest first.
async fn nearest(node: &Node, vector: &Vector, params: Value) -> Result<Vec<String>> {
    let values: Vec<f32> = vector.values.iter().map(|value| vector.scale * f32::from(*value)).collect();
    let body = json!({"query": [values], "using": "dense", "limit": DEPTH, "params": params});
    let answer = node.ask(Method::POST, &format!("/collections/{NAME}/points/query"), body).await?;
    let ids = answer["points"].as_array().into_iter().flatten().filter_map(|point| point["id"].as_str());
    Ok(ids.map(str::to_owned).collect())
}
