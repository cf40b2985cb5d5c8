//! Private notes: what an assistant cannot find, and what no provider is sent. Each has a word that stands nowhere else,
//! and every way out is searched for these words.

use std::time::Duration;

use protocol::ask::AskRequest;
use protocol::audience::Audience;
use protocol::contexts::{GenerateRequest, StatsRequest};
use protocol::envelope::ErrorKind;
use protocol::jobs::{JobKind, JobState, JobsRequest, RebuildRequest, SyncRequest};
use protocol::note::{GetRequest, RecentRequest};
use protocol::search::{RelatedRequest, SearchRequest};
use protocol::status::{RunState, StatusRequest};
use serde_json::json;

use crate::assistant::{Assistant, Era};
use crate::model::Model;
use crate::requests::{get, near, paths, query, whole_rebuild};
use crate::reranker::Reranker;
use crate::support::{Daemon, Place, eventually};
use crate::vectors::Vectors;

/// A word of each private note, of its title or of its path.
const CANARIES: [&str; 4] = ["zanzibarque", "quokkanette", "velociraptorium", "Sealed"];

fn place() -> Place {
    let sections = |word: &str| {
        format!(
            "# Diary of {word}\n\nAbout the boat and {word}, at length and in detail.\n\n## More\n\nThe boat again, and {word} once more, with many other words.\n"
        )
    };
    Place::with(&[
        (
            "Open/Boat.md",
            "# Boat\n\nThe boat is red, and lies in the harbour.\n\n## Engine\n\nIts engine needs oil every spring. See [[Journal/Sealed one]].\n",
        ),
        (
            "Open/Harbour.md",
            "# Harbour\n\nThe harbour has room for nine boats.\n\n## Fees\n\nFees are due in May, for every boat.\n",
        ),
        ("Journal/Sealed one.md", &sections("zanzibarque")),
        ("Open/Tagged.md", &format!("{}\n#private/family [[Harbour]]\n", sections("quokkanette"))),
        ("Open/Front.md", &format!("---\ntags: [boats, Private]\n---\n{}", sections("velociraptorium"))),
    ])
}

const PRIVATE: &str = "private = [\"Journal/**\"]\n";

fn silent(what: &str, said: &str) {
    for canary in CANARIES {
        // What was asked is quoted; only what was not asked tells anything.
        assert!(!said.contains(canary) || what.contains(canary), "{what} tells of {canary}: {said}");
    }
}

#[test]
fn an_assistant_learns_no_spelling_from_private_notes() {
    let place = place();
    place.configure(PRIVATE);
    place.write("Open/Fruit.md", "# Fruit\n\nThe zanzibarqua grows by the harbour.\n");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut warnings =
        |words: &str, audience: Audience| daemon.ask(&SearchRequest { audience, ..query(words) }).warnings.join("; ");
    // A slip of a word that only private notes have is corrected for their owner alone.
    let slip = "quokkanete";
    assert!(warnings(slip, Audience::Owner).contains("`quokkanette`"));
    let nonsense = warnings("quokkzzzzz", Audience::Assistant).replace("quokkzzzzz", slip);
    assert_eq!(warnings(slip, Audience::Assistant), nonsense);
    // A word that only a private note has is a slip of a public one to an assistant.
    assert_eq!(warnings("zanzibarque", Audience::Owner), "");
    assert!(
        warnings("zanzibarque", Audience::Assistant).contains("`zanzibarque` is nowhere; searched for `zanzibarqua`")
    );
}

#[test]
fn an_assistant_hears_of_no_job_about_a_private_note() {
    let place = place();
    place.configure(PRIVATE);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    for path in ["Journal/Sealed one.md", "Open/Tagged.md", "Journal", "Open"] {
        daemon.ask(&RebuildRequest { path: Some(path.to_owned()), wait: true, ..RebuildRequest::default() });
    }
    let mut paths = |audience: Audience| -> Vec<String> {
        let jobs = daemon.ask(&JobsRequest { audience }).jobs.into_iter();
        jobs.filter(|job| job.kind == JobKind::Rebuild).filter_map(|job| job.scope.path).collect()
    };
    assert_eq!(paths(Audience::Owner).len(), 4);
    assert_eq!(paths(Audience::Assistant), ["Open"]);
}

