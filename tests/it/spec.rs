//! Runs the specifications under `tests/spec/`: each shows a note's drafts and the plan expected for each.
//!
//! A file is prose with cases. A case begins at a `## ` heading and holds fences, in order:
//!
//! - `settings` (optional): lines `key = value`; keys `costs` (`true`/`false`, default `true`), `target`, `min`,
//!   `max` (tokens), `strategy`, `min-chunks`; and for the generation from the next draft on: `contextualizer`,
//!   `embedder`. May stand again between drafts.
//! - `draft PATH` (four backticks, so that notes can hold fences): the note as it is saved, under this path. The escapes `␍`
//!   (a carriage return) and `␀` (a zero byte) stand for bytes that an editor would not keep. `draft` without a path: the note is deleted.
//! - `beside PATH`: another note, saved under this path; it stays as it is.
//! - `plan`: what is planned on saving the draft above: the note's reason, then one line per step,
//!   `action | heading path | reason`, and ` | later REASON` where the context should be refreshed some time. Heading paths join with ` > `; the
//!   text before the first heading is `-`. A draft that no `plan` follows is saved without a look at its plan.
//! - `plan rebuild`: as `plan`, but for a rebuild asked for after the draft.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use context::Template;
use context::plan::{
    Action, Archived, ContextSource, CurrentChunk, CurrentNote, Generation, Plan, Source, StoredChunk, StoredNote,
    Trigger, may_reuse, plan, wants_model,
};
use note::VaultPath;
use note::chunk::{Chunk, ChunkConfig, Strategy};
use note::fingerprint::{ContextKey, Sketch, context_key, text_hash};
use note::{Note, NoteRules, Private, parse};

