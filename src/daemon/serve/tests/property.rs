//! Any bytes: every line is answered once or not at all, as the specification says, and what was subscribed to before
//! comes after.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Fake;
use super::watches::found;

/// Lines as broken clients send them: noise, almost requests, requests with anything in their places.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..60);
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(1.5)),
        Just(json!([])),
        Just(json!({})),
        Just(json!({ "query": "x" })),
        Just(json!({ "watch": [{ "query": 1 }] })),
        any::<i64>().prop_map(|n| json!(n)),
        "\\PC{0,12}".prop_map(|text| json!(text)),
    ];
    let method = prop_oneof![
        Just(json!("ping")),
        Just(json!("search")),
        Just(json!("cancel")),
        Just(json!("hello")),
        Just(json!("nonsense")),
        value.clone(),
    ];
    let member = |name: &'static str, value: BoxedStrategy<Value>| {
        prop::option::weighted(0.9, value.prop_map(move |v| (name, v)))
    };
    let version = prop_oneof![4 => Just(json!("2.0")), 1 => value.clone()].boxed();
    let request = (
        member("jsonrpc", version),
        member("id", value.clone().boxed()),
        member("method", method.boxed()),
        member("params", value.boxed()),
    );
    let request = request.prop_map(|(a, b, c, d)| {
        let members = [a, b, c, d].into_iter().flatten().map(|(name, value)| (name.to_owned(), value));
        Value::Object(members.collect()).to_string().into_bytes()
    });
    let cut = (request.clone(), any::<prop::sample::Index>()).prop_map(|(mut line, at)| {
        line.truncate(at.index(line.len() + 1));
        line
    });
    let line = prop_oneof![2 => noise.boxed(), 4 => request.boxed(), 1 => cut.boxed()];
    line.prop_map(|line| line.into_iter().filter(|byte| *byte != b'\n').collect())
}

/// How many answers a line gets, by the specification alone.
fn answers(line: &[u8]) -> usize {
    if line.iter().all(u8::is_ascii_whitespace) {
        return 0;
    }
    let is_notification = serde_json::from_slice::<Value>(line).is_ok_and(|value| {
        value.is_object() && value.get("id").is_none() && value["jsonrpc"] == "2.0" && value["method"].is_string()
    });
    usize::from(!is_notification)
}

async fn exchange(lines: Vec<Vec<u8>>) {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask("w", "subscribe", json!({ "watch": [{ "token": "mine", "query": "x" }] })).await;
    assert_eq!(client.next().await.unwrap()["id"], "w");
    assert_eq!(client.next().await.unwrap()["params"]["token"], "mine");
    let expected: usize = lines.iter().map(|line| answers(line)).sum();
    for line in &lines {
        client.send([line.as_slice(), b"\n"].concat()).await;
    }
    let mut answered = 0;
    while answered < expected {
        let reply = client.next().await.unwrap();
        assert!(
            reply.get("id").is_some() && (reply.get("result").is_some() != reply.get("error").is_some()),
            "{reply}"
        );
        answered += 1;
    }
    *fake.found.lock().unwrap() = Ok(found(&[("a", "one")]));
    let index = protocol::events::Notice::Index { vault: "v".into(), seq: 1, notes: 1, chunks: 1 };
    fake.notices.send(std::sync::Arc::new(index)).unwrap();
    let results = client.next().await.unwrap();
    assert_eq!(results["params"]["came"], json!(["a"]), "one answer too many, or none: {results}");
    client.half_close().await;
}

/// How many clients one case has, each with a daemon of its own: what a watch is told waits a quarter of a second.
const TOGETHER: usize = 6;

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_answered_once_each_and_watches_survive(
        clients in prop::collection::vec(prop::collection::vec(line(), 0..25), TOGETHER),
    ) {
        // A subscription of theirs would take the place of ours; its own test says so.
        let subscribes = |line: &Vec<u8>| String::from_utf8_lossy(line).contains("subscribe");
        prop_assume!(!clients.iter().flatten().any(subscribes));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let exchanges: Vec<_> = clients.into_iter().map(|lines| tokio::spawn(exchange(lines))).collect();
            for exchange in exchanges {
                exchange.await.unwrap();
            }
        });
    }
}
