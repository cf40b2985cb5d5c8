//! A month of edits replayed on a real daemon, with a server on loopback in the place of the model: how often
//! it is asked, and what that would cost, beside what other rules would have asked for the same saves.
//!
//! ```text
//! cargo bench --bench replay -- --days 30 | --edits 5000 [--notes 670] [--seed 1]
//! ```
//!
//! Every save is a write beside and a rename over, and the next one comes when nothing waits for the model any
//! more: no two saves of a note fall into one quiet time, which would only spare calls. A day ends with one sync
//! of all notes, as the daemon makes one every 24 hours. The day's budget is lifted to the sum of all days, for
//! they pass within one.
//!
//! Tokens are estimated from the texts of the requests, for the daemon as for the rules beside it, by the
//! product's own estimate for its default model, and priced by its table, with the provider's cache where the
//! request asks for it; answers are counted with the mean length of the server's captions. What the server itself
//! said (it has no cache), and the ledger put down, is printed too.
//!
//! The other rules ask in the product's forms: whole notes, long ones passage by passage. Twice: also with one
//! call per note however long it is.

#[path = "../common/mod.rs"]
mod common;
mod edits;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/http.rs"]
mod http;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/it/model.rs"]
mod model;
mod policies;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use common::caption::caption;
use common::daemon::{Client, Daemon};
use common::option;
use context::cost::dollars;
use context::models::Model;
use context::settings::{ContextConfig, FormChoice, Provider};
use edits::{Kind, Save, Vault};
use model::Asked;
use note::fingerprint::TextHash;
use policies::{Bought, Call, Meter, Policies, Request};
use serde_json::{Value, json};

const EXE: &str = env!("CARGO_BIN_EXE_situated");

/// Dollars a day that the daemon may spend by default.
const BUDGET: f64 = 0.5;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| -> Result<Option<usize>> {
        option(&args, name).map(|n| n.parse().with_context(|| format!("{name} takes a number"))).transpose()
    };
    let (days, edits) = (number("--days")?, number("--edits")?);
    // A bare `cargo bench` runs every bench: this one takes minutes and wants to be asked for.
    if days.is_none() && edits.is_none() {
        println!("replay: give --days 30 or --edits 5000");
        return Ok(());
    }
    let most = edits.unwrap_or(usize::MAX);
    let days = days.unwrap_or_else(|| most.div_ceil(edits::BODIES));
    let (notes, seed) = (number("--notes")?.unwrap_or(670), number("--seed")?.unwrap_or(1) as u64);
    Replay::start(notes, days, seed)?.run(days, most)
}

struct Replay {
    home: PathBuf,
    vault: Vault,
    server: model::Model,
    daemon: Daemon,
    client: Client,
    meter: Meter,
    policies: Policies,
    /// The same rules with one call per note.
    whole: Policies,
    /// Which of the server's requests were made for what; `None` is the daily sync.
    made: Vec<(Option<Kind>, Range<usize>)>,
    /// Saves by kind.
    saves: BTreeMap<Kind, usize>,
    began: Instant,
    _dir: tempfile::TempDir,
}

impl Replay {
    fn start(notes: usize, days: usize, seed: u64) -> Result<Self> {
        let began = Instant::now();
        let dir = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
        let home = dir.path().to_owned();
        let vault = Vault::new(notes, days, seed);
        for (path, text) in &vault.notes {
            write(&home.join("vault").join(path), text)?;
        }
        let config = ContextConfig { provider: Provider::Anthropic, ..ContextConfig::default() };
        let known = Model::find(config.provider, config.model(), false, &[]).map_err(anyhow::Error::msg)?;
        let server = model::Model::start();
        server.captions(|document, passage| Some(caption(document, passage)));
        let settings =
            format!("{}\n[budget]\nday = {:.1}\n", server.config("anthropic", ""), BUDGET * days as f64 + 5.0);
        let mut daemon = Daemon::configured(EXE, &home, &home.join("vault"), &settings)?;
        let mut client = daemon.client()?;
        daemon.indexed(&mut client)?;
        let policies = Policies::new(&known, FormChoice::Auto);
        let whole = Policies::new(&known, FormChoice::Note);
        let meter = Meter { model: known, caption: 0.0 };
        let (made, saves) = (Vec::new(), BTreeMap::new());
        Ok(Replay { home, vault, server, daemon, client, meter, policies, whole, made, saves, began, _dir: dir })
    }

