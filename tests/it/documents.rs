//! Documents in a vault that are no Markdown: found by their text, bounded when they are hostile, kept back when private,
//! and never shown to a model that costs.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use protocol::grep::GrepRequest;
use protocol::note::GetRequest;
use serde_json::json;

use crate::assistant::{Assistant, Era};
use crate::commands::{err, out};
use crate::contexts::{SMALL_CHUNKS, wait_written};
use crate::model::Model;
use crate::requests::{by_words, get, paths, query as query_of};
use crate::support::{Place, eventually};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/documents");

const CANVAS: &str = r#"{"nodes":[{"id":"a","type":"text","x":0,"y":0,"width":10,"height":10,"text":"Varnish the oars"},
    {"id":"b","type":"file","x":0,"y":50,"width":10,"height":10,"file":"Plan.md"}],"edges":[]}"#;

/// A vault with a document of each kind.
fn place() -> Place {
    let place = Place::with(&[
        ("Plan.md", "# Plan\n\nPaint the boat. See [[survey.pdf]] and [[Board.canvas]].\n"),
        ("Board.canvas", CANVAS),
        ("log.org", "#+title: The log\n* Mooring\nThe buoy chain was replaced.\n"),
        ("nav.rst", "Navigation\n==========\n\nThe compass deviates westward.\n"),
        ("sails.base", "views:\n  - type: table\n    name: Sail inventory\n"),
        (
            "tides.html",
            "<title>Tide tables</title><h1>Springs</h1><p>Slackwater is at noon.</p><script>evil()</script>",
        ),
        ("photo.png", "no text at all: quokkanette"),
    ]);
    for name in ["survey.pdf", "letter.docx", "book.epub"] {
        fs::copy(format!("{FIXTURES}/{name}"), place.vault.join(name)).unwrap();
    }
    place
}

#[test]
fn each_kind_of_document_is_found_by_its_text() {
    let place = place();
    let before = place.tree();
    let mut daemon = place.start();
    daemon.wait_idle();
    for (word, path, line) in [
        ("varnish", "Board.canvas", 1),
        ("buoy", "log.org", 3),
        ("deviates", "nav.rst", 4),
        ("inventory", "sails.base", 3),
        ("slackwater", "tides.html", 7),
        // The second page.
        ("bollard", "survey.pdf", 2),
        ("crane", "letter.docx", 1),
        ("bowline", "book.epub", 5),
    ] {
        let hits = daemon.ask(&by_words(word)).hits;
        assert_eq!(paths(&hits), [path], "{word}");
        assert_eq!(hits[0].match_line, line, "{word}");
    }
    assert_eq!(daemon.ask(&by_words("bowline")).hits[0].title, "Knots and splices");
    assert!(daemon.holding("evil").is_empty() && daemon.holding("quokkanette").is_empty());
    // A word that was parted at the end of a line is whole; a page is a line.
    let found = daemon.ask(&GrepRequest { pattern: "millimetre|milimetre".to_owned(), ..GrepRequest::default() });
    assert_eq!((found.notes[0].path.as_str(), found.notes[0].lines[0].line), ("survey.pdf", 2));
    assert_eq!(daemon.ask(&get("survey")).text.lines().count(), 2);
    let links = daemon.ask(&GetRequest { links: true, ..get("Plan.md") }).links.unwrap();
    assert!(format!("{links:?}").contains("survey.pdf") && format!("{links:?}").contains("Board.canvas"), "{links:?}");
    assert_eq!(place.tree(), before, "nothing is written to a vault");
}

