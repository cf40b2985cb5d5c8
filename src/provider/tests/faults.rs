//! One call and one fault of the server or of the network.

use std::io;
use std::sync::{Arc, Mutex};

use super::*;
use crate::testing::How;
use crate::{FailureKind, Finish, Health};

/// The fault once, then a good answer: the call succeeds at the second attempt.
async fn mended(fault: Answer) -> Completion {
    let server = FaultyServer::script(vec![fault, good()]);
    let client = client(&server);
    let completion = complete(&client).await.unwrap();
    assert_eq!((completion.attempts, server.count()), (2, 2));
    assert_eq!(completion.text, "A caption.");
    assert_eq!(client.health(), Health::Good);
    completion
}

/// The fault again and again: what the call fails with, and after how many requests.
async fn failing(fault: Answer) -> (Failure, usize) {
    let server = FaultyServer::script(vec![fault]);
    let failure = complete(&client(&server)).await.unwrap_err();
    (failure, server.count())
}

#[tokio::test(start_paused = true)]
async fn a_good_answer_comes_as_it_is() {
    let server = FaultyServer::script(vec![good()]);
    let client = client(&server);
    let completion = complete(&client).await.unwrap();
    assert_eq!((completion.text.as_str(), completion.finish, completion.attempts), ("A caption.", Finish::Stop, 1));
    assert_eq!((completion.usage.input, completion.usage.output), (50, 7));
    let seen = &server.seen()[0];
    assert_eq!((seen.method.as_str(), seen.header("content-type")), ("POST", Some("application/json")));
    assert!(seen.header("user-agent").unwrap().starts_with("situated/") && seen.header("referer").is_none());
    assert!(seen.text().contains(NOTE));
}

#[tokio::test(start_paused = true)]
async fn busy_with_a_time_to_wait() {
    for (name, value, seconds) in [("retry-after", "20", 20), ("retry-after-ms", "7000", 7)] {
        let completion = mended(error(429).header(name, value)).await;
        let wait = Duration::from_secs(seconds);
        assert!(completion.took >= wait && completion.took < wait * 3, "{:?}", completion.took);
    }
}

