//! What a long note costs when it is asked about passage by passage and something stops the asking midway: a budget,
//! a kill, a key that is refused. Whatever it is, no answer is paid for twice, and the ledger holds the calls that
//! were sent and no others.

use std::time::{Duration, Instant};

use protocol::contexts::StatsRequest;
use protocol::status::RunState;
use serde_json::json;

use crate::contexts::{SMALL_CHUNKS, wait_written};
use crate::model::{Answer, Model};
use crate::support::{Daemon, PATIENCE, Place, eventually};

/// Words for numbers, of letters alone: captions with numbers would have to quote the note's.
fn word(n: usize) -> String {
    const SYLLABLES: [&str; 12] = ["ba", "ne", "ti", "lo", "mu", "ka", "re", "si", "do", "vu", "pa", "ze"];
    let at = |n: usize| SYLLABLES[n % SYLLABLES.len()];
    format!("Mar{}{}{}", at(n), at(n / 12), at(n / 7))
}

/// A section of its own words.
fn section(n: usize) -> String {
    let (place, owner, vendor) = (word(n), word(n + 200), word(n + 400));
    format!(
        "## The {place} rollout\n\nThe rollout in {place} slipped because the contract with {vendor} was late, and \
         {owner} renegotiates every clause of it with their lawyers before anything else is signed.\n\n"
    )
}

/// A note whose every section is a chunk of its own.
fn long_note(sections: usize) -> String {
    format!("# Yearly report\n\n{}", (0..sections).map(section).collect::<String>())
}

/// A model whose every answer about such a note can be used.
fn good_model() -> Model {
    let model = Model::start();
    model.captions(|_, passage| {
        let between = |from: &str, to: &str| Some(passage.split_once(from)?.1.split_once(to)?.0.to_owned());
        let (place, vendor) = (between("rollout in ", " slipped")?, between("contract with ", " was late")?);
        Some(format!(
            "Yearly report: why the rollout in {place} slipped, and who renegotiates the late contract with {vendor}."
        ))
    });
    model
}

/// A vault of one such note, asked about passage by passage with these millionths of a dollar a day.
fn configure(place: &Place, model: &Model, micro_dollars: u64) {
    let budget = format!("\n[budget]\nday = {}.{:06}\n", micro_dollars / 1_000_000, micro_dollars % 1_000_000);
    let context = model.config("anthropic", "form = \"chunk\"\nconcurrency = 8");
    place.configure(&format!("{context}{SMALL_CHUNKS}{budget}"));
}

fn start(place: &Place) -> Daemon {
    let mut daemon = place.spawn_command(place.command().env("ANTHROPIC_API_KEY", "sk-test-key").arg("run"));
    daemon.wait_idle();
    daemon
}

/// Waits until the budget stops the asking, or all is written, and what was answered is served.
fn wait_stopped(daemon: &mut Daemon, model: &Model) {
    daemon.wait_for("the budget is used up or all is written", |status| {
        status.state != RunState::Starting && (status.contexts.held.is_some() || status.contexts.waiting == 0)
    });
    wait_served(daemon, model);
}

