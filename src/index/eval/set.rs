//! A set in BEIR's form (Thakur and others, NeurIPS Datasets 2021), and how a hit becomes ids of the set.
//!
//! `corpus.jsonl` holds documents (`_id`, `title`, `text`), `queries.jsonl` queries (`_id`, `text`, maybe
//! `kind`), `qrels.tsv` a header and lines of query, document and score, parted by tabs. A set may come with a
//! vault that its documents are notes of, or passages of notes; else each document is written as a note.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use serde::Deserialize;

use super::Relevance;

#[derive(Clone, Debug, Deserialize)]
struct Document {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Clone, Debug, Deserialize)]
struct RawQuery {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    #[serde(default)]
    kind: Option<String>,
}

/// A line of a set that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct BadSet {
    /// Which file of the set.
    pub file: &'static str,
    /// 1-based; 0 if it is about the whole file.
    pub line: usize,
    /// What is wrong, without the line's text.
    pub message: String,
}

/// A query with what is relevant to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What is asked.
    pub text: String,
    /// A kind that the set gives it; empty if it gives none.
    pub kind: String,
    /// Relevant ids.
    pub judged: Relevance,
}

/// Where a hit lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitPlace<'a> {
    /// Path in the vault.
    pub path: &'a str,
    /// First line of the chunk, 1-based.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
}

/// A set to be asked.
#[derive(Clone, Debug)]
pub struct Set {
    /// Queries that something is relevant to.
    pub queries: Vec<Query>,
    /// Documents that could not be found in the vault.
    pub lost: usize,
    documents: Vec<Document>,
    places: Places,
}

/// Where the documents lie in the vault.
#[derive(Clone, Debug)]
enum Places {
    /// A document is a note: its id by path.
    Notes(HashMap<String, String>),
    /// A document is a passage of a note, by path.
    Passages(HashMap<String, Lines>),
}

/// A note with passages.
#[derive(Clone, Debug)]
struct Lines {
    /// The lines' first bytes.
    starts: Vec<usize>,
    length: usize,
    passages: Vec<(Range<usize>, String)>,
}

impl Set {
    /// Reads the three files. `vault` has the text of each note of the set's own vault by path; without one the
    /// notes to be searched are [`Set::notes`].
    pub fn read(
        corpus: &str,
        queries: &str,
        qrels: &str,
        vault: Option<&BTreeMap<String, String>>,
    ) -> Result<Self, BadSet> {
        let documents: Vec<Document> = json_lines("corpus.jsonl", corpus, "`_id` and `text`")?;
        let queries: Vec<RawQuery> = json_lines("queries.jsonl", queries, "`_id` and `text`")?;
        let mut qrels = judgements(qrels)?;
        let judged = queries.into_iter().filter_map(|query| {
            let judged = qrels.remove(&query.id)?;
            Some(Query { text: query.text, kind: query.kind.unwrap_or_default(), judged })
        });
        let queries: Vec<Query> = judged.collect();
        let (places, lost) = match vault {
            Some(texts) => place(&documents, texts),
            None => (Places::Notes(documents.iter().enumerate().map(|(n, d)| (path(n, d), d.id.clone())).collect()), 0),
        };
        Ok(Set { queries, lost, documents, places })
    }

    /// A note for each document: path and text.
    pub fn notes(&self) -> Vec<(String, String)> {
        let text = |document: &Document| {
            // A JSON string is YAML.
            let front = match document.title.as_str() {
                "" => String::new(),
                title => format!("---\ntitle: {}\n---\n\n", serde_json::Value::from(title)),
            };
            format!("{front}{}\n", document.text)
        };
        self.documents.iter().enumerate().map(|(n, document)| (path(n, document), text(document))).collect()
    }

    /// How many hits of one note to ask for: one where notes are what is looked for.
    pub fn per_note(&self) -> usize {
        match self.places {
            Places::Notes(_) => 1,
            Places::Passages(_) => 100,
        }
    }

    /// The ids that the hits stand for, best first, each once. A hit that covers several passages stands for all
    /// of them, those first of which it holds most.
    pub fn rank<'a>(&self, hits: impl Iterator<Item = HitPlace<'a>>) -> Vec<String> {
        let mut seen = HashSet::new();
        hits.flat_map(|hit| self.ids(hit)).filter(|id| seen.insert(id.clone())).collect()
    }

    fn ids(&self, hit: HitPlace<'_>) -> Vec<String> {
        match &self.places {
            Places::Notes(ids) => ids.get(hit.path).cloned().into_iter().collect(),
            Places::Passages(notes) => {
                notes.get(hit.path).map_or_else(Vec::new, |note| note.covered(hit.line as usize, hit.end_line as usize))
            }
        }
    }
}

