//! Reindexing: what it takes, its start, its progress.

use std::time::Duration;

use serde_json::{Map, Value};

use super::super::caller::Caller;
use super::super::daemon::{Trouble, Waiting};
use super::super::params::{Progress, Reindex};
use super::super::results::{Cost, HowFar, Reindexed, Reindexing};
use super::{ToolResult, decimal, vault};
use crate::mcp::{clean, resources};
use protocol::contexts::{Estimate, StatsRequest};
use protocol::daemon::HelloRequest;
use protocol::jobs::{CancelRequest, Job, JobKind, JobList, JobState, JobsRequest, RebuildRequest};

/// The most failed notes that are named.
const MOST_FAILED: usize = 20;

/// How often a job is polled while a call waits for it.
const LOOK: Duration = Duration::from_millis(300);

/// Arguments of the specification that are settings of the user here, with the key of each in the configuration.
const SETTINGS: [(&str, &str); 2] = [("batch_size", "context.form"), ("max_workers", "context.concurrency")];

/// Refuses arguments that only the user may set, instead of ignoring them: the caller would believe that they count.
pub(in crate::mcp) fn without_settings(given: Map<String, Value>) -> Result<Map<String, Value>, Trouble> {
    match SETTINGS.iter().find(|(name, _)| given.contains_key(*name)) {
        None => Ok(given),
        Some((name, key)) => Err(Trouble::invalid(format!(
            "`{name}` is the user's to set, as `{key}` in their configuration: leave it out; nothing was begun"
        ))),
    }
}

