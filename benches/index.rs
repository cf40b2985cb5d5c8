//! The index alone, on a generated vault: 100,000 chunks of 256 dimensions, words by Zipf's law.
//!
//! `cargo bench --bench index`; `SITUATED_BENCH_CHUNKS` chooses another size. Criterion measures what is
//! done often, in CPU time of the thread where the system tells it, so that a busy machine does not blur it;
//! what is done once (building, restarting) is timed by hand and printed.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use index::embed::Vector;
use index::{ChunkDoc, ChunkEntry, Index, LexicalQuery, NoteEntry, Row, Said, Snapshot, WindowVector};
use note::VaultPath;
use note::fingerprint::{chunk_id, section_key};

const DIMENSIONS: usize = 256;
const CHUNKS_PER_NOTE: u32 = 5;
const WORDS_PER_CHUNK: usize = 120;
const WORDS_PER_CONTEXT: usize = 25;
const VOCABULARY: usize = 60_000;

/// A small generator of numbers (xorshift64*), so that every run sees the same vault.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// 0..1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The rank of a word, about as often as in English: the first is one word in twenty.
    fn rank(&mut self) -> usize {
        ((VOCABULARY as f64).powf(self.unit()) - 1.0) as usize
    }
}

/// A pronounceable word for a rank; frequent words are short.
fn word(rank: usize) -> String {
    const SYLLABLES: [&str; 20] = [
        "ka", "to", "mi", "ren", "sol", "va", "di", "nor", "pe", "lu", "gat", "bri", "sho", "en", "ur", "fil", "cra",
        "wem", "jo", "zin",
    ];
    let (mut rest, mut word) = (rank + 1, String::new());
    while rest > 0 {
        word.push_str(SYLLABLES[rest % 20]);
        rest /= 20;
    }
    word
}

struct Generator {
    random: Random,
    words: Vec<String>,
}

impl Generator {
    fn text(&mut self, words: usize) -> String {
        let mut text = String::new();
        for _ in 0..words {
            text.push_str(&self.words[self.random.rank()]);
            text.push(if self.random.unit() < 0.1 { '.' } else { ' ' });
            if text.ends_with('.') {
                text.push(' ');
            }
        }
        text
    }

    fn vector(&mut self) -> Vector {
        let values: Box<[i8]> = (0..DIMENSIONS)
            .map(|_| ((self.random.next() >> 40) % 255) as i32 as u8 as i8)
            .map(|v| v.max(-127))
            .collect();
        let length = values.iter().map(|&v| f32::from(v) * f32::from(v)).sum::<f32>().sqrt();
        Vector { values, scale: length.recip() }
    }

    fn note(&mut self, no: u32, seq: u64) -> (NoteEntry, Vec<ChunkDoc>) {
        let title = self.text(4);
        let path = VaultPath::parse(&format!("folder{}/note {no}.md", no % 40)).expect("a path of the vault");
        let chunks = (0..CHUNKS_PER_NOTE).map(|position| {
            let text = self.text(WORDS_PER_CHUNK);
            let entry = ChunkEntry {
                id: chunk_id(path.as_str(), section_key([], 0), position),
                note: no,
                position,
                span: (0, text.len() as u32),
                lines: (1, 9),
            };
            ChunkDoc {
                entry,
                heading_path: [title.clone(), self.text(3)].iter().collect(),
                searchable: text.clone(),
                text,
                context: self.text(WORDS_PER_CONTEXT),
                expansion: String::new(),
                windows: vec![self.vector().into()],
            }
        });
        let chunks = chunks.collect();
        let (tags, links) = (["area/work".to_owned()], [no / 2, no / 3].map(|no| format!("note {no}")));
        let texts = Said { title: &title, tags: &tags, links: &links, ..Said::default() }.pack();
        let note = NoteEntry { texts, ..NoteEntry::new(no, seq, path) };
        (note, chunks)
    }
}

/// CPU time of this thread so far.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// CPU time of the process so far, to a hundredth of a second.
fn process_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text.rsplit(')').next().map_or(0, |rest| {
        let fields: Vec<u64> = rest.split_whitespace().skip(11).take(2).filter_map(|f| f.parse().ok()).collect();
        fields.iter().sum()
    });
    Duration::from_millis(ticks * 10)
}

