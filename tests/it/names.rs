//! Notes named as their owner names them: by title, alias, link, file name, in any case; at the socket, the terminal and
//! for an assistant.

use protocol::audience::Audience;
use protocol::decision::{ExplainRequest, PlanRequest};
use protocol::envelope::ErrorKind;
use protocol::graph::GraphRequest;
use protocol::jobs::RebuildRequest;
use protocol::note::GetRequest;
use protocol::search::{RelatedRequest, SearchRequest};

use crate::assistant::{Assistant, Era};
use crate::commands::{err, out};
use crate::requests::{by_words, get, near, paths};
use crate::support::{Place, eventually};
use serde_json::json;

fn place() -> Place {
    let place = Place::with(&[
        (
            "Work/Pull Requests.md",
            "---\naliases: [PRs]\n---\n# How we review\n\nEvery change is read by two.\n\n## Small ones\n\nOne reader is enough. ^small\n\n## Large ones\n\nCut them up.\n",
        ),
        ("Work/Plan.md", "# Plan\n\nReview the pull requests on Monday.\n"),
        ("Home/Plan.md", "# Plan\n\nPaint the fence in spring.\n"),
        ("Secret/Diary.md", "---\naliases: [Journal]\n---\n# Hidden thoughts\n\n## Deep\n\nzanzibarque\n"),
        ("--help.md", "# Help\n\nThe fence, the reader, the change.\n"),
    ]);
    place.configure("private = [\"Secret/**\"]\n");
    place
}

const REVIEW: &str = "Work/Pull Requests.md";

#[test]
fn a_note_is_known_by_all_of_its_names() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let absolute = place.vault.join(REVIEW);
    let names = [
        REVIEW,
        "./Work/Pull Requests.md",
        "work/pull requests",
        "Pull Requests",
        "PULL REQUESTS.md",
        "How we review",
        "prs",
        "[[PRs]]",
        "[[Pull Requests|reviews]]",
        "![[pull requests]]",
        absolute.to_str().unwrap(),
    ];
    for name in names {
        assert_eq!(daemon.ask(&get(name)).path, REVIEW, "{name}");
        assert!(!daemon.ask(&near(name)).hits.is_empty(), "{name}");
        let plan = PlanRequest { path: name.to_owned(), vault: None, text: None };
        assert_eq!(daemon.ask(&plan).path, REVIEW, "{name}");
        let explain = ExplainRequest { path: name.to_owned(), vault: None };
        assert!(daemon.ask(&explain).decisions.iter().all(|decision| decision.path == REVIEW), "{name}");
        let expect = SearchRequest { expect: Some(name.to_owned()), ..by_words("reader") };
        assert_eq!(daemon.ask(&expect).expected.unwrap().path, REVIEW, "{name}");
        let rebuild = RebuildRequest { path: Some(name.to_owned()), dry_run: true, ..RebuildRequest::default() };
        assert_eq!(daemon.ask(&rebuild).total, Some(1), "{name}");
    }
    let part = daemon.ask(&get("[[PRs#small ones]]"));
    assert_eq!((part.line, part.text.as_str()), (8, "## Small ones\n\nOne reader is enough. ^small\n\n"));
    let block = daemon.ask(&get("Pull Requests#^small"));
    assert_eq!((block.line, block.text.as_str()), (10, "One reader is enough. ^small\n"));
    assert_eq!(daemon.ask(&get("--help.md")).title, "Help");
}

