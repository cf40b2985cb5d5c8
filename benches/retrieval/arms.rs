//! What contexts are worth: none, the template's, a model's, and both, lane by lane.
//!
//! The set carries contexts that a model wrote (`corpus_with_context.jsonl`: `context`, and `text` that begins
//! with it). A server on loopback says them to the daemon as if it were that model: it finds the record of a
//! passage by the words they share. So they go through the whole path: prompt, answer, quality gate, store.
//!
//! Over the socket there are two arms, the template's daemon and the model's. Without any context no daemon can
//! be had (`contextual: false` leaves them out of the lexical lane, but not out of the vectors), nor one with a
//! template before a good caption. So all four arms are also built from the library as the daemon builds its
//! index, with the contexts that the daemon wrote; the two that exist twice show that this is the same.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use context::Template;
use context::quality::GOOD;
use index::embed::builtin;
use index::eval::QueryMeasures;
use index::search;
use index::search::Options;
use index::{Index, Snapshot};
use note::VaultPath;
use note::chunk::{Chunk, ChunkConfig};
use note::{Note, NoteRules, parse};
use protocol::search::Mode;
use provider::Embedder;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::daemon::Daemon;
use crate::set::{Set, json_lines};
use crate::{EXE, MODES, common, model};

/// Of a passage's runs of three words, the share that a record must have to be the passage's.
const SHARED: f64 = 0.3;

#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    title: String,
    text: String,
    context: String,
}

/// The set's contexts, to be found by what passages say.
struct Records {
    /// Runs of words of a record, and its context.
    all: Vec<(HashSet<u64>, String)>,
    /// For every passage that was asked for, how many records could be its.
    found: Mutex<HashMap<u64, usize>>,
}

impl Records {
    fn read(dir: &Path) -> Result<Self> {
        let records: Vec<Record> = json_lines(&dir.join("corpus_with_context.jsonl"))?;
        let own = |record: &Record| {
            let text = record.text.strip_prefix(&record.context).unwrap_or(&record.text);
            (runs(&format!("{} {text}", record.title)), record.context.clone())
        };
        Ok(Records { all: records.iter().map(own).collect(), found: Mutex::new(HashMap::new()) })
    }

    /// The context of the record that shares most with a passage; empty if none shares enough.
    fn say(&self, passage: &str) -> String {
        let mine = runs(passage);
        let share = |theirs: &HashSet<u64>| mine.intersection(theirs).count() as f64 / mine.len().max(1) as f64;
        let mut near: Vec<(f64, &String)> = self.all.iter().map(|(runs, context)| (share(runs), context)).collect();
        near.retain(|(share, _)| *share >= SHARED);
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        if let Ok(mut found) = self.found.lock() {
            found.insert(hash(passage), near.len());
        }
        near.first().map(|(_, context)| (*context).clone()).unwrap_or_default()
    }
}

/// Every run of three words, whatever case they are in; the words where there are fewer.
fn runs(text: &str) -> HashSet<u64> {
    let words: Vec<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.windows(words.len().clamp(1, 3)).map(|run| hash(&run.join(" "))).collect()
}

fn hash(text: &str) -> u64 {
    let bytes = blake3::hash(text.as_bytes());
    bytes.as_bytes().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// One chunk as the daemon cuts it, with what may be said about it.
pub(crate) struct Cut {
    pub(crate) chunk: Chunk,
    pub(crate) template: String,
    /// What the daemon has for it from the model.
    written: Option<String>,
    weak: bool,
}

pub(crate) struct Page {
    pub(crate) note: Note,
    pub(crate) cuts: Vec<Cut>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    None,
    Template,
    Model,
    Both,
}

impl Arm {
    const ALL: [Arm; 4] = [Arm::None, Arm::Template, Arm::Model, Arm::Both];

    fn name(self) -> &'static str {
        match self {
            Arm::None => "none",
            Arm::Template => "template",
            Arm::Model => "model",
            Arm::Both => "template + model",
        }
    }

    /// What situates a chunk in this arm.
    fn context(self, cut: &Cut) -> String {
        let Cut { template, written, weak, .. } = cut;
        match (self, written) {
            (Arm::None, _) => String::new(),
            (Arm::Template, _) | (_, None) => template.clone(),
            // A weak caption has the template before it, in the product too.
            (Arm::Model, Some(written)) if !weak => written.clone(),
            (Arm::Model | Arm::Both, Some(written)) => format!("{template}\n{written}"),
        }
    }
}

