//! A set in BEIR's form, and how a hit of the daemon becomes ids of the set.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::common;
use crate::common::metrics::Judged;

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Query {
    #[serde(rename = "_id")]
    id: String,
    text: String,
}

/// A set to be asked.
pub(crate) struct Set {
    /// Name of its folder.
    pub(crate) name: String,
    /// Whether it comes with a vault.
    pub(crate) has_vault: bool,
    /// Queries that something is relevant to, with what that is.
    pub(crate) queries: Vec<(String, Judged)>,
    /// Documents that could not be found in the vault.
    pub(crate) lost: usize,
    places: Places,
}

/// Where the documents lie in the vault.
enum Places {
    /// A document is a note: the ids are paths, or stand for these paths.
    Notes(HashMap<String, String>),
    /// A document is a passage of a note: per path, the lines' first bytes and the passages.
    Passages(HashMap<String, Note>),
}

struct Note {
    lines: Vec<usize>,
    length: usize,
    passages: Vec<(Range<usize>, String)>,
}

impl Set {
    /// Reads the set in `dir` and puts its vault into `vault`: a copy of its own, or else one note per document.
    pub(crate) fn load(dir: &Path, vault: &Path) -> Result<Self> {
        let name = dir.file_name().map(|n| n.to_string_lossy().into_owned()).context("a folder has a name")?;
        let documents: Vec<Document> = json_lines(&dir.join("corpus.jsonl"))?;
        let queries = judged(dir)?;
        let own = dir.join("vault");
        let has_vault = own.is_dir();
        let (places, lost) = if has_vault {
            common::copy(&own, vault)?;
            place(&documents, vault)?
        } else {
            (Places::Notes(write(&documents, vault)?), 0)
        };
        Ok(Set { name, has_vault, queries, lost, places })
    }

    /// How many hits of one note to ask for: one where notes are what is looked for.
    pub(crate) fn per_note(&self) -> usize {
        match self.places {
            Places::Notes(_) => 1,
            Places::Passages(_) => 100,
        }
    }

    /// The ids that the hits stand for, best first, each once. A hit that covers several passages stands for all
    /// of them, those first of which it holds most.
    pub(crate) fn rank(&self, hits: &[Value]) -> Vec<String> {
        let mut seen = HashSet::new();
        hits.iter().flat_map(|hit| self.ids(hit)).filter(|id| seen.insert(id.clone())).collect()
    }

    fn ids(&self, hit: &Value) -> Vec<String> {
        let path = hit["path"].as_str().unwrap_or_default();
        match &self.places {
            Places::Notes(ids) => ids.get(path).cloned().into_iter().collect(),
            Places::Passages(notes) => {
                let line = |field: &str| hit[field].as_u64().unwrap_or(0) as usize;
                notes.get(path).map_or_else(Vec::new, |note| note.covered(line("line"), line("end_line")))
            }
        }
    }
}

