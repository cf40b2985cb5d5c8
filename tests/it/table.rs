//! The table of methods against a real daemon: each method answers with the result that its entry says, or refuses with a
//! kind of error that its entry lists.

use protocol::ask::AskRequest;
use protocol::contexts::{GenerateRequest, ReviewRequest, StartContextsRequest, StatsRequest, StopContextsRequest};
use protocol::daemon::{
    CheckConfigRequest, CostRequest, HelloRequest, PingRequest, ReloadRequest, ResumeRequest, ShutdownRequest,
};
use protocol::decision::{ExplainRequest, PlanRequest};
use protocol::envelope::ErrorKind;
use protocol::events::{SubscribeRequest, Watch, Watched};
use protocol::generations::{BuildGenerationRequest, DropGenerationRequest, GenerationsRequest, UseGenerationRequest};
use protocol::graph::GraphRequest;
use protocol::grep::GrepRequest;
use protocol::jobs::{CancelRequest, JobKind, JobsRequest, PauseRequest, RebuildRequest, SyncRequest};
use protocol::names::{NameKind, NamesRequest};
use protocol::note::{GetRequest, RecentRequest};
use protocol::search::{Expand, RelatedRequest, SearchFilter, SearchRequest};
use protocol::status::StatusRequest;
use protocol::table::{Call, Method};
use protocol::team::{TeamDropRequest, TeamInitRequest, TeamPublishRequest, TeamStatusRequest, TeamVerifyRequest};
use serde_json::{Value, json};

use crate::support::{Daemon, Place};

/// Makes calls and remembers of which methods.
struct Caller {
    daemon: Daemon,
    called: Vec<Method>,
}

impl Caller {
    /// Calls; the kind of the error, if it is refused.
    fn call<C: Call>(&mut self, call: &C) -> Option<ErrorKind> {
        let method = C::METHOD;
        self.called.push(method);
        match self.daemon.try_call(method.name(), json!(call)) {
            Ok(answer) => {
                let read: C::Answer = serde_json::from_value(answer.clone())
                    .unwrap_or_else(|error| panic!("{}: {error}: {answer}", method.name()));
                let (written, mut lost) = (json!(read), Vec::new());
                unknown(&answer, &written, "", &mut lost);
                assert!(lost.is_empty(), "{} says what its type does not know: {lost:?}", method.name());
                None
            }
            Err(error) => {
                let kind = ErrorKind::ALL.iter().find(|kind| error["data"]["kind"] == kind.name());
                let kind = *kind.unwrap_or_else(|| panic!("{error}"));
                assert!(method.may_fail_with(kind), "the entry of {} does not list: {error}", method.name());
                Some(kind)
            }
        }
    }

    fn answers<C: Call>(&mut self, call: &C) {
        assert_eq!(self.call(call), None, "{}", C::METHOD.name());
    }

    fn refuses<C: Call>(&mut self, call: &C, kind: ErrorKind) {
        assert_eq!(self.call(call), Some(kind), "{}", C::METHOD.name());
    }
}

/// Members of `said` that `read` does not have.
fn unknown(said: &Value, read: &Value, path: &str, lost: &mut Vec<String>) {
    match (said, read) {
        (Value::Object(said), Value::Object(read)) => {
            for (name, value) in said {
                let path = format!("{path}.{name}");
                match read.get(name) {
                    Some(read) => unknown(value, read, &path, lost),
                    None if value.is_null() => {}
                    None => lost.push(path),
                }
            }
        }
        (Value::Array(said), Value::Array(read)) => {
            said.iter().zip(read).for_each(|(said, read)| unknown(said, read, path, lost));
        }
        _ => {}
    }
}

