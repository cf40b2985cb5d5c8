//! Exact search beside ripgrep on the same folder:
//!
//! ```text
//! cargo bench --bench grep [-- --notes N] [--vault DIR] [--asks N] [--exe PROGRAM]
//! ```
//!
//! Without `--vault` a vault is generated. For each pattern: what the daemon takes the first time (it reads every note) and
//! then (the median of many), lines and counts of all notes, at the socket; and `rg --count` as a process, which has a
//! process to start (that alone is measured by a pattern in an empty folder) and no socket. `rg` is left out where it is not
//! installed.

mod common;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use common::daemon::{Client, Daemon};
use common::{notes, option, percentile, size};
use serde_json::{Value, json};

/// What is searched for: a name, a frequent word, what no note has, and patterns with and without plain text in them.
const PATTERNS: [&str; 7] =
    ["nowhere-to-be-found", "[[", "the", r"\d{4}-\d{2}-\d{2}", r"(?i)\bplan\w*\b.*\bweek", r"^#+ .*ing$", "^- \\[ \\]"];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let count: usize = option(&args, "--notes").as_deref().unwrap_or("10000").parse()?;
    let asks: usize = option(&args, "--asks").as_deref().unwrap_or("31").parse()?;
    let exe = option(&args, "--exe");
    let home = tempfile::tempdir()?;
    let vault = home.path().join("vault");
    match option(&args, "--vault") {
        Some(given) => common::copy(Path::new(&given), &vault)?,
        None => drop(common::vault::generate(&vault, count, 1)?),
    }
    let program = exe.as_deref().unwrap_or(env!("CARGO_BIN_EXE_situated"));
    let mut daemon = Daemon::start(program, &home.path().join("home"), &vault)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    println!("{} notes, {:.1} MB", notes(&vault)?.len(), size(&vault)? as f64 / 1e6);

    let (first, answer) = client.timed("grep", &json!({ "pattern": "zz\\d{9}", "what": "counts", "limit": 10_000 }))?;
    println!("the first search after a start: {first:.1} ms, {} notes read", answer["read"]);
    let empty = home.path().join("empty");
    std::fs::create_dir_all(&empty)?;
    if let Some(alone) = ripgrep("x", &empty, asks)? {
        println!("rg as a process that finds nothing to read: {alone:.1} ms");
    }
    println!("| pattern | lines | read of {} | 100 lines, ms | all counts, ms | rg --count, ms |", answer["searched"]);
    println!("|---|---|---|---|---|---|");
    for pattern in PATTERNS {
        let fixed = pattern == "[[";
        let asked = |what: &str, limit: usize| json!({ "pattern": pattern, "fixed": fixed, "case": "sensitive", "what": what, "limit": limit });
        let (lines, _) = median(&mut client, &asked("lines", 100), asks)?;
        let (counts, answer) = median(&mut client, &asked("counts", 10_000), asks)?;
        let plain = if fixed { escaped(pattern) } else { pattern.to_owned() };
        let rg = ripgrep(&plain, &vault, asks)?.map_or("not installed".to_owned(), |ms| format!("{ms:.1}"));
        let shown = pattern.replace('|', "\\|");
        println!("| `{shown}` | {} | {} | {lines:.1} | {counts:.1} | {rg} |", answer["lines"], answer["read"]);
    }
    Ok(())
}

/// `[[` as a regular expression.
fn escaped(pattern: &str) -> String {
    pattern.chars().flat_map(|c| ['\\', c]).collect()
}

/// The median time of a request in milliseconds, and its last answer.
fn median(client: &mut Client, params: &Value, asks: usize) -> Result<(f64, Value)> {
    let mut times = Vec::with_capacity(asks);
    let mut last = Value::Null;
    for _ in 0..asks {
        let (ms, answer) = client.timed("grep", params)?;
        times.push(ms);
        last = answer;
    }
    Ok((percentile(&times, 50.0), last))
}

/// The median time of `rg --count` over a folder, in milliseconds; `None` if it is not installed.
fn ripgrep(pattern: &str, folder: &Path, asks: usize) -> Result<Option<f64>> {
    let mut times = Vec::with_capacity(asks);
    for _ in 0..asks {
        let start = Instant::now();
        match Command::new("rg").args(["--count", "--no-messages", "-e", pattern]).current_dir(folder).output() {
            Ok(_) => times.push(start.elapsed().as_secs_f64() * 1e3),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(percentile(&times, 50.0)))
}
