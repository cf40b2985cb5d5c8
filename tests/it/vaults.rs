//! A daemon that serves three vaults of unlike size and language, and answers over all of them.

use protocol::audience::Audience;
use protocol::decision::ExplainRequest;
use protocol::hit::{Hit, NoteStanding};
use protocol::note::GetRequest;
use protocol::search::{Mode, RelatedRequest, SearchRequest};
use protocol::status::RunState;
use serde_json::json;

use crate::commands::{err, out};
use crate::requests::{by_words, query};
use crate::support::{Place, eventually};

/// Vaults `notes` (large, English), `work` (small, English) and `heim` (small, German).
fn place() -> Place {
    let place = Place::new();
    place.write("Share.md", "# Share\n\nHow to share a folder with the whole family.\n");
    for n in 0..60 {
        let text = format!(
            "# Meeting {n}\n\nBirds that nest early, and who is to share the costs of the boxes they nest in.\n"
        );
        place.write(&format!("Meetings/{n}.md"), text);
    }
    let other = |name: &str, notes: &[(&str, &str)]| {
        let folder = place.dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        notes.iter().for_each(|(path, text)| std::fs::write(folder.join(path), text).unwrap());
        let path = toml::Value::from(folder.to_str().unwrap());
        format!("[[vault]]\nname = \"{name}\"\npath = {path}\n")
    };
    let work = other(
        "work",
        &[
            ("Spare parts.md", "# Spare parts\n\nThe spare wheel lies under the bench.\n"),
            ("Boats.md", "# Boats\n\nThe skiff Sharr needs new varnish.\n"),
            ("Herons.md", "# Herons\n\nThe quibbleheron builds its nest in old alders by the water.\n"),
        ],
    );
    let heim = other(
        "heim",
        &[(
            "Haus.md",
            "# Haus\n\nDie Häuser der alten Stadt stehen dicht gedrängt am Ufer, und die Gärten dahinter reichen bis zum Wald.\n",
        )],
    );
    place.configure(&format!("{work}{heim}"));
    place
}

fn first(hits: &[Hit]) -> (&str, &str) {
    (&hits[0].vault, &hits[0].path)
}

#[test]
fn one_answer_over_three_vaults() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("three vaults idle", |status| {
        let counts: Vec<u64> = status.vaults.iter().map(|vault| vault.notes).collect();
        status.state == RunState::Idle && counts == [61, 3, 1]
    });
    for mode in [Mode::Hybrid, Mode::Lexical] {
        let mut search = |text: &str, vault: Option<&str>| {
            let vault = vault.map(str::to_owned);
            let answer = daemon.ask(&SearchRequest { mode: Some(mode), vault, ..query(text) });
            (answer.hits, answer.warnings)
        };
        // Another vault has the word: nothing is corrected in any.
        let (hits, warnings) = search("sharr", None);
        assert_eq!((first(&hits), warnings.len()), (("work", "Boats.md"), 0), "{mode:?}: {warnings:?}");
        // Asked alone, a vault corrects as before.
        let (_, warnings) = search("sharr", Some("notes"));
        assert_eq!(warnings, ["`sharr` is nowhere; searched for `share`"], "{mode:?}");
        // No vault has this one: it is said once.
        let (hits, warnings) = search("sprae", None);
        assert_eq!(warnings, ["`sprae` is nowhere; searched for `spare`"], "{mode:?}");
        assert_eq!(first(&hits), ("work", "Spare parts.md"), "{mode:?}");
        let (hits, warnings) = search("quibbleheron nest", None);
        assert_eq!((first(&hits), warnings.len()), (("work", "Herons.md"), 0), "{mode:?}: {hits:?}");
        assert!(hits[1].score < 0.8 * hits[0].score, "{mode:?}: {hits:?}");
        let (hits, _) = search("Gartens", None);
        assert_eq!(first(&hits), ("heim", "Haus.md"), "{mode:?}");
    }
    // What is said of a note that was expected is measured by the same scale.
    let expect = Some("Meetings/7.md".to_owned());
    let answer = daemon.ask(&SearchRequest { expect, limit: Some(1), ..by_words("quibbleheron nest") });
    let expected = answer.expected.unwrap();
    assert_eq!((expected.vault.as_str(), expected.standing), ("notes", NoteStanding::Below), "{expected:?}");
    assert!(expected.score.unwrap() < 0.8, "{expected:?}");
    let text = Some("a quibbleheron in the alders".to_owned());
    let near = daemon.ask(&RelatedRequest { text, ..RelatedRequest::default() });
    assert_eq!(near.hits[0].path, "Herons.md", "{near:?}");
}

