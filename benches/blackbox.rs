//! The daemon from outside: its release binary as a child process, measured over its socket and through the
//! kernel, beside what the machine could do at best.
//!
//! ```text
//! cargo bench --bench blackbox -- [--vault DIR | --notes 10000] [--seed 1] [--repeat 3] [--queries 1000] [--saves 50]
//! cargo bench --bench blackbox -- --generate DIR --notes 10000
//! ```
//!
//! The vault is copied to a temporary folder first. One Markdown table goes to the standard output, progress to
//! the standard error.

mod common;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use common::daemon::{Client, Daemon, Usage};
use common::rng::Rng;
use common::{option, percentile};
use serde_json::{Value, json};

const EXE: &str = env!("CARGO_BIN_EXE_situated");

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: usize| -> Result<usize> {
        option(&args, name).map_or(Ok(default), |n| n.parse().with_context(|| format!("{name} takes a number")))
    };
    let seed = number("--seed", 1)? as u64;
    let notes = number("--notes", 10_000)?;
    if let Some(dir) = option(&args, "--generate") {
        let made = common::vault::generate(Path::new(&dir), notes, seed)?;
        println!("{} notes, {} bytes", made.notes, made.bytes);
        return Ok(());
    }
    // A bare `cargo bench` runs every bench: this one takes minutes and wants to be asked for.
    if !args.iter().any(|a| a == "--vault" || a == "--notes") {
        println!("blackbox: give --vault DIR or --notes 10000");
        return Ok(());
    }
    let dir = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let vault = dir.path().join("vault");
    match option(&args, "--vault") {
        Some(from) => common::copy(Path::new(&from), &vault)?,
        None => common::vault::generate(&vault, notes, seed).map(|_| ())?,
    }
    let run = Run {
        dir: dir.path().to_owned(),
        vault,
        rng: Rng::new(seed),
        repeat: number("--repeat", 3)?.max(1),
        queries: number("--queries", 1000)?.max(8),
        saves: number("--saves", 50)?.max(1),
        table: Vec::new(),
    };
    run.all()
}

struct Run {
    dir: PathBuf,
    vault: PathBuf,
    rng: Rng,
    repeat: usize,
    queries: usize,
    saves: usize,
    table: Vec<Row>,
}

/// A line of the table: what, how much, and the floor with the ratio to it.
struct Row {
    what: String,
    value: String,
    floor: Option<(String, f64)>,
}

impl Run {
    fn all(mut self) -> Result<()> {
        let notes = common::notes(&self.vault)?;
        let vault_bytes: u64 = notes.iter().map(|n| n.metadata().map_or(0, |m| m.len())).sum();
        if notes.is_empty() {
            bail!("there is no note in the vault");
        }
        eprintln!("vault: {} notes, {vault_bytes} bytes", notes.len());
        let hashing = median_of(5, || hash_all(&notes))?;
        let mut daemon = self.first_index(notes.len(), vault_bytes, hashing)?;
        let mut client = daemon.client()?;
        let status = daemon.idle(&mut client)?;
        let chunks = status["vaults"][0]["chunks"].as_u64().unwrap_or(0);
        self.row("chunks", chunks.to_string(), None);
        self.idle(&daemon)?;
        self.store(&status, vault_bytes)?;
        let scan = median_of(9, || Ok(read_memory(chunks as usize * 256)))?;
        let queries = self.sample_queries(&notes)?;
        self.search(&mut daemon, &queries, scan)?;
        self.during_rebuild(&mut daemon, &queries, scan)?;
        self.saves(&mut daemon, &notes)?;
        drop(client);
        self.restart(daemon, &queries, hashing)?;
        self.print(notes.len(), vault_bytes);
        Ok(())
    }

    fn row(&mut self, what: impl Into<String>, value: String, floor: Option<(String, f64)>) {
        self.table.push(Row { what: what.into(), value, floor });
    }

    fn home(&self, n: usize) -> PathBuf {
        self.dir.join(format!("home{n}"))
    }

    /// Indexes from nothing `repeat` times; the last daemon stays.
    fn first_index(&mut self, notes: usize, bytes: u64, hashing: f64) -> Result<Daemon> {
        let mut times = Vec::new();
        let mut last = None;
        for n in 0..self.repeat {
            drop(last.take());
            let mut daemon = Daemon::start(EXE, &self.home(n), &self.vault)?;
            let mut client = daemon.client()?;
            let status = daemon.indexed(&mut client)?;
            times.push(daemon.started.elapsed().as_secs_f64() * 1e3);
            eprintln!("first index {}: {:.0} ms, {} notes", n + 1, times[n], status["vaults"][0]["notes"]);
            last = Some(daemon);
        }
        let time = percentile(&times, 50.0);
        let rate = notes as f64 / time * 1e3;
        let value = format!("{time:.0} ms ({rate:.0} notes/s, {:.1} MB/s)", bytes as f64 / time / 1e3);
        self.row("first index", value, Some((format!("read and hash all: {hashing:.1} ms"), time / hashing)));
        last.context("at least one run")
    }

