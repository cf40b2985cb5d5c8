//! The notes of a vault as its store has them, for its keeper.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::turns::{OVER, Turns};
use crate::decide::{NotePipeline, Task};
use crate::disk_access::{Hangs, TEXT_WITHIN};
use crate::{Shared, VaultShared, now_s};
use ::team::point::{About, state};
use ::team::{Described, Document, Source};
use context::ContextRecord;
use index::search::filter::day_of;
use index::terms::{Counted, MeanLengths};
use index::{Language, NoteEntry, Snapshot};
use note::fingerprint::{Fields, context_key};
use note::{Private, VaultPath};
use store::record::NoteRecord;

/// Notes whose chunks are measured when a collection is made.
const MEASURED: usize = 400;

/// The notes of one vault.
pub(super) struct VaultSource {
    engine: Weak<Shared>,
    vault: String,
    turns: Arc<Turns>,
    known: Mutex<Known>,
    private: Mutex<Arc<Private>>,
}

/// What was computed for the last snapshot.
#[derive(Default)]
struct Known {
    /// What links may lead to: a note that comes, goes or becomes private changes the links of others.
    targets: u64,
    /// By path: the sequence number of a note, its state without its links, and the whole of it.
    states: HashMap<VaultPath, (u64, String, String)>,
}

/// What a vault answers from.
struct Open {
    shared: Arc<VaultShared>,
    snapshot: Arc<Snapshot>,
    pipeline: Arc<NotePipeline>,
}

impl VaultSource {
    pub(super) fn new(engine: &Arc<Shared>, vault: &str, turns: Arc<Turns>) -> Self {
        // Until it is known which notes are private, all are.
        let all = Arc::new(Private::new(&["*".to_owned()]));
        VaultSource {
            engine: Arc::downgrade(engine),
            vault: vault.to_owned(),
            turns,
            known: Mutex::default(),
            private: Mutex::new(all),
        }
    }

    fn open(&self) -> Result<Open, String> {
        if self.turns.are_over() {
            return Err(OVER.to_owned());
        }
        let engine = self.engine.upgrade().ok_or("the daemon is stopping")?;
        let vaults = engine.vaults.load();
        let shared = vaults.iter().find(|vault| vault.name == self.vault).ok_or("the vault is not served")?.clone();
        let published = shared.published.load_full().ok_or("the vault is being opened")?;
        let (snapshot, pipeline) = (published.0.clone(), published.1.clone());
        *self.private.lock() = pipeline.private.clone();
        Ok(Open { shared, snapshot, pipeline })
    }
}

impl Source for VaultSource {
    fn wanted(&self) -> Result<BTreeMap<String, String>, String> {
        let Open { shared, snapshot, pipeline } = self.open()?;
        if shared.report().flying {
            // What is not indexed yet is not gone.
            return Err("the vault is still being indexed".to_owned());
        }
        let private = &pipeline.private;
        let targets = targets(&snapshot, private);
        let mut known = self.known.lock();
        let mut now = HashMap::with_capacity(snapshot.note_count());
        for entry in snapshot.notes() {
            if private.covers(&entry.path, entry.tags()) || entry.rows.is_empty() {
                continue;
            }
            let own = match known.states.remove(&entry.path) {
                Some(same) if same.0 == entry.seq && known.targets == targets => {
                    now.insert(entry.path.clone(), same);
                    continue;
                }
                Some((seq, own, _)) if seq == entry.seq => own,
                last => match pipeline.store.note(&entry.path).map_err(|error| error.to_string())? {
                    Some(record) if record.seq == entry.seq => own_state(&record, entry, &snapshot),
                    // It has changed since, and is not gone: the next snapshot has it.
                    Some(_) => {
                        now.insert(entry.path.clone(), last.unwrap_or_default());
                        continue;
                    }
                    None => continue,
                },
            };
            let whole = with_links(&own, &links(entry, &snapshot, private));
            now.insert(entry.path.clone(), (entry.seq, own, whole));
        }
        let wanted = now.iter().map(|(path, (.., state))| (path.as_str().to_owned(), state.clone())).collect();
        *known = Known { targets, states: now };
        Ok(wanted)
    }

    fn document(&self, path: &str) -> Result<Option<Document>, String> {
        let open = self.open()?;
        let path = VaultPath::parse(path).ok_or("this is no path")?;
        let Some(entry) = open.snapshot.note_at(&path).cloned() else { return Ok(None) };
        let failed = |error: store::StoreError| error.to_string();
        let Some(record) = open.pipeline.store.note(&path).map_err(failed)?.filter(|record| record.seq == entry.seq)
        else {
            return Ok(None);
        };
        let contexts = open.pipeline.store.contexts(&path).map_err(failed)?;
        document(&open, &path, &entry, record, contexts)
    }

    fn private(&self) -> Arc<Private> {
        self.private.lock().clone()
    }
}

