//! A set in BEIR's form (Thakur and others, NeurIPS Datasets 2021), and how a hit becomes ids of the set.
//!
//! `corpus.jsonl` holds documents (`_id`, `title`, `text`), `queries.jsonl` queries (`_id`, `text`, maybe `kind`),
//! `qrels.tsv` a header and lines of query, document and score, separated by tabs. A set may come with a vault that its
//! documents are notes of, or passages of notes; else each document is written as a note.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::Relevance;
use crate::search;

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

/// A set that cannot be used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", if *line == 0 { String::new() } else { format!(":{line}") })]
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

/// A document of a set that is not there to be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Its id.
    pub id: String,
    /// Queries that it is relevant to.
    pub queries: usize,
}

/// A set to be asked.
#[derive(Clone, Debug)]
pub struct Set {
    /// Queries for which at least one relevant document is there.
    pub queries: Vec<Query>,
    /// Documents that are not in the vault (or, without one, not in the corpus); those that most queries need first.
    pub missing: Vec<Missing>,
    /// Queries that are left out, because all documents relevant to them are missing.
    pub unanswerable: usize,
    own_vault: bool,
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
        let documents: Vec<(usize, Document)> = json_lines("corpus.jsonl", corpus)?;
        once("corpus.jsonl", documents.iter().map(|(line, document)| (*line, &*document.id)))?;
        let documents: Vec<Document> = documents.into_iter().map(|(_, document)| document).collect();
        let queries: Vec<(usize, RawQuery)> = json_lines("queries.jsonl", queries)?;
        once("queries.jsonl", queries.iter().map(|(line, query)| (*line, &*query.id)))?;
        let mut queries = judged(queries, judgements(qrels)?)?;
        let (places, known) = match vault {
            Some(texts) => place(&documents, &queries, texts),
            None => as_notes(&documents),
        };
        let missing = missing(&documents, &queries, &known);
        let asked = queries.len();
        for query in &mut queries {
            query.judged.retain(|id, _| known.contains(id));
        }
        queries.retain(|query| !query.judged.is_empty());
        let unanswerable = asked - queries.len();
        Ok(Set { queries, missing, unanswerable, own_vault: vault.is_some(), documents, places })
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

    /// Whether it was read with a vault of its own.
    pub fn has_vault(&self) -> bool {
        self.own_vault
    }

    /// How many hits of one note to ask for: one if the documents are notes.
    pub fn per_note(&self) -> usize {
        match self.places {
            Places::Notes(_) => 1,
            Places::Passages(_) => 100,
        }
    }

    /// The ids that the hits stand for, best first, each once. A hit that covers several passages stands for all of
    /// them, beginning with the one of which it holds most.
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

/// What stands before the number of a document that has no file name.
const NUMBERED: &str = "document-";

/// The note that a document is written as; an id that is no file name (a URL) is numbered.
fn path(n: usize, document: &Document) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let id = &document.id;
    let plain = !id.is_empty() && !id.starts_with('.') && id.len() < 100 && id.chars().all(safe);
    // An id such as `document-1` could be the number of another.
    if plain && !id.starts_with(NUMBERED) { format!("{id}.md") } else { format!("{NUMBERED}{n}.md") }
}

/// Where the documents are, and the ids of those that were found.
type Placed = (Places, HashSet<String>);

/// Each document is a note of its own.
fn as_notes(documents: &[Document]) -> Placed {
    let ids: HashMap<String, String> = documents.iter().enumerate().map(|(n, d)| (path(n, d), d.id.clone())).collect();
    (Places::Notes(ids), documents.iter().map(|document| document.id.clone()).collect())
}

/// Finds every document in the vault, as a note or as a passage of one. If any id is the path of a note, all ids are
/// paths: a document whose note is gone is missing, and is not looked for as a passage of another note.
fn place(documents: &[Document], queries: &[Query], texts: &BTreeMap<String, String>) -> Placed {
    if documents.iter().any(|document| texts.contains_key(&document.id)) {
        let ids = documents.iter().map(|document| &document.id).chain(queries.iter().flat_map(|q| q.judged.keys()));
        let known: HashSet<String> = ids.filter(|id| texts.contains_key(*id)).cloned().collect();
        return (Places::Notes(known.iter().map(|id| (id.clone(), id.clone())).collect()), known);
    }
    let mut notes: HashMap<String, Lines> = texts.iter().map(|(path, text)| (path.clone(), Lines::new(text))).collect();
    let (mut taken, mut known) = (HashSet::new(), HashSet::new());
    for document in documents {
        // The likeliest is a note whose path is part of the id, then a place that no other document has taken.
        let found = locate(document, texts).into_iter().min_by_key(|(path, span)| {
            let stem = path.strip_suffix(".md").unwrap_or(path);
            (!document.id.contains(stem), taken.contains(&(path.clone(), span.start)))
        });
        if let Some((note, path, span)) = found.and_then(|(path, span)| Some((notes.get_mut(&path)?, path, span))) {
            taken.insert((path, span.start));
            note.passages.push((span, document.id.clone()));
            known.insert(document.id.clone());
        }
    }
    (Places::Passages(notes), known)
}

