//! The table of methods: what each takes and gives, how it may fail, how long it may take and what it waits for.
//!
//! All that has to know the methods is made from it: how a daemon reads and carries out a call ([`AnyCall`]), the typed
//! calls of clients ([`Call`]), `situated schema` ([`crate::schema`]) and the reference in `PROTOCOL.md`, which a test
//! compares with the table (`reference.rs`).

use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use strum::VariantArray as _;

use crate::ask::{AskAnswer, AskRequest};
use crate::contexts::{
    GenerateRequest, GeneratedContext, Offers, ReviewRequest, Reviews, StartContextsRequest, Stats, StatsRequest,
    StopContextsRequest,
};
use crate::cost::CostReport;
use crate::daemon::{
    CheckConfigRequest, CostRequest, HelloRequest, Nothing, PingRequest, Problems, ReloadRequest, ResumeRequest,
    ShutdownRequest, Welcome,
};
use crate::decision::{Decision, Decisions, ExplainRequest, PlanRequest};
use crate::envelope::{ErrorKind, Params, RpcError};
use crate::events::{SubscribeRequest, Subscribed};
use crate::generations::{
    BuildGenerationRequest, DropGenerationRequest, GenerationList, GenerationsRequest, UseGenerationRequest,
};
use crate::graph::{GraphAnswer, GraphRequest};
use crate::grep::{GrepAnswer, GrepRequest};
use crate::jobs::{CancelRequest, Job, JobList, JobsRequest, PauseRequest, RebuildRequest, SyncRequest};
use crate::names::{NamesAnswer, NamesRequest};
use crate::nearest::{MOST_NAME, nearest};
use crate::note::{GetRequest, NoteText, RecentAnswer, RecentRequest};
use crate::params::{self, Known};
use crate::search::{RelatedRequest, SearchAnswer, SearchRequest};
use crate::status::{Status, StatusRequest};
use crate::team::{
    TeamDifferences, TeamDropRequest, TeamInitRequest, TeamList, TeamPublishRequest, TeamStatusRequest,
    TeamVerifyRequest,
};

/// The parameters of a method, and with them the method and the type of its result.
pub trait Call: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// What it gives.
    type Answer: Serialize + DeserializeOwned + JsonSchema;

    /// The method.
    const METHOD: Method;
}

/// What a call waits for. Each has a queue of its own, so that no kind of wait keeps another from being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum Pool {
    /// A processor: it searches the published snapshot. As many at once as there are cores.
    Query,
    /// A processor, for as long as it takes to look through the texts of all notes: never before a search for words.
    Scan,
    /// A look at one note, or at a list that is there already: never behind searches.
    Look,
    /// The engine's loop, or its tables.
    Engine,
    /// The user's model, which may take minutes: answers to questions, and contexts for texts of no vault.
    Model,
    /// A reranker or a model with a deadline of seconds, and then a processor.
    Assisted,
    /// The disk: the snapshot that has everything saved before the request, or the first one of all notes.
    Fresh,
    /// The graph of the present snapshot.
    Graph,
    /// Its turn to look at what somebody watches.
    Watch,
}

impl Pool {
    /// All of them.
    pub const ALL: &[Pool] = Self::VARIANTS;
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// `serve.query_timeout`, 10 s by default; then it is answered with `timeout`.
    Daemon,
    /// As [`Deadline::Daemon`] until its job has begun; one that is waited for may take as long as it takes.
    Job,
    /// It asks a model, and has the deadlines of the provider.
    Provider,
}

/// Errors that any method may answer with.
pub const COMMON_ERRORS: &[ErrorKind] = &[
    ErrorKind::InvalidParams,
    ErrorKind::Internal,
    ErrorKind::NotReady,
    ErrorKind::Busy,
    ErrorKind::Cancelled,
    ErrorKind::Timeout,
    ErrorKind::TooLarge,
];