#[test]
fn an_assistant_learns_no_private_path_by_having_it_made_anew() {
    let place = place();
    let other = place.dir.path().join("other");
    std::fs::create_dir_all(other.join("Journal")).unwrap();
    std::fs::write(other.join("Journal/Sealed two.md"), "# Two\n").unwrap();
    std::fs::write(other.join("Sealed.md"), "# Sealed by its name\n").unwrap();
    place.write("Open/Journal.md", "# Journal\n\nOf the harbour.\n");
    place
        .configure(&format!("{PRIVATE}\n[[vault]]\nname = \"other\"\npath = {:?}\n{PRIVATE}", other.to_str().unwrap()));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let rebuild = |path: &str, vault: Option<&str>| RebuildRequest {
        path: Some(path.to_owned()),
        vault: vault.map(str::to_owned),
        audience: Audience::Assistant,
        dry_run: true,
        ..RebuildRequest::default()
    };
    for (vault, there) in [(Some("notes"), "one"), (None, "one"), (Some("other"), "two"), (None, "two")] {
        for end in ["", "/"] {
            let said = [there, "six"].map(|which| {
                let error = daemon.refused(&rebuild(&format!("Journal/Sealed {which}.md{end}"), vault));
                (error.message + &json!(error.data).to_string()).replace(&format!("Sealed {which}"), "X")
            });
            assert_eq!(said[0], said[1], "{vault:?} {there}{end}");
        }
    }
    // A folder of private notes does not take a name away from a public one.
    assert_eq!(daemon.ask(&rebuild("Journal", Some("notes"))).total, Some(1));
}

#[test]
fn an_assistant_hears_no_number_and_no_time_of_private_notes() {
    let place = place();
    place.configure(PRIVATE);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon.ask(&RebuildRequest { wait: true, ..RebuildRequest::default() });
    let mut assistant = Assistant::start(&place, Era::Legacy);
    let mut told = |daemon: &mut Daemon| {
        let progress = assistant.data("get_reindexing_progress", json!({}));
        assert_eq!((&progress["total_entities"], &progress["processed"]), (&json!(2), &json!(2)), "{progress}");
        let status = daemon.ask(&StatusRequest { audience: Audience::Assistant, ..StatusRequest::default() });
        let stats = daemon.ask(&StatsRequest { audience: Audience::Assistant, ..StatsRequest::default() });
        assert_eq!((status.vaults[0].notes, status.vaults[0].chunks), (2, stats.total), "{status:?}");
        (json!(status.vaults), json!(stats), assistant.data("vault_status", json!({}))["vaults"].clone())
    };
    let before = told(&mut daemon);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    place.write("Journal/Sealed two.md", "# Sealed two\n\nquokkanette\n");
    eventually("it is found", || daemon.holding("quokkanette").len() == 2);
    daemon.wait_idle();
    assert_eq!(told(&mut daemon), before);
}

#[test]
fn a_note_that_became_private_while_work_is_paused_is_found_by_no_assistant() {
    let place = place();
    place.configure(PRIVATE);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon.call("pause", json!({}));
    place.write("Open/Boat.md", "---\ntags: [private]\n---\n# Boat\n\nThe boat is red.\n");
    place.write("Open/Harbour.md", "# Harbour\n\nThe harbour has room for ten boats.\n");
    let mut assistant = Assistant::start(&place, Era::Legacy);
    for (tool, arguments) in [
        ("search_notes", json!({ "query": "boat harbour engine", "limit": 100 })),
        ("related_notes", json!({ "text": "the red boat and its engine", "limit": 100 })),
    ] {
        let found = assistant.data(tool, arguments)["results"].clone();
        let paths: Vec<&str> = found.as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect();
        assert!(!paths.contains(&"Open/Boat.md") && paths.contains(&"Open/Harbour.md"), "{tool}: {paths:?}");
    }
    let told = assistant.refused("read_note", json!({ "path": "Open/Boat.md" }));
    assert!(!told.contains("not there now") && told.contains("cannot be read now"), "{told}");
}

