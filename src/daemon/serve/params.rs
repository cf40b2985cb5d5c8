//! What each method takes and gives, as types with JSON Schemas. No I/O.
//!
//! Unknown parameters are ignored, so that a newer client can talk to an older daemon. `search`, `related` and `get`
//! take the engine's own request types.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::results::{MAX_WATCHES, Results, WatchForm};
use engine::handle::{
    AskAnswer, AskRequest, Audience, CostReport, Decision, GenerateRequest, GeneratedContext, GenerationInfo,
    GetRequest, GraphAnswer, GraphRequest, Job, NoteText, Notice, Problem, RecentAnswer, RecentRequest, RelatedRequest,
    ReviewRequest, Reviewed, SearchAnswer, SearchRequest, State, Stats, Status, VaultInfo,
};
use protocol::envelope::{ErrorKind, Method, PROTOCOL};
use protocol::frame::{MAX_REPLY, MAX_REQUEST};
use protocol::notification::{Progress, Text, Token};

/// Most hits of one answer.
pub const MAX_HITS: usize = 200;

/// Nothing taken, or nothing given.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Nothing {}

/// Parameters of `hello`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Hello {
    /// The version that the client would like; 1 if absent.
    pub protocol: Option<u32>,
    /// Name and version of the client.
    pub client: Option<String>,
}

/// Result of `hello`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Welcome {
    /// The version in force.
    pub protocol: u32,
    /// All versions that the daemon speaks.
    pub protocols: Vec<u32>,
    /// Who answers.
    pub server: Server,
    /// The vaults that can be named.
    pub vaults: Vec<VaultInfo>,
    /// What is refused beyond.
    pub limits: Limits,
    /// What the daemon can do.
    pub features: Vec<String>,
    /// Whether assistants may have a model asked that costs (`mcp.allow_spending`).
    #[serde(default)]
    pub assistants_may_spend: bool,
}

/// Who answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// `situated`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
}

/// What is refused beyond.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Bytes of a request line.
    pub request_bytes: usize,
    /// Bytes of a reply line.
    pub reply_bytes: usize,
    /// Hits of an answer.
    pub hits: usize,
    /// Watches of a connection; 0 if the daemon knows none.
    #[serde(default)]
    pub watches: usize,
}

impl Limits {
    /// Those of this daemon.
    pub fn here() -> Self {
        Limits { request_bytes: MAX_REQUEST, reply_bytes: MAX_REPLY, hits: MAX_HITS, watches: MAX_WATCHES }
    }
}

/// Parameters of `status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OfVault {
    /// The vault by name; all if absent.
    pub vault: Option<String>,
}

/// Parameters of `plan`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanParams {
    /// The note's path in its vault.
    pub path: String,
    /// The vault by name; the default one if absent.
    #[serde(default)]
    pub vault: Option<String>,
    /// A draft to decide about in place of what is on disk.
    #[serde(default)]
    pub text: Option<String>,
}

/// Parameters of `explain`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainParams {
    /// The note's path in its vault.
    pub path: String,
    /// The vault by name; the default one if absent.
    #[serde(default)]
    pub vault: Option<String>,
}

/// Result of `explain`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Decisions {
    /// Newest first.
    pub decisions: Vec<Decision>,
}

/// Parameters of `sync`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SyncParams {
    /// The vault by name; all if absent.
    pub vault: Option<String>,
    /// A folder or note in it; everything if absent.
    pub path: Option<String>,
    /// Notes that seem gone are gone: settles the doubt about a vault that was emptied.
    pub accept_deletes: bool,
    /// Have contexts that serve and should be better (drifted, failed) made anew, of notes that changed in so many
    /// seconds; 0: of all notes.
    pub since: Option<u64>,
    /// Answer when the job has ended, rather than when it has begun.
    pub wait: bool,
    /// Token of `progress` notifications, wanted if present.
    #[schemars(with = "Option<Token>")]
    pub progress: Option<Value>,
}

impl Default for SyncParams {
    fn default() -> Self {
        SyncParams { vault: None, path: None, accept_deletes: false, since: None, wait: true, progress: None }
    }
}

/// Parameters of `rebuild`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RebuildParams {
    /// The vault by name; all if absent.
    pub vault: Option<String>,
    /// A folder or note in it; everything if absent.
    pub path: Option<String>,
    /// Only count what would be done, and say what it would cost.
    pub dry_run: bool,
    /// Have the provider's batch interface write the contexts: cheaper and slower.
    pub batch: bool,
    /// Who asks: assistants pay only with leave.
    pub audience: Audience,
    /// Answer when the job has ended, rather than when it has begun.
    pub wait: bool,
    /// Token of `progress` notifications, wanted if present.
    #[schemars(with = "Option<Token>")]
    pub progress: Option<Value>,
}

