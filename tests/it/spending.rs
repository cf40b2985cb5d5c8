//! What a user sees of contexts by a model at a terminal: what they cost, how they are, what a rebuild would
//! take, whether the provider answers. A real daemon, a real HTTP server.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::commands::{err, out};
use crate::contexts::{ATLAS, SMALL_CHUNKS, wait_written};
use crate::model::{Answer, Model};
use crate::support::{Daemon, Place, eventually};

const KEY: &str = "sk-test-key-of-nobody";

/// A vault of `notes` such notes; `more` goes into `[context]`, `after` behind it.
fn place(model: &Model, notes: usize, more: &str, after: &str) -> Place {
    let place = Place::new();
    for n in 0..notes {
        place.write(&format!("n{n}.md"), ATLAS.replace("Atlas", &format!("Atlas{n}")));
    }
    place.configure(&format!("{}{SMALL_CHUNKS}{after}", model.config("anthropic", more)));
    place
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", KEY).arg("run"));
    daemon.wait_idle();
    daemon
}

/// Runs a command with the key in its environment; standard output and standard error.
fn ran(place: &Place, arguments: &[&str], code: i32) -> (String, String) {
    let output: Output = place.command().env("ANTHROPIC_API_KEY", KEY).args(arguments).output().unwrap();
    let (said, talk) = (out(&output), err(&output));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{said}\n{talk}");
    for text in [&said, &talk] {
        assert!(!text.contains(KEY), "{arguments:?} prints the key");
        assert!(!text.contains('\u{1b}') && !text.contains("panicked"), "{arguments:?}: {text:?}");
    }
    (said, talk)
}

fn json_of(place: &Place, arguments: &[&str], code: i32) -> Value {
    let (said, _) = ran(place, &[arguments, &["--json"]].concat(), code);
    let value: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{said}"));
    assert_eq!(value["schema"], 1, "{value}");
    value
}

