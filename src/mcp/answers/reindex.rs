//! Making notes anew: what it takes, its beginning, its progress.

use std::time::Duration;

use super::super::caller::Caller;
use super::super::daemon::Trouble;
use super::super::params::{Progress, Reindex};
use super::super::results::{Cost, Reindexed, Reindexing};
use super::{ToolResult, decimal, vault};
use crate::mcp::clean;
use protocol::contexts::{Estimate, StatsRequest};
use protocol::daemon::HelloRequest;
use protocol::jobs::{CancelRequest, Job, JobKind, JobList, JobState, JobsRequest, RebuildRequest};

/// Failed notes that are named.
const MOST_FAILED: usize = 20;

/// How often a job that is waited for is looked at.
const LOOK: Duration = Duration::from_millis(300);

pub(in crate::mcp) async fn start(asked: Reindex, caller: &Caller) -> Result<ToolResult, Trouble> {
    written_by(asked.llm_provider.as_deref(), caller).await?;
    let (vault, path) = (vault(asked.vault.as_ref()), asked.path.as_deref().map(clean::named));
    let request = RebuildRequest { vault: vault.clone(), path, ..RebuildRequest::default() };
    let plan = caller.call(RebuildRequest { dry_run: true, ..request.clone() }).await?;
    let total = plan.total.unwrap_or_default();
    let estimate = plan.estimate.as_ref().map(cost);
    let told = |status: &str, message: String| Reindexed {
        success: matches!(status, "started" | "completed" | "nothing_to_do"),
        status: status.to_owned(),
        job: None,
        total_entities: total,
        estimate: estimate.clone(),
        missing: Vec::new(),
        message,
    };
    if !asked.force {
        let stats = caller.call(StatsRequest { vault, ..StatsRequest::default() }).await?;
        if stats.processed == stats.total {
            let message =
                "Every chunk has the context that it should have, and saves are indexed by themselves: there is \
                           nothing to do. `force: true` makes all of it anew."
                    .to_owned();
            return done(told("nothing_to_do", message));
        }
    }
    let costs = estimate.as_ref().is_some_and(|estimate| estimate.micro_dollars != Some(0));
    let mut refused = String::new();
    if asked.confirm || !costs {
        match caller.call(request).await {
            Ok(job) => return begun(&job, asked.wait, &told, caller).await,
            Err(trouble) if trouble.kind == "forbidden" => refused = trouble.message,
            Err(trouble) => return Err(trouble),
        }
    }
    let mut missing = Vec::new();
    if !asked.confirm {
        missing.push("`confirm: true`, after the user has seen this estimate and wants it".to_owned());
    }
    if !refused.is_empty() {
        missing.push(refused);
    } else if !may_spend(caller).await? {
        missing.push("`allow_spending = true` in `[mcp]` of the user's configuration".to_owned());
    }
    let price = estimate.as_ref().map_or_else(String::new, price);
    let message = format!("This would take {price}. Nothing was begun; it lacks: {}.", missing.join("; "));
    done(Reindexed { missing, ..told("needs_confirmation", message) })
}

/// Refuses another provider than the user's: contexts that one believes to be free might be bought.
async fn written_by(wanted: Option<&str>, caller: &Caller) -> Result<(), Trouble> {
    let Some(wanted) = wanted else { return Ok(()) };
    let configured = caller.call(StatsRequest::default()).await?.provider;
    if wanted.eq_ignore_ascii_case(&configured) {
        return Ok(());
    }
    Err(Trouble::invalid(format!(
        "`llm_provider` can only be `{}`, which the user has configured to write contexts; nothing was begun",
        clean::line(&configured)
    )))
}

async fn may_spend(caller: &Caller) -> Result<bool, Trouble> {
    Ok(caller.call(HelloRequest::default()).await?.assistants_may_spend)
}

fn done(reindexed: Reindexed) -> Result<ToolResult, Trouble> {
    ToolResult::new(reindexed.message.clone(), &reindexed)
}

/// A job has begun; if it is waited for, until it has ended.
async fn begun(
    job: &Job,
    wait: bool,
    told: &(dyn Fn(&str, String) -> Reindexed + Sync),
    caller: &Caller,
) -> Result<ToolResult, Trouble> {
    let id = job.job;
    if !wait {
        let message = format!("Job {id} has begun; `get_reindexing_progress` says how far it is.");
        return done(Reindexed { job: Some(id), ..told("started", message) });
    }
    let mut last = -1.0;
    loop {
        if !caller.goes_on() && caller.has_left() {
            return Err(Trouble::internal("the client has left; the job goes on"));
        }
        if !caller.goes_on() {
            // The client has cancelled the call, which ends the job; what is done stays. No client reads the result.
            let _ = caller.daemon.call(CancelRequest::of_job(id), std::sync::Arc::new(Nobody)).await;
            return done(Reindexed { job: Some(id), ..told("cancelled", format!("Job {id} was cancelled.")) });
        }
        let found = match find(Some(id), caller).await {
            // Seen to above.
            Err(_) if !caller.goes_on() => continue,
            found => found?,
        };
        let Some(job) = found else {
            let message = format!("Job {id} is not known any more: the daemon was restarted, and goes on by itself.");
            return done(Reindexed { job: Some(id), ..told("started", message) });
        };
        let now = of_job(&job);
        if now.processed as f64 > last {
            last = now.processed as f64;
            let total = (now.total_entities > 0).then_some(now.total_entities as f64);
            caller.progress(last, total, &format!("{} made anew", now.unit)).await;
        }
        if !job.is_running() {
            let message = format!(
                "Job {id} is {}: {} of {} {}, {} failed.",
                now.status, now.processed, now.total_entities, now.unit, now.failed
            );
            return done(Reindexed { job: Some(id), ..told(&now.status, message) });
        }
        tokio::time::sleep(LOOK).await;
    }
}