#[tokio::test(start_paused = true)]
async fn busy_without_a_time_to_wait() {
    for status in [429, 529] {
        mended(error(status)).await;
        let (failure, count) = failing(error(status)).await;
        assert_eq!((failure.kind, failure.maybe_billed, count), (FailureKind::Unavailable, false, 4));
    }
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_server() {
    for status in [408, 409, 425, 500, 502, 503, 504] {
        mended(error(status)).await;
        mended(Answer::new(status, "<html>Bad gateway</html>").header("content-type", "text/html")).await;
        mended(Answer::new(status, "")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_permanent_500_ends() {
    let (failure, count) = failing(error(500)).await;
    assert_eq!((failure.kind, failure.maybe_billed, count), (FailureKind::Unavailable, false, 4));
    assert!(failure.message.contains("500") && failure.message.contains("4 attempts"), "{}", failure.message);
    let long = Answer::new(500, r#"{"error":{"message":"input is too large to process. increase the batch size"}}"#);
    let (failure, count) = failing(long).await;
    assert_eq!((failure.kind, count), (FailureKind::TooLong, 1));
}

#[tokio::test(start_paused = true)]
async fn a_reset_in_the_middle() {
    for how in [How::Reset(0), How::Reset(30), How::Cut(30), How::Cut(0)] {
        mended(good().how(how)).await;
        let (failure, count) = failing(good().how(how)).await;
        assert_eq!((failure.kind, failure.maybe_billed, count), (FailureKind::Unavailable, true, 4), "{how:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_breaks_off_is_one_all_the_same() {
    let (failure, count) = failing(error(413).how(How::Reset(5))).await;
    assert_eq!((failure.kind, count), (FailureKind::TooLong, 1));
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_no_answer() {
    let whole = completion_body("A caption.");
    let mut binary = whole.clone().into_bytes();
    let at = whole.find("caption").unwrap();
    binary[at] = 0xff;
    for body in [b"".to_vec(), b"{}".to_vec(), b"<html></html>".to_vec(), whole.as_bytes()[..60].to_vec(), binary] {
        mended(Answer::new(200, body.clone())).await;
        let (failure, count) = failing(Answer::new(200, body)).await;
        // The provider has answered, and has counted it.
        assert_eq!((failure.kind, failure.maybe_billed, count), (FailureKind::Unavailable, true, 4));
    }
}

#[tokio::test(start_paused = true)]
async fn a_content_type_is_not_trusted() {
    for kind in ["text/html", "application/octet-stream", "", "text/plain; charset=utf-16"] {
        let server = FaultyServer::script(vec![good().header("content-type", kind)]);
        assert_eq!(complete(&client(&server)).await.unwrap().attempts, 1, "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_completion_is_an_answer() {
    let empty = json!({
        "choices": [{ "message": { "role": "assistant", "content": "" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 50, "completion_tokens": 0 },
    });
    let server = FaultyServer::script(vec![Answer::new(200, empty.to_string())]);
    let completion = complete(&client(&server)).await.unwrap();
    assert_eq!((completion.text.as_str(), completion.attempts), ("", 1));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_the_model_is_an_answer() {
    let body = completion_body("").replace(r#""stop""#, r#""content_filter""#);
    let server = FaultyServer::script(vec![Answer::new(200, body)]);
    assert_eq!(complete(&client(&server)).await.unwrap().finish, Finish::Refusal);
}

#[tokio::test(start_paused = true)]
async fn two_megabytes_are_read_and_no_more() {
    let server = FaultyServer::script(vec![Answer::new(200, completion_body(&"a".repeat(2_000_000)))]);
    assert_eq!(complete(&client(&server)).await.unwrap().text.len(), 2_000_000);
    let (failure, count) = failing(Answer::new(200, completion_body(&"a".repeat(3_000_000)))).await;
    assert_eq!((failure.kind, failure.maybe_billed, count), (FailureKind::Rejected, true, 1));
    // An error may be as long as it likes.
    let (failure, count) = failing(Answer::new(400, "x".repeat(3_000_000))).await;
    assert_eq!((failure.kind, count), (FailureKind::Rejected, 1));
}

#[tokio::test(start_paused = true)]
async fn no_answer_at_all_and_one_that_drips() {
    for how in [How::Never, How::Drip(Duration::from_millis(20))] {
        let server = FaultyServer::script(vec![good().how(how)]);
        let client = client_with(&server, |config| config.timeout = Duration::from_secs(20));
        let began = Instant::now();
        let failure = complete(&client).await.unwrap_err();
        assert_eq!((failure.kind, failure.maybe_billed), (FailureKind::Unavailable, true), "{how:?}");
        assert!(failure.message.contains("20 s"), "{}", failure.message);
        assert_eq!(server.count(), 4);
        assert!(began.elapsed() >= Duration::from_secs(80) && began.elapsed() < Duration::from_secs(120));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_waited_for() {
    let server = FaultyServer::script(vec![good().how(How::Late(Duration::from_millis(60)))]);
    let completion = complete(&client(&server)).await.unwrap();
    assert!(completion.attempts == 1 && completion.took >= Duration::from_millis(60), "{:?}", completion.took);
}

#[tokio::test(start_paused = true)]
async fn nobody_listens() {
    let server = FaultyServer::script(vec![good()]);
    let client = client(&server);
    drop(server);
    let failure = complete(&client).await.unwrap_err();
    assert_eq!((failure.kind, failure.maybe_billed), (FailureKind::Unavailable, false));
    assert!(failure.message.contains("refused") && failure.message.contains("4 attempts"), "{}", failure.message);
}

#[tokio::test(start_paused = true)]
async fn refusals_are_not_repeated() {
    let cases = [(400, FailureKind::Rejected), (422, FailureKind::Rejected), (413, FailureKind::TooLong)];
    for (status, kind) in cases {
        let server = FaultyServer::script(vec![error(status), good()]);
        let client = client(&server);
        assert_eq!(complete(&client).await.unwrap_err().kind, kind);
        assert_eq!(server.count(), 1);
        // They say nothing about other requests.
        assert_eq!(client.health(), Health::Good);
        assert!(complete(&client).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn refused_fields_are_left_out_from_then_on() {
    let server = FaultyServer::start(|_, seen| {
        let body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
        let refused = |name: &str| {
            Answer::new(400, format!(r#"{{"error":{{"message":"Unsupported parameter: '{name}' is not supported"}}}}"#))
        };
        match ["temperature", "reasoning_effort"].into_iter().find(|name| body.get(*name).is_some()) {
            Some(name) => refused(name),
            None => good(),
        }
    });
    let client = client(&server);
    let completion = complete(&client).await.unwrap();
    assert_eq!((completion.attempts, server.count()), (3, 3));
    assert_eq!(complete(&client.clone()).await.unwrap().attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_refused_though_it_is_not_there() {
    let body = r#"{"error":{"message":"Unsupported parameter: 'temperature' is not supported"}}"#;
    let (failure, count) = failing(Answer::new(400, body)).await;
    assert_eq!((failure.kind, count), (FailureKind::Rejected, 2));
}

#[tokio::test(start_paused = true)]
async fn notes_and_keys_go_nowhere_else() {
    let elsewhere = FaultyServer::script(vec![good()]);
    for status in [301, 302, 303, 307, 308] {
        let away = error(status).header("location", elsewhere.url() + "/v1/chat/completions");
        let (failure, count) = failing(away).await;
        assert_eq!((failure.kind, count), (FailureKind::Unavailable, 1), "{status}");
    }
    assert_eq!(elsewhere.count(), 0);
    // Within the server the same request may go to another path.
    let server = FaultyServer::script(vec![error(307).header("location", "/other"), good()]);
    assert_eq!(complete(&client(&server)).await.unwrap().attempts, 1);
    let seen = server.seen();
    assert_eq!((seen[1].path.as_str(), seen[1].body == seen[0].body), ("/other", true));
    // A circle ends.
    let server = FaultyServer::script(vec![error(307).header("location", "/round")]);
    assert!(complete(&client(&server)).await.is_err());
    assert!(server.count() < 8);
}

/// What is logged by this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn neither_key_nor_note_is_logged_or_said() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // Beside another, every place that logs asks both what they want. Where there is but one, such a place asks that of the
    // thread that comes by first: of a test that runs beside this one, which logs nowhere, and from then on nothing is logged.
    let _another = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let _guard = tracing::subscriber::set_default(subscriber);
    let dir = tempfile::tempdir().unwrap();
    let key = limits::key_file(dir.path(), "hunter2hunter2");
    let echo =
        |status| FaultyServer::start(move |_, seen| Answer::new(status, [b"you sent ", seen.body.as_slice()].concat()));
    for status in [200, 400, 401, 404, 429, 500] {
        let server = echo(status);
        let client = client_with(&server, |config| config.key.file = Some(key.clone()));
        let mut said = String::new();
        for _ in 0..6 {
            said += &format!("{:?}", complete(&client).await.unwrap_err());
        }
        assert_eq!(server.seen()[0].header("authorization"), Some("Bearer hunter2hunter2"));
        said += &format!("{client:?} {:?}", client.health());
        assert!(!said.contains("hunter2") && !said.contains(NOTE), "{said}");
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("left alone") && log.contains("an attempt failed"), "{log}");
    for secret in ["hunter2", NOTE, "caption"] {
        assert!(!log.contains(secret), "{log}");
    }
    // A change of state is one line, however many calls there were. (Wine's clock is too coarse to tell how many there are.)
    if cfg!(windows) {
        return;
    }
    assert_eq!(log.matches("left alone").count(), 3, "{log}");
    assert_eq!(log.matches("refuses us").count(), 2, "{log}");
}