macro_rules! methods {
    ($($variant:ident $name:literal $params:ty => $answer:ty, $pool:ident, $deadline:ident, [$($error:ident)*], $about:literal;)+) => {
        /// What can be asked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $(#[doc = $about] $variant,)+
        }

        impl Method {
            /// Every method, in the order of the specification.
            pub const ALL: &[Method] = &[$(Method::$variant,)+];

            /// Its name on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Method::$variant => $name,)+ }
            }

            /// What it does, in a sentence.
            pub fn about(self) -> &'static str {
                match self { $(Method::$variant => $about,)+ }
            }

            /// The method of that name.
            pub fn from_name(name: &str) -> Option<Method> {
                match name { $($name => Some(Method::$variant),)+ _ => None }
            }

            /// What a call of it waits for. A search may wait for more than this says, as its parameters have it.
            pub fn pool(self) -> Pool {
                match self { $(Method::$variant => Pool::$pool,)+ }
            }

            /// How long a call of it may take.
            pub fn deadline(self) -> Deadline {
                match self { $(Method::$variant => Deadline::$deadline,)+ }
            }

            /// Kinds of errors that it may answer with, beside the [common ones](COMMON_ERRORS).
            pub fn errors(self) -> &'static [ErrorKind] {
                match self { $(Method::$variant => &[$(ErrorKind::$error),*],)+ }
            }

            /// Schemas of its parameters and of its result.
            pub fn schemas(self, generator: &mut SchemaGenerator) -> (Schema, Schema) {
                match self {
                    $(Method::$variant => {
                        (generator.subschema_for::<$params>(), generator.subschema_for::<$answer>())
                    })+
                }
            }

            /// The parameters that it knows.
            fn known(self) -> &'static Known {
                match self {
                    $(Method::$variant => {
                        static KNOWN: OnceLock<Known> = OnceLock::new();
                        KNOWN.get_or_init(Known::of::<$params>)
                    })+
                }
            }
        }

        $(impl Call for $params {
            type Answer = $answer;
            const METHOD: Method = Method::$variant;
        })+

        /// A call of any method, its parameters read.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyCall {
            $(#[doc = $about] $variant(Box<$params>),)+
        }

        impl AnyCall {
            /// Reads the parameters of a call.
            ///
            /// # Errors
            /// `invalid_params`: one is unknown, and the nearest known one is named; or one is missing or of another type.
            pub fn read(method: Method, params: Params) -> Result<AnyCall, RpcError> {
                match method {
                    $(Method::$variant => params::read(method.name(), method.known(), params).map(AnyCall::$variant),)+
                }
            }

            /// Its method.
            pub fn method(&self) -> Method {
                match self { $(AnyCall::$variant(_) => Method::$variant,)+ }
            }
        }
    };
}