#[test]
fn cost_and_stats_say_what_was_bought() {
    let model = Model::start();
    let place = place(&model, 2, "", "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let cost = json_of(&place, &["cost"], 0);
    assert_eq!((&cost["this_month"]["calls"], &cost["this_month"]["contexts"]), (&json!(2), &json!(6)), "{cost}");
    assert_eq!(
        (cost["this_month"]["tokens_in"].as_u64().unwrap(), cost["this_month"]["tokens_out"].as_u64().unwrap()),
        model.tokens()
    );
    assert!(cost["this_month"]["micro_dollars"].as_u64().unwrap() > 0, "{cost}");
    assert_eq!(cost["by_note"].as_array().unwrap().len(), 2, "{cost}");
    let (said, _) = ran(&place, &["cost"], 0);
    for expected in [
        "Today       $0.",
        "2 calls, 6 contexts",
        "NewNote",
        "anthropic claude-haiku-5-5",
        "n0.md",
        "Last month  nothing",
    ] {
        assert!(said.contains(expected), "no {expected:?} in\n{said}");
    }
    let (said, _) = ran(&place, &["stats"], 0);
    for expected in ["6 (100.0 %)", "anthropic claude-haiku-5-5", "quality", "taken, asked for with the whole note"] {
        assert!(said.contains(expected), "no {expected:?} in\n{said}");
    }
    let (said, _) = ran(&place, &["status"], 0);
    assert!(said.contains("contexts  anthropic claude-haiku-5-5"), "{said}");
    assert!(said.contains("nothing leaves this machine"), "a server of this machine\n{said}");
}

#[test]
fn an_unknown_price_is_said_to_be_unknown_everywhere() {
    let model = Model::start();
    let place = Place::new();
    place.write("n.md", ATLAS);
    // A server of this machine is free; what it passes on is paid somewhere.
    let gateway = "model = \"nobody-knows-1\"\npasses_on = true";
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", gateway)));
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let (said, _) = ran(&place, &["cost"], 0);
    assert!(said.contains("price unknown, ") && !said.contains('$'), "{said}");
    let (said, _) = ran(&place, &["stats"], 0);
    assert!(said.contains("price unknown (3 contexts)") && !said.contains('$'), "{said}");
    let (_, talk) = ran(&place, &["rebuild", "--dry-run"], 0);
    assert!(talk.contains("price unknown: ") && !talk.contains('$'), "{talk}");
    let (said, _) = ran(&place, &["doctor", "--provider"], 0);
    assert!(said.contains("price unknown, ") && !said.contains('$'), "{said}");
}

#[test]
fn what_a_gateway_passes_on_counts_against_the_budget_of_tokens() {
    let model = Model::start();
    let place = Place::new();
    place.write("n.md", ATLAS);
    let gateway = "model = \"nobody-knows-1\"\npasses_on = true";
    let budget = "\n[budget]\nday_tokens = 10\n";
    place.configure(&format!("{}{SMALL_CHUNKS}{budget}", model.config("anthropic", gateway)));
    let mut daemon = start(&place);
    daemon.wait_for("the tokens do not suffice", |status| {
        let told = status.problems.concat();
        told.contains("`n.md` keeps its free contexts") && told.contains("more than `budget.day_tokens` allows (10)")
    });
    assert_eq!(model.calls(), 0);
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(not(has_terminal), ignore = "needs a terminal")]
fn a_question_says_what_a_yes_costs_with_quiet_too() {
    let model = Model::start();
    let place = place(&model, 3, "", "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let calls = model.calls();
    let mut command = place.command();
    command.args(["-q", "rebuild"]);
    let (asked, _) = crate::terminal::on_terminal(command, 100, "n\n");
    assert!(asked.contains("about $0.") && asked.contains("Go on? [y/N]"), "{asked}");
    assert_eq!(model.calls(), calls, "nothing is bought by asking");
}

#[test]
fn a_rebuild_says_what_it_takes_and_what_failed() {
    let model = Model::start();
    let place = place(&model, 3, "", "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let calls = model.calls();
    let (_, talk) = ran(&place, &["rebuild", "--dry-run"], 0);
    for expected in [
        "3 notes of all vaults",
        "anthropic claude-haiku-5-5 writes contexts for 9 chunks of 3 notes in 3 calls",
        "about $0.",
        "(prices of 20",
        "under a minute",
    ] {
        assert!(talk.contains(expected), "no {expected:?} in\n{talk}");
    }
    let (_, quiet) = ran(&place, &["-q", "rebuild", "--dry-run"], 0);
    assert_eq!(quiet, talk, "what is asked for is a result");
    let estimate = json_of(&place, &["rebuild", "--dry-run"], 0);
    assert_eq!(estimate["estimate"]["estimate"]["chunks"], 9, "{estimate}");
    let (_, talk) = ran(&place, &["rebuild"], 2);
    assert!(talk.contains("--yes"), "{talk}");
    assert_eq!(model.calls(), calls, "nothing is bought by asking");

    let (said, _) = ran(&place, &["rebuild", "n1.md", "--yes"], 0);
    assert!(said.starts_with("done: rebuild of n1.md") || said.starts_with("done: rebuild of notes/n1.md"), "{said}");
    assert!(said.contains("3 of 3 contexts written, $0."), "{said}");
    assert_eq!(model.calls(), calls + 1);

    model.always(Some(Answer::Text("I'm sorry, but I can't help with that.".into())));
    let (said, talk) = ran(&place, &["rebuild", "n2.md", "--yes"], 1);
    assert!(said.contains("0 of 3 contexts written") && said.contains("3 failed (declined by the model"), "{said}");
    assert!(talk.contains("failed n2.md: declined by the model, 3 times"), "{talk}");
    let (said, _) = ran(&place, &["jobs"], 0);
    assert!(said.contains("3/3 contexts"), "{said}");
    let (said, _) = ran(&place, &["status"], 0);
    assert!(said.contains("3 chunks got nothing usable from the model"), "{said}");
    model.always(None);
    let (_, talk) = ran(&place, &["sync", "--since", "24h"], 0);
    assert!(
        talk.contains("notes that changed in the last 24 hours") && talk.contains("within the day's budget"),
        "{talk}"
    );
    daemon.wait_for("the sync has mended it", |status| status.contexts.failed == 0 && status.contexts.waiting == 0);
}

#[test]
fn a_rebuild_over_its_budget_says_so() {
    let model = Model::start();
    let place = place(&model, 6, "concurrency = 1", "\n[budget]\nrebuild = 0.0006\n");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let (said, talk) = ran(&place, &["rebuild", "--yes"], 1);
    eprintln!("{said}--{talk}");
    assert!(said.starts_with("failed: rebuild of all vaults after ") && talk.contains("budget"), "{said}{talk}");
    assert!(said.contains("9 of 18 contexts written"), "{said}");
    let (said, _) = ran(&place, &["jobs"], 0);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("budget") && said.contains("9/18 contexts"), "{said}");
    // What is named buys the rest alone.
    let (status, _) = ran(&place, &["status"], 0);
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("`situated contexts start --replace` buys the rest"), "{said}");
    assert!(status.contains("9 contexts are older") && !status.contains("`situated rebuild`"), "{status}");
    let before = model.calls();
    ran(&place, &["contexts", "start", "--replace", "--yes"], 0);
    daemon.wait_for("the rest", |status| status.contexts.old_generation == 0 && status.contexts.waiting == 0);
    let wanted: usize = model.asked()[before..].iter().map(|asked| asked.wanted.len()).sum();
    assert_eq!(wanted, 9);
}

#[test]
fn another_model_is_told_with_what_it_would_cost() {
    let model = Model::start();
    let place = place(&model, 1, "", "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    daemon.stop();
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "model = \"claude-haiku-4-5\"")));
    let mut daemon = start(&place);
    daemon.wait_for("the old ones are counted", |status| status.contexts.old_generation == 3);
    let (said, _) = ran(&place, &["status"], 0);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("3 contexts are older than the model, the prompt or the last rebuild; new ones"), "{said}");
    assert!(said.contains("(prices of 20") && said.contains("`situated contexts start --replace`"), "{said}");
}

