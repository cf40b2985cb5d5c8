//! A rebuild by a model that takes its time: wall time beside what the calls must take, memory, and tokens per
//! form of asking. A server on loopback stands in the place of the model and answers after a fixed time.
//!
//! ```text
//! cargo bench --bench rebuild -- --latency 1000 [--notes 670] [--concurrency 10] [--forms note,chunk] [--seed 1]
//! ```
//!
//! The first contexts are written at once; then the daemon is started again, so that it has to find out anew how
//! many calls at a time the provider takes, and everything is rebuilt.

mod common;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/it/http.rs"]
mod http;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/it/model.rs"]
mod model;

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use common::caption::caption;
use common::daemon::{Daemon, Usage};
use common::{option, percentile};
use context::cost;
use context::cost::dollars;
use context::document::Document;
use context::models::Model;
use context::prompt::Prompter;
use context::settings::{ContextConfig, FormChoice, Provider};
use note::VaultPath;
use note::chunk::ChunkConfig;
use note::{NoteRules, parse};
use serde_json::{Value, json};

const EXE: &str = env!("CARGO_BIN_EXE_situated");

/// How often the job and the memory are looked at.
const LOOK: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| -> Result<u64> {
        option(&args, name).map_or(Ok(default), |n| n.parse().with_context(|| format!("{name} takes a number")))
    };
    // A bare `cargo bench` runs every bench: this one takes minutes and wants to be asked for.
    if !args.iter().any(|a| a == "--latency") {
        println!("rebuild: give --latency 1000 (milliseconds)");
        return Ok(());
    }
    let latency = Duration::from_millis(number("--latency", 1000)?);
    let concurrency = number("--concurrency", 10)? as usize;
    let forms = option(&args, "--forms").unwrap_or_else(|| "note,chunk".to_owned());
    let (notes, seed) = (number("--notes", 670)? as usize, number("--seed", 1)?);
    for form in forms.split(',') {
        let form = match form {
            "note" => FormChoice::Note,
            "chunk" => FormChoice::Chunk,
            "auto" => FormChoice::Auto,
            other => bail!("there is no form `{other}`; there is note, chunk, auto"),
        };
        let dir = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
        common::vault::generate(&dir.path().join("vault"), notes, seed)?;
        run(dir.path(), form, latency, concurrency)?;
    }
    Ok(())
}

fn name(form: FormChoice) -> &'static str {
    match form {
        FormChoice::Auto => "auto",
        FormChoice::Note => "note",
        FormChoice::Chunk => "chunk",
    }
}

/// What happens while a rebuild goes on.
struct Watched {
    took: Duration,
    /// Calls that had been made at the end of each second.
    ramp: Vec<usize>,
    /// Bytes that no file backs, as often as they were looked at.
    memory: Vec<f64>,
    peak: Usage,
    job: Value,
}

fn run(home: &Path, form: FormChoice, latency: Duration, concurrency: usize) -> Result<()> {
    let server = model::Model::start();
    server.captions(|document, passage| Some(caption(document, passage)));
    let vault = home.join("vault");
    let more = format!("form = \"{}\"\nconcurrency = {concurrency}", name(form));
    let settings = format!("{}\n[budget]\nday = 1000.0\nrebuild = 1000.0\n", server.config("anthropic", &more));
    let mut daemon = Daemon::configured(EXE, home, &vault, &settings)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    daemon.written(&mut client)?;
    eprintln!("{}: {} calls at first, {:.0?}", name(form), server.calls(), daemon.started.elapsed());
    drop(client);
    daemon.stop()?;

    let mut daemon = Daemon::configured(EXE, home, &vault, &settings)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    let status = daemon.written(&mut client)?;
    server.latency(latency);
    let before = Usage::of(daemon.pid());
    let (first, tokens) = (server.calls(), server.tokens());
    let spent = client.call("cost", &json!({}))?["today"].clone();
    let estimate = client.call("rebuild", &json!({"dry_run": true}))?["estimate"].clone();

    let watched = watch(&mut client, daemon.pid(), || server.calls() - first)?;
    daemon.written(&mut client)?;
    let after = Usage::of(daemon.pid());
    let calls = server.calls() - first;
    let tokens = (server.tokens().0 - tokens.0, server.tokens().1 - tokens.1);
    let asked = server.asked().split_off(first);
    // The same passage of the same note, in one form: after an answer of no use it is asked in another.
    let mut passages: HashMap<(&str, u32, bool), usize> = HashMap::new();
    for asked in &asked {
        let whole = asked.task.contains("passages:");
        for n in &asked.wanted {
            *passages.entry((asked.document.as_str(), *n, whole)).or_default() += 1;
        }
    }
    let again = passages.values().filter(|times| **times > 1).count();
    let today = client.call("cost", &json!({}))?["today"].clone();
    let paid = |field: &str| today[field].as_u64().unwrap_or(0) - spent[field].as_u64().unwrap_or(0);

    let took = watched.took.as_secs_f64();
    let ideal = calls as f64 * latency.as_secs_f64() / concurrency as f64;
    let vault_status = &status["vaults"][0];
    println!("\n## Rebuild, form {}: {} notes, {} chunks\n", name(form), vault_status["notes"], vault_status["chunks"]);
    println!("| what | |\n|---|---|");
    println!("| calls, {} ms each, {concurrency} at once | {calls} |", latency.as_millis());
    println!("| wall time | {took:.1} s |");
    println!("| calls × latency ÷ concurrency | {ideal:.1} s |");
    println!("| ratio | {:.3} |", took / ideal);
    println!("| passages bought twice (asked for again in the same form; 0 is right) | {again} |");
    println!("| most at once | {} |", server.most_at_once());
    let per_second: Vec<usize> = std::iter::once(watched.ramp.first().copied().unwrap_or(0))
        .chain(watched.ramp.windows(2).map(|pair| pair[1] - pair[0]))
        .collect();
    println!("| calls begun in each of the first seconds | {:?} |", &per_second[..per_second.len().min(12)]);
    let mb = |usage: Option<Usage>| {
        usage.map_or("unknown".to_owned(), |u| {
            format!("{:.0} MB ({:.0} MB not file-backed)", u.rss as f64 / 1e6, u.anonymous as f64 / 1e6)
        })
    };
    println!("| resident before | {} |", mb(before));
    println!("| resident at most | {} |", mb(Some(watched.peak)));
    let tenths = watched.memory.chunks(watched.memory.len().div_ceil(10).max(1));
    let medians: Vec<u64> = tenths.map(|tenth| (percentile(tenth, 50.0) / 1e6) as u64).collect();
    println!("| not file-backed, median of each tenth of the time, MB | {medians:?} |");
    println!("| resident after | {} |", mb(after));
    println!("| the daemon's estimate | {} |", estimate_line(&estimate));
    println!("| contexts, failed | {}, {} |", watched.job["contexts"]["processed"], watched.job["contexts"]["failed"]);
    println!("| tokens in, out, as the server counts (4 bytes) | {}, {} |", tokens.0, tokens.1);
    println!(
        "| the ledger | {} calls, {} in, {} out, {} |",
        paid("calls"),
        paid("tokens_in"),
        paid("tokens_out"),
        dollars(paid("micro_dollars"))
    );
    println!("| what came of all answers, the first ones too | {} |", client.call("stats", &json!({}))?["outcomes"]);
    let [whole, cached] = tokens_of(&vault, form)?;
    println!("| prompts, estimated for the model | {whole} tokens in, of which {cached} again and cacheable |");
    drop(client);
    daemon.stop()
}

