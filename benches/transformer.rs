//! How fast a transformer is: passages of 128 tokens, and a query of 12. `SITUATED_TEST_MINILM=<folder of
//! all-MiniLM-L6-v2> cargo bench --features transformer --bench transformer`

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use provider::transformer::{TextRole, Transformer};

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
