//! More asked than the daemon can do: what it answers then, how fast, what it says of the rest, and whether what is cheap
//! still comes at once.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::json;

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
    let queries = queries(&vault, asked.seed)?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from);

    let socket = daemon.socket().to_owned();
    // The first answers fill caches.
    closed_loop(&socket, &queries, cores, length / 4)?;
    let alone = closed_loop(&socket, &queries, 1, length / 2)?;
    let processor = || Usage::of(daemon.pid()).map_or(0.0, |usage| usage.cpu);
    let start = processor();
    let full = closed_loop(&socket, &queries, cores, length)?;
    let full_took = processor() - start;
    let capacity = full.answered.len() as f64 / length.as_secs_f64();
    let before = Usage::of(daemon.pid()).map_or(0, |usage| usage.rss);

    let start = processor();
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
    let loaded_took = processor() - start;
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
    // Whoever asks takes a part of the same cores, and five times as many questions take more.
    let per_second = [(&full, full_took), (&loaded, loaded_took)].map(|(seen, took)| seen.answered.len() as f64 / took);
    println!(
        "| answered in a second of the daemon's processor time: at capacity, then | {:.0}, {:.0} ({:.0} %) |",
        per_second[0],
        per_second[1],
        100.0 * per_second[1] / per_second[0]
    );
    println!(
        "| the daemon's part of the cores: at capacity, then | {:.0}, {:.0} % |",
        100.0 * full_took / length.as_secs_f64() / cores as f64,
        100.0 * loaded_took / length.as_secs_f64() / cores as f64
    );
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

/// What is read of an answer: whoever asks runs on the processors that the daemon has.
#[derive(Deserialize)]
struct Answer {
    id: u64,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    kind: String,
}

impl Seen {
    /// Takes the next answer to a request that was due at a time of its id.
    fn hear(&mut self, reader: &mut impl BufRead, line: &mut String, due: impl Fn(u64) -> Instant) -> bool {
        line.clear();
        if reader.read_line(line).unwrap_or(0) == 0 {
            return false;
        }
        let took = |id| due(id).elapsed().as_secs_f64() * 1e3;
        match serde_json::from_str(line) {
            Ok(Answer { id, error: None }) => self.answered.push(took(id)),
            Ok(Answer { id, error: Some(Refusal { data: Some(data) }) }) if data.kind == "busy" => {
                self.busy.push(took(id));
            }
            _ => self.failed += 1,
        }
        true
    }
}

/// A query as a line of the protocol.
fn request(id: usize, query: &str) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "search", "params": {"query": query}}))
}

/// So many clients ask, each again as soon as it is answered.
fn closed_loop(socket: &Path, queries: &[String], clients: usize, length: Duration) -> Result<Seen> {
    let until = Instant::now() + length;
    let ask = |n: usize, stream: UnixStream| -> Result<Seen> {
        let (mut reader, mut line, mut seen) = (BufReader::new(&stream), String::new(), Seen::default());
        for query in queries.iter().cycle().skip(n * 37) {
            let asked = Instant::now();
            if asked >= until {
                break;
            }
            (&stream).write_all(request(0, query).as_bytes())?;
            if !seen.hear(&mut reader, &mut line, |_| asked) {
                bail!("the daemon hung up");
            }
        }
        Ok(seen)
    };
    let mut all = Seen::default();
    std::thread::scope(|scope| -> Result<()> {
        let streams = (0..clients).map(|_| connect(socket)).collect::<Result<Vec<_>>>()?;
        let ask = &ask;
        let threads: Vec<_> =
            streams.into_iter().enumerate().map(|(n, stream)| scope.spawn(move || ask(n, stream))).collect();
        threads.into_iter().try_for_each(|thread| {
            all.add(thread.join().expect("it does not panic")?);
            Ok(())
        })
    })?;
    Ok(all)
}

fn connect(socket: &Path) -> Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(15)))?;
    stream.set_write_timeout(Some(Duration::from_secs(15)))?;
    Ok(stream)
}

/// Asks `rate` times a second, whatever is answered, over one connection after the other. One thread asks on time; each
/// connection has one that hears what comes.
fn open_loop(socket: &Path, queries: &[String], rate: f64, length: Duration) -> Result<Seen> {
    let streams = (0..CONNECTIONS).map(|_| connect(socket)).collect::<Result<Vec<_>>>()?;
    let count = (length.as_secs_f64() * rate) as usize / CONNECTIONS * CONNECTIONS;
    let requests: Vec<_> = (0..count).map(|id| request(id, &queries[id * 37 % queries.len()])).collect();
    let start = Instant::now();
    let due = |id: u64| start + Duration::from_secs_f64(id as f64 / rate);
    let mut all = Seen::default();
    std::thread::scope(|scope| {
        let hear = |stream| {
            let (mut reader, mut line, mut seen) = (BufReader::new(stream), String::new(), Seen::default());
            let expected = count / CONNECTIONS;
            let heard = (0..expected).take_while(|_| seen.hear(&mut reader, &mut line, due)).count();
            seen.failed += expected - heard;
            seen
        };
        let ears: Vec<_> = streams.iter().map(|stream| scope.spawn(move || hear(stream))).collect();
        for (id, request) in requests.iter().enumerate() {
            std::thread::sleep(due(id as u64).saturating_duration_since(Instant::now()));
            let mut to = &streams[id % CONNECTIONS];
            to.write_all(request.as_bytes()).context("asking")?;
        }
        ears.into_iter().for_each(|ear| all.add(ear.join().expect("it does not panic")));
        Ok(all)
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
