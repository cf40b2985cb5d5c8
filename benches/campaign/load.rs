//! More asked than the daemon can do: what it answers then, how fast, what it says of the rest, and whether what is cheap
//! still comes at once.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::Asked;
use crate::common::daemon::{Client, Daemon, Usage};
use crate::common::{self, percentile, rng::Rng};

/// Connections that offer together what is too much; a daemon takes 64 unless it is configured.
const CONNECTIONS: usize = 50;

/// What is offered, as a multiple of what was measured as capacity.
const TIMES: f64 = 5.0;

/// What one phase saw of one kind of call.
#[derive(Default)]
struct Seen {
    /// Milliseconds of what was answered.
    answered: Vec<f64>,
    /// Milliseconds of what was told `busy`.
    busy: Vec<f64>,
    /// Other errors, and what was never answered.
    failed: usize,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.answered.extend(other.answered);
        self.busy.extend(other.busy);
        self.failed += other.failed;
    }
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let (notes, length) = (asked.number("--notes", 2000)? as usize, asked.number("--seconds", 10)?);
    let length = Duration::from_secs(length);
    let dir = tempfile::Builder::new().prefix("situated-campaign").tempdir()?;
    let (vault, home) = (dir.path().join("vault"), dir.path().join("home"));
    common::vault::generate(&vault, notes, asked.seed)?;
    let mut daemon = Daemon::start(&asked.program(), &home, &vault)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    let queries = Arc::new(queries(&vault, asked.seed)?);
    let cores = std::thread::available_parallelism().map_or(2, usize::from);

    let socket = daemon.socket().to_owned();
    // The first answers fill caches.
    closed_loop(&socket, &queries, cores, length / 4)?;
    let alone = closed_loop(&socket, &queries, 1, length / 2)?;
    let full = closed_loop(&socket, &queries, cores, length)?;
    let capacity = full.answered.len() as f64 / length.as_secs_f64();
    let before = Usage::of(daemon.pid()).map_or(0, |usage| usage.rss);

    let over = AtomicBool::new(false);
    let most = Mutex::new(before);
    let mut cheap = Seen::default();
    let mut loaded = Seen::default();
    std::thread::scope(|scope| -> Result<()> {
        let watched = scope.spawn(|| {
            cheap_calls(&socket, &over, || {
                let now = Usage::of(daemon.pid()).map_or(0, |usage| usage.rss);
                let mut most = most.lock().expect("no holder panics");
                *most = now.max(*most);
            })
        });
        let offered = open_loop(&socket, &queries, capacity * TIMES, length);
        over.store(true, Ordering::Relaxed);
        cheap = watched.join().expect("it does not panic")?;
        loaded = offered?;
        Ok(())
    })?;
    let most = most.into_inner().expect("no holder panics");
    let again = closed_loop(&socket, &queries, 1, length / 2)?;
    let after = Usage::of(daemon.pid()).map_or(0, |usage| usage.rss);

    let goodput = loaded.answered.len() as f64 / length.as_secs_f64();
    let p = |seen: &[f64], p| percentile(seen, p);
    println!("{notes} notes, seed {}, {cores} cores, {CONNECTIONS} connections, {} s\n", asked.seed, length.as_secs());
    println!("| what | |\n|---|---|");
    println!("| one at a time: p50, p99 | {:.1}, {:.1} ms |", p(&alone.answered, 50.0), p(&alone.answered, 99.0));
    println!(
        "| capacity, {cores} at a time: a second; p50, p99 | {capacity:.0}; {:.1}, {:.1} ms |",
        p(&full.answered, 50.0),
        p(&full.answered, 99.0)
    );
    println!("| offered {TIMES} × as much: answered a second | {goodput:.0} ({:.0} %) |", 100.0 * goodput / capacity);
    println!(
        "| answered: p50, p99, longest | {:.1}, {:.1}, {:.1} ms |",
        p(&loaded.answered, 50.0),
        p(&loaded.answered, 99.0),
        p(&loaded.answered, 100.0)
    );
    println!(
        "| told `busy` a second; p50, p99 | {:.0}; {:.1}, {:.1} ms |",
        loaded.busy.len() as f64 / length.as_secs_f64(),
        p(&loaded.busy, 50.0),
        p(&loaded.busy, 99.0)
    );
    println!("| failed some other way, or unanswered | {} |", loaded.failed);
    println!(
        "| `ping`, `status`, `get` meanwhile: p50, p99; not answered | {:.1}, {:.1} ms; {} |",
        p(&cheap.answered, 50.0),
        p(&cheap.answered, 99.0),
        cheap.failed + cheap.busy.len()
    );
    println!(
        "| one at a time afterwards: p50, p99 | {:.1}, {:.1} ms |",
        p(&again.answered, 50.0),
        p(&again.answered, 99.0)
    );
    println!(
        "| resident before, most, after | {:.0}, {:.0}, {:.0} MB |",
        before as f64 / 1e6,
        most as f64 / 1e6,
        after as f64 / 1e6
    );
    Ok(())
}

