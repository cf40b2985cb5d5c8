//! What must hold when everything has come to rest.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use context::ContextRecord;
use context::plan::Action;
use index::embed::Vector;
use index::{LexicalQuery, Snapshot};
use note::Private;
use provider::ledger::{Ledger, folder};
use serde_json::Value;

use super::dice::Dice;
use super::disk::Disk;
use super::model::Call;
use super::play::World;
use super::played::Played;
use super::process::{Process, Setup};
use crate::decide::{NotePipeline, Outcome, Task, read_note};
use crate::pool::look;
use crate::testing::file_system;

/// How many calls are still reserved in a ledger.
pub(super) type Standing = usize;

/// Checks all of it.
pub(super) fn check(world: &mut World) -> Result<(), String> {
    let faults = world.model.faults();
    if let Some(fault) = faults.first() {
        return Err(fault.clone());
    }
    let process = world.process();
    let running: Vec<_> = process.shared.jobs.all().into_iter().filter(|job| job.is_running()).collect();
    if !running.is_empty() {
        return Err(format!("jobs without an end: {running:?}"));
    }
    let Some(published) = process.vault.published.load_full() else { return Err("nothing answers".to_owned()) };
    let (snapshot, pipeline) = (published.0.clone(), published.1.clone());
    drop(published);
    decided(&snapshot, &pipeline)?;
    equal_to_new(world, &snapshot)?;
    if pipeline.generation.costs {
        contexts(world, &pipeline)?;
    }
    let data = world.machine.disk.borrow().data();
    money(world, &data)
}

/// Deciding about every note once more changes nothing, and what is indexed is what the decision says.
fn decided(snapshot: &Snapshot, pipeline: &Arc<NotePipeline>) -> Result<(), String> {
    for note in snapshot.notes() {
        let task = Task::again(note.path.clone());
        let read = read_note(&*file_system(), pipeline, &task).map_err(|_| format!("{} cannot be read", note.path))?;
        let Outcome::Decided(decided) = look(pipeline, &task, read) else {
            return Err(format!("{} cannot be decided about", note.path));
        };
        if let Some(step) = decided.plan.steps.iter().find(|step| step.action != Action::Keep) {
            let stored = pipeline.store.note(&note.path).ok().flatten().map(|record| record.chunks);
            let contexts = pipeline.store.contexts(&note.path);
            return Err(format!("{}: deciding again would {step:?}: {stored:#?} {contexts:#?}", note.path));
        }
        if !decided.missing.is_empty() {
            return Err(format!("{}: vectors are missing", note.path));
        }
        for (doc, row) in decided.docs.iter().zip(note.rows.iter()) {
            let text = snapshot.text(row).map_err(|error| format!("{}: {error}", note.path))?;
            if (&text.text, &text.context) != (&doc.text, &doc.context) {
                return Err(format!("{}: the words of a chunk are not those of the note: {text:?}", note.path));
            }
            if !snapshot.vectors(row).iter().eq(doc.windows.iter().map(|window| &window.vector)) {
                return Err(format!("{}: the vectors of a chunk are not those of its words", note.path));
            }
        }
        if decided.docs.len() != note.rows.len() {
            return Err(format!("{}: {} chunks of {}", note.path, note.rows.len(), decided.docs.len()));
        }
    }
    Ok(())
}

/// What can be seen of an index.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Picture {
    /// By path: what is known of the note, and each chunk.
    notes: BTreeMap<String, (String, Vec<String>)>,
    /// Vectors, where contexts are the template's.
    vectors: BTreeMap<(String, u32), Vec<Vector>>,
    /// Words, and the chunks that they find.
    found: BTreeMap<String, BTreeSet<(String, u32)>>,
}

impl Picture {
    fn of(snapshot: &Snapshot, words: &[String], whole: bool) -> Result<Self, String> {
        let mut picture = Picture::default();
        for note in snapshot.notes() {
            let path = note.path.to_string();
            let links: Vec<_> = note.links().map(|link| snapshot.resolve(link, &note.path).is_some()).collect();
            let known = format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {links:?} {}",
                note.title(),
                note.aliases(),
                note.tags(),
                note.kind(),
                note.days,
                note.properties(),
                note.conflict
            );
            let mut chunks = Vec::new();
            for row in note.rows.iter() {
                let chunk = snapshot.chunk(row).ok_or("a row without a chunk")?;
                let text = snapshot.text(row).map_err(|error| error.to_string())?;
                let mut shown =
                    format!("{} {:?} {:?} {:?}", chunk.id, chunk.span, chunk.lines, snapshot.heading_path(row));
                let _ = write!(shown, " {:?}", text.text);
                if whole {
                    let _ = write!(shown, " {:?}", text.context);
                    picture.vectors.insert((path.clone(), chunk.position), snapshot.vectors(row));
                }
                chunks.push(shown);
            }
            picture.notes.insert(path, (known, chunks));
        }
        for word in words {
            // A phrase too, so that the word must occur: which other word stands in for a missing one depends on what
            // the dictionary has not dropped yet.
            let (words, phrases) = (word.clone(), vec![word.clone()]);
            let query = LexicalQuery { words, phrases, ..LexicalQuery::default() };
            let rows = snapshot.lexical(&query, &|_| true, 50).map_err(|error| error.to_string())?;
            let place = |(row, _): (u32, f32)| {
                let chunk = snapshot.chunk(row)?;
                Some((snapshot.note(chunk.note)?.path.to_string(), chunk.position))
            };
            picture.found.insert(word.clone(), rows.into_iter().filter_map(place).collect());
        }
        Ok(picture)
    }
}

