//! Three nodes that keep everything twice. One after the other is killed, or hangs, while members search and a keeper
//! writes, and is brought back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use index::embed::{Vector, builtin};
use provider::rest::Method;
use serde_json::{Value, json};
use team::{Asked, Collection, Done, Keeper, Reader, Source as _};

use super::Arguments;
use super::common::percentile;
use super::common::rng::Rng;
use super::node::{Node, Peer, free_port};
use super::source::{EMBEDDER, Vault};

const NAME: &str = "handbook";
const NODES: usize = 3;
/// Members that search all the time.
const CLIENTS: usize = 4;
/// Notes that are saved at a time while a node is away.
const SAVED: usize = 20;
/// How long all is well before and after, and how long a node is away.
const CALM: Duration = Duration::from_secs(8);
const AWAY: Duration = Duration::from_secs(15);
/// How long a node may take to have again what it missed.
const RECOVERY: Duration = Duration::from_secs(300);

pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let notes = arguments.number("--notes", 2_000)?;
    let deadline = Duration::from_millis(arguments.number("--deadline-ms", 1_000)? as u64);
    let hangs = arguments.has("--hang");
    let program = arguments.program()?;
    let folder = arguments.folder()?;
    let vault = Vault::generate(notes, 1);
    let settings = [("QDRANT__STORAGE__COLLECTION__REPLICATION_FACTOR", "2")];
    let first = free_port()?;
    let mut nodes = Vec::new();
    for index in 0..NODES {
        let peer = match index {
            0 => Peer { port: first, first: None },
            _ => Peer { port: free_port()?, first: Some(first) },
        };
        nodes.push(Node::start(&program, &folder.path().join(index.to_string()), &settings, Some(peer)).await?);
    }
    until("the nodes know each other", async || {
        let cluster = nodes[NODES - 1].ask(Method::GET, "/cluster", Value::Null).await?;
        Ok(cluster["peers"].as_object().map_or(0, serde_json::Map::len) == NODES)
    })
    .await?;
    let collection = Collection::replicated(nodes[0].server()?, vec![nodes[1].server()?, nodes[2].server()?], NAME);
    vault.init(&collection).await?;
    let mut keeper = vault.keeper(&collection);
    let began = Instant::now();
    while let Done::Waits(wait, failure) = keeper.turn().await {
        eprintln!("the keeper waits {} s: {failure}", wait.as_secs());
        ensure!(failure.kind.may_pass(), "the keeper does not get through: {failure}");
        tokio::time::sleep(wait).await;
    }
    let took = began.elapsed().as_secs_f64();
    println!("| what | |\n|---|---|");
    row("notes; chunks", format!("{notes}; {}", count(&collection).await?));
    row("published in", format!("{took:.1} s, {:.0} chunks a second", count(&collection).await? as f64 / took));
    let replicas = states(&nodes[0]).await?;
    row("shards on the first node, and on others from there", replicas.join(", "));

    let told = Arc::new(Told::default());
    let members: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let collection =
                Collection::replicated(nodes[0].server()?, vec![nodes[1].server()?, nodes[2].server()?], NAME);
            let queries = queries_of(&vault, client as u64);
            anyhow::Ok(tokio::spawn(search(collection, queries, deadline, told.clone())))
        })
        .collect::<Result<_>>()?;
    let keeping = tokio::spawn(keep(keeper, vault.clone(), told.clone()));
    tokio::time::sleep(CALM).await;
    let mut recoveries = Vec::new();
    for (index, node) in (0..NODES).map(|index| (index, format!("{:.0}", index + 1))) {
        told.away.store(index + 1, Ordering::Relaxed);
        eprintln!("node {node} is {}", if hangs { "held still" } else { "killed" });
        if hangs {
            nodes[index].hold()?;
        } else {
            nodes[index].kill()?;
        }
        tokio::time::sleep(AWAY).await;
        let began = Instant::now();
        if hangs {
            nodes[index].go_on().await?;
        } else {
            nodes[index].start_again().await?;
        }
        until("every replica is active", async || {
            for node in &nodes {
                let states = states(node).await?;
                if states.is_empty() || states.iter().any(|state| !state.ends_with("Active")) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await?;
        recoveries.push(format!("{:.1}", began.elapsed().as_secs_f64()));
        told.away.store(0, Ordering::Relaxed);
        eprintln!("node {node} is back");
        tokio::time::sleep(CALM).await;
    }
    told.over.store(true, Ordering::Relaxed);
    let (mut calm, mut troubled) = (Vec::new(), Vec::new());
    for member in members {
        let (while_calm, while_away) = member.await??;
        calm.extend(while_calm);
        troubled.extend(while_away);
    }
    let (mut keeper, turns) = keeping.await??;
    let away = if hangs { "each held still for" } else { "each killed for" };
    row(
        &format!("{away}; back with all it missed after"),
        format!("{} s; {} s", AWAY.as_secs(), recoveries.join(", ")),
    );
    for (what, waits) in [("all nodes there", &calm), ("one away, or coming back", &troubled)] {
        let (p50, p99) = (percentile(waits, 50.0), percentile(waits, 99.0));
        let longest = percentile(waits, 100.0);
        row(&format!("searches, {what}"), {
            format!("{}: p50 {p50:.0}, p99 {p99:.0}, longest {longest:.0} ms", waits.len())
        });
    }
    let number = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    row("failed within its deadline and answered when asked again", number(&told.again));
    row("failed twice", number(&told.failed));
    row("answered with nothing found", number(&told.empty));
    row(
        "the keeper: turns of 20 saved notes; those that had to begin anew",
        format!("{turns}; {}", number(&told.anew)),
    );
    compare(&vault, &mut keeper, &nodes).await
}

/// What happened, as members and keeper saw it.
#[derive(Default)]
struct Told {
    over: AtomicBool,
    /// Which node is away, from 1.
    away: AtomicUsize,
    again: AtomicUsize,
    failed: AtomicUsize,
    empty: AtomicUsize,
    anew: AtomicUsize,
}

fn row(what: &str, value: impl std::fmt::Display) {
    println!("| {what} | {value} |");
}

async fn until(what: &str, is_so: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < RECOVERY {
        if is_so().await.unwrap_or(false) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    bail!("not within {} s: {what}", RECOVERY.as_secs())
}

/// The states of a collection's replicas as a node knows them.
async fn states(node: &Node) -> Result<Vec<String>> {
    let known = node.ask(Method::GET, &format!("/collections/{NAME}/cluster"), Value::Null).await?;
    let replicas = |name: &str| known[name].as_array().cloned().unwrap_or_default();
    let state = |replica: &Value| format!("{} {}", replica["shard_id"], replica["state"].as_str().unwrap_or("?"));
    Ok(replicas("local_shards").iter().chain(&replicas("remote_shards")).map(state).collect())
}

async fn count(collection: &Collection) -> Result<u64> {
    Ok(collection.count(&json!({"must": [{"key": "situated", "match": {"value": "chunk"}}]})).await?)
}

fn queries_of(vault: &Vault, seed: u64) -> Vec<(String, Vector)> {
    let (paths, mut rng) = (vault.paths(), Rng::new(seed));
    let phrase = |_| {
        let words = vault.phrase(&paths, &mut rng);
        let vector = builtin::model().embed(&words);
        (words, vector)
    };
    (0..200).map(phrase).collect()
}

/// Searches until it is over; waits in milliseconds, those while all was well and the others.
async fn search(
    collection: Collection,
    queries: Vec<(String, Vector)>,
    deadline: Duration,
    told: Arc<Told>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let reader = Reader::new(collection.clone());
    let (mut calm, mut troubled) = (Vec::new(), Vec::new());
    for (words, vector) in queries.into_iter().cycle() {
        if told.over.load(Ordering::Relaxed) {
            break;
        }
        let vector = Some((EMBEDDER.to_owned(), vector));
        let asked = Asked { words, contextual: true, vector, depth: 60, ..Asked::default() };
        let is_away = told.away.load(Ordering::Relaxed) > 0;
        let began = Instant::now();
        let answer = match reader.search(&asked, deadline).await {
            Ok(answer) => Some(answer),
            Err(failure) => {
                eprintln!("a search failed: {failure}");
                let again = reader.search(&asked, deadline).await;
                let counted = if again.is_ok() { &told.again } else { &told.failed };
                counted.fetch_add(1, Ordering::Relaxed);
                again.inspect_err(|failure| eprintln!("and failed again: {failure}")).ok()
            }
        };
        let wait = began.elapsed().as_secs_f64() * 1e3;
        if is_away { &mut troubled } else { &mut calm }.push(wait);
        // Every query stands in some note, which is never taken away.
        if answer.is_some_and(|answer| answer.found.is_empty()) {
            told.empty.fetch_add(1, Ordering::Relaxed);
            let seen = collection.vaults().await.map(|all| all.iter().map(|v| v.revision).collect::<Vec<_>>());
            let again = reader.search(&asked, deadline).await.map(|answer| answer.found.len());
            let (host, is_away) = (collection.host(), told.away.load(Ordering::Relaxed));
            eprintln!(
                "nothing found for `{}` at {host} ({is_away} away), revision {seen:?}; again: {again:?}",
                asked.words
            );
        }
    }
    Ok((calm, troubled))
}

/// Saves notes and publishes them until it is over; the number of turns.
async fn keep(mut keeper: Keeper, vault: Arc<Vault>, told: Arc<Told>) -> Result<(Keeper, usize)> {
    let (paths, mut rng, mut turns) = (vault.paths(), Rng::new(99), 0);
    while !told.over.load(Ordering::Relaxed) {
        for _ in 0..SAVED {
            let path = rng.pick(&paths).clone();
            let text = vault.text(&path).context("a note is gone")?;
            vault.put(&path, &format!("{text}\n\n## Added {turns}\n\nA line that was added in turn {turns}.\n"));
        }
        loop {
            match keeper.turn().await {
                Done::Rests => break,
                Done::Waits(wait, failure) => {
                    eprintln!("the keeper waits {} s: {failure}", wait.as_secs());
                    told.anew.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(wait).await;
                }
            }
        }
        turns += 1;
    }
    Ok((keeper, turns))
}

/// Whether everything is there, once, on all nodes.
async fn compare(vault: &Arc<Vault>, keeper: &mut Keeper, nodes: &[Node]) -> Result<()> {
    let found = keeper.verify().await?;
    let differences = found.differences;
    row("differences between the collection and the vault", format!("{differences} of {} notes", found.notes));
    if differences > 0 {
        eprintln!("{found:?}");
    }
    let documents = vault.paths().into_iter().map(|path| vault.document(&path));
    let chunks: usize = documents.filter_map(|document| Some(document.ok()??.chunks.len())).sum();
    let mut counts = Vec::new();
    for node in nodes {
        counts.push(count(&Collection::new(node.server()?, NAME)).await?.to_string());
    }
    row("chunks of the vault; as each node counts them", format!("{chunks}; {}", counts.join(", ")));
    Ok(())
}