#[test]
fn an_assistant_never_hears_of_private_notes() {
    let place = place();
    place.configure(PRIVATE);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert_eq!(daemon.holding("zanzibarque").len(), 1, "their owner finds them");
    for era in [Era::Legacy, Era::Stateless] {
        let mut assistant = Assistant::start(&place, era);
        let queries = [
            "boat",
            "zanzibarque",
            "diary",
            "boat tag:private",
            "path:Journal",
            "\"zanzibarque once more\"",
            "zanzibarqe",
            "linked-from:\"Sealed one\"",
            "linked-from:Tagged",
            "-quokkanette boat",
            "quokkanet",
            "diary velociraptor",
        ];
        for query in queries {
            for (tool, arguments) in [
                ("search_notes", json!({ "query": query, "limit": 100 })),
                (
                    "search_with_contextual_retrieval",
                    json!({ "query": query, "top_k": 100, "include": ["links", "contextualized"] }),
                ),
                ("search_with_contextual_retrieval", json!({ "query": query, "top_k": 100, "mode": "dense" })),
                (
                    "search_with_contextual_retrieval",
                    json!({ "query": query, "top_k": 100, "contextual": false, "filters": { "tag": "private" } }),
                ),
            ] {
                let result = assistant.tool(tool, arguments);
                let paths: Vec<&str> = result["structuredContent"]["results"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|h| h["path"].as_str().unwrap())
                    .collect();
                assert!(
                    paths.iter().all(|path| ["Open/Boat.md", "Open/Harbour.md"].contains(path)),
                    "{query}: {paths:?}"
                );
                for hit in result["structuredContent"]["results"].as_array().unwrap() {
                    silent(query, &hit["metadata"].to_string());
                }
                // A public note may link to a private one: that name is in its own text.
                silent(query, &result["structuredContent"]["warnings"].to_string());
            }
        }
        assert_eq!(assistant.data("search_notes", json!({ "query": "linked-from:Tagged" }))["results"], json!([]));
        let related = assistant.tool("related_notes", json!({ "path": "Open/Harbour.md", "limit": 100 }));
        assert_eq!(related["structuredContent"]["results"].as_array().unwrap().len(), 1, "{related}");
        let related = assistant.tool("related_notes", json!({ "text": "diary of the boat", "limit": 100 }));
        assert!(
            related["structuredContent"]["results"]
                .as_array()
                .unwrap()
                .iter()
                .all(|hit| hit["path"] != "Open/Tagged.md"),
            "{related}"
        );
        let recent = assistant.data("recent_notes", json!({ "limit": 200 }));
        assert_eq!((&recent["total"], recent["notes"].as_array().unwrap().len()), (&json!(2), 2), "{recent}");
        silent("recent_notes", &recent.to_string());
        for what in ["tags", "folders", "notes", "types", "properties"] {
            let names = assistant.text("list_names", json!({ "what": what }));
            silent("list_names", &names);
            assert!(!names.contains("private") && !names.contains("Journal"), "{names}");
        }
        for pattern in ["zanzibarque", "quokkanet", "velociraptor"] {
            let lines = assistant.text("grep_notes", json!({ "pattern": pattern }));
            assert!(lines.starts_with("0 lines match in 0 of 2 notes."), "{lines}");
        }
        let linked = assistant.text("read_note", json!({ "path": "Harbour", "links": true }));
        assert!(linked.contains("These link to it: none"), "the only one is private: {linked}");
        let listed = assistant.request("resources/list", json!({}));
        assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 2);
        silent("resources/list", &listed.to_string());
        let missing = assistant.refused("read_note", json!({ "path": "Journal/Nothing.md" }));
        for path in ["Journal/Sealed one.md", "Open/Tagged.md", "Open/Front.md"] {
            let told = assistant.refused("read_note", json!({ "path": path }));
            assert_eq!(told.replace(path, "X"), missing.replace("Journal/Nothing.md", "X"), "as if it were not there");
            assert!(assistant.refused("related_notes", json!({ "path": path })).contains("not known"));
            assert!(
                assistant.refused("reindex_with_context", json!({ "path": path, "force": true })).contains("not known")
            );
            let uri = format!("note://notes/{}", path.replace(' ', "%20"));
            let read = assistant.request("resources/read", json!({ "uri": uri }));
            assert!(read["error"].is_object(), "{read}");
        }
        for (tool, arguments) in [
            ("vault_status", json!({})),
            ("get_contextual_retrieval_stats", json!({})),
            ("reindex_with_context", json!({ "force": true, "wait": true })),
            ("get_reindexing_progress", json!({})),
        ] {
            silent(tool, &assistant.tool(tool, arguments).to_string());
        }
        // Nor of how many there are: they are left out of what is made anew.
        for path in [None, Some("Open")] {
            let made = json!({ "path": path, "force": true, "wait": true });
            let made = assistant.data("reindex_with_context", made);
            assert_eq!((&made["total_entities"], &made["processed"]), (&json!(2), &json!(2)), "{made}");
            assert!(made["message"].as_str().unwrap().contains("2 of 2 notes"), "{made}");
        }
        // From the moment that a note says so.
        place.write("Open/Boat.md", "# Boat\n\nThe boat is red.\n\n#private\n");
        assert!(assistant.refused("read_note", json!({ "path": "Open/Boat.md" })).contains("not known"));
        eventually("it is indexed", || assistant.data("recent_notes", json!({}))["total"] == 1);
        assert_eq!(
            assistant.data("search_notes", json!({ "query": "red boat", "filters": { "path": "Open/Boat.md" } }))["results"],
            json!([])
        );
        place.write(
            "Open/Boat.md",
            "# Boat\n\nThe boat is red, and lies in the harbour.\n\n## Engine\n\nIts engine needs oil.\n",
        );
        eventually("it is indexed", || assistant.data("recent_notes", json!({}))["total"] == 2);
    }
}