/// The index must equal one that is built from nothing.
fn equal_to_new(world: &mut World, snapshot: &Snapshot) -> Result<(), String> {
    let whole = !world.costs() && !world.is_remote();
    // The newest words, and some that occur in many notes.
    let mut words: Vec<String> = world.vault.markers.iter().rev().take(12).cloned().collect();
    words.extend(["harbour", "winter", "railway"].map(str::to_owned));
    let here = Picture::of(snapshot, &words, whole)?;
    let fresh = match world.fresh.take() {
        Some(fresh) => fresh,
        None => afresh(world, &words, whole)?,
    };
    if here == fresh {
        // The vault does not change any more, so the next check uses this again.
        world.fresh = Some(fresh);
        return Ok(());
    }
    if here.notes != fresh.notes {
        let differ =
            here.notes.keys().chain(fresh.notes.keys()).filter(|path| here.notes.get(*path) != fresh.notes.get(*path));
        let path = differ.min().cloned().unwrap_or_default();
        let (one, other) = (here.notes.get(&path), fresh.notes.get(&path));
        return Err(format!("`{path}` is not as from nothing:\n{one:?}\n{other:?}"));
    }
    if here.found != fresh.found {
        let differ = here.found.iter().find(|(word, found)| fresh.found.get(*word) != Some(found));
        let there = differ.and_then(|(word, _)| fresh.found.get(word));
        return Err(format!("a word finds other chunks than from nothing: {differ:?} {there:?}"));
    }
    Err("the vectors are not as from nothing".to_owned())
}

/// An index of the vault, built from nothing with templates.
fn afresh(world: &mut World, words: &[String], whole: bool) -> Result<Picture, String> {
    let dir = world.beside();
    let wall = world.machine.wall_ms();
    let machine = Played::new(Disk::new(&dir), Dice::new(1), wall);
    machine::simulation::play(Some(machine.clone()));
    let data = machine.disk.borrow().data();
    let setup = Setup { costs: false, concurrency: 1, budget: 0, rebuild: 0, batches: false, remote: false };
    let mut process = Process::start(&machine, setup, &world.vault.root, &data);
    let mut dice = Dice::new(2);
    for _ in 0..100 {
        let until = machine::now() + std::time::Duration::from_secs(1);
        process.run_until(until, &mut dice, &|| 0);
        if process.is_at_rest() {
            break;
        }
    }
    let snapshot = process.vault.snapshot();
    let picture = snapshot.ok_or_else(|| "nothing from nothing".to_owned()).and_then(|s| Picture::of(&s, words, whole));
    process.end();
    machine::simulation::play(Some(world.machine.clone()));
    super::played::remove(&dir);
    picture
}

