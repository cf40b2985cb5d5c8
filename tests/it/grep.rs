//! `grep`: the method, the command and the tool, on real files.

use std::fs;

use protocol::audience::Audience;
use protocol::envelope::ErrorKind;
use protocol::grep::{GrepAnswer, GrepRequest, GrepWhat};
use serde_json::json;

use crate::assistant::{Assistant, Era};
use crate::commands::{err, out};
use crate::support::{Daemon, Place};

const PLAN: &str = "---\ntags: [work]\nowner: Ines\n---\n# Plan\n\nTODO: paint the fence\r\nthen rest\n\n%% TODO in a comment %%\n\n- [ ] buy nails TODO\n";

fn place() -> Place {
    let place = Place::with(&[
        ("Work/Plan.md", PLAN),
        ("Home/List.md", "# List\n\ntodo: milk\nTodo: bread\n\n`f(x) = a.b(c)`\n"),
        ("Secret/Diary.md", "# Diary\n\nTODO nobody knows\n"),
        ("Tagged.md", "# Tagged #private\n\nTODO neither this\n"),
        ("--help.md", "# Help\n\nTODO in a note with an odd name\n"),
        ("Quiet.md", "# Quiet\n\nNothing to be done here.\n"),
    ]);
    place.configure("private = [\"Secret/**\"]\n");
    place
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon
}

fn todo(pattern: &str) -> GrepRequest {
    GrepRequest { pattern: pattern.to_owned(), ..GrepRequest::default() }
}

/// Note and line of each match.
fn lines(answer: &GrepAnswer) -> Vec<(&str, u32)> {
    answer.notes.iter().flat_map(|note| note.lines.iter().map(|line| (note.path.as_str(), line.line))).collect()
}

#[test]
fn lines_are_found_in_all_of_a_note_and_only_where_they_are_looked_for() {
    let place = place();
    let mut daemon = start(&place);
    let found = daemon.ask(&todo("TODO"));
    let everywhere = [
        ("--help.md", 3),
        ("Secret/Diary.md", 3),
        ("Tagged.md", 3),
        ("Work/Plan.md", 7),
        ("Work/Plan.md", 10),
        ("Work/Plan.md", 12),
    ];
    assert_eq!(lines(&found), everywhere);
    assert_eq!((found.searched, found.truncated, found.lines), (6, false, 6));
    let line = &found.notes[3].lines[0];
    assert_eq!(
        (line.text.as_str(), line.column, line.highlights.as_slice()),
        ("TODO: paint the fence", 1, &[(0, 4)][..])
    );

    // Asked again, only what may match is read: the quiet note and the list are known not to hold it.
    let again = daemon.ask(&todo("TODO: paint"));
    assert_eq!((lines(&again), again.read), (vec![("Work/Plan.md", 7)], 1));

    let all = |request: GrepRequest| lines(&daemon.ask(&request)).len();
    let mut all = all;
    assert_eq!(all(todo("todo")), 8, "without a capital, capitals do not matter");
    assert_eq!(all(GrepRequest { within: "tag:work".to_owned(), ..todo("todo") }), 3);
    assert_eq!(all(GrepRequest { within: "-path:Work -path:Secret".to_owned(), ..todo("TODO") }), 2);
    assert_eq!(all(GrepRequest { fixed: true, ..todo("a.b(c)") }), 1);
    assert_eq!(all(GrepRequest { word: true, ..todo("Ine") }), 0);
    assert_eq!(all(todo("owner: Ines$")), 1, "front matter counts");
    assert_eq!(all(todo("fence$")), 1, "before a carriage return a line ends too");
    assert_eq!(all(GrepRequest { limit: Some(2), ..todo("todo") }), 2);
    assert_eq!(all(GrepRequest { per_note: Some(1), ..todo("todo") }), 5);

    let around = daemon.ask(&GrepRequest { before: 1, after: 1, ..todo("paint") });
    let line = &around.notes[0].lines[0];
    assert_eq!((line.before.as_slice(), line.after.as_slice()), (&[String::new()][..], &["then rest".to_owned()][..]));
    let counted = daemon.ask(&GrepRequest { what: GrepWhat::Counts, within: "path:Work".to_owned(), ..todo("todo") });
    assert_eq!((counted.notes[0].count, counted.notes[0].lines.len(), counted.lines), (3, 0, 3));
    let notes = daemon.ask(&GrepRequest { what: GrepWhat::Notes, limit: Some(2), ..todo("todo") });
    assert_eq!((notes.notes.len(), notes.truncated), (2, true));
    let first = daemon.ask(&GrepRequest { limit: Some(1), ..todo("TODO") });
    assert_eq!((first.lines, first.searched, first.truncated), (1, 6, true));
}

