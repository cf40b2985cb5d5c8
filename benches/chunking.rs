//! How well each strategy cuts: of what is retrieved, how much is what was asked for.
//!
//! ```text
//! cargo bench --bench chunking -- DIR [DIR…] [--way STRATEGY:TARGET:MIN:MAX:OVERLAP]…
//! ```
//!
//! Each DIR holds `queries.jsonl`, `vault/`, and `spans.jsonl` with the places that answer each query: either
//! `corpus` (a note's name) and `references` (characters `start..end` of it), or `passage` (of `corpus.jsonl`) and
//! `answers` (`answer_start` in it). The vault is cut in each way, indexed through the library with the template's
//! contexts, and asked by hybrid search; `--way` asks of other sizes instead.
//!
//! Recall, precision and intersection over union are of tokens, as in "Evaluating Chunking Strategies for Retrieval"
//! (Chroma, 2024): what overlapping chunks repeat counts as retrieved each time, and as relevant once. Chunks of
//! unlike sizes are compared twice: the first five, which favours large ones in recall and small ones in precision,
//! and as many as make up [`BUDGET`] tokens (the last one cut off there), which favours none.

mod common;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use context::Template;
use index::embed::builtin;
use index::search;
use index::search::Options;
use index::{Index, Snapshot};
use note::VaultPath;
use note::chunk::{Chunk, ChunkConfig, Strategy};
use note::{Note, NoteRules, parse};
use protocol::search::Mode;
use provider::Embedder;
use serde::Deserialize;

/// Chunks at most, where they are counted.
const FIRST: usize = 5;
/// Tokens at most, where those are counted.
const BUDGET: usize = 1000;

fn main() -> Result<()> {
    check();
    let mut ways = Vec::new();
    let mut dirs = Vec::new();
    // Cargo adds `--bench` of its own.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        if arg == "--way" {
            ways.push(way(&args.next().context("--way needs STRATEGY:TARGET:MIN:MAX:OVERLAP")?)?);
        } else {
            dirs.push(PathBuf::from(arg));
        }
    }
    if dirs.is_empty() {
        println!("chunking: give the folders of one or more sets with spans.jsonl");
    }
    if ways.is_empty() {
        let fixed =
            |target, overlap_percent| ChunkConfig { target, overlap_percent, ..ChunkConfig::of(Strategy::Fixed) };
        ways.extend([fixed(200, 0), fixed(400, 0), fixed(800, 0), fixed(500, 15)]);
        ways.extend(Strategy::ALL.iter().copied().filter(|s| *s != Strategy::Fixed).map(ChunkConfig::of));
    }
    dirs.iter().try_for_each(|dir| run(dir, &ways))
}

/// `sentence:250:60:500:15`.
fn way(text: &str) -> Result<ChunkConfig> {
    let fields: Vec<&str> = text.split(':').collect();
    let [name, target, min, max, overlap] = fields[..] else {
        bail!("`{text}` is not STRATEGY:TARGET:MIN:MAX:OVERLAP")
    };
    let strategy = Strategy::ALL.iter().copied().find(|s| s.name() == name);
    Ok(ChunkConfig {
        strategy: strategy.with_context(|| format!("`{name}` is no strategy"))?,
        target: target.parse()?,
        min: min.parse()?,
        max: max.parse()?,
        overlap_percent: overlap.parse()?,
    })
}

/// A note and where its tokens begin.
struct Page {
    note: Note,
    tokens: Vec<u32>,
}

impl Page {
    /// The tokens that begin in these bytes.
    fn tokens(&self, span: &Range<usize>) -> Range<usize> {
        let first = |position: usize| self.tokens.partition_point(|start| (*start as usize) < position);
        first(span.start)..first(span.end)
    }
}

/// A query and the tokens that answer it: index of the page, index of the token.
struct Query {
    text: String,
    relevant: HashSet<(usize, usize)>,
}

