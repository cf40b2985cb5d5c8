//! Notes and servers for the tests of this crate.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context::settings::KeyConfig;
use index::embed::Vector;
use index::{ChunkDoc, ChunkEntry, Language, NoteEntry, Said};
use note::VaultPath;
use note::fingerprint::{chunk_id, section_key};
use provider::rest::RestServer;

use crate::point::{About, Document};

/// A note with these chunks.
pub(crate) fn document(path: &str, tags: &[&str], texts: &[&str]) -> Document {
    let vault_path = VaultPath::parse(path).unwrap();
    let chunk = |(position, text): (u32, &&str)| {
        let id = chunk_id(path, section_key([], 0), position);
        let doc = ChunkDoc {
            entry: ChunkEntry { id, note: 0, position, span: (0, 1), lines: (position + 1, position + 1) },
            heading_path: ["Heading"].into_iter().collect(),
            text: (*text).to_owned(),
            searchable: (*text).to_owned(),
            context: format!("about {path}"),
            expansion: String::new(),
            windows: vec![Vector::quantized(&[1.0, position as f32]).into()],
        };
        (doc, About::default())
    };
    let said = Said { title: vault_path.stem(), tags, ..Said::default() };
    let note = NoteEntry { texts: said.pack(), ..NoteEntry::new(1, 1, vault_path) };
    let chunks = (0..).zip(texts).map(chunk).collect();
    Document { note, chunks, language: Language::English, state: format!("{path} {texts:?}") }
}

/// A server at which every request is answered with this, status line and all; and how many there were. `None`: nobody
/// listens there.
pub(crate) fn answering(answer: Option<String>) -> (RestServer, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let server = RestServer::new(&url, "api-key", &KeyConfig::default(), None).unwrap();
    if let Some(answer) = answer {
        let count = count.clone();
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut request = BufReader::new(client.try_clone().unwrap());
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if request.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                        break;
                    }
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                }
                request.take(length).read_to_end(&mut Vec::new()).unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                client.write_all(answer.as_bytes()).unwrap();
            }
        });
    }
    (server, count)
}
