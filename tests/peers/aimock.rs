//! `aimock`: four interfaces that give the same answers, and models that are no use.

use serde_json::{Value, json};

use crate::orchard::{CAPTIONS, KEY, LANTERN, came_to, captions, daemon, doctor, finished, held, place};
use crate::server::Aimock;

/// Words that only a question about the whole note holds, and those that only one about a passage does.
const WHOLE: &str = "passages:";
const PASSAGE: &str = "<passage";

/// An answer to questions that hold `words`.
fn says(words: &str, text: &str) -> Value {
    json!({
        "match": { "userMessage": words },
        "response": { "content": text, "usage": { "prompt_tokens": 900, "completion_tokens": 80, "total_tokens": 980 } },
    })
}

/// A refusal of the `nth` question that holds `words`.
fn refuses(words: &str, nth: usize, status: u16, kind: &str, message: &str) -> Value {
    json!({
        "match": { "userMessage": words, "sequenceIndex": nth },
        "response": { "error": { "type": kind, "message": message }, "status": status },
    })
}

fn good() -> Vec<Value> {
    vec![says("Veddel", LANTERN), says(WHOLE, &captions())]
}

fn start(fixtures: Vec<Value>) -> Aimock {
    Aimock::start(&Value::Array(fixtures))
}

fn paths(aimock: &Aimock) -> Vec<String> {
    aimock.journal().iter().map(|entry| entry["path"].as_str().unwrap_or("").to_owned()).collect()
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn every_interface_writes_the_contexts_of_a_note_in_one_call() {
    let table = [
        ("anthropic", "/v1/messages"),
        ("openai", "/v1/chat/completions"),
        ("bedrock", "/model/global.anthropic.claude-haiku-5-5/invoke"),
        ("ollama", "/api/chat"),
    ];
    for (provider, path) in table {
        let aimock = start(good());
        let place = place(provider, &aimock.0.url(), "");
        let report = doctor(&place);
        assert_eq!((&report["ok"], &report["answer"]["attempts"]), (&json!(true), &json!(1)), "{provider}: {report}");
        assert_eq!(report["leaves_machine"], false, "{provider}: {report}");

        let mut daemon = daemon(&place);
        let stats = finished(&mut daemon);
        assert_eq!((&stats["contextualized"], &stats["failed"]), (&json!(3), &json!(0)), "{provider}: {stats}");
        assert_eq!(stats["outcomes"], json!({"taken_note": 3}), "{provider}");
        assert_eq!(held(&mut daemon), CAPTIONS, "{provider}");
        assert_eq!(paths(&aimock), [path, path], "{provider}: one call of each");
        let journal = aimock.journal();
        let messages = &journal[1]["body"]["messages"];
        let shown = messages.to_string();
        assert!(shown.contains("⟦2⟧ ## Old trees") && shown.contains("committee"), "{provider}: {messages}");

        // A body edit buys nothing; the count is the server's.
        place.write("Orchard survey.md", crate::orchard::NOTE.replace("oldest row", "oldest row of them"));
        daemon.wait_holding("them", &["Orchard survey.md"]);
        finished(&mut daemon);
        assert_eq!(aimock.journal().len(), 2, "{provider}: asked for a body edit");
    }
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn one_call_for_each_chunk_shows_the_same_note_byte_by_byte() {
    for provider in ["anthropic", "openai", "bedrock", "ollama"] {
        let chunk = |n: usize| says(&format!("<passage n=\"{}\"", n + 1), CAPTIONS[n]);
        let aimock = start((0..3).map(chunk).collect());
        let place = place(provider, &aimock.0.url(), "form = \"chunk\"");
        let mut daemon = daemon(&place);
        assert_eq!(finished(&mut daemon)["outcomes"], json!({"taken_chunk": 3}), "{provider}");
        assert_eq!(held(&mut daemon), CAPTIONS, "{provider}");
        let mut prefixes: Vec<String> = aimock.journal().iter().map(|entry| prefix(&entry["body"])).collect();
        assert_eq!(prefixes.len(), 3, "{provider}");
        assert!(prefixes[0].ends_with("</note>") && prefixes[0].contains("Jonas Wirth"), "{provider}: {prefixes:?}");
        prefixes.dedup();
        assert_eq!(prefixes.len(), 1, "{provider}: a cache could not serve {prefixes:?}");
    }
}

/// All that is said up to the end of the note.
fn prefix(body: &Value) -> String {
    let mut said = String::new();
    for message in body["messages"].as_array().unwrap() {
        match &message["content"] {
            Value::String(text) => said.push_str(text),
            parts => parts.as_array().unwrap().iter().for_each(|part| said.push_str(part["text"].as_str().unwrap())),
        }
    }
    let end = said.find("</note>").unwrap_or_else(|| panic!("{said}"));
    said[..end + "</note>".len()].to_owned()
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn an_answer_that_stops_in_the_middle_is_cut_back_or_asked_for_again() {
    let cut = |words: &str, text: &str| {
        let mut fixture = says(words, text);
        fixture["response"]["finishReason"] = json!("length");
        fixture
    };
    // Captions that were closed before the end are whole.
    let whole = captions();
    let end = whole.find(CAPTIONS[2]).unwrap() + 20;
    let half = "The press house in the Orchard survey of Tesdorf that Jonas Wirth leads. Its list is for the commi";
    for provider in ["anthropic", "openai", "bedrock"] {
        let aimock = start(vec![cut(WHOLE, &whole[..end]), cut(PASSAGE, half)]);
        let place = place(provider, &aimock.0.url(), "");
        let mut daemon = daemon(&place);
        let stats = finished(&mut daemon);
        assert_eq!(stats["contextualized"], 3, "{provider}: {stats}");
        let held = held(&mut daemon);
        assert_eq!(held[..2], CAPTIONS[..2], "{provider}");
        assert!(held[2].ends_with("Jonas Wirth leads."), "{provider}: {held:?}");
        assert_eq!(aimock.journal().len(), 2, "{provider}");
    }
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn what_the_server_counted_is_what_the_ledger_says() {
    let aimock = start(good());
    let place = place("anthropic", &aimock.0.url(), "model = \"claude-haiku-4-5\"");
    let mut daemon = daemon(&place);
    finished(&mut daemon);
    let today = daemon.call("cost", json!({}))["today"].clone();
    assert_eq!((&today["tokens_in"], &today["tokens_out"]), (&json!(900), &json!(80)), "{today}");
    // A dollar for a million tokens in, five out.
    assert_eq!(today["micro_dollars"], 900 + 5 * 80, "{today}");
    let headers = aimock.journal()[0]["headers"].clone();
    assert_eq!(headers["anthropic-version"], "2023-06-01", "{headers}");
    let keys = ["x-api-key", "authorization"].iter().filter(|name| headers[**name].is_string()).count();
    assert_eq!(keys, 1, "the key goes in one header: {headers}");
    assert!(!headers.to_string().contains(KEY), "the server hides it");
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn a_busy_server_is_asked_again_when_it_says() {
    let mut busy = refuses(WHOLE, 0, 429, "rate_limit_error", "Number of request tokens has exceeded your limit");
    busy["response"]["retryAfter"] = json!(2);
    for provider in ["anthropic", "openai", "bedrock", "ollama"] {
        let aimock = start([vec![busy.clone()], good()].concat());
        let place = place(provider, &aimock.0.url(), "");
        let mut daemon = daemon(&place);
        let stats = finished(&mut daemon);
        assert_eq!(stats["outcomes"], json!({"taken_note": 3}), "{provider}");
        let journal = aimock.journal();
        let statuses: Vec<&Value> = journal.iter().map(|entry| &entry["response"]["status"]).collect();
        assert_eq!(statuses, [429, 200], "{provider}");
        let at = |n: usize| journal[n]["timestamp"].as_i64().unwrap();
        assert!(at(1) - at(0) >= 1_900, "{provider}: asked again after {} ms", at(1) - at(0));
    }
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn an_overloaded_server_is_left_alone_until_somebody_says_it_works() {
    let overloaded = (0..4).map(|nth| refuses(WHOLE, nth, 529, "overloaded_error", "Overloaded"));
    let aimock = start(overloaded.chain(good()).collect());
    let place = place("anthropic", &aimock.0.url(), "");
    let mut daemon = daemon(&place);
    let stats = came_to(&mut daemon, "failed_unavailable");
    assert_eq!(stats["outcomes"], json!({"failed_unavailable": 1}));
    assert_eq!(aimock.journal().len(), 4, "the attempts of a call");
    let status = daemon.wait_for("waiting", |status| status.contexts.waiting == 3);
    assert_eq!(status.contexts.failed, 0, "an overload says nothing about the chunks: {status:?}");
    assert_eq!(daemon.holding("canker"), ["Orchard survey.md"], "the free context serves");
    daemon.call("resume", json!({}));
    assert_eq!(finished(&mut daemon)["contextualized"], 3);
    assert_eq!(aimock.journal().len(), 5);
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn broken_answers_are_asked_for_again() {
    let chaos = |nth: usize, field: &str| {
        let mut fixture = says(WHOLE, &captions());
        fixture["match"]["sequenceIndex"] = json!(nth);
        fixture["chaos"] = json!({ field: 1.0 });
        fixture
    };
    let broken = [chaos(0, "malformedRate"), chaos(1, "disconnectRate"), chaos(2, "dropRate")];
    let aimock = start([broken.to_vec(), good()].concat());
    let place = place("anthropic", &aimock.0.url(), "");
    let mut daemon = daemon(&place);
    let stats = finished(&mut daemon);
    assert_eq!((&stats["contextualized"], &stats["outcomes"]), (&json!(3), &json!({"taken_note": 3})));
    assert_eq!(aimock.journal().len(), 4);
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn a_model_that_declines_is_asked_in_every_form_and_then_the_template_stays() {
    let sorry = "I'm sorry, but I can't help with that.";
    let aimock = start(vec![says(WHOLE, sorry), says(PASSAGE, sorry), says("", sorry)]);
    let place = place("anthropic", &aimock.0.url(), "");
    let mut daemon = daemon(&place);
    let stats = finished(&mut daemon);
    assert_eq!((&stats["contextualized"], &stats["failed"]), (&json!(0), &json!(3)), "{stats}");
    assert_eq!(stats["outcomes"]["fell_back_to_template"], 3, "{stats}");
    // The whole note once, then each passage with the note, then each without it.
    assert_eq!(aimock.journal().len(), 1 + 3 + 3);
    assert_eq!(daemon.holding("canker"), ["Orchard survey.md"]);
    let report = doctor(&place);
    assert_eq!((&report["ok"], &report["answer"]["flaw"]), (&json!(false), &json!("refusal")), "{report}");
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn captions_that_the_note_does_not_bear_out_are_rejected_one_by_one() {
    let invented = captions().replace(CAPTIONS[1], "The rocket engine of the Ariel probe, tested in Woomera in 1987.");
    // Asked for alone, that passage gets what it should have had.
    let aimock = start(vec![says(WHOLE, &invented), says(PASSAGE, CAPTIONS[1])]);
    let place = place("openai", &aimock.0.url(), "");
    let mut daemon = daemon(&place);
    let stats = finished(&mut daemon);
    assert_eq!(stats["outcomes"]["taken_note"], 2, "{stats}");
    assert_eq!(stats["outcomes"]["taken_chunk"], 1, "{stats}");
    assert_eq!(held(&mut daemon), CAPTIONS);
    assert_eq!(aimock.journal().len(), 2, "only the one that was rejected is asked for again");
}

#[test]
#[ignore = "needs servers that .ci/peers installs"]
fn a_note_that_is_too_long_for_the_model_is_asked_about_with_less() {
    let long = "prompt is too long: 210000 tokens > 200000 maximum";
    let too_long = (0..2).map(|nth| refuses(WHOLE, nth, 400, "invalid_request_error", long));
    let aimock = start(too_long.chain([says("Old trees\"", CAPTIONS[1]), says(PASSAGE, CAPTIONS[2])]).collect());
    let place = place("anthropic", &aimock.0.url(), "");
    let mut daemon = daemon(&place);
    let stats = finished(&mut daemon);
    assert_eq!(stats["outcomes"]["failed_too_long"], 2, "{stats}");
    assert!(stats["outcomes"]["taken_simple"].as_u64().is_some_and(|taken| taken >= 2), "{stats}");
    // Twice with the note, then each passage without it, and no attempt is repeated.
    let whole = aimock.journal().iter().filter(|entry| entry["response"]["status"] == 400).count();
    assert_eq!(whole, 2);
}