impl Lines {
    fn new(text: &str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Lines { starts, length: text.len(), passages: Vec::new() }
    }

    /// The passages that share bytes with the lines `first..=last` (from 1), most shared bytes first.
    fn covered(&self, first: usize, last: usize) -> Vec<String> {
        let start = |line: usize| self.starts.get(line).copied().unwrap_or(self.length);
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

/// The note that a document is written as; an id that is no file name (a URL) is numbered.
fn path(n: usize, document: &Document) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let id = &document.id;
    let plain = !id.is_empty() && !id.starts_with('.') && id.len() < 100 && id.chars().all(safe);
    if plain { format!("{id}.md") } else { format!("document-{n}.md") }
}

/// Finds every document in the vault, as a note or as a passage of one.
fn place(documents: &[Document], texts: &BTreeMap<String, String>) -> (Places, usize) {
    if documents.iter().all(|d| texts.contains_key(&d.id)) {
        return (Places::Notes(documents.iter().map(|d| (d.id.clone(), d.id.clone())).collect()), 0);
    }
    let mut notes: HashMap<String, Lines> = texts.iter().map(|(path, text)| (path.clone(), Lines::new(text))).collect();
    let (mut taken, mut lost) = (HashSet::new(), 0);
    for document in documents {
        // A note whose path is part of the id is the likeliest one, then those where nothing lies yet.
        let found = locate(document, texts).into_iter().min_by_key(|(path, span)| {
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
    (Places::Passages(notes), lost)
}

/// All places where the document's text (or, if it has none, its title as a heading) stands.
fn locate(document: &Document, texts: &BTreeMap<String, String>) -> Vec<(String, Range<usize>)> {
    let (text, title) = (document.text.trim(), document.title.trim());
    let mut found = Vec::new();
    for (path, note) in texts {
        if !text.is_empty() {
            found.extend(note.match_indices(text).map(|(i, _)| (path.clone(), i..i + text.len())));
        } else if !title.is_empty() {
            let heads = note.match_indices(title).filter(|(i, _)| is_heading(note, *i, title));
            found.extend(heads.map(|(i, _)| (path.clone(), i..i + title.len())));
        }
    }
    found
}

fn is_heading(note: &str, at: usize, title: &str) -> bool {
    let line = note[..at].rfind('\n').map_or(0, |n| n + 1);
    note[line..].starts_with('#')
        && note[line..at].trim_matches(['#', ' ']).is_empty()
        && note[at + title.len()..].lines().next().is_none_or(|rest| rest.trim().is_empty())
}

/// What each query's relevant documents are.
fn judgements(text: &str) -> Result<HashMap<String, Relevance>, BadSet> {
    let bad = |line, message: &str| BadSet { file: "qrels.tsv", line, message: message.to_owned() };
    let mut judged: HashMap<String, Relevance> = HashMap::new();
    for (n, line) in (1..).zip(text.lines()).skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [query, document, score] = fields[..] else {
            return Err(bad(n, "three fields are wanted (query, document, score), parted by tabs"));
        };
        match score.trim().parse::<f64>() {
            Ok(score) if score > 0.0 && score.is_finite() => {
                judged.entry(query.to_owned()).or_default().insert(document.to_owned(), score);
            }
            Ok(score) if score <= 0.0 => {}
            _ => return Err(bad(n, "the third field, the score, is no number")),
        }
    }
    if judged.is_empty() {
        return Err(bad(0, "no document is relevant to any query; the first line is the header"));
    }
    Ok(judged)
}

/// The lines of a file of JSON Lines; empty ones are passed over.
fn json_lines<T: for<'de> Deserialize<'de>>(file: &'static str, text: &str, wanted: &str) -> Result<Vec<T>, BadSet> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(line, json): (usize, &str)| {
        // What the parser says may quote the line; where it stumbled does not.
        serde_json::from_str(json).map_err(|error| BadSet {
            file,
            line,
            message: format!("no JSON object with {wanted}, each a string (column {})", error.column()),
        })
    };
    let all: Vec<T> = lines.map(read).collect::<Result<_, _>>()?;
    if all.is_empty() {
        return Err(BadSet { file, line: 0, message: "it is empty".to_owned() });
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