/// Asks the set of every arm and prints the table.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let vault = home.path().join("vault");
    let set = Set::load(dir, &vault)?;

    let mut socket: BTreeMap<(&str, &str), QueryMeasures> = BTreeMap::new();
    let mut daemon = Daemon::start(EXE, &home.path().join("template"), &vault)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    for mode in MODES {
        socket.insert(("template", mode), crate::ask(&set, &mut client, mode, true)?.measures);
    }
    drop(client);
    daemon.stop()?;

    let records = Arc::new(Records::read(dir)?);
    let server = model::Model::start();
    let says = records.clone();
    server.captions(move |_, passage| Some(says.say(passage)));
    // Pages of one chunk too: an arm is to be one thing.
    let settings = format!("{}\n[budget]\nday = 100.0\n", server.config("anthropic", "llm_min_chunks = 1"));
    let mut daemon = Daemon::configured(EXE, &home.path().join("model"), &vault, &settings)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    let status = daemon.written(&mut client)?;
    for mode in MODES {
        socket.insert(("model", mode), crate::ask(&set, &mut client, mode, true)?.measures);
    }
    let reviewed = client.call("contexts.review", &json!({"sample": 1_000_000}))?["contexts"].take();
    let stats = client.call("stats", &json!({}))?;
    drop(client);
    daemon.stop()?;

    let pages = read(&vault, &reviewed)?;
    let cuts = || pages.iter().flat_map(|page| &page.cuts);
    let chunks = status["vaults"][0]["chunks"].as_u64().unwrap_or(0);
    ensure!(cuts().count() as u64 == chunks, "cut here into {}, by the daemon into {chunks}", cuts().count());
    let written = cuts().filter(|cut| cut.written.is_some()).count();
    ensure!(Some(written as u64) == stats["contextualized"].as_u64(), "{written} contexts placed: {stats}");

    println!("\n### {}: what contexts are worth ({} queries, {chunks} chunks)\n", set.name, set.queries().len());
    let found = records.found.lock().map(|found| found.clone()).unwrap_or_default();
    let with = |test: &dyn Fn(usize) -> bool| found.values().filter(|n| test(**n)).count();
    println!(
        "Passages asked for: {}; no record matches: {}; several do: {}. Chunks with a model's context: {written}, of \
         which {} weak (the template stands before them); with the template alone: {}. Calls: {}. What came of the \
         answers: {}\n",
        found.len(),
        with(&|n| n == 0),
        with(&|n| n > 1),
        cuts().filter(|cut| cut.weak).count(),
        chunks as usize - written,
        server.calls(),
        stats["outcomes"]
    );
    println!("| arm | lane | nDCG@10 | failures at 20 | R@5 | MRR@10 | over the socket: nDCG@10 | failures at 20 |");
    println!("|---|---|---|---|---|---|---|---|");
    for arm in Arm::ALL {
        let index = home.path().join(format!("index-{}", arm.name()));
        let snapshot = build(&index, &pages, arm)?;
        for mode in MODES {
            let m = ask(&set, &snapshot, mode)?;
            let there = socket.get(&(arm.name(), mode));
            let cells =
                there.map_or(" | ".to_owned(), |there| format!("{:.3} | {:.1} %", there.ndcg_10, failures(*there)));
            let (recall, mrr) = (m.recall_5, m.mrr_10);
            let (name, failed) = (arm.name(), failures(m));
            println!("| {name} | {mode} | {:.3} | {failed:.1} % | {recall:.3} | {mrr:.3} | {cells} |", m.ndcg_10);
        }
    }
    Ok(())
}

/// The share of what is relevant that is not among the first 20, in percent.
pub(crate) fn failures(measures: QueryMeasures) -> f64 {
    100.0 * (1.0 - measures.recall_20)
}

