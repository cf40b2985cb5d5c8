//! A vault's ordinary life: save, edit, rename, move, delete, restart. What is decided, what is found, and
//! that nobody writes to the vault.

use std::collections::BTreeSet;

use protocol::decision::{PlanRequest, Reason};
use protocol::envelope::ErrorKind;
use protocol::jobs::{JobState, RebuildRequest};
use protocol::search::{Contextual, Mode, RelatedRequest, SearchAnswer, SearchRequest};
use protocol::status::RunState;
use serde_json::json;

use crate::requests::{get, query};
use crate::support::Place;

const PLAN: &str = "---\ntags: [garden]\n---\n# Garden\n\nBeds and paths.\n\n## Spring\n\nSow carrots under the apricot tree.\n\n## Autumn\n\nPlant garlic, cover the beds.\n";

#[test]
fn a_body_edit_is_found_at_once_and_regenerates_nothing() {
    let place = Place::with(&[("Garden.md", PLAN)]);
    let mut daemon = place.start();
    assert_eq!(daemon.holding("apricot"), ["Garden.md"]);
    place.write("Garden.md", PLAN.replace("apricot", "medlar"));
    let before = place.tree();
    daemon.wait_holding("medlar", &["Garden.md"]);
    assert!(daemon.holding("apricot").is_empty());
    assert_eq!(daemon.decided("Garden.md", Reason::BodyChanged).regenerated, 0);
    assert_eq!(place.tree(), before);
}

#[test]
fn a_renamed_heading_regenerates_and_says_so() {
    let place = Place::with(&[("Garden.md", PLAN)]);
    let mut daemon = place.start();
    place.write("Garden.md", PLAN.replace("## Autumn", "## October"));
    daemon.wait_holding("October", &["Garden.md"]);
    let decision = daemon.decided("Garden.md", Reason::StructureChanged);
    assert!(decision.regenerated >= 1, "{decision:?}");
}

#[test]
fn a_move_keeps_and_a_deletion_removes() {
    let place = Place::with(&[("Garden.md", PLAN), ("Other.md", "# Other\n\nA quince.\n")]);
    let mut daemon = place.start();
    std::fs::create_dir(place.vault.join("Archive")).unwrap();
    std::fs::rename(place.vault.join("Garden.md"), place.vault.join("Archive/Garden.md")).unwrap();
    daemon.wait_holding("apricot", &["Archive/Garden.md"]);
    let decision = daemon.decided("Archive/Garden.md", Reason::NoteMoved);
    assert_eq!(decision.regenerated, 0, "{decision:?}");
    std::fs::remove_file(place.vault.join("Archive/Garden.md")).unwrap();
    daemon.wait_holding("apricot", &[]);
    assert_eq!(daemon.holding("quince"), ["Other.md"]);
}

#[test]
fn a_restart_with_an_unchanged_vault_decides_nothing_and_answers_the_same() {
    let place = Place::with_sample();
    let mut daemon = place.start();
    let queries = ["sensor", "budget", "Bewuchs", "who agreed to the second option"];
    let answers = |daemon: &mut crate::support::Daemon| queries.map(|q| daemon.search(q));
    let before = answers(&mut daemon);
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.start();
    assert_eq!(answers(&mut daemon), before);
    assert_eq!(daemon.status().vaults[0].decisions, [], "a restart decided something");
}

#[test]
fn a_fresh_answer_holds_what_was_saved_before_the_question() {
    let place = Place::with(&[("a.md", "# A\n\nnothing yet\n")]);
    let mut daemon = place.start();
    for i in 0..20 {
        place.write("a.md", format!("# A\n\nunicorn{i}\n"));
        let found = daemon.ask(&SearchRequest {
            query: format!("unicorn{i}"),
            fresh: true,
            mode: Some(Mode::Lexical),
            ..SearchRequest::default()
        });
        let hit = found.hits.first().unwrap_or_else(|| panic!("round {i}: {found:?}"));
        assert_eq!((hit.path.as_str(), hit.stale), ("a.md", false), "round {i}");
    }
}