/// Result of `generations`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Generations {
    /// By vault, the plain one first.
    pub generations: Vec<GenerationInfo>,
}

/// Parameters of `generations.build`, `generations.use` and `generations.drop`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GenerationParams {
    /// Its name in the configuration; `default` is that of `[context]`.
    pub name: String,
    /// The vault by name; all if absent.
    #[serde(default)]
    pub vault: Option<String>,
    /// Only say what building it would take.
    #[serde(default)]
    pub dry_run: bool,
}

/// Result of `contexts.review`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reviews {
    /// An even sample of the contexts that a model wrote.
    pub contexts: Vec<Reviewed>,
}

/// Result of `jobs`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Jobs {
    /// Running ones first.
    pub jobs: Vec<Job>,
}

/// Parameters of `cancel`: one of the two.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CancelParams {
    /// A request of this connection, by its id.
    #[schemars(with = "Option<Token>")]
    pub id: Option<Value>,
    /// A job, by its number.
    pub job: Option<u64>,
}

/// Parameters of `pause`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PauseParams {
    /// For how long; until `resume` if absent.
    pub seconds: Option<u64>,
}

/// Result of `config.check` and `reload`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problems {
    /// What is wrong; empty if nothing is.
    pub problems: Vec<Problem>,
}

/// Kinds of events that can be subscribed to.
pub const EVENTS: &[&str] = &["decision", "index", "state", "job"];

/// Parameters of `subscribe`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SubscribeParams {
    /// Kinds of events: `decision`, `index`, `state`, `job`. If absent all, but none beside `watch`.
    pub events: Option<Vec<String>>,
    /// Queries and notes; `results` events tell what they show, now and whenever it changes.
    #[schemars(with = "Option<Vec<WatchForm>>")]
    pub watch: Option<Vec<Value>>,
}

/// Result of `subscribe`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Subscribed {
    /// What will be sent; kinds that the daemon does not know are left out.
    pub events: Vec<String>,
    /// The tokens of the watches, in their order.
    #[serde(default)]
    #[schemars(with = "Vec<Token>")]
    pub watch: Vec<Value>,
}

/// The kind of an event and its parameters on the wire: the notice's fields beside `kind`, but a job whole under
/// `job`, for it has a `kind` of its own.
pub fn event(notice: &Notice) -> (&'static str, Value) {
    match notice {
        Notice::Decision(decision) => {
            let mut params = json!(decision);
            params["kind"] = "decision".into();
            ("decision", params)
        }
        Notice::Index { vault, seq, notes, chunks } => {
            ("index", json!({ "kind": "index", "vault": vault, "seq": seq, "notes": notes, "chunks": chunks }))
        }
        Notice::State { state } => ("state", json!({ "kind": "state", "state": state })),
        Notice::Job(job) => ("job", json!({ "kind": "job", "job": job })),
    }
}

/// Parameters of the `event` that says how many notifications a slow reader has missed.
pub fn lagged(missed: u64) -> Value {
    json!({ "kind": "lagged", "missed": missed })
}

/// The whole protocol as JSON Schema: parameters and results per method, notifications, errors.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut methods = Map::new();
    for &method in Method::ALL {
        let (params, result) = schemas(method, &mut generator);
        methods.insert(
            method.name().to_owned(),
            json!({ "description": method.about(), "params": params, "result": result }),
        );
    }
    let progress = generator.subschema_for::<Progress>();
    let text = generator.subschema_for::<Text>();
    let events = events(&mut generator);
    let errors: Vec<Value> =
        ErrorKind::ALL.iter().map(|kind| json!({ "code": kind.code(), "kind": kind.name() })).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "situated",
        "protocol": PROTOCOL,
        "methods": methods,
        "notifications": {
            "progress": progress,
            "text": text,
            "event": { "type": "object", "required": ["kind"], "oneOf": events },
        },
        "errors": errors,
        "$defs": generator.take_definitions(true),
    })
}

/// The parameters of `event`, by kind.
fn events(generator: &mut SchemaGenerator) -> Vec<Value> {
    let (text, count) = (json!({ "type": "string" }), json!({ "type": "integer", "minimum": 0 }));
    let of = |kind: &str, properties: Value| {
        let mut properties = properties.as_object().cloned().unwrap_or_default();
        properties.insert("kind".to_owned(), json!({ "const": kind }));
        json!({ "properties": &properties, "required": properties.keys().collect::<Vec<_>>() })
    };
    let with = |kind: &str, members: Schema| json!({ "allOf": [of(kind, json!({})), members] });
    vec![
        with("decision", generator.subschema_for::<Decision>()),
        of("index", json!({ "vault": text, "seq": count, "notes": count, "chunks": count })),
        of("state", json!({ "state": generator.subschema_for::<State>() })),
        of("job", json!({ "job": generator.subschema_for::<Job>() })),
        with("results", generator.subschema_for::<Results>()),
        of("lagged", json!({ "missed": count })),
    ]
}