/// The vault's notes, cut and situated as the daemon does it.
pub(crate) fn read(vault: &Path, reviewed: &Value) -> Result<Vec<Page>> {
    let mut written: HashMap<(String, u64, u64), (String, f64)> = HashMap::new();
    for context in reviewed.as_array().into_iter().flatten() {
        let text = |field: &str| context[field].as_str().unwrap_or_default().to_owned();
        let line = |n: usize| context["lines"][n].as_u64().unwrap_or(0);
        let quality = context["quality"].as_f64().unwrap_or(0.0);
        written.insert((text("path"), line(0), line(1)), (text("context"), quality));
    }
    let mut pages = Vec::new();
    for file in common::notes(vault)? {
        let path = file.strip_prefix(vault)?.to_string_lossy().into_owned();
        let place = VaultPath::parse(&path).with_context(|| format!("no path of a vault: {path}"))?;
        let note = parse(&place, &std::fs::read(&file)?, &NoteRules::default());
        let chunks = index::chunk::cut(&note, &ChunkConfig::default());
        let template = Template::new(&note);
        let cut = |chunk: Chunk| {
            let lines = (path.clone(), u64::from(chunk.lines.0), u64::from(chunk.lines.1));
            let of = written.get(&lines);
            let weak = of.is_some_and(|(_, quality)| *quality < f64::from(GOOD));
            Cut { template: template.context(&chunk), chunk, written: of.map(|(text, _)| text.clone()), weak }
        };
        let cuts = chunks.into_iter().map(cut).collect();
        pages.push(Page { note, cuts });
    }
    Ok(pages)
}

pub(crate) fn build(dir: &Path, pages: &[Page], arm: Arm) -> Result<Arc<Snapshot>> {
    std::fs::create_dir_all(dir)?;
    let mut index = Index::open(dir, Embedder::Builtin.dimensions())?;
    for (no, Page { note, cuts }) in (1..).zip(pages) {
        let chunks: Vec<_> = cuts.iter().map(|cut| (&cut.chunk, arm.context(cut))).collect();
        common::library::put(&mut index, no, note, &chunks)?;
    }
    Ok(index.publish(pages.len() as u64)?)
}

pub(crate) fn ask(set: &Set, snapshot: &Snapshot, mode: &str) -> Result<QueryMeasures> {
    ask_of(snapshot, mode, set, &|path| Some(path.to_owned()))
}

/// The same where the set's notes lie in the folder of its name, beside others.
pub(crate) fn ask_within(set: &Set, snapshot: &Snapshot, mode: &str) -> Result<QueryMeasures> {
    let own = format!("{}/", set.name);
    ask_of(snapshot, mode, set, &|path| path.strip_prefix(&own).map(str::to_owned))
}

fn ask_of(snapshot: &Snapshot, mode: &str, set: &Set, own: &dyn Fn(&str) -> Option<String>) -> Result<QueryMeasures> {
    let mode = match mode {
        "lexical" => Mode::Lexical,
        "dense" => Mode::Dense,
        _ => Mode::Hybrid,
    };
    let options = Options { mode, limit: 100, per_note: set.per_note(), merge: false, ..Options::default() };
    let today = jiff::Zoned::now().date();
    let mut measures = Vec::new();
    for query in set.queries() {
        let parsed = search::parse(&query.text, today)?;
        let text = parsed.text();
        let vector = builtin::model().embed(&text);
        let familiarity = builtin::model().familiarity(&text);
        let options = Options { familiarity, ..options.clone() };
        let answer = search::search(snapshot, "notes", &parsed, Some(&vector), &options)?;
        let mut hits = Vec::new();
        for mut hit in answer.hits {
            // Another set's note is a hit as well, and nothing that this set judges.
            hit.path = own(&hit.path).unwrap_or_else(|| "/".to_owned());
            hits.push(serde_json::to_value(hit)?);
        }
        measures.push(QueryMeasures::of(&set.rank(&hits), &query.judged));
    }
    Ok(QueryMeasures::mean(&measures))
}
