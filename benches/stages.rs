//! What a first index costs, stage by stage, in CPU time, beside what its parts cost at best: for whoever wants to know where
//! the time goes and has no profiler.
//!
//! ```text
//! cargo bench --bench stages -- --vault DIR [--repeat 3]
//! ```
//!
//! Every stage does all notes before the next one begins, as the engine does them note by note. What a stage costs is the
//! processor time of the whole process meanwhile, so that the threads of the lexical index count. The last line is the
//! daemon as a child process on a copy of the vault: what it takes beyond the stages is threads, channels, and watching.

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use common::daemon::{Daemon, Usage};
use common::{option, percentile};
use context::{ContextRecord, Expansion, Origin, Spent, TEMPLATE, Template};
use index::embed::{Input, Vector, builtin, input};
use index::{ChunkDoc, Index, NoteEntry, eval};
use note::chunk::{Chunk, ChunkRules};
use note::fingerprint::{InputHash, Sketch, text_hash};
use note::{FileStat, Note, NoteRules, VaultPath};
use store::record::{ChunkRecord, NoteRecord};
use store::{NoteWrite, Store};

const EXE: &str = env!("CARGO_BIN_EXE_situated");
/// Notes that the engine writes with one transaction where there are many.
const AT_ONCE: usize = 48;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // A bare `cargo bench` runs every bench: this one wants to be asked for.
    let Some(vault) = option(&args, "--vault").map(PathBuf::from) else {
        println!("stages: give --vault DIR");
        return Ok(());
    };
    let repeat = option(&args, "--repeat").map_or(Ok(3), |n| n.parse().context("--repeat takes a number"))?;
    let files = common::notes(&vault)?;
    ensure!(!files.is_empty(), "there is no note in the vault");
    let mut table = Table::default();
    for round in 0..repeat.max(1) {
        eprintln!("round {}", round + 1);
        let work = Work::read(&vault, &files, &mut table)?;
        work.floors(&mut table)?;
        work.stages(&mut table)?;
        daemon(&vault, &mut table)?;
    }
    table.print(files.len());
    Ok(())
}

/// Processor time of this process.
fn spent() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Seconds of each line, in the order in which they came.
#[derive(Default)]
struct Table {
    lines: Vec<(&'static str, Vec<f64>)>,
    bytes: u64,
}

impl Table {
    fn add(&mut self, line: &'static str, seconds: f64) {
        match self.lines.iter_mut().find(|(name, _)| *name == line) {
            Some((_, all)) => all.push(seconds),
            None => self.lines.push((line, vec![seconds])),
        }
    }

    fn time<T>(&mut self, line: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = spent();
        let done = work()?;
        self.add(line, spent().saturating_sub(began).as_secs_f64());
        Ok(done)
    }

    fn print(&self, notes: usize) {
        let mb = self.bytes as f64 / 1e6;
        println!("{notes} notes, {mb:.1} MB; medians of CPU time\n");
        println!("| | CPU s | ms per MB |\n|---|---|---|");
        for (line, seconds) in &self.lines {
            let median = percentile(seconds, 50.0);
            println!("| {line} | {median:.3} | {:.1} |", 1e3 * median / mb);
        }
    }
}

/// The vault in memory.
struct Work {
    notes: Vec<(VaultPath, Vec<u8>)>,
}

/// A note that is cut, with what is said of its chunks.
struct Cut {
    note: Note,
    chunks: Vec<Chunk>,
    contexts: Vec<String>,
}

/// A note's inputs by chunk, and their vectors.
type Embedded = Vec<Vec<(Input, Vector)>>;

impl Work {
    fn read(vault: &Path, files: &[PathBuf], table: &mut Table) -> Result<Self> {
        let mut notes = Vec::with_capacity(files.len());
        let hash = table.time("floor: read and BLAKE3", || {
            let mut hash = blake3::Hasher::new();
            for file in files {
                let bytes = std::fs::read(file)?;
                hash.update(blake3::hash(&bytes).as_bytes());
                let path = file.strip_prefix(vault)?.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
                notes.extend(VaultPath::parse(&path).map(|path| (path, bytes)));
            }
            Ok(hash.finalize())
        })?;
        std::hint::black_box(hash);
        table.bytes = notes.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        Ok(Work { notes })
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok())
    }

