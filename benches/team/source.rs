//! A generated vault in memory as a keeper sees it: parsed, cut, situated and embedded when a note is asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use index::embed::builtin;
use index::eval::docs::{Arm, Page};
use index::terms::{Counted, MeanLengths};
use index::{ChunkDoc, Language};
use note::chunk::ChunkRules;
use note::fingerprint::Fields;
use note::{NoteRules, Private, VaultPath};
use team::point::{About, state};
use team::{Collection, Described, Document, Identity, Keeper, Quantisation, Source};

use super::common::rng::Rng;
use super::common::vault::Writer;

/// Who makes the vectors, as far as the collection knows.
pub(crate) const EMBEDDER: &str = "builtin";

/// Notes that lengths are measured by, as the engine does it.
const MEASURED: usize = 400;

/// A vault: the state and the text of each note by its path.
pub(crate) struct Vault {
    notes: Mutex<BTreeMap<String, (String, Arc<str>)>>,
    private: Arc<Private>,
}

impl Vault {
    /// A generated one.
    pub(crate) fn generate(notes: usize, seed: u64) -> Arc<Vault> {
        let mut writer = Writer::new(notes, seed);
        let vault = Vault { notes: Mutex::default(), private: Arc::new(Private::new(&[])) };
        for index in 0..notes {
            let text = writer.note(index);
            vault.put(writer.path(index), &text);
        }
        Arc::new(vault)
    }

    /// Saves a note.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let state = state(Fields::new("bench/1").bytes(path.as_bytes()).bytes(text.as_bytes()));
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.insert(path.to_owned(), (state, text.into()));
    }

    /// All paths, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// The text of a note.
    pub(crate) fn text(&self, path: &str) -> Option<Arc<str>> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(path).map(|(_, text)| text.clone())
    }

    /// Bytes of all texts.
    pub(crate) fn bytes(&self) -> usize {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).values().map(|(_, text)| text.len()).sum()
    }

    /// Two to five words that stand together somewhere.
    pub(crate) fn phrase(&self, paths: &[String], rng: &mut Rng) -> String {
        loop {
            let Some(text) = self.text(rng.pick::<String>(paths)) else { continue };
            let lines: Vec<Vec<&str>> = text
                .lines()
                .map(|line| line.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).collect())
                .filter(|words: &Vec<&str>| words.len() >= 8)
                .collect();
            if lines.is_empty() {
                continue;
            }
            let (line, count) = (rng.pick(&lines), rng.between(2, 5));
            let at = rng.below(line.len() - count + 1);
            return line[at..at + count].join(" ");
        }
    }

    /// Its keeper.
    pub(crate) fn keeper(self: &Arc<Self>, collection: &Collection) -> Keeper {
        let who = Identity {
            vault: "handbook".to_owned(),
            keeper: "one".to_owned(),
            host: "bench".to_owned(),
            embedder: EMBEDDER.to_owned(),
        };
        Keeper::new(collection.clone(), who, self.clone())
    }

    /// Makes the collection as `situated team init` does.
    pub(crate) async fn init(&self, collection: &Collection) -> Result<()> {
        let paths = self.paths();
        let (mut sums, mut chunks) = ([0_u64; 3], 0_u64);
        for path in paths.iter().step_by(paths.len().div_ceil(MEASURED).max(1)) {
            let document = self.document(path).map_err(anyhow::Error::msg)?.context("a note is gone")?;
            for (position, (chunk, _)) in document.chunks.iter().enumerate() {
                let lengths = Counted::of(&document.note, chunk, position, document.language).lengths();
                sums.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += u64::from(length));
                chunks += 1;
            }
        }
        let mean = MeanLengths(sums.map(|sum| sum as f32 / chunks.max(1) as f32));
        collection.ensure(builtin::DIMENSIONS, Quantisation::Byte).await?;
        collection.describe(&Described::new(EMBEDDER, builtin::DIMENSIONS, mean, &[Language::English])).await?;
        Ok(())
    }
}

impl Source for Vault {
    fn wanted(&self) -> Result<BTreeMap<String, String>, String> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(notes.iter().map(|(path, (state, _))| (path.clone(), state.clone())).collect())
    }

    fn document(&self, path: &str) -> Result<Option<Document>, String> {
        let known = self.notes.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        let Some((state, text)) = known else { return Ok(None) };
        let path = VaultPath::parse(path).ok_or("this is no path")?;
        let note = note::parse(&path, text.as_bytes(), &NoteRules::default());
        let (note, chunks) = Page::new(note, &ChunkRules::default(), |_| None).docs(0, Arm::Template);
        // A key that no other chunk has, for the server keeps an index of them.
        let about = |chunk: &ChunkDoc| About { key: chunk.entry.id.to_string(), ..About::default() };
        let chunks = chunks.into_iter().map(|chunk| {
            let about = about(&chunk);
            (chunk, about)
        });
        let chunks = chunks.collect();
        Ok(Some(Document { note, chunks, language: Language::English, state }))
    }

    fn private(&self) -> Arc<Private> {
        self.private.clone()
    }
}