#[test]
fn hits_of_notes_that_have_changed_since_say_so() {
    let notes = [("changed", "two"), ("gone", "three"), ("same", "one")];
    let notes = notes.map(|(name, word)| (format!("{name}.md"), format!("# Soup\n\nonions, {word} of them\n")));
    let place = Place::with(&notes.each_ref().map(|(path, text)| (path.as_str(), text.as_str())));
    let mut daemon = place.start();
    daemon.pause();
    daemon.wait_for("paused", |status| status.state == RunState::Paused);
    place.write("changed.md", "# Soup\n\nonions and leeks\n");
    std::fs::remove_file(place.vault.join("gone.md")).unwrap();
    let states = |found: SearchAnswer| -> BTreeSet<(String, bool)> {
        found.hits.into_iter().map(|hit| (hit.path, hit.stale)).collect()
    };
    let all = [("changed.md", true), ("gone.md", true), ("same.md", false)].map(|(path, is)| (path.to_owned(), is));
    assert_eq!(states(daemon.ask(&query("onions"))), BTreeSet::from(all.clone()));
    let one = daemon.ask(&SearchRequest { limit: Some(1), ..query("two onions") });
    assert!(states(one).is_subset(&BTreeSet::from(all.clone())));
    let near = daemon.ask(&RelatedRequest { path: Some("same.md".to_owned()), ..RelatedRequest::default() });
    assert_eq!(states(near), all.into_iter().filter(|(path, _)| path != "same.md").collect());
}

