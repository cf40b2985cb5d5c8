//! What is told unasked: `subscribe`, its events, and watches.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::decision::Decision;
use crate::envelope::Id;
use crate::hit::Hit;
use crate::is_default;
use crate::jobs::Job;
use crate::params;
use crate::search::{RelatedRequest, SearchRequest};
use crate::status::RunState;

/// Watches of one connection at most.
pub const MAX_WATCHES: usize = 16;

/// Kinds of events that can be subscribed to.
pub const EVENTS: &[&str] = &["decision", "index", "state", "job"];

/// Parameters of `subscribe`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SubscribeRequest {
    /// Kinds of events: `decision`, `index`, `state`, `job`. If absent all, but none beside `watch`.
    #[serde(skip_serializing_if = "is_default")]
    pub events: Option<Vec<String>>,
    /// Queries and notes; `results` events tell what they show, now and whenever it changes.
    #[serde(skip_serializing_if = "is_default", deserialize_with = "watches")]
    pub watch: Option<Vec<Watch>>,
}

/// One watch: what is shown for as long as the connection lasts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Watch {
    /// What the client calls it; its position if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub token: Option<Id>,
    /// What it shows.
    #[serde(flatten)]
    pub shows: Watched,
}

/// What a watch shows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Watched {
    /// What a query finds: the parameters of `search`. `fresh`, `expect`, `expand` and `rerank` do not count.
    Search(Box<SearchRequest>),
    /// What lies near a note, a part of one, or a text: the parameters of `related`.
    Related(Box<RelatedRequest>),
}

impl Watched {
    /// The only vault whose notes can show, if it is named.
    pub fn vault(&self) -> Option<&str> {
        match self {
            Watched::Search(request) => request.vault.as_deref(),
            Watched::Related(request) => request.vault.as_deref(),
        }
    }

    /// The note that is asked about, as the client names it.
    pub fn note(&self) -> Option<&str> {
        match self {
            Watched::Search(_) => None,
            Watched::Related(request) => request.path.as_deref(),
        }
    }

    /// Hits at most, if that is said.
    pub fn limit(&self) -> Option<usize> {
        match self {
            Watched::Search(request) => request.limit,
            Watched::Related(request) => request.limit,
        }
    }
}

/// Reads watches so that an error says which of them it is about.
fn watches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Watch>>, D::Error> {
    let given = Option::<Vec<Value>>::deserialize(deserializer)?;
    let read = |(i, value): (usize, Value)| Watch::read(value, i).map_err(D::Error::custom);
    given.map(|given| given.into_iter().enumerate().map(read).collect()).transpose()
}

impl Watch {
    fn read(value: Value, i: usize) -> Result<Watch, String> {
        let Value::Object(mut params) = value else { return Err(format!("`watch[{i}]` is an object")) };
        let token = match params.remove("token") {
            None | Some(Value::Null) => None,
            Some(token) => Some(
                Id::from_value(&token)
                    .ok_or_else(|| format!("`watch[{i}].token` is a string, or an integer within ±(2^53 - 1)"))?,
            ),
        };
        // What is known of a watch is known of either kind; one must not have what is the other's.
        let shows = if params.contains_key("query") {
            params::read_arguments(params).map(|request| Watched::Search(Box::new(request)))
        } else {
            params::read_arguments(params).map(|request| Watched::Related(Box::new(request)))
        };
        Ok(Watch { token, shows: shows.map_err(|why| format!("`watch[{i}]`: {why}"))? })
    }
}

/// Result of `subscribe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subscribed {
    /// What will be sent; kinds that the daemon does not know are left out.
    pub events: Vec<String>,
    /// The tokens of the watches, in their order.
    #[serde(default)]
    pub watch: Vec<Id>,
}

/// What subscribers are told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// A note was decided about and its result published.
    Decision(Decision),
    /// A new snapshot is published.
    Index {
        /// Vault.
        vault: String,
        /// Sequence number.
        seq: u64,
        /// Notes in it.
        notes: u64,
        /// Chunks in it.
        chunks: u64,
    },
    /// The daemon's state changed, or it has read its configuration again: vaults may have come, gone or been renamed.
    State {
        /// The state.
        state: RunState,
    },
    /// A job began, moved on or ended.
    Job {
        /// The job; it has a `kind` of its own.
        job: Box<Job>,
    },
}

impl Notice {
    /// The kind of event that it is, as `subscribe` names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Notice::Decision(_) => "decision",
            Notice::Index { .. } => "index",
            Notice::State { .. } => "state",
            Notice::Job { .. } => "job",
        }
    }
}

/// Parameters of the event `lagged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename = "lagged")]
pub struct Lagged {
    /// Notifications that were dropped because they were not read in time.
    pub missed: u64,
}

/// Parameters of the notification `event`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Event {
    /// Something happened.
    Notice(Notice),
    /// What a watch shows has changed.
    Results(Box<Results>),
    /// There was more than could be told.
    Lagged(Lagged),
}

/// Parameters of the event `results`: all that a watch shows now, and what became other since the event before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename = "results")]
pub struct Results {
    /// What the client calls the watch.
    pub token: Id,
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