    fn idle(&mut self, daemon: &Daemon) -> Result<()> {
        // What follows the first index (merges, flushes) is not idling.
        std::thread::sleep(Duration::from_secs(3));
        let (Some(before), watched) = (Usage::of(daemon.pid()), Duration::from_secs(10)) else {
            self.row("memory, idle CPU", "not measured: there is no /proc".to_owned(), None);
            return Ok(());
        };
        std::thread::sleep(watched);
        let after = Usage::of(daemon.pid()).context("the daemon is gone")?;
        let mb = |bytes: u64| bytes as f64 / 1e6;
        self.row(
            "resident memory",
            format!("{:.0} MB ({:.0} MB not file-backed)", mb(after.rss), mb(after.anonymous)),
            None,
        );
        let percent = (after.cpu - before.cpu) / watched.as_secs_f64() * 100.0;
        let wakes = after.switches.saturating_sub(before.switches) as f64 / watched.as_secs_f64();
        self.row("idle", format!("{percent:.2} % of a core, {wakes:.1} wake-ups/s"), None);
        Ok(())
    }

    fn store(&mut self, status: &Value, vault_bytes: u64) -> Result<()> {
        let bytes = common::size(&self.home(self.repeat - 1).join("data"))?;
        let said = status["vaults"][0]["index_bytes"].as_u64().unwrap_or(0);
        let value = format!("{:.1} MB (status says {:.1})", bytes as f64 / 1e6, said as f64 / 1e6);
        let floor = format!("the notes: {:.1} MB", vault_bytes as f64 / 1e6);
        self.row("store on disk", value, Some((floor, bytes as f64 / vault_bytes as f64)));
        Ok(())
    }

