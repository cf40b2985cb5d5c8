//! The bytes of a file of a vault: decoded, its front matter read, parsed, cut into chunks.

use std::collections::HashSet;

use note::chunk::{ChunkConfig, Strategy, Tools, chunk};
use note::{BlockKind, Note, NoteRules, Private, VaultPath};

use whole::whole;

#[path = "whole.rs"]
mod whole;

/// Names, for each way in which a file is read.
const NAMES: [&str; 8] =
    ["folder/Note.md", "2026-11-20.md", "n.org", "n.rst", "n.base", "n.canvas", "n.pdf", "private/picture.png"];

/// The first byte chooses a name and a way to cut; the others are the file.
pub(crate) fn note(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let choice = usize::from(*choice);
    let path = VaultPath::parse(NAMES[choice % NAMES.len()]).expect("it is a path");
    let rules = NoteRules { comments: choice >= 128, ..NoteRules::default() };
    let note = note::parse(&path, bytes, &rules);
    let again = note::parse(&path, bytes, &rules);
    assert_eq!(
        (note.hash, note.structure(), &note.tags),
        (again.hash, again.structure(), &again.tags),
        "equal bytes, equal note"
    );
    assert_eq!(note.text, note::text(bytes));
    whole(&note);
    let strategy = Strategy::ALL[choice / NAMES.len() % Strategy::ALL.len()];
    for overlap_percent in [0, 30] {
        chunks(&note, &ChunkConfig { strategy, target: 20, min: 6, max: 30, overlap_percent });
    }
}

/// Where words begin: as like tokens as matters for where a note is cut.
fn words(text: &str) -> Vec<u32> {
    let begins =
        |(at, c): (usize, char)| !c.is_whitespace() && text[..at].chars().next_back().is_none_or(char::is_whitespace);
    text.char_indices().filter(|place| begins(*place)).map(|(at, _)| at as u32).collect()
}

/// How often each letter stands in a text, in place of its meaning.
fn letters(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0; 26];
    text.bytes().filter(u8::is_ascii_lowercase).for_each(|byte| counts[usize::from(byte - b'a')] += 1.0);
    counts
}

/// Chunks are in order, and no word is lost between them.
fn chunks(note: &Note, config: &ChunkConfig) {
    let chunks = chunk(note, config, &Tools { token_starts: &words(&note.text), embed: &letters });
    assert!(!chunks.is_empty(), "a note without text is found by its title");
    let ids: HashSet<_> = chunks.iter().map(|chunk| chunk.id).collect();
    assert_eq!(ids.len(), chunks.len(), "ids are unique");
    let mut covered = note.body;
    for chunk in &chunks {
        let span = chunk.span.clone();
        assert!(span.start >= note.body && note.text.get(span.clone()).is_some(), "{span:?} is no span of the body");
        assert!(span.start <= covered || note.text[covered..span.start].trim().is_empty(), "lost before {span:?}");
        covered = covered.max(span.end);
        assert_eq!(chunk.keys.len(), chunk.sections.len());
        assert!(!chunk.keys.is_empty() && chunk.lines.0 <= chunk.lines.1);
        if let Some(lead) = &chunk.lead {
            assert!(lead.end <= span.start && note.text.get(lead.clone()).is_some());
        }
        let _ = chunk.searchable(note);
    }
    assert!(note.text[covered..].trim().is_empty(), "lost behind {covered}");
}

/// The bytes stand between the fences of front matter, below a line that makes the note private.
pub(crate) fn front_matter(bytes: &[u8]) {
    let path = VaultPath::parse("folder/Note.md").expect("it is a path");
    let rules = NoteRules::default();
    let told = [b"---\ntags: [private]\n", bytes, b"\n---\n\nBody.\n"].concat();
    let note = note::parse(&path, &told, &rules);
    assert!(Private::default().covers_note(&note), "what stands below `tags: [private]` made the note public");

    let plain = [b"---\n", bytes, b"\n---\n\nBody.\n"].concat();
    let note = note::parse(&path, &plain, &rules);
    whole(&note);
    assert!(note.text.ends_with("Body.\n"), "the body is kept");
    // What was read once can be written as YAML's own subset, JSON, and says the same then.
    let (before, _) = note.text.split_at(note.body);
    let is_read = before.trim_end().len() > 4 && note.warnings.is_empty();
    // But for control characters, which JSON may have as they are and YAML must not.
    let is_printed = |key: &String| !key.chars().any(char::is_control);
    if is_read && note.front.properties.iter().all(|(key, value)| is_printed(key) && is_plain(value)) {
        let written = serde_json::to_string(&note.front.properties).expect("maps are JSON");
        let again = note::parse(&path, format!("---\n{written}\n---\n\nBody.\n").as_bytes(), &rules);
        assert_eq!(again.front.properties, note.front.properties);
        assert_eq!(again.front.tags, note.front.tags);
    }
}

/// Whether a value is one that the two liberties of reading front matter leave alone.
fn is_plain(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Bool(_) => true,
        serde_json::Value::String(text) => text.chars().all(|c| c.is_alphanumeric() || c == ' '),
        serde_json::Value::Number(number) => number.is_i64(),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn notes() {
        kept::run("note", 1_500, super::note);
    }

    #[test]
    fn properties() {
        kept::run("front_matter", 3_000, super::front_matter);
    }
}