    fn run(mut self, days: usize, most: usize) -> Result<()> {
        let status = self.daemon.written(&mut self.client)?;
        let first = self.server.calls();
        let (notes, chunks) = (&status["vaults"][0]["notes"], &status["vaults"][0]["chunks"]);
        eprintln!("{notes} notes, {chunks} chunks: {first} calls at first, {:.0?}", self.began.elapsed());
        let before = self.client.call("cost", &json!({}))?["today"].clone();
        let expected = self.policies.begin(&self.vault.notes, &self.meter);
        let expected_whole = self.whole.begin(&self.vault.notes, &self.meter);
        let mut done = 0;
        let mut lived = 0;
        for day in 0..days {
            if done >= most {
                break;
            }
            lived += 1;
            for plan in self.vault.day(day) {
                let Some(save) = self.vault.carry_out(plan, day) else { continue };
                done += 1;
                *self.saves.entry(save.kind).or_default() += 1;
                self.policies.see(&save, &self.meter);
                self.whole.see(&save, &self.meter);
                self.count(Some(save.kind), |replay| replay.put(&save))?;
            }
            self.count(None, |replay| {
                replay.client.call("sync", &json!({"since": 0, "wait": true}))?;
                Ok(())
            })?;
            if day % 10 == 9 {
                eprintln!("day {}: {done} saves, {} calls, {:.0?}", day + 1, self.server.calls(), self.began.elapsed());
            }
        }
        self.report(lived, first, [&expected, &expected_whole], &before)
    }

    /// Does something, waits until nothing is left to do, and puts down the calls that were made meanwhile.
    fn count(&mut self, kind: Option<Kind>, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let from = self.server.calls();
        work(self)?;
        self.daemon.written(&mut self.client)?;
        let to = self.server.calls();
        if to > from {
            self.made.push((kind, from..to));
        }
        Ok(())
    }

    fn put(&mut self, save: &Save) -> Result<()> {
        let vault = self.home.join("vault");
        for (from, to) in &save.moves {
            let to = vault.join(to);
            std::fs::create_dir_all(to.parent().context("a note lies in a folder")?)?;
            std::fs::rename(vault.join(from), to)?;
        }
        for (path, text) in &save.writes {
            write(&vault.join(path), text)?;
        }
        Ok(())
    }