/// However a private note is named, it is told of as one that is not there.
#[test]
fn on_the_socket_too_a_private_note_is_none_by_path_line_or_chunk() {
    let place = place();
    place.configure(PRIVATE);
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let asked = SearchRequest { query: "zanzibarque".to_owned(), ..SearchRequest::default() };
    let chunk = daemon.ask(&asked).hits.remove(0).chunk;
    let near = |path: Option<&str>, line, chunk: Option<&str>| RelatedRequest {
        path: path.map(str::to_owned),
        line,
        chunk: chunk.map(str::to_owned),
        audience: Audience::Assistant,
        ..RelatedRequest::default()
    };
    let (there, missing) = ("Open/Tagged.md", "Open/Missin.md");
    for line in [None, Some(1), Some(3), Some(1_000_000)] {
        let refused = [there, missing].map(|path| daemon.refused(&near(Some(path), line, None)));
        let [there, missing] = refused.map(|error| json!(error.message).to_string() + &json!(error.data).to_string());
        assert_eq!(there.replace("Tagged", "X"), missing.replace("Missin", "X"), "line {line:?}");
    }
    let missing = "0".repeat(chunk.len());
    let refused = [&chunk, &missing].map(|chunk| daemon.refused(&near(None, None, Some(chunk))).message);
    assert_eq!(refused[0].replace(&chunk, "X"), refused[1].replace(&missing, "X"));
}

/// A daemon whose private notes are settled: nothing waits.
fn settled(place: &Place) -> Daemon {
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_for("settled", |status| {
        let idle = matches!(status.state, RunState::Idle | RunState::Degraded);
        let embedded = status.embedding.waiting == 0 && status.embedding.next.is_none();
        idle && status.vaults.first().is_some_and(|vault| vault.notes >= 5) && status.contexts.waiting == 0 && embedded
    });
    daemon
}

/// How many notes there are for an assistant.
fn shown_to_assistants(daemon: &mut Daemon) -> u64 {
    daemon.ask(&RecentRequest { audience: Audience::Assistant, ..RecentRequest::default() }).total
}

fn read_by_assistant(path: &str) -> GetRequest {
    GetRequest { audience: Audience::Assistant, ..get(path) }
}