fn run(dir: &Path, ways: &[ChunkConfig]) -> Result<()> {
    let pages = pages(&dir.join("vault"))?;
    let queries = queries(dir, &pages)?;
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    println!("\n### {name} ({} notes, {} queries)\n", pages.len(), queries.len());
    println!(
        "| strategy | target min max overlap | chunks | mean tokens | first {FIRST}: recall | precision | IoU | {BUDGET} tokens: recall | precision | IoU |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for config in ways {
        let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
        let cuts: Vec<Vec<Chunk>> = pages.iter().map(|page| index::chunk::cut(&page.note, config)).collect();
        let snapshot = index(home.path(), &pages, &cuts)?;
        let places: HashMap<String, (usize, Range<usize>)> = cuts
            .iter()
            .enumerate()
            .flat_map(|(page, chunks)| {
                chunks.iter().map(move |chunk| (chunk.id.to_string(), (page, chunk.span.clone())))
            })
            .collect();
        let (mut first, mut budget) = (Measures::default(), Measures::default());
        for query in &queries {
            let found = ask(&snapshot, &query.text)?;
            let ranked: Vec<(usize, Range<usize>)> = found
                .iter()
                .filter_map(|id| places.get(id))
                .map(|(page, span)| (*page, pages[*page].tokens(span)))
                .collect();
            first.add(&ranked[..ranked.len().min(FIRST)], &query.relevant);
            budget.add(&within(&ranked, BUDGET), &query.relevant);
        }
        let chunks = cuts.iter().flatten().count();
        let tokens: u32 = cuts.iter().flatten().map(|chunk| chunk.tokens).sum();
        let ChunkConfig { strategy, target, min, max, overlap_percent } = config;
        let sizes = match strategy {
            Strategy::Fixed => format!("{target} {overlap_percent} %"),
            _ => format!("{target} {min} {max} {overlap_percent} %"),
        };
        let mean = f64::from(tokens) / chunks.max(1) as f64;
        println!("| {} | {sizes} | {chunks} | {mean:.0} | {} | {} |", strategy.name(), first.cells(), budget.cells());
    }
    Ok(())
}

fn pages(vault: &Path) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    for file in common::notes(vault)? {
        let path = file.strip_prefix(vault)?.to_string_lossy().into_owned();
        let place = VaultPath::parse(&path).with_context(|| format!("no path of a vault: {path}"))?;
        let note = parse(&place, &std::fs::read(&file)?, &NoteRules::default());
        let tokens = builtin::model().token_starts(&note.text);
        pages.push(Page { note, tokens });
    }
    Ok(pages)
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct Spans {
    #[serde(rename = "_id")]
    id: String,
    corpus: Option<String>,
    #[serde(default)]
    references: Vec<Reference>,
    passage: Option<String>,
    #[serde(default)]
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Reference {
    start: usize,
    content: String,
}

#[derive(Deserialize)]
struct Answer {
    answer_start: usize,
    text: String,
}

fn queries(dir: &Path, pages: &[Page]) -> Result<Vec<Query>> {
    let mut texts: HashMap<String, String> =
        lines(&dir.join("queries.jsonl"))?.into_iter().map(|l: Line| (l.id, l.text)).collect();
    let passages: HashMap<String, String> =
        lines(&dir.join("corpus.jsonl"))?.into_iter().map(|l: Line| (l.id, l.text)).collect();
    let mut queries = Vec::new();
    for Spans { id, corpus, references, passage, answers } in lines(&dir.join("spans.jsonl"))? {
        // The page, where its characters are counted from, and how many of them it does not have.
        let (page, base, blanks) = if let Some(name) = &corpus {
            let page = pages.iter().position(|page| page.note.path.stem() == name);
            (page.with_context(|| format!("{id}: there is no note {name}"))?, 0, 0)
        } else {
            let text =
                passage.and_then(|passage| passages.get(&passage)).with_context(|| format!("{id}: no passage"))?;
            // Blanks before it count in the answers' places, and stand in no note.
            let blanks = text.chars().take_while(|c| c.is_whitespace()).count();
            let found = |(i, page): (usize, &Page)| page.note.text.find(text.trim()).map(|at| (i, at, blanks));
            pages.iter().enumerate().find_map(found).with_context(|| format!("{id}: its passage is in no note"))?
        };
        let answers = answers.into_iter().map(|a| (a.answer_start, a.text));
        let mut relevant = HashSet::new();
        for (start, text) in references.into_iter().map(|r| (r.start, r.content)).chain(answers) {
            let rest = &pages[page].note.text[base..];
            let start = base + rest.char_indices().nth(start.saturating_sub(blanks)).map_or(rest.len(), |(at, _)| at);
            ensure!(
                pages[page].note.text[start..].starts_with(&text),
                "{id}: the answer does not stand where it should"
            );
            relevant.extend(pages[page].tokens(&(start..start + text.len())).map(|token| (page, token)));
        }
        let text = texts.remove(&id).with_context(|| format!("{id}: no such query"))?;
        if !relevant.is_empty() {
            queries.push(Query { text, relevant });
        }
    }
    Ok(queries)
}

fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).with_context(|| path.display().to_string())).collect()
}