#[test]
fn a_query_names_the_vaults_that_answer() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("three vaults idle", |status| status.state == RunState::Idle && status.vaults.len() == 3);
    for (words, expected) in [
        ("nest vault:work", vec!["work"]),
        ("nest vault:WORK", vec!["work"]),
        ("nest -vault:notes -vault:heim", vec!["work"]),
        ("nest Gartens vault:work vault:heim", vec!["heim", "work"]),
        ("nest vault:work -vault:work", vec![]),
        ("vault:heim", vec!["heim"]),
        ("(vault:heim OR path:Boats.md) AND NOT vault:notes", vec!["heim", "work"]),
        ("nest AND NOT vault:notes", vec!["work"]),
    ] {
        let answer = daemon.ask(&query(words));
        let mut vaults: Vec<&str> = answer.hits.iter().map(|hit| hit.vault.as_str()).collect();
        vaults.sort_unstable();
        vaults.dedup();
        assert_eq!(vaults, expected, "{words}: {:?}", answer.warnings);
        assert_eq!(answer.warnings.is_empty(), !vaults.is_empty(), "{words}: {:?}", answer.warnings);
    }
    // What other vaults say corrects nothing here.
    let answer = daemon.ask(&query("sharr vault:notes"));
    assert_eq!(answer.warnings, ["`sharr` is nowhere; searched for `share`"]);
    let answer = daemon.ask(&query("nest (vault:wrok OR vault:work)"));
    assert_eq!(answer.warnings, ["no vault is called `wrok`; there are: notes, work, heim"]);
    // A note that was expected is told why it is not there.
    let expect = Some("Share.md".to_owned());
    let answer = daemon.ask(&SearchRequest { expect, ..query("share vault:work") });
    let expected = answer.expected.unwrap();
    assert_eq!(expected.excluded_by, ["it does not meet `vault:work`"], "{expected:?}");
    // The answer that is explained is the one that is given without a question: a word of a vault that the query leaves
    // out is none of it.
    let plain = daemon.ask(&query("vault:notes sharr"));
    let expect = Some("Share.md".to_owned());
    let asked = daemon.ask(&SearchRequest { expect, ..query("vault:notes sharr") });
    assert_eq!((&asked.hits, &asked.warnings), (&plain.hits, &plain.warnings));
    assert_eq!(asked.warnings, ["`sharr` is nowhere; searched for `share`"]);
    assert_eq!(asked.expected.map(|expected| expected.standing), Some(NoteStanding::Hit));

    let grep = |within: &str| {
        let output = place.run(&["grep", "nest", "--", within]);
        (output.status.code(), out(&output), err(&output))
    };
    let (code, lines, _) = grep("-vault:notes");
    assert!(code == Some(0) && lines.lines().count() == 1 && lines.contains("Herons.md"), "{lines}");
    let (code, _, told) = grep("vault:wrok");
    assert!(code == Some(2) && told.contains("no vault is called `wrok`; there are: notes, work, heim"), "{told}");
    let wrong = json!({ "pattern": "nest", "within": "vault:work -vault:work", "fresh": true });
    let error = daemon.try_call("grep", wrong).unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("leaves no vault"), "{error}");
}

