//! One daemon for hours, used as people use it while its model fails in turns: what it takes at the end is what it took
//! at the beginning.

mod measure;
mod notes;
mod queries;
mod subscribers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::Asked;
use crate::common::daemon::{Client, Daemon};
use crate::common::{files, option, rng::Rng};
use crate::model::{Answer, Model};
use measure::{Samples, Taken};
use notes::Notes;

/// How much of one core the daemon is kept at, so that hours of it leave room for other work.
const SHARE: f64 = 0.22;

/// How long the model is well, and how long each of its faults lasts.
const WELL: Duration = Duration::from_secs(40);
const FAULT: Duration = Duration::from_secs(20);

/// What the threads of a soak share.
struct Soak {
    over: AtomicBool,
    /// Microseconds between two steps of a thread; the measurements hold it against [`SHARE`].
    pause: AtomicU64,
    socket: PathBuf,
    notes: Mutex<Notes>,
    /// How often each kind of step came to which end.
    tally: Mutex<BTreeMap<(&'static str, String), u64>>,
}

impl Soak {
    fn count(&self, step: &'static str, end: impl Into<String>) {
        *self.tally.lock().expect("no holder panics").entry((step, end.into())).or_default() += 1;
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The pause between two steps.
    fn rest(&self, rng: &mut Rng) {
        let pause = self.pause.load(Ordering::Relaxed) as f64 * (0.5 + rng.unit());
        self.wait(Duration::from_micros(pause as u64));
    }

    /// Waits, but not longer than the soak lasts.
    fn wait(&self, length: Duration) {
        let until = Instant::now() + length;
        while !self.is_over() && Instant::now() < until {
            std::thread::sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(200)));
        }
    }
}

/// How an answer ended: `answered`, the kind of the error, or `no answer`.
fn ending(answer: &Result<Value>) -> String {
    match answer {
        Ok(_) => "answered".to_owned(),
        Err(error) => {
            let said = error.to_string();
            let kind = said.split_once("\"kind\":\"").and_then(|(_, rest)| rest.split('"').next());
            kind.unwrap_or("no answer").to_owned()
        }
    }
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let count = asked.number("--notes", 400)? as usize;
    let minutes = asked.number("--minutes", 120)?;
    // What fills at the start (caches, the archive's first pages, the pools of threads) is no growth.
    let warm_up = asked.number("--warm-up", minutes / 8)?;
    // Contexts of new texts are kept for ever; without any, nothing may grow.
    let new = asked.number("--new", 25)? as f64 / 1e3;
    let dir = tempfile::Builder::new().prefix("situated-campaign").tempdir()?;
    let (vault, home) = (dir.path().join("vault"), dir.path().join("home"));
    let notes = Notes::write(&vault, count, asked.seed, new)?;
    let model = Model::start();
    let settings = |day: &str| {
        format!("{}\n[budget]\nday = {day}\n", model.config("anthropic", "timeout = \"3s\"\ndeadline = \"10s\""))
    };
    let mut daemon = Daemon::configured(&asked.program(), &home, &vault, &settings("1000.0"))?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    daemon.written(&mut client)?;

    let soak = Soak {
        over: AtomicBool::new(false),
        pause: AtomicU64::new(500_000),
        socket: daemon.socket().to_owned(),
        notes: Mutex::new(notes),
        tally: Mutex::default(),
    };
    let mut samples = Samples::new(option(&asked.args, "--samples").map(PathBuf::from))?;
    std::thread::scope(|scope| -> Result<()> {
        let soak = &soak;
        scope.spawn(move || notes::edit(soak, asked.rng(1)));
        scope.spawn(move || queries::ask(soak, asked.rng(2)));
        scope.spawn(move || subscribers::come_and_go(soak, asked.rng(3)));
        let (model, config) = (&model, home.join("config.toml"));
        scope.spawn(move || moods(soak, model, &config));
        let seen = samples.take(soak, &mut daemon, &home.join("data"), Duration::from_secs(60 * minutes));
        soak.over.store(true, Ordering::Relaxed);
        seen
    })?;

    // Whatever failed is over now: once its user says that the model is well, the daemon lacks nothing.
    model.always(None);
    model.latency(Duration::ZERO);
    let mut client = daemon.client()?;
    client.call("resume", &json!({}))?;
    let rested = daemon.written(&mut client);
    let found = soak.notes.lock().expect("no holder panics").check(&mut client);
    let cost = client.call("cost", &json!({}))?["today"].clone();
    // The daemon sees to its store once a minute, if anything happens at all.
    std::thread::sleep(Duration::from_secs(65));
    client.call("sync", &json!({"wait": true}))?;
    let old = Taken::now(&daemon, &home)?;
    daemon.stop()?;
    let twins = twins(asked, &home, &vault, &settings("1000.0"));
    let compacted = compacted(&asked.program(), &home)?;
    println!("{count} notes, seed {}, {minutes} minutes and a warm-up of {warm_up} in them\n", asked.seed);
    let grown = samples.table(60.0 * warm_up as f64);
    ends(&soak);
    println!(
        "\n{} calls of the model, {} in the ledger ({} failed), {} not settled, {} contexts bought",
        model.calls(),
        cost["calls"],
        cost["failed"],
        cost["unsettled_calls"],
        cost["contexts"]
    );
    println!("\n| at rest | resident, MB | of it anonymous | database, MB | words, vectors and the rest |");
    println!("|---|---|---|---|---|");
    let [restarted, made_anew] = twins?;
    for (name, taken) in [
        ("at the end", old),
        ("started again over the same files", restarted),
        ("made anew, with the contexts", made_anew),
    ] {
        println!("| {name} | {taken} |");
    }
    println!("\ndatabase, once it is compacted: {:.1} MB of {:.1}", compacted.1 / 1e6, compacted.0 / 1e6);
    let rested = rested.context("it does not come to rest once the model is well")?;
    println!("at the end: {}, problems {}", rested["state"], rested["problems"]);
    found?;
    if grown.is_empty() { Ok(()) } else { bail!("more at the end than at the beginning: {}", grown.join(", ")) }
}

