use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::decide::Task;
use crate::testing::{Bench, Say, key_of, path, report};
use context::ContextRecord;
use context::settings::Provider;
use provider::simulation::What;
use serde_json::{Value, json};
use store::record::NoteRecord;

const SECOND: Duration = Duration::from_secs(1);

const RUN: u64 = 7;

fn bench() -> Bench {
    Bench::new(|settings| settings.context.provider = Provider::Anthropic)
}

/// A batch that the writer has: its control, and what it has told.
struct Handed {
    control: watch::Sender<Control>,
    told: Arc<Mutex<Vec<BatchEvent>>>,
}

/// Hands in what a note's first chunk waits for.
fn hand(bench: &Bench, record: &NoteRecord) -> Handed {
    hand_within(bench, record, u64::MAX)
}

/// The same, with a budget in micro-dollars.
fn hand_within(bench: &Bench, record: &NoteRecord, budget: u64) -> Handed {
    let (control, controlled) = watch::channel(Control::Go);
    let told: Arc<Mutex<Vec<BatchEvent>>> = Arc::default();
    let heard = told.clone();
    let pending = vec![(key_of(&record.chunks[0]), record.chunks[0].due.unwrap())];
    bench.shared.runtime("").writer.as_ref().unwrap().batch(BatchJob {
        dir: bench.settings.data_dir.join("v"),
        run: RUN,
        vault: bench.vault.clone(),
        pipeline: bench.pipeline(),
        wanted: vec![(record.path.clone(), pending)],
        rebuild: (budget, u64::MAX),
        control: controlled,
        tell: Arc::new(move |event| heard.lock().push(event)),
    });
    Handed { control, told }
}

fn status(stage: &str) -> Value {
    status_of("msgbatch_1", stage)
}

fn status_of(id: &str, stage: &str) -> Value {
    json!({
        "id": id, "processing_status": stage, "request_counts": { "processing": 1 },
        "created_at": machine::timestamp().to_string(), "results_url": "http://elsewhere.invalid",
    })
}

fn say(body: &Value) -> (Duration, Say) {
    (Duration::ZERO, Say::This(What::Reply(200, Vec::new(), body.to_string().into_bytes())))
}

const WORDS: &str =
    "Yearly report: why the rollout in Lisbon slipped, and who renegotiates the contract with Northwind.";

/// The answer to what [`hand`] hands in.
fn result(bench: &Bench, record: &NoteRecord) -> Value {
    let id = Files::new(&bench.settings.data_dir.join("v"), RUN).id(&record.path, 0);
    let message = json!({
        "content": [{ "type": "text", "text": WORDS }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 50, "output_tokens": 9 },
    });
    json!({ "custom_id": id, "result": { "type": "succeeded", "message": message } })
}

#[test]
fn an_answer_is_kept_though_another_came_meanwhile() {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    let result = result(&bench, &record);
    bench.answer([say(&status("in_progress")), say(&status("in_progress")), say(&status("ended")), say(&result)]);
    bench.drive(SECOND / 2);
    // Its text was another for a while, and was asked about alone when it was back.
    let (key, store) = (key_of(&record.chunks[0]), bench.pipeline().store.clone());
    bench.keep(&record, &record.chunks[0]);
    bench.drive(10 * SECOND);
    assert_eq!(store.archived(key).unwrap().unwrap().text, WORDS);
    assert!(matches!(handed.told.lock().last(), Some(BatchEvent::End(End::Done))));
}

#[test]
fn requests_that_come_back_without_an_answer_are_counted() {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    let expired = json!({ "custom_id": result(&bench, &record)["custom_id"], "result": { "type": "expired" } });
    bench.answer([say(&status("in_progress")), say(&status("ended")), say(&expired)]);
    bench.drive(10 * SECOND);
    let told = handed.told.lock();
    let Some(BatchEvent::End(End::Unanswered(why))) = told.last() else { panic!("{told:?}") };
    assert!(why.contains("1 of 1 requests"), "{why}");
    assert_eq!(bench.reserved(), 0);
}