#[test]
fn a_hit_names_the_line_that_answers() {
    let quiet = "Nothing of note was seen on this day either.\n".repeat(9);
    let place = Place::with(&[("Log.md", &format!("# Log\n\n{quiet}A walrus slept on the pier.\n{quiet}"))]);
    let mut daemon = place.start();
    let hit = daemon.ask(&query("walrus pier")).hits.remove(0);
    assert_eq!((hit.line, hit.match_line), (1, 12), "{hit:?}");
    let said = place.run(&["search", "walrus pier", "-n", "1", "--format", "{path}:{line} in {first_line}-{end_line}"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.starts_with("Log.md:12 in 1-"), "{said}");
}

#[test]
fn a_hit_names_the_headings_above_the_line_that_answers() {
    let note = "# Log\n\n## Monday\n\nA heron stood.\n\n### Night\n\nA *walrus* [slept](https://example.org/pier).\n\n## Tuesday\n\nRain.\n";
    let place = Place::with(&[("Log.md", note)]);
    let mut daemon = place.start();
    let mut found = |words| {
        let hit = daemon.ask(&query(words)).hits.remove(0);
        (hit.line, hit.match_line, hit.heading_path.join(" > "), hit.snippet)
    };
    assert_eq!(found("heron").2, "Log > Monday");
    let (line, match_line, headings, snippet) = found("walrus");
    assert_eq!((line, match_line, headings.as_str()), (1, 9, "Log > Monday > Night"), "all of it is one chunk");
    assert!(snippet.contains("A walrus slept.") && !snippet.contains('#'), "{snippet}");
    assert_eq!(found("rain").2, "Log > Tuesday");
}

#[test]
fn a_hit_says_all_that_it_promises() {
    let place = Place::with(&[("Projects/Garden.md", PLAN)]);
    let mut daemon = place.start();
    // What stands on the wire, so it is read as JSON.
    let found =
        daemon.call("search", json!({"query": "apricot carrots", "explain": true, "include": ["text", "window"]}));
    let hit = &found["hits"][0];
    for key in [
        "path",
        "line",
        "end_line",
        "match_line",
        "title",
        "heading_path",
        "score",
        "snippet",
        "text",
        "context",
        "window",
        "chunk",
        "has_context",
        "mtime",
        "stale",
        "lanes",
    ] {
        assert!(!hit[key].is_null(), "a hit has no `{key}`: {hit}");
    }
    let text = hit["text"].as_str().unwrap();
    assert!(PLAN.contains(text), "the text is not the note's own: {text:?}");
    assert!(hit["context"].as_str().unwrap().contains("Garden"), "{hit}");
    assert!(hit["lanes"]["lexical"]["rank"] == 1, "{hit}");
}

#[test]
fn filters_modes_and_contexts_do_what_they_say() {
    let place = Place::with(&[
        ("Daily/2026-03-01.md", "# Log\n\nwalrus in the morning #zoo\n"),
        ("Projects/Zoo.md", "---\ntype: project\ntags: [zoo/plan]\n---\n# Zoo\n\nwalrus enclosure, 50 % done\n"),
        ("Notes/Sea.md", "# Sea\n\nthe walrus sings and the seal does not\n"),
    ]);
    let mut daemon = place.start();
    let all = ["Daily/2026-03-01.md", "Notes/Sea.md", "Projects/Zoo.md"];
    let cases: [(&str, &[&str]); 9] = [
        ("walrus", &all),
        ("walrus tag:zoo", &["Daily/2026-03-01.md", "Projects/Zoo.md"]),
        ("walrus type:project", &["Projects/Zoo.md"]),
        ("walrus type:daily", &["Daily/2026-03-01.md"]),
        ("walrus path:Notes/", &["Notes/Sea.md"]),
        ("walrus -seal", &["Daily/2026-03-01.md", "Projects/Zoo.md"]),
        ("\"walrus sings\"", &["Notes/Sea.md"]),
        ("walrus after:2026-02-01 before:2026-04-01", &["Daily/2026-03-01.md"]),
        ("walrus path:nowhere/", &[]),
    ];
    for (query, expected) in cases {
        for mode in [Mode::Lexical, Mode::Hybrid, Mode::Dense] {
            let asked = SearchRequest { query: query.to_owned(), mode: Some(mode), ..SearchRequest::default() };
            let found = daemon.ask(&asked);
            let paths: BTreeSet<&str> = found.hits.iter().map(|hit| hit.path.as_str()).collect();
            assert!(paths.iter().eq(expected), "{query} ({mode:?}): {paths:?}, not {expected:?}");
        }
    }
    // "Sea" stands in the title and the context of one note only.
    let by_context = |contextual: bool| SearchRequest {
        query: "Projects".to_owned(),
        mode: Some(Mode::Lexical),
        contextual: Some(Contextual::Flag(contextual)),
        ..SearchRequest::default()
    };
    assert_eq!(daemon.ask(&by_context(true)).hits[0].path, "Projects/Zoo.md");
    assert_eq!(daemon.ask(&by_context(false)).hits, []);
}

#[test]
fn any_script_finds_something() {
    let place = Place::with(&[
        ("de.md", "# Küche\n\nDie Äpfel liegen im Kühlschrank.\n"),
        ("ja.md", "# 会議\n\n来週の会議は東京で開催されます。\n"),
        ("ru.md", "# Заметки\n\nВстреча перенесена на четверг.\n"),
        ("hi.md", "# टिप्पणी\n\nबैठक अगले सप्ताह होगी।\n"),
        ("th.md", "# บันทึก\n\nการประชุมจะจัดขึ้นที่กรุงเทพ\n"),
        ("fr.md", "# Été\n\nLa crème brûlée du café.\n"),
    ]);
    let mut daemon = place.start();
    for (query, path) in [
        ("Kühlschrank", "de.md"),
        ("apfel kuhlschrank", "de.md"),
        ("東京 会議", "ja.md"),
        ("перенесена", "ru.md"),
        ("बैठक", "hi.md"),
        ("กรุงเทพ", "th.md"),
        ("creme brulee", "fr.md"),
    ] {
        assert_eq!(daemon.search(query).first().map(String::as_str), Some(path), "{query}");
    }
}

#[test]
fn two_vaults_live_in_one_daemon() {
    let place = Place::with(&[("a.md", "# A\n\nplatypus here\n")]);
    let second = place.dir.path().join("work");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("b.md"), "# B\n\nplatypus there\n").unwrap();
    let config = format!(
        "[[vault]]\nname = \"notes\"\npath = {:?}\n\n[[vault]]\nname = \"work\"\npath = {:?}\n",
        place.vault, second
    );
    std::fs::write(place.dir.path().join("config.toml"), config).unwrap();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("both idle", |status| {
        let vaults = &status.vaults;
        status.state == RunState::Idle && vaults.len() == 2 && vaults.iter().all(|vault| vault.notes == 1)
    });
    let platypus = query("platypus");
    let found = daemon.ask(&platypus);
    let mut vaults: Vec<&str> = found.hits.iter().map(|hit| hit.vault.as_str()).collect();
    vaults.sort_unstable();
    assert_eq!(vaults, ["notes", "work"]);
    for name in ["work", "Work"] {
        let found = daemon.ask(&SearchRequest { vault: Some(name.to_owned()), ..platypus.clone() });
        assert_eq!(found.hits.len(), 1, "{name}");
    }
    let error = daemon.refused(&SearchRequest { vault: Some("wrok".to_owned()), ..query("x") });
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains("notes, work"), "{error:?}");
}

