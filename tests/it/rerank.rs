//! Searches that a reranker puts in order: real daemons, real HTTP servers.

use std::process::Stdio;
use std::time::{Duration, Instant};

use protocol::audience::Audience;
use protocol::envelope::ErrorKind;
use protocol::search::{SearchAnswer, SearchRequest};
use serde_json::json;

use crate::commands::{err, out};
use crate::requests::{fresh, paths, query};
use crate::reranker::{Answer, Reranker};
use crate::support::{Daemon, Place, eventually};

const KEY: &str = "rerank-key-of-nobody";

/// Three notes about herons; words and vectors prefer the first, the reranker the one that says "lagoon".
const NOTES: [(&str, &str); 3] = [
    ("a.md", "# Heron\n\nHeron, heron: the grey heron stands.\n"),
    ("b.md", "# Birds\n\nA heron by the lake.\n"),
    ("c.md", "# Water\n\nFar out in the lagoon a heron and some egrets were seen.\n"),
];

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn_command(
        place.command().env("COHERE_API_KEY", KEY).env("VOYAGE_API_KEY", KEY).env("JINA_API_KEY", KEY).arg("run"),
    );
    daemon.wait_idle();
    daemon
}

fn configured(reranker: &Reranker, provider: &str, more: &str) -> Place {
    let place = Place::with(&NOTES);
    place.configure(&reranker.config(provider, more));
    place
}

fn warnings(answer: &SearchAnswer) -> String {
    answer.warnings.join("\n")
}

/// The same search in the order of words and vectors.
fn unranked(text: &str) -> SearchRequest {
    SearchRequest { rerank: Some(false), ..query(text) }
}

#[test]
fn every_provider_changes_the_order() {
    for (provider, more, path, with_key) in [
        ("cohere", "", "/v2/rerank", true),
        ("voyage", "", "/v1/rerank", true),
        ("jina", "", "/v1/rerank", true),
        ("tei", "", "/rerank", false),
        ("tei", "model = \"bge\"", "/rerank", false),
    ] {
        let reranker = Reranker::start("lagoon");
        let place = configured(&reranker, provider, more);
        let mut daemon = start(&place);
        let first = daemon.ask(&SearchRequest { explain: true, ..unranked("heron") });
        assert_eq!((paths(&first.hits)[0], reranker.asked().len()), ("a.md", 0), "{provider}");
        assert_eq!(first.hits[0].lanes.as_ref().unwrap().rerank, None);
        let second = daemon.ask(&SearchRequest { explain: true, ..query("heron") });
        assert_eq!((paths(&second.hits)[0], warnings(&second)), ("c.md", String::new()), "{provider}: {second:?}");
        let scores: Vec<f32> = second.hits.iter().map(|hit| hit.score).collect();
        assert!(scores.windows(2).all(|pair| pair[0] > pair[1]) && scores[0] <= 1.0, "{scores:?}");
        let told = second.hits[0].lanes.as_ref().unwrap().rerank.as_ref().unwrap();
        let before = 1 + paths(&first.hits).iter().position(|path| *path == "c.md").unwrap();
        assert_eq!((told.before as usize, told.rank), (before, Some(1)), "{provider}: {told:?}");
        assert!(told.score.unwrap() > 0.5, "{told:?}");
        let asked = reranker.asked();
        assert_eq!((asked.len(), asked[0].path.as_str(), &asked[0].body["query"]), (1, path, &json!("heron")));
        assert_eq!(asked[0].key.is_some(), with_key, "{provider}");
        // Where it stands, what situates it, what it says.
        let document = asked[0].documents().into_iter().find(|d| d.contains("lagoon")).unwrap();
        assert!(document.starts_with("Water") && document.ends_with("were seen."), "{document}");
    }
}

#[test]
fn front_matter_that_cannot_be_read_is_not_shown() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "cohere", "");
    place.write("typed.md", "---\ntoken: geheim\n\nA heron that was seen while this was typed.\n");
    let mut daemon = start(&place);
    let found = daemon.ask(&query("heron geheim")).hits;
    assert!(paths(&found).contains(&"typed.md"), "{found:?}");
    let shown = reranker.asked()[0].documents();
    assert!(shown.iter().any(|document| document.contains("while this was typed")), "{shown:?}");
    assert!(!shown.iter().any(|document| document.contains("geheim")), "{shown:?}");
}

#[test]
fn the_letters_of_a_query_that_is_being_typed_are_not_paid_for() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "cohere", "");
    let mut daemon = start(&place);
    let typed = |text: &str| SearchRequest { prefix: true, ..query(text) };
    for text in ["h", "he", "hero", "heron"] {
        assert_eq!(warnings(&daemon.ask(&typed(text))), "");
    }
    assert_eq!(reranker.asked().len(), 0);
    let asked = daemon.ask(&SearchRequest { rerank: Some(true), ..typed("heron") });
    assert_eq!((paths(&asked.hits)[0], reranker.asked().len()), ("c.md", 1));
}