#[test]
fn a_review_shows_chunk_and_context() {
    let model = Model::start();
    let place = place(&model, 2, "", "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let (said, _) = ran(&place, &["contexts", "review", "--sample", "4"], 0);
    assert!(said.contains(" 4. ") && !said.contains(" 5. "), "{said}");
    assert!(said.contains("quality 0.") && said.contains("grounding") && said.contains("anthropic/"), "{said}");
    assert!(
        said.lines().any(|line| line.contains("## ") && line.contains(" │ ")),
        "a pipe is 100 columns wide\n{said}"
    );
    let (said, _) = ran(&place, &["contexts", "review", "--jsonl"], 0);
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6);
    assert!(lines.iter().all(|line| line["schema"] == 1 && line["scores"]["grounding"].is_number()), "{said}");
    let review = json_of(&place, &["contexts", "review", "--vault", "notes"], 0);
    assert_eq!(review["contexts"].as_array().unwrap().len(), 6);
}

#[test]
fn a_context_is_generated_for_any_text() {
    let model = Model::start();
    let place = place(&model, 0, "", "");
    place.write("other.md", "# Other\n\nnothing\n");
    let _daemon = start(&place);
    let (document, chunk) = (place.dir.path().join("document.md"), place.dir.path().join("chunk.md"));
    std::fs::write(&document, ATLAS).unwrap();
    std::fs::write(&chunk, ATLAS.split("## Risks").nth(1).unwrap().split("## Budget").next().unwrap()).unwrap();
    let arguments = ["generate", "--document", document.to_str().unwrap(), "--chunk", chunk.to_str().unwrap()];
    let (said, talk) = ran(&place, &arguments, 0);
    assert!(said.contains("Atlas rollout") && talk.contains("by anthropic/") && talk.contains('$'), "{said}{talk}");
    let made = json_of(&place, &arguments, 0);
    assert!(made["tokens"].as_u64() > Some(0) && made["micro_dollars"].as_u64() > Some(0), "{made}");
    let (said, _) = ran(&place, &["cost"], 0);
    assert!(said.contains("contexts that were asked for") && said.contains("(no note of a vault)"), "{said}");
}

#[test]
fn a_rebuild_that_is_followed_while_the_daemon_stops_is_said_to_go_on() {
    let model = Model::start();
    let place = place(&model, 3, "", "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    model.always(Some(Answer::Silence));
    let follower = place.command().args(["rebuild", "--yes"]).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the rebuild asks", || daemon.jobs().iter().any(|job| job.is_running() && job.contexts.is_some()));
    daemon.kill();
    let output = follower.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(75), "{}", err(&output));
    assert!(err(&output).contains("the rebuild of all vaults goes on when it starts again"), "{}", err(&output));
}

