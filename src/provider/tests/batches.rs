//! Message Batches.

use super::*;
use crate::testing::{How, Seen};
use crate::{BatchState, Batches, FailureKind, Finish, Health, SubmittedBatch};

fn batches(server: &FaultyServer) -> (CompletionClient, Batches) {
    let client = client_with(server, |config| config.provider = Provider::Anthropic);
    let batches = client.batches().unwrap();
    (client, batches)
}

fn requests() -> Vec<(String, Prompt)> {
    ["one", "two", "three", "four"].map(|id| (id.to_owned(), prompt())).into()
}

fn status(id: &str, stage: &str, created_at: &str, has_results: bool) -> serde_json::Value {
    json!({
        "id": id,
        "type": "message_batch",
        "processing_status": stage,
        "request_counts": { "processing": 1, "succeeded": 2, "errored": 0, "canceled": 0, "expired": 0 },
        "created_at": created_at,
        "results_url": has_results.then_some("https://elsewhere.example/results"),
    })
}

fn state(stage: &str, has_results: bool) -> Answer {
    Answer::new(200, status("msgbatch_1", stage, "2026-11-20T10:00:00Z", has_results).to_string())
}

fn succeeded(id: &str, text: &str) -> String {
    let message = json!({
        "type": "message", "role": "assistant", "model": "model-1", "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": text }],
        "usage": { "input_tokens": 50, "output_tokens": 7 },
    });
    json!({ "custom_id": id, "result": { "type": "succeeded", "message": message } }).to_string()
}

fn ended(id: &str, how: &str) -> String {
    json!({ "custom_id": id, "result": { "type": how } }).to_string()
}

fn paths(seen: &[Seen]) -> Vec<String> {
    seen.iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
}