#[test]
fn each_method_answers_or_refuses_as_its_entry_says() {
    let place = Place::with_sample();
    place.write("Heron.md", "# Heron\n\nHerons hunt in [[Water]].\n\n## Nesting\n\nHigh up in old alders.\n");
    let mut caller = Caller { daemon: place.start(), called: Vec::new() };
    let path = || "Heron.md".to_owned();
    let nowhere = || Some("no such vault".to_owned());

    caller.answers(&PingRequest {});
    caller.answers(&HelloRequest::of("test"));
    caller.refuses(&HelloRequest { protocol: Some(99), ..HelloRequest::default() }, ErrorKind::UnsupportedProtocol);
    caller.answers(&SyncRequest::default());
    caller.refuses(&SyncRequest { vault: nowhere(), ..SyncRequest::default() }, ErrorKind::NotFound);
    caller.answers(&StatusRequest::default());
    caller.refuses(&StatusRequest { vault: nowhere(), ..StatusRequest::default() }, ErrorKind::NotFound);
    let filter = SearchFilter { path: Some("Heron.md".to_owned()), ..SearchFilter::default() };
    let search = SearchRequest { query: "herons".to_owned(), filter: Some(filter), ..SearchRequest::default() };
    let (fresh, expect, expand) = (true, Some(path()), Some(Expand::Queries));
    caller.answers(&SearchRequest { fresh, expect, expand, explain: true, ..search.clone() });
    caller.refuses(&SearchRequest { limit: Some(0), ..search.clone() }, ErrorKind::InvalidParams);
    caller.refuses(&SearchRequest { vault: nowhere(), ..search.clone() }, ErrorKind::NotFound);
    let rerank = SearchRequest { rerank: Some(true), ..search.clone() };
    assert!(caller.call(&rerank).is_some(), "no reranker is configured");
    caller.refuses(
        &AskRequest { question: "Where do herons nest?".to_owned(), ..AskRequest::default() },
        ErrorKind::NotConfigured,
    );
    caller.answers(&RelatedRequest { path: Some(path()), explain: true, ..RelatedRequest::default() });
    caller.refuses(&RelatedRequest::default(), ErrorKind::InvalidParams);
    caller.refuses(
        &RelatedRequest { path: Some("None.md".to_owned()), ..RelatedRequest::default() },
        ErrorKind::NotFound,
    );
    caller.answers(&GraphRequest { edges: true, ..GraphRequest::default() });
    caller.refuses(&GraphRequest { vault: nowhere(), ..GraphRequest::default() }, ErrorKind::NotFound);
    caller.answers(&GetRequest { path: path(), ..GetRequest::default() });
    caller.refuses(&GetRequest { path: "None.md".to_owned(), ..GetRequest::default() }, ErrorKind::NotFound);
    caller.answers(&RecentRequest { limit: Some(3), ..RecentRequest::default() });
    for what in [NameKind::Notes, NameKind::Tags, NameKind::Folders, NameKind::Types, NameKind::Properties] {
        caller.answers(&NamesRequest { what, ..NamesRequest::default() });
    }
    caller.refuses(&NamesRequest { limit: Some(0), ..NamesRequest::default() }, ErrorKind::InvalidParams);
    let lines = GrepRequest { pattern: "herons?".to_owned(), before: 1, ..GrepRequest::default() };
    caller.answers(&lines);
    caller.refuses(&GrepRequest { vault: nowhere(), ..lines }, ErrorKind::NotFound);
    caller.answers(&PlanRequest { path: path(), text: Some("# Other\n".to_owned()), ..PlanRequest::default() });
    caller.answers(&ExplainRequest { path: path(), vault: None });
    caller.answers(&RebuildRequest { dry_run: true, ..RebuildRequest::default() });
    caller.answers(&RebuildRequest { path: Some(path()), wait: true, ..RebuildRequest::default() });
    let (chunk, document) = ("High up.".to_owned(), "# Heron\n\nHigh up.\n".to_owned());
    caller.answers(&GenerateRequest { chunk: chunk.clone(), document, ..GenerateRequest::default() });
    let document = "# Heron\n".to_owned();
    caller.refuses(&GenerateRequest { chunk, document, ..GenerateRequest::default() }, ErrorKind::InvalidParams);
    caller.answers(&ReviewRequest::default());
    caller.refuses(&StartContextsRequest::default(), ErrorKind::InvalidParams);
    caller.refuses(&StopContextsRequest::default(), ErrorKind::InvalidParams);
    caller.answers(&GenerationsRequest::default());
    let (name, vault) = ("none".to_owned(), None);
    caller.refuses(&BuildGenerationRequest { name: name.clone(), vault: None, dry_run: true }, ErrorKind::NotFound);
    caller.refuses(&UseGenerationRequest { name: name.clone(), vault: None }, ErrorKind::NotFound);
    caller.refuses(&DropGenerationRequest { name, vault }, ErrorKind::NotFound);
    caller.refuses(&TeamStatusRequest::default(), ErrorKind::NotConfigured);
    let team = "handbook".to_owned();
    caller.refuses(&TeamInitRequest { team: team.clone(), bits: false }, ErrorKind::NotFound);
    caller.refuses(&TeamPublishRequest::default(), ErrorKind::NotConfigured);
    caller.refuses(&TeamVerifyRequest::default(), ErrorKind::NotConfigured);
    caller.refuses(&TeamDropRequest { team }, ErrorKind::NotFound);
    caller.answers(&StatsRequest::default());
    caller.answers(&CostRequest {});
    caller.answers(&JobsRequest::default());
    caller.refuses(&CancelRequest::of_job(99_999), ErrorKind::NotFound);
    caller.refuses(&CancelRequest::default(), ErrorKind::InvalidParams);
    caller.answers(&PauseRequest { seconds: Some(60) });
    caller.answers(&ResumeRequest {});
    caller.answers(&CheckConfigRequest {});
    caller.answers(&ReloadRequest {});
    let watch = Watch { token: None, shows: Watched::Search(Box::new(search)) };
    caller.answers(&SubscribeRequest { events: Some(vec!["job".to_owned()]), watch: Some(vec![watch]) });
    caller.answers(&ShutdownRequest {});

    let missing: Vec<_> = Method::ALL.iter().filter(|method| !caller.called.contains(method)).collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
    assert_eq!(caller.daemon.wait_exit(), Some(0));
}

#[test]
fn a_parameter_that_is_misspelt_is_named_with_the_one_that_was_meant() {
    let place = Place::with(&[("a.md", "# A\n\nbadger\n")]);
    let mut daemon = place.start();
    for (method, params, parameter, nearest) in [
        ("search", json!({"query": "badger", "limmit": 1}), "limmit", Some("limit")),
        ("search", json!({"query": "badger", "filter": {"paht": "a.md"}}), "filter.paht", Some("path")),
        ("get", json!({"path": "a.md", "lin": 1}), "lin", Some("line")),
        ("rebuild", json!({"dryrun": true}), "dryrun", Some("dry_run")),
        ("pause", json!({"minutes": 5}), "minutes", None),
    ] {
        let error = daemon.try_call(method, params).unwrap_err();
        assert_eq!(error["data"]["kind"], "invalid_params", "{error}");
        assert_eq!(error["data"]["parameter"], parameter, "{error}");
        assert_eq!(error["data"]["nearest"].as_str(), nearest, "{error}");
    }
    // A misspelt `dry_run` has made nothing anew, and nothing is paused.
    let jobs = daemon.ask(&JobsRequest::default()).jobs;
    assert!(jobs.iter().all(|job| job.kind != JobKind::Rebuild), "{jobs:?}");
    assert_eq!(daemon.ask(&StatusRequest::default()).paused_until, None);
}