#[test]
fn a_name_that_is_nowhere_or_of_several_says_what_there_is() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    for typed in ["Pul Request", "[[requests]]", "Work/Pull Request.md"] {
        let error = daemon.refused(&get(typed));
        assert_eq!(error.kind, ErrorKind::NotFound, "{typed}: {error:?}");
        assert!(error.message.ends_with("did you mean `Work/Pull Requests.md`?"), "{error:?}");
        assert_eq!(daemon.refused(&near(typed)).message, error.message, "{typed}");
    }
    let error = daemon.refused(&near("PRs:10-8"));
    assert!(error.message.ends_with("and the smaller comes first, as in `NOTE:4` or `NOTE:4-9`"), "{error:?}");
    let error = daemon.refused(&get("plan"));
    assert_eq!(error.kind, ErrorKind::InvalidParams);
    assert_eq!(error.message, "`plan` names 2 notes: `Home/Plan.md`, `Work/Plan.md`; give the path");
    let error = daemon.refused(&get("PRs#Middling"));
    assert!(error.message.contains("the note's headings are `How we review`, `Small ones`, `Large ones`"), "{error:?}");
    for typed in ["quite another thing", "a\nb", "", "..", "/etc/passwd", "[[]]", "#", "plan.png", "\u{202e}"] {
        assert_eq!(daemon.refused(&get(typed)).kind, ErrorKind::NotFound, "{typed:?}");
    }
}

#[test]
fn an_assistant_learns_no_name_of_a_private_note() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert_eq!(daemon.ask(&get("journal")).path, "Secret/Diary.md", "its owner names it");
    // Names of the note beside names that are nowhere: the answers differ by the name alone.
    for (secret, nowhere) in [
        ("Secret/Diary.md", "Secret/Diarx.md"),
        ("Diary", "Diarx"),
        ("Journal", "Journax"),
        ("[[Hidden thoughts]]", "[[Hidden thoughtx]]"),
        ("Diary#Deep", "Diarx#Deep"),
        ("Secret/Diary.md#Deep", "Secret/Diarx.md#Deep"),
    ] {
        let read = |path: &str| GetRequest { audience: Audience::Assistant, ..get(path) };
        let around = |path: &str, line| RelatedRequest { audience: Audience::Assistant, line, ..near(path) };
        let same = |mut left: protocol::envelope::RpcError, right: protocol::envelope::RpcError| {
            left.message = left.message.replace(secret, nowhere);
            assert_eq!((left.kind, left.message, left.hint), (right.kind, right.message, right.hint), "{secret}");
        };
        let (left, right) = (daemon.refused(&read(secret)), daemon.refused(&read(nowhere)));
        same(left, right);
        for line in [None, Some(1), Some(999)] {
            let (left, right) = (daemon.refused(&around(secret, line)), daemon.refused(&around(nowhere, line)));
            same(left, right);
        }
    }
}

