//! Answers that come bit by bit, from a server that breaks off, falls silent and refuses.

use std::sync::Mutex;

use super::*;
use crate::testing::How;
use crate::{FailureKind, Finish, Streamed};

const SAID: &str = "In old alders [1].";

fn stream() -> String {
    let piece = |text: &str| format!("data: {}\n\n", json!({"choices": [{"delta": {"content": text}}]}));
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 50, "completion_tokens": 7}});
    format!("{}{}{}data: {end}\n\ndata: [DONE]\n\n", piece("In old "), piece("alders "), piece("[1]."))
}

fn streaming() -> Answer {
    Answer::new(200, stream()).header("content-type", "text/event-stream")
}

/// Asks, and checks that what was shown is what was answered.
async fn streamed(client: &CompletionClient) -> Result<Streamed, Failure> {
    let shown = Mutex::new(String::new());
    let show = |text: &str| shown.lock().unwrap().push_str(text);
    let outcome = hurried(client.stream(&prompt(), &account(), &show)).await.map_err(provider);
    let shown = shown.into_inner().unwrap();
    match &outcome {
        Ok(streamed) => assert_eq!(shown, streamed.completion.text),
        Err(_) => assert_eq!(shown, ""),
    }
    outcome
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer() {
    let server = FaultyServer::script(vec![streaming()]);
    let Streamed { completion, broken } = streamed(&client(&server)).await.unwrap();
    assert_eq!((completion.text.as_str(), completion.finish, broken), (SAID, Finish::Stop, None));
    assert_eq!((completion.usage.input, completion.usage.output, completion.usage.estimated), (50, 7, false));
    assert!(server.seen()[0].text().contains("\"stream\":true"));
    // A server that sends it in one piece says the same.
    let server = FaultyServer::script(vec![Answer::new(200, completion_body(SAID))]);
    assert_eq!(streamed(&client(&server)).await.unwrap().completion.text, SAID);
}

#[tokio::test(start_paused = true)]
async fn what_was_shown_is_kept() {
    let cut = stream().find("alders").unwrap();
    for (how, why) in [
        (How::Stall(cut), "nothing came for 30 s"),
        (How::Cut(cut), "connection broke"),
        (How::Reset(cut), "connection broke"),
    ] {
        let server = FaultyServer::script(vec![streaming().how(how)]);
        let Streamed { completion, broken } = streamed(&client(&server)).await.unwrap();
        assert_eq!((completion.text.as_str(), server.count()), ("In old ", 1), "{how:?}");
        assert!(broken.as_ref().unwrap().contains(why), "{how:?}: {broken:?}");
        assert!(completion.usage.estimated && completion.usage.output > 0, "{how:?}: {completion:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_shown_is_asked_for_again() {
    for fault in [
        streaming().how(How::Cut(0)),
        streaming().how(How::Reset(5)),
        error(529),
        Answer::new(200, "data: {nonsense\n\n").header("content-type", "text/event-stream"),
        Answer::new(200, "data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n")
            .header("content-type", "text/event-stream"),
    ] {
        let server = FaultyServer::script(vec![fault, streaming()]);
        let Streamed { completion, broken } = streamed(&client(&server)).await.unwrap();
        assert_eq!((completion.text.as_str(), broken, completion.attempts), (SAID, None, 2));
    }
    let server = FaultyServer::script(vec![Answer::new(200, "").how(How::Never)]);
    let impatient = client_with(&server, |config| config.timeout = Duration::from_secs(2));
    let failure = streamed(&impatient).await.unwrap_err();
    assert!(failure.kind == FailureKind::Unavailable && failure.maybe_billed, "{failure:?}");
    let server = FaultyServer::script(vec![error(401)]);
    assert_eq!(streamed(&client(&server)).await.unwrap_err().kind, FailureKind::Unauthorized);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_ends_is_ended() {
    let begun = stream().split_once("\n\n").unwrap().0.to_owned();
    let endless = format!("{begun}\n\n{}", ": a sign of life\n\n".repeat(50_000));
    let answer = Answer::new(200, endless).header("content-type", "text/event-stream");
    let server = FaultyServer::script(vec![answer.how(How::Drip(Duration::from_millis(1)))]);
    let hasty = client_with(&server, |config| config.deadline = Duration::from_mins(3));
    // There is never a silence, but the deadline of all comes.
    let Streamed { completion, broken } = streamed(&hasty).await.unwrap();
    assert!(SAID.starts_with(&completion.text) && broken.is_some(), "{completion:?} {broken:?}");
    assert_eq!(server.count(), 1);
}