#[test]
fn what_was_asked_is_not_asked_again() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "jina", "");
    let mut daemon = start(&place);
    let first = daemon.ask(&query("heron")).hits;
    let again = daemon.ask(&SearchRequest { limit: Some(2), ..query("heron") }).hits;
    assert_eq!((paths(&first)[0], paths(&again)[0], reranker.asked().len()), ("c.md", "c.md", 1));
    daemon.ask(&query("egrets"));
    assert_eq!(reranker.asked().len(), 2, "another query is another question");
    place.write("c.md", "# Water\n\nFar out in the lagoon a heron was seen.\n");
    daemon.ask(&fresh("heron"));
    assert_eq!(reranker.asked().len(), 3, "another text is another question");
}

#[test]
fn a_slow_server_does_not_keep_a_search_waiting() {
    let reranker = Reranker::start("lagoon");
    reranker.latency(Duration::from_secs(30));
    let place = configured(&reranker, "tei", "deadline = \"300ms\"");
    let mut daemon = start(&place);
    let began = Instant::now();
    let answer = daemon.ask(&query("heron"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(paths(&answer.hits)[0], "a.md");
    assert!(warnings(&answer).starts_with("not reranked: "), "{answer:?}");
}

#[test]
fn searches_that_wait_keep_nobody_waiting() {
    let reranker = Reranker::start("lagoon");
    reranker.latency(Duration::from_secs(30));
    let place = configured(&reranker, "tei", "");
    let daemon = start(&place);
    let mut waiting: Vec<_> = (0..6)
        .map(|n| {
            place.command().args(["search", &format!("heron {n}"), "--quiet"]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    eventually("all of them wait", || reranker.asked().len() == 4);
    let output = place.run(&["search", "heron", "--no-rerank"]);
    assert!(output.status.code() == Some(0) && out(&output).contains("a.md"), "{}", err(&output));
    let ended = waiting.iter_mut().filter_map(|child| child.try_wait().unwrap()).count();
    drop(daemon);
    for mut child in waiting {
        child.wait().unwrap();
    }
    assert_eq!(ended, 0, "the plain search was answered after those that wait for the reranker");
}

#[test]
fn what_is_no_answer_leaves_the_first_order() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "cohere", "");
    let mut daemon = start(&place);
    for (i, (status, body)) in [
        (200, "garbage"),
        (200, "{\"results\":[]}"),
        (200, "{\"results\":[{\"index\":77,\"relevance_score\":0.9}]}"),
        (400, "{\"message\":\"the document 'Heron' is bad\"}"),
        (422, "nonsense"),
    ]
    .into_iter()
    .enumerate()
    {
        reranker.always(Answer::Raw(status, body.to_owned()));
        let answer = daemon.ask(&query(&format!("heron {i}")));
        assert_eq!(paths(&answer.hits)[0], "a.md", "{status} {body}");
        let said = warnings(&answer);
        assert!(said.starts_with("not reranked: ") && !said.contains("Heron"), "{said}");
    }
    // Some are judged, one twice; the rest follows as it was.
    reranker.always(Answer::Raw(
        200,
        r#"{"results":[{"index":2,"relevance_score":0.9},{"index":2,"relevance_score":0.1}]}"#.into(),
    ));
    let first = daemon.ask(&unranked("a heron"));
    let answer = daemon.ask(&query("a heron"));
    let (before, after) = (paths(&first.hits), paths(&answer.hits));
    assert_eq!(after, [before[2], before[0], before[1]], "{answer:?}");
    assert_eq!(warnings(&answer), "");
    let log = daemon.log();
    assert_eq!(log.matches("without being reranked").count(), 1, "{log}");
    assert!(!log.contains(KEY) && !log.contains("lagoon"), "{log}");
}

#[test]
fn a_busy_server_is_asked_again_and_then_left_alone() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "tei", "deadline = \"2s\"");
    let mut daemon = start(&place);
    reranker.always(Answer::Raw(429, "{\"error\":\"Model is overloaded\",\"error_type\":\"Overloaded\"}".into()));
    for n in 0..12 {
        let answer = daemon.ask(&query(&format!("heron {n}")));
        assert_eq!(paths(&answer.hits)[0], "a.md");
        assert!(warnings(&answer).contains("not reranked"), "{answer:?}");
    }
    let asked = reranker.asked().len();
    assert!(asked >= 5, "{asked}");
    let answer = daemon.ask(&query("heron again"));
    assert_eq!(reranker.asked().len(), asked, "it is left alone");
    assert!(warnings(&answer).contains("left alone"), "{answer:?}");
}

#[test]
fn a_missing_key_is_told() {
    let place = Place::with(&NOTES);
    place.configure("[rerank]\nprovider = \"cohere\"\nconsent = \"given\"\nbase_url = \"https://rerank.invalid\"\n");
    let mut daemon = place.spawn_command(place.command().arg("run"));
    daemon.wait_idle();
    let answer = daemon.ask(&query("heron"));
    assert_eq!(paths(&answer.hits)[0], "a.md");
    let said = warnings(&answer);
    assert!(said.contains("rerank.key_file") && said.contains("COHERE_API_KEY"), "{said}");
    let status = daemon.wait_for("telling", |status| status.problems.concat().contains("reranker"));
    assert!(status.leaves_machine.concat().contains("rerank.invalid"), "{status:?}");
    let none = Place::with(&NOTES);
    let mut daemon = none.start();
    let error = daemon.refused(&SearchRequest { rerank: Some(true), ..query("heron") });
    assert!(error.kind == ErrorKind::InvalidParams && error.message.contains("[rerank]"), "{error:?}");
    assert_eq!(daemon.status().leaves_machine, [""; 0]);
}

#[test]
fn costs_are_in_the_ledger_and_within_the_budget() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "cohere", "model = \"rerank-v3.5\"\n[budget]\nday = 0.005");
    let mut daemon = start(&place);
    for text in ["heron", "egrets"] {
        let answer = daemon.ask(&query(text));
        assert_eq!(warnings(&answer), "", "{answer:?}");
    }
    // Two dollars per thousand; the ledger is written behind the answer.
    eventually("the ledger says what it cost", || {
        let bought = daemon.bought();
        bought.micro_dollars == 4000 && bought.unsettled_calls == 0
    });
    // An assistant spends nothing.
    let answer = daemon.ask(&SearchRequest { audience: Audience::Assistant, ..query("lake") });
    assert!(!answer.hits.is_empty() && warnings(&answer).contains("assistants may not spend any"), "{answer:?}");
    assert_eq!(reranker.asked().len(), 2);
    let cost = daemon.cost();
    assert_eq!((cost.by_reason[0].reason.as_str(), cost.by_purpose[0].purpose.as_str()), ("rerank", "rerank"));
    assert_eq!(cost.by_model[0].model, "rerank-v3.5");
    let answer = daemon.ask(&query("lake"));
    assert!(warnings(&answer).contains("the budget of $0.005 a day is used up"), "{answer:?}");
    assert_eq!(reranker.asked().len(), 2);
    drop(daemon);
    let mut daemon = start(&place);
    assert_eq!(daemon.bought().micro_dollars, 4000, "the line can be read again");
}

