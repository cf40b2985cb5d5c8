//! Windows that become one, and what lies near a note, some lines or a text: over the socket and at the terminal.

use std::io::Write as _;
use std::process::Stdio;

use protocol::envelope::ErrorKind;
use protocol::hit::LinkDirection;
use protocol::search::{Contextual, Group, Include, RelatedRequest, SearchRequest};
use serde_json::{Value, json};

use crate::commands::{err, out};
use crate::requests::{by_words, hit_in, near, paths};
use crate::support::{Daemon, Place};

/// Small chunks, so that a section is one.
const SMALL: &str = "[chunk]\nstrategy = \"markdown\"\ntarget = 30\nmin = 0\nmax = 60\n[search]\nwindow_chars = 300\n";

/// Four sections; the word stands in the first three.
const LONG: &str = "# Orchard\n\n## Quinces\n\nThe zorbleberry grows beside the quinces at the southern wall.\n\n\
    ## Pears\n\nAnother zorbleberry stands among the pears, which ripen late in October.\n\n\
    ## Plums\n\nA third zorbleberry was planted under the plums two winters ago.\n\n\
    ## Tools\n\nThe ladder hangs in the shed, and the saw needs a new blade before the frost.\n";

fn place() -> Place {
    let place = Place::with(&[
        ("Orchard.md", LONG),
        ("Shed.md", "# Shed\n\nIn the shed are the ladder, a saw and spare blades. See [[Orchard]].\n"),
        ("Fruit.md", "# Fruit\n\nQuinces, pears and plums of the orchard, and one zorbleberry.\n"),
        ("Harvest.md", "# Harvest\n\nPears and plums ripen late; [[Fruit]] lists them. The harvest is in October.\n"),
    ]);
    place.configure(SMALL);
    place
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon
}

/// What lies near a note, each note once.
fn notes_near(path: &str) -> RelatedRequest {
    RelatedRequest { group: Group::Note, ..near(path) }
}

#[test]
fn hits_that_touch_become_one_and_others_move_up() {
    let place = place();
    let mut daemon = start(&place);
    let words = || SearchRequest {
        contextual: Some(Contextual::Flag(false)),
        include: Include::TEXTS.to_vec(),
        ..by_words("zorbleberry")
    };
    let query = |merge: bool, limit: usize| SearchRequest { merge: Some(merge), limit: Some(limit), ..words() };
    let apart = daemon.ask(&query(false, 9)).hits;
    assert_eq!(paths(&apart).iter().filter(|path| **path == "Orchard.md").count(), 3, "{apart:?}");
    let merged = daemon.ask(&query(true, 9)).hits;
    let mut found = paths(&merged);
    found.sort_unstable();
    assert_eq!(found, ["Fruit.md", "Orchard.md"], "{merged:?}");
    let (hit, best) = (hit_in(&merged, "Orchard.md"), hit_in(&apart, "Orchard.md"));
    assert_eq!((&hit.chunk, hit.score, hit.line), (&best.chunk, best.score, best.line));
    assert_eq!(hit.also.len(), 2, "{hit:?}");
    let others: Vec<&str> =
        apart.iter().filter(|hit| hit.path == "Orchard.md").skip(1).map(|hit| hit.chunk.as_str()).collect();
    assert_eq!(hit.also.iter().map(|also| also.chunk.as_str()).collect::<Vec<_>>(), others, "best first");
    assert!(hit.also[0].score >= hit.also[1].score && hit.also[0].line > 0);
    // What lies between chunks is blank, and a line end stands for it.
    let words_of = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words_of(LONG).contains(&words_of(&hit.window)), "{:?} is no run of the note", hit.window);
    assert_eq!(hit.window.matches("zorbleberry").count(), 3, "{}", hit.window);
    assert!(apart.iter().all(|hit| hit.also.is_empty()));
    // Two hits are asked for, and two notes have some.
    assert_eq!(daemon.ask(&query(true, 2)).hits.len(), 2);
    let plain = daemon.ask(&SearchRequest { window_chars: Some(0), ..words() }).hits;
    assert_eq!(plain.len(), 4, "windows that are their chunks are not joined");
    assert!(plain.iter().all(|hit| hit.window == hit.text));
}

#[test]
fn what_lies_near_says_how_it_is_linked() {
    let place = place();
    let mut daemon = start(&place);
    let all = daemon.ask(&notes_near("Fruit.md")).hits;
    let mut notes = paths(&all);
    notes.sort_unstable();
    notes.dedup();
    assert_eq!(notes.len(), all.len(), "a note twice: {all:?}");
    assert!(!notes.contains(&"Fruit.md") && notes.contains(&"Harvest.md"), "{notes:?}");
    let told = |path: &str| (hit_in(&all, path).linked, hit_in(&all, path).link);
    assert_eq!(told("Harvest.md"), (Some(true), Some(LinkDirection::From)));
    assert_eq!(told("Orchard.md"), (Some(false), None));
    let unlinked = daemon.ask(&RelatedRequest { exclude_linked: true, ..notes_near("Fruit.md") }).hits;
    let unlinked = paths(&unlinked);
    assert!(!unlinked.contains(&"Harvest.md") && unlinked.contains(&"Orchard.md"), "{unlinked:?}");
    let to = daemon.ask(&notes_near("Harvest.md")).hits;
    assert_eq!(hit_in(&to, "Fruit.md").link, Some(LinkDirection::To));
}

