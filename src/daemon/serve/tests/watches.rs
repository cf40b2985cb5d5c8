//! Watches over real sockets, with a made-up engine behind them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::follow::EVERY;
use super::super::results::WatchAnswer;
use super::{Client, Fake, PATIENCE};
use protocol::envelope::{ErrorKind, RpcError};
use protocol::events::Notice;
use protocol::hit::Hit;
use protocol::search::SearchAnswer;
use protocol::status::RunState;

/// Made-up results: each chunk with its text.
pub(in crate::daemon::serve) fn found(hits: &[(&str, &str)]) -> WatchAnswer {
    let hit = |(chunk, text): &(&str, &str)| -> Hit {
        serde_json::from_value(json!({
            "vault": "v", "path": "a.md", "line": 1, "end_line": 2, "title": "A", "heading_path": [], "score": 0.5,
            "snippet": text, "highlights": [], "text": text, "context": "", "window": text, "window_lines": [1, 2],
            "chunk": chunk, "mtime": 1, "stale": false,
        }))
        .unwrap()
    };
    let hits = hits.iter().map(hit).collect();
    WatchAnswer { answer: SearchAnswer { hits, seq: 7, ..SearchAnswer::default() }, decision: None }
}

impl Fake {
    /// What is found from now on, as everybody is told.
    fn show(&self, hits: &[(&str, &str)]) {
        *self.found.lock().unwrap() = Ok(found(hits));
        self.publish();
    }

    fn publish(&self) {
        // Nobody may be subscribed yet.
        let _ = self.notices.send(Arc::new(Notice::Index { vault: "v".into(), seq: 1, notes: 1, chunks: 2 }));
    }

    fn looks(&self) -> usize {
        self.seen.looks.load(Ordering::SeqCst)
    }

    /// Waits until a look that began after now has ended.
    async fn until_looked(&self) {
        let before = self.looks();
        self.publish();
        self.until("a look", |seen| seen.looks.load(Ordering::SeqCst) > before).await;
    }
}

impl Client {
    async fn watch(&mut self, watch: Value) -> Value {
        self.ask("w", "subscribe", json!({ "watch": watch })).await;
        loop {
            let line = self.next().await.unwrap();
            if line["id"] == "w" {
                return line;
            }
        }
    }

    /// The next results.
    async fn results(&mut self) -> Value {
        let line = self.next().await.unwrap();
        assert_eq!((&line["method"], &line["params"]["kind"]), (&json!("event"), &json!("results")), "{line}");
        line["params"].clone()
    }
}