pub(in crate::mcp) async fn start(asked: Reindex, caller: &Caller) -> Result<ToolResult, Trouble> {
    written_by(asked.llm_provider.as_deref(), caller).await?;
    let (vault, path) = match asked.path.as_deref() {
        Some(path) => {
            let named = resources::named_now(path, asked.vault.as_ref(), caller).await?;
            (named.vault, Some(named.path))
        }
        None => (vault(asked.vault.as_ref()), None),
    };
    let request = RebuildRequest { vault, path, stale: !asked.force, ..RebuildRequest::default() };
    let planned = caller.call(RebuildRequest { dry_run: true, ..request.clone() }).await?;
    let plan = Plan { total: planned.total.unwrap_or_default(), estimate: planned.estimate.as_ref().map(cost) };
    if !asked.force && plan.estimate.as_ref().is_none_or(|estimate| estimate.chunks == 0) {
        let message = "Every chunk has the context that it should have, and saves are indexed by themselves: there is \
                       nothing to do. `force: true` makes all of it anew.";
        return done(plan.nothing_to_do(message.to_owned()));
    }
    let mut refused = String::new();
    if asked.confirm || !plan.costs() {
        match caller.call(request).await {
            Ok(job) => return begun(&job, asked.wait, &plan, caller).await,
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
    let price = plan.estimate.as_ref().map_or_else(String::new, price);
    let message = format!("This would take {price}. Nothing was begun; it lacks: {}.", missing.join("; "));
    done(Reindexed { missing, ..plan.told("needs_confirmation", message) })
}

/// What a reindexing covers, and takes.
struct Plan {
    /// Notes.
    total: u64,
    /// `None` if it is free.
    estimate: Option<Cost>,
}

impl Plan {
    fn costs(&self) -> bool {
        self.estimate.as_ref().is_some_and(|estimate| estimate.micro_dollars != Some(0))
    }

    /// The answer while nothing has been done yet.
    fn told(&self, status: &str, message: String) -> Reindexed {
        let micro_dollars = self.estimate.as_ref().map_or(Some(0), |estimate| estimate.micro_dollars);
        Reindexed {
            success: matches!(status, "started" | "completed" | "nothing_to_do"),
            status: status.to_owned(),
            total_entities: self.total,
            estimated_cost: micro_dollars.map(dollars),
            progress: HowFar { status: "not_started".to_owned(), percentage: 0.0 },
            estimate: self.estimate.clone(),
            message,
            ..Reindexed::default()
        }
    }

    fn nothing_to_do(&self, message: String) -> Reindexed {
        let progress = HowFar { status: "completed".to_owned(), percentage: 100.0 };
        Reindexed { progress, estimated_cost: Some(0.0), ..self.told("nothing_to_do", message) }
    }

    /// The answer about a job as it is now. Once it has ended, what it spent takes the place of the estimate.
    fn of_job(&self, now: &Reindexing, status: &str, message: String) -> Reindexed {
        let told = self.told(status, message);
        let has_ended = status != "started";
        Reindexed {
            job: now.job,
            total_entities: if now.total_entities > 0 { now.total_entities } else { told.total_entities },
            processed: now.processed,
            failed: now.failed,
            duration_seconds: now.elapsed_seconds.unwrap_or_default(),
            estimated_cost: now.micro_dollars.filter(|_| has_ended).map(dollars).or(told.estimated_cost),
            progress: HowFar { status: now.status.clone(), percentage: now.percentage },
            ..told
        }
    }
}

fn dollars(micro_dollars: u64) -> f64 {
    micro_dollars as f64 / 1e6
}

/// Refuses any provider except the user's: contexts that the caller believes to be free might be bought.
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

/// The answer about a job that has begun; with `wait`, once it has ended.
async fn begun(began: &Job, wait: bool, plan: &Plan, caller: &Caller) -> Result<ToolResult, Trouble> {
    let id = began.job;
    let mut now = of_job(began);
    if !wait {
        let message = format!("Job {id} has begun; `get_reindexing_progress` says how far it is.");
        return done(plan.of_job(&now, "started", message));
    }
    let mut last = -1.0;
    loop {
        if !caller.goes_on() && caller.has_left() {
            return Err(Trouble::internal("the client has left; the job goes on"));
        }
        if !caller.goes_on() {
            // The client has cancelled the call, which ends the job; what is done stays. No client reads the result.
            let _ = caller.daemon.call(CancelRequest::of_job(id), Waiting::to_the_end()).await;
            return done(plan.of_job(&now, "cancelled", format!("Job {id} was cancelled.")));
        }
        let found = match find(Some(id), caller).await {
            // Handled at the start of the loop.
            Err(_) if !caller.goes_on() => continue,
            found => found?,
        };
        let Some(job) = found.filter(|job| is_same(job, began)) else {
            let message = format!("Job {id} is not known any more: the daemon was restarted, and goes on by itself.");
            return done(plan.of_job(&now, "started", message));
        };
        now = of_job(&job);
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
            return done(plan.of_job(&now, &now.status, message));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether a job of that number is the one that has begun: a daemon that was restarted counts its jobs anew.
fn is_same(job: &Job, began: &Job) -> bool {
    job.started_at == began.started_at
}

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
        status: status(&stats.status),
        unit: "chunks".to_owned(),
        total_entities: stats.total,
        processed: stats.processed,
        failed: stats.failed,
        percentage: decimal(stats.percentage),
        elapsed_seconds: stats.elapsed_s,
        estimated_remaining_seconds: stats.remaining_s,
        start_time: stats.elapsed_s.and_then(|elapsed| from_now(-elapsed)),
        estimated_completion: stats.remaining_s.and_then(from_now),
        ..Reindexing::default()
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

/// The time `seconds` from now, to the second.
fn from_now(seconds: f64) -> Option<String> {
    moment(jiff::Timestamp::now().as_second().checked_add(seconds.round() as i64)?)
}

/// The time of a second since 1970.
fn moment(second: i64) -> Option<String> {
    Some(jiff::Timestamp::from_second(second).ok()?.to_string())
}

fn of_job(job: &Job) -> Reindexing {
    let elapsed = job.took_ms as f64 / 1e3;
    let notes = Reindexing {
        status: status(&job.state.to_string()),
        unit: "notes".to_owned(),
        total_entities: job.total.unwrap_or_default(),
        processed: job.done,
        failed: job.failed.len() as u64,
        failed_entities: job.failed.iter().take(MOST_FAILED).map(|file| clean::name(&file.path)).collect(),
        elapsed_seconds: Some(elapsed),
        start_time: if job.started_at > 0 { moment(job.started_at) } else { from_now(-elapsed) },
        job: Some(job.job),
        problem: job.problem.as_deref().map(clean::line),
        ..Reindexing::default()
    };
    let told = match job.contexts.filter(|contexts| contexts.total > 0) {
        Some(contexts) => Reindexing {
            unit: "chunks".to_owned(),
            total_entities: contexts.total,
            processed: contexts.processed,
            failed: contexts.failed,
            percentage: decimal(contexts.percentage),
            elapsed_seconds: Some(contexts.elapsed_s),
            estimated_remaining_seconds: contexts.remaining_s,
            micro_dollars: Some(contexts.micro_dollars),
            ..notes
        },
        None => Reindexing {
            percentage: match notes.total_entities {
                0 if job.state == JobState::Done => 100.0,
                0 => 0.0,
                total => notes.processed as f64 / total as f64 * 100.0,
            },
            estimated_remaining_seconds: rest(elapsed, notes.processed, notes.total_entities),
            ..notes
        },
    };
    let remaining = told.estimated_remaining_seconds.filter(|_| job.is_running());
    Reindexing { estimated_remaining_seconds: remaining, estimated_completion: remaining.and_then(from_now), ..told }
}

/// Seconds that the rest takes if it goes on as it went; `None` before anything was done.
fn rest(elapsed: f64, done: u64, total: u64) -> Option<f64> {
    (done > 0).then(|| elapsed / done as f64 * total.saturating_sub(done) as f64)
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
        Some(price) => format!("about ${:.4}", dollars(price)),
        None => "an unknown price".to_owned(),
    };
    format!("{money}, {} calls, {} tokens and {:.0} minutes", cost.calls, cost.tokens, cost.minutes.ceil())
}

#[cfg(test)]
mod tests;