    fn report(mut self, days: usize, first: usize, expected: [&[Call]; 2], before: &Value) -> Result<()> {
        let status = self.client.call("status", &json!({}))?;
        let after = self.client.call("cost", &json!({}))?;
        let asked = self.server.asked();
        // The server counts four bytes as a token.
        let (said_in, said_out) = self.server.tokens();
        let contexts: u64 = asked.iter().map(|asked| asked.wanted.len() as u64).sum();
        let answer = "x".repeat(4 * said_out as usize);
        self.meter.caption = self.meter.tokens(&answer) as f64 / contexts.max(1) as f64;

        let calls = |range: Range<usize>| {
            let mut cached = HashSet::new();
            asked[range].iter().map(|asked| self.call(asked, &mut cached)).collect::<Vec<_>>()
        };
        let mut ours = Bought::new();
        for (kind, range) in &self.made {
            ours.entry(*kind).or_default().extend(calls(range.clone()));
        }
        let months = days as f64 / 30.0;
        let saves: usize = self.saves.values().sum();
        println!("\n## Replay: {days} days, {saves} saves, {} notes in the end\n", status["vaults"][0]["notes"]);
        println!("| what | calls | contexts | tokens in | tokens out | dollars |\n|---|---|---|---|---|---|");
        self.row("first indexing, the daemon", &calls(0..first), 1.0);
        self.row("first indexing, nothing asked twice", expected[0], 1.0);
        self.row("first indexing, one call per note", expected[1], 1.0);

        let Policies { ideal, by_note, by_chunk, .. } = &self.policies;
        println!("\nThe edits, per 30 days:\n");
        let all = |bought: &Bought| bought.values().flatten().copied().collect::<Vec<_>>();
        // New notes cost the same by every rule.
        let but_new = |bought: &Bought| {
            let kept = bought.iter().filter(|(kind, _)| **kind != Some(Kind::New));
            kept.flat_map(|(_, calls)| calls).copied().collect::<Vec<_>>()
        };
        let saved: Vec<Call> = ours.iter().filter(|(kind, _)| kind.is_some()).flat_map(|(_, c)| c).copied().collect();
        let synced = ours.get(&None).cloned().unwrap_or_default();
        self.rates(
            months,
            [&all(ideal), &all(by_note)],
            &[
                ("**the daemon**", all(&ours)),
                ("of that, saves", saved),
                ("of that, drift (daily sync)", synced),
                ("ideal: new or renamed sections", all(ideal)),
                ("when the chunk's hash changed", all(by_chunk)),
                ("when the note's hash changed", all(by_note)),
                ("ideal, one call per save", all(&self.whole.ideal)),
                ("by the chunk's hash, one call per save", all(&self.whole.by_chunk)),
                ("by the note's hash, one call per save", all(&self.whole.by_note)),
            ],
        );
        println!("\nThe same without new notes, which every rule buys:\n");
        self.rates(
            months,
            [&but_new(ideal), &but_new(by_note)],
            &[
                ("**the daemon**", but_new(&ours)),
                ("ideal", but_new(ideal)),
                ("by the chunk's hash", but_new(by_chunk)),
                ("by the note's hash", but_new(by_note)),
                ("by the note's hash, one call per save", but_new(&self.whole.by_note)),
            ],
        );

        println!("\nCalls by what was done:\n");
        println!("| what | saves | the daemon | ideal | by chunk | by note |\n|---|---|---|---|---|---|");
        for kind in Kind::ALL {
            let of = |bought: &Bought| bought.get(&Some(kind)).map_or(0, Vec::len);
            let saves = self.saves.get(&kind).copied().unwrap_or(0);
            let (name, rest) = (kind.name(), [of(&ours), of(ideal), of(by_chunk), of(by_note)]);
            println!("| {name} | {saves} | {} |", rest.map(|n| n.to_string()).join(" | "));
        }

        let today = &after["today"];
        let spent = |field: &str| today[field].as_u64().unwrap_or(0) - before[field].as_u64().unwrap_or(0);
        println!(
            "\nThe ledger for the edits: {} calls ({} failed), {} contexts, {} tokens in, {} out, {}; {:.0?} in all",
            spent("calls"),
            spent("failed"),
            spent("contexts"),
            spent("tokens_in"),
            spent("tokens_out"),
            dollars(spent("micro_dollars")),
            self.began.elapsed()
        );
        let outcomes = self.client.call("stats", &json!({}))?["outcomes"].take();
        println!("What came of all answers, the first ones too: {outcomes}");
        println!("Left as it is: {} drifted, {} failed", status["contexts"]["drifted"], status["contexts"]["failed"]);
        let ledger = ["calls", "tokens_in", "tokens_out"].map(|field| today[field].as_u64().unwrap_or(0));
        ensure!(ledger == [asked.len() as u64, said_in, said_out], "the ledger says {ledger:?}, the server otherwise");
        let bodies = ours.get(&Some(Kind::Body)).map_or(0, Vec::len);
        ensure!(bodies == 0, "{bodies} calls for edits of bodies");
        drop(self.client);
        self.daemon.stop()
    }

    /// A table of rules, with what they cost over the two that are given first.
    fn rates(&self, months: f64, beside: [&[Call]; 2], rules: &[(&str, Vec<Call>)]) {
        let money = |calls: &[Call]| self.meter.sum(calls)[4] as f64;
        let [best, worst] = beside.map(|calls| money(calls).max(1.0));
        println!("| rule | calls | contexts | tokens in | tokens out | dollars | ÷ ideal | ÷ by the note's hash |");
        println!("|---|---|---|---|---|---|---|---|");
        for (name, bought) in rules {
            let ratio = |other: f64| format!("{:.3}", money(bought) / other);
            println!("{} {} | {} |", self.line(name, bought, months), ratio(best), ratio(worst));
        }
    }

    fn call(&self, asked: &Asked, cached: &mut HashSet<TextHash>) -> Call {
        let system = match &asked.body["system"] {
            Value::String(text) => text.clone(),
            blocks => blocks.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect(),
        };
        let request = Request {
            system: &system,
            document: &asked.document,
            task: &asked.task,
            contexts: asked.wanted.len() as u64,
            cache: asked.body["messages"].to_string().contains("cache_control"),
        };
        self.meter.call(request, cached)
    }

    fn row(&self, name: &str, calls: &[Call], months: f64) {
        println!("{}", self.line(name, calls, months));
    }

    fn line(&self, name: &str, calls: &[Call], months: f64) -> String {
        let [calls, contexts, input, output, micro] = self.meter.sum(calls).map(|n| n as f64 / months);
        format!("| {name} | {calls:.0} | {contexts:.0} | {input:.0} | {output:.0} | {:.4} |", micro / 1e6)
    }
}

/// Saves as editors do: beside, then over.
fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a note lies in a folder")?;
    std::fs::create_dir_all(folder)?;
    let beside = folder.join(".save.tmp");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)?;
    Ok(())
}
