//! Whose context it is: one that was written for a note tells of that note, and no other note is given it.

use std::fs;

use protocol::audience::Audience;
use protocol::search::SearchRequest;

use crate::contexts::{SMALL_CHUNKS, start, wait_written};
use crate::model::Model;
use crate::requests::{fresh, query};
use crate::support::{Daemon, Place};

/// What a template makes of a new note: no heading names it.
const FORM: &str = "## Status\n\nThe hull was looked at in spring, and the harbour master wants a letter about every \
    rivet that was found loose by anybody who went aboard.\n\n\
    ## Crew\n\nNobody has signed yet, and the agency sends names when the winter season has come to its end.\n";

const PRIVATE: &str = "---\ntags: [private]\n---\n";

fn place(model: &Model) -> Place {
    let place = Place::new();
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "")));
    place
}

/// The contexts of a note's chunks, once nothing waits for the model.
fn contexts_of(daemon: &mut Daemon, path: &str) -> Vec<String> {
    wait_written(daemon);
    let (limit, per_note, merge) = (Some(50), Some(20), Some(false));
    let found = daemon.ask(&SearchRequest { limit, per_note, merge, ..fresh("hull rivet crew agency") });
    found.hits.into_iter().filter(|hit| hit.path == path).map(|hit| hit.context).collect()
}

/// Writes a note and waits until it is indexed and its contexts are written.
fn save(place: &Place, daemon: &mut Daemon, path: &str, text: &str) {
    place.write(path, text);
    daemon.ask(&fresh("hull"));
    wait_written(daemon);
}

fn assert_own(daemon: &mut Daemon, path: &str) {
    let contexts = contexts_of(daemon, path);
    let title = path.trim_end_matches(".md");
    assert_eq!(contexts.len(), 2, "{path}: {contexts:?}");
    assert!(contexts.iter().all(|context| context.starts_with(title)), "{path}: {contexts:?}");
}

#[test]
fn two_notes_from_one_template_get_contexts_of_their_own() {
    let model = Model::start();
    let place = place(&model);
    place.write("Aurora.md", FORM);
    let mut daemon = start(&place);
    assert_own(&mut daemon, "Aurora.md");
    save(&place, &mut daemon, "Borealis.md", FORM);
    assert_own(&mut daemon, "Borealis.md");
    assert_own(&mut daemon, "Aurora.md");
    assert_eq!(model.calls(), 2);

    // Each undoes a change, and finds its own.
    for path in ["Aurora.md", "Borealis.md"] {
        save(&place, &mut daemon, path, &FORM.replace("## Status", "## State"));
        save(&place, &mut daemon, path, FORM);
        assert_own(&mut daemon, path);
    }
    assert_eq!(model.calls(), 4, "each new heading was bought, no undo was");

    // A restart, another path, another path while nobody looks, and a note that is gone and comes back.
    daemon.stop();
    fs::rename(place.vault.join("Aurora.md"), place.vault.join("Celeste.md")).unwrap();
    let mut daemon = start(&place);
    assert_eq!(contexts_of(&mut daemon, "Celeste.md").len(), 2);
    fs::rename(place.vault.join("Borealis.md"), place.vault.join("Dorado.md")).unwrap();
    daemon.ask(&fresh("hull"));
    let moved = contexts_of(&mut daemon, "Dorado.md");
    assert!(moved.iter().all(|context| context.starts_with("Borealis")), "what was bought stays: {moved:?}");
    fs::remove_file(place.vault.join("Dorado.md")).unwrap();
    daemon.wait_holding("hull", &["Celeste.md"]);
    save(&place, &mut daemon, "Dorado.md", FORM);
    assert_eq!(contexts_of(&mut daemon, "Dorado.md"), moved);
    // A change of a note that has moved is undone.
    save(&place, &mut daemon, "Celeste.md", &FORM.replace("## Crew", "## Hands"));
    let calls = model.calls();
    save(&place, &mut daemon, "Celeste.md", FORM);
    assert_eq!((calls, model.calls()), (5, 5), "only the new heading was bought");
}