struct Nobody;

impl super::super::daemon::Listener for Nobody {}

pub(in crate::mcp) async fn progress(asked: Progress, caller: &Caller) -> Result<ToolResult, Trouble> {
    if let Some(job) = find(asked.job, caller).await? {
        let told = of_job(&job);
        return ToolResult::new(sentence(&told), &told);
    }
    if let Some(id) = asked.job {
        return Err(Trouble::invalid(format!(
            "there is no reindexing with the number {id}; without `job` the last one is told of"
        )));
    }
    let stats = caller.call(StatsRequest::default()).await?;
    let told = Reindexing {
        unit: "chunks".to_owned(),
        total_entities: stats.total,
        processed: stats.processed,
        failed: stats.failed,
        failed_entities: Vec::new(),
        percentage: decimal(stats.percentage),
        elapsed_seconds: stats.elapsed_s,
        estimated_remaining_seconds: stats.remaining_s,
        start_time: began(stats.elapsed_s),
        status: status(&stats.status),
        job: None,
        micro_dollars: None,
        problem: None,
    };
    ToolResult::new(sentence(&told), &told)
}

/// The job of this number; without one the running reindexing, else the last one.
async fn find(id: Option<u64>, caller: &Caller) -> Result<Option<Job>, Trouble> {
    let JobList { jobs } = caller.call(JobsRequest::default()).await?;
    let rebuilds: Vec<Job> = jobs.into_iter().filter(|job| job.kind == JobKind::Rebuild).collect();
    Ok(match id {
        Some(id) => rebuilds.into_iter().find(|job| job.job == id),
        None => rebuilds.iter().find(|job| job.is_running()).or_else(|| rebuilds.first()).cloned(),
    })
}

/// The state of a job in the words of the specification, where it has one.
pub(super) fn status(state: &str) -> String {
    match state {
        "running" => "in_progress".to_owned(),
        "done" => "completed".to_owned(),
        other => clean::line(other),
    }
}

/// When what has taken so many seconds began, in seconds since 1970.
fn began(elapsed_s: Option<f64>) -> Option<i64> {
    Some(jiff::Timestamp::now().as_second() - elapsed_s?.round() as i64)
}

fn of_job(job: &Job) -> Reindexing {
    let told = Reindexing {
        unit: "notes".to_owned(),
        total_entities: job.total.unwrap_or_default(),
        processed: job.done,
        failed: job.failed.len() as u64,
        failed_entities: job.failed.iter().take(MOST_FAILED).map(|file| clean::name(&file.path)).collect(),
        percentage: 0.0,
        elapsed_seconds: Some(job.took_ms as f64 / 1e3),
        estimated_remaining_seconds: None,
        start_time: began(Some(job.took_ms as f64 / 1e3)).filter(|_| job.is_running()),
        status: status(&job.state.to_string()),
        job: Some(job.job),
        micro_dollars: None,
        problem: job.problem.as_deref().map(clean::line),
    };
    if let Some(contexts) = job.contexts.filter(|contexts| contexts.total > 0) {
        return Reindexing {
            unit: "chunks".to_owned(),
            total_entities: contexts.total,
            processed: contexts.processed,
            failed: contexts.failed,
            percentage: decimal(contexts.percentage),
            elapsed_seconds: Some(contexts.elapsed_s),
            estimated_remaining_seconds: contexts.remaining_s,
            micro_dollars: Some(contexts.micro_dollars),
            ..told
        };
    }
    let percentage = match told.total_entities {
        0 if job.state == JobState::Done => 100.0,
        0 => 0.0,
        total => told.processed as f64 / total as f64 * 100.0,
    };
    Reindexing { percentage, ..told }
}

fn sentence(told: &Reindexing) -> String {
    let Reindexing { unit, total_entities: total, processed, failed, percentage, status, .. } = told;
    let rest = told.estimated_remaining_seconds.map_or_else(String::new, |s| format!(" About {s:.0} s are left."));
    let why = told.problem.as_ref().map_or_else(String::new, |why| format!(" It ended early: {why}"));
    format!("{status}: {processed} of {total} {unit} ({percentage:.0} %), {failed} failed.{rest}{why}")
}

fn cost(estimate: &Estimate) -> Cost {
    Cost {
        notes: estimate.notes,
        chunks: estimate.chunks,
        calls: estimate.calls,
        tokens: estimate.tokens_in + estimate.tokens_out,
        micro_dollars: estimate.micro_dollars,
        minutes: estimate.minutes,
    }
}

fn price(cost: &Cost) -> String {
    let money = match cost.micro_dollars {
        Some(price) => format!("about ${:.4}", price as f64 / 1e6),
        None => "an unknown price".to_owned(),
    };
    format!("{money}, {} calls, {} tokens and {:.0} minutes", cost.calls, cost.tokens, cost.minutes.ceil())
}
