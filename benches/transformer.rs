//! How fast a transformer is: passages of 128 tokens, a query of 12, and twenty pairs of 128 that are judged.
//! `SITUATED_TEST_MINILM=<folder of all-MiniLM-L6-v2> cargo bench --bench transformer`

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use provider::transformer::{CrossEncoder, TextRole, Transformer};
use serde_json::{Value, json};

/// Passages that are embedded together.
const TOGETHER: usize = 32;
/// What is printed is the median of so many.
const TIMES: usize = 15;

fn main() {
    let Some(folder) = std::env::var_os("SITUATED_TEST_MINILM").map(PathBuf::from) else {
        eprintln!("skipped: SITUATED_TEST_MINILM names no folder of all-MiniLM-L6-v2");
        return;
    };
    let begun = Instant::now();
    let mut model = Transformer::open(&folder).expect("a model");
    println!("open: {:.2} s; {}", begun.elapsed().as_secs_f64(), memory());
    if let Some(threads) = std::env::var("THREADS").ok().and_then(|n| n.parse().ok()) {
        model = model.with_threads(threads).expect("threads");
    }
    let passage = passage(&model, 128);
    let passages = vec![passage.as_str(); TOGETHER];
    let (begun, before) = (Instant::now(), processor());
    let seconds = median(|| drop(black_box(model.embed(&passages, TextRole::Document))));
    let each = (processor() - before) / (TIMES * TOGETHER) as f64;
    println!("processor time per passage: {:.1} ms, in {:.1} s in all", each * 1e3, begun.elapsed().as_secs_f64());
    println!("passages of 128 tokens, {TOGETHER} together: {:.1} per second", TOGETHER as f64 / seconds);
    let seconds = median(|| drop(black_box(model.embed(&passages[..1], TextRole::Document))));
    println!("passages of 128 tokens, one by one: {:.1} per second", 1.0 / seconds);
    let query = "how do I cancel my gym membership before next June";
    println!("tokens of the query: {}", model.count(query) + 2);
    let seconds = median(|| drop(black_box(model.embed(&[query], TextRole::Query))));
    println!("query: {:.2} ms", seconds * 1e3);
    println!("{}", memory());
    judged(&folder, query, &passage);
}

/// Passages that a search shows a reranker in this process.
const JUDGED: usize = 20;

/// A reranker of the same size. What it says is nonsense, for its head is made up; how long it takes is not.
fn judged(folder: &Path, query: &str, passage: &str) {
    let made = tempfile::tempdir().expect("a folder");
    for name in ["config.json", "tokenizer.json"] {
        std::fs::copy(folder.join(name), made.path().join(name)).expect("a file");
    }
    let file = std::fs::read(folder.join("model.safetensors")).expect("weights");
    let (length, rest) = file.split_first_chunk::<8>().expect("a length");
    let (header, body) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let mut header: Value = serde_json::from_slice(header).expect("a header");
    let mut body = body.to_vec();
    let width = header["embeddings.LayerNorm.weight"]["shape"][0].as_u64().expect("a width") as usize;
    for (name, shape) in [
        ("bert.pooler.dense.weight", vec![width, width]),
        ("bert.pooler.dense.bias", vec![width]),
        ("classifier.weight", vec![1, width]),
        ("classifier.bias", vec![1]),
    ] {
        let start = body.len();
        body.resize(start + 4 * shape.iter().product::<usize>(), 0);
        header[name] = json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, body.len()] });
    }
    let header = header.to_string();
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &body].concat();
    std::fs::write(made.path().join("model.safetensors"), file).expect("weights");
    let mut model = CrossEncoder::open(made.path()).expect("a reranker");
    if let Some(threads) = std::env::var("THREADS").ok().and_then(|n| n.parse().ok()) {
        model = model.with_threads(threads).expect("threads");
    }
    // Query, passage and what parts them come to 128 tokens.
    let (words, most) = (passage.split(' ').count(), query.split(' ').count() + 3);
    let passage: Vec<&str> = passage.split(' ').take(words - most).collect();
    let passages = vec![passage.join(" "); JUDGED];
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let before = processor();
    let seconds = median(|| drop(black_box(model.scores(query, &passages))));
    let each = (processor() - before) / TIMES as f64;
    println!("{JUDGED} pairs of 128 tokens judged: {:.0} ms, {:.0} ms of processor time", seconds * 1e3, each * 1e3);
}

/// A text of `tokens` tokens, with those that begin and end it.
fn passage(model: &Transformer, tokens: usize) -> String {
    let mut text = String::new();
    for word in
        "the shed in our garden needs a new roof before winter and nobody has time to paint it".split(' ').cycle()
    {
        let longer = format!("{text} {word}");
        if model.count(&longer) + 2 > tokens {
            return text;
        }
        text = longer;
    }
    text
}

/// Seconds that `work` takes.
fn median(work: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..TIMES)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[TIMES / 2]
}

/// Seconds that the process has computed, where the system says it (in hundredths).
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// What the process holds, where the system says it.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}
