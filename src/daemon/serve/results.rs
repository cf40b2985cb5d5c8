//! Watches: what of the vaults a client wants to be shown for as long as it is connected, and how the results of one
//! moment differ from those of another. Pure.

use std::collections::HashMap;

use serde_json::json;

use protocol::decision::Decision;
use protocol::envelope::{ErrorKind, Id, RpcError};
use protocol::events::{MAX_WATCHES, Results, Watch, Watched};
use protocol::hit::Hit;
use protocol::search::{Expand, MAX_HITS, SearchAnswer};

/// Longest results of a watch. They are sent whole, and so many as there are watches may wait for a slow reader.
pub const MAX_RESULTS: usize = 1 << 20;

/// A watch that is followed.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenWatch {
    /// What the client calls it.
    pub token: Id,
    /// What it shows.
    pub shows: Watched,
}

/// The watches of a request; their tokens differ.
pub fn open(watches: Vec<Watch>) -> Result<Vec<OpenWatch>, RpcError> {
    let invalid = |why: String| RpcError::new(ErrorKind::InvalidParams, why);
    if watches.len() > MAX_WATCHES {
        return Err(invalid(format!("{} watches are more than the {MAX_WATCHES} of one connection", watches.len()))
            .hint("another connection has as many again"));
    }
    let mut open: Vec<OpenWatch> = Vec::with_capacity(watches.len());
    for (i, watch) in watches.into_iter().enumerate() {
        let token = watch.token.unwrap_or(Id::Number(i as i64));
        if open.iter().any(|other| other.token == token) {
            return Err(invalid(format!("`watch[{i}]` has the token of another watch")));
        }
        let shows = shown(watch.shows).map_err(|why| invalid(format!("`watch[{i}]`: {why}")))?;
        open.push(OpenWatch { token, shows });
    }
    Ok(open)
}

/// What is looked at for a watch.
fn shown(shows: Watched) -> Result<Watched, String> {
    let limit = shows.limit();
    let shows = match shows {
        Watched::Search(mut request) => {
            // A look at every save must neither wait for the next look at the disk nor ask, and pay, a model.
            (request.fresh, request.expect) = (false, None);
            (request.expand, request.rerank) = (Some(Expand::Off), Some(false));
            Watched::Search(request)
        }
        Watched::Related(request) => {
            if [&request.path, &request.chunk, &request.text].iter().filter(|given| given.is_some()).count() != 1 {
                return Err("give exactly one of `query`, `path`, `chunk` and `text`".to_owned());
            }
            Watched::Related(request)
        }
    };
    match limit {
        Some(limit) if limit == 0 || limit > MAX_HITS => Err(format!("`limit` must be 1 to {MAX_HITS}, not {limit}")),
        _ => Ok(shows),
    }
}

/// What a look at a watch found.
#[derive(Clone, Debug, Default)]
pub struct WatchAnswer {
    /// What is shown.
    pub answer: SearchAnswer,
    /// The newest decision about the note that is asked about.
    pub decision: Option<Decision>,
}

/// What of results makes a client want to hear of them; scores and times do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Chunks in order, each with a digest of what is shown of it.
    hits: Vec<(String, blake3::Hash)>,
    decided: Option<(u64, i64)>,
    error: Option<(ErrorKind, String)>,
}

impl Shown {
    /// Of a look.
    pub fn of(found: &Result<WatchAnswer, RpcError>) -> Shown {
        match found {
            Ok(WatchAnswer { answer, decision }) => Shown {
                hits: answer.hits.iter().map(|hit| (hit.chunk.clone(), digest(hit))).collect(),
                decided: decision.as_ref().map(|decision| (decision.seq, decision.at)),
                error: None,
            },
            Err(error) => Shown { error: Some((error.kind, error.message.clone())), ..Shown::default() },
        }
    }

    /// Whether there was nothing to show.
    pub fn is_error(&self) -> bool {
        self.error.is_some()
    }
}

fn digest(hit: &Hit) -> blake3::Hash {
    let mut shown = hit.clone();
    (shown.score, shown.mtime, shown.stale, shown.lanes) = (0.0, 0, false, None);
    shown.also.iter_mut().for_each(|also| also.score = 0.0);
    blake3::hash(json!(shown).to_string().as_bytes())
}

/// Parameters of the event that tells what was found to a client that has heard of `before`.
pub fn event(token: &Id, found: Result<WatchAnswer, RpcError>, before: Option<&Shown>) -> Results {
    let now = Shown::of(&found);
    let old: HashMap<&str, (usize, blake3::Hash)> = places(before.map_or(&[], |state| &state.hits));
    let new = places(&now.hits);
    let of = |holds: &dyn Fn(&str, usize, blake3::Hash) -> bool| -> Vec<String> {
        let hits = now.hits.iter().enumerate();
        hits.filter(|(i, (chunk, digest))| holds(chunk, *i, *digest)).map(|(_, (chunk, _))| chunk.clone()).collect()
    };
    let came = of(&|chunk, _, _| !old.contains_key(chunk));
    let moved = of(&|chunk, i, _| old.get(chunk).is_some_and(|(place, _)| *place != i));
    let changed = of(&|chunk, _, digest| old.get(chunk).is_some_and(|(_, before)| *before != digest));
    let gone = before.iter().flat_map(|state| &state.hits).filter(|(chunk, _)| !new.contains_key(chunk.as_str()));
    let went = gone.map(|(chunk, _)| chunk.clone()).collect();
    let (WatchAnswer { answer, decision }, error) = match found {
        Ok(found) => (found, None),
        Err(error) => (WatchAnswer::default(), Some(error.to_value())),
    };
    let SearchAnswer { hits, seq, truncated, warnings, .. } = answer;
    Results { token: token.clone(), seq, hits, truncated, warnings, came, went, moved, changed, decision, error }
}

fn places(hits: &[(String, blake3::Hash)]) -> HashMap<&str, (usize, blake3::Hash)> {
    hits.iter().enumerate().map(|(i, (chunk, digest))| (chunk.as_str(), (i, *digest))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::serve::watch_tests::found;
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
            (vec![json!({ "query": 1 })], "`watch[0]`: invalid type"),
            (vec![json!({ "query": "x", "limit": 0 })], "`limit` must be 1 to 200"),
            (vec![json!({ "query": "x", "token": 1.5 })], "`watch[0].token`"),
            (vec![json!({ "query": "x", "token": 1 }), json!({ "query": "y" })], "the token of another"),
            (long, "17 watches are more than the 16"),
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
        let before = Shown::of(&Ok(first.clone()));
        let event_now = |found: &WatchAnswer, before: Option<&Shown>| {
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
    fn scores_and_times_alone_are_no_news() {
        let first = found(&[("a", "one")]);
        let mut second = first.clone();
        let hit = &mut second.answer.hits[0];
        (hit.score, hit.mtime, hit.stale, second.answer.seq) = (0.1, 99, true, 8);
        assert_eq!(Shown::of(&Ok(first.clone())), Shown::of(&Ok(second.clone())));
        second.answer.hits[0].line = 2;
        assert_ne!(Shown::of(&Ok(first)), Shown::of(&Ok(second)));
    }
}
