//! Batches against what the vendor's own client hands in, and results as the vendor describes them.

use secrecy::ExposeSecret as _;
use serde_json::json;

use super::super::tests::{config, model, prompt, recorded};
use super::super::{RefusalKind, Wire};
use super::*;
use crate::Finish;
use context::models::Model;
use context::settings::{ContextConfig, Provider};

fn anthropic() -> Anthropic {
    let config = ContextConfig { api_version: "2026-10-21".to_owned(), ..config(Provider::Anthropic) };
    let model = Model { min_cache_tokens: Some(1), ..model(Provider::Anthropic, "claude-haiku-5-5") };
    Anthropic::new(&config, &model).unwrap()
}

fn key() -> Key {
    Key::Bearer("sk-test".into())
}

#[test]
fn a_batch_is_handed_in_as_by_the_vendors_own_client() {
    let mut theirs = recorded("anthropic.batch");
    let prompt = Prompt { cache: true, ..prompt("", "<document>D</document>", "<chunk>C</chunk>", 120) };
    let call = anthropic().batch_submit(&[Item { id: "n1-c1", prompt: &prompt }], Some(&key()), &[]).unwrap();
    // It did not ask to be cached for an hour.
    let params = theirs.pointer_mut("/body/requests/0/params").unwrap();
    params["messages"][0]["content"][0]["cache_control"]["ttl"] = json!("1h");
    assert_eq!(serde_json::from_slice::<Value>(&call.request.body).unwrap(), theirs["body"]);
    assert_eq!(call.method, Method::POST);
    assert_eq!(call.request.url, format!("https://api.anthropic.com{}", theirs["path"].as_str().unwrap()));
}