#[test]
fn lines_after_the_last_match_that_is_shown_may_match_themselves() {
    let place = Place::with(&[("a.md", "x\na foo\nb foo\nc\nd\n")]);
    place.configure("");
    let mut daemon = start(&place);
    for (after, lines) in [(0, &[][..]), (1, &["b foo"]), (2, &["b foo", "c"]), (3, &["b foo", "c", "d"])] {
        let found = daemon.ask(&GrepRequest { per_note: Some(1), after, ..todo("foo") });
        assert_eq!((found.lines, found.notes[0].lines.len()), (2, 1));
        assert_eq!(found.notes[0].lines[0].after, lines);
    }
}

#[test]
fn what_is_on_the_disk_now_is_what_is_found() {
    let place = place();
    let mut daemon = start(&place);
    assert_eq!(lines(&daemon.ask(&todo("walrus"))), []);
    place.write("Quiet.md", "# Quiet\n\nA walrus now.\n");
    place.write("New/Walrus.md", "# New\n\nAnother walrus.\n");
    let fresh = GrepRequest { fresh: true, ..todo("walrus") };
    assert_eq!(lines(&daemon.ask(&fresh)), [("New/Walrus.md", 3), ("Quiet.md", 3)]);
    fs::remove_file(place.vault.join("New/Walrus.md")).unwrap();
    assert_eq!(lines(&daemon.ask(&todo("walrus"))), [("Quiet.md", 3)], "a note that went is passed over at once");
}

#[test]
fn an_assistant_gets_no_line_of_what_is_kept_from_it() {
    let place = place();
    let mut daemon = start(&place);
    let request = GrepRequest { audience: Audience::Assistant, ..todo("TODO") };
    let found = daemon.ask(&request);
    assert_eq!(lines(&found), [("--help.md", 3), ("Work/Plan.md", 7), ("Work/Plan.md", 12)], "nor a comment");
    assert_eq!(found.searched, 4);
    // A note that has become private, at which nobody has looked since.
    daemon.call("pause", json!({}));
    place.write("Quiet.md", "---\ntags: [private]\n---\nTODO hide me, and nothing else\n");
    let either = "TODO hide|Nothing to be";
    assert_eq!(lines(&daemon.ask(&todo(either))), [("Quiet.md", 4)]);
    assert_eq!(lines(&daemon.ask(&GrepRequest { pattern: either.to_owned(), ..request })), []);
    daemon.call("resume", json!({}));

    let mut assistant = Assistant::start(&place, Era::Legacy);
    let text = assistant.text("grep_notes", json!({"pattern": "todo", "within": "path:Work", "context": 1}));
    assert!(text.contains("2 lines match in 1 of 1 notes."), "{text}");
    assert!(text.contains("    7 | TODO: paint the fence") && text.contains("    8 | then rest"), "{text}");
    assert!(!text.contains("comment"), "{text}");
    let none = assistant.text("grep_notes", json!({ "pattern": "todo", "within": "tag:nosuch" }));
    assert!(none.contains("No note meets `within`."), "{none}");
    let wrong = assistant.refused("grep_notes", json!({"pattern": "(open"}));
    assert!(wrong.contains("unclosed group"), "{wrong}");
}

