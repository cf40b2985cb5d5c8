//! What each method of the [table](protocol::table) does with the engine's handle: parameters in, a result's JSON out.
//! All of it blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::broadcast;
use tokio::sync::mpsc::UnboundedSender;

use super::pool::{self, Outside};
use super::results::{MAX_RESULTS, WatchAnswer};
use engine::handle::{CallError, Cancel, Handle, OnText};
use protocol::ask::AskRequest;
use protocol::contexts::{
    GenerateRequest, ReviewRequest, Reviews, StartContextsRequest, StatsRequest, StopContextsRequest,
};
use protocol::daemon::{
    CheckConfigRequest, CostRequest, FEATURES, HelloRequest, Nothing, PingRequest, Problems, ReloadRequest,
    ResumeRequest, ServerInfo, ServerLimits, ShutdownRequest, Welcome,
};
use protocol::decision::{Decisions, ExplainRequest, PlanRequest};
use protocol::envelope::{self, ErrorKind, Id, PROTOCOL, PROTOCOLS, RpcError};
use protocol::events::{Notice, SubscribeRequest, Subscribed, Watched};
use protocol::frame::{self, EncodeError};
use protocol::generations::{
    BuildGenerationRequest, DropGenerationRequest, GenerationList, GenerationsRequest, UseGenerationRequest,
};
use protocol::graph::GraphRequest;
use protocol::grep::GrepRequest;
use protocol::jobs::{CancelRequest, Job, JobList, JobsRequest, PauseRequest, RebuildRequest, Scope, SyncRequest};
use protocol::names::NamesRequest;
use protocol::note::{GetRequest, RecentRequest};
use protocol::search::{RelatedRequest, SearchRequest};
use protocol::status::StatusRequest;
use protocol::table::{AnyCall, Call, Pool};
use protocol::team::{TeamDropRequest, TeamInitRequest, TeamPublishRequest, TeamStatusRequest, TeamVerifyRequest};

/// How long a call waits for a vault to take the place of one that was closed.
const REPLACED_WITHIN: Duration = Duration::from_millis(200);

/// A request that is to be carried out.
#[derive(Clone, Debug)]
pub(super) struct RunningCall {
    pub(super) what: AnyCall,
    /// Takes text of an answer as it comes; text that has no listener is lost.
    pub(super) text: Option<UnboundedSender<String>>,
}

impl RunningCall {
    pub(super) fn new(what: AnyCall) -> Self {
        RunningCall { what, text: None }
    }
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    /// A result, as JSON.
    Body(Vec<u8>),
    /// A job was started, whose end is the result.
    Wait(u64),
}

/// What connections ask the engine for. Tests of the socket have one of their own.
pub(super) trait Backend: Send + Sync {
    /// Carries a call out; blocks until it is done.
    fn dispatch(&self, call: RunningCall, cancel: &Cancel) -> Result<Reply, RpcError>;

    /// The pool in which a call waits for its turn.
    fn pool(&self, call: &AnyCall) -> Pool;

    /// The state of a job. A notice tells of each change.
    fn job(&self, job: u64) -> Result<Job, RpcError>;

    /// What a watch shows; blocks.
    fn results(&self, shows: &Watched, cancel: &Cancel) -> Result<WatchAnswer, RpcError>;

    /// Subscribes to notices from now on.
    fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>>;
}

impl Backend for Handle {
    fn dispatch(&self, call: RunningCall, cancel: &Cancel) -> Result<Reply, RpcError> {
        let method = call.what.method();
        let outcome = again_if_replaced(|| carry_out(self, call.clone(), cancel));
        if let Err(error) = &outcome {
            debug_assert!(
                method.may_fail_with(error.kind),
                "the table of methods does not say that `{}` may fail with `{}`",
                method.name(),
                error.kind.name()
            );
        }
        outcome
    }

    fn pool(&self, call: &AnyCall) -> Pool {
        pool::of(call, Outside { expands: self.expands(), reranks: self.reranks(), teams: self.asks_teams() })
    }

    fn job(&self, job: u64) -> Result<Job, RpcError> {
        Ok(Handle::job(self, job)?)
    }

    fn results(&self, shows: &Watched, cancel: &Cancel) -> Result<WatchAnswer, RpcError> {
        again_if_replaced(|| results(self, shows, cancel))
    }

    fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        Handle::subscribe(self)
    }
}

/// The token under which the client wants to hear of a call's progress.
pub(super) fn progress_token(call: &AnyCall) -> Option<&Id> {
    match call {
        AnyCall::Sync(asked) => asked.progress.as_ref(),
        AnyCall::Rebuild(asked) => asked.progress.as_ref(),
        _ => None,
    }
}