#[test]
fn several_vaults_are_judged_together() {
    let reranker = Reranker::start("lagoon");
    let place = Place::with(&NOTES[..2]);
    let other = place.dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("c.md"), NOTES[2].1).unwrap();
    let second = format!("[[vault]]\nname = \"other\"\npath = {}\n", toml::Value::from(other.to_str().unwrap()));
    place.configure(&format!("{second}{}", reranker.config("voyage", "")));
    let mut daemon = start(&place);
    let hits = daemon.ask(&query("heron")).hits;
    assert_eq!((hits[0].vault.as_str(), hits.len()), ("other", 3), "{hits:?}");
    assert_eq!((reranker.asked().len(), reranker.asked()[0].documents().len()), (1, 3));
}

#[test]
fn many_texts_go_in_parts_where_the_server_wants_that() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "tei", "top = 50");
    for n in 0..60 {
        place.write(&format!("n{n}.md"), format!("# Note {n}\n\nA heron, number {n}.\n"));
    }
    let mut daemon = start(&place);
    let answer = daemon.ask(&SearchRequest { per_note: Some(1), limit: Some(60), ..query("heron") });
    assert_eq!(warnings(&answer), "");
    let mut sizes: Vec<usize> = reranker.asked().iter().map(|asked| asked.documents().len()).collect();
    sizes.sort_unstable();
    assert_eq!((sizes, answer.hits.len()), (vec![18, 32], 60));
}

#[test]
fn the_terminal_shows_both_orders() {
    let reranker = Reranker::start("lagoon");
    let place = configured(&reranker, "jina", "");
    let _daemon = start(&place);
    let said = |arguments: &[&str]| {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        out(&output)
    };
    let text = said(&["search", "heron", "--explain"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("reranked: no. 1 (0.550), before no. 3"), "{text}");
    assert!(!said(&["search", "heron", "--explain", "--no-rerank"]).contains("reranked"));
    assert_eq!(reranker.asked().len(), 1);
}