/// A note as it is published, made anew from its file; `None` if the file has changed since.
fn document(
    open: &Open,
    path: &VaultPath,
    entry: &NoteEntry,
    record: NoteRecord,
    contexts: Vec<ContextRecord>,
) -> Result<Option<Document>, String> {
    let Open { shared, snapshot, pipeline } = open;
    let (root, of, most) = (shared.path.clone(), path.clone(), pipeline.max_note_bytes);
    let read = shared.disk.ask(TEXT_WITHIN, move |disk| disk.read(&root, &of, most));
    let Ok(text) = read.map_err(|Hangs| format!("the file system of `{}` hangs", shared.name))? else {
        return Ok(None);
    };
    let links = links(entry, snapshot, &pipeline.private);
    let state = with_links(&own_state(&record, entry, snapshot), &links);
    let about: Vec<About> = abouts(&record, &contexts).collect();
    let hash = record.hash;
    let decided = pipeline.decide(&Task::again(path.clone()), text, Some((record, contexts)), now_s());
    let decided = decided.map_err(|error| error.to_string())?;
    let same = decided.write.put.as_ref().is_some_and(|(now, _)| now.hash == hash);
    if !same || decided.docs.len() != about.len() {
        return Ok(None);
    }
    let language = entry.rows.get(0).and_then(|row| snapshot.text(row).ok()).map_or(Language::English, |t| t.language);
    let mut chunks: Vec<_> = decided.docs.into_iter().zip(about).collect();
    for ((chunk, _), row) in chunks.iter_mut().zip(entry.rows.iter()) {
        chunk.windows = snapshot.vectors(row).into_iter().map(Into::into).collect();
    }
    let note = NoteEntry { texts: decided.entry.texts.with_links(&links), ..decided.entry };
    Ok(Some(Document { note, chunks, language, state }))
}

/// The notes that a note links to, each once; private ones are left out.
fn links<'a>(entry: &NoteEntry, snapshot: &'a Snapshot, private: &Private) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    let targets = entry.links().filter_map(|target| snapshot.resolve(target, &entry.path));
    let targets = targets.filter(|no| *no != entry.no && seen.insert(*no)).filter_map(|no| snapshot.note(no));
    let shown = targets.filter(|note| !private.covers(&note.path, note.tags()));
    shown.map(|note| note.path.as_str()).collect()
}

/// A number that changes with what a link may lead to: the notes and their names, and which of them are private.
fn targets(snapshot: &Snapshot, private: &Private) -> u64 {
    let mut hasher = DefaultHasher::new();
    for note in snapshot.notes() {
        (&note.path, note.title(), private.covers(&note.path, note.tags())).hash(&mut hasher);
        note.aliases().for_each(|alias| alias.hash(&mut hasher));
    }
    hasher.finish()
}

/// What is published about a note's chunks besides their texts. A context that was written for an earlier text of its
/// chunk is not offered to others: they would buy one for the present text. Nor is one that a team had, whose author is
/// not known here: the team has it from him.
fn abouts<'a>(record: &'a NoteRecord, contexts: &'a [ContextRecord]) -> impl Iterator<Item = About> + 'a {
    record.chunks.iter().enumerate().map(|(at, chunk)| {
        let key = context_key(&chunk.keys, chunk.hash);
        let fits = |context: &&ContextRecord| context_key(&context.sections, context.written_for) == key;
        let paid = contexts.get(at).filter(|context| context.is_paid()).filter(fits);
        let by = paid.filter(|context| !context.is_given()).map(|context| context.generation.clone());
        About { key: key.to_string(), by, expansion: paid.map(|c| c.expansion.clone()).unwrap_or_default() }
    })
}

/// The fingerprint of a note as it is published: it covers everything that its points are made of.
fn with_links(own: &str, links: &[&str]) -> String {
    let fields = Fields::new("team-note/2").bytes(own.as_bytes());
    state(links.iter().fold(fields, |fields, path| fields.bytes(path.as_bytes())))
}

/// The part of it that follows from the note alone.
fn own_state(record: &NoteRecord, entry: &NoteEntry, snapshot: &Snapshot) -> String {
    let mut fields = Fields::new("team-note/own")
        .bytes(&record.hash.0)
        .bytes(record.embedder.as_bytes())
        .bytes(record.chunker.as_bytes())
        .bytes(record.title.as_bytes())
        .bytes(record.kind.as_deref().unwrap_or_default().as_bytes())
        .bytes(record.properties.as_bytes())
        .bytes(day_of(entry, &jiff::tz::TimeZone::UTC).to_string().as_bytes());
    for text in record.tags.iter().chain(&record.aliases) {
        fields = fields.bytes(text.as_bytes());
    }
    for (chunk, row) in record.chunks.iter().zip(entry.rows.iter()) {
        let vectors = snapshot.vector_count(row) as u64;
        fields = fields.bytes(&chunk.id.0).bytes(&chunk.hash.0).bytes(&chunk.context_hash.0).number(vectors);
    }
    state(fields)
}

/// The identity of the embedder that makes a vault's vectors.
pub(super) fn embedder_of(source: &VaultSource) -> Result<String, String> {
    Ok(source.open()?.pipeline.service.embedder.identity().to_owned())
}

/// The description of a collection that is made for this vault: its embedder, and how long its chunks are.
pub(super) fn describe(source: &VaultSource) -> Result<Described, String> {
    let paths: Vec<String> = source.wanted()?.into_keys().collect();
    let open = source.open()?;
    let (mut sums, mut chunks, mut languages) = ([0_u64; 3], 0_u64, vec![Language::English]);
    for path in paths.iter().step_by(paths.len().div_ceil(MEASURED).max(1)) {
        let Some(document) = source.document(path)? else { continue };
        for (position, (chunk, _)) in document.chunks.iter().enumerate() {
            let lengths = Counted::of(&document.note, chunk, position, document.language).lengths();
            sums.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += u64::from(length));
            chunks += 1;
        }
        if !languages.contains(&document.language) {
            languages.push(document.language);
        }
    }
    if chunks == 0 {
        return Err(format!("the vault `{}` has no note yet that could be published", source.vault));
    }
    let mean = MeanLengths(sums.map(|sum| sum as f32 / chunks as f32));
    let embedder = &open.pipeline.service.embedder;
    Ok(Described::new(embedder.identity(), embedder.dimensions(), mean, &languages))
}