/// Most file systems give a new file the number of the one that was deleted last, as when a branch is switched. It is no note
/// that was renamed and written anew.
#[test]
fn a_note_that_is_deleted_as_another_is_made_finds_its_contexts_when_it_comes_back() {
    let model = Model::start();
    let place = place(&model);
    place.write("Aurora.md", FORM);
    let mut daemon = start(&place);
    assert_own(&mut daemon, "Aurora.md");
    daemon.stop();
    fs::remove_file(place.vault.join("Aurora.md")).unwrap();
    let other = FORM.replace("## Status", "## Berth").replace("## Crew", "## Hands");
    place.write("Borealis.md", &other);
    let mut daemon = start(&place);
    assert_own(&mut daemon, "Borealis.md");
    assert_eq!(model.calls(), 2);
    place.write("Aurora.md", FORM);
    daemon.ask(&fresh("hull"));
    assert_own(&mut daemon, "Aurora.md");
    assert_own(&mut daemon, "Borealis.md");
    assert_eq!(model.calls(), 2, "it was bought before");
}

#[test]
fn what_was_written_for_a_private_note_never_reaches_a_public_one() {
    let model = Model::start();
    model.captions(|document, _| {
        document.contains("title=\"Diary\"").then(|| "Diary: the hull and zanzibarque.".into())
    });
    let place = place(&model);
    place.write("Diary.md", format!("{PRIVATE}{FORM}"));
    let mut daemon = start(&place);
    let written = contexts_of(&mut daemon, "Diary.md");
    assert!(written.iter().any(|context| context.contains("zanzibarque")), "{written:?}");
    let public = |daemon: &mut Daemon, path: &str| {
        assert_own(daemon, path);
        let (limit, per_note, audience) = (Some(50), Some(20), Audience::Assistant);
        let shown = daemon.ask(&SearchRequest { limit, per_note, audience, ..query("zanzibarque hull") });
        assert!(!format!("{:?}", shown.hits).contains("zanzibarque"), "{shown:?}");
    };
    save(&place, &mut daemon, "Open.md", FORM);
    public(&mut daemon, "Open.md");
    // Nor when it is gone; nor to a public note in its place.
    fs::remove_file(place.vault.join("Diary.md")).unwrap();
    daemon.wait_holding("hull", &["Open.md"]);
    save(&place, &mut daemon, "Later.md", FORM);
    public(&mut daemon, "Later.md");
    model.captions(|_, _| None);
    save(&place, &mut daemon, "Diary.md", FORM);
    public(&mut daemon, "Diary.md");
    assert_eq!(model.calls(), 4);
}

/// Where the journal of contexts lies.
fn journal(place: &Place) -> std::path::PathBuf {
    let found = walk(place.dir.path()).into_iter().find(|path| path.ends_with("contexts.journal"));
    found.expect("a journal of contexts")
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries.flat_map(|e| if e.file_type().unwrap().is_dir() { walk(&e.path()) } else { vec![e.path()] }).collect()
}

/// The journal as version 1 of the store wrote it: no entry says whose a context is.
fn as_version_1(place: &Place) {
    let path = journal(place);
    let bytes = fs::read(&path).unwrap();
    let (mut kept, mut dropped, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        let end = at + 8 + length;
        match bytes[at + 8] {
            1 => kept.extend(&bytes[at..end]),
            _ => dropped += 1,
        }
        at = end;
    }
    assert!(dropped > 0, "the journal says whose contexts are");
    fs::write(path, kept).unwrap();
}

#[test]
fn a_folder_of_the_first_version_loses_nothing_that_was_paid_for() {
    let model = Model::start();
    let place = place(&model);
    place.write("Aurora.md", FORM);
    place.write("Own.md", format!("# Own\n\n{FORM}"));
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    // In the archive alone.
    save(&place, &mut daemon, "Own.md", &format!("# Own\n\n{}", FORM.replace("## Status", "## State")));
    let calls = model.calls();
    daemon.stop();
    as_version_1(&place);

    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert_eq!(model.calls(), calls, "opening it buys nothing");
    assert_own(&mut daemon, "Aurora.md");
    // An undo of what was changed then, and of what is changed now.
    save(&place, &mut daemon, "Own.md", &format!("# Own\n\n{FORM}"));
    assert_eq!(model.calls(), calls, "what lay in the archive is found");
    save(&place, &mut daemon, "Aurora.md", &FORM.replace("## Status", "## State"));
    save(&place, &mut daemon, "Aurora.md", FORM);
    assert_own(&mut daemon, "Aurora.md");
    assert_eq!(model.calls(), calls + 1);
    // The note that holds a context is the one it was written for.
    save(&place, &mut daemon, "Borealis.md", FORM);
    assert_own(&mut daemon, "Borealis.md");
    assert_eq!(model.calls(), calls + 2);
}