/// Long samples, because the system counts CPU time in steps of some milliseconds.
fn measure<T>(criterion: &mut Criterion, name: &str, mut work: impl FnMut() -> T) {
    let (lane, name) = name.split_once('/').unwrap_or(("other", name));
    let mut group = criterion.benchmark_group(lane);
    group.sampling_mode(SamplingMode::Flat).sample_size(10).measurement_time(Duration::from_secs(2));
    group.bench_function(name, |b| {
        b.iter_custom(|times| {
            let (wall, before) = (Instant::now(), cpu());
            for _ in 0..times {
                black_box(work());
            }
            cpu().zip(before).map_or_else(|| wall.elapsed(), |(now, before)| now.saturating_sub(before))
        });
    });
    group.finish();
}

/// Resident memory in MiB: all, and without mapped files.
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    (field("VmRSS:"), field("RssAnon:"))
}

fn build(dir: &std::path::Path, notes: u32, generator: &mut Generator) -> (Index, Arc<Snapshot>) {
    let mut index = Index::open(dir, DIMENSIONS).expect("an index");
    index.begin_bulk(|| ()).expect("bulk mode");
    let (whole, mut generating) = (process_cpu(), Duration::ZERO);
    let (mut bytes, mut spent) = (0, Duration::ZERO);
    for no in 1..=notes {
        let before = cpu().unwrap_or_default();
        let (note, chunks) = generator.note(no, u64::from(no));
        generating += cpu().unwrap_or_default().saturating_sub(before);
        bytes += chunks.iter().map(|c| c.text.len()).sum::<usize>();
        let start = Instant::now();
        index.put(note, chunks).expect("a put");
        spent += start.elapsed();
    }
    let start = Instant::now();
    index.publish(u64::from(notes)).expect("a snapshot");
    index.end_bulk().expect("single mode");
    let snapshot = index.publish(u64::from(notes)).expect("a snapshot");
    spent += start.elapsed();
    let rate = bytes as f64 / 1e6 / spent.as_secs_f64();
    println!(
        "build: {} chunks, {} MB of text in {spent:.2?}: {rate:.1} MB/s, {} segments",
        snapshot.chunk_count(),
        bytes / 1_000_000,
        index.segments()
    );
    println!("CPU of the build, all threads: {:.2?}", process_cpu().saturating_sub(whole + generating));
    println!("resident after build (all, anonymous): {:?} MiB", resident());
    (index, snapshot)
}

fn restart(dir: &std::path::Path, snapshot: Arc<Snapshot>) -> (Index, Arc<Snapshot>) {
    let notes = snapshot.notes().map(|note| {
        let chunk = |row: Row| {
            snapshot
                .chunk(row)
                .map(|chunk| (chunk.clone(), snapshot.vectors(row).into_iter().map(WindowVector::from).collect()))
        };
        ((**note).clone(), note.rows.iter().filter_map(chunk).collect::<Vec<_>>())
    });
    let notes: Vec<_> = notes.collect();
    drop(snapshot);
    let start = Instant::now();
    let mut index = Index::open(dir, DIMENSIONS).expect("an index");
    let opened = start.elapsed();
    let cpu_open = cpu();
    let lagging =
        notes.into_iter().map(|(note, chunks)| index.load(note, chunks)).filter(|has_words| !has_words).count();
    if let Some((now, before)) = cpu().zip(cpu_open) {
        println!("loading the tables: {:.2?} of CPU", now.saturating_sub(before));
    }
    let dropped = index.drop_unknown().expect("dropped");
    let snapshot = index.publish(1).expect("a snapshot");
    println!("restart: open {opened:.2?}, all {:.2?}; {lagging} lag, {dropped} dropped", start.elapsed());
    (index, snapshot)
}

fn query(words: &str) -> LexicalQuery {
    LexicalQuery { words: words.to_owned(), contextual: true, ..LexicalQuery::default() }
}