/// The documents of the corpus and of the judgements that were not found.
fn missing(documents: &[Document], queries: &[Query], known: &HashSet<String>) -> Vec<Missing> {
    let mut wanted: BTreeMap<&String, usize> = documents.iter().map(|document| (&document.id, 0)).collect();
    for id in queries.iter().flat_map(|query| query.judged.keys()) {
        *wanted.entry(id).or_default() += 1;
    }
    let lost = wanted.into_iter().filter(|(id, _)| !known.contains(*id));
    let mut missing: Vec<Missing> = lost.map(|(id, queries)| Missing { id: id.clone(), queries }).collect();
    missing.sort_by_key(|missing| std::cmp::Reverse(missing.queries));
    missing
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

/// The queries that something is relevant to.
fn judged(queries: Vec<(usize, RawQuery)>, mut qrels: HashMap<String, Relevance>) -> Result<Vec<Query>, BadSet> {
    let bad = |line, message: String| Err(BadSet { file: "queries.jsonl", line, message });
    let all = queries.len();
    let mut judged = Vec::new();
    for (line, query) in queries {
        let Some(relevant) = qrels.remove(&query.id) else { continue };
        // Checked here, or else measuring would fail halfway.
        match search::parse(&query.text, Date::constant(2000, 1, 1)) {
            Ok(parsed) if !parsed.has_text() && parsed.filter.is_empty() => {
                return bad(line, "`text` asks for nothing; drop the line".to_owned());
            }
            Ok(_) => {}
            Err(over) => return bad(line, format!("{over}; shorten `text`")),
        }
        judged.push(Query { text: query.text, kind: query.kind.unwrap_or_default(), judged: relevant });
    }
    if judged.is_empty() {
        let what = format!(
            "none of its {all} queries is in qrels.tsv, whose first field is the `_id` of a query; do the two belong together?"
        );
        return bad(0, what);
    }
    Ok(judged)
}

/// The relevant documents of each query.
fn judgements(text: &str) -> Result<HashMap<String, Relevance>, BadSet> {
    let bad = |line, message: &str| BadSet { file: "qrels.tsv", line, message: message.to_owned() };
    let mut judged: HashMap<String, Relevance> = HashMap::new();
    for (n, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let score = |field: &str| field.trim().parse::<f64>().ok().filter(|score| score.is_finite());
        if n == 1 {
            if fields.last().is_some_and(|last| score(last).is_some()) {
                return Err(bad(
                    n,
                    "a judgement where the header is wanted; write `query-id`, `corpus-id`, `score` above it",
                ));
            }
            continue;
        }
        let [query, document, last] = fields[..] else {
            return Err(bad(n, "three fields are wanted (query, document, score), parted by tabs"));
        };
        match score(last) {
            Some(score) if score > 0.0 => {
                judged.entry(query.to_owned()).or_default().insert(document.to_owned(), score);
            }
            Some(_) => {}
            None => return Err(bad(n, "the third field, the score, is no number; 1 is relevant, 0 is not")),
        }
    }
    if judged.is_empty() {
        let what =
            "no document is relevant to any query; a line is query, document and a score above 0, parted by tabs";
        return Err(bad(0, what));
    }
    Ok(judged)
}

/// The lines of a file of JSON Lines, with their numbers; empty ones are passed over.
fn json_lines<T: for<'de> Deserialize<'de>>(file: &'static str, text: &str) -> Result<Vec<(usize, T)>, BadSet> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(line, json): (usize, &str)| match serde_json::from_str(json) {
        Ok(read) => Ok((line, read)),
        // The parser's message may quote the line; its column does not.
        Err(error) => Err(BadSet {
            file,
            line,
            message: format!(
                "no JSON object with `_id` and `text`, each a string (column {}){}",
                error.column(),
                instead(json)
            ),
        }),
    };
    let all: Vec<(usize, T)> = lines.map(read).collect::<Result<_, _>>()?;
    if all.is_empty() {
        let message = "it is empty; each line is an object such as {\"_id\": \"1\", \"text\": \"…\"}".to_owned();
        return Err(BadSet { file, line: 0, message });
    }
    Ok(all)
}

/// At most this many fields of a line are named if it lacks a required one.
const NAMED: usize = 6;

/// A hint with the names of the fields that a line has, if a required one is not among them; else empty.
fn instead(json: &str) -> String {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    let lacking: Vec<&str> = ["_id", "text"].into_iter().filter(|wanted| !fields.contains_key(*wanted)).collect();
    if fields.is_empty() || lacking.is_empty() {
        return String::new();
    }
    let has: Vec<String> = fields.keys().take(NAMED).map(|name| format!("`{name}`")).collect();
    format!("; it has {}, and no `{}`: rename what is meant", has.join(", "), lacking.join("` or `"))
}

/// Fails if two lines have the same id.
fn once<'a>(file: &'static str, ids: impl Iterator<Item = (usize, &'a str)>) -> Result<(), BadSet> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (line, id) in ids {
        if let Some(first) = seen.insert(id, line) {
            let message = format!("line {first} has the same `_id`; give one of them another, or drop it");
            return Err(BadSet { file, line, message });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