#[test]
fn batches_that_would_be_refused_are_not_handed_in() {
    let prompt = prompt("S", "D", "T", 9);
    let item = |id| Item { id, prompt: &prompt };
    for items in [vec![], vec![item("a"), item("a")], vec![item("")], vec![item("a b")], vec![item("ä")]] {
        let failure = anthropic().batch_submit(&items, Some(&key()), &[]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Rejected);
    }
    let many = anthropic().batch_submit(&[item("a"), item("b"), item("c")], Some(&key()), &[]).unwrap();
    let body: Value = serde_json::from_slice(&many.request.body).unwrap();
    let ids: Vec<&str> =
        body["requests"].as_array().unwrap().iter().map(|r| r["custom_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(anthropic().batch_submit(&[item("a")], None, &[]).unwrap_err().kind, FailureKind::Unauthorized);
}

#[test]
fn batches_are_followed_by_their_id() {
    let (wire, key) = (anthropic(), key());
    let url = "https://api.anthropic.com/v1/messages/batches";
    for (call, method, expected) in [
        (wire.batch_poll("msgbatch_1", Some(&key)), Method::GET, format!("{url}/msgbatch_1")),
        (wire.batch_results("msgbatch_1", Some(&key)), Method::GET, format!("{url}/msgbatch_1/results")),
        (wire.batch_cancel("msgbatch_1", Some(&key)), Method::POST, format!("{url}/msgbatch_1/cancel")),
        (wire.batch_list(None, Some(&key)), Method::GET, format!("{url}?limit=100")),
        (wire.batch_list(Some("b"), Some(&key)), Method::GET, format!("{url}?limit=100&after_id=b")),
    ] {
        let call = call.unwrap();
        assert_eq!((call.method, call.request.url), (method, expected));
        assert!(call.request.body.is_empty());
        assert!(call.request.headers.iter().any(|(n, v)| *n == "x-api-key" && v.expose_secret() == "sk-test"));
    }
    for id in ["", "../messages", "a?b", "a/b", "a%2Fb"] {
        assert_eq!(wire.batch_poll(id, Some(&key)).unwrap_err().kind, FailureKind::Rejected, "{id}");
    }
    assert!(Wire::Anthropic(wire).batches().is_some());
}

#[test]
fn how_a_batch_is_doing_is_read() {
    let batch = |stage: &str, results: Value| {
        json!({"id": "msgbatch_1", "type": "message_batch", "processing_status": stage,
            "request_counts": {"processing": 1, "succeeded": 2, "errored": 3, "canceled": 4, "expired": 5},
            "created_at": "2026-11-20T16:00:00Z", "expires_at": "2026-11-21T16:00:00Z", "ended_at": null,
            "results_url": results})
    };
    for (said, results, ended) in [
        ("in_progress", Value::Null, false),
        ("canceling", Value::Null, false),
        ("ended", json!("https://elsewhere.example/results"), true),
        ("something_new", Value::Null, false),
    ] {
        let status = status(batch(said, results.clone()).to_string().as_bytes()).unwrap();
        assert_eq!((status.id.as_str(), status.ended, status.has_results), ("msgbatch_1", ended, !results.is_null()));
        assert_eq!((status.count, status.created_at.as_deref()), (15, Some("2026-11-20T16:00:00Z")));
    }
    let all = |more: bool| {
        let data = [batch("ended", Value::Null), batch("in_progress", Value::Null)];
        list(json!({"data": data, "has_more": more, "last_id": "msgbatch_1"}).to_string().as_bytes()).unwrap()
    };
    assert_eq!((all(true).0.len(), all(true).1.as_deref(), all(false).1), (2, Some("msgbatch_1"), None));
    for body in ["", "{}", "[]", r#"{"id":"a/b","processing_status":"ended"}"#, r#"{"id":"a"}"#] {
        assert!(status(body.as_bytes()).is_err(), "{body}");
    }
    assert!(list(b"{}").is_err());
}

#[test]
fn results_are_read_line_by_line() {
    let body = concat!(
        r#"{"custom_id":"b","result":{"type":"succeeded","message":{"content":[{"type":"text","text":"Hi."}],"#,
        r#""stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}}}"#,
        "\n\n",
        r#"{"custom_id":"a","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error","#,
        r#""message":"prompt is too long"},"request_id":"req_1"}}}"#,
        "\r\n",
        r#"{"custom_id":"c","result":{"type":"errored","error":{"type":"error","error":{"type":"overloaded_error","#,
        r#""message":"m"}}}}"#,
        "\n",
        r#"{"custom_id":"d","result":{"type":"canceled"}}"#,
        "\n",
        r#"{"custom_id":"e","result":{"type":"expired"}}"#,
        "\n",
    );
    let wire = anthropic();
    let read: Vec<Line> = body
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| wire.batch_line(line.as_bytes(), SystemTime::UNIX_EPOCH).unwrap())
        .collect();
    let ids: Vec<&str> = read.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids, ["b", "a", "c", "d", "e"]);
    let Outcome::Succeeded(message) = &read[0].outcome else { panic!("{:?}", read[0]) };
    let answer = wire.batch_answer(message, &prompt("S", "D", "T", 100)).unwrap();
    assert_eq!((answer.text.as_str(), answer.finish, answer.usage.input), ("Hi.", Finish::Stop, 7));
    for (line, expected) in [(&read[1], RefusalKind::TooLong), (&read[2], RefusalKind::Overloaded)] {
        let Outcome::Errored(refusal) = &line.outcome else { panic!("{line:?}") };
        assert_eq!(refusal.kind, expected);
    }
    assert_eq!((&read[3].outcome, &read[4].outcome), (&Outcome::Canceled, &Outcome::Expired));
}

#[test]
fn lines_that_are_none_are_errors() {
    for line in
        ["{", "[]", r#"{"result":{"type":"expired"}}"#, r#"{"custom_id":"a"}"#, r#"{"custom_id":"a","result":{}}"#]
    {
        assert!(anthropic().batch_line(line.as_bytes(), SystemTime::UNIX_EPOCH).is_err(), "{line}");
    }
    // An answer without a message is a line, but no answer.
    let line = br#"{"custom_id":"a","result":{"type":"succeeded"}}"#;
    let Outcome::Succeeded(message) = anthropic().batch_line(line, SystemTime::UNIX_EPOCH).unwrap().outcome else {
        panic!("a success without a message")
    };
    assert!(anthropic().batch_answer(&message, &prompt("S", "D", "T", 9)).is_err());
}