#[test]
fn names_at_the_terminal() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let run = |here: &str, arguments: &[&str]| {
        place.command().current_dir(place.vault.join(here)).args(arguments).output().unwrap()
    };
    for name in ["pull requests", "[[PRs]]", "How we review", "Work/Pull Requests.md"] {
        let shown = run("", &["get", name, "--lines", "1", "--line", "4"]);
        assert_eq!(
            (out(&shown).as_str(), shown.status.code()),
            ("# How we review\n", Some(0)),
            "{name}: {}",
            err(&shown)
        );
    }
    let from_below = run("Home", &["get", "pull requests#large ones"]);
    assert!(out(&from_below).starts_with("## Large ones\n"), "{}", err(&from_below));
    assert!(out(&run("Home", &["get", "Plan.md"])).contains("fence"), "the file that lies here is meant");
    assert!(out(&run("", &["get", "--", "--help.md"])).contains("# Help"));
    assert!(out(&run("", &["get", "./--help.md"])).contains("# Help"));
    let near = run("Home", &["related", "prs"]);
    assert_eq!(near.status.code(), Some(0), "{}", err(&near));
    assert_eq!(out(&run("", &["get", "prs:4-6"])), "# How we review\n\nEvery change is read by two.\n");
    let missing = run("", &["get", "Pul Requests"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(err(&missing).contains("did you mean `Work/Pull Requests.md`?"), "{}", err(&missing));
}

#[test]
fn a_name_may_end_as_a_line_does() {
    let place = Place::with(&[
        ("verse.md", "---\ntitle: John 3:16\naliases: [Standup 9:30]\n---\nverse\n"),
        ("John 3.md", &"a line\n".repeat(20)),
    ]);
    let _daemon = place.start();
    for name in ["John 3:16", "standup 9:30", "John 3:16:5", "verse.md:5"] {
        for command in [&["get"][..], &["plan"], &["explain"], &["rebuild", "--yes"], &["sync", "--wait"]] {
            let done = place.command().args(command).arg(name).output().unwrap();
            assert_eq!(done.status.code(), Some(0), "{command:?} {name}: {}", err(&done));
            assert!(!out(&done).contains("John 3.md") && !out(&done).contains("a line"), "{name}: {}", out(&done));
        }
        let near = out(&place.command().args(["related", name]).output().unwrap());
        assert!(near.contains("John 3.md") && !near.contains("verse.md"), "{name}: {near}");
    }
    let verse = place.command().args(["get", "John 3:16"]).output().unwrap();
    assert!(out(&verse).ends_with("verse\n"), "{}", out(&verse));
    let line = place.command().args(["get", "John 3:19"]).output().unwrap();
    assert_eq!(out(&line), "a line\na line\n");
}

#[test]
fn a_vault_of_logseq_is_known_as_logseq_writes_it() {
    let id = "6720a1c4-0b7e-4f55-9d3c-1f7d5e2b8a90";
    let place = Place::with(&[
        ("logseq/config.edn", "{:meta/version 1}\n"),
        ("logseq/bak/pages/projects___alpha/2026-03-05T10_00_00.000Z.md", "- an old version of the sluice gate\n"),
        (
            "pages/projects___alpha.md",
            &format!(
                "alias:: Sluice\ntags:: [[work]], plain\nstatus:: open\n\n- The sluice gate leaks.\n  id:: {id}\n\t- Grease it. #[[two words]] rating:: 5\n"
            ),
        ),
        ("pages/projects%2Fbeta.md", "title:: Beta\nstatus:: done\n\n- See [[projects/alpha]], [rating:: 5].\n"),
        ("pages/Question%3F.md", "- Asked on [[Mar 5th, 2026]] about [[projects/beta]].\n"),
        ("pages/Secret.md", "- tags:: [[private]]\n- The sluice key lies under the stone.\n"),
        ("journals/2026_03_05.md", "- Walked to the gate: [[Question?]], [[Sluice]].\n"),
    ]);
    let mut daemon = place.start();
    let status = daemon.wait_idle();
    assert_eq!((status.vaults[0].notes, status.vaults[0].left_out["old versions"]), (5, 1));
    for (name, path, title) in [
        ("projects/alpha", "pages/projects___alpha.md", "projects/alpha"),
        ("[[Sluice]]", "pages/projects___alpha.md", "projects/alpha"),
        ("projects/beta", "pages/projects%2Fbeta.md", "Beta"),
        ("Question?", "pages/Question%3F.md", "Question?"),
        ("[[Mar 5th, 2026]]", "journals/2026_03_05.md", "2026_03_05"),
    ] {
        let read = daemon.ask(&get(name));
        assert_eq!((read.path.as_str(), read.title.as_str()), (path, title), "{name}");
    }
    let block = daemon.ask(&get(&format!("projects/alpha#^{id}")));
    assert_eq!(block.line, 5);
    assert!(block.text.starts_with("- The sluice gate leaks.\n") && block.text.contains("\t- Grease it."), "{block:?}");
    for (query, expected) in [
        ("prop.status:open", &["pages/projects___alpha.md"][..]),
        ("prop.rating:5", &["pages/projects%2Fbeta.md"]),
        ("tag:work", &["pages/projects___alpha.md"]),
        ("tag:\"two words\"", &["pages/projects___alpha.md"]),
        ("link:projects/alpha", &["journals/2026_03_05.md", "pages/projects%2Fbeta.md"]),
        ("sluice", &["journals/2026_03_05.md", "pages/Secret.md", "pages/projects___alpha.md"]),
    ] {
        let answer = daemon.ask(&SearchRequest { per_note: Some(1), ..by_words(query) });
        let mut found = paths(&answer.hits);
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
    let request = SearchRequest { audience: Audience::Assistant, ..by_words("sluice") };
    assert!(!paths(&daemon.ask(&request).hits).contains(&"pages/Secret.md"));
    eventually("the graph is current", || daemon.ask(&GraphRequest::default()).current);
    let graph = daemon.ask(&GraphRequest::default());
    let missing: Vec<&str> = graph.unresolved.iter().map(|missing| missing.target.as_str()).collect();
    assert_eq!((missing, graph.link_count), (vec!["private", "two words", "work"], 5));
}

#[test]
fn an_assistant_names_notes_as_it_comes_by_their_names() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut assistant = Assistant::start(&place, Era::Stateless);
    let file = format!("file://{}/Work/Plan.md", place.vault.to_str().unwrap());
    for path in [
        "./Work/Plan.md",
        "note://notes/Work/Plan.md",
        "Work/Plan.md:3",
        "obsidian://open?vault=notes&file=Work/Plan",
        &file,
    ] {
        let note = assistant.text("read_note", json!({ "path": path }));
        assert!(note.contains("vault notes, Work/Plan.md") && note.contains("    3 | "), "{path}: {note}");
        assert_eq!(assistant.data("related_notes", json!({ "path": path }))["count"], 3, "{path}");
    }
    let some = assistant.text("list_names", json!({ "what": "notes", "limit": 1 }));
    assert!(some.contains("or a larger `limit`, shows others"), "{some}");
    place.write("Tagged.md", "---\ntags: [harbour, \"har\u{AD}bour\"]\n---\n");
    eventually("it is found", || {
        let tags = assistant.text("list_names", json!({ "what": "tags", "like": "#har" }));
        tags.contains("harbour (1)") && tags.contains("har\\u{ad}bour (1)")
    });
}

#[test]
fn a_note_may_be_named_by_any_link_to_it() {
    let uuid = "64f0a1b2-1111-4222-8333-444455556666";
    let place = Place::with(&[
        ("Plan.md", "# Plan\n\nkeel ^b1\n\n## Dates\n\nfive ^b2\n"),
        ("lang.rust.md", "---\ntitle: Rust\n---\nx\n"),
        ("v/a.b.md", "x\n"),
        ("org/a.org", ":PROPERTIES:\n:ID: 8a31f0c2-9d5e-4b77-a111-222233334444\n:END:\n* Head\nx\n"),
        ("pages/Block.md", &format!("- one\n- two\n  id:: {uuid}\n")),
        ("202403151230 Zettel.md", "[[our language|lang.rust]]\n"),
    ]);
    let mut daemon = place.start();
    let root = place.vault.to_str().unwrap().to_owned();
    for (name, path, line) in [
        ("[[Plan^b1]]", "Plan.md", 3),
        ("Plan^b1", "Plan.md", 3),
        ("Plan#Dates#^b2", "Plan.md", 7),
        ("[[Plan#Dates|when]]", "Plan.md", 5),
        ("[text](Plan.md#Dates)", "Plan.md", 5),
        ("[text](../v/a.b.md)", "v/a.b.md", 1),
        ("[[Ferris|lang.rust]]", "lang.rust.md", 1),
        ("[[dendron://v/a.b]]", "v/a.b.md", 1),
        ("[[file:org/a.org::*Head][x]]", "org/a.org", 4),
        (&format!("[[file:{root}/org/a.org]]"), "org/a.org", 1),
        (&format!("{root}/Plan.md#Dates"), "Plan.md", 5),
        ("[[id:8a31f0c2-9d5e-4b77-a111-222233334444][t]]", "org/a.org", 1),
        (&format!("(({uuid}))"), "pages/Block.md", 2),
        ("[[202403151230]]", "202403151230 Zettel.md", 1),
        ("202403151230", "202403151230 Zettel.md", 1),
    ] {
        let read = daemon.ask(&get(name));
        assert_eq!((read.path.as_str(), read.line), (path, line), "{name}");
        let shown = place.run(&["get", "--json", "--", name]);
        assert!(out(&shown).contains(&format!("\"{path}\"")), "{name}: {shown:?}");
    }
    for name in ["[[Nosuch]]", "[text](https://x.y/Plan.md)", "[[dendron://v/nosuch]]"] {
        assert_eq!(daemon.refused(&get(name)).kind, ErrorKind::NotFound, "{name}");
    }
}