#[test]
fn lines_of_a_note_are_a_seed_of_their_own() {
    let place = place();
    let mut daemon = start(&place);
    let at = |line: usize| Some(u32::try_from(line).unwrap());
    let line = at(1 + LONG.lines().position(|line| line.contains("ladder")).unwrap());
    let tools = daemon.ask(&RelatedRequest { line, ..notes_near("Orchard.md") }).hits;
    assert_eq!(paths(&tools)[0], "Shed.md", "{tools:?}");
    assert_eq!(tools[0].link, Some(LinkDirection::From));
    assert!(!paths(&tools).contains(&"Orchard.md"), "the note itself is left out");
    let fruit = daemon.ask(&RelatedRequest { line: at(1), end_line: at(12), ..notes_near("Orchard.md") }).hits;
    assert_ne!(paths(&fruit)[0], "Shed.md", "{fruit:?}");
    let text = || Some("x".to_owned());
    let nothing = RelatedRequest::default;
    for (request, kind) in [
        (RelatedRequest { line: at(900), ..near("Orchard.md") }, ErrorKind::NotFound),
        (RelatedRequest { line: at(1), ..near("Gone.md") }, ErrorKind::NotFound),
        (RelatedRequest { line: at(0), ..near("Orchard.md") }, ErrorKind::InvalidParams),
        (RelatedRequest { line: at(5), end_line: at(4), ..near("Orchard.md") }, ErrorKind::InvalidParams),
        (RelatedRequest { end_line: at(4), ..near("Orchard.md") }, ErrorKind::InvalidParams),
        (RelatedRequest { text: text(), line: at(4), ..nothing() }, ErrorKind::InvalidParams),
        (RelatedRequest { text: text(), ..near("Orchard.md") }, ErrorKind::InvalidParams),
        (RelatedRequest { chunk: Some("0".repeat(32)), ..nothing() }, ErrorKind::NotFound),
    ] {
        assert_eq!(daemon.refused(&request).kind, kind, "{request:?}");
    }
}

#[test]
fn what_lies_near_may_lie_in_another_vault() {
    let place = place();
    let other = place.dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("Jam.md"), "# Jam\n\nJam of quinces, pears and plums from the orchard.\n").unwrap();
    let second = format!("[[vault]]\nname = \"other\"\npath = {}\n", toml::Value::from(other.to_str().unwrap()));
    place.configure(&format!("{second}{SMALL}"));
    let mut daemon = start(&place);
    let all = daemon.ask(&notes_near("Fruit.md")).hits;
    let jam = all.iter().find(|hit| hit.vault == "other").unwrap();
    assert_eq!((jam.path.as_str(), jam.linked), ("Jam.md", None), "{all:?}");
    assert!(all.iter().any(|hit| hit.vault == "notes" && hit.linked == Some(true)), "{all:?}");
    let here = daemon.ask(&RelatedRequest { vault: Some("notes".to_owned()), ..near("Fruit.md") }).hits;
    assert!(here.iter().all(|hit| hit.vault == "notes"), "{here:?}");
}

#[test]
fn related_at_the_terminal() {
    let place = place();
    let _daemon = start(&place);
    let run = |arguments: &[&str], code: i32| {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
        (out(&output), err(&output))
    };
    let line = 1 + LONG.lines().position(|line| line.contains("ladder")).unwrap();
    let (said, _) = run(&["related", &format!("Orchard.md:{line}"), "--notes", "--format", "{path}"], 0);
    assert_eq!(said.lines().next(), Some("Shed.md"));
    let (said, _) = run(&["related", "Harvest.md:1-3", "--notes"], 0);
    assert!(said.contains("linked to already"), "{said}");
    let (said, _) = run(&["related", "Harvest.md", "--unlinked", "--format", "{path}"], 0);
    assert!(!said.contains("Fruit.md"), "{said}");
    let (said, _) = run(&["related", "--text", "a saw, a ladder and spare blades in a shed", "--notes", "--json"], 0);
    let answer: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&answer["schema"], &answer["hits"][0]["path"]), (&json!(1), &json!("Shed.md")), "{said}");
    let mut child = place
        .command()
        .args(["related", "--text", "-", "--notes", "--format", "{path}"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a saw, a ladder and spare blades in a shed\n").unwrap();
    assert!(out(&child.wait_with_output().unwrap()).starts_with("Shed.md\n"));
    let (_, talk) = run(&["related", "--text", " "], 2);
    assert!(talk.contains("the text is empty"), "{talk}");
    run(&["related"], 2);
    run(&["related", "Orchard.md", "--text", "x"], 2);
}