/// Asks again for a moment while a vault is not ready: a reload may have closed it since the call chose it, and soon the
/// one in its place answers.
fn again_if_replaced<T>(ask: impl Fn() -> Result<T, RpcError>) -> Result<T, RpcError> {
    let until = Instant::now() + REPLACED_WITHIN;
    loop {
        match ask() {
            Err(error) if error.kind == ErrorKind::NotReady && Instant::now() < until => {
                std::thread::sleep(REPLACED_WITHIN / 20);
            }
            answer => return answer,
        }
    }
}

/// One arm for each method; its result has the type that the table names.
fn carry_out(handle: &Handle, call: RunningCall, cancel: &Cancel) -> Result<Reply, RpcError> {
    match call.what {
        // Connections answer these themselves.
        AnyCall::Ping(_) => done::<PingRequest>(&Nothing {}),
        AnyCall::Subscribe(_) => done::<SubscribeRequest>(&Subscribed { events: Vec::new(), watch: Vec::new() }),
        AnyCall::Hello(asked) => done::<HelloRequest>(&welcome(handle, &asked)?),
        AnyCall::Status(asked) => done::<StatusRequest>(&handle.status_for(asked.vault.as_deref(), asked.audience)?),
        AnyCall::Search(asked) => done::<SearchRequest>(&handle.search(*asked, cancel)?),
        AnyCall::Grep(asked) => done::<GrepRequest>(&handle.grep(&asked, cancel)?),
        AnyCall::Ask(asked) => done::<AskRequest>(&handle.ask(*asked, cancel, on_text(call.text))?),
        AnyCall::Related(asked) => done::<RelatedRequest>(&handle.related(*asked, cancel)?),
        AnyCall::Graph(asked) => done::<GraphRequest>(&handle.graph(&asked, cancel)?),
        AnyCall::Get(asked) => done::<GetRequest>(&handle.get(*asked)?),
        AnyCall::Names(asked) => done::<NamesRequest>(&handle.names(&asked, cancel)?),
        AnyCall::Recent(asked) => done::<RecentRequest>(&handle.recent(&asked)?),
        AnyCall::Plan(asked) => {
            let PlanRequest { path, vault, text } = *asked;
            done::<PlanRequest>(&handle.plan(vault.as_deref(), &path, text.as_deref())?)
        }
        AnyCall::Explain(asked) => {
            let decisions = handle.explain(asked.vault.as_deref(), &asked.path)?;
            done::<ExplainRequest>(&Decisions { decisions })
        }
        AnyCall::Sync(asked) => sync(handle, *asked),
        AnyCall::Rebuild(asked) => rebuild(handle, *asked),
        AnyCall::GenerateContext(asked) => done::<GenerateRequest>(&handle.generate_context(*asked, cancel)?),
        AnyCall::ContextsStart(asked) => done::<StartContextsRequest>(&handle.start_contexts(&asked)?),
        AnyCall::ContextsStop(asked) => done::<StopContextsRequest>(&handle.stop_contexts(asked.vault.as_deref())?),
        AnyCall::ContextsReview(asked) => done::<ReviewRequest>(&Reviews { contexts: handle.review(&asked)? }),
        AnyCall::Generations(asked) => {
            let generations = handle.generations(asked.vault.as_deref())?;
            done::<GenerationsRequest>(&GenerationList { generations })
        }
        AnyCall::GenerationsBuild(asked) => {
            let BuildGenerationRequest { name, vault, dry_run } = *asked;
            done::<BuildGenerationRequest>(&handle.build_generation(vault.as_deref(), &name, dry_run)?)
        }
        AnyCall::GenerationsUse(asked) => {
            nothing::<UseGenerationRequest>(handle.use_generation(asked.vault.as_deref(), &asked.name))
        }
        AnyCall::GenerationsDrop(asked) => {
            nothing::<DropGenerationRequest>(handle.drop_generation(asked.vault.as_deref(), &asked.name))
        }
        AnyCall::TeamStatus(asked) => done::<TeamStatusRequest>(&handle.team_status(&asked)?),
        AnyCall::TeamInit(asked) => done::<TeamInitRequest>(&handle.team_init(&asked)?),
        AnyCall::TeamPublish(asked) => done::<TeamPublishRequest>(&handle.team_publish(&asked)?),
        AnyCall::TeamVerify(asked) => done::<TeamVerifyRequest>(&handle.team_verify(&asked)?),
        AnyCall::TeamDrop(asked) => nothing::<TeamDropRequest>(handle.team_drop(&asked)),
        AnyCall::Stats(asked) => done::<StatsRequest>(&handle.stats(asked.vault.as_deref(), asked.audience)?),
        AnyCall::Cost(_) => done::<CostRequest>(&handle.cost()?),
        AnyCall::Jobs(asked) => done::<JobsRequest>(&JobList { jobs: handle.jobs(asked.audience) }),
        AnyCall::Cancel(asked) => match asked.job {
            Some(job) => nothing::<CancelRequest>(handle.cancel(job)),
            None => Err(nothing_to_cancel()),
        },
        AnyCall::Pause(asked) => nothing::<PauseRequest>(handle.pause(asked.seconds)),
        AnyCall::Resume(_) => nothing::<ResumeRequest>(handle.resume()),
        AnyCall::ConfigCheck(_) => {
            done::<CheckConfigRequest>(&Problems { problems: handle.check_config()?, restarts: false })
        }
        AnyCall::Reload(_) => done::<ReloadRequest>(&handle.reload()?),
        AnyCall::Shutdown(_) => {
            handle.shutdown();
            done::<ShutdownRequest>(&Nothing {})
        }
    }
}