#[test]
fn a_model_elsewhere_writes_no_contexts_for_private_notes_and_answers_without_them() {
    let model = Model::start();
    let place = place();
    let config = |passes_on: bool| {
        format!(
            "{PRIVATE}{}",
            model.config(
                "anthropic",
                &format!("key_command = \"echo k\"\npasses_on = {passes_on}\nllm_min_chunks = 1\n")
            )
        )
    };
    place.configure(&config(true));
    let mut daemon = settled(&place);
    let all = |model: &Model| model.asked().iter().map(|asked| asked.body.to_string()).collect::<Vec<_>>().join("\n");
    assert!(model.calls() > 0 && all(&model).contains("harbour"), "public notes are asked about");
    let stats = daemon.ask(&StatsRequest::default());
    assert_eq!((stats.processed, stats.failed), (stats.total, 0), "{stats:?}");
    assert!(stats.contextualized < stats.total, "{stats:?}");
    assert!(daemon.status().leaves_machine[0].contains("127.0.0.1"));
    // A save, a rebuild, a look after what is stale, and a question.
    place.write(
        "Open/Tagged.md",
        "# Diary\n\nAbout quokkanette.\n\n## New section\n\nMore of quokkanette in a new section, flamingoid.\n\n#private\n",
    );
    daemon.wait_holding("flamingoid", &["Open/Tagged.md"]);
    let plan = daemon.ask(&RebuildRequest { dry_run: true, ..RebuildRequest::default() });
    assert_eq!(plan.estimate.as_ref().map(|estimate| estimate.notes), Some(2), "{plan:?}");
    daemon.ask(&whole_rebuild());
    daemon.ask(&SyncRequest { since: Some(0), ..SyncRequest::default() });
    let question = "What does the diary say of zanzibarque and the boat?";
    let answer =
        daemon.ask(&AskRequest { question: question.to_owned(), stream: Some(false), ..AskRequest::default() });
    let public = ["Open/Boat.md", "Open/Harbour.md"];
    assert!(answer.passages.iter().all(|passage| public.contains(&passage.path.as_str())), "{answer:?}");
    assert!(answer.warnings.concat().contains("private notes were left out"), "{answer:?}");
    let narrow = "path:Journal zanzibarque".to_owned();
    let answer = daemon.ask(&AskRequest { question: narrow, stream: Some(false), ..AskRequest::default() });
    let told = answer.warnings.concat();
    assert!(told.contains("no note that the model may be shown meets `path:Journal`"), "{answer:?}");
    daemon.wait_idle();
    let sent = all(&model).replace(question, "");
    for canary in &CANARIES[..3] {
        assert!(!sent.contains(canary), "{canary} was sent");
    }
    // A restart plans nothing; with a model on this machine they are notes like all others.
    let calls = model.calls();
    let document = "# Diary\n\nAbout quokkanette.\n\n#private\n".to_owned();
    let generate = GenerateRequest { chunk: "About quokkanette.".to_owned(), document, ..GenerateRequest::default() };
    let refused = daemon.refused(&generate);
    assert!(refused.kind == ErrorKind::Forbidden && refused.message.contains("nothing was sent"), "{refused:?}");
    assert_eq!(refused.hint, None, "no setting allows it");
    let (sealed, passage) = (place.vault.join("Journal/Sealed one.md"), place.dir.path().join("passage"));
    std::fs::write(&passage, "About the boat and zanzibarque").unwrap();
    let [sealed, passage] = [&sealed, &passage].map(|file| file.to_str().unwrap());
    let output = place.run(&["generate", "--document", sealed, "--chunk", passage]);
    assert!(crate::commands::err(&output).contains("nothing was sent"), "{output:?}");
    daemon.stop();
    let mut daemon = settled(&place);
    assert_eq!(model.calls(), calls);
    place.configure(&config(false));
    daemon.reload();
    daemon.wait_idle();
    let job = daemon.ask(&whole_rebuild());
    assert!(job.state == JobState::Done && all(&model).contains("quokkanette"), "{job:?}");
}