#[test]
fn an_answer_that_a_former_process_kept_is_kept_for_the_edited_text_as_it_was_then() {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    let result = result(&bench, &record);
    bench.answer([say(&status("in_progress")), say(&status("in_progress")), say(&status("ended")), say(&result)]);
    bench.drive(SECOND / 2);
    let edited = bench.save("a.md", &report(2).replacen("every clause", "each clause", 1));
    let (before, after) = (key_of(&record.chunks[0]), key_of(&edited.chunks[0]));
    assert_ne!(before, after);
    let store = bench.pipeline().store.clone();
    let first = ContextRecord { text: WORDS.to_owned(), ..bench.context_for(&record, &record.chunks[0]) };
    store.keep_context_of(&record.path, &record.tags, before, &first).unwrap();
    bench.drive(10 * SECOND);
    assert!(matches!(handed.told.lock().last(), Some(BatchEvent::End(End::Done))));
    assert_eq!(store.archived(after).unwrap(), Some(first));
}

#[test]
fn a_batch_that_may_be_somebody_elses_is_not_cancelled() {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    let listed = json!({ "data": [status("in_progress")], "has_more": false });
    bench.answer([(Duration::ZERO, Say::This(What::Reset)), say(&listed)]);
    bench.answer((0..100).map(|_| say(&status("in_progress"))));
    bench.drive(5 * SECOND);
    handed.control.send(Control::Cancel).unwrap();
    bench.drive(60 * SECOND);
    assert!(!handed.told.lock().iter().any(|event| matches!(event, BatchEvent::End(_))));
    let asked = bench.model.asked();
    assert!(asked.len() > 4 && !asked.iter().any(|url| url.ends_with("/cancel")), "{asked:?}");
}

#[test]
fn an_answer_is_for_the_note_that_was_asked_about_wherever_that_is_now() {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    let result = result(&bench, &record);
    bench.answer([say(&status("in_progress")), say(&status("in_progress")), say(&status("ended")), say(&result)]);
    bench.drive(SECOND / 2);
    let (key, pipeline) = (key_of(&record.chunks[0]), bench.pipeline());
    std::fs::rename(pipeline.root.join("a.md"), pipeline.root.join("b.md")).unwrap();
    bench.decide(&Task { moved_from: Some(path("a.md")), ..Task::again(path("b.md")) });
    // Another note takes its place.
    bench.save("a.md", &report(3).replace("rollout", "launch"));
    bench.drive(10 * SECOND);
    let told = handed.told.lock();
    let of = |event: &BatchEvent| match event {
        BatchEvent::Note(path, ContextEvent::Written) => Some(path.to_string()),
        _ => None,
    };
    assert_eq!(told.iter().filter_map(of).collect::<Vec<_>>(), ["b.md"]);
    let moved = pipeline.store.note(&path("b.md")).unwrap().unwrap();
    let generation = pipeline.contextualizer(moved.kind.as_deref());
    let written = pipeline.written_by(pipeline.claimant(&moved), key, &generation).unwrap();
    assert_eq!(written.map(|context| context.text).as_deref(), Some(WORDS));
}

#[test]
fn a_batch_that_was_found_and_is_gone_may_have_been_somebody_elses() {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    let list = |ids: &[&str]| {
        let data: Vec<Value> = ids.iter().map(|id| status_of(id, "ended")).collect();
        say(&json!({ "data": data, "has_more": false }))
    };
    let gone = || {
        let body = json!({ "type": "error", "error": { "type": "not_found_error", "message": "no" } });
        (Duration::ZERO, Say::This(What::Reply(404, Vec::new(), body.to_string().into_bytes())))
    };
    let foreign = json!({ "custom_id": "other", "result": { "type": "expired" } });
    // Three of its size: one that is gone, somebody else's, and it.
    bench.answer([(Duration::ZERO, Say::This(What::Reset)), list(&["msgbatch_1", "msgbatch_2", "msgbatch_3"]), gone()]);
    bench.answer([list(&["msgbatch_1", "msgbatch_2", "msgbatch_3"]), say(&status_of("msgbatch_2", "ended"))]);
    bench.answer([say(&foreign), list(&["msgbatch_1", "msgbatch_2", "msgbatch_3"])]);
    bench.answer([say(&status_of("msgbatch_3", "ended")), say(&result(&bench, &record))]);
    bench.drive(60 * SECOND);
    let (key, store) = (key_of(&record.chunks[0]), bench.pipeline().store.clone());
    let asked = bench.model.asked();
    assert_eq!(store.archived(key).unwrap().map(|context| context.text).as_deref(), Some(WORDS), "{asked:?}");
    assert!(matches!(handed.told.lock().last(), Some(BatchEvent::End(End::Done))), "{asked:?}");
}

