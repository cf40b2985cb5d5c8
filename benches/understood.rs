//! Questions made by a seeded program to see what the search understands of them:
//!
//! ```text
//! cargo bench --bench understood -- symbols DIR [DIR…] [--exe PROGRAM] [--seed N]
//! cargo bench --bench understood -- slips DIR [DIR…] [--exe PROGRAM] [--seed N]
//! cargo bench --bench understood -- dates [--exe PROGRAM] [--seed N]
//! ```
//!
//! `symbols` asks for names with symbols (`C++`, `br_if`, `.NET`, paths) that stand in one to three notes of a set's vault;
//! relevant are the notes that have the very name. `slips` asks for single long words of
//! the notes, as they are and misspelt, by words alone, and says how long that takes. `dates` asks the sample vault for a word that stands in several daily
//! notes and a time in words; relevant are the notes of that time with the word; with and without times read. `--exe` asks
//! another program, to compare.

mod common;
#[path = "retrieval/typos.rs"]
mod typos;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use common::daemon::{Client, Daemon};
use common::option;
use common::rng::Rng;
use index::eval::{QueryMeasures, Relevance};
use jiff::civil::Date;
use serde_json::{Value, json};

/// Questions of a set at most.
const MOST: usize = 200;

/// Notes that a name with symbols stands in at most.
const RARE: usize = 3;

/// A question, and the notes that are relevant.
struct Question {
    text: String,
    relevant: BTreeSet<String>,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let exe = option(&args, "--exe");
    let seed = option(&args, "--seed");
    let mut rng = Rng::new(seed.as_deref().unwrap_or("1").parse()?);
    let valued = |arg: &&String| Some(*arg) != exe.as_ref() && Some(*arg) != seed.as_ref();
    let mut words = args.iter().filter(|arg| !arg.starts_with("--")).filter(valued);
    let program = exe.as_deref().unwrap_or(env!("CARGO_BIN_EXE_situated"));
    match words.next().map(String::as_str) {
        Some("symbols") => {
            for dir in words {
                symbols(program, Path::new(dir), &mut rng)?;
            }
        }
        Some("slips") => {
            for dir in words {
                slips(program, Path::new(dir), &mut rng)?;
            }
        }
        Some("dates") => dates(program, &mut rng)?,
        Some(other) => bail!("`{other}` is none of `symbols`, `slips` and `dates`"),
        None => println!("understood: say `symbols DIR`, `slips DIR` or `dates`"),
    }
    Ok(())
}

fn name_of(dir: &Path) -> Result<String> {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).context("a folder has a name")
}

/// The notes of a folder by their paths in it.
fn notes(dir: &Path) -> Result<BTreeMap<String, String>> {
    let read = |file: std::path::PathBuf| {
        let path = file.strip_prefix(dir).unwrap_or(&file).to_string_lossy().into_owned();
        Ok((path, String::from_utf8_lossy(&std::fs::read(&file)?).into_owned()))
    };
    common::notes(dir)?.into_iter().map(read).collect()
}

fn symbols(program: &str, dir: &Path, rng: &mut Rng) -> Result<()> {
    let vault = dir.join("vault");
    let mut of_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in notes(&vault)? {
        for name in text.split_whitespace().filter_map(name_with_symbols) {
            of_name.entry(name.to_owned()).or_default().insert(path.clone());
        }
    }
    let rare = of_name.into_iter().filter(|(_, notes)| notes.len() <= RARE);
    let all: Vec<Question> = rare.map(|(text, relevant)| Question { text, relevant }).collect();
    let asked = drawn(all, rng);
    let name = name_of(dir)?;
    with_daemon(program, &vault, |client| {
        println!("| {name}: names with symbols | {} | {} |", asked.len(), cells(measure(client, &asked, &json!({}))?));
        Ok(())
    })
}

/// A name of letters with symbols in it or at its ends, as it stands in running text; `None` for other words.
fn name_with_symbols(word: &str) -> Option<&str> {
    let quotes = |c: char| "()[]{}<>\"'`*,;:!?|=“”‘’".contains(c);
    let name = word.trim_matches(quotes).trim_end_matches(['.', '/', '-', '_']).trim_matches(quotes);
    let known = |c: char| c.is_ascii_alphanumeric() || "+#._/-".contains(c);
    let letters = name.chars().filter(char::is_ascii_alphabetic).count();
    let has_symbol = name.chars().any(|c| "+#._/".contains(c));
    let fits = (2..=40).contains(&name.len()) && !name.contains("//") && !name.contains("..") && !name.starts_with('#');
    (fits && letters > 0 && has_symbol && name.chars().all(known)).then_some(name)
}