#[test]
fn an_embedder_elsewhere_makes_no_vectors_of_private_notes() {
    let vectors = Vectors::start(16);
    let slow = "key_command = \"echo k\"\npasses_on = true\nconcurrency = 1";
    let place = place();
    place.configure(&format!("{PRIVATE}{}", vectors.config("openai", "m", slow)));
    let mut daemon = settled(&place);
    assert!(vectors.texts().iter().any(|text| text.contains("harbour")));
    for canary in &CANARIES[..3] {
        assert_eq!(daemon.holding(canary).len(), 1, "words find it");
    }
    // A part of a private note is no query either.
    daemon.ask(&RelatedRequest { line: Some(3), ..near("Journal/Sealed one.md") });
    place.write("Journal/Sealed one.md", "# Diary\n\nNew words about zanzibarque.\n");
    daemon.wait_holding("zanzibarque", &["Journal/Sealed one.md"]);
    daemon.ask(&whole_rebuild());
    let sent = vectors.texts().join("\n");
    for canary in &CANARIES[..3] {
        assert!(!sent.contains(canary), "{canary} was sent");
    }
    // One that becomes private while its vectors wait to be asked for again is not sent any more.
    let times = |vectors: &Vectors| vectors.texts().iter().filter(|text| text.contains("quincunxial")).count();
    vectors.refuse(Some((401, "{}")));
    place.write("Open/Late.md", "# Late\n\nA quincunxial thing.\n");
    eventually("it is asked for in vain", || times(&vectors) > 0);
    // Its vectors are ordered before it can be found.
    daemon.wait_holding("quincunxial", &["Open/Late.md"]);
    daemon.wait_for("given up for now", |status| status.problems.concat().contains("not asked any more"));
    place.write("Open/Late.md", "# Late\n\nA quincunxial thing. #private\n");
    eventually("it is private", || shown_to_assistants(&mut daemon) == 2);
    let before = times(&vectors);
    vectors.refuse(None);
    daemon.resume();
    place.write("Open/After.md", "# After\n\nSomething public about lighthouses.\n");
    eventually("the public one is sent", || vectors.texts().iter().any(|text| text.contains("lighthouses")));
    assert_eq!(times(&vectors), before);
    let asked = vectors.asked().len();
    daemon.stop();
    let mut daemon = settled(&place);
    assert!(daemon.status().embedding.waiting == 0 && vectors.asked().len() <= asked + 1);

    // Nor are those that a glob makes private while they wait for their turn, and no text is sent twice for that.
    vectors.latency(Duration::from_millis(300));
    for n in 0..40 {
        place.write(&format!("Many/{n}.md"), format!("# Many\n\nThe thing of number {n}, {}.\n", "word ".repeat(900)));
        place.write(&format!("Late/{n}.md"), format!("# Late\n\nThe antediluvian {n}, {}.\n", "word ".repeat(900)));
    }
    let of = |word: &str| vectors.texts().iter().filter(|text| text.contains(word)).count();
    eventually("the first are sent", || of("thing of number") > 0);
    place.configure(&format!("{}{}", PRIVATE.replace(']', ", \"Late/**\"]"), vectors.config("openai", "m", slow)));
    daemon.reload();
    let late = of("antediluvian");
    daemon.wait_for("all vectors", |status| status.state == RunState::Idle && status.embedding.waiting == 0);
    let sent = vectors.texts().into_iter().filter(|text| text.contains("thing of number"));
    let (sent, mut texts) = (of("thing of number"), sent.collect::<Vec<_>>());
    texts.sort_unstable();
    texts.dedup();
    assert!(sent == texts.len() && sent >= 40 && of("antediluvian") == late, "{sent} of {}, {late}", texts.len());

    // Nor is one that becomes private between two attempts at a call.
    let times = || vectors.texts().iter().filter(|text| text.contains("sesquipedalian")).count();
    vectors.refuse(Some((503, "{}")));
    vectors.latency(Duration::from_secs(2));
    place.write("Open/Mixed.md", "# Mixed\n\nA sesquipedalian thing.\n");
    eventually("its call is under way", || times() > 0);
    place.write("Open/Mixed.md", "# Mixed\n\nA sesquipedalian gryphon. #private\n");
    daemon.wait_holding("gryphon", &["Open/Mixed.md"]);
    let before = times();
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(times(), before);
}

#[test]
fn a_reranker_elsewhere_is_shown_no_private_notes() {
    let reranker = Reranker::start("harbour");
    let place = place();
    place.configure(&format!("{PRIVATE}{}", reranker.config("cohere", "key_command = \"echo k\"\npasses_on = true\n")));
    let mut daemon = settled(&place);
    let found = daemon.ask(&SearchRequest { limit: Some(50), ..query("boat") });
    assert_eq!(found.warnings, [""; 0], "{found:?}");
    let shown: Vec<String> = reranker.asked().iter().flat_map(crate::reranker::Asked::documents).collect();
    assert!(shown.len() >= 2, "{shown:?}");
    silent("the reranker", &shown.join("\n").replace("Sealed one", ""));
    let found = paths(&found.hits);
    let plain = daemon.ask(&SearchRequest { limit: Some(50), rerank: Some(false), ..query("boat") });
    let private = |path: &&str| !["Open/Boat.md", "Open/Harbour.md"].contains(path);
    let places =
        |paths: &[&str]| paths.iter().map(|path| private(path).then(|| (*path).to_owned())).collect::<Vec<_>>();
    assert_eq!(places(&found), places(&paths(&plain.hits)), "their owner finds them where they were: {found:?}");
}