#[test]
fn a_batch_of_which_nobody_knows_whether_it_arrived_is_not_handed_in_again() {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    let body = json!({ "type": "error", "error": { "type": "not_found_error", "message": "no" } });
    let gone = (Duration::ZERO, Say::This(What::Reply(404, Vec::new(), body.to_string().into_bytes())));
    let list = |data: &[Value]| say(&json!({ "data": data, "has_more": false }));
    bench.answer([(Duration::ZERO, Say::This(What::Reset)), list(&[status("in_progress")]), gone]);
    bench.answer((0..5).map(|_| list(&[])));
    bench.drive(60 * SECOND);
    assert!(matches!(handed.told.lock().last(), Some(BatchEvent::End(End::OneByOne(_)))));
    let asked = bench.model.asked();
    assert_eq!(asked.iter().filter(|url| url.ends_with("/batches")).count(), 1, "{asked:?}");
}

/// What happens to a batch whenever it is handed in, whereupon the provider lists none.
fn never_found(hand_in: &What) -> (Bench, Handed) {
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    let handed = hand(&bench, &record);
    for looks in [5, 10, 20, 40] {
        bench.answer([(Duration::ZERO, Say::This(hand_in.clone()))]);
        bench.answer((0..looks).map(|_| say(&json!({ "data": [], "has_more": false }))));
    }
    (bench, handed)
}

#[test]
fn each_time_that_a_batch_may_have_arrived_counts_as_bought_and_there_are_few() {
    let cases = [
        What::Reset,
        What::Cut,
        What::Reply(504, Vec::new(), Vec::new()),
        What::Reply(200, Vec::new(), b"{\"id\":\"msgbatch_1\"}".to_vec()),
    ];
    for case in cases {
        let (bench, handed) = never_found(&case);
        bench.drive(SECOND);
        let spent = || bench.shared.spender.ledger().spent_by_rebuild("v", RUN).micro_dollars;
        let once = spent();
        bench.drive(3600 * SECOND);
        let asked = bench.model.asked();
        assert_eq!(asked.iter().filter(|url| url.ends_with("/batches")).count(), 3, "{case:?}: {asked:?}");
        assert_eq!((spent(), bench.reserved()), (3 * once, 0), "{case:?}");
        assert!(once > 0 && matches!(handed.told.lock().last(), Some(BatchEvent::End(End::OneByOne(_)))), "{case:?}");
        let is_told = |event: &BatchEvent| matches!(event, BatchEvent::Phase(phase) if phase.contains("looked for:"));
        assert!(handed.told.lock().iter().any(is_told), "{case:?}");
    }
}

#[test]
fn a_batch_that_may_have_arrived_counts_as_bought_when_it_is_given_up() {
    let (bench, handed) = never_found(&What::Reset);
    bench.drive(SECOND);
    let once = bench.shared.spender.ledger().spent_by_rebuild("v", RUN).micro_dollars;
    handed.control.send(Control::Cancel).unwrap();
    bench.drive(600 * SECOND);
    assert_eq!(bench.shared.spender.ledger().spent_by_rebuild("v", RUN).micro_dollars, once);
    assert!(once > 0 && bench.reserved() == 0);
}

#[test]
fn a_batch_is_not_handed_in_again_beyond_the_budget() {
    let once = {
        let (bench, _handed) = never_found(&What::Reset);
        bench.drive(SECOND);
        bench.shared.spender.ledger().spent_by_rebuild("v", RUN).micro_dollars
    };
    let bench = bench();
    let record = bench.save("a.md", &report(2));
    bench.answer([(Duration::ZERO, Say::This(What::Reset))]);
    bench.answer((0..5).map(|_| say(&json!({ "data": [], "has_more": false }))));
    let handed = hand_within(&bench, &record, 2 * once - 1);
    bench.drive(600 * SECOND);
    let asked = bench.model.asked();
    assert_eq!(asked.iter().filter(|url| url.ends_with("/batches")).count(), 1, "{asked:?}");
    assert!(matches!(handed.told.lock().last(), Some(BatchEvent::End(End::OneByOne(_)))));
}