    fn floors(&self, table: &mut Table) -> Result<()> {
        table.time("floor: pulldown-cmark alone", || {
            let events = self.texts().map(|text| pulldown_cmark::Parser::new_ext(text, options()).count());
            Ok(std::hint::black_box(events.sum::<usize>()))
        })?;
        table.time("floor: tantivy alone (one text field, stored, positions)", || {
            use tantivy::schema::{STORED, Schema, TEXT};
            let mut schema = Schema::builder();
            let text = schema.add_text_field("text", TEXT | STORED);
            let dir = tempfile::tempdir()?;
            let index = tantivy::Index::create_in_dir(dir.path(), schema.build())?;
            let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(2, 64_000_000)?;
            for note in self.texts() {
                writer.add_document(tantivy::doc!(text => note))?;
            }
            writer.commit()?;
            writer.wait_merging_threads()?;
            Ok(())
        })
    }

    fn stages(&self, table: &mut Table) -> Result<()> {
        let rules = NoteRules::default();
        let parsed: Vec<Note> = table
            .time("parse", || Ok(self.notes.iter().map(|(path, bytes)| note::parse(path, bytes, &rules)).collect()))?;
        let cut = table.time("cut", || Ok(parsed.into_iter().map(cut).collect::<Vec<Cut>>()))?;
        let embedded: Vec<Embedded> = table.time("embed", || Ok(cut.iter().map(embed).collect()))?;
        let dir = tempfile::tempdir()?;
        table.time("store", || store(dir.path(), &cut, &embedded))?;
        let docs: Vec<(NoteEntry, Vec<ChunkDoc>)> =
            cut.iter().zip(&embedded).zip(1..).map(|((cut, embedded), no)| docs(cut, embedded, no)).collect();
        let mut index = Index::open(dir.path(), builtin::DIMENSIONS)?;
        table.time("words and tables", || {
            index.begin_bulk(|| {})?;
            docs.into_iter().try_for_each(|(entry, docs)| index.put(entry, docs))?;
            // The threads are done when their queue is empty, which nobody tells.
            settle();
            Ok(())
        })?;
        table.time("publish", || Ok(index.publish(1)?))?;
        table.time("merge", || {
            index.end_bulk()?;
            settle();
            Ok(())
        })
    }
}

/// What notes are parsed with, about.
fn options() -> pulldown_cmark::Options {
    pulldown_cmark::Options::ENABLE_WIKILINKS
        | pulldown_cmark::Options::ENABLE_FOOTNOTES
        | pulldown_cmark::Options::ENABLE_GFM
        | pulldown_cmark::Options::ENABLE_MATH
        | pulldown_cmark::Options::ENABLE_TABLES
        | pulldown_cmark::Options::ENABLE_TASKLISTS
        | pulldown_cmark::Options::ENABLE_STRIKETHROUGH
}

fn cut(note: Note) -> Cut {
    let chunks = index::chunk::cut(&note, ChunkRules::default().of(note.kind.as_deref()));
    let contexts = {
        let template = Template::new(&note);
        chunks.iter().map(|chunk| template.context(chunk)).collect()
    };
    Cut { note, chunks, contexts }
}

fn embed(cut: &Cut) -> Embedded {
    let model = builtin::model();
    let of_chunk = |(chunk, context): (&Chunk, &String)| {
        let inputs = input::inputs(context, &chunk.searchable(&cut.note), &|text| model.token_starts(text));
        let vectors = model.embed_inputs(&inputs.iter().collect::<Vec<_>>());
        inputs.into_iter().zip(vectors).collect()
    };
    cut.chunks.iter().zip(&cut.contexts).map(of_chunk).collect()
}

fn docs(cut: &Cut, embedded: &Embedded, no: u32) -> (NoteEntry, Vec<ChunkDoc>) {
    let chunks = cut.chunks.iter().zip(&cut.contexts).zip(embedded);
    let doc = |((chunk, context), embedded): ((&Chunk, &String), &Vec<(Input, Vector)>)| {
        let vectors = embedded.iter().map(|(_, vector)| vector.clone()).collect();
        eval::docs::doc_with(&cut.note, chunk, no, context, vectors)
    };
    (eval::docs::entry(&cut.note, no), chunks.map(doc).collect())
}

