//! `situated eval` and `search --expect`, as a user types them.

use std::path::Path;

use protocol::hit::NoteStanding;
use protocol::search::{Mode, SearchRequest};
use protocol::status::RunState;
use serde_json::{Value, json};

use crate::contexts::{ATLAS, SMALL_CHUNKS, wait_written};
use crate::model::Model;
use crate::requests::query;
use crate::reranker::{Answer, Reranker};
use crate::support::Place;

/// A vault in which each kind of query can be made; the link texts and aliases stand nowhere else.
const NOTES: [(&str, &str); 6] = [
    (
        "Tides.md",
        "---\naliases: [lunar clockwork]\ndescription: Why the sea rises twice daily\n---\n# Tides\n\nHigh water follows \
         the moon; spring and neap ranges differ.\n",
    ),
    ("Moorings.md", "# Moorings\n\nA sinker, chain and a buoy hold the instrument frame in the current.\n"),
    ("Batteries.md", "# Batteries\n\nLithium packs lose capacity in cold water.\n"),
    ("Log.md", "# Log\n\nToday we checked [[Moorings|the anchoring gear]] and [power supply woes](Batteries.md).\n"),
    ("Plan.md", "# Plan\n\nFirst [[Moorings|The Anchoring Gear]], then [[lunar clockwork]].\n"),
    ("Soup.md", "# Soup\n\nOnions, potatoes and cream.\n"),
];

fn eval(place: &Place, arguments: &[&str], code: i32) -> (String, String) {
    let output = place.command().arg("eval").args(arguments).env("TMPDIR", place.dir.path()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (said, talk) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{said}\n{talk}");
    let left = std::fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("situated-")).collect();
    assert!(left.is_empty(), "temporary files are left: {left:?}");
    (said, talk)
}

fn report(place: &Place, arguments: &[&str]) -> Value {
    let (said, _) = eval(place, &[&["--json"], arguments].concat(), 0);
    serde_json::from_str(&said).unwrap()
}

