//! Watches: what of the vaults a client wants to be shown for as long as it is connected, and how the results of one
//! moment differ from those of another. Pure.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use engine::handle::{Decision, RelatedRequest, SearchAnswer, SearchRequest};
use index::search::question::Expand;
use index::search::{Hit, MAX_HITS};
use protocol::envelope::{ErrorKind, Id, RpcError};

/// Watches of one connection at most.
pub const MAX_WATCHES: usize = 16;

/// Longest results of a watch. They are sent whole, and so many as there are watches may wait for a slow reader.
pub const MAX_RESULTS: usize = 1 << 20;

/// One watch.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// What the client calls it.
    pub token: Id,
    /// What it shows.
    pub asked: Asked,
}

/// What a watch shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// What a query finds.
    Search(Box<SearchRequest>),
    /// What lies near a note, a part of one, or a text.
    Related(Box<RelatedRequest>),
}

impl Asked {
    /// The only vault whose notes can show, if it is named.
    pub fn vault(&self) -> Option<&str> {
        match self {
            Asked::Search(request) => request.vault.as_deref(),
            Asked::Related(request) => request.vault.as_deref(),
        }
    }

    /// The note that is asked about, as the client names it.
    pub fn note(&self) -> Option<&str> {
        match self {
            Asked::Search(_) => None,
            Asked::Related(request) => request.path.as_deref(),
        }
    }
}

/// The watches of a request; their tokens differ.
pub fn read(watches: &[Value]) -> Result<Vec<Watch>, RpcError> {
    let invalid = |why: String| RpcError::new(ErrorKind::InvalidParams, why);
    if watches.len() > MAX_WATCHES {
        return Err(invalid(format!("{} watches are more than the {MAX_WATCHES} of one connection", watches.len()))
            .hint("another connection has as many again"));
    }
    let mut read: Vec<Watch> = Vec::with_capacity(watches.len());
    for (i, watch) in watches.iter().enumerate() {
        let Value::Object(params) = watch else { return Err(invalid(format!("`watch[{i}]` is an object"))) };
        let token = match params.get("token") {
            None | Some(Value::Null) => Id::Number(i as i64),
            Some(token) => Id::from_value(token)
                .ok_or_else(|| invalid(format!("`watch[{i}].token` is a string, or an integer within ±(2^53 - 1)")))?,
        };
        if read.iter().any(|other| other.token == token) {
            return Err(invalid(format!("`watch[{i}]` has the token of another watch")));
        }
        let asked = asked(params).map_err(|why| invalid(format!("`watch[{i}]`: {why}")))?;
        read.push(Watch { token, asked });
    }
    Ok(read)
}

fn asked(params: &Map<String, Value>) -> Result<Asked, String> {
    // The message may quote what was sent, which may be a whole note.
    let cut = |error: serde_json::Error| error.to_string().chars().take(300).collect::<String>();
    let object = || Value::Object(params.clone());
    let (asked, limit) = if params.contains_key("query") {
        let request: SearchRequest = serde_json::from_value(object()).map_err(cut)?;
        // A look at every save must neither wait for the next look at the disk nor ask, and pay, a model.
        let (fresh, expect, expand, rerank) = (false, None, Some(Expand::Off), Some(false));
        let limit = request.limit;
        (Asked::Search(Box::new(SearchRequest { fresh, expect, expand, rerank, ..request })), limit)
    } else {
        let request: RelatedRequest = serde_json::from_value(object()).map_err(cut)?;
        if [&request.path, &request.chunk, &request.text].iter().filter(|given| given.is_some()).count() != 1 {
            return Err("give exactly one of `query`, `path`, `chunk` and `text`".to_owned());
        }
        let limit = request.limit;
        (Asked::Related(Box::new(request)), limit)
    };
    match limit {
        Some(limit) if limit == 0 || limit > MAX_HITS => Err(format!("`limit` must be 1 to {MAX_HITS}, not {limit}")),
        _ => Ok(asked),
    }
}

/// What a look at a watch found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// What is shown.
    pub answer: SearchAnswer,
    /// The newest decision about the note that is asked about.
    pub decision: Option<Decision>,
}

/// Parameters of the event `results`: all that a watch shows now, and what became other since the event before.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// What the client calls the watch.
    #[schemars(with = "protocol::notification::Token")]
    pub token: Value,
    /// Sequence number of the snapshot; the highest of several.
    pub seq: u64,
    /// Best first.
    pub hits: Vec<Hit>,
    /// Whether there are more.
    pub truncated: bool,
    /// What was odd about the query.
    pub warnings: Vec<String>,
    /// Chunks that were not among the hits before.
    pub came: Vec<String>,
    /// Chunks that are no longer among them.
    pub went: Vec<String>,
    /// Chunks that have another place in their order.
    pub moved: Vec<String>,
    /// Chunks that read otherwise, they or what is shown with them.
    pub changed: Vec<String>,
    /// Of a watched note: the newest decision about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why there is nothing to show, in the form of an error reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