/// Waits until every answer is a context that the daemon serves, and none is under way: between two answers of calls that
/// were made together the first is served too.
fn wait_served(daemon: &mut Daemon, model: &Model) {
    let until = Instant::now() + PATIENCE;
    while daemon.bought().unsettled_calls > 0 || daemon.contextualized() != model.answered() {
        let stats = daemon.ask(&StatsRequest::default());
        assert!(Instant::now() < until, "{} answers: {stats:?}", model.answered());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Says what is wrong with the ledger at rest: it must hold the calls that were sent, all of them settled. A call is settled
/// a moment after its answer was sent.
fn assert_books_are_true(daemon: &mut Daemon, model: &Model) {
    eventually("every call is settled", || daemon.bought().unsettled_calls == 0);
    let bought = daemon.bought();
    assert_eq!(bought.calls, model.calls() as u64, "the ledger's calls are those that were sent: {bought:?}");
}

#[test]
fn a_budget_that_runs_out_inside_a_long_note_keeps_every_answer() {
    let model = good_model();
    // So that several calls are under way when the budget refuses one.
    model.latency(Duration::from_millis(20));
    let place = Place::with(&[("report.md", &long_note(120))]);
    let budget = 40_000;
    configure(&place, &model, budget);
    let mut daemon = start(&place);
    wait_stopped(&mut daemon, &model);
    let calls = model.calls();
    assert!((2..120).contains(&calls), "the budget is meant to end inside the note: {calls} calls");
    assert_eq!(calls as u64, model.answered());
    assert_books_are_true(&mut daemon, &model);
    let spent = daemon.bought().micro_dollars;
    assert!(spent <= budget, "{spent}");
    // No call more fits: what is left of the budget is less than one call may take.
    assert!(spent > budget / 2, "{spent} of {budget}");

    daemon.kill();
    configure(&place, &model, 100 * budget);
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert_eq!((daemon.contextualized(), model.calls()), (120, 120), "nothing is asked twice");
    assert_books_are_true(&mut daemon, &model);
}

#[test]
fn twelve_small_budgets_buy_what_one_large_one_buys() {
    let model = good_model();
    model.latency(Duration::from_millis(20));
    let place = Place::with(&[("report.md", &long_note(60))]);
    let step = 1_100;
    for round in 1..12 {
        configure(&place, &model, round * step);
        let mut daemon = start(&place);
        wait_stopped(&mut daemon, &model);
        assert_books_are_true(&mut daemon, &model);
        daemon.kill();
    }
    let small = model.calls();
    assert!((12..60).contains(&small), "the small budgets are meant to buy some and not all: {small} calls");
    configure(&place, &model, 1000 * step);
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert_eq!((daemon.contextualized(), model.calls()), (60, 60));
    assert_books_are_true(&mut daemon, &model);
}

#[test]
fn a_kill_in_the_middle_of_a_long_note_costs_the_calls_in_flight() {
    const AT_ONCE: usize = 8;
    const ANSWERS: usize = 6;
    let model = good_model();
    // After a few answers none comes before the kill.
    model.always(Some(Answer::Silence));
    let place = Place::with(&[("report.md", &long_note(60))]);
    configure(&place, &model, 50_000_000);
    for round in 1..=3 {
        model.script(vec![Answer::Good; ANSWERS]);
        let mut daemon = start(&place);
        eventually("some answers are kept, and others awaited", || {
            daemon.contextualized() as usize == round * ANSWERS && model.calls() > round * ANSWERS
        });
        daemon.kill();
    }
    model.always(None);
    let mut daemon = start(&place);
    wait_written(&mut daemon);
    assert_eq!(daemon.contextualized(), 60);
    assert!(model.calls() <= 60 + 3 * AT_ONCE, "{} calls", model.calls());
    let bought = daemon.bought();
    // What was killed between its reservation and its first byte is counted too: it may have been sent.
    let counted = bought.calls as usize;
    assert!(
        (model.calls()..=model.calls() + 3 * AT_ONCE).contains(&counted),
        "{counted} of {}: {bought:?}",
        model.calls()
    );
    assert_eq!(bought.unsettled_calls, 0, "{bought:?}");
}

#[test]
fn a_refused_key_in_the_middle_of_a_long_note_keeps_every_answer() {
    let model = good_model();
    model.latency(Duration::from_millis(40));
    let refusal = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    let good = |n| vec![Answer::Good; n];
    model.script([good(9), vec![Answer::Raw(401, refusal.to_string(), vec![])]].concat());
    let place = Place::with(&[("report.md", &long_note(30))]);
    configure(&place, &model, 50_000_000);
    let mut daemon = start(&place);
    daemon.wait_for("the queue has stopped", |status| !status.problems.is_empty());
    wait_served(&mut daemon, &model);
    let (calls, answered) = (model.calls() as u64, model.answered());
    assert_eq!(calls, answered + 1, "only the refused call has no answer");
    assert!((9..30).contains(&answered), "{answered} answers");
    daemon.resume();
    wait_written(&mut daemon);
    assert_eq!((daemon.contextualized(), model.calls()), (30, 31), "the refused passage alone is asked again");
    let bought = daemon.bought();
    assert_eq!((bought.unsettled_calls, bought.calls), (0, 30), "a refusal costs nothing: {bought:?}");
}

#[test]
fn a_model_that_writes_nothing_usable_is_left_alone() {
    let model = good_model();
    model.always(Some(Answer::Text(String::new())));
    let place = Place::with(&[("report.md", &long_note(60))]);
    configure(&place, &model, 50_000_000);
    let mut daemon = start(&place);
    // The problem is told by the writer, and why passages wait by the vault, a moment later.
    let status = daemon.wait_for("the user is told", |status| {
        status.problems.concat().contains("could be used") && status.contexts.held.is_some()
    });
    let held = status.contexts.held.as_ref().unwrap();
    assert!(held.contains("situated stats") && held.contains("asked again at"), "{status:?}");
    // As many answers as it takes to say so, and those that were under way.
    let calls = model.calls();
    assert!((12..12 + 2 * 8).contains(&calls), "{calls} calls");
    eventually("what was under way is answered", || model.answered() as usize == model.calls());
    assert_books_are_true(&mut daemon, &model);
    assert_eq!(daemon.bought().contexts, 0, "none was made");
    model.always(None);
    daemon.resume();
    wait_written(&mut daemon);
    assert_eq!((daemon.contextualized(), daemon.bought().contexts), (60, 60));
}

#[test]
fn a_provider_that_refuses_every_question_is_left_alone_and_status_says_what_it_said() {
    let model = good_model();
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    model.always(Some(Answer::Raw(400, refusal.to_string(), Vec::new())));
    let notes: Vec<(String, String)> =
        (0..60).map(|n| (format!("{n}.md"), format!("# Yearly report\n\n{}{}", section(n), section(n + 60)))).collect();
    let place = Place::with(&notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    place.configure(&format!("{}{SMALL_CHUNKS}", model.config("anthropic", "concurrency = 2")));
    let mut daemon = start(&place);
    daemon.wait_for("the user is told", |status| {
        let told = status.problems.concat();
        told.contains("the provider refused the last questions") && told.contains("(400 invalid_request_error)")
    });
    let calls = model.calls();
    assert!((12..40).contains(&calls), "{calls} calls");
    model.always(None);
    daemon.resume();
    wait_written(&mut daemon);
    let written = daemon.contextualized() as usize;
    assert!(written > 100, "{written} of 120");
}

#[test]
fn a_model_that_writes_nothing_usable_is_shown_a_handful_of_notes() {
    let model = good_model();
    model.always(Some(Answer::Text(String::new())));
    let notes: Vec<(String, String)> =
        (0..60).map(|n| (format!("{n}.md"), format!("# Yearly report\n\n{}{}", section(n), section(n + 60)))).collect();
    let place = Place::with(&notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let context = model.config("anthropic", "form = \"chunk\"\nconcurrency = 2");
    place.configure(&format!("{context}{SMALL_CHUNKS}"));
    let mut daemon = start(&place);
    daemon.wait_for("the user is told", |status| status.problems.concat().contains("could be used"));
    eventually("what was under way is answered", || model.answered() as usize == model.calls());
    // Twelve answers, and what was under way beside the last of them.
    let calls = model.calls();
    assert!((12..=13).contains(&calls), "{calls} calls");
    assert_books_are_true(&mut daemon, &model);
    // It is well again: one note is tried, and then all of them.
    model.always(None);
    daemon.resume();
    wait_written(&mut daemon);
    // Three answers that could not be used are the end of a passage's tries for the day.
    let written = daemon.contextualized() as usize;
    assert!((120 - calls / 3..=120).contains(&written), "{written} of 120");
}

#[test]
fn a_provider_that_wants_to_be_left_alone_for_ever_is_asked_again_within_the_hour_and_status_says_when() {
    let model = good_model();
    let busy = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "later"}}).to_string();
    let later = vec![("retry-after", "1000000000000".to_owned())];
    model.script([Answer::Raw(429, busy, later)]);
    let place = Place::with(&[("report.md", &long_note(2))]);
    configure(&place, &model, 50_000_000);
    let mut daemon = start(&place);
    let status = daemon.wait_for("the user is told", |status| status.problems.concat().contains("asked again at"));
    assert!(status.problems.concat().contains("left alone"), "{status:?}");
    let calls = model.calls();
    daemon.resume();
    wait_written(&mut daemon);
    assert!(model.calls() > calls, "the user's word ends the wait");
}