/// Writes records, contexts and vectors as the engine does.
fn store(dir: &Path, cut: &[Cut], embedded: &[Embedded]) -> Result<()> {
    let (store, _) = Store::open(&dir.join("store"), builtin::IDENTITY, builtin::DIMENSIONS)?;
    for (cut, embedded) in cut.chunks(AT_ONCE).zip(embedded.chunks(AT_ONCE)) {
        let vectors = embedded.iter().flatten().flatten().map(|(input, vector)| (input.hash, vector.clone()));
        let vectors: Vec<(InputHash, Vector)> = vectors.collect();
        store.vectors().put(&vectors)?;
        let writes = cut.iter().zip(embedded).map(|(cut, embedded)| {
            let put = Some(record(cut, embedded));
            (cut.note.path.clone(), NoteWrite { put, ..NoteWrite::default() })
        });
        store.apply_many(writes.collect())?;
    }
    store.flush(true)?;
    Ok(())
}

fn record(cut: &Cut, embedded: &Embedded) -> (NoteRecord, Vec<ContextRecord>) {
    use context::plan::{Action, Reason};
    let note = &cut.note;
    let chunk = |((chunk, context), embedded): ((&Chunk, &String), &Vec<(Input, Vector)>)| ChunkRecord {
        id: chunk.id,
        keys: chunk.keys.clone(),
        ordinal: chunk.ordinal,
        span: (chunk.span.start as u32, chunk.span.end as u32),
        lines: chunk.lines,
        heading_path: note.heading_path(&note.sections[chunk.sections.start]).into_iter().map(str::to_owned).collect(),
        hash: chunk.hash,
        context_hash: text_hash(context.as_bytes()),
        wanted: false,
        inputs: embedded.iter().map(|(input, ..)| input.hash).collect(),
        decided: (Action::Regenerate, Reason::NewNote),
        later: None,
        due: None,
    };
    let context = |chunk: &Chunk| ContextRecord {
        text: String::new(),
        origin: Origin::Template,
        generation: TEMPLATE.to_owned(),
        sections: chunk.keys.clone(),
        written_for: chunk.hash,
        sketch: Sketch::default(),
        quality: 1.0,
        written_at: 0,
        spent: Spent::default(),
        making: None,
        expansion: Expansion::default(),
    };
    let entry = eval::docs::entry(note, 0);
    let record = NoteRecord {
        path: note.path.clone(),
        no: 0,
        seq: 0,
        stat: FileStat::default(),
        hash: note.hash,
        structure: note.structure(),
        contextualizer: TEMPLATE.to_owned(),
        embedder: builtin::IDENTITY.to_owned(),
        chunker: ChunkRules::default().of(note.kind.as_deref()).identity(),
        title: note.title.clone(),
        aliases: entry.aliases().to_vec(),
        tags: entry.tags().to_vec(),
        kind: entry.kind().map(str::to_owned),
        date: note.days.day().map(|day| day.to_string()),
        properties: entry.properties().to_owned(),
        links: entry.links().to_vec(),
        conflict: false,
        warnings: Vec::new(),
        decided: (Reason::NewNote, 0),
        chunks: cut.chunks.iter().zip(&cut.contexts).zip(embedded).map(chunk).collect(),
    };
    (record, cut.chunks.iter().map(context).collect())
}

/// Waits until no thread of this process has anything to do.
fn settle() {
    const LOOK: Duration = Duration::from_millis(50);
    loop {
        let before = spent();
        std::thread::sleep(LOOK);
        if spent().saturating_sub(before) < LOOK / 25 {
            return;
        }
    }
}

/// The daemon's first index of a copy of the vault.
fn daemon(vault: &Path, table: &mut Table) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let copy = dir.path().join("vault");
    common::copy(vault, &copy)?;
    let mut daemon = Daemon::start(EXE, &dir.path().join("home"), &copy)?;
    let mut client = daemon.client()?;
    daemon.indexed(&mut client)?;
    let Some(usage) = Usage::of(daemon.pid()) else { bail!("the system does not tell what a process has used") };
    table.add("the daemon, all of it", usage.cpu);
    drop(client);
    daemon.stop()
}