// name, parameters => result, what it waits for, deadline, errors beside the common ones, what it does
methods! {
    Ping "ping" PingRequest => Nothing, Look, Daemon, [],
        "Answers at once: the daemon is alive.";
    Hello "hello" HelloRequest => Welcome, Look, Daemon, [UnsupportedProtocol],
        "Agrees on a protocol version and tells what the daemon serves; optional.";
    Status "status" StatusRequest => Status, Engine, Daemon, [NotFound],
        "State of the daemon and of its vaults.";
    Search "search" SearchRequest => SearchAnswer, Query, Daemon, [NotFound Storage],
        "Finds chunks for a query.";
    Grep "grep" GrepRequest => GrepAnswer, Scan, Daemon, [NotFound Storage],
        "Lines that match a regular expression, as the notes are on disk now.";
    Ask "ask" AskRequest => AskAnswer, Model, Provider, [NotFound NotConfigured Forbidden Provider Storage],
        "Answers a question from the notes, with citations; text comes as `text` notifications before the answer.";
    Related "related" RelatedRequest => SearchAnswer, Query, Daemon, [NotFound Provider Storage],
        "Finds chunks near a note, a chunk or a text.";
    Graph "graph" GraphRequest => GraphAnswer, Graph, Daemon, [NotFound],
        "Notes by their place among the links, notes without links, and links that lead nowhere.";
    Get "get" GetRequest => NoteText, Look, Daemon, [NotFound Provider Storage],
        "Lines of a note as they are on disk now; of a team's note (`TEAM/VAULT` as vault), as they were published.";
    Recent "recent" RecentRequest => RecentAnswer, Look, Daemon, [NotFound],
        "The notes that were changed last, newest first, a page of them.";
    Names "names" NamesRequest => NamesAnswer, Query, Daemon, [NotFound],
        "Names of notes, tags, folders, kinds of notes or properties, as a vault has them.";
    Plan "plan" PlanRequest => Decision, Engine, Daemon, [NotFound Storage],
        "What would be decided about a note now; changes nothing.";
    Explain "explain" ExplainRequest => Decisions, Look, Daemon, [NotFound Storage],
        "The last decisions about a note, newest first.";
    Sync "sync" SyncRequest => Job, Engine, Job, [NotFound Paused Storage],
        "Looks at the disk now; with `wait`, answers when all that was saved before is searchable.";
    Rebuild "rebuild" RebuildRequest => Job, Fresh, Job, [NotFound Forbidden Conflict Paused Storage],
        "Makes everything in a vault, folder or note anew.";
    GenerateContext "generate_context" GenerateRequest => GeneratedContext, Model, Provider,
        [Forbidden Provider],
        "A context for a chunk of a text that lies in no vault.";
    ContextsReview "contexts.review" ReviewRequest => Reviews, Engine, Daemon, [NotFound Storage],
        "Contexts that a model wrote, beside their chunks, for a person to judge.";
    ContextsStart "contexts.start" StartContextsRequest => Offers, Fresh, Daemon, [NotFound Forbidden Storage],
        "The user agrees that models are shown a vault and paid: for contexts, vectors, reranking; tells what that takes.";
    ContextsStop "contexts.stop" StopContextsRequest => Offers, Engine, Daemon, [NotFound Storage],
        "The user takes that back: no model is asked by itself any more.";
    Generations "generations" GenerationsRequest => GenerationList, Engine, Daemon, [NotFound Storage],
        "Ways of writing contexts that the configuration has, and how far each is built.";
    GenerationsBuild "generations.build" BuildGenerationRequest => Job, Fresh, Daemon,
        [NotFound Storage],
        "Builds a generation beside the one that answers; says first what it takes.";
    GenerationsUse "generations.use" UseGenerationRequest => Nothing, Engine, Daemon, [NotFound Storage],
        "Has a generation answer from now on.";
    GenerationsDrop "generations.drop" DropGenerationRequest => Nothing, Engine, Daemon, [NotFound Storage],
        "Takes a generation away; contexts that were paid for stay in the archive.";
    TeamStatus "team.status" TeamStatusRequest => TeamList, Model, Provider, [NotFound NotConfigured],
        "How the collections stand that are shared with a team.";
    TeamInit "team.init" TeamInitRequest => TeamList, Model, Provider, [NotFound NotConfigured Provider Storage],
        "Makes a team's collection for the embedder of the vaults that are published there.";
    TeamPublish "team.publish" TeamPublishRequest => TeamList, Model, Provider,
        [NotFound NotConfigured Provider Storage],
        "Publishes what differs now; answers when all is there.";
    TeamVerify "team.verify" TeamVerifyRequest => TeamDifferences, Model, Provider,
        [NotFound NotConfigured Provider Storage],
        "Compares all that is published with the vaults, and mends what differs.";
    TeamDrop "team.drop" TeamDropRequest => Nothing, Model, Provider, [NotFound NotConfigured Provider],
        "Takes a team's collection away with all that is in it.";
    Stats "stats" StatsRequest => Stats, Engine, Daemon, [NotFound Storage],
        "How many chunks have which contexts, and what came of asking the model.";
    Cost "cost" CostRequest => CostReport, Engine, Daemon, [Storage],
        "What contexts cost: today, this month, by reason, by note, by model.";
    Jobs "jobs" JobsRequest => JobList, Engine, Daemon, [],
        "Jobs that run and the last ones that ended.";
    Cancel "cancel" CancelRequest => Nothing, Engine, Daemon, [NotFound],
        "Cancels a request of this connection by `id`, or a job by `job`.";
    Pause "pause" PauseRequest => Nothing, Engine, Daemon, [],
        "Stops all work, also that of saves; queries are still answered.";
    Resume "resume" ResumeRequest => Nothing, Engine, Daemon, [],
        "Lets work go on.";
    ConfigCheck "config.check" CheckConfigRequest => Problems, Engine, Daemon, [],
        "Reads the configuration and tells what is wrong with it; changes nothing.";
    Reload "reload" ReloadRequest => Problems, Engine, Daemon, [],
        "Reads the configuration and puts it in force if nothing is wrong with it.";
    Subscribe "subscribe" SubscribeRequest => Subscribed, Engine, Daemon, [],
        "Sends `event` notifications on this connection from now on: of what happens, and when results change.";
    Shutdown "shutdown" ShutdownRequest => Nothing, Engine, Daemon, [],
        "Stops the daemon once running requests are answered.";
}

impl Method {
    /// Whether a call of it may be answered with an error of this kind.
    pub fn may_fail_with(self, kind: ErrorKind) -> bool {
        COMMON_ERRORS.contains(&kind) || self.errors().contains(&kind)
    }
}

/// The error for a method that does not exist.
pub fn unknown_method(name: &str) -> RpcError {
    let name: String = name.chars().take(MOST_NAME).collect();
    let all: Vec<&str> = Method::ALL.iter().map(|method| method.name()).collect();
    let meant = nearest(&name, all.iter().copied());
    RpcError::new(ErrorKind::UnknownMethod, format!("there is no method `{name}`"))
        .hint(format!("methods: {}", all.join(" ")))
        .nearest(meant)
}

#[cfg(test)]
mod tests;