#[test]
fn a_rebuild_does_everything_anew_and_can_be_narrowed() {
    let place = Place::with_sample();
    let mut daemon = place.start();
    let notes = daemon.status().vaults[0].notes;
    let dry = daemon.ask(&RebuildRequest { dry_run: true, ..RebuildRequest::default() });
    assert_eq!((dry.state, dry.total), (JobState::DryRun, Some(notes)));
    let path = Some("Projects".to_owned());
    let job = daemon.ask(&RebuildRequest { wait: true, path, ..RebuildRequest::default() });
    assert!(job.done < notes && job.total == Some(job.done), "{job:?}");
    let job = daemon.ask(&RebuildRequest { wait: true, ..RebuildRequest::default() });
    assert_eq!((job.state, job.done, job.changed), (JobState::Done, notes, notes), "{job:?}");
    let error = daemon.refused(&RebuildRequest { path: Some("Nowhere".to_owned()), ..RebuildRequest::default() });
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn nothing_of_a_note_or_a_query_reaches_the_log() {
    let place = Place::with(&[("a.md", "---\ntitle: [broken\n---\n# A\n\ncanaryword in a note\n")]);
    place.write("b.md", b"\xff\xfe\x00canaryword".as_slice());
    let mut daemon = place.start();
    daemon.search("canaryquery \"unclosed");
    place.write("a.md", "# A\n\ncanaryword edited\n");
    daemon.wait_holding("edited", &["a.md"]);
    let log = daemon.log();
    assert!(!log.contains("canary"), "{log}");
}

#[test]
fn what_is_ignored_is_not_read_out_either() {
    let place = Place::with(&[("a.md", "# A\n\ntext\n"), ("Private/d.md", "secret\n"), (".obsidian/app.json", "{}")]);
    place.write(".situatedignore", "Private/\n");
    let mut daemon = place.start();
    for path in ["Private/d.md", ".obsidian/app.json", ".situatedignore"] {
        let planned = PlanRequest { path: path.to_owned(), ..PlanRequest::default() };
        for error in [daemon.refused(&get(path)), daemon.refused(&planned)] {
            assert_eq!(error.kind, ErrorKind::NotFound, "{path}: {error:?}");
        }
    }
    assert_eq!(daemon.ask(&get("a.md")).text, "# A\n\ntext\n");
}

#[test]
fn a_note_that_grows_over_the_limit_leaves_the_index_and_is_told_of() {
    let place = Place::with(&[("a.md", "# A\n\nokapi\n"), ("b.md", "# B\n\nother\n")]);
    place.configure("max_note_bytes = 1000\n");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert_eq!(daemon.holding("okapi"), ["a.md"]);
    place.write("a.md", format!("# A\n\nokapi {}\n", "x".repeat(2000)));
    daemon.wait_holding("okapi", &[]);
    let status = daemon.wait_for("told", |status| status.vaults[0].skipped_total == 1);
    assert_eq!(status.vaults[0].skipped[0].path, "a.md");
    place.write("a.md", "# A\n\nokapi again\n");
    daemon.wait_holding("okapi", &["a.md"]);
}
