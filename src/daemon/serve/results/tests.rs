use super::*;
use crate::daemon::serve::tests::watches::found;
use protocol::envelope::Params;
use protocol::table::{AnyCall, Method};
use serde_json::Value;

fn read(given: Value) -> Result<Vec<OpenWatch>, RpcError> {
    let params = Params::from_iter([("watch".to_owned(), given)]);
    let AnyCall::Subscribe(asked) = AnyCall::read(Method::Subscribe, params)? else { unreachable!() };
    open(asked.watch.unwrap_or_default())
}

#[test]
fn watches_are_read_and_what_costs_is_left_out() {
    let given = json!([
        { "query": "x", "fresh": true, "expand": "hyde", "rerank": true, "expect": "a.md", "limit": 3 },
        { "token": "t", "path": "a.md", "vault": "v" },
        { "token": 9, "text": "words" },
    ]);
    let watches = read(given).unwrap();
    let tokens: Vec<Value> = watches.iter().map(|watch| json!(watch.token)).collect();
    assert_eq!(tokens, [json!(0), json!("t"), json!(9)]);
    let Watched::Search(request) = &watches[0].shows else { panic!("{watches:?}") };
    assert!(!request.fresh && request.expect.is_none() && request.limit == Some(3));
    assert_eq!((request.expand, request.rerank), (Some(Expand::Off), Some(false)));
    assert_eq!((watches[1].shows.vault(), watches[1].shows.note()), (Some("v"), Some("a.md")));
}

#[test]
fn wrong_watches_say_which_and_why() {
    let long = vec![json!({ "query": "x" }); MAX_WATCHES + 1];
    let table: Vec<(Vec<Value>, &str)> = vec![
        (vec![json!("x")], "`watch[0]` is an object"),
        (vec![json!({ "query": "x" }), json!({})], "`watch[1]`: give exactly one"),
        (vec![json!({ "path": "a", "chunk": "b" })], "exactly one"),
        (vec![json!({ "query": 1 })], "`watch[0]`: `query` must be a string, not 1"),
        (vec![json!({ "query": "x", "limit": 0 })], "`limit` must be 1 to 200"),
        (vec![json!({ "query": "x", "token": 1.5 })], "`watch[0].token`"),
        (vec![json!({ "query": "x", "token": 1 }), json!({ "query": "y" })], "the token of another"),
        (long, "17 watches are more than the 16"),
        (vec![json!({ "query": "x", "path": "a.md" })], "`watch[0]`: `path` is not known"),
        (vec![json!({ "path": "a.md", "mode": "dense" })], "`watch[0]`: `mode` is not known"),
    ];
    for (given, why) in table {
        let error = read(json!(given)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParams);
        assert!(error.message.contains(why), "{}", error.message);
    }
}

#[test]
fn an_event_tells_what_came_went_moved_and_changed() {
    let token = Id::Text("t".into());
    let first = found(&[("a", "one"), ("b", "two"), ("c", "three")]);
    let before = ShownResults::of(&Ok(first.clone()));
    let event_now = |found: &WatchAnswer, before: Option<&ShownResults>| {
        let event = json!(event(&token, Ok(found.clone()), before));
        ["came", "went", "moved", "changed"].map(|name| event[name].clone())
    };
    assert_eq!(event_now(&first, None), [json!(["a", "b", "c"]), json!([]), json!([]), json!([])]);
    let second = found(&[("a", "one"), ("c", "three!"), ("d", "four")]);
    assert_eq!(event_now(&second, Some(&before)), [json!(["d"]), json!(["b"]), json!(["c"]), json!(["c"])]);
    let error = RpcError::new(ErrorKind::NotFound, "no such note");
    let event = json!(event(&token, Err(error), Some(&before)));
    assert_eq!((&event["kind"], &event["token"], &event["hits"]), (&json!("results"), &json!("t"), &json!([])));
    assert_eq!((&event["went"], &event["error"]["code"]), (&json!(["a", "b", "c"]), &json!(1005)));
}

#[test]
fn notes_at_one_path_of_two_vaults_are_two() {
    let token = Id::Text("t".into());
    let mut both = found(&[("a", "one"), ("a", "two")]);
    both.answer.hits[1].vault = "w".into();
    let mut first = both.clone();
    first.answer.hits.pop();
    let mut second = both.clone();
    second.answer.hits.remove(0);
    let told = |now: &WatchAnswer, before: &WatchAnswer| {
        let event = json!(event(&token, Ok(now.clone()), Some(&ShownResults::of(&Ok(before.clone())))));
        ["came", "went", "moved", "changed"].map(|name| event[name].clone())
    };
    assert_eq!(told(&first, &both), [json!([]), json!(["a"]), json!([]), json!([])]);
    assert_eq!(told(&both, &first), [json!(["a"]), json!([]), json!([]), json!([])]);
    assert_eq!(told(&second, &both), [json!([]), json!(["a"]), json!(["a"]), json!([])]);
    let mut changed = both.clone();
    changed.answer.hits[1].text = "three".into();
    assert_eq!(told(&changed, &both), [json!([]), json!([]), json!([]), json!(["a"])]);
}

#[test]
fn scores_and_times_alone_are_no_news() {
    let first = found(&[("a", "one")]);
    let mut second = first.clone();
    let hit = &mut second.answer.hits[0];
    (hit.score, hit.mtime, hit.stale, second.answer.seq) = (0.1, 99, true, 8);
    assert_eq!(ShownResults::of(&Ok(first.clone())), ShownResults::of(&Ok(second.clone())));
    second.answer.hits[0].line = 2;
    assert_ne!(ShownResults::of(&Ok(first)), ShownResults::of(&Ok(second)));
}