/// What of results makes a client want to hear of them; scores and times do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Chunks in order, each with a digest of what is shown of it.
    hits: Vec<(String, blake3::Hash)>,
    decided: Option<(u64, i64)>,
    error: Option<(ErrorKind, String)>,
}

impl State {
    /// Of a look.
    pub fn of(found: &Result<Found, RpcError>) -> State {
        match found {
            Ok(Found { answer, decision }) => State {
                hits: answer.hits.iter().map(|hit| (hit.chunk.clone(), digest(hit))).collect(),
                decided: decision.as_ref().map(|decision| (decision.seq, decision.at)),
                error: None,
            },
            Err(error) => State { error: Some((error.kind, error.message.clone())), ..State::default() },
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
pub fn event(token: &Id, found: Result<Found, RpcError>, before: Option<&State>) -> Value {
    let now = State::of(&found);
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
    let (Found { answer, decision }, error) = match found {
        Ok(found) => (found, None),
        Err(error) => (Found::default(), Some(error.to_value())),
    };
    let SearchAnswer { hits, seq, truncated, warnings, .. } = answer;
    let token = json!(token);
    let mut params =
        json!(Results { token, seq, hits, truncated, warnings, came, went, moved, changed, decision, error });
    params["kind"] = "results".into();
    params
}

fn places(hits: &[(String, blake3::Hash)]) -> HashMap<&str, (usize, blake3::Hash)> {
    hits.iter().enumerate().map(|(i, (chunk, digest))| (chunk.as_str(), (i, *digest))).collect()
}

/// The form of one watch in the JSON Schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
pub(super) enum WatchForm {
    /// What a query finds: the parameters of `search`. `fresh`, `expect`, `expand` and `rerank` do not count.
    Search {
        /// What the client calls it; its position if absent.
        token: Option<protocol::notification::Token>,
        #[serde(flatten)]
        request: SearchRequest,
    },
    /// What lies near a note, a part of one, or a text: the parameters of `related`.
    Related {
        /// What the client calls it; its position if absent.
        token: Option<protocol::notification::Token>,
        #[serde(flatten)]
        request: RelatedRequest,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::serve::watch_tests::found;

    #[test]
    fn watches_are_read_and_what_costs_is_left_out() {
        let given = [
            json!({ "query": "x", "fresh": true, "expand": "hyde", "rerank": true, "expect": "a.md", "limit": 3 }),
            json!({ "token": "t", "path": "a.md", "vault": "v" }),
            json!({ "token": 9, "text": "words" }),
        ];
        let watches = read(&given).unwrap();
        let tokens: Vec<Value> = watches.iter().map(|watch| json!(watch.token)).collect();
        assert_eq!(tokens, [json!(0), json!("t"), json!(9)]);
        let Asked::Search(request) = &watches[0].asked else { panic!("{watches:?}") };
        assert!(!request.fresh && request.expect.is_none() && request.limit == Some(3));
        assert_eq!((request.expand, request.rerank), (Some(Expand::Off), Some(false)));
        assert_eq!((watches[1].asked.vault(), watches[1].asked.note()), (Some("v"), Some("a.md")));
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
            let error = read(&given).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidParams);
            assert!(error.message.contains(why), "{}", error.message);
        }
    }

    #[test]
    fn an_event_tells_what_came_went_moved_and_changed() {
        let token = Id::Text("t".into());
        let first = found(&[("a", "one"), ("b", "two"), ("c", "three")]);
        let before = State::of(&Ok(first.clone()));
        let event_now = |found: &Found, before: Option<&State>| {
            let event = event(&token, Ok(found.clone()), before);
            ["came", "went", "moved", "changed"].map(|name| event[name].clone())
        };
        assert_eq!(event_now(&first, None), [json!(["a", "b", "c"]), json!([]), json!([]), json!([])]);
        let second = found(&[("a", "one"), ("c", "three!"), ("d", "four")]);
        assert_eq!(event_now(&second, Some(&before)), [json!(["d"]), json!(["b"]), json!(["c"]), json!(["c"])]);
        let error = RpcError::new(ErrorKind::NotFound, "no such note");
        let event = event(&token, Err(error), Some(&before));
        assert_eq!((&event["kind"], &event["token"], &event["hits"]), (&json!("results"), &json!("t"), &json!([])));
        assert_eq!((&event["went"], &event["error"]["code"]), (&json!(["a", "b", "c"]), &json!(1005)));
    }

    #[test]
    fn scores_and_times_alone_are_no_news() {
        let first = found(&[("a", "one")]);
        let mut second = first.clone();
        let hit = &mut second.answer.hits[0];
        (hit.score, hit.mtime, hit.stale, second.answer.seq) = (0.1, 99, true, 8);
        assert_eq!(State::of(&Ok(first.clone())), State::of(&Ok(second.clone())));
        second.answer.hits[0].line = 2;
        assert_ne!(State::of(&Ok(first)), State::of(&Ok(second)));
    }
}