/// What a daemon at rest takes that starts over the files of one that has stopped, and one that knows no more than the
/// vault and the contexts that were bought.
fn twins(asked: &Asked, home: &Path, vault: &Path, settings: &str) -> Result<[Taken; 2]> {
    let rest = |home: &Path| -> Result<Taken> {
        let mut daemon = Daemon::configured(&asked.program(), home, vault, settings)?;
        let mut client = daemon.client()?;
        daemon.indexed(&mut client)?;
        daemon.written(&mut client)?;
        let taken = Taken::now(&daemon, home)?;
        daemon.stop()?;
        Ok(taken)
    };
    let restarted = rest(home)?;
    let anew = home.with_file_name("anew");
    for file in files(&home.join("data"))?.iter().filter(|file| file.ends_with("contexts.journal")) {
        let to = anew.join(file.strip_prefix(home)?);
        to.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::copy(file, to)?;
    }
    Ok([restarted, rest(&anew)?])
}

/// Bytes of the database before and after `situated compact`.
fn compacted(program: &str, home: &Path) -> Result<(f64, f64)> {
    let data = home.join("data");
    let before = measure::database(&data);
    let mut command = Command::new(program);
    command.env("SITUATED_CONFIG", home.join("config.toml")).arg("--data-dir").arg(&data).arg("compact");
    let out = command.output().context("compacting")?;
    if !out.status.success() {
        bail!("compacting: {}", String::from_utf8_lossy(&out.stderr));
    }
    Ok((before, measure::database(&data)))
}

/// Prints what came of the steps.
fn ends(soak: &Soak) {
    let tally = soak.tally.lock().expect("no holder panics");
    let mut steps: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((step, end), times) in &*tally {
        steps.entry(step).or_default().push(format!("{end} {times}"));
    }
    println!("\n| step | ended |\n|---|---|");
    for (step, ends) in steps {
        println!("| {step} | {} |", ends.join(", "));
    }
}

/// The model is well, fails in one way, is well again, fails in the next; the budget too is spent once in a round.
fn moods(soak: &Soak, model: &Model, config: &Path) {
    let raw = |status, body: &str, headers| Some(Answer::Raw(status, body.to_owned(), headers));
    for turn in 0.. {
        soak.wait(WELL);
        if soak.is_over() {
            return;
        }
        match turn % 7 {
            0 => model.always(raw(500, "{\"error\": {\"message\": \"out of order\"}}", Vec::new())),
            1 => model.always(raw(429, "{}", vec![("retry-after", "2".to_owned())])),
            2 => model.latency(Duration::from_secs(12)),
            3 => model.always(raw(200, "{\"content\": [{\"type\":", Vec::new())),
            4 => model.always(Some(Answer::Text(String::new()))),
            5 => model.always(Some(Answer::Hangup)),
            _ => budget(soak, config, "1000.0", "0.0"),
        }
        soak.wait(FAULT);
        model.always(None);
        model.latency(Duration::ZERO);
        match turn % 7 {
            // A model whose answers cannot be used is left alone for half an hour: its user says when it is well again.
            4 => {
                let resumed = Client::connect(&soak.socket).and_then(|mut client| client.call("resume", &json!({})));
                soak.count("resume", ending(&resumed));
            }
            6 => budget(soak, config, "0.0", "1000.0"),
            _ => {}
        }
    }
}

/// Changes what may be spent in a day, in the configuration of the running daemon.
fn budget(soak: &Soak, config: &Path, from: &str, to: &str) {
    let reload = || -> Result<Value> {
        let text = std::fs::read_to_string(config)?.replace(&format!("day = {from}"), &format!("day = {to}"));
        std::fs::write(config, text)?;
        Client::connect(&soak.socket)?.call("reload", &json!({}))
    };
    soak.count("reload", ending(&reload()));
}