impl Note {
    fn new(text: &str) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Note { lines, length: text.len(), passages: Vec::new() }
    }

    /// The passages that share bytes with the lines `first..=last` (from 1), most shared bytes first.
    fn covered(&self, first: usize, last: usize) -> Vec<String> {
        let start = |line: usize| self.lines.get(line).copied().unwrap_or(self.length);
        let (from, to) = (start(first.saturating_sub(1)), start(last));
        let mut shared: Vec<(usize, &String)> = self
            .passages
            .iter()
            .map(|(span, id)| (span.end.min(to).saturating_sub(span.start.max(from)), id))
            .filter(|(bytes, _)| *bytes > 0)
            .collect();
        shared.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        shared.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

/// Finds every document in the vault, as a note or as a passage of one.
fn place(documents: &[Document], vault: &Path) -> Result<(Places, usize)> {
    if documents.iter().all(|d| vault.join(&d.id).is_file()) {
        return Ok((Places::Notes(documents.iter().map(|d| (d.id.clone(), d.id.clone())).collect()), 0));
    }
    let mut texts = BTreeMap::new();
    for file in common::notes(vault)? {
        let path = file.strip_prefix(vault).unwrap_or(&file).to_string_lossy().into_owned();
        texts.insert(path, String::from_utf8_lossy(&std::fs::read(&file)?).into_owned());
    }
    let mut notes: HashMap<String, Note> = texts.iter().map(|(path, text)| (path.clone(), Note::new(text))).collect();
    let (mut taken, mut lost) = (HashSet::new(), 0);
    for document in documents {
        // A note whose path is part of the id is the likeliest one, then those where nothing lies yet.
        let found = locate(document, &texts).into_iter().min_by_key(|(path, span)| {
            let stem = path.strip_suffix(".md").unwrap_or(path);
            (!document.id.contains(stem), taken.contains(&(path.clone(), span.start)))
        });
        match found.and_then(|(path, span)| Some((notes.get_mut(&path)?, path, span))) {
            Some((note, path, span)) => {
                taken.insert((path, span.start));
                note.passages.push((span, document.id.clone()));
            }
            None => lost += 1,
        }
    }
    Ok((Places::Passages(notes), lost))
}

/// All places where the document's text (or, if it has none, its title as a heading) stands.
fn locate(document: &Document, texts: &BTreeMap<String, String>) -> Vec<(String, Range<usize>)> {
    let (text, title) = (document.text.trim(), document.title.trim());
    let mut found = Vec::new();
    for (path, note) in texts {
        if text.is_empty() {
            let heads = note.match_indices(title).filter(|(i, _)| {
                let line = note[..*i].rfind('\n').map_or(0, |n| n + 1);
                !title.is_empty()
                    && note[line..].starts_with('#')
                    && note[line..*i].trim_matches(['#', ' ']).is_empty()
                    && note[i + title.len()..].lines().next().is_none_or(|rest| rest.trim().is_empty())
            });
            found.extend(heads.map(|(i, _)| (path.clone(), i..i + title.len())));
        } else {
            found.extend(note.match_indices(text).map(|(i, _)| (path.clone(), i..i + text.len())));
        }
    }
    found
}

/// Writes one note per document and returns the id of each path.
fn write(documents: &[Document], vault: &Path) -> Result<HashMap<String, String>> {
    std::fs::create_dir_all(vault)?;
    let mut ids = HashMap::new();
    for (n, document) in documents.iter().enumerate() {
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        // An id that is no file name (a URL) is numbered.
        let plain = !document.id.starts_with('.') && document.id.len() < 100 && document.id.chars().all(safe);
        let path = if plain { format!("{}.md", document.id) } else { format!("document-{n}.md") };
        // A JSON string is YAML.
        let front = match document.title.as_str() {
            "" => String::new(),
            title => format!("---\ntitle: {}\n---\n\n", Value::from(title)),
        };
        std::fs::write(vault.join(&path), format!("{front}{}\n", document.text))?;
        ids.insert(path, document.id.clone());
    }
    Ok(ids)
}

/// The queries that something is relevant to.
fn judged(dir: &Path) -> Result<Vec<(String, Judged)>> {
    let path = dir.join("qrels.tsv");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut qrels: HashMap<&str, Judged> = HashMap::new();
    for line in text.lines().skip(1).filter(|l| !l.trim().is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [query, document, score] = fields[..] else { bail!("{}: `{line}`", path.display()) };
        let score: f64 = score.trim().parse().with_context(|| format!("{}: `{line}`", path.display()))?;
        if score > 0.0 {
            qrels.entry(query).or_default().insert(document.to_owned(), score);
        }
    }
    let queries: Vec<Query> = json_lines(&dir.join("queries.jsonl"))?;
    Ok(queries.into_iter().filter_map(|q| Some((q.text, qrels.remove(q.id.as_str())?))).collect())
}

/// What the lines of a file of JSON Lines are.
pub(crate) fn json_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    lines.map(|l| serde_json::from_str(l).with_context(|| path.display().to_string())).collect()
}

/// Checks the mapping on a small note; the bench calls it before it measures anything.
pub(crate) fn check() {
    let text = "# T\n\none one\n\ntwo two two\nthree\n";
    let texts = BTreeMap::from([("a/b.md".to_owned(), text.to_owned())]);
    let document =
        |id: &str, title: &str, text: &str| Document { id: id.into(), title: title.into(), text: text.into() };
    let mut note = Note::new(text);
    for (id, body) in [("1", "one one"), ("2", "two two two"), ("3", "three\n")] {
        let found = locate(&document(id, "", body), &texts);
        assert_eq!(found.len(), 1, "{id}");
        note.passages.push((found[0].1.clone(), id.to_owned()));
    }
    assert_eq!(locate(&document("0", "T", ""), &texts), [("a/b.md".to_owned(), 2..3)]);
    assert!(locate(&document("0", "one", ""), &texts).is_empty(), "no heading");
    assert_eq!(note.covered(1, 3), ["1"]);
    assert_eq!(note.covered(3, 6), ["2", "1", "3"]);
    assert_eq!(note.covered(6, 99), ["3"]);
    assert!(note.covered(4, 4).is_empty());
    assert!(note.covered(50, 60).is_empty());
}