    /// Two to five words that stand together somewhere in the vault.
    fn sample_queries(&mut self, notes: &[PathBuf]) -> Result<Vec<String>> {
        let mut queries = Vec::new();
        for _ in 0..self.queries * 20 {
            if queries.len() == self.queries {
                break;
            }
            let path = self.rng.pick(notes);
            let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
            let words: Vec<&str> = text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|w| w.chars().count() >= 4 && w.chars().all(char::is_alphabetic))
                .collect();
            let count = self.rng.between(2, 5);
            if words.len() > count {
                let start = self.rng.below(words.len() - count);
                queries.push(words[start..start + count].join(" "));
            }
        }
        if queries.is_empty() {
            bail!("the vault has no words to ask for");
        }
        Ok(queries)
    }

    fn search(&mut self, daemon: &mut Daemon, queries: &[String], scan: f64) -> Result<()> {
        for clients in [1, 8] {
            let connections = (0..clients).map(|_| daemon.client()).collect::<Result<Vec<_>>>()?;
            ask_all(connections, &queries[..queries.len().min(100)])?;
            let connections = (0..clients).map(|_| daemon.client()).collect::<Result<Vec<_>>>()?;
            let start = Instant::now();
            let times = ask_all(connections, queries)?;
            let rate = times.len() as f64 / start.elapsed().as_secs_f64();
            let what = format!("query, {clients} client{}", if clients == 1 { "" } else { "s" });
            self.latency(&what, &times, &format!(", {rate:.0}/s"), scan);
        }
        Ok(())
    }

    fn latency(&mut self, what: &str, times: &[f64], more: &str, scan: f64) {
        let (p50, p99) = (percentile(times, 50.0), percentile(times, 99.0));
        let value = format!("p50 {p50:.2} ms, p99 {p99:.2} ms{more} (n = {})", times.len());
        self.row(what, value, Some((format!("read the vectors: {scan:.2} ms"), p50 / scan)));
    }

    fn during_rebuild(&mut self, daemon: &mut Daemon, queries: &[String], scan: f64) -> Result<()> {
        let (mut asker, mut watcher) = (daemon.client()?, daemon.client()?);
        let job = watcher.call("rebuild", &json!({}))?["job"].clone();
        let (mut times, start) = (Vec::new(), Instant::now());
        for query in queries.iter().cycle() {
            times.push(asker.timed("search", &json!({"query": query, "limit": 20}))?.0);
            if times.len() % 20 == 0 && !is_running(&watcher.call("jobs", &json!({}))?, &job) {
                break;
            }
        }
        let took = format!(", rebuild {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
        self.latency("query, 1 client, during a rebuild", &times, &took, scan);
        daemon.idle(&mut watcher)?;
        Ok(())
    }

    /// Appends a word that is nowhere else to a note, as editors save (write beside, rename over), and asks for
    /// it until it is found.
    fn saves(&mut self, daemon: &mut Daemon, notes: &[PathBuf]) -> Result<()> {
        let mut client = daemon.client()?;
        let mut times = Vec::new();
        for n in 0..self.saves {
            let path = self.rng.pick(notes).clone();
            let word: String = (0..14).map(|_| char::from(b'a' + self.rng.below(26) as u8)).collect();
            let mut text = std::fs::read(&path)?;
            text.extend_from_slice(format!("\n\nThe word {word} is new.\n").as_bytes());
            let beside = path.with_file_name(format!(".{n}.tmp"));
            std::fs::write(&beside, text)?;
            std::fs::rename(&beside, &path)?;
            let start = Instant::now();
            loop {
                let answer = client.call("search", &json!({"query": word, "limit": 1, "include": ["text"]}))?;
                if answer["hits"][0]["text"].as_str().is_some_and(|t| t.contains(&word)) {
                    break;
                }
                if start.elapsed() > Duration::from_secs(30) {
                    bail!("a saved word is not found after 30 s");
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let (p50, p99) = (percentile(&times, 50.0), percentile(&times, 99.0));
        // The floor is the quiet that a lone change waits for, by design.
        let floor = Some(("the debounce: 50 ms".to_owned(), p50 / 50.0));
        self.row("save → searchable", format!("p50 {p50:.0} ms, p99 {p99:.0} ms (n = {})", times.len()), floor);
        daemon.idle(&mut client)?;
        Ok(())
    }

    fn restart(&mut self, daemon: Daemon, queries: &[String], hashing: f64) -> Result<()> {
        daemon.stop()?;
        let home = self.home(self.repeat - 1);
        let (mut answering, mut reconciled) = (Vec::new(), Vec::new());
        for n in 0..self.repeat {
            let mut daemon = Daemon::start(EXE, &home, &self.vault)?;
            let mut client = daemon.client()?;
            let query = json!({"query": queries[n % queries.len()], "limit": 1});
            // An error means that the index is not open yet.
            while !client.call("search", &query).is_ok_and(|a| a["hits"][0].is_object()) {
                if daemon.started.elapsed() > Duration::from_secs(120) {
                    bail!("no answer two minutes after a restart");
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            answering.push(daemon.started.elapsed().as_secs_f64() * 1e3);
            daemon.idle(&mut client)?;
            reconciled.push(daemon.started.elapsed().as_secs_f64() * 1e3);
            drop(client);
            daemon.stop()?;
        }
        let (answering, reconciled) = (percentile(&answering, 50.0), percentile(&reconciled, 50.0));
        self.row("restart, answering", format!("{answering:.0} ms"), None);
        let floor = Some((format!("read and hash all: {hashing:.1} ms"), reconciled / hashing));
        self.row("restart, reconciled", format!("{reconciled:.0} ms"), floor);
        Ok(())
    }

    fn print(&self, notes: usize, bytes: u64) {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!("\n{notes} notes, {:.1} MB; {cores} cores\n", bytes as f64 / 1e6);
        println!("| what | measured (median) | floor in the same run | ratio |\n|---|---|---|---|");
        for Row { what, value, floor } in &self.table {
            match floor {
                Some((floor, ratio)) => println!("| {what} | {value} | {floor} | {ratio:.1} |"),
                None => println!("| {what} | {value} | | |"),
            }
        }
    }
}

/// Asks the queries, shared among the connections, each on its own thread; milliseconds of every one.
fn ask_all(connections: Vec<Client>, queries: &[String]) -> Result<Vec<f64>> {
    let clients = connections.len();
    std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .enumerate()
            .map(|(n, mut client)| {
                scope.spawn(move || {
                    let mine = queries.iter().skip(n).step_by(clients);
                    mine.map(|q| Ok(client.timed("search", &json!({"query": q, "limit": 20}))?.0))
                        .collect::<Result<Vec<f64>>>()
                })
            })
            .collect();
        let mut times = Vec::new();
        for thread in threads {
            times.extend(thread.join().map_err(|_| anyhow::anyhow!("a client panicked"))??);
        }
        Ok(times)
    })
}

/// Whether the job is on the list and runs; the list may be the answer or stand in it as `jobs`.
fn is_running(answer: &Value, job: &Value) -> bool {
    let jobs = answer.as_array().or_else(|| answer["jobs"].as_array());
    jobs.into_iter().flatten().any(|j| &j["job"] == job && j["state"] == "running")
}

/// The median of `n` timings in milliseconds; each runs `work` and keeps what it returns from being left out.
fn median_of<T>(n: usize, mut work: impl FnMut() -> Result<T>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..n {
        let start = Instant::now();
        std::hint::black_box(work()?);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(percentile(&times, 50.0))
}

fn hash_all(notes: &[PathBuf]) -> Result<u8> {
    notes.iter().try_fold(0, |sum, note| Ok(sum ^ blake3::hash(&std::fs::read(note)?).as_bytes()[0]))
}

/// Reads `bytes` bytes of memory once, as a scan of the vectors must.
fn read_memory(bytes: usize) -> u64 {
    static MEMORY: std::sync::OnceLock<Vec<u64>> = std::sync::OnceLock::new();
    let memory = MEMORY.get_or_init(|| (0..bytes as u64 / 8).collect());
    memory.iter().fold(0, |sum, x| sum.wrapping_add(*x))
}