#[test]
fn what_is_not_shown_is_said_and_all_vaults_are_counted() {
    let place = place();
    place.write("Log.md", "Another brick in the wall.\n".repeat(1_000));
    let other = place.dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("House.md"), "Bricks, too.\n").unwrap();
    place.configure(&format!("[[vault]]\nname = \"other\"\npath = {:?}\n", other.to_str().unwrap()));
    let _daemon = start(&place);
    let mut assistant = Assistant::start(&place, Era::Legacy);
    for (limit, head, shown, left) in [
        (
            5,
            "At least 1000 lines match in 1 of 7 notes.",
            5,
            "995 of these lines, and what matches after them. A larger",
        ),
        (1000, "At least 1000 lines match in 1 of 7 notes.", 300, "of these lines, and what matches after them"),
    ] {
        let text = assistant.text("grep_notes", json!({ "pattern": "brick", "limit": limit }));
        assert!(text.starts_with(head) && text.contains(left) && text.chars().count() < 12_500, "{text}");
        let lines = text.lines().filter(|line| line.contains("| Another brick in the wall.")).count();
        assert!(lines <= limit && lines >= shown, "{lines}: {text}");
    }
    let all = assistant.text("grep_notes", json!({ "pattern": "bricks" }));
    assert!(all.starts_with("1 line matches in 1 of 7 notes.") && !all.contains("Left out"), "{all}");
    let wrong = assistant.refused("grep_notes", json!({ "pattern": "brick", "context": 51 }));
    assert!(wrong.contains("`context` is 51: it may be 0 to 50"), "{wrong}");
}

#[test]
fn wrong_patterns_and_conditions_are_refused_with_what_to_do() {
    let place = place();
    let mut daemon = start(&place);
    for (request, said) in [
        (todo(""), "the pattern is empty"),
        (todo("(open"), "unclosed group; `fixed` takes a pattern as it stands"),
        (todo(r"(a)\1"), "backreferences are not supported"),
        (todo(&"x".repeat(5000)), "5000 bytes"),
        (todo(r"(\w{900}){900}"), "size limit"),
        (GrepRequest { within: "tag:work plan".to_owned(), ..todo("a") }, "it takes conditions alone"),
        (GrepRequest { within: "tag:a OR tag:b".to_owned(), ..todo("a") }, "it takes conditions alone"),
        (GrepRequest { within: "../..".to_owned(), ..todo("a") }, "it takes conditions alone"),
        (
            GrepRequest { within: "after:nonsense".to_owned(), ..todo("a") },
            "`within`: `after:nonsense` is no condition: `nonsense` is not a date",
        ),
        (GrepRequest { limit: Some(0), ..todo("a") }, "`limit` must be 1 to 10000"),
        (GrepRequest { before: 51, ..todo("a") }, "`before` must be 0 to 50"),
    ] {
        let error = daemon.refused(&request);
        assert_eq!(error.kind, ErrorKind::InvalidParams, "{error:?}");
        assert!(error.message.contains(said), "{said}: {error:?}");
    }
}

/// Patterns and notes made to keep a program busy.
#[test]
fn hostile_patterns_and_notes_cost_a_bounded_time() {
    let place = Place::with(&[("a.md", "# A\n\nbadger\n")]);
    place.configure("");
    place.write("Long.md", format!("# Long\n\n{}!\n", "a".repeat(3 << 20)));
    place.write("Many.md", "a line of a note\n".repeat(200_000));
    place.write("Bytes.md", b"# B\n\nbad\xff\xfeger \0 badger\n".as_slice());
    let mut daemon = start(&place);
    for pattern in ["(a+)+$", "(a|a?)+b", "(.*)(.*)(.*)x!"] {
        let found = daemon.ask(&todo(pattern));
        assert!(found.lines <= 100_000, "{pattern}");
    }
    let everything = daemon.ask(&GrepRequest { limit: Some(10_000), ..todo(".*") });
    assert!(everything.truncated && lines(&everything).len() <= 10_000);
    let all = daemon.ask(&GrepRequest { what: GrepWhat::Counts, ..todo("line of") });
    assert_eq!((all.lines, all.truncated), (200_000, false));
    let found = daemon.ask(&todo("badger"));
    assert_eq!(lines(&found), [("Bytes.md", 3), ("a.md", 3)], "bytes that are no text do not end a note");
}