#[test]
fn a_vault_is_measured_and_stays_as_it_is() {
    let place = Place::with(&NOTES);
    let before = place.tree();
    let page = place.dir.path().join("report.html");
    let vault = place.vault.to_str().unwrap();
    let report = report(&place, &[vault, "--html", page.to_str().unwrap()]);
    assert_eq!(place.tree(), before, "the vault was written to");
    assert!(!place.data().exists(), "a data folder was made");

    assert_eq!(
        (&report["schema"], &report["notes"], &report["queries"]),
        (&json!(1), &json!(6), &json!(4)),
        "{report}"
    );
    assert_eq!(report["kinds"], json!({"alias": [1, 1], "description": [1, 1], "link": [2, 2]}));
    let systems = report["systems"].as_array().unwrap();
    let names: Vec<String> =
        systems.iter().map(|s| format!("{} {} {}", s["lane"], s["context"], s["boosts"]).replace('"', "")).collect();
    assert_eq!(
        names,
        [
            "lexical off false",
            "dense off false",
            "hybrid off false",
            "hybrid off true",
            "lexical template false",
            "dense template false",
            "hybrid template false",
            "hybrid template true",
        ]
    );
    // None of the texts is left anywhere: the words alone find no more than single common words tell.
    let lexical = &systems[0];
    assert!(
        lexical["kinds"]["alias"][1]["ndcg_10"].as_f64().unwrap() < 1e-9,
        "the masked alias is still found: {lexical}"
    );
    for system in systems {
        let ranks: u64 = system["ranks"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(ranks, 4, "{system}");
        let mean = &system["measures"]["Recall@20"];
        assert!(mean["low"].as_f64() <= mean["mean"].as_f64() && mean["mean"].as_f64() <= mean["high"].as_f64());
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg") && !page.contains("<script"), "{page}");
    assert!(page.contains("Too few to tell") && !page.contains("Best by"), "{page}");

    // Four questions name no winner, and the terminal shows how unsure every figure is, however narrow it is.
    assert_eq!((&report["best"], report["pairs"].as_array().unwrap().len()), (&Value::Null, 28));
    let (said, _) = eval(&place, &[vault], 0);
    assert!(said.contains("Too few to tell: 4 queries") && !said.contains("Best"), "{said}");
    assert!(said.contains("95 % confidence") && said.matches('–').count() >= 8 * 4, "{said}");

    let (again, more) = (report.clone(), self::report(&place, &[vault]));
    let measures = |report: &Value| {
        report["systems"].as_array().unwrap().iter().map(|s| s["measures"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(measures(&again), measures(&more), "the same seed gives the same figures");
}

#[test]
fn the_masked_source_is_not_what_answers() {
    // The text stands once, at its source, and the target has none of its words: unmasked, words would find the source.
    let place = Place::with(&[
        ("Target.md", "# Target\n\nOnions, potatoes and cream.\n"),
        ("Source.md", "# Source\n\nRead [[Target|quixotic zeppelin]] soon.\n"),
        ("Other.md", "# Other\n\nNothing of note.\n"),
    ]);
    let report = report(&place, &[place.vault.to_str().unwrap()]);
    let lexical = &report["systems"][0];
    assert_eq!(lexical["ranks"], json!([0, 0, 0, 0, 0, 0, 0, 1]), "{lexical}");
    assert!(
        report["misses"].as_array().unwrap().iter().all(|miss| miss["expected"] == json!(["Target.md"])),
        "{report}"
    );
    // The daemon, whose index is not masked, does find the source.
    let mut daemon = place.start();
    assert_eq!(daemon.holding("quixotic zeppelin"), ["Source.md"]);
}

#[test]
fn two_configurations_are_compared() {
    let place = Place::with(&NOTES);
    let config = |name: &str, text: &str| {
        let path = place.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) =
        (config("words.toml", "[search]\ndense_weight = 0.0\n"), config("both.toml", "[search]\ndense_weight = 0.6\n"));
    let vault = place.vault.to_str().unwrap();
    let report = report(&place, &[vault, "--a", &a, "--b", &b]);
    let compared = &report["comparison"];
    assert_eq!((&compared["a"], &compared["b"]), (&json!("A (words)"), &json!("B (both)")));
    let paired = &compared["measures"]["nDCG@10"][2];
    let count = |field: &str| paired[field].as_u64().unwrap();
    assert_eq!(count("wins") + count("losses") + count("ties"), 4, "{paired}");
    assert!(paired["p"].as_f64().unwrap() > 0.0);
    let (said, _) = eval(&place, &[vault, "--a", &a, "--b", &b], 0);
    assert!(said.contains("B (both) against A (words)") && said.contains("alike"), "{said}");
    let same = self::report(&place, &[vault, "--a", &a, "--b", &a]);
    assert_eq!(same["comparison"]["measures"]["MRR@10"][2]["p"], json!(1.0));

    let broken = config("broken.toml", "[serch]\nlimit = 3\n");
    let (_, talk) = eval(&place, &[vault, "--a", &a, "--b", &broken], 78);
    assert!(talk.contains("broken.toml:1") && talk.contains("serch"), "{talk}");
    assert!(
        talk.contains("--b: the configuration is wrong") && talk.contains(&format!("--config {broken} config check")),
        "{talk}"
    );
    let (_, talk) = eval(&place, &[vault, "--a", "nowhere.toml", "--b", &a], 78);
    assert!(talk.contains("--a: nowhere.toml is not a file") && !talk.contains("init"), "{talk}");

    // What nobody has written is not measured, and vectors are those of the built-in model.
    let unwritten = "[context]\nprovider = \"ollama\"\n[embed]\nprovider = \"ollama\"\nmodel = \"e\"\n";
    let unwritten = config("model.toml", unwritten);
    let (said, talk) = eval(&place, &[vault, "--a", &a, "--b", &unwritten], 0);
    assert!(
        talk.contains("B (model): no model has written contexts here") && !said.contains("hybrid, model"),
        "{said}{talk}"
    );
    assert!(talk.contains("vectors are the built-in model's"), "{talk}");
}

#[test]
fn enough_questions_name_the_best() {
    let place = Place::new();
    for n in 0..70 {
        place.write(
            &format!("Note {n}.md"),
            format!(
                "# Note {n}\n\nBeacon{n} lantern{n} shows every light. The beacon{n} and its lantern{n} are lit.\n"
            ),
        );
    }
    let vault = place.vault.to_str().unwrap();
    let found = report(&place, &[vault]);
    assert_eq!((&found["queries"], &found["kinds"]), (&json!(70), &json!({"lead": [70, 70]})));
    let best = found["best"]["system"].as_str().unwrap();
    let (said, _) = eval(&place, &[vault], 0);
    assert!(said.contains(&format!("Best by nDCG@10: “{best}”; ")) && !said.contains("Too few"), "{said}");
    // A limit leaves fewer, and then none is named.
    let (said, _) = eval(&place, &[vault, "--limit", "59"], 0);
    assert!(said.contains("Too few to tell: 59 queries") && !said.contains("Best by"), "{said}");
}

#[test]
fn links_whose_text_stands_first_are_asked_by_their_text() {
    let place = Place::with(&[
        ("sea.tides.md", "# Tides\n\nHigh water follows.\n"),
        ("sea.moorings.md", "# Moorings\n\nSinker and chain.\n"),
        ("Log.md", "[[lunar clockwork|sea.tides]] and [[anchoring gear|dendron://notes/sea.moorings#chain]].\n"),
        ("Plan.md", "[[sea.tides|ebb and flow]] and [[still to write|not there]].\n"),
    ]);
    let vault = place.vault.to_str().unwrap();
    let found = report(&place, &[vault]);
    assert_eq!((&found["queries"], &found["kinds"]), (&json!(3), &json!({"link": [3, 3]})), "{found}");
    // The daemon reads them the same way, and so a link of which neither side names a note.
    let mut daemon = place.start();
    let graph = |daemon: &mut crate::support::Daemon| daemon.call("graph", json!({}));
    let answer = graph(&mut daemon);
    assert_eq!((&answer["unresolved_count"], &answer["unresolved"][0]["target"]), (&json!(1), &json!("not there")));
    let linking = |daemon: &mut crate::support::Daemon, query: &str| {
        let mut paths: Vec<String> = daemon.ask(&self::query(query)).hits.into_iter().map(|hit| hit.path).collect();
        paths.sort();
        paths.dedup();
        paths
    };
    assert_eq!(linking(&mut daemon, "link:sea.tides"), ["Log.md", "Plan.md"]);
    assert_eq!(linking(&mut daemon, "link:Moorings"), ["Log.md"]);
}

/// The files of a set in a folder of its own, its vault too.
fn set_of(place: &Place, corpus: &str, queries: &str, qrels: &str, vault: &[(&str, &str)]) -> String {
    let set = place.dir.path().join("set");
    std::fs::create_dir_all(set.join("vault")).unwrap();
    for (name, text) in [("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels)] {
        std::fs::write(set.join(name), text).unwrap();
    }
    for (name, text) in vault {
        std::fs::write(set.join("vault").join(name), text).unwrap();
    }
    set.to_str().unwrap().to_owned()
}

#[test]
fn documents_that_are_not_in_the_vault_are_named_and_the_rest_is_measured() {
    let place = Place::new();
    let corpus = "{\"_id\":\"tides.md\",\"text\":\"High water.\"}\n{\"_id\":\"gone.md\",\"text\":\"Onion soup.\"}\n";
    let queries = "{\"_id\":\"1\",\"text\":\"moon and water\"}\n{\"_id\":\"2\",\"text\":\"soup with onions\"}\n";
    let qrels = "query-id\tcorpus-id\tscore\n1\ttides.md\t1\n2\tgone.md\t1\n";
    let vault = [("tides.md", "High water follows the moon.\n"), ("other.md", "Onions, potatoes and cream.\n")];
    let set = set_of(&place, corpus, queries, qrels, &vault);
    let (said, talk) = eval(&place, &["--json", "--set", &set], 0);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&found["queries"], &found["unanswerable"], &found["lost"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(found["missing"], json!([{"id": "gone.md", "queries": 1}]));
    for system in found["systems"].as_array().unwrap() {
        assert_eq!(system["measures"]["nDCG@10"]["mean"], json!(1.0), "ids are still those of notes: {system}");
    }
    let told = "Not in the set's vault: 1 document: gone.md (relevant to 1 query). Left out, for nothing that is relevant \
                to them is there: 1 query.";
    assert!(talk.is_empty(), "the report has it: {talk}");
    let (said, talk) = eval(&place, &["--set", &set], 0);
    assert!(talk.contains(told) && said.contains("2 notes in 2 chunks, 1 query"), "{talk}\n{said}");

    // Nothing is left: it ends at once, and says what the ids have to be.
    let none = set_of(&place, corpus, queries, "query-id\tcorpus-id\tscore\n2\tgone.md\t1\n", &vault);
    let (said, talk) = eval(&place, &["--set", &none], 1);
    assert!(said.is_empty() && talk.contains("gone.md (relevant to 1 query)"), "{talk}");
    assert!(talk.contains("nothing was measured: of no query") && talk.contains("paths in the set's vault/"), "{talk}");
    let (said, _) = eval(&place, &["--json", "--set", &none], 1);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&found["queries"], &found["unanswerable"], &found["systems"]), (&json!(0), &json!(1), &json!([])));
}

#[test]
fn a_set_that_does_not_load_says_what_to_do() {
    let place = Place::new();
    let corpus = "{\"_id\":\"tides.md\",\"text\":\"High water.\"}\n";
    let queries = "{\"_id\":\"1\",\"text\":\"moon\"}\n";
    let qrels = "query-id\tcorpus-id\tscore\n1\ttides.md\t1\n";
    for (corpus, queries, qrels, expected) in [
        (corpus, "{\"_id\":\"1\",\"text\":\"moon\"}\nmoon\n", qrels, "queries.jsonl:2: no JSON object"),
        (
            corpus,
            "{\"id\":\"1\",\"question\":\"moon\"}\n",
            qrels,
            "it has `id`, `question`, and no `_id` or `text`: rename",
        ),
        (corpus, "", qrels, "queries.jsonl: it is empty; each line is an object such as"),
        (corpus, "{\"_id\":\"9\",\"text\":\"moon\"}\n", qrels, "none of its 1 queries is in qrels.tsv"),
        (corpus, queries, "query-id\tcorpus-id\tscore\n1\ttides.md\t0\n", "a score above 0"),
        (corpus, queries, "1\ttides.md\t1\n", "qrels.tsv:1: a judgement where the header is wanted"),
        ("{\"text\":\"High water.\"}\n", queries, qrels, "corpus.jsonl:1: no JSON object"),
    ] {
        let set = set_of(&place, corpus, queries, qrels, &[("tides.md", "High water.\n")]);
        let (said, talk) = eval(&place, &["--set", &set], 74);
        assert!(said.is_empty() && talk.contains(expected), "{expected}: {talk}");
    }
    let set = set_of(&place, corpus, queries, qrels, &[("tides.md", "High water.\n")]);
    std::fs::write(Path::new(&set).join("queries.jsonl"), b"{\"_id\":\"1\",\n\xff").unwrap();
    let (_, talk) = eval(&place, &["--set", &set], 74);
    assert!(talk.contains("queries.jsonl: line 2 is not UTF-8; save it as UTF-8"), "{talk}");
    let (_, talk) = eval(&place, &["--set", &format!("{set}/qrels.tsv")], 74);
    assert!(talk.contains("a set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv"), "{talk}");
}

#[test]
fn a_set_is_asked_and_broken_lines_are_named() {
    let place = Place::new();
    let set = place.dir.path().join("set");
    std::fs::create_dir(&set).unwrap();
    let write = |name: &str, text: &str| std::fs::write(set.join(name), text).unwrap();
    write(
        "corpus.jsonl",
        "{\"_id\":\"a\",\"title\":\"Tides\",\"text\":\"High water follows the moon.\"}\n{\"_id\":\"b\",\"text\":\"Onion soup.\"}\n",
    );
    write(
        "queries.jsonl",
        "{\"_id\":\"1\",\"text\":\"moon and water\"}\n{\"_id\":\"2\",\"text\":\"soup with onions\"}\n",
    );
    write("qrels.tsv", "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t1\n");
    let folder = set.to_str().unwrap();
    let found = report(&place, &["--set", folder]);
    assert_eq!((&found["name"], &found["source"], &found["queries"]), (&json!("set"), &json!("set"), &json!(2)));
    for system in found["systems"].as_array().unwrap() {
        assert_eq!(system["measures"]["nDCG@10"]["mean"], json!(1.0), "{system}");
    }
    assert_eq!(report(&place, &["--set", folder, "--limit", "1"])["queries"], json!(1));

    write("queries.jsonl", "{\"_id\":\"1\",\"text\":\"moon\"}\n{\"_id\":\"2\",\"text\":\n");
    let (_, talk) = eval(&place, &["--set", folder], 74);
    assert!(talk.contains("queries.jsonl:2: no JSON object"), "{talk}");
    std::fs::remove_file(set.join("qrels.tsv")).unwrap();
    let (_, talk) = eval(&place, &["--set", folder], 74);
    assert!(talk.contains("qrels.tsv") && talk.contains("a set is a folder with"), "{talk}");
}

#[test]
fn the_vector_lane_corrects_a_word_where_a_search_does() {
    let texts = [
        ("a.md", "The zeppelin rises.\n"),
        ("b.md", "Onion soup with cream and leeks.\n"),
        ("c.md", "A kite circles above the meadow.\n"),
        ("d.md", "Zipper pell line of dresses.\n"),
        ("e.md", "Appeals to the line of the zoo.\n"),
        ("f.md", "The pelican and the line.\n"),
        ("g.md", "Linoleum, pepper, zest.\n"),
        ("h.md", "Pelin is a town in Bulgaria, line one.\n"),
    ];
    let place = Place::with(&texts);
    let queries = "{\"_id\":\"1\",\"text\":\"zepellin\"}\n";
    let qrels = "query-id\tcorpus-id\tscore\n1\ta.md\t1\n";
    let corpus: String = texts.iter().map(|(id, _)| format!("{}\n", json!({"_id": id, "text": ""}))).collect();
    let set = set_of(&place, &corpus, queries, qrels, &texts);
    let found = report(&place, &["--set", &set]);
    let systems = found["systems"].as_array().unwrap();
    let mut daemon = place.start();
    for (lane, mode) in [("dense", Mode::Dense), ("hybrid", Mode::Hybrid)] {
        let system = systems.iter().find(|s| s["lane"] == lane && s["context"] == "template").unwrap();
        let hits = daemon.ask(&SearchRequest { mode: Some(mode), ..query("zepellin") }).hits;
        let rank = hits.iter().position(|hit| hit.path == "a.md").unwrap();
        assert_eq!(system["ranks"][rank], json!(1), "{lane}: {system} {hits:?}");
    }
}

#[test]
fn what_cannot_be_measured_says_why() {
    let place = Place::with(&[("a.md", "# A\n\nNothing is linked here.\n")]);
    let (said, talk) = eval(&place, &[place.vault.to_str().unwrap()], 1);
    assert!(said.is_empty() && talk.contains("no query could be made of 1 note") && talk.contains("--set"), "{talk}");
    let (_, talk) = eval(&place, &["nowhere"], 2);
    assert!(talk.contains("nowhere is neither a folder nor a vault's name; none is configured"), "{talk}");
    let (_, talk) = eval(&place, &[], 2);
    assert!(talk.contains("situated eval ~/Notes"), "{talk}");
    let page = place.vault.join("page.html");
    let (_, talk) = eval(&place, &[place.vault.to_str().unwrap(), "--html", page.to_str().unwrap()], 2);
    assert!(talk.contains("in a vault, which is never written to") && !page.exists(), "{talk}");
    let page = place.dir.path().join("no/such/page.html");
    let (_, talk) = eval(&place, &[place.vault.to_str().unwrap(), "--html", page.to_str().unwrap()], 73);
    assert!(talk.contains("page.html"), "{talk}");
}

#[test]
fn a_note_says_why_it_is_not_found() {
    let place = Place::with(&NOTES);
    place.write(".situatedignore", "Secret.md\n");
    place.write("Secret.md", "the anchoring gear");
    place.write("Drawing.svg", "<svg/>");
    let mut daemon = place.start();
    let expecting = |text: &str, note: &str| {
        let (limit, per_note, expect) = (Some(1), Some(1), Some(note.to_owned()));
        SearchRequest { limit, per_note, expect, ..query(text) }
    };
    let mut expected = |text: &str, note: &str| {
        let expected = daemon.ask(&expecting(text, note)).expected.unwrap();
        assert!(!expected.why.is_empty(), "{expected:?}");
        expected
    };
    let absolute = place.vault.join("Moorings.md");
    for (text, note, standing, why) in [
        ("instrument frame buoy", "Moorings.md", NoteStanding::Hit, "It is hit no. 1."),
        ("instrument frame buoy", "Moorings", NoteStanding::Hit, "It is hit no. 1."),
        ("instrument frame buoy", absolute.to_str().unwrap(), NoteStanding::Hit, "It is hit no. 1."),
        ("instrument frame in the water", "Batteries.md", NoteStanding::Below, "It is not the one hit"),
        ("frame path:Nowhere", "Moorings.md", NoteStanding::Excluded, "`path:Nowhere`"),
        ("frame", "Secret.md", NoteStanding::Ignored, "a .situatedignore names it"),
        ("frame", "Drawing.svg", NoteStanding::Ignored, "no kind of file whose text is searched"),
        ("frame", "Gone.md", NoteStanding::Missing, "There is no such note"),
    ] {
        let expected = expected(text, note);
        assert_eq!(expected.standing, standing, "{text} {note}: {expected:?}");
        assert!(expected.why.concat().contains(why), "{text} {note}: {expected:?}");
    }
    let below = expected("instrument frame in the water", "Batteries.md");
    assert_eq!(below.lacks, ["instrument", "frame"], "{below:?}");
    assert!(below.dense.as_ref().unwrap().rank > 1 && !below.stale, "{below:?}");
    daemon.refused(&expecting("x", "../x"));

    // Nothing is looked at while the daemon pauses: what is new is not indexed, what changed is stale.
    daemon.pause();
    daemon.wait_for("paused", |status| status.state == RunState::Paused);
    place.write("New.md", "fresh words");
    place.write("Soup.md", "# Soup\n\nNow with leeks.\n");
    let why = |note: &str| {
        let output = place.run(&["search", "onions", "--explain", "--expect", note]);
        String::from_utf8(output.stdout).unwrap()
    };
    let new = why("New.md");
    assert!(new.contains("Expected: New.md") && new.contains("It is on the disk but not in the index"), "{new}");
    let soup = why("Soup.md");
    assert!(soup.contains("It is hit no. 1.") && soup.contains("It has changed on disk since"), "{soup}");
    // With the vault's name a note is known by its other names, too.
    for note in ["Moorings.md", "moorings", "[[Moorings|the gear]]", "MOORINGS.MD", absolute.to_str().unwrap()] {
        let output = place.run(&["search", "buoy", "--vault", "notes", "--expect", note]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("Expected: Moorings.md"), "{note}: {said}");
    }
    let typed = why(place.vault.join("Batteries.md").to_str().unwrap());
    assert!(typed.contains("Expected: Batteries.md") && typed.contains("onions"), "{typed}");
}

#[test]
fn contexts_that_a_model_wrote_are_measured_beside_the_others() {
    let model = Model::start();
    let place = Place::with(&[
        // The first sentence is asked too; what follows it keeps the section, and the context that was written for it.
        (
            "Atlas rollout.md",
            &ATLAS.replace("as its owner.", "as its owner. All agree that it takes until the summer."),
        ),
        ("Log.md", "# Log\n\nWe spoke about [[Atlas rollout|the seaside undertaking]] at length.\n"),
    ]);
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "")));
    let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"));
    daemon.wait_idle();
    wait_written(&mut daemon);
    let bought = model.calls();
    // The daemon has the store open and goes on undisturbed.
    let report = report(&place, &["notes"]);
    assert_eq!(
        (&report["written"], &report["chunks"], &report["queries"]),
        (&json!(3), &json!(4), &json!(2)),
        "{report}"
    );
    let contexts = report["systems"].as_array().unwrap().iter().map(|system| system["context"].as_str().unwrap());
    assert_eq!(contexts.filter(|context| *context == "model").count(), 4);
    assert_eq!(model.calls(), bought, "measuring buys nothing");
    assert_eq!(daemon.contextualized(), 3);
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_reranker_is_measured_beside_the_rest() {
    // The wanted word lifts the soup above everything, whatever was asked; it is never the answer.
    let judge = Reranker::start("Onions");
    let place = Place::with(&NOTES);
    let config = place.dir.path().join("rerank.toml");
    std::fs::write(&config, judge.config("tei", "")).unwrap();
    let vault = place.vault.to_str().unwrap();
    let report = report(&place, &[vault, "--rerank", "--config", config.to_str().unwrap()]);
    let systems = report["systems"].as_array().unwrap();
    let reranked: Vec<&Value> = systems.iter().filter(|system| system["rerank"] == json!(true)).collect();
    assert_eq!(reranked.len(), 2, "with contexts and without: {report}");
    for system in &reranked {
        assert_eq!((&system["ranks"][0], &system["first_order"]), (&json!(0), &json!(0)), "{system}");
        let plain = |other: &&Value| {
            other["lane"] == "hybrid" && other["context"] == system["context"] && other["rerank"] == json!(false)
        };
        assert!(systems.iter().filter(plain).all(|plain| plain["ranks"][0].as_u64() > Some(0)), "{report}");
    }
    // Four queries, twice; what is the same is asked once.
    assert!((1..=8).contains(&judge.asked().len()), "{}", judge.asked().len());
    assert!(!place.data().exists(), "what is free is not kept account of");

    judge.always(Answer::Raw(500, "{}".into()));
    let (said, _) = eval(&place, &[vault, "--rerank", "--config", config.to_str().unwrap()], 0);
    assert!(said.contains("4 of 4 queries were not reranked"), "{said}");
}

#[test]
fn no_query_that_a_private_note_gave_goes_to_a_reranker_elsewhere() {
    let judge = Reranker::start("Onions");
    let place = Place::with(&[]);
    for (path, text) in NOTES {
        place.write(&format!("Sea/{path}"), text);
    }
    let config = place.dir.path().join("rerank.toml");
    let folder = place.vault.join("Sea");
    let vault = toml::Value::from(place.vault.to_str().unwrap());
    let rerank = judge.config("tei", "passes_on = true");
    std::fs::write(&config, format!("[[vault]]\npath = {vault}\nprivate = [\"Tides.md\"]\n{rerank}")).unwrap();
    for what in [&place.vault, &folder] {
        let arguments = [what.to_str().unwrap(), "--rerank", "--yes", "--config", config.to_str().unwrap()];
        let (_, talk) = eval(&place, &arguments, 0);
        assert!(talk.contains("made of private notes, and left out"), "{talk}");
    }
    let asked = judge.asked();
    let sent: Vec<String> = asked.iter().map(|asked| asked.body.to_string()).collect();
    assert!(
        !sent.is_empty() && sent.iter().all(|sent| !sent.contains("the moon") && !sent.contains("sea rises")),
        "{sent:?}"
    );
}

#[test]
fn a_reranker_that_costs_is_agreed_to_first() {
    let judge = Reranker::start("sinker");
    let place = Place::with(&NOTES);
    let config = place.dir.path().join("rerank.toml");
    let key = place.dir.path().join("key");
    std::fs::write(&key, "k").unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let more = format!("model = \"m\"\nprice_per_1k = 2.0\nkey_file = {key:?}\n[budget]\nday = 1.0\n");
    std::fs::write(&config, judge.config("cohere", &more)).unwrap();
    let (vault, config) = (place.vault.to_str().unwrap(), config.to_str().unwrap());
    let (_, talk) = eval(&place, &[vault, "--rerank", "--config", config], 2);
    assert!(talk.contains("It is asked up to 12 times: $0.0") && talk.contains("--yes"), "{talk}");
    assert!(!talk.contains("--dry-run"), "{talk}");
    assert!(judge.asked().is_empty(), "asked without having been agreed to");
    eval(&place, &[vault, "--rerank", "--yes", "--config", config], 0);
    assert!(!judge.asked().is_empty());
    assert!(place.data().join("ledger").is_dir(), "it is written down");
}

#[test]
fn without_a_reranker_there_is_nothing_to_measure() {
    let place = Place::with(&NOTES);
    let (_, talk) = eval(&place, &[place.vault.to_str().unwrap(), "--rerank"], 2);
    assert!(talk.contains("[rerank] provider"), "{talk}");
}

#[test]
fn two_rerankers_that_cost_share_one_account() {
    let judge = Reranker::start("sinker");
    let place = Place::with(&NOTES);
    let key = place.dir.path().join("key");
    std::fs::write(&key, "k").unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let config = |provider: &str, price: &str| {
        let path = place.dir.path().join(format!("{provider}.toml"));
        let more = format!("model = \"m\"\n{price} = 2.0\nkey_file = {key:?}\n[budget]\nday = 1.0\n");
        std::fs::write(&path, judge.config(provider, &more)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (config("cohere", "price_per_1k"), config("voyage", "price_per_mtok"));
    let vault = place.vault.to_str().unwrap();
    let arguments = [vault, "--rerank", "--a", &a, "--b", &b];
    let (_, talk) = eval(&place, &arguments, 2);
    assert!(talk.contains("up to 8 times: $0.") && talk.matches("at most").count() == 1, "{talk}");
    assert!(judge.asked().is_empty(), "asked without having been agreed to");
    eval(&place, &[&arguments[..], &["--yes"]].concat(), 0);
    let asked = |path: &str| judge.asked().iter().filter(|asked| asked.path == path).count();
    assert!(asked("/v2/rerank") > 0 && asked("/v2/rerank") < judge.asked().len(), "{:?}", judge.asked());
    let ledger: String = std::fs::read_dir(place.data().join("ledger"))
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .collect();
    assert!(ledger.contains("cohere") && ledger.contains("voyage"), "{ledger}");
}

#[test]
fn a_page_with_sentences_of_notes_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with(&NOTES);
    let vault = place.vault.to_str().unwrap();
    let page = place.dir.path().join("report.html");
    let mode = || std::fs::metadata(&page).unwrap().permissions().mode() & 0o777;
    eval(&place, &[vault, "--html", page.to_str().unwrap()], 0);
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o644)).unwrap();
    eval(&place, &[vault, "--html", page.to_str().unwrap()], 0);
    assert_eq!(mode(), 0o600, "also where a file was");
}

#[test]
fn a_second_interrupt_leaves_no_texts_of_notes() {
    let place = Place::with(&[]);
    for n in 0..3000 {
        let text = "Beacon{n} lantern{n} shows every light. The beacon{n} and its lantern{n} are lit.";
        place.write(&format!("Note {n}.md"), format!("# Note {n}\n\n{}\n", text.replace("{n}", &n.to_string())));
    }
    let temporary = place.dir.path().join("t");
    std::fs::create_dir(&temporary).unwrap();
    let left = || std::fs::read_dir(&temporary).unwrap().count();
    for later in [30, 100, 200, 300, 400, 600] {
        let mut command = place.command();
        let command = command.args(["eval", place.vault.to_str().unwrap()]).env("TMPDIR", &temporary);
        let nowhere = std::process::Stdio::null;
        let mut child = command.stdout(nowhere()).stderr(nowhere()).spawn().unwrap();
        crate::support::eventually("it has begun", || left() > 0);
        std::thread::sleep(std::time::Duration::from_millis(later));
        let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        for _ in 0..2 {
            // It may have ended.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(130 | 0)) && left() == 0, "{later} ms: {code:?}, {} left", left());
    }
}

#[test]
fn a_vault_is_found_in_any_case_of_its_name() {
    let place = Place::with(&NOTES);
    place.configure("");
    let named = report(&place, &["NOTES"]);
    assert_eq!((&named["name"], &named["queries"]), (&json!("notes"), &json!(4)), "{named}");
}

#[test]
fn private_notes_of_a_set_do_not_go_to_a_reranker_elsewhere() {
    let judge = Reranker::start("Onions");
    let place = Place::new();
    let corpus = "{\"_id\":\"tides.md\",\"text\":\"\"}\n{\"_id\":\"soup.md\",\"text\":\"\"}\n";
    let queries = "{\"_id\":\"1\",\"text\":\"moon and water\"}\n{\"_id\":\"2\",\"text\":\"soup with onions\"}\n";
    let qrels = "query-id\tcorpus-id\tscore\n1\ttides.md\t1\n2\tsoup.md\t1\n";
    let vault = [
        ("tides.md", "High water follows the moon.\n"),
        ("soup.md", "Onions, potatoes and cream.\n"),
        ("stew.md", "Onions make a stew, as a soup.\n"),
    ];
    let set = set_of(&place, corpus, queries, qrels, &vault);
    let config = place.dir.path().join("rerank.toml");
    let around = toml::Value::from(format!("{set}/vault"));
    let rerank = judge.config("tei", "passes_on = true");
    std::fs::write(&config, format!("[[vault]]\npath = {around}\nprivate = [\"tides.md\"]\n{rerank}")).unwrap();
    let arguments = ["--set", &set, "--rerank", "--yes", "--config", config.to_str().unwrap()];
    let (_, talk) = eval(&place, &arguments, 0);
    assert!(talk.contains("1 query is made of private notes, and left out"), "{talk}");
    let sent: Vec<String> = judge.asked().iter().map(|asked| asked.body.to_string()).collect();
    assert!(!sent.is_empty() && sent.iter().all(|sent| !sent.contains("moon")), "{sent:?}");
}