/// Every context that was paid for is there, once; and none is missing.
fn contexts(world: &mut World, pipeline: &Arc<NotePipeline>) -> Result<(), String> {
    for record in pipeline.store.notes().map_err(|error| error.to_string())? {
        let contexts = pipeline.store.contexts(&record.path).map_err(|error| error.to_string())?;
        for (chunk, context) in record.chunks.iter().zip(contexts) {
            let settled = context.is_paid() || chunk.later.is_some();
            if chunk.due.is_some() || (chunk.wanted && !settled) {
                return Err(format!("{}: a context is wanted and not there: {chunk:?}", record.path));
            }
        }
    }
    let mut exported = Vec::new();
    pipeline
        .store
        .export(&mut exported, &ContextRecord::is_paid, &Private::default())
        .map_err(|error| error.to_string())?;
    let mut kept: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut private: HashSet<String> = HashSet::new();
    for line in String::from_utf8_lossy(&exported).lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let text = line["text"].as_str().unwrap_or_default();
        // Questions and terms stay with the context that came in the same answer.
        let is_asked = line["generation"].to_string().contains("/p1q1") && line["making"]["form"] == "note";
        let terms: Vec<&str> =
            line["expansion"]["terms"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if is_asked != (terms.len() == 1) || terms.iter().any(|term| names(text).all(|name| name != *term)) {
            return Err(format!("beside the context {text} stands {}", line["expansion"]));
        }
        // A context of a note that was private when it was last heard of serves no public note, nor does a context of
        // which nobody knows for what note it was written.
        let is_torn = line["notes"].is_null() && names(text).all(|name| world.torn.contains(name));
        if is_torn || line["notes"].to_string().contains("private") {
            private.extend(names(text).map(str::to_owned));
            continue;
        }
        let name = |name: &str| format!("{name} {} {} {}", line["notes"], line["written_at"], line["generation"]);
        // A context follows its section from text to text: the text that it was written for identifies the purchase.
        kept.entry(format!("{} {}", line["sections"], line["written_for"])).or_default().extend(names(text).map(name));
    }
    let is_lost = |name: &String| world.lost_moves.iter().any(|path| name.contains(&format!("\"{path}\"")));
    let allowed = |names: &BTreeSet<String>| 1 + world.rebuilds + usize::from(names.iter().any(is_lost));
    if let Some((key, names)) = kept.iter().find(|(_, names)| names.len() > allowed(names)) {
        return Err(format!("the context {key} was bought more than once: {names:?}"));
    }
    let kept: HashSet<&str> = kept.values().flatten().filter_map(|name| name.split(' ').next()).collect();
    let is_kept = |name: &String| kept.contains(name.as_str()) || private.contains(name);
    let excused: HashSet<String> = world.lost_captions();
    for call in world.model.calls().iter().filter(|call| call.delivered) {
        if let Some(lost) = call.captions.iter().find(|name| !is_kept(name) && !excused.contains(*name)) {
            return Err(format!("the caption {lost} came, and is nowhere"));
        }
    }
    // Nobody excuses those of batches: they can be fetched until they are kept.
    let shelf = world.model.shelf();
    let lost = shelf.captions().find(|name| !is_kept(name));
    lost.map_or(Ok(()), |lost| Err(format!("a batch has the caption {lost}, and it is nowhere")))
}

/// Names of the captions that the journals below a folder hold whole: a loss of power may have torn the last one.
pub(super) fn journaled(data: &Path) -> HashSet<String> {
    let journals = super::disk::files(data).into_iter().filter(|path| path.ends_with("contexts.journal"));
    let contexts = journals.flat_map(|path| store::journaled(path.parent().unwrap()).unwrap());
    contexts.flat_map(|(_, context)| names(&context.text).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Names of captions in a text.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with("qx") && word.len() == 6)
}

/// How many calls are still reserved in the ledger of a data folder, and how many are settled.
fn lines(data: &Path) -> (usize, usize) {
    let (mut reserved, mut settled) = (BTreeSet::new(), BTreeSet::new());
    for path in super::disk::files(&folder(data)) {
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
            let id = (line["day"].to_string(), line["id"].to_string());
            match line["line"].as_str() {
                Some("reserved") => drop(reserved.insert(id)),
                Some("settled") => {
                    reserved.remove(&id);
                    settled.insert(id);
                }
                Some("released") => drop(reserved.remove(&id)),
                _ => {}
            }
        }
    }
    (reserved.len(), settled.len())
}

/// How many calls are still reserved.
pub(super) fn standing(data: &Path) -> Standing {
    lines(data).0
}

/// The ledger has every call that may be billed, and no others except those that a death left unsure; nothing stays
/// reserved.
fn money(world: &World, data: &Path) -> Result<(), String> {
    let (reserved, settled) = lines(data);
    if reserved > 0 {
        return Err(format!("{reserved} calls stay reserved"));
    }
    let calls = world.model.calls();
    let billed = calls.iter().filter(|call| call.is_billed()).count() + world.model.shelf().billed();
    // A process that dies between reserving and sending, or between a refusal and the release, counts one call too
    // many. A batch that may have arrived counts, too, each time that it is handed in.
    let unsure: usize = world.ends.iter().map(|(_, standing)| *standing).sum();
    let unsure = unsure + calls.iter().map(Call::unsure).sum::<usize>();
    if settled < billed || settled > billed + unsure {
        return Err(format!("the ledger has {settled} calls, and the provider may bill {billed} (unsure: {unsure})"));
    }
    let ledger = Ledger::open(&folder(data)).map_err(|error| error.to_string())?;
    let report = ledger.report(machine::zoned());
    // A call is booked when its contexts are kept: what is settled is on the disk.
    let (booked, kept) = (report.this_month.contexts + report.last_month.contexts, journaled(data).len() as u64);
    if booked > kept {
        return Err(format!("the ledger has {booked} contexts, and the journals {kept}"));
    }
    if report.damaged_lines as usize > world.ends.len() {
        return Err(format!("{} lines of the ledger are damaged", report.damaged_lines));
    }
    Ok(())
}