#[test]
fn at_the_terminal_it_prints_as_ripgrep_does() {
    let place = place();
    let daemon = start(&place);
    let run = |arguments: &[&str]| {
        let output = place.command().current_dir(&place.vault).arg("grep").args(arguments).output().unwrap();
        (output.status.code(), out(&output), err(&output))
    };
    let (code, printed, said) = run(&["TODO", "path:Work"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        printed,
        "Work/Plan.md:7:TODO: paint the fence\nWork/Plan.md:10:%% TODO in a comment %%\nWork/Plan.md:12:- [ ] buy nails TODO\n"
    );
    assert!(said.contains("3 lines in 1 note of 1"), "{said}");
    // Options of grep mean what they mean there, or are refused.
    assert_eq!(run(&["-rnE", "TODO", "path:Work"]).1, printed);
    assert_eq!(run(&["-q", "TODO"]), (Some(0), String::new(), String::new()));
    assert_eq!(run(&["-q", "zzqqxxyy"]), (Some(1), String::new(), String::new()));
    let (code, printed, said) = run(&["-v", "TODO"]);
    assert!(code == Some(2) && printed.is_empty() && said.contains("takes no `-v`"), "{printed}{said}");
    let (_, printed, said) = run(&["-m1", "TODO", "path:Work"]);
    assert_eq!(
        (printed.lines().count(), said.contains("3 lines in 1 note of 1, 1 of them shown")),
        (1, true),
        "{said}"
    );
    let (_, printed, _) = run(&["-C1", "paint"]);
    assert_eq!(printed, "Work/Plan.md-6-\nWork/Plan.md:7:TODO: paint the fence\nWork/Plan.md-8-then rest\n");
    assert_eq!(run(&["-l", "todo", "--", "-path:Secret"]).1, "--help.md\nHome/List.md\nTagged.md\nWork/Plan.md\n");
    assert_eq!(run(&["-c", "todo", "tag:work"]).1, "Work/Plan.md:3\n");
    assert_eq!(run(&["-F", "-P", "x"]).0, Some(2), "options of ripgrep that it does not have are named");
    assert_eq!((run(&["nothing like this"]).0, run(&["(open"]).0), (Some(1), Some(2)));
    let words = place.command().args(["grep", "paint", "the", "fence"]).output().unwrap();
    assert_eq!(words.status.code(), Some(2));
    assert!(err(&words).contains("CONDITION holds words") && err(&words).contains("in quotes"), "{}", err(&words));
    let elsewhere = place.command().current_dir("/usr").args(["grep", "-l", "paint"]).output().unwrap();
    assert_eq!(out(&elsewhere), format!("{}\n", place.vault.join("Work/Plan.md").display()), "a path that opens");
    let json: serde_json::Value = serde_json::from_str(&run(&["--json", "paint"]).1).unwrap();
    assert_eq!((&json["schema"], &json["notes"][0]["lines"][0]["line"]), (&json!(1), &json!(7)));
    let open = place.command().env("VISUAL", "echo").args(["grep", "--open=2", "TODO", "path:Work"]).output().unwrap();
    assert!(
        out(&open).ends_with("Work/Plan.md\n") && err(&open).contains("Plan.md:10"),
        "{} {}",
        out(&open),
        err(&open)
    );
    drop(daemon);
}

#[test]
fn signs_in_converted_documents_are_found_as_they_are_seen() {
    let place = Place::with(&[("q.html", "<p>call my_func_name and see [1] or a*b pangolin</p>\n")]);
    place.configure("");
    let mut daemon = start(&place);
    for pattern in ["my_func_name", "see [1]", "a*b"] {
        for audience in [Audience::default(), Audience::Assistant] {
            let found = daemon.ask(&GrepRequest { fixed: true, audience, ..todo(pattern) });
            let texts: Vec<&str> = found.notes.iter().flat_map(|note| note.lines.iter().map(|l| &*l.text)).collect();
            assert_eq!(texts, ["call my_func_name and see [1] or a*b pangolin"], "{pattern}");
        }
    }
}