#[test]
fn a_screen_names_each_vault_and_says_a_thing_once() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("three vaults idle", |status| status.state == RunState::Idle && status.vaults.len() == 3);
    let said = |arguments: &[&str]| {
        let output = place.run(arguments);
        (output.status.code(), out(&output), err(&output))
    };

    let (code, graph, _) = said(&["graph", "-n", "1"]);
    let headings: Vec<&str> = graph.lines().filter(|line| line.starts_with("vault ")).collect();
    assert_eq!((code, headings), (Some(0), vec!["vault notes", "vault work", "vault heim"]), "{graph}");
    let (_, dot, told) = said(&["graph", "--dot"]);
    assert!(dot.starts_with("digraph") && told.contains("`situated graph --dot work`"), "{told}");
    let (_, one, told) = said(&["graph", "work"]);
    assert!(one.starts_with("3 notes") && !one.contains("vault "), "{one}{told}");

    // One note for nothing is not asked about, several are.
    let (code, done, _) = said(&["rebuild", "Share.md"]);
    assert!(code == Some(0) && done.contains("1 note looked at, 1 changed"), "{done}");
    let (code, _, told) = said(&["rebuild", "work"]);
    assert!(code == Some(2) && told.contains("--yes"), "{told}");

    let (folder, aside) = (place.dir.path().join("heim"), place.dir.path().join("elsewhere"));
    std::fs::rename(&folder, &aside).unwrap();
    daemon.wait_for("it is missed", |status| !status.problems.is_empty());
    let missing = format!("the vault {} does not exist", folder.display());
    let page = place.dir.path().join("status.html");
    assert_eq!(said(&["status", "--html", page.to_str().unwrap()]).0, Some(0));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&page).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let inside = place.vault.join("status.html");
    let (code, _, told) = said(&["status", "--html", inside.to_str().unwrap()]);
    assert!(code == Some(2) && told.contains("in a vault, which is never written to") && !inside.exists(), "{told}");
    let page = std::fs::read_to_string(&page).unwrap();
    let (_, shown, _) = said(&["status"]);
    let unbroken = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(unbroken.matches(&missing).count(), 1, "{shown}");
    let (status, looked_at) = page.split_once("What was looked at").unwrap();
    assert_eq!((status.matches(&missing).count(), looked_at.matches(&missing).count()), (1, 1), "{page}");
    std::fs::rename(&aside, &folder).unwrap();

    // All notes of all vaults gone, and agreed to.
    for vault in ["heim", "work", "vault"] {
        let folder = if vault == "vault" { place.vault.clone() } else { place.dir.path().join(vault) };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
        }
    }
    said(&["sync", "--wait", "--accept-deletes"]);
    daemon.wait_for("nothing left", |status| {
        status.state == RunState::Idle && status.vaults.iter().all(|vault| vault.notes == 0)
    });
    // What was heard of meanwhile is looked at first.
    eventually("it says so", || said(&["status"]).1.starts_with("● up to date, and there is no note\n"));
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_path_that_two_vaults_have_is_the_first_ones_and_says_so() {
    let place = place();
    std::fs::write(place.dir.path().join("work/Share.md"), "# Share\n\nWho has how many shares.\n").unwrap();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("four vaults' notes", |status| {
        status.state == RunState::Idle && status.vaults.iter().map(|vault| vault.notes).sum::<u64>() == 66
    });
    let get = |vault: Option<&str>, audience| GetRequest {
        path: "Share.md".to_owned(),
        vault: vault.map(str::to_owned),
        audience,
        ..GetRequest::default()
    };
    let note = daemon.ask(&get(None, Audience::Owner));
    assert_eq!((note.vault.as_str(), note.warnings.len()), ("notes", 1), "{note:?}");
    assert_eq!(note.warnings[0], "`Share.md` of vault `notes`; there is one in `work`, too");
    let near = daemon.ask(&RelatedRequest { path: Some("Share.md".to_owned()), ..RelatedRequest::default() });
    assert_eq!(near.warnings, note.warnings);
    // Their chunks have one id, too.
    let share = SearchRequest { vault: Some("work".to_owned()), ..by_words("how many shares") };
    let chunk = Some(daemon.ask(&share).hits[0].chunk.clone());
    let of_chunk = |vault: Option<&str>, audience| {
        let (chunk, vault) = (chunk.clone(), vault.map(str::to_owned));
        RelatedRequest { chunk, vault, audience, ..RelatedRequest::default() }
    };
    assert_eq!(daemon.ask(&of_chunk(None, Audience::Owner)).warnings, note.warnings);
    assert_eq!(daemon.ask(&of_chunk(Some("work"), Audience::Owner)).warnings, [""; 0]);
    // The name is known; what it lacks are lines as the method takes them.
    let lines = GetRequest { path: "Share.md:2".to_owned(), ..get(Some("work"), Audience::Owner) };
    let why = daemon.refused(&lines).message;
    assert!(why.contains("`line` and `lines`") && !why.contains("counted from 1"), "{why}");
    assert_eq!(daemon.ask(&get(Some("work"), Audience::Owner)).warnings, [""; 0]);
    let said = |arguments: &[&str]| out(&place.run(arguments));
    assert!(said(&["explain", "Share.md"]).starts_with("notes: Share.md  "));
    assert!(said(&["plan", "--vault", "work", "Share.md"]).starts_with("work: Share.md  "));
    // A place is printed with its vault, and understood so.
    let hit = said(&["search", "how many shares", "-n", "1"]);
    assert!(hit.contains("work: Share.md:3"), "{hit}");
    assert!(said(&["search", "how many shares", "--vault", "work", "-n", "1"]).contains("    Share.md:3"));
    let folder = place.dir.path().join("work");
    assert!(said(&["search", "how many shares", "--vault", folder.to_str().unwrap()]).contains("    Share.md:3"));
    assert_eq!(said(&["get", "work: Share.md:3"]), "Who has how many shares.\n");
    assert!(said(&["explain", "work: Share.md:3"]).starts_with("work: Share.md  "));
    let expected = said(&["search", "how many shares", "-n", "1", "--expect", "work: Share.md:3"]);
    assert!(expected.contains("It is hit no. 1."), "{expected}");
    // However a note is named, all vaults are searched for what is near it.
    let herons = folder.join("Herons.md");
    for name in ["Herons.md", "work: Herons.md:3", herons.to_str().unwrap()] {
        let near = said(&["related", name]);
        assert!(near.contains("notes: Meetings/"), "{name}: {near}");
    }
    let graph: serde_json::Value = serde_json::from_str(&said(&["graph", "--json"])).unwrap();
    assert_eq!((&graph["vault"], &graph["other_vaults"]), (&json!("notes"), &json!(["work", "heim"])));
    let whole = err(&place.run(&["rebuild", "--dry-run", "WORK"]));
    assert!(whole.contains("4 notes of work "), "{whole}");
    // A name that is in two vaults is not told apart by the path.
    let why = daemon.refused(&GetRequest { path: "share".to_owned(), ..get(None, Audience::Owner) }).message;
    assert!(why.ends_with("; give the vault, and the path"), "{why}");
    let expect = Some("Nowhere.md".to_owned());
    let missing = daemon.ask(&SearchRequest { expect, ..by_words("shares") }).expected.unwrap();
    assert_eq!(missing.why, ["There is no such note in the vaults `notes`, `work`, `heim`."]);
    let absolute = place.vault.join("Share.md");
    let elsewhere = place.run(&["related", "--vault", "work", absolute.to_str().unwrap()]);
    assert!(err(&elsewhere).contains("it does not lie in the vault `work`"), "{}", err(&elsewhere));
    let whole = place.run(&["related", place.vault.to_str().unwrap()]);
    assert!(err(&whole).contains("notes is a vault; name a note in it"), "{}", err(&whole));
    let dry = |arguments: &[&str]| err(&place.run(&[&["rebuild", "--dry-run", "Share.md"], arguments].concat()));
    assert!(dry(&[]).contains("2 notes of Share.md"), "{}", dry(&[]));
    assert!(dry(&["--vault", "Work"]).contains("1 note of Work/Share.md"), "{}", dry(&["--vault", "Work"]));
    // What an assistant may not know of takes no other vault's place.
    place.write("Share.md", "---\ntags: private\n---\n# Share\n\nMine alone.\n");
    daemon.wait_holding("alone", &["Share.md"]);
    let note = daemon.ask(&get(None, Audience::Assistant));
    assert_eq!((note.vault.as_str(), note.warnings.len()), ("work", 0), "{note:?}");
    assert_eq!(daemon.ask(&of_chunk(None, Audience::Assistant)).warnings, [""; 0]);
    assert_eq!(daemon.ask(&get(None, Audience::Owner)).vault, "notes");
}

#[test]
fn what_a_name_meant_before_is_not_told_of_the_vault_that_has_it_now() {
    let place = Place::new();
    let folder = |name: &str| {
        let folder = place.dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("Same.md"), format!("# In {name}\n\nWords of {name}.\n")).unwrap();
        toml::Value::from(folder.to_str().unwrap())
    };
    let (east, west) = (folder("east"), folder("west"));
    let vault = |name: &str, path: &toml::Value| format!("[[vault]]\nname = \"{name}\"\npath = {path}\n");
    place.configure(&format!("{}{}", vault("one", &east), vault("two", &west)));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    place.configure(&format!("{}{}", vault("one", &west), vault("two", &east)));
    daemon.reload();
    daemon.wait_idle();
    let asked = ExplainRequest { path: "Same.md".into(), vault: Some("one".into()) };
    let told = daemon.ask(&asked).decisions;
    assert!(told.iter().flat_map(|d| &d.steps).all(|step| step.heading_path == ["In west"]), "{told:?}");
}