#[test]
fn attachments_are_found_by_their_names_and_status_says_what_is_in_and_what_is_not() {
    let place = place();
    for name in ["Assets/Harbour plan 2024.png", "Assets/Café-bill.PDF.jpg", "Secret/Harbour plan (own).png", "main.rs"]
    {
        place.write(name, "quokkanette");
    }
    place.write("Drafts/one.md", "left out");
    place.configure("private = [\"Secret/**\"]\nexclude = [\"Drafts/\", \"photo.*\"]\n");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut named = |query: &str| -> Vec<String> {
        daemon.ask(&query_of(query)).attachments.into_iter().map(|file| file.path).collect()
    };
    assert_eq!(named("harbour PLAN"), ["Assets/Harbour plan 2024.png", "Secret/Harbour plan (own).png"]);
    assert_eq!(named("plan 2024"), ["Assets/Harbour plan 2024.png"]);
    assert_eq!(named("cafe bill"), ["Assets/Café-bill.PDF.jpg"]);
    // Excluded, too short, with a condition, another word.
    for query in ["photo", "pl", "harbour plan tag:x", "harbour plan tide"] {
        assert!(named(query).is_empty(), "{query}");
    }
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let told = assistant.tool("search_notes", json!({"query": "harbour plan"})).to_string();
    assert!(told.contains("Harbour plan 2024.png") && !told.contains("(own)"), "{told}");

    let status = daemon.status();
    let vault = &status.vaults[0];
    let formats: Vec<(&str, u64)> = vault.formats.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(
        formats,
        [
            ("base", 1),
            ("canvas", 1),
            ("docx", 1),
            ("epub", 1),
            ("html", 1),
            ("markdown", 1),
            ("org", 1),
            ("pdf", 1),
            ("rst", 1)
        ]
    );
    let left_out: Vec<(&str, u64)> = vault.left_out.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(left_out, [(".jpg", 1), (".png", 3), (".rs", 1), ("exclude", 1)]);
    let shown = out(&place.run(&["status"]));
    assert!(shown.contains("left out: 3 .png, 1 .jpg, 1 .rs, 1 exclude"), "{shown}");
    let found = place.run(&["search", "harbour plan"]);
    assert!(err(&found).contains("a file is called so: Assets/Harbour plan 2024.png"), "{}", err(&found));

    // As current as notes are.
    let mut become_named = |expected: &[&str]| {
        eventually("the names are current", || {
            let named = daemon.ask(&query_of("harbour plan")).attachments;
            named.iter().map(|file| file.path.as_str()).eq(expected.iter().copied())
        });
    };
    place.write("Harbour plan 2025.png", "quokkanette");
    let [old, own, new] = ["Assets/Harbour plan 2024.png", "Secret/Harbour plan (own).png", "Harbour plan 2025.png"];
    become_named(&[old, new, own]);
    fs::rename(place.vault.join(new), place.vault.join("Quay.png")).unwrap();
    become_named(&[old, own]);
    fs::rename(place.vault.join("Assets"), place.vault.join("Media")).unwrap();
    become_named(&["Media/Harbour plan 2024.png", own]);
    fs::remove_file(place.vault.join("Media/Harbour plan 2024.png")).unwrap();
    become_named(&[own]);
}

#[test]
fn comments_are_searched_where_they_are_asked_for() {
    let place = Place::with(&[("a.md", "# A\n\nShown. %% quokkanette %%\n\n<!-- zanzibarque -->\n")]);
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert!(daemon.holding("quokkanette").is_empty() && daemon.holding("zanzibarque").is_empty());
    place.configure("comments = true\n");
    daemon.reload();
    daemon.wait_holding("quokkanette", &["a.md"]);
    assert_eq!(daemon.holding("zanzibarque"), ["a.md"]);
}

#[test]
fn kinds_by_folders_are_taken_over_by_notes_that_are_known() {
    let place = Place::with(&[("People/Ann.md", "# Ann\n\nKnows the harbour.\n")]);
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert!(daemon.search("type:person harbour").is_empty());
    place.configure("kinds = { \"People/\" = \"person\" }\n");
    daemon.reload();
    eventually("the note has its kind", || daemon.search("type:person harbour") == ["People/Ann.md"]);
    place.configure("");
    daemon.reload();
    eventually("the note has none", || daemon.search("type:person harbour").is_empty());
}

#[test]
fn a_document_that_changes_moves_or_goes_is_followed() {
    let place = place();
    let mut daemon = place.start();
    daemon.wait_idle();
    place.write("tides.html", "<p>Now about oystercatchers.</p>");
    daemon.wait_holding("oystercatchers", &["tides.html"]);
    assert!(daemon.holding("slackwater").is_empty());
    fs::rename(place.vault.join("survey.pdf"), place.vault.join("Wall survey.pdf")).unwrap();
    daemon.wait_holding("bollard", &["Wall survey.pdf"]);
    fs::remove_file(place.vault.join("book.epub")).unwrap();
    daemon.wait_holding("bowline", &[]);
    // What stays of those that are there: canvas, web page, letter, survey. Sweeping is part of a walk.
    daemon.sync();
    let vaults = fs::read_dir(place.data().join("vaults")).unwrap().flatten().next().unwrap().path();
    assert_eq!(fs::read_dir(vaults.join("documents")).unwrap().count(), 4);
    // A restart converts nothing anew, and finds the same.
    daemon.kill();
    let mut daemon = place.start();
    daemon.wait_idle();
    assert_eq!(daemon.holding("bollard"), ["Wall survey.pdf"]);
}

