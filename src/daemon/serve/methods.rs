//! What each method does with the engine's handle: parameters in, a result's JSON out. All of it blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::sync::mpsc::UnboundedSender;

use super::params::{
    CancelParams, Decisions, ExplainParams, GenerationParams, Generations, Hello, Jobs, Limits, Nothing, OfVault,
    PauseParams, PlanParams, Problems, RebuildParams, Reviews, Server, SyncParams, Welcome,
};
use super::pool::{self, Outside, Pool};
use super::results::{Asked, Found, MAX_RESULTS};
use engine::handle::{CallError, Cancel, Handle, Job, Notice, OnText, Scope, SearchRequest};
use protocol::envelope::{self, ErrorKind, Method, PROTOCOL, PROTOCOLS, Params, RpcError};
use protocol::frame::{self, EncodeError};

/// A request that is to be carried out.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) params: Params,
    /// Takes text of an answer as it comes; what is sent when nobody listens is lost.
    pub(super) text: Option<UnboundedSender<String>>,
}

impl Call {
    pub(super) fn new(method: Method, params: Params) -> Self {
        Call { method, params, text: None }
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    /// A result, as JSON.
    Body(Vec<u8>),
    /// A job was begun whose end is the result.
    Wait(u64),
}

/// Carries out calls; blocks until it is done. Tests of the socket hand in their own.
pub(super) type Dispatch = Arc<dyn Fn(Call, &Cancel) -> Result<Reply, RpcError> + Send + Sync>;

/// What connections ask of what lies behind them.
#[derive(Clone)]
pub(super) struct Backend {
    /// Carries out calls.
    pub(super) dispatch: Dispatch,
    /// Whose turn a call has to wait for.
    pub(super) pool: Arc<dyn Fn(&Call) -> Pool + Send + Sync>,
    /// Waits for a job to end, for so long at most; gives its state either way.
    pub(super) wait: Arc<dyn Fn(u64, Duration) -> Result<Job, RpcError> + Send + Sync>,
    /// What a watch shows; blocks.
    pub(super) results: Arc<dyn Fn(&Asked, &Cancel) -> Result<Found, RpcError> + Send + Sync>,
    /// Gives notices from now on.
    pub(super) subscribe: Arc<dyn Fn() -> broadcast::Receiver<Arc<Notice>> + Send + Sync>,
}

impl Backend {
    /// The real one.
    pub(super) fn of(handle: Handle) -> Backend {
        let (calls, pools, waits) = (handle.clone(), handle.clone(), handle.clone());
        let (watches, notices) = (handle.clone(), handle);
        Backend {
            dispatch: Arc::new(move |call, cancel| dispatch(&calls, call, cancel)),
            pool: Arc::new(move |call| pool::of(call, Outside { expands: pools.expands(), reranks: pools.reranks() })),
            wait: Arc::new(move |job, patience| wait(&waits, job, patience)),
            results: Arc::new(move |asked, cancel| results(&watches, asked, cancel)),
            subscribe: Arc::new(move || notices.subscribe()),
        }
    }
}

/// Whether a call ends by itself, late as that may be: what asks a model has deadlines of its own.
pub(super) fn ends_by_itself(call: &Call) -> bool {
    matches!(call.method, Method::Ask | Method::GenerateContext)
}

fn dispatch(handle: &Handle, call: Call, cancel: &Cancel) -> Result<Reply, RpcError> {
    let params = call.params;
    match call.method {
        Method::Ping | Method::Subscribe => done(&Nothing {}),
        Method::Hello => done(&welcome(handle, &parse(params)?)?),
        Method::Status => done(&handle.status(parse::<OfVault>(params)?.vault.as_deref())?),
        Method::Search => {
            let request: SearchRequest = parse(params)?;
            done(&handle.search(request, cancel)?)
        }
        Method::Ask => {
            let text = call.text;
            let on_text: OnText = Arc::new(move |piece: &str| {
                if let Some(text) = &text {
                    // Nobody listens any more once the request is answered some other way.
                    let _ = text.send(piece.to_owned());
                }
            });
            done(&handle.ask(parse(params)?, cancel, on_text)?)
        }
        Method::Related => done(&handle.related(parse(params)?, cancel)?),
        Method::Graph => done(&handle.graph(&parse(params)?, cancel)?),
        Method::Get => done(&handle.get(parse(params)?)?),
        Method::Recent => done(&handle.recent(&parse(params)?)?),
        Method::Plan => {
            let PlanParams { path, vault, text } = parse(params)?;
            done(&handle.plan(vault.as_deref(), &path, text.as_deref())?)
        }
        Method::Explain => {
            let ExplainParams { path, vault } = parse(params)?;
            done(&Decisions { decisions: handle.explain(vault.as_deref(), &path)? })
        }
        Method::Sync => {
            let SyncParams { vault, path, accept_deletes, since, wait, .. } = parse(params)?;
            if let Some(seconds) = since {
                handle.refresh(&Scope { vault: vault.clone(), path: None }, seconds)?;
            }
            let job = handle.sync_accepting(Scope { vault, path }, accept_deletes)?;
            if wait { Ok(Reply::Wait(job)) } else { done(&handle.job(job)?) }
        }
        Method::Rebuild => {
            let RebuildParams { vault, path, dry_run, batch, audience, wait, .. } = parse(params)?;
            let job = handle.rebuild(Scope { vault, path }, dry_run, batch, audience)?;
            if wait && !dry_run { Ok(Reply::Wait(job.job)) } else { done(&job) }
        }
        Method::GenerateContext => done(&handle.generate_context(parse(params)?, cancel)?),
        Method::ContextsReview => done(&Reviews { contexts: handle.review(&parse(params)?)? }),
        Method::Generations => {
            let generations = handle.generations(parse::<OfVault>(params)?.vault.as_deref())?;
            done(&Generations { generations })
        }
        Method::GenerationsBuild => {
            let GenerationParams { name, vault, dry_run } = parse(params)?;
            done(&handle.build_generation(vault.as_deref(), &name, dry_run)?)
        }
        Method::GenerationsUse => {
            let GenerationParams { name, vault, .. } = parse(params)?;
            nothing(handle.use_generation(vault.as_deref(), &name))
        }
        Method::GenerationsDrop => {
            let GenerationParams { name, vault, .. } = parse(params)?;
            nothing(handle.drop_generation(vault.as_deref(), &name))
        }
        Method::Stats => done(&handle.stats(parse::<OfVault>(params)?.vault.as_deref())?),
        Method::Cost => done(&handle.cost()),
        Method::Jobs => done(&Jobs { jobs: handle.jobs() }),
        Method::Cancel => match parse::<CancelParams>(params)?.job {
            Some(job) => nothing(handle.cancel(job)),
            None => Err(RpcError::new(ErrorKind::InvalidParams, "`cancel` takes `id` or `job`")),
        },
        Method::Pause => nothing(handle.pause(parse::<PauseParams>(params)?.seconds)),
        Method::Resume => nothing(handle.resume()),
        Method::ConfigCheck => done(&Problems { problems: handle.check_config()? }),
        Method::Reload => done(&Problems { problems: handle.reload()? }),
        Method::Shutdown => {
            handle.shutdown();
            done(&Nothing {})
        }
    }
}

/// What a watch shows now, unless that is too much to be sent at every save.
fn results(handle: &Handle, asked: &Asked, cancel: &Cancel) -> Result<Found, RpcError> {
    let found = match asked {
        Asked::Search(request) => Found { answer: handle.search((**request).clone(), cancel)?, decision: None },
        Asked::Related(request) => {
            let answer = handle.related((**request).clone(), cancel)?;
            let path = request.path.as_deref();
            let decisions = path.map(|path| handle.explain(request.vault.as_deref(), path)).transpose();
            // It is beside the results, which are none the worse without it.
            let decision = decisions.ok().flatten().and_then(|decisions| decisions.into_iter().next());
            Found { answer, decision }
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

/// Whether a job has come to its end.
pub(super) fn has_ended(job: &Job) -> bool {
    matches!(job.state.as_str(), "done" | "cancelled" | "failed")
}

fn wait(handle: &Handle, job: u64, patience: Duration) -> Result<Job, RpcError> {
    let start = Instant::now();
    loop {
        // It also returns when the job has only moved on, which may be thousands of times in a second.
        let state = handle.wait_job(job, patience.saturating_sub(start.elapsed()))?;
        if has_ended(&state) || start.elapsed() >= patience {
            return Ok(state);
        }
    }
}

fn welcome(handle: &Handle, hello: &Hello) -> Result<Welcome, RpcError> {
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
        server: Server {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        },
        vaults: handle.vaults(),
        limits: Limits::here(),
        features: ["search", "related", "ask", "plan", "progress", "subscribe", "watch", "recent", "audience"]
            .map(str::to_owned)
            .to_vec(),
        assistants_may_spend: handle.assistants_may_spend(),
    })
}

fn parse<T: DeserializeOwned>(params: Params) -> Result<T, RpcError> {
    serde_json::from_value(Value::Object(params)).map_err(|error| {
        // The message quotes what was sent, which may be a whole note.
        let why: String = error.to_string().chars().take(300).collect();
        RpcError::new(ErrorKind::InvalidParams, why).hint("`situated schema` prints what each method takes")
    })
}

fn done(value: &impl Serialize) -> Result<Reply, RpcError> {
    envelope::body(value).map(Reply::Body)
}

fn nothing(outcome: Result<(), CallError>) -> Result<Reply, RpcError> {
    outcome?;
    done(&Nothing {})
}

/// The daemon is about to end.
pub(super) fn stopping() -> RpcError {
    CallError::Stopping.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use index::search::TooMuch;

    #[test]
    fn every_engine_error_has_its_kind() {
        let table = [
            (CallError::NotFound { what: "vault", name: "x".into(), hint: "h".into() }, 1005),
            (CallError::Invalid("no".into()), -32602),
            (CallError::TooMuch(TooMuch::Terms { given: 65 }), -32602),
            (CallError::NotReady, 1001),
            (CallError::Conflict { message: "no".into(), job: 4 }, 1011),
            (CallError::Cancelled, 1003),
            (CallError::Timeout(5), 1004),
            (CallError::Provider("no".into()), 1008),
            (CallError::NotConfigured("no".into()), 1013),
            (CallError::Forbidden("no".into()), 1009),
            (CallError::Paused, 1012),
            (CallError::Storage("no".into()), 1010),
            (CallError::Stopping, 1001),
        ];
        for (error, code) in table {
            let message = error.to_string();
            let wire = RpcError::from(error);
            assert_eq!((wire.kind.code(), wire.message), (code, message));
        }
    }

    #[test]
    fn wrong_parameters_are_cut_short() {
        let params = json!({ "query": { "x": "y".repeat(10_000) } });
        let Value::Object(params) = params else { unreachable!() };
        let error = parse::<SearchRequest>(params).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParams);
        assert!(error.message.len() < 400);
    }
}
