//! What clients do wrong, and what the daemon does about it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::{Daemon, Fake, PATIENCE, line, next, ping};
use crate::daemon::config::ServeConfig;
use protocol::events::Notice;
use protocol::frame::MAX_REQUEST;

#[tokio::test]
async fn every_kind_of_garbage_gets_one_error_and_the_next_request_works() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let fake = Fake::new();
    let mut client = fake.connect();
    let table: [(&[u8], i64); 9] = [
        (b"garbage", -32700),
        (b"\0\0\0", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}", -32700),
        (b"\x80\x81", -32700),
        (deep.as_bytes(), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (b"GET / HTTP/1.1", -32700),
    ];
    for (bytes, code) in table {
        client.send([bytes, b"\r\n\n"].concat()).await;
        assert_eq!(client.error().await, (Value::Null, code), "{:?}", String::from_utf8_lossy(bytes));
        client.expect_ping().await;
    }
    client.ask(7, "frobnicate", json!({})).await;
    assert_eq!(client.error().await, (json!(7), -32601));
    client.ask(8, "cancel", json!({ "id": 1.5 })).await;
    assert_eq!(client.error().await, (json!(8), -32602));
    client.ask("t", "search", json!({ "query": "x", "limt": 3 })).await;
    let refused = client.next().await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["data"]["nearest"]), (&json!("t"), &json!("limit")), "{refused}");
    client.ask(9, "subscribe", json!({ "events": 1 })).await;
    assert_eq!(client.error().await, (json!(9), -32602));
}

#[tokio::test]
async fn a_line_of_20_mb_is_answered_and_the_connection_goes_on() {
    let fake = Fake::new();
    let mut client = fake.connect();
    let piece = vec![b'a'; MAX_REQUEST];
    for _ in 0..20 {
        client.send(&piece).await;
    }
    client.send("\n").await;
    assert_eq!(client.error().await, (Value::Null, 1007));
    client.expect_ping().await;
    client.ask(1, "search", json!({ "query": "q".repeat(MAX_REQUEST - 100) })).await;
    assert_eq!(client.next().await.unwrap()["result"]["method"], "search");
}

#[tokio::test]
async fn half_a_line_and_a_half_close() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.send(line(1, "search", json!({ "query": "a" })).trim_end()).await;
    client.half_close().await;
    assert_eq!(client.next().await.unwrap()["id"], 1, "a last line needs no line end");
    assert_eq!(client.next().await, None);

    let mut client = fake.connect();
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"shutd"#).await;
    client.half_close().await;
    assert_eq!(client.error().await, (Value::Null, -32700));
    assert_eq!(client.next().await, None);
    client.server.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_pipelined_requests_are_all_answered_once() {
    const COUNT: u64 = 10_000;
    let fake = Fake::new();
    let client = fake.connect();
    let (read, mut write) = client.stream.into_inner().into_split();
    let writer = tokio::spawn(async move {
        for id in 0..COUNT {
            let (method, params) = if id % 10 == 0 { ("search", json!({ "query": "x" })) } else { ("ping", json!({})) };
            write.write_all(line(id, method, params).as_bytes()).await.unwrap();
        }
    });
    let mut read = BufReader::new(read);
    let mut answered = vec![0; COUNT as usize];
    while let Some(reply) = next(&mut read).await {
        assert!(reply.get("result").is_some(), "{reply}");
        answered[reply["id"].as_u64().unwrap() as usize] += 1;
    }
    writer.await.unwrap();
    assert!(answered.iter().all(|&count| count == 1));
}

#[tokio::test]
async fn a_panic_is_one_error() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..20 {
        client.ask(id, "search", json!({ "query": "panic" })).await;
        assert_eq!(client.error().await, (json!(id), -32603));
    }
    client.ask("after", "search", json!({ "query": "x" })).await;
    assert_eq!(client.next().await.unwrap()["result"]["query"], "x");
}

#[tokio::test]
async fn an_answer_that_is_too_large_says_so() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "search", json!({ "query": "huge" })).await;
    assert_eq!(client.error().await, (json!(1), 1007));
    client.expect_ping().await;
}

#[tokio::test]
async fn http_gets_a_line_of_its_own_kind() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.send("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n{}").await;
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, client.stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("JSON-RPC"), "{answer}");
    drop(client.stream);
    client.server.await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_an_answer() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..8 {
        client.ask(id, "search", json!({ "query": "big" })).await;
    }
    let mut some = [0; 1000];
    client.stream.read_exact(&mut some).await.unwrap();
    drop(client.stream);
    tokio::time::timeout(PATIENCE, client.server).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_given_up() {
    let fake = Fake::new();
    let mut client = fake.connect();
    for id in 0..4 {
        client.ask(id, "search", json!({ "query": "big" })).await;
    }
    let start = Instant::now();
    tokio::time::timeout(PATIENCE, client.server).await.unwrap().unwrap();
    assert!(start.elapsed() >= Duration::from_secs(4), "it was given its time");
}

#[tokio::test]
async fn a_slow_subscriber_loses_events_but_no_reply() {
    let fake = Fake::new();
    let mut client = fake.connect();
    client.ask(1, "subscribe", json!({})).await;
    client.next().await.unwrap();
    let notice = Arc::new(Notice::Index { vault: "v".repeat(10_000), seq: 1, notes: 1, chunks: 1 });
    const SENT: u64 = 2000;
    for _ in 0..SENT {
        fake.notices.send(Arc::clone(&notice)).unwrap();
    }
    client.ask("r", "ping", json!({})).await;
    // Only now does it read.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (mut events, mut missed, mut replied) = (0, 0, 0);
    while events + missed < SENT || replied == 0 {
        let line = client.next().await.unwrap();
        match line["params"]["kind"].as_str() {
            Some("lagged") => missed += line["params"]["missed"].as_u64().unwrap(),
            Some(_) => events += 1,
            None => replied += 1,
        }
    }
    assert_eq!((events + missed, replied), (SENT, 1));
    assert!(missed > 0 && events >= 256, "{events} events, {missed} missed");
}

#[tokio::test]
async fn one_client_too_many_is_told_and_places_come_free() {
    let fake = Fake::new();
    let daemon = Daemon::start(&fake, ServeConfig { max_connections: 4, ..ServeConfig::default() });
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut client = daemon.connect().await;
        assert!(ping(&mut client).await.unwrap()["result"].is_object());
        clients.push(client);
    }
    let mut refused = daemon.connect().await;
    let reply = ping(&mut refused).await.unwrap();
    assert_eq!((&reply["id"], &reply["error"]["data"]["kind"]), (&Value::Null, &json!("busy")));
    assert_eq!(next(&mut refused).await, None);
    clients.pop();
    let start = Instant::now();
    while ping(&mut daemon.connect().await).await.unwrap()["result"].is_null() {
        assert!(start.elapsed() < PATIENCE, "no place came free");
    }
}