/// The listener for an answer's text as it comes.
fn on_text(text: Option<UnboundedSender<String>>) -> OnText {
    Arc::new(move |piece: &str| {
        if let Some(text) = &text {
            // The listener has gone once the request is answered some other way.
            let _ = text.send(piece.to_owned());
        }
    })
}

fn sync(handle: &Handle, asked: SyncRequest) -> Result<Reply, RpcError> {
    let SyncRequest { vault, path, accept_deletes, since, wait, progress: _ } = asked;
    if wait {
        handle.check_pause()?;
    }
    let job = handle.sync(Scope { vault, path }, accept_deletes, since)?;
    if wait { Ok(Reply::Wait(job)) } else { done::<SyncRequest>(&handle.job(job)?) }
}

fn rebuild(handle: &Handle, asked: RebuildRequest) -> Result<Reply, RpcError> {
    let wait = asked.wait && !asked.dry_run;
    if wait {
        handle.check_pause()?;
    }
    let job = handle.rebuild(asked)?;
    if wait { Ok(Reply::Wait(job.job)) } else { done::<RebuildRequest>(&job) }
}

/// What a watch shows now, unless that is too much to be sent at every save.
fn results(handle: &Handle, shows: &Watched, cancel: &Cancel) -> Result<WatchAnswer, RpcError> {
    let found = match shows {
        Watched::Search(request) => WatchAnswer { answer: handle.search((**request).clone(), cancel)?, decision: None },
        Watched::Related(request) => {
            let answer = handle.related((**request).clone(), cancel)?;
            let path = request.path.as_deref();
            let decisions = path.map(|path| handle.explain(request.vault.as_deref(), path)).transpose();
            // The decision is an addition: the results are complete without it.
            let decision = decisions.ok().flatten().and_then(|decisions| decisions.into_iter().next());
            WatchAnswer { answer, decision }
        }
    };
    match frame::encode(&found.answer, MAX_RESULTS) {
        Err(EncodeError::TooLarge(cap)) => {
            let why = format!("the results are over {cap} bytes, which is too much to be sent at every change");
            Err(RpcError::new(ErrorKind::TooLarge, why).hint("ask for less: a smaller `limit` or `window_chars`"))
        }
        Err(EncodeError::Unencodable(_)) => Err(RpcError::internal("results have no JSON form")),
        Ok(_) => Ok(found),
    }
}

fn welcome(handle: &Handle, hello: &HelloRequest) -> Result<Welcome, RpcError> {
    let wanted = hello.protocol.unwrap_or(PROTOCOL);
    if !PROTOCOLS.contains(&wanted) {
        let why = format!("protocol {wanted} is not spoken here");
        return Err(RpcError::new(ErrorKind::UnsupportedProtocol, why)
            .hint("bring client and daemon to the same version, then restart the daemon")
            .with("protocols", PROTOCOLS));
    }
    Ok(Welcome {
        protocol: wanted,
        protocols: PROTOCOLS.to_vec(),
        server: ServerInfo {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        },
        vaults: handle.vaults(),
        limits: ServerLimits::here(),
        features: FEATURES.iter().map(|&feature| feature.to_owned()).collect(),
        assistants_may_spend: handle.assistants_may_spend(),
    })
}

/// The result of a call, in the type that the table names.
fn done<C: Call>(answer: &C::Answer) -> Result<Reply, RpcError> {
    envelope::body(answer).map(Reply::Body)
}

fn nothing<C: Call<Answer = Nothing>>(outcome: Result<(), CallError>) -> Result<Reply, RpcError> {
    outcome?;
    done::<C>(&Nothing {})
}

/// A `cancel` that names nothing.
pub(super) fn nothing_to_cancel() -> RpcError {
    RpcError::new(ErrorKind::InvalidParams, "`cancel` takes `id` or `job`")
}

#[cfg(test)]
mod tests;