fn watch(client: &mut common::daemon::Client, pid: u32, calls: impl Fn() -> usize) -> Result<Watched> {
    let mut peak = Usage::of(pid).context("there is no /proc")?;
    let start = Instant::now();
    let job = client.call("rebuild", &json!({}))?["job"].clone();
    let (mut ramp, mut memory) = (Vec::new(), Vec::new());
    loop {
        std::thread::sleep(LOOK);
        let took = start.elapsed();
        while took.as_secs() as usize > ramp.len() {
            ramp.push(calls());
        }
        if let Some(now) = Usage::of(pid) {
            peak.rss = peak.rss.max(now.rss);
            peak.anonymous = peak.anonymous.max(now.anonymous);
            memory.push(now.anonymous as f64);
        }
        let jobs = client.call("jobs", &json!({}))?;
        let job = jobs["jobs"].as_array().into_iter().flatten().find(|j| j["job"] == job).cloned().unwrap_or_default();
        match job["state"].as_str() {
            Some("done") => return Ok(Watched { took, ramp, memory, peak, job }),
            Some("running" | "queued" | "waiting") => {}
            _ => bail!("the rebuild ended otherwise: {job}"),
        }
        if took > Duration::from_secs(3600) {
            bail!("the rebuild takes more than an hour: {job}");
        }
    }
}

fn estimate_line(estimate: &Value) -> String {
    let number = |field: &str| estimate[field].as_u64().unwrap_or(0);
    format!(
        "{} calls, {} in (of which {} cached), {} out, {}, {:.1} minutes",
        number("calls"),
        number("tokens_in"),
        number("tokens_cached"),
        number("tokens_out"),
        dollars(number("micro_dollars")),
        estimate["minutes"].as_f64().unwrap_or(0.0)
    )
}

/// Tokens of all prompts of a vault in a form, and of those the ones that a provider's cache has after the
/// first call about a note.
fn tokens_of(vault: &Path, form: FormChoice) -> Result<[u64; 2]> {
    let config = ContextConfig { provider: Provider::Anthropic, form, ..ContextConfig::default() };
    let model = Model::find(config.provider, config.model(), false, &[]).map_err(anyhow::Error::msg)?;
    let prompter = Prompter::new(&config, &model);
    let (mut whole, mut cached) = (0, 0);
    for file in common::notes(vault)? {
        let path = file.strip_prefix(vault)?.to_string_lossy().into_owned();
        let path = VaultPath::parse(&path).context("the generator's paths are a vault's")?;
        let note = parse(&path, &std::fs::read(&file)?, &NoteRules::default());
        let chunks = index::chunk::cut(&note, &ChunkConfig::default());
        if chunks.len() < config.llm_min_chunks as usize {
            continue;
        }
        let wanted: Vec<u32> = (1..).zip(&chunks).filter(|(_, chunk)| chunk.has_words).map(|(n, _)| n).collect();
        for (n, prompt) in prompter.ask(&Document::new(&note, &chunks), &wanted).iter().enumerate() {
            whole += u64::from(prompt.tokens);
            if prompt.cache && n > 0 {
                let tokens = |text: &str| u64::from(cost::estimate_tokens(text, model.token_factor));
                cached += tokens(&prompt.system) + tokens(&prompt.document);
            }
        }
    }
    Ok([whole, cached])
}