fn searches(criterion: &mut Criterion, snapshot: &Snapshot, target: &Vector) {
    // As deep as a search asks.
    let exact = snapshot.exact();
    measure(criterion, "dense/all", || snapshot.dense(target, None, 300));
    measure(criterion, "dense/all, looked at once", || exact.dense(target, None, 300));
    measure(criterion, "dense/one in ten allowed", || snapshot.dense(target, Some(&|row| row % 10 == 0), 300));
    let some: Vec<Row> = (0..snapshot.rows() as Row).step_by(50).collect();
    measure(criterion, "dense/one in fifty, looked at one by one", || snapshot.dense_among(target, &some, 300));
    let w = word;
    let queries = [
        ("1 frequent", w(5)),
        ("3 rare", format!("{} {} {}", w(20_000), w(30_000), w(40_000))),
        ("3 middling", format!("{} {} {}", w(500), w(900), w(2000))),
        ("3 frequent", format!("{} {} {}", w(3), w(8), w(20))),
        ("8 mixed", [30, 60, 200, 700, 1500, 4000, 9000, 25_000].map(w).join(" ")),
    ];
    for (name, words) in &queries {
        for (contextual, suffix) in [(true, ""), (false, " without contexts")] {
            let query = LexicalQuery { contextual, ..query(words) };
            measure(criterion, &format!("lexical/{name}{suffix}"), || snapshot.lexical(&query, &|_| true, 100));
        }
    }
    let phrase = LexicalQuery { phrases: vec![format!("{} {}", w(3), w(8))], ..query("") };
    measure(criterion, "lexical/phrase", || snapshot.lexical(&phrase, &|_| true, 100));
    for (name, words) in [("a beginning of 2 letters", "ka"), ("a beginning of 4 letters", "kato")] {
        let query = LexicalQuery { prefix: true, ..query(&format!("{} {words}", w(500))) };
        measure(criterion, &format!("lexical/{name}"), || snapshot.lexical(&query, &|_| true, 100));
    }
    let slip = query(&format!("{} {}q", w(500), w(2000)));
    measure(criterion, "lexical/a slip", || snapshot.lexical(&slip, &|_| true, 100));
    let mut row = 0;
    measure(criterion, "text of a chunk", || {
        row = (row + 7919) % snapshot.rows() as Row;
        snapshot.text(row).is_ok()
    });
    let hits = snapshot.lexical(&query(&queries[2].1), &|_| true, 30).expect("hits");
    measure(criterion, "texts of 30 hits again", || hits.iter().filter(|hit| snapshot.text(hit.0).is_ok()).count());
    let from = snapshot.notes().next().expect("a note").path.clone();
    measure(criterion, "resolve a link", || snapshot.resolve("note 77", &from));
}

/// Saves one by one, as a user does; printed by hand, because the work is spread over threads.
fn saves(index: &mut Index, notes: u32, generator: &mut Generator) {
    let (before, mut times) = (process_cpu(), Vec::new());
    for seq in (u64::from(notes) + 1..).take(200) {
        let no = (generator.random.next() % u64::from(notes)) as u32 + 1;
        let (note, chunks) = generator.note(no, seq);
        let start = Instant::now();
        index.put(note, chunks).expect("a put");
        black_box(index.publish(seq).expect("a snapshot"));
        times.push(start.elapsed());
    }
    times.sort_unstable();
    println!(
        "save (put one note and publish): wall p50 {:.2?}, p99 {:.2?}; CPU of all threads, merges included: {:.2?} each; {} segments after",
        times[100],
        times[198],
        process_cpu().saturating_sub(before) / 200,
        index.segments()
    );
}

fn main() {
    let chunks: u32 = std::env::var("SITUATED_BENCH_CHUNKS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    let notes = (chunks / CHUNKS_PER_NOTE).max(2);
    let mut generator = Generator { random: Random(42), words: (0..VOCABULARY).map(word).collect() };
    let dir = tempfile::tempdir().expect("a folder");
    let (index, snapshot) = build(dir.path(), notes, &mut generator);
    drop(index);
    let (mut index, snapshot) = restart(dir.path(), snapshot);
    println!("resident (all, anonymous): {:?} MiB", resident());

    let mut criterion = Criterion::default().configure_from_args();
    let target = generator.vector();
    searches(&mut criterion, &snapshot, &target);
    drop(snapshot);
    saves(&mut index, notes, &mut generator);
    println!("resident (all, anonymous): {:?} MiB", resident());
    let start = Instant::now();
    index.sync().expect("synced");
    println!("sync: {:.2?}", start.elapsed());
    criterion.final_summary();
}