fn schemas(method: Method, generator: &mut SchemaGenerator) -> (Schema, Schema) {
    fn pair<P: JsonSchema, R: JsonSchema>(generator: &mut SchemaGenerator) -> (Schema, Schema) {
        (generator.subschema_for::<P>(), generator.subschema_for::<R>())
    }
    match method {
        Method::Ping | Method::Resume | Method::Shutdown => pair::<Nothing, Nothing>(generator),
        Method::Hello => pair::<Hello, Welcome>(generator),
        Method::Status => pair::<OfVault, Status>(generator),
        Method::Search => pair::<SearchRequest, SearchAnswer>(generator),
        Method::Ask => pair::<AskRequest, AskAnswer>(generator),
        Method::Related => pair::<RelatedRequest, SearchAnswer>(generator),
        Method::Graph => pair::<GraphRequest, GraphAnswer>(generator),
        Method::Get => pair::<GetRequest, NoteText>(generator),
        Method::Recent => pair::<RecentRequest, RecentAnswer>(generator),
        Method::Plan => pair::<PlanParams, Decision>(generator),
        Method::Explain => pair::<ExplainParams, Decisions>(generator),
        Method::Sync => pair::<SyncParams, Job>(generator),
        Method::Rebuild => pair::<RebuildParams, Job>(generator),
        Method::GenerateContext => pair::<GenerateRequest, GeneratedContext>(generator),
        Method::ContextsReview => pair::<ReviewRequest, Reviews>(generator),
        Method::Generations => pair::<OfVault, Generations>(generator),
        Method::GenerationsBuild => pair::<GenerationParams, Job>(generator),
        Method::GenerationsUse | Method::GenerationsDrop => pair::<GenerationParams, Nothing>(generator),
        Method::Stats => pair::<OfVault, Stats>(generator),
        Method::Cost => pair::<Nothing, CostReport>(generator),
        Method::Jobs => pair::<Nothing, Jobs>(generator),
        Method::Cancel => pair::<CancelParams, Nothing>(generator),
        Method::Pause => pair::<PauseParams, Nothing>(generator),
        Method::ConfigCheck | Method::Reload => pair::<Nothing, Problems>(generator),
        Method::Subscribe => pair::<SubscribeParams, Subscribed>(generator),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::handle::Scope;

    #[test]
    fn defaults_and_unknown_members() {
        let sync: SyncParams = serde_json::from_value(json!({ "later": 1 })).unwrap();
        assert!(sync.wait && sync.vault.is_none());
        let search: SearchRequest = serde_json::from_value(json!({ "query": "x", "nonsense": [] })).unwrap();
        assert!(!search.fresh && search.limit.is_none());
        assert!(serde_json::from_value::<SearchRequest>(json!({})).is_err());
        let filter: SearchRequest =
            serde_json::from_value(json!({ "query": "x", "filter": { "type": "daily" } })).unwrap();
        assert_eq!(filter.filter.unwrap().note_type.as_deref(), Some("daily"));
    }

    #[test]
    fn events_say_their_kind() {
        let job = Job {
            job: 3,
            kind: "sync".into(),
            scope: Scope::default(),
            state: "running".into(),
            done: 0,
            total: None,
            failed: vec![],
            changed: 0,
            bought: 0,
            took_ms: 0,
            phase: String::new(),
            seq: 0,
            contexts: None,
            estimate: None,
            problem: None,
            parts: Vec::new(),
        };
        let (kind, params) = event(&Notice::Job(Box::new(job)));
        assert_eq!((kind, &params["kind"], &params["job"]["kind"]), ("job", &json!("job"), &json!("sync")));
        let (kind, params) = event(&Notice::State { state: State::Idle });
        assert_eq!((kind, params), ("state", json!({ "kind": "state", "state": "idle" })));
        assert!(EVENTS.contains(&kind));
    }

    #[test]
    fn the_schema_is_closed() {
        fn references(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(object) => {
                    if let Some(Value::String(reference)) = object.get("$ref") {
                        found.push(reference.clone());
                    }
                    object.values().for_each(|value| references(value, found));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let schema = schema();
        assert_eq!(schema["methods"].as_object().unwrap().len(), Method::ALL.len());
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let name = reference.strip_prefix("#/$defs/").unwrap();
            assert!(schema["$defs"].get(name).is_some(), "{reference}");
        }
        assert!(schema["$defs"]["SearchRequest"]["properties"]["query"].is_object());
    }
}
