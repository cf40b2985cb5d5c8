//! Notes for the tests of this crate.

use index::embed::Vector;
use index::{ChunkDoc, ChunkEntry, Language, NoteEntry};
use note::fingerprint::{chunk_id, section_key};
use note::{FileStat, OwnDays, VaultPath};

use crate::point::{About, Document};

/// A note with these chunks.
pub(crate) fn document(path: &str, tags: &[&str], texts: &[&str]) -> Document {
    let vault_path = VaultPath::parse(path).unwrap();
    let chunk = |(position, text): (u32, &&str)| {
        let id = chunk_id(path, section_key([], 0), position);
        let heading_path = ["Heading".to_owned()].into();
        let entry =
            ChunkEntry { id, note: 0, position, span: (0, 1), lines: (position + 1, position + 1), heading_path };
        let doc = ChunkDoc {
            entry,
            text: (*text).to_owned(),
            searchable: (*text).to_owned(),
            context: format!("about {path}"),
            expansion: String::new(),
            windows: vec![Vector::quantized(&[1.0, position as f32]).into()],
        };
        (doc, About::default())
    };
    let note = NoteEntry {
        no: 1,
        seq: 1,
        title: vault_path.stem().to_owned(),
        path: vault_path,
        stat: FileStat::default(),
        aliases: Vec::new(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        kind: None,
        days: OwnDays::default(),
        properties: "{}".into(),
        links: Vec::new(),
        conflict: false,
        rows: Vec::new(),
    };
    let chunks = (0..).zip(texts).map(chunk).collect();
    Document { note, chunks, language: Language::English, state: format!("{path} {texts:?}") }
}
