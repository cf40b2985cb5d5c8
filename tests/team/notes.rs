//! A vault in memory, with the real parser, cutter, model and stems.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use index::NoteEntry;
use index::embed::builtin;
use index::terms::MeanLengths;
use index::{ChunkDoc, ChunkEntry, Language, Said};
use note::fingerprint::Fields;
use note::{NoteRules, Private, VaultPath};
use team::point::{About, state};
use team::{Collection, Described, Document, Identity, Keeper, Quantisation, Source};

pub const EMBEDDER: &str = "builtin";

/// Notes by path.
pub struct Notes {
    texts: Mutex<BTreeMap<String, String>>,
    private: Arc<Private>,
}

impl Notes {
    /// A vault of these notes; those below `secret/` are private.
    pub fn new(notes: &[(&str, &str)]) -> Arc<Notes> {
        let texts = notes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Arc::new(Notes { texts: Mutex::new(texts), private: Arc::new(Private::new(&["secret/".to_owned()])) })
    }

    /// Saves a note.
    pub fn put(&self, path: &str, text: &str) {
        self.texts.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }

    /// Deletes a note.
    pub fn remove(&self, path: &str) {
        self.texts.lock().unwrap().remove(path);
    }

    /// Its keeper, under a word of its own.
    pub fn keeper(self: &Arc<Self>, collection: &Collection, word: &str) -> Keeper {
        let who = Identity {
            vault: "handbook".to_owned(),
            keeper: word.to_owned(),
            host: format!("host-{word}"),
            embedder: EMBEDDER.to_owned(),
        };
        Keeper::new(collection.clone(), who, self.clone())
    }
}

/// Makes a collection as `situated team init` does.
pub async fn init(collection: &Collection) {
    init_by(collection, Quantisation::Byte).await;
}

/// The same, whose vectors are looked at like this.
pub async fn init_by(collection: &Collection, quantisation: Quantisation) {
    collection.ensure(builtin::DIMENSIONS, quantisation).await.unwrap();
    let mean = MeanLengths([20.0, 0.0, 0.0]);
    let described = Described::new(EMBEDDER, builtin::DIMENSIONS, mean, &[Language::English]);
    collection.describe(&Described { bits: quantisation == Quantisation::Bit, ..described }).await.unwrap();
}

fn state_of(path: &str, text: &str) -> String {
    state(Fields::new("test/1").bytes(path.as_bytes()).bytes(text.as_bytes()))
}

impl Source for Notes {
    fn wanted(&self) -> Result<BTreeMap<String, String>, String> {
        let texts = self.texts.lock().unwrap();
        let open = |path: &&String| !self.private.covers_path(&VaultPath::parse(path).unwrap());
        Ok(texts
            .iter()
            .filter(|(path, _)| open(path))
            .map(|(path, text)| (path.clone(), state_of(path, text)))
            .collect())
    }

    fn document(&self, path: &str) -> Result<Option<Document>, String> {
        let texts = self.texts.lock().unwrap();
        Ok(texts.get(path).map(|text| document(path, text)))
    }

    fn private(&self) -> Arc<Private> {
        self.private.clone()
    }
}

/// A note as it would be published.
pub fn document(path: &str, text: &str) -> Document {
    let path = VaultPath::parse(path).unwrap();
    let note = note::parse(&path, text.as_bytes(), &NoteRules::default());
    let chunks = index::chunk::cut(&note, &note::chunk::ChunkConfig::default());
    let about = |chunk: &note::chunk::Chunk| {
        let body = note.text[chunk.span.clone()].to_owned();
        let doc = ChunkDoc {
            entry: ChunkEntry {
                id: chunk.id,
                note: 0,
                position: 0,
                span: (chunk.span.start as u32, chunk.span.end as u32),
                lines: chunk.lines,
            },
            heading_path: note.heading_path(&note.sections[chunk.sections.start]).into_iter().collect(),
            windows: vec![builtin::model().embed(&body).into()],
            searchable: chunk.searchable(&note),
            text: body,
            context: String::new(),
            expansion: String::new(),
        };
        (doc, About::default())
    };
    let chunks = chunks.iter().map(about).collect();
    let texts = Said {
        title: &note.title,
        kind: note.kind.as_deref(),
        aliases: &note.front.aliases,
        tags: &note.tags,
        ..Said::default()
    };
    let entry = NoteEntry { texts: texts.pack(), days: note.days, ..NoteEntry::new(1, 1, path.clone()) };
    Document { note: entry, chunks, language: Language::English, state: state_of(path.as_str(), text) }
}
