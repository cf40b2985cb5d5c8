use serde_json::json;

use super::*;
use crate::events::Watched;
use crate::table::{AnyCall, Method};

fn call(method: Method, params: Value) -> Result<AnyCall, RpcError> {
    let Value::Object(params) = params else { panic!("{params}") };
    AnyCall::read(method, params)
}

fn refused(method: Method, params: Value) -> (String, Option<String>) {
    let error = call(method, params).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidParams);
    (error.message, error.data.get("nearest").and_then(Value::as_str).map(str::to_owned))
}

#[test]
fn an_unknown_parameter_is_named_with_the_nearest_known_one() {
    let table = [
        (Method::Search, json!({ "query": "x", "limt": 3 }), "limt", Some("limit")),
        (Method::Search, json!({ "qurey": "x" }), "qurey", Some("query")),
        (Method::Search, json!({ "query": "x", "per-note": 1 }), "per-note", Some("per_note")),
        (Method::Search, json!({ "query": "x", "filter": { "tags": "a" } }), "filter.tags", Some("tag")),
        (
            Method::Ask,
            json!({ "question": "x", "history": [{ "question": "a", "reply": "b" }] }),
            "history.reply",
            None,
        ),
        (Method::Subscribe, json!({ "watch": [{ "query": "x" }, { "pth": "a.md" }] }), "watch.pth", Some("path")),
        (Method::Status, json!({ "zzzzzz": null }), "zzzzzz", None),
        (Method::Ping, json!({ "query": "x" }), "query", None),
    ];
    for (method, params, path, near) in table {
        let (message, nearest) = refused(method, params);
        assert!(message.contains(&format!("`{path}`")), "{message}");
        assert_eq!(nearest.as_deref(), near, "{message}");
        assert_eq!(near.is_some(), message.contains("did you mean"), "{message}");
    }
}

#[test]
fn what_has_no_known_members_may_have_any() {
    let properties = json!({ "status": "done", "tags": ["a"], "nested": { "any": 1 } });
    call(Method::Search, json!({ "query": "x", "filter": { "type": "daily", "properties": properties } })).unwrap();
}

#[test]
fn every_method_refuses_what_it_does_not_know() {
    for method in Method::ALL {
        let (message, _) = refused(*method, json!({ "frobnicate!": 1 }));
        assert!(message.contains("`frobnicate!`") && message.contains(method.name()), "{message}");
    }
}

#[test]
fn a_missing_or_wrong_parameter_is_named_with_what_it_may_be() {
    let table = [
        (Method::Search, json!({}), "query", "`query` is missing"),
        (
            Method::Search,
            json!({ "query": "x", "filter": ["tag:a"] }),
            "filter",
            "`filter` must be an object, not [\"tag:a\"]",
        ),
        (Method::Search, json!({ "query": "x", "boosts": [1] }), "boosts", "`boosts` must be an object, not [1]"),
        (
            Method::Search,
            json!({ "query": "x", "limit": "5" }),
            "limit",
            "`limit` must be a whole number from 0 on, not \"5\"",
        ),
        (Method::Search, json!({ "query": "x", "limit": -1 }), "limit", "must be a whole number from 0 on, not -1"),
        (Method::Search, json!({ "query": 7 }), "query", "`query` must be a string, not 7"),
        (
            Method::Search,
            json!({ "query": "x", "contextual": 3 }),
            "contextual",
            "must be true or false or a string, not 3",
        ),
        (Method::Search, json!({ "query": "x", "mode": "fast" }), "mode", "`mode` must be `hybrid` or `lexical` or"),
        (Method::Search, json!({ "query": "x", "filter": "y" }), "filter", "`filter` must be an object, not \"y\""),
        (
            Method::Search,
            json!({ "query": "x", "filter": { "tag": 5 } }),
            "filter.tag",
            "`filter.tag` must be a string",
        ),
        (Method::Search, json!({ "query": "x", "include": ["all"] }), "include", "not \"all\""),
        (
            Method::Get,
            json!({ "path": "x", "lines": 1_000_000_000_000_u64 }),
            "lines",
            "from 0 to 4294967295, not 1000000000000",
        ),
        (Method::Grep, json!({ "pattern": "x", "before": 70_000 }), "before", "from 0 to 65535, not 70000"),
    ];
    for (method, params, parameter, why) in table {
        let error = call(method, params).unwrap_err();
        assert_eq!(error.data.get("parameter"), Some(&json!(parameter)), "{error:?}");
        assert!(error.message.contains(why), "{}", error.message);
    }
}

#[test]
fn absent_parameters_have_their_defaults_and_are_not_sent() {
    let AnyCall::Sync(sync) = call(Method::Sync, json!({})).unwrap() else { panic!() };
    assert!(sync.wait && sync.vault.is_none());
    assert_eq!(json!(sync), json!({}));
    let AnyCall::Search(search) = call(Method::Search, json!({ "query": "x", "limit": null })).unwrap() else {
        panic!()
    };
    assert!(!search.fresh && search.limit.is_none());
    assert_eq!(json!(search), json!({ "query": "x" }));
    assert!(call(Method::Search, json!({})).is_err());
}

#[test]
fn watches_are_of_two_kinds_and_errors_say_which() {
    let watch = json!([{ "query": "x", "limit": 3 }, { "token": "t", "path": "a.md", "vault": "v" }, { "token": 9, "text": "w" }]);
    let AnyCall::Subscribe(asked) = call(Method::Subscribe, json!({ "watch": watch })).unwrap() else { panic!() };
    assert_eq!(json!(asked.watch), watch, "and they are sent as they came");
    let watches = asked.watch.unwrap();
    assert!(matches!(watches[0].shows, Watched::Search(_)) && watches[1].shows.note() == Some("a.md"));
    for (wrong, why) in [
        (json!(["x"]), "`watch[0]` is an object"),
        (json!([{ "query": "x" }, { "query": 1 }]), "`watch[1]`: `query` must be a string, not 1"),
        (json!([{ "query": "x", "token": 1.5 }]), "`watch[0].token`"),
    ] {
        let (message, _) = refused(Method::Subscribe, json!({ "watch": wrong }));
        assert!(message.contains(why), "{message}");
    }
    let error = call(Method::Subscribe, json!({ "watch": [{ "query": 1 }] })).unwrap_err();
    assert_eq!(error.data.get("parameter"), Some(&json!("watch[0]")), "{error:?}");
}

#[test]
fn long_values_and_names_are_cut() {
    for params in [json!({ "query": { "x": "y".repeat(10_000) } }), json!({ "x".repeat(10_000): 1 })] {
        let error = call(Method::Search, params).unwrap_err();
        assert!(error.to_value().to_string().len() < 1_000, "{error}");
    }
}