fn chunks(results: &Value) -> Vec<&str> {
    results["hits"].as_array().unwrap().iter().map(|hit| hit["chunk"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn results_come_at_once_and_then_only_when_they_change() {
    let fake = Fake::new();
    fake.show(&[("a", "one")]);
    let mut client = fake.connect();
    let reply = client.watch(json!([{ "token": "q", "query": "x" }])).await;
    assert_eq!(reply["result"], json!({ "events": [], "watch": ["q"] }), "no other events unless asked for");
    let first = client.results().await;
    assert_eq!((&first["token"], chunks(&first), &first["came"]), (&json!("q"), vec!["a"], &json!(["a"])));
    for _ in 0..3 {
        fake.until_looked().await;
    }
    client.expect_ping().await;
    fake.show(&[("b", "two"), ("a", "one")]);
    let second = client.results().await;
    assert_eq!((chunks(&second), &second["came"], &second["moved"]), (vec!["b", "a"], &json!(["b"]), &json!(["a"])));
    drop(client.stream);
    client.server.await.unwrap();
    fake.until_unsubscribed().await;
}

#[tokio::test]
async fn a_vault_is_followed_however_it_is_named() {
    let fake = Fake::new();
    fake.show(&[("a", "one")]);
    for vault in ["v", "V", "/home/me/notes"] {
        let mut client = fake.connect();
        client.watch(json!([{ "query": "x", "vault": vault }])).await;
        client.results().await;
        fake.show(&[("b", vault)]);
        assert_eq!(chunks(&client.results().await), ["b"], "{vault}");
    }
    let mut client = fake.connect();
    client.watch(json!([{ "query": "x", "vault": "other" }])).await;
    client.results().await;
    let before = fake.looks();
    fake.publish();
    tokio::time::sleep(EVERY).await;
    assert_eq!(fake.looks(), before, "another vault is not looked at");
}

#[tokio::test]
async fn a_flood_of_snapshots_is_looked_at_a_few_times_a_second() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.watch(json!([{ "query": "x" }, { "query": "y" }])).await;
    client.results().await;
    client.results().await;
    let (start, before) = (Instant::now(), fake.looks());
    while start.elapsed() < EVERY * 4 {
        fake.publish();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let most = 2 * (start.elapsed().as_millis() / EVERY.as_millis() + 1) as usize;
    let looks = fake.looks() - before;
    assert!((2..=most).contains(&looks), "{looks} looks, at most {most}");
}

#[tokio::test]
async fn who_reads_late_gets_the_newest_and_what_differs_from_what_it_saw() {
    let fake = Fake::new();
    let big = "x".repeat(300_000);
    fake.show(&[("a", "one")]);
    let mut client = fake.connect();
    client.ask(1, "subscribe", json!({ "events": ["index"], "watch": [{ "query": "x" }] })).await;
    assert_eq!(client.next().await.unwrap()["id"], 1);
    let first = client.results().await;
    assert_eq!(first["came"], json!(["a"]));
    // It reads nothing more while the results change; the socket's own buffer holds the first of these.
    for round in 0..6 {
        fake.show(&[("a", "one"), (&format!("chunk {round}"), &big)]);
        let notice = Arc::new(Notice::Index { vault: "w".repeat(10_000), seq: 1, notes: 1, chunks: 1 });
        for _ in 0..100 {
            fake.notices.send(Arc::clone(&notice)).unwrap();
        }
        fake.until_looked().await;
    }
    client.ask("reply", "ping", json!({})).await;
    let (mut shown, mut missed, mut replied) = (vec!["a".to_owned()], 0, false);
    let mut told = 0;
    while shown.last().is_none_or(|chunk| chunk != "chunk 5") || missed == 0 || !replied {
        let line = client.next().await.unwrap();
        match line["params"]["kind"].as_str() {
            Some("results") => {
                told += 1;
                let results = &line["params"];
                // What is told to have changed makes the new list out of the one before.
                let gone: Vec<&str> = results["went"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                let mut expected: Vec<String> = shown.into_iter().filter(|c| !gone.contains(&c.as_str())).collect();
                expected.extend(results["came"].as_array().unwrap().iter().map(|c| c.as_str().unwrap().to_owned()));
                assert_eq!(chunks(results), expected);
                shown = expected;
            }
            Some("lagged") => missed += line["params"]["missed"].as_u64().unwrap(),
            Some(_) => {}
            None => replied = true,
        }
    }
    assert!(told < 6, "{told} of 6 states were sent");
}

#[tokio::test]
async fn a_second_subscription_takes_the_place_of_the_first() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.watch(json!([{ "token": "old", "query": "x" }])).await;
    assert_eq!(client.results().await["token"], "old");
    for _ in 0..20 {
        fake.show(&[("a", "one")]);
        client.watch(json!([{ "token": "new", "path": "a.md" }])).await;
        assert_eq!(client.results().await["token"], "new", "nothing of the old one comes after the reply");
    }
    client.ask(2, "subscribe", json!({ "events": [] })).await;
    assert_eq!(client.next().await.unwrap()["result"], json!({ "events": [], "watch": [] }));
    fake.show(&[("b", "two")]);
    tokio::time::sleep(EVERY).await;
    client.expect_ping().await;
}

#[tokio::test]
async fn what_cannot_be_shown_is_told_and_tried_again() {
    let fake = Fake::new();
    *fake.found.lock().unwrap() = Err(RpcError::new(ErrorKind::NotReady, "starting"));
    let mut client = fake.connect();
    client.watch(json!([{ "query": "x" }])).await;
    let results = client.results().await;
    assert_eq!((&results["error"]["data"]["kind"], &results["hits"]), (&json!("not_ready"), &json!([])));
    *fake.found.lock().unwrap() = Ok(found(&[("a", "one")]));
    fake.notices.send(Arc::new(Notice::State { state: RunState::Idle })).unwrap();
    let results = client.results().await;
    assert_eq!((chunks(&results), results.get("error")), (vec!["a"], None));
}

#[tokio::test]
async fn a_wrong_watch_leaves_the_subscription_as_it_was() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.watch(json!([{ "query": "x" }])).await;
    client.results().await;
    for wrong in [json!([{}]), json!("x"), json!([{ "query": "x", "limit": 9999 }]), json!(vec![json!({}); 99])] {
        client.ask(1, "subscribe", json!({ "watch": wrong })).await;
        assert_eq!(client.error().await, (json!(1), -32602));
    }
    fake.show(&[("a", "one")]);
    assert_eq!(chunks(&client.results().await), ["a"]);
}

#[tokio::test]
async fn a_half_closed_client_goes_on_watching_until_it_leaves_or_the_daemon_stops() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.watch(json!([{ "query": "x" }])).await;
    client.half_close().await;
    client.results().await;
    fake.show(&[("a", "one")]);
    assert_eq!(chunks(&client.results().await), ["a"]);
    client.closes();
    assert_eq!(client.next().await, None);
    tokio::time::timeout(PATIENCE, client.server).await.unwrap().unwrap();
}

#[tokio::test]
async fn results_with_a_warning_are_looked_at_once_more() {
    let fake = Fake::new();
    let mut early = found(&[("a", "one")]);
    early.answer.warnings.push("the query has no vector yet".to_owned());
    *fake.found.lock().unwrap() = Ok(early);
    let mut client = fake.connect();
    client.watch(json!([{ "query": "x" }])).await;
    assert_eq!(chunks(&client.results().await), ["a"]);
    // Nothing is published.
    let mut late = found(&[("a", "one"), ("b", "two")]);
    late.answer.warnings.push("still odd".to_owned());
    *fake.found.lock().unwrap() = Ok(late);
    assert_eq!(chunks(&client.results().await), ["a", "b"]);
    assert_eq!(fake.looks(), 2);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(fake.looks(), 2, "a warning that stays is no reason to look for ever");
}