#[test]
fn a_hostile_document_costs_itself_and_nothing_else() {
    let place = place();
    fs::copy(format!("{FIXTURES}/bomb.pdf"), place.vault.join("bomb.pdf")).unwrap();
    place.write("broken.pdf", "%PDF-1.7 and then nothing");
    place.write("empty.docx", "");
    place.write("deep.html", "<div>".repeat(200_000));
    place.write("wrong.canvas", "{\"nodes\": 3}");
    symlink("/etc/passwd", place.vault.join("passwd.html")).unwrap();
    let mut daemon = place.start();
    daemon.wait_idle();
    // The page before the bomb counts; what cannot be read is found by its name.
    assert_eq!(daemon.holding("oystercatcher"), ["bomb.pdf"]);
    assert_eq!(daemon.holding("bollard"), ["survey.pdf"]);
    for (name, said) in [
        ("bomb.pdf", "too much memory"),
        ("broken.pdf", "no PDF that can be read"),
        ("empty.docx", "no Word document that can be read"),
        ("deep.html", "deep in each other"),
        ("wrong.canvas", "no canvas that can be read"),
    ] {
        let note = daemon.ask(&get(name));
        assert!(note.warnings.iter().any(|warning| warning.contains(said)), "{name}: {:?}", note.warnings);
        assert!(daemon.search(name.split('.').next().unwrap()).iter().any(|path| path == name), "{name}");
    }
    assert!(daemon.resident() < 300 << 20, "{} bytes", daemon.resident());
    assert!(!daemon.log().contains("oystercatcher"), "{}", daemon.log());
}

#[test]
fn private_documents_are_kept_from_assistants() {
    let place = place();
    place.configure("private = [\"*.pdf\"]\nexclude = [\"*.epub\"]\n");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert_eq!(daemon.holding("bollard"), ["survey.pdf"]);
    assert!(daemon.holding("bowline").is_empty(), "excluded");
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let found = assistant.data("search_notes", json!({"query": "bollard quay"}));
    let results = found["results"].as_array().unwrap();
    assert!(!results.is_empty() && results.iter().all(|hit| hit["path"] != "survey.pdf"), "{found}");
    let read = json!({ "name": "read_note", "arguments": { "path": "survey.pdf" } });
    let read = assistant.request("tools/call", read);
    assert!(read["result"]["isError"] == true && !read.to_string().contains("bollard"), "{read}");
    let letter = assistant.tool("search_notes", json!({"query": "crane"})).to_string();
    assert!(letter.contains("letter.docx"), "{letter}");
}

#[test]
fn a_model_that_costs_writes_for_notes_and_not_for_documents() {
    let place = place();
    let sections = |open: &str, close: &str, word: &str| -> String {
        let of = |n: usize| {
            format!("{open}Part {n}{close}All about the {word} of the boat, number {n}, at length and in detail.\n\n")
        };
        (1..9).map(of).collect()
    };
    place.write("Boat.md", sections("## ", "\n\n", "hull"));
    place.write("Engine.html", sections("<h2>", "</h2>", "engine"));
    let model = Model::start();
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "")));
    let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"));
    daemon.wait_idle();
    wait_written(&mut daemon);
    let sent: Vec<String> = model.asked().iter().map(|asked| format!("{asked:?}")).collect();
    assert!(sent.iter().any(|sent| sent.contains("hull of the boat")));
    for sent in sent {
        assert!(!sent.contains("engine of the boat") && !sent.contains("bollard"), "{sent}");
    }
}

#[test]
fn a_child_converts_one_document_and_says_why_it_cannot() {
    let convert = |arguments: &[&str], name: &str| {
        let file = fs::File::open(format!("{FIXTURES}/{name}")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_situated"));
        child.arg("--convert-document").args(arguments).stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
        child.output().unwrap()
    };
    let read = convert(&["pdf", "1000"], "survey.pdf");
    assert_eq!((read.status.code(), read.stderr.as_slice()), (Some(0), b"".as_slice()));
    assert!(read.stdout.starts_with(b"Survey of the harbour wall.\n"));
    let cut = convert(&["pdf", "6"], "survey.pdf");
    assert_eq!((cut.status.code(), cut.stdout.as_slice()), (Some(0), b"Survey".as_slice()));
    let wrong = convert(&["docx", "1000"], "survey.pdf");
    assert_eq!((wrong.status.code(), wrong.stdout.as_slice()), (Some(3), b"".as_slice()));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("no Word document"), "{wrong:?}");
    assert_eq!(convert(&["poem", "1000"], "survey.pdf").status.code(), Some(2));
}