/// Queries of three words of one note each.
fn queries(vault: &Path, seed: u64) -> Result<Vec<String>> {
    let (notes, mut rng) = (common::notes(vault)?, Rng::new(seed));
    let mut queries = Vec::new();
    while queries.len() < 500 {
        let text = std::fs::read_to_string(rng.pick(&notes))?;
        let words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 3).collect();
        if words.len() > 3 {
            queries.push((0..3).map(|_| *rng.pick(&words)).collect::<Vec<_>>().join(" "));
        }
    }
    Ok(queries)
}

/// So many clients ask, each again as soon as it is answered.
fn closed_loop(socket: &Path, queries: &Arc<Vec<String>>, clients: usize, length: Duration) -> Result<Seen> {
    let until = Instant::now() + length;
    let threads: Vec<_> = (0..clients)
        .map(|n| {
            let (mut client, queries) = (Client::connect(socket)?, Arc::clone(queries));
            Ok(std::thread::spawn(move || {
                let mut seen = Seen::default();
                for query in queries.iter().cycle().skip(n * 37) {
                    if Instant::now() >= until {
                        break;
                    }
                    match client.timed("search", &json!({"query": query})) {
                        Ok((took, _)) => seen.answered.push(took),
                        Err(_) => seen.failed += 1,
                    }
                }
                seen
            }))
        })
        .collect::<Result<_>>()?;
    let mut all = Seen::default();
    threads.into_iter().for_each(|thread| all.add(thread.join().expect("it does not panic")));
    Ok(all)
}

/// Asks `rate` times a second, whatever is answered.
fn open_loop(socket: &Path, queries: &Arc<Vec<String>>, rate: f64, length: Duration) -> Result<Seen> {
    let start = Instant::now();
    let threads: Vec<_> = (0..CONNECTIONS)
        .map(|n| {
            let stream = UnixStream::connect(socket)?;
            let queries = Arc::clone(queries);
            Ok(std::thread::spawn(move || connection(&stream, &queries, n, rate / CONNECTIONS as f64, start, length)))
        })
        .collect::<Result<_>>()?;
    let mut all = Seen::default();
    for thread in threads {
        all.add(thread.join().expect("it does not panic")?);
    }
    Ok(all)
}

/// One connection of [`open_loop`]: one thread asks on time, another hears what comes.
fn connection(
    stream: &UnixStream,
    queries: &[String],
    n: usize,
    rate: f64,
    start: Instant,
    length: Duration,
) -> Result<Seen> {
    stream.set_read_timeout(Some(Duration::from_secs(15)))?;
    stream.set_write_timeout(Some(Duration::from_secs(15)))?;
    // When each was due; a client that has to wait in its own `write` has waited too.
    let due = |k: usize| start + Duration::from_secs_f64((k as f64 + n as f64 / CONNECTIONS as f64) / rate);
    let count = (length.as_secs_f64() * rate) as usize;
    std::thread::scope(|scope| {
        let heard = scope.spawn(|| {
            let (mut reader, mut line, mut seen) = (BufReader::new(stream), String::new(), Seen::default());
            for heard in 0..count {
                line.clear();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    seen.failed += count - heard;
                    break;
                }
                let Ok(answer) = serde_json::from_str::<Value>(&line) else {
                    seen.failed += 1;
                    continue;
                };
                let due = due(answer["id"].as_u64().unwrap_or(0) as usize);
                let took = due.elapsed().as_secs_f64() * 1e3;
                match answer.get("error") {
                    None => seen.answered.push(took),
                    Some(error) if error["data"]["kind"] == "busy" => seen.busy.push(took),
                    Some(_) => seen.failed += 1,
                }
            }
            seen
        });
        for k in 0..count {
            std::thread::sleep(due(k).saturating_duration_since(Instant::now()));
            let query = &queries[(n * 37 + k) % queries.len()];
            let request = json!({"jsonrpc": "2.0", "id": k, "method": "search", "params": {"query": query}});
            let mut to = stream;
            to.write_all(format!("{request}\n").as_bytes()).context("asking")?;
        }
        Ok(heard.join().expect("it does not panic"))
    })
}

/// Asks for what costs next to nothing, until it is over.
fn cheap_calls(socket: &Path, over: &AtomicBool, mut look: impl FnMut()) -> Result<Seen> {
    let mut client = Client::connect(socket)?;
    let recent = client.call("recent", &json!({"limit": 1}))?;
    let note = recent["notes"][0]["path"].clone();
    let mut seen = Seen::default();
    while !over.load(Ordering::Relaxed) {
        for (method, params) in [("ping", json!({})), ("status", json!({})), ("get", json!({"path": note}))] {
            match client.timed(method, &params) {
                Ok((took, _)) => seen.answered.push(took),
                Err(_) => seen.failed += 1,
            }
        }
        look();
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(seen)
}