#[tokio::test(start_paused = true)]
async fn from_handing_in_to_results() {
    let refused = json!({ "custom_id": "four", "result": { "type": "errored", "error": {
        "type": "error", "error": { "type": "request_too_large", "message": "too large" } } } });
    let lines = [ended("three", "expired"), succeeded("two", "Two."), succeeded("one", "One."), refused.to_string()];
    let results = Answer::new(200, lines.join("\n")).header("content-type", "application/x-jsonl");
    let server = FaultyServer::script(vec![
        state("in_progress", false),
        error(529),
        state("in_progress", false),
        state("ended", true),
        results,
        Answer::new(200, status("msgbatch_1", "canceling", "2026-11-20T10:00:00Z", false).to_string()),
    ]);
    let (client, batches) = batches(&server);
    let requests = requests();
    hurried(async {
        let id = batches.submit(&requests, async || true).await.unwrap();
        assert_eq!(id, "msgbatch_1");
        assert_eq!(batches.poll(&id).await.unwrap(), BatchState::InProgress);
        assert_eq!(batches.poll(&id).await.unwrap(), BatchState::Ended);
        let mut results = batches.results(&id, &requests).await.unwrap();
        results.sort_by(|(one, _), (other, _)| one.cmp(other));
        let said: Vec<_> = results
            .iter()
            .map(|(id, outcome)| (id.as_str(), outcome.as_ref().map(|c| c.text.as_str()).map_err(|f| f.kind)))
            .collect();
        assert_eq!(
            said,
            [
                ("four", Err(FailureKind::TooLong)),
                ("one", Ok("One.")),
                ("three", Err(FailureKind::Unavailable)),
                ("two", Ok("Two.")),
            ]
        );
        let one = results[1].1.as_ref().unwrap();
        assert_eq!((one.finish, one.usage.input, one.usage.output), (Finish::Stop, 50, 7));
        batches.cancel(&id).await.unwrap();
    })
    .await;
    assert_eq!(
        paths(&server.seen()),
        [
            "POST /v1/messages/batches",
            "GET /v1/messages/batches/msgbatch_1",
            "GET /v1/messages/batches/msgbatch_1",
            "GET /v1/messages/batches/msgbatch_1",
            "GET /v1/messages/batches/msgbatch_1/results",
            "POST /v1/messages/batches/msgbatch_1/cancel",
        ]
    );
    assert_eq!(client.health(), Health::Good);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_may_be_under_way_is_not_handed_in_again() {
    for fault in [state("in_progress", false).how(How::Reset(10)), Answer::new(200, "{"), error(504)] {
        let server = FaultyServer::script(vec![fault]);
        let failure = hurried(batches(&server).1.submit(&requests(), async || true)).await.unwrap_err();
        assert_eq!((failure.kind, failure.maybe_billed), (FailureKind::Unavailable, true));
        assert_eq!(server.count(), 1);
    }
    // One that was refused is.
    let server = FaultyServer::script(vec![error(529), error(500), state("in_progress", false)]);
    assert!(hurried(batches(&server).1.submit(&requests(), async || true)).await.is_ok());
    assert_eq!(server.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_nobody_answers_is_given_up_after_an_hour_and_may_be_under_way() {
    let server = FaultyServer::script(vec![state("in_progress", false).how(How::Never)]);
    let (_, batches) = batches(&server);
    let handing_in = tokio::spawn(async move { batches.submit(&requests(), async || true).await });
    until(|| server.count() == 1).await;
    tokio::time::advance(Duration::from_mins(61)).await;
    let failure = handing_in.await.unwrap().unwrap_err();
    assert_eq!((failure.kind, failure.maybe_billed, server.count()), (FailureKind::Unavailable, true, 1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_gone_stops_nothing() {
    let gone = r#"{"type":"error","error":{"type":"not_found_error","message":"no such batch"}}"#;
    let server = FaultyServer::script(vec![Answer::new(404, gone)]);
    let (client, batches) = batches(&server);
    hurried(async {
        assert_eq!(batches.poll("msgbatch_1").await.unwrap(), BatchState::Gone);
        assert_eq!(batches.results("msgbatch_1", &[]).await.unwrap_err().kind, FailureKind::Rejected);
        assert_eq!(batches.cancel("msgbatch_1").await.unwrap_err().kind, FailureKind::Rejected);
        assert_eq!(batches.submit(&requests(), async || true).await.unwrap_err().kind, FailureKind::Rejected);
    })
    .await;
    assert_eq!(client.health(), Health::Good);
    // Results that were thrown away after their time are gone as well.
    let server = FaultyServer::script(vec![state("ended", false)]);
    let (_, batches) = super::batches::batches(&server);
    assert_eq!(hurried(batches.poll("msgbatch_1")).await.unwrap(), BatchState::Gone);
}

#[tokio::test(start_paused = true)]
async fn a_404_that_is_not_the_providers_loses_no_batch() {
    for said in ["<html>Log in to the hotel's network</html>", r#"{"detail":"Not Found"}"#, ""] {
        let server = FaultyServer::script(vec![Answer::new(404, said)]);
        let (client, batches) = batches(&server);
        hurried(async {
            assert_eq!(batches.poll("msgbatch_1").await.unwrap(), BatchState::OutOfReach);
            assert_eq!(batches.results("msgbatch_1", &[]).await.unwrap_err().kind, FailureKind::Unavailable);
            // Nothing was handed in where there are no batches.
            assert_eq!(batches.submit(&requests(), async || true).await.unwrap_err().kind, FailureKind::Rejected);
        })
        .await;
        assert_eq!(client.health(), Health::Good);
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_is_no_way_to_another_address() {
    let server = FaultyServer::script(vec![good()]);
    let (client, batches) = batches(&server);
    for id in ["", "../../v1/files", "a?b", "a/b", "a b"] {
        assert_eq!(hurried(batches.poll(id)).await.unwrap_err().kind, FailureKind::Rejected, "{id}");
    }
    assert_eq!((server.count(), client.health()), (0, Health::Good));
}

#[tokio::test(start_paused = true)]
async fn results_that_break_off_are_read_again() {
    let lines: Vec<String> = (0..5000).map(|n| succeeded(&format!("id-{n}"), "A caption.")).collect();
    let all = lines.join("\n") + "\n\n";
    let cut = all.len() / 2;
    let broken = Answer::new(200, all.clone()).how(How::Cut(cut));
    let server = FaultyServer::script(vec![broken, Answer::new(200, all)]);
    let (_, batches) = batches(&server);
    let results = hurried(batches.results("msgbatch_1", &[])).await.unwrap();
    assert_eq!((results.len(), server.count()), (5000, 2));
    assert!(results.iter().all(|(_, outcome)| outcome.is_ok()));
}

#[tokio::test(start_paused = true)]
async fn results_that_cannot_be_read_are_looked_at_twice() {
    let spoiled = [succeeded("one", "One."), "{\"custom".to_owned()].join("\n");
    let whole = [succeeded("one", "One."), succeeded("two", "Two.")].join("\r\n");
    let server = FaultyServer::script(vec![Answer::new(200, spoiled.clone()), Answer::new(200, whole)]);
    assert_eq!(hurried(batches(&server).1.results("b", &[])).await.unwrap().len(), 2);
    let server = FaultyServer::script(vec![Answer::new(200, spoiled)]);
    assert_eq!(hurried(batches(&server).1.results("b", &[])).await.unwrap().len(), 1);
    assert_eq!(server.count(), 2);
    // A server that gives fewer lines than there were requests.
    let (few, all) = (succeeded("one", "One."), ["one", "two", "three", "four"].map(|id| succeeded(id, "A caption.")));
    let server = FaultyServer::script(vec![Answer::new(200, few.clone()), Answer::new(200, all.join("\n"))]);
    assert_eq!(hurried(batches(&server).1.results("b", &requests())).await.unwrap().len(), 4);
    // If they cannot be fetched a second time, nothing is taken yet.
    let server = FaultyServer::script(vec![Answer::new(200, few), error(500)]);
    assert_eq!(hurried(batches(&server).1.results("b", &requests())).await.unwrap_err().kind, FailureKind::Unavailable);
    // A batch of somebody else lacks none of ours.
    let server = FaultyServer::script(vec![Answer::new(200, succeeded("theirs", "Theirs."))]);
    assert_eq!(hurried(batches(&server).1.results("b", &requests())).await.unwrap().len(), 1);
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_page_in_place_of_results_is_not_the_end_of_a_batch() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#;
    for page in ["<html>\nWho are you?\n</html>", error, "", "\n\n", "{\"custom"] {
        let whole = succeeded("one", "One.");
        let server = FaultyServer::script(vec![Answer::new(200, page), Answer::new(200, whole)]);
        assert_eq!(hurried(batches(&server).1.results("b", &requests()[..1])).await.unwrap().len(), 1, "{page}");
        let server = FaultyServer::script(vec![Answer::new(200, page)]);
        let failure = hurried(batches(&server).1.results("b", &requests())).await.unwrap_err();
        assert_eq!((failure.kind, server.count()), (FailureKind::Unavailable, 4), "{page}: {failure}");
        assert!(failure.message.contains("no result of the batch"), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_id_got_lost_is_found() {
    let page = |ids: &[(&str, &str)], more: bool| {
        let data: Vec<_> = ids.iter().map(|(id, at)| status(id, "in_progress", at, false)).collect();
        let last = ids.last().map(|(id, _)| *id);
        Answer::new(200, json!({ "data": data, "has_more": more, "last_id": last }).to_string())
    };
    let server = FaultyServer::script(vec![
        page(&[("c", "2026-11-20T10:00:00Z"), ("b", "2026-11-20T09:00:00Z")], true),
        page(&[("a", "2026-11-20T08:00:00Z"), ("z", "2026-11-01T00:00:00Z")], true),
    ]);
    let (_, batches) = batches(&server);
    let since: jiff::Timestamp = "2026-11-20T08:00:00Z".parse().unwrap();
    let found = hurried(batches.recent(since.as_second())).await.unwrap();
    assert_eq!(found.iter().map(|batch| batch.id.as_str()).collect::<Vec<_>>(), ["c", "b", "a"]);
    assert_eq!(found[2], SubmittedBatch { id: "a".to_owned(), count: 3, created_at: since.as_second() });
    assert_eq!(
        paths(&server.seen()),
        ["GET /v1/messages/batches?limit=100", "GET /v1/messages/batches?limit=100&after_id=b",]
    );
    // A server that says "more" for ever is not believed.
    let server = FaultyServer::script(vec![page(&[("c", "2026-11-20T10:00:00Z")], true)]);
    hurried(super::batches::batches(&server).1.recent(0)).await.unwrap();
    assert_eq!(server.count(), 2);
}

#[test]
fn calls_can_be_spawned() {
    fn check(_: &impl Send) {}
    let server = FaultyServer::script(vec![good()]);
    let (client, batches) = batches(&server);
    let (prompt, requests) = (prompt(), requests());
    let account = account();
    check(&client.complete(&prompt, &account));
    check(&batches.submit(&requests, async || true));
    check(&batches.poll("b"));
    check(&batches.results("b", &requests));
    check(&batches.recent(0));
    check(&batches.cancel("b"));
    assert!(batches.bytes("one", &prompt) > NOTE.len());
}
