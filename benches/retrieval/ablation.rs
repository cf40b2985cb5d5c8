//! What each part of the free context is worth, in the words and in the vectors, asked through the library.
//!
//! The first arm is what contextual retrieval is measured against: chunks by their own text alone, without even the
//! title of their note. Then come the names as words of the chunk (title, aliases, headings and tags are fields of
//! the lexical lane), the template in either lane and in both, and the template with parts taken out or put in.

use std::path::PathBuf;

use anyhow::Result;
use index::Index;
use index::embed::builtin;
use index::eval::QueryMeasures;
use note::Note;
use note::chunk::Chunk;
use serde_json::json;

use crate::MODES;
use crate::arms::{Cut, ask, failures, read};
use crate::common::library::{Said, put_apart};
use crate::set::Set;

/// What is said of a chunk in the words, and in the vectors.
type Say = fn(&Note, &Cut) -> (String, String);

/// Name, whether names are words of the chunk, contexts.
const ARMS: [(&str, bool, Say); 13] = [
    ("chunks alone", false, |_, _| Default::default()),
    ("names as words", true, |_, _| Default::default()),
    ("… and the template in the words", true, |_, cut| (cut.template.clone(), String::new())),
    ("… and the template in the vectors", true, |_, cut| (String::new(), cut.template.clone())),
    ("names, the template in both (as shipped)", true, |_, cut| both(cut.template.clone())),
    ("the template in both, no names as words", false, |_, cut| both(cut.template.clone())),
    ("of the template: title", true, |note, _| both(note.title.clone())),
    ("title, headings above", true, |note, cut| both(said(note, &cut.chunk, &["title", "headings"]))),
    ("title, headings, path", true, |note, cut| both(said(note, &cut.chunk, &["title", "headings", "path"]))),
    ("title, headings, lead", true, |note, cut| both(said(note, &cut.chunk, &["title", "headings", "lead"]))),
    ("title, headings, tags, date", true, |note, cut| {
        both(said(note, &cut.chunk, &["title", "headings", "tags", "date"]))
    }),
    ("the template and the headings beside it", true, |note, cut| {
        both(format!("{} {}", cut.template, siblings(note, &cut.chunk)))
    }),
    ("the template twice", true, |_, cut| both(format!("{0} {0}", cut.template))),
];

fn both(text: String) -> (String, String) {
    (text.clone(), text)
}

/// These parts, as the template words them.
fn said(note: &Note, chunk: &Chunk, parts: &[&str]) -> String {
    let part = |name: &&str| match *name {
        "title" => note.title.clone(),
        "headings" => {
            let above = note.sections[chunk.sections.start].path.iter().map(|h| &note.outline[*h]);
            let above = above.filter(|h| h.span.end <= chunk.span.start).map(|h| h.text.as_str());
            above.filter(|text| *text != note.title).collect::<Vec<_>>().join(" › ")
        }
        "path" => note.path.as_str().trim_end_matches(".md").replace(['/', '-', '_', '.'], " "),
        "tags" => note.tags.join(", "),
        "date" => note.days.day().map(|date| date.strftime("%A, %-d %B %Y").to_string()).unwrap_or_default(),
        _ => note.front.description.clone().unwrap_or_else(|| first_sentence(note)),
    };
    parts.iter().map(part).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(". ")
}

fn first_sentence(note: &Note) -> String {
    let body = &note.text[note.body..];
    let line = body.lines().find(|line| line.len() > 24 && line.starts_with(char::is_alphabetic)).unwrap_or_default();
    line.split_inclusive(['.', '?', '!']).next().unwrap_or_default().chars().take(160).collect()
}

/// The headings of the sections before and behind a chunk.
fn siblings(note: &Note, chunk: &Chunk) -> String {
    let heading = |section: Option<usize>| {
        let section = section.and_then(|at| note.sections.get(at))?;
        Some(note.outline[section.heading?].text.as_str())
    };
    let beside = [heading(chunk.sections.start.checked_sub(1)), heading(Some(chunk.sections.end))];
    beside.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Prints a table of all sets: nDCG@10 and failures at 20 of each arm and lane, and the means.
pub(crate) fn run(dirs: &[PathBuf]) -> Result<()> {
    let home = tempfile::Builder::new().prefix("situated-bench").tempdir()?;
    let mut sets = Vec::new();
    for dir in dirs {
        let vault = home.path().join(dir.file_name().unwrap_or_default());
        let set = Set::load(dir, &vault)?;
        let pages = read(&vault, &json!([]))?;
        sets.push((set, pages));
    }
    let names: Vec<&str> = sets.iter().map(|(set, _)| set.name.as_str()).collect();
    println!("nDCG@10 / failures at 20\n\n| arm | lane | {} | mean |", names.join(" | "));
    println!("|---|---|{}", "---|".repeat(names.len() + 1));
    for (at, (name, with_names, say)) in ARMS.into_iter().enumerate() {
        let mut snapshots = Vec::new();
        for (n, (_, pages)) in sets.iter().enumerate() {
            let place = home.path().join(format!("index-{at}-{n}"));
            std::fs::create_dir_all(&place)?;
            let mut index = Index::open(&place, builtin::DIMENSIONS)?;
            index.begin_bulk(|| ())?;
            for (no, page) in (1..).zip(pages) {
                let chunks: Vec<Said> = page.cuts.iter().map(|cut| situated(&page.note, cut, say)).collect();
                put_apart(&mut index, no, &page.note, &chunks, with_names)?;
            }
            snapshots.push(index.publish(pages.len() as u64)?);
        }
        for mode in MODES {
            let asked = sets.iter().zip(&snapshots).map(|((set, _), snapshot)| ask(set, snapshot, mode));
            let asked: Vec<QueryMeasures> = asked.collect::<Result<_>>()?;
            let cell = |m: &QueryMeasures| format!("{:.3} / {:.1} %", m.ndcg_10, failures(*m));
            let cells: Vec<String> = asked.iter().map(cell).collect();
            println!("| {name} | {mode} | {} | {} |", cells.join(" | "), cell(&QueryMeasures::mean(&asked)));
        }
    }
    Ok(())
}

fn situated<'a>(note: &Note, cut: &'a Cut, say: Say) -> Said<'a> {
    let (words, vectors) = say(note, cut);
    Said { chunk: &cut.chunk, words, vectors }
}