#[test]
fn the_doctor_says_what_it_found() {
    let model = Model::start();
    let place = place(&model, 1, "", "");
    model.captions(|_, _| {
        Some(
            "Spare parts for the green lantern of the Sandholm harbour: Mira ordered two lenses from the workshop in \
             Veddel for the repair on 14 May 2026."
                .to_owned(),
        )
    });
    let (said, _) = ran(&place, &["doctor", "--provider"], 0);
    for expected in [
        "the model answers",
        "claude-haiku-5-5",
        "(prices of 20",
        "(this machine)",
        "the variable ANTHROPIC_API_KEY, found",
        "tokens read",
        "verdict   quality ",
        "Spare parts",
        "nothing of yours was sent",
    ] {
        assert!(said.contains(expected), "no {expected:?} in\n{said}");
    }
    assert_eq!(model.calls(), 1, "one tiny call");
    assert!(!model.asked()[0].body.to_string().contains("Lisbon"), "nothing of the vault is sent");
    let report = json_of(&place, &["doctor", "--provider"], 0);
    assert!(report["ok"] == true && report["answer"]["taken"] == true, "{report}");
    assert_eq!(report["key"], json!({"place": "the variable ANTHROPIC_API_KEY", "found": true}));
    // Both calls are in the ledger that the daemon reads.
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let cost = json_of(&place, &["cost"], 0);
    let probes = cost["by_purpose"].as_array().unwrap().iter().find(|row| row["purpose"] == "probe").cloned();
    assert_eq!(probes.map(|row| row["calls"].clone()), Some(json!(2)), "{cost}");
    // While a daemon holds the ledger the doctor goes without it.
    let (said, _) = ran(&place, &["doctor", "--provider"], 0);
    assert!(said.contains("a daemon keeps it"), "{said}");
}

#[test]
fn the_doctor_asks_nothing_beyond_the_budget_of_the_day_also_beside_a_daemon() {
    let model = Model::start();
    let place = place(&model, 1, "", "");
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    let spent = daemon.bought().micro_dollars;
    let calls = model.calls();
    let config = std::fs::read_to_string(place.dir.path().join("config.toml")).unwrap();
    let budget = format!("\n[budget]\nday = 0.{spent:06}\n");
    std::fs::write(place.dir.path().join("config.toml"), format!("{config}{budget}")).unwrap();
    let (_, talk) = ran(&place, &["doctor", "--provider"], 75);
    assert!(talk.contains("nobody was asked") && talk.contains("spent or reserved"), "{talk}");
    assert_eq!(model.calls(), calls);
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_to_do() {
    let model = Model::start();
    let place = place(&model, 1, "deadline = \"2s\"\ntimeout = \"1s\"", "");
    let wrong = |status: u16, kind: &str| {
        let body = json!({"type": "error", "error": {"type": kind, "message": "no"}}).to_string();
        model.always(Some(Answer::Raw(status, body, vec![])));
    };
    wrong(401, "authentication_error");
    let (said, _) = ran(&place, &["doctor", "--provider"], 69);
    assert!(said.contains("no answer") && said.contains("context.key_file"), "{said}");
    let report = json_of(&place, &["doctor", "--provider"], 69);
    assert_eq!((&report["ok"], &report["failure"]["kind"]), (&json!(false), &json!("unauthorized")), "{report}");
    wrong(404, "not_found_error");
    let report = json_of(&place, &["doctor", "--provider"], 69);
    assert_eq!(report["failure"]["kind"], "unknown_model", "{report}");
    model.always(Some(Answer::Hangup));
    let (said, _) = ran(&place, &["doctor", "--provider"], 69);
    assert!(said.contains("context.base_url"), "{said}");
    model.always(Some(Answer::Text("I'm sorry, but I can't help with that.".into())));
    let (said, _) = ran(&place, &["doctor", "--provider"], 1);
    assert!(said.contains("cannot be used") && said.contains("rejected: declined by the model"), "{said}");

    place.configure(&format!("{}\n[budget]\nday = 0.0\n", model.config("anthropic", "")));
    let asked = model.calls();
    let (_, talk) = ran(&place, &["doctor", "--provider"], 75);
    assert!(talk.contains("nobody was asked") && talk.contains("budget"), "{talk}");
    assert_eq!(model.calls(), asked);
}