#[test]
fn every_specification_holds() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    // The audit of what was asked for has no examples: see `specification`.
    files.retain(|file| file.extension().is_some_and(|e| e == "md") && !file.ends_with("SPECIFICATION.md"));
    files.sort();
    let (mut cases, mut failures) = (0, String::new());
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        for case in cases_of(&text) {
            cases += 1;
            if let Err(why) = case.run() {
                let name = file.file_name().unwrap().to_string_lossy();
                writeln!(failures, "{name}: {}\n{why}\n", case.title).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    assert!(cases >= 30, "only {cases} specifications were found");
}

struct Case {
    title: String,
    fences: Vec<(String, String)>,
}

fn cases_of(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<(String, String, String)> = None;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        if let Some((mark, info, body)) = &mut open {
            if bare == mark {
                let fence = (info.clone(), body.clone());
                cases.last_mut().expect("a fence before the first case").fences.push(fence);
                open = None;
            } else {
                body.push_str(line);
            }
        } else if let Some(title) = bare.strip_prefix("## ") {
            cases.push(Case { title: title.to_owned(), fences: Vec::new() });
        } else if bare.starts_with("```") {
            let mark: String = bare.chars().take_while(|c| *c == '`').collect();
            open = Some((mark.clone(), bare[mark.len()..].trim().to_owned(), String::new()));
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    cases
}

impl Case {
    fn run(&self) -> Result<(), String> {
        let mut world = World::default();
        let mut drafted = false;
        for (i, (info, body)) in self.fences.iter().enumerate() {
            let words: Vec<&str> = info.splitn(2, ' ').collect();
            match words.as_slice() {
                ["settings"] => world.set(body)?,
                ["draft", path] => world.draft(path, &body.replace('␍', "\r").replace('␀', "\0")),
                ["draft"] => world.delete(),
                ["beside", path] => world.beside(path, body),
                ["plan", "rebuild"] => expect(body, &world.rebuild())?,
                ["plan"] if drafted => expect(body, &world.last)?,
                _ => return Err(format!("fence {i}: `{info}` is not known, or a plan stands before its draft")),
            }
            drafted |= info.starts_with("draft") || info.starts_with("beside");
        }
        let planned = self.fences.iter().any(|(info, _)| info.starts_with("plan"));
        if planned { Ok(()) } else { Err("no plan is expected".to_owned()) }
    }
}

fn expect(expected: &str, found: &str) -> Result<(), String> {
    let fold = |text: &str| text.lines().map(fold_spaces).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    let (expected, found) = (fold(expected), fold(found));
    if expected == found { Ok(()) } else { Err(format!("expected:\n{expected}\nfound:\n{found}")) }
}

fn fold_spaces(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A context in the archive, with the note that holds it or held it last.
#[derive(Clone)]
struct Kept {
    path: String,
    private: bool,
    context: Archived,
}

/// One note through its drafts, with the archive that the engine would keep, and the notes that stand beside it.
struct World {
    generation: Generation,
    chunk: ChunkConfig,
    stored: Option<(StoredNote, Vec<String>)>,
    archive: HashMap<ContextKey, Vec<Kept>>,
    /// Paths of the notes that stand beside it.
    others: Vec<String>,
    /// Whether the note is private.
    private: bool,
    text: (String, String),
    last: String,
}

impl Default for World {
    fn default() -> Self {
        let chunk = ChunkConfig { target: 40, min: 10, max: 60, overlap_percent: 0, ..ChunkConfig::default() };
        World {
            generation: Generation {
                contextualizer: "model/1".to_owned(),
                costs: true,
                embedder: "embedder/1".to_owned(),
                chunker: chunk.identity(),
                llm_min_chunks: 2,
            },
            chunk,
            stored: None,
            archive: HashMap::new(),
            others: Vec::new(),
            private: false,
            text: (String::new(), String::new()),
            last: String::new(),
        }
    }
}

impl World {
    fn set(&mut self, settings: &str) -> Result<(), String> {
        for line in settings.lines().filter(|line| !line.trim().is_empty()) {
            let (key, value) = line.split_once('=').ok_or_else(|| format!("`{line}` is not `key = value`"))?;
            let (key, value) = (key.trim(), value.trim());
            let number = || value.parse::<u32>().map_err(|_| format!("`{value}` is not a number"));
            match key {
                "costs" => self.generation.costs = value == "true",
                "min-chunks" => self.generation.llm_min_chunks = number()?,
                "contextualizer" => value.clone_into(&mut self.generation.contextualizer),
                "embedder" => value.clone_into(&mut self.generation.embedder),
                "target" => self.chunk.target = number()?,
                "min" => self.chunk.min = number()?,
                "max" => self.chunk.max = number()?,
                "strategy" => {
                    self.chunk.strategy = match value {
                        "obsidian" => Strategy::Obsidian,
                        "markdown" => Strategy::Markdown,
                        "fixed" => Strategy::Fixed,
                        _ => return Err(format!("`{value}` is no strategy")),
                    }
                }
                _ => return Err(format!("`{key}` is no setting")),
            }
        }
        self.generation.chunker = self.chunk.identity();
        if !self.generation.costs && self.generation.contextualizer.starts_with("model") {
            "template/1".clone_into(&mut self.generation.contextualizer);
        }
        Ok(())
    }

    fn draft(&mut self, path: &str, text: &str) {
        self.text = (path.to_owned(), text.to_owned());
        self.save(Trigger::Save);
    }

    fn rebuild(&mut self) -> String {
        self.save(Trigger::Rebuild);
        self.last.clone()
    }

    fn delete(&mut self) {
        let Some((stored, headings)) = self.stored.take() else { return };
        let planned = plan(Some(&stored), None, &self.generation, Trigger::Save, &|_| None);
        self.last = tell(&planned, &[], &headings);
        self.keep_paid(&stored);
    }

    /// Saves another note, as if it were alone; the one at hand stays as it is.
    fn beside(&mut self, path: &str, text: &str) {
        let (note, own, private) = (self.stored.take(), std::mem::take(&mut self.text), self.private);
        self.others.extend(note.as_ref().map(|(note, _)| note.path.to_string()));
        self.draft(path, text);
        (self.stored, self.text, self.private) = (note, own, private);
        if let Some((note, _)) = &self.stored {
            self.others.retain(|other| other != note.path.as_str());
        }
        self.others.push(path.to_owned());
    }

    /// What the archive has for a note that is at `path` and was at `before`.
    fn archived(&self, key: ContextKey, path: &str, before: Option<&str>, private: bool) -> Option<Archived> {
        let source = |kept: &Kept| Source {
            here: kept.path == path || Some(kept.path.as_str()) == before,
            removed: false,
            gone: kept.path != path && !self.others.contains(&kept.path),
            private: kept.private,
        };
        let kept = self.archive.get(&key)?.iter().rev().find(|kept| may_reuse(&[source(kept)], private))?;
        Some(kept.context.clone())
    }

    fn save(&mut self, trigger: Trigger) {
        let path = VaultPath::parse(&self.text.0).unwrap();
        let note = parse(&path, self.text.1.as_bytes(), &NoteRules::default());
        let chunks = index::chunk::cut(&note, &self.chunk);
        let template = Template::new(&note);
        let now = CurrentNote {
            path,
            hash: note.hash,
            structure: note.structure(),
            chunks: chunks.iter().map(|c| current(&note, c, &template)).collect(),
        };
        let stored = self.stored.take();
        let private = Private::default().covers_note(&note);
        let before = stored.as_ref().map(|(stored, _)| stored.path.to_string());
        let known = |key: ContextKey| self.archived(key, now.path.as_str(), before.as_deref(), private);
        let planned = plan(stored.as_ref().map(|(s, _)| s), Some(&now), &self.generation, trigger, &known);
        let headings: Vec<String> = chunks.iter().map(|c| heading_path(&note, c)).collect();
        let before = stored.as_ref().map_or(&[][..], |(_, headings)| headings.as_slice());
        let told = tell(&planned, &headings, before);
        let seen: Vec<_> = chunks.iter().map(|c| note::chunk::visible(&note, &c.span)).collect();
        let next = self.applied(&planned, (&now, &seen), stored.as_ref().map(|(s, _)| s), &known);
        self.last = told;
        if let Some((stored, _)) = &stored {
            self.keep_paid(stored);
        }
        // What is paid for is in the journal from then on.
        self.private = private;
        self.keep_paid(&next);
        self.stored = Some((next, headings));
    }

    fn keep_paid(&mut self, stored: &StoredNote) {
        for chunk in stored.chunks.iter().filter(|c| c.paid) {
            let (contextualizer, sketch) = (chunk.contextualizer.clone(), chunk.sketch.clone());
            let context = Archived { contextualizer, sketch, written_at: 0 };
            let kept = Kept { path: stored.path.to_string(), private: self.private, context };
            self.archive.entry(context_key(&chunk.keys, chunk.hash)).or_default().push(kept);
        }
    }

    fn applied(
        &self,
        plan: &Plan,
        (now, seen): (&CurrentNote<'_>, &[Cow<'_, str>]),
        stored: Option<&StoredNote>,
        known: &dyn Fn(ContextKey) -> Option<Archived>,
    ) -> StoredNote {
        let by = &self.generation;
        let chunk = |step: &context::plan::Step| {
            let chunk = &now.chunks[step.chunk];
            let wanted = wants_model(chunk.has_words, now.chunks.len(), by);
            let paid = by.costs && wanted;
            let fresh = StoredChunk {
                id: chunk.id,
                keys: chunk.keys.clone(),
                ordinal: chunk.ordinal,
                heading_path: chunk.heading_path.iter().map(|heading| (*heading).to_owned()).collect(),
                hash: chunk.hash,
                context_hash: if paid { text_hash(b"a model's words") } else { chunk.template_hash },
                paid,
                wanted,
                contextualizer: if paid { by.contextualizer.clone() } else { "template/1".to_owned() },
                sketch: if paid { Sketch::of(&seen[step.chunk]) } else { Sketch::default() },
                due: None,
                later: step.later,
            };
            match (step.context, stored) {
                // The model answers at once here: what serves meanwhile is never seen.
                (ContextSource::Stored(i), Some(stored)) if step.action != Action::Regenerate => {
                    let old = stored.chunks[i].clone();
                    let context_hash = if old.paid { old.context_hash } else { chunk.template_hash };
                    let StoredChunk { paid, wanted, contextualizer, sketch, .. } = old;
                    StoredChunk { context_hash, paid, wanted, contextualizer, sketch, ..fresh }
                }
                (ContextSource::Archive(key), _) => {
                    let Archived { contextualizer, sketch, .. } = known(key).expect("it was found a moment ago");
                    StoredChunk { paid: true, contextualizer, sketch, ..fresh }
                }
                _ => fresh,
            }
        };
        StoredNote {
            path: now.path.clone(),
            hash: now.hash,
            structure: now.structure,
            embedder: by.embedder.clone(),
            chunker: by.chunker.clone(),
            chunks: plan.steps.iter().filter(|s| s.action != Action::Remove).map(chunk).collect(),
        }
    }
}

fn current<'a>(note: &'a Note, chunk: &Chunk, template: &Template<'_>) -> CurrentChunk<'a> {
    CurrentChunk {
        id: chunk.id,
        keys: chunk.keys.clone(),
        ordinal: chunk.ordinal,
        heading_path: note.heading_path(&note.sections[chunk.sections.start]),
        hash: chunk.hash,
        text: note::chunk::compared(note, &chunk.span),
        template_hash: text_hash(template.context(chunk).as_bytes()),
        has_words: chunk.has_words,
    }
}

fn heading_path(note: &Note, chunk: &Chunk) -> String {
    let path = note.heading_path(&note.sections[chunk.sections.start]);
    if path.is_empty() { "-".to_owned() } else { path.join(" > ") }
}

fn tell(plan: &Plan, now: &[String], before: &[String]) -> String {
    let mut out = format!("{}\n", plan.reason);
    for step in &plan.steps {
        let headings = if step.action == Action::Remove { before } else { now };
        write!(out, "{} | {} | {}", step.action, headings[step.chunk], step.reason).unwrap();
        if let Some(later) = step.later {
            write!(out, " | later {later}").unwrap();
        }
        out.push('\n');
    }
    out
}