fn slips(program: &str, dir: &Path, rng: &mut Rng) -> Result<()> {
    let vault = dir.join("vault");
    let mut all: BTreeSet<String> = BTreeSet::new();
    for text in notes(&vault)?.values() {
        let words = text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
        all.extend(words.map(str::to_lowercase));
    }
    let long: Vec<&String> = all.iter().filter(|word| word.len() >= 8).collect();
    let drawn: Vec<&str> = (0..MOST).map(|_| rng.pick(&long).as_str()).collect();
    let name = name_of(dir)?;
    with_daemon(program, &vault, |client| {
        let mut time = |texts: Vec<String>| -> Result<(f64, f64)> {
            let mut timed =
                |text: &String| client.timed("search", &json!({"query": text, "mode": "lexical", "limit": 1}));
            let times = texts.iter().map(|text| timed(text).map(|(ms, _)| ms)).collect::<Result<Vec<f64>>>()?;
            Ok((common::percentile(&times, 50.0), common::percentile(&times, 95.0)))
        };
        let right = time(drawn.iter().map(|word| (*word).to_owned()).collect())?;
        let wrong = time(drawn.iter().map(|word| typos::misspelt(word, rng)).collect())?;
        println!(
            "| {name}, {} words | p50 {:.2} ms, p95 {:.2} | misspelt p50 {:.2} ms, p95 {:.2} |",
            all.len(),
            right.0,
            right.1,
            wrong.0,
            wrong.1
        );
        Ok(())
    })
}

fn dates(program: &str, rng: &mut Rng) -> Result<()> {
    let vault = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vault");
    let mut days: BTreeMap<Date, (String, BTreeSet<String>)> = BTreeMap::new();
    for (path, text) in notes(&vault)? {
        let day = Path::new(&path).file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let Some(day) = day {
            let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 4).map(str::to_lowercase);
            days.insert(day, (path, words.collect()));
        }
    }
    let mut of_word: BTreeMap<&str, Vec<Date>> = BTreeMap::new();
    for (day, (_, words)) in &days {
        for word in words {
            of_word.entry(word).or_default().push(*day);
        }
    }
    let mut all = Vec::new();
    for (word, known) in of_word.iter().filter(|(_, days)| days.len() >= 3) {
        for day in known {
            let (said, first, last) = said(*day, rng);
            let within = known.iter().filter(|day| (first..=last).contains(*day));
            let relevant = within.map(|day| days[day].0.clone()).collect();
            all.push(Question { text: format!("{word} {said}"), relevant });
        }
    }
    let asked = drawn(all, rng);
    with_daemon(program, &vault, |client| {
        for (name, more) in [("times read", json!({})), ("not read", json!({"boosts": {"date": 0.0}}))] {
            println!("| daily notes, {name} | {} | {} |", asked.len(), cells(measure(client, &asked, &more)?));
        }
        Ok(())
    })
}

/// A day in words, and the first and last day that they mean.
fn said(day: Date, rng: &mut Rng) -> (String, Date, Date) {
    match rng.below(5) {
        0 => (day.strftime("on %-d %B %Y").to_string(), day, day),
        1 => (day.strftime("on %B %-d").to_string(), day, day),
        2 => (day.to_string(), day, day),
        3 => (day.strftime("am %-d.%-m.%Y").to_string(), day, day),
        _ => (day.strftime("in %B %Y").to_string(), day.first_of_month(), day.last_of_month()),
    }
}

/// At most [`MOST`] of the questions, by lot.
fn drawn(mut all: Vec<Question>, rng: &mut Rng) -> Vec<Question> {
    let mut asked = Vec::new();
    while asked.len() < MOST && !all.is_empty() {
        asked.push(all.swap_remove(rng.below(all.len())));
    }
    asked
}

/// Runs the program on a copy of a vault.
fn with_daemon(program: &str, vault: &Path, ask: impl FnOnce(&mut Client) -> Result<()>) -> Result<()> {
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let copy = home.path().join("vault");
    common::copy(vault, &copy)?;
    let mut daemon = Daemon::start(program, home.path(), &copy)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    ask(&mut client)?;
    drop(client);
    daemon.stop()
}

fn measure(client: &mut Client, asked: &[Question], more: &Value) -> Result<QueryMeasures> {
    let mut measures = Vec::new();
    for question in asked {
        let mut params = json!({"query": question.text, "limit": 20, "per_note": 1});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        let answer = client.call("search", &params)?;
        let hits = answer["hits"].as_array().map_or(&[][..], Vec::as_slice);
        let ranked: Vec<String> = hits.iter().filter_map(|hit| Some(hit["path"].as_str()?.to_owned())).collect();
        let relevant: Relevance = question.relevant.iter().map(|path| (path.clone(), 1.0)).collect();
        measures.push(QueryMeasures::of(&ranked, &relevant));
    }
    Ok(QueryMeasures::mean(&measures))
}

/// Recall at 5 and 20, MRR@10 and nDCG@10.
fn cells(measures: QueryMeasures) -> String {
    let QueryMeasures { recall_5, recall_20, mrr_10, ndcg_10 } = measures;
    [recall_5, recall_20, mrr_10, ndcg_10].map(|measure| format!("{measure:.3}")).join(" | ")
}