fn index(dir: &Path, pages: &[Page], cuts: &[Vec<Chunk>]) -> Result<std::sync::Arc<Snapshot>> {
    let mut index = Index::open(dir, Embedder::Builtin.dimensions())?;
    for (no, (Page { note, .. }, chunks)) in (1..).zip(pages.iter().zip(cuts)) {
        let template = Template::new(note);
        let docs: Vec<_> = chunks.iter().map(|chunk| (chunk, template.context(chunk))).collect();
        common::library::put(&mut index, no, note, &docs)?;
    }
    Ok(index.publish(pages.len() as u64)?)
}

/// The ids of what is found, best first.
fn ask(snapshot: &Snapshot, query: &str) -> Result<Vec<String>> {
    let options = Options { mode: Mode::Hybrid, limit: 100, per_note: 100, window_chars: 0, ..Options::default() };
    let parsed = search::parse(query, jiff::Zoned::now().date())?;
    let vector = builtin::model().embed(&parsed.text());
    let answer = search::search(snapshot, "notes", &parsed, Some(&vector), &options)?;
    Ok(answer.hits.into_iter().map(|hit| hit.chunk).collect())
}

/// The first chunks, as many tokens of them as are allowed.
fn within(ranked: &[(usize, Range<usize>)], mut tokens: usize) -> Vec<(usize, Range<usize>)> {
    let mut taken = Vec::new();
    for (page, span) in ranked {
        let length = span.len().min(tokens);
        taken.push((*page, span.start..span.start + length));
        tokens -= length;
        if tokens == 0 {
            break;
        }
    }
    taken
}

/// Sums over queries.
#[derive(Default)]
struct Measures {
    queries: usize,
    recall: f64,
    precision: f64,
    iou: f64,
}

impl Measures {
    fn add(&mut self, retrieved: &[(usize, Range<usize>)], relevant: &HashSet<(usize, usize)>) {
        let all: usize = retrieved.iter().map(|(_, span)| span.len()).sum();
        let found: HashSet<(usize, usize)> =
            retrieved.iter().flat_map(|(page, span)| span.clone().map(|token| (*page, token))).collect();
        let both = found.intersection(relevant).count();
        let share = |whole: usize| both as f64 / whole.max(1) as f64;
        self.queries += 1;
        self.recall += share(relevant.len());
        self.precision += share(all);
        self.iou += share(relevant.len() + all - both);
    }

    /// In percent.
    fn cells(&self) -> String {
        let mean = |sum: f64| 100.0 * sum / self.queries.max(1) as f64;
        format!("{:.1} | {:.2} | {:.2}", mean(self.recall), mean(self.precision), mean(self.iou))
    }
}

/// Compares with values computed by hand, before anything is measured.
fn check() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    let relevant: HashSet<(usize, usize)> = (10..20).map(|token| (0, token)).collect();
    let mut m = Measures::default();
    // Twenty retrieved, five of them relevant; another page's tokens are others; two are repeated.
    m.add(&[(0, 15..25), (1, 10..18), (0, 15..17)], &relevant);
    near(m.recall, 0.5);
    near(m.precision, 0.25);
    near(m.iou, 5.0 / 25.0);
    assert_eq!(within(&[(0, 0..4), (1, 5..9), (2, 0..9)], 6), [(0, 0..4), (1, 5..7)]);
}