#[test]
fn a_save_in_the_middle_of_typing_reaches_neither_assistant_nor_provider() {
    let (model, vectors) = (Model::start(), Vectors::start(16));
    let remote = "key_command = \"echo k\"\npasses_on = true\n";
    let place = Place::with(&[("Boat.md", "# Boat\n\nThe boat is red, and lies in the harbour.\n")]);
    let writer = model.config("anthropic", &format!("{remote}llm_min_chunks = 1\n"));
    place.configure(&format!("{writer}{}", vectors.config("openai", "m", remote)));
    let body =
        |word: &str| format!("# Diary\n\nAbout zanzibarque and {word}.\n\n## More\n\nThe boat, and {word} again.\n");
    place.write("Diary.md", format!("---\ntags: [private]\n---\n{}", body("first")));
    place.write("Page.md", format!("tags:: private\n\n{}", body("second")));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    daemon.wait_holding("first", &["Diary.md"]);
    daemon.wait_holding("second", &["Page.md"]);
    let still = |daemon: &mut Daemon, word: &str| {
        daemon.wait_holding(word, &["Diary.md"]);
        daemon.wait_for("settled", |status| status.contexts.waiting == 0 && status.embedding.waiting == 0);
        for path in ["Diary.md", "Page.md"] {
            assert!(daemon.try_ask(&read_by_assistant(path)).is_err(), "{word}: {path}");
        }
        let (limit, audience) = (Some(50), Audience::Assistant);
        let found = daemon.ask(&SearchRequest { limit, audience, ..query("boat") });
        assert!(!format!("{found:?}").contains("zanzibarque"), "{word}: {found:?}");
        assert_eq!(shown_to_assistants(daemon), 1, "{word}");
        let sent: Vec<String> =
            model.asked().iter().map(|asked| asked.body.to_string()).chain(vectors.texts()).collect();
        assert!(!sent.join("\n").contains("zanzibarque"), "{word} was sent");
    };
    still(&mut daemon, "first");
    for (front, word) in [
        ("---\ntags: [private, fam\n---\n", "typing"),
        ("---\ntags: [priv\n---\n", "erasing"),
        ("---\ntags: [private]\n\n", "unfenced"),
        ("---\ntags: [pri", "torn"),
        ("---\ntags: [private]\ntags: [work]\n---\n", "twice"),
        ("---\ntitle: x\n  tags: [private]\n---\n", "indented"),
    ] {
        place.write("Diary.md", format!("{front}{}", body(word)));
        still(&mut daemon, word);
    }
    // A daemon that knows nothing of it but what it reads and what it wrote down.
    place.write("Diary.md", format!("---\ntags: [priv\n---\n{}", body("stopped")));
    daemon.wait_holding("stopped", &["Diary.md"]);
    daemon.stop();
    place.write("Diary.md", format!("---\ntags: [pr\n---\n{}", body("restarted")));
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    still(&mut daemon, "restarted");
    // The tag is taken away for good.
    place.write("Diary.md", format!("---\ntags: [work]\n---\n{}", body("published")));
    daemon.wait_holding("published", &["Diary.md"]);
    // Its outline is the old one, so the template stays until the next look after contexts; its vectors are made.
    eventually("it is sent", || vectors.texts().iter().any(|text| text.contains("published")));
    assert_eq!(daemon.ask(&read_by_assistant("Diary.md")).path, "Diary.md");
}

#[test]
fn a_private_tag_counts_wherever_a_format_has_it() {
    let place = Place::with(&[
        ("Diary.org", "#+TAGS: work(w)\n#+FILETAGS: :private:\n* Head\nAbout the heron.\n"),
        ("Second.org", "#+FILETAGS: :journal:\n#+FILETAGS: :private:\n* Head\nAbout the heron.\n"),
        ("Hugo.md", "{\n\"tags\": [\"private\"]\n}\n\nAbout the heron.\n"),
        ("Open.org", "#+FILETAGS: :journal:\n* Head\nAbout the heron.\n"),
    ]);
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let request = SearchRequest { audience: Audience::Assistant, ..query("heron") };
    assert_eq!(paths(&daemon.ask(&request).hits), ["Open.org"]);
}
