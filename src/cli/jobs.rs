//! Long work: `situated sync`, `jobs`, `pause`, `resume`, and how any job is followed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::args::{Jobs, Pause, Sync};
use super::exit;
use super::money::flaw;
use super::print::{counted, dim, green, grouped, local, millis, now, padded, red, yellow};
use super::session::{CliFailure, Session, safe};
use super::signals::Interrupt;
use super::target::{self, Served};
use context::cost::dollars;
use protocol::client::{Client, ClientError};
use protocol::daemon::ResumeRequest;
use protocol::jobs::{
    CancelRequest, ContextProgress, Job, JobKind, JobList, JobState, JobsRequest, PauseRequest, Scope, SyncRequest,
    WRITING_CONTEXTS,
};
use protocol::status::{Status, StatusRequest};

/// How often a running job is polled: often enough for a bar that moves, rarely enough to cost nothing.
const LOOK: Duration = Duration::from_millis(100);

/// How a bar looks whose total is not known.
const COUNTER: &str = "{spinner:.cyan} {human_pos} notes  {msg}";

/// Most failed notes that are listed; `--json` has all that the daemon reports.
const SHOWN: usize = 10;

/// What a user means by a vault, folder or note.
pub(super) fn scope(what: Option<&Path>, vault: Option<&str>, client: &mut Client) -> Result<Scope, CliFailure> {
    let served = Served::ask(client)?;
    Ok(served.scope(what, vault, |name| target::is_note(name, vault, client)))
}

/// `situated sync`.
pub(super) fn sync(args: Sync, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let scope = scope(args.what.as_deref(), args.vault.as_deref(), &mut client)?;
    let (vault, path) = (scope.vault.clone(), scope.path.clone());
    let (accept_deletes, since) = (args.accept_deletes, args.since);
    let pause = pause_told(&mut client)?;
    if let Some(pause) = pause.as_ref().filter(|_| args.wait) {
        return Err(CliFailure::new(exit::TEMPORARY, pause));
    }
    let job = client.call(&SyncRequest { vault, path, accept_deletes, since, wait: false, progress: None })?;
    if let Some(seconds) = args.since {
        let status = client.call(&StatusRequest::default())?;
        session.say(renewed(seconds, &status));
    }
    if args.wait {
        return follow(job, &mut client, session);
    }
    let (place, number) = (place(&job), job.job);
    let said = match pause {
        None => format!("looking at {place} in the background (job {number})"),
        Some(pause) => format!("looking at {place} when the pause ends (job {number}): {pause}"),
    };
    session.done(json!({ "job": job }), said)
}

/// That work is paused, and until when, if it is.
pub(super) fn pause_told(client: &mut Client) -> Result<Option<String>, CliFailure> {
    let paused = paused(&client.call(&StatusRequest::default())?, now());
    Ok(paused.map(|paused| format!("work is {paused}, saves too; `situated resume` lets it go on")))
}

/// An error while work is paused: a job that is followed would not come to its end.
pub(super) fn unless_paused(client: &mut Client) -> Result<(), CliFailure> {
    pause_told(client)?.map_or(Ok(()), |pause| Err(CliFailure::new(exit::TEMPORARY, pause)))
}

/// Says what `--since` starts.
fn renewed(seconds: u64, status: &Status) -> String {
    if is_free(&status.contexts.provider) {
        return "contexts come from the notes themselves and are never stale: --since has nothing to do".to_owned();
    }
    let notes = match seconds {
        0 => "all notes".to_owned(),
        seconds => format!("notes that changed in the last {}", span(seconds)),
    };
    format!(
        "stale and failed contexts of {notes} are made anew in the background, within the day's budget; \
         `situated status` says how many wait"
    )
}

/// `paused until 20:38`, with the day if it is another one than today's; nothing if the user has not paused work.
pub(super) fn paused(status: &Status, now: i64) -> Option<String> {
    let until = status.paused_until?;
    let Some(end) = local(until).filter(|_| until > 0) else { return Some("paused".to_owned()) };
    let is_today = local(now).is_some_and(|now| now.date() == end.date());
    Some(format!("paused until {}", end.strftime(if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" })))
}

/// Whether contexts are free because no model writes them. Older daemons send an empty name.
pub(super) fn is_free(provider: &str) -> bool {
    matches!(provider, "template" | "none" | "")
}

/// Seconds in the largest unit that divides them.
fn span(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    let fits = |(length, _): &(u64, &str)| seconds > *length && seconds.is_multiple_of(*length);
    let (length, unit) = units.into_iter().find(fits).unwrap_or((1, "second"));
    counted(seconds / length, unit)
}

/// Shows a job's progress until it ends; Ctrl-C cancels it. One that buys contexts has an estimate.
pub(super) fn follow(mut job: Job, client: &mut Client, session: &mut Session) -> Result<u8, CliFailure> {
    let interrupt = Interrupt::listen(|| ());
    let buys = job.estimate.is_some();
    let bar = bar(session.globals.quiet || session.globals.json);
    let mut cancelled = false;
    while job.is_running() {
        show(&bar, &job);
        if interrupt.raised() && !cancelled {
            cancelled = true;
            bar.set_message("cancelling");
            // If it has just ended, the next look tells how.
            let _ = client.call(&CancelRequest::of_job(job.job));
        }
        std::thread::sleep(LOOK);
        let all = match client.call(&JobsRequest::default()) {
            Err(ClientError::Closed | ClientError::NotRunning(_)) => {
                bar.finish_and_clear();
                return Err(CliFailure::new(exit::TEMPORARY, stopped(&job, buys)));
            }
            all => all?,
        };
        let Some(now) = all.jobs.into_iter().find(|other| other.job == job.job) else {
            bar.finish_and_clear();
            let message = format!("the daemon knows nothing of job {} any more; was it restarted?", job.job);
            return Err(CliFailure::new(exit::INTERNAL, message));
        };
        job = now;
    }
    bar.finish_and_clear();
    let code = match job.state {
        JobState::Done if job.failed.is_empty() => exit::OK,
        JobState::Cancelled => exit::INTERRUPTED,
        _ => exit::NOTHING,
    };
    if session.globals.json {
        session.json(json!({ "job": job }))?;
        return Ok(code);
    }
    if !session.globals.quiet {
        session.out.line(ended(&job))?;
    }
    if let Some(problem) = &job.problem {
        session.say(format!("  {}", safe(problem)));
    }
    // Each chunk that failed is an entry of its note; one line for all that failed alike is enough.
    let alike: Vec<_> = job.failed.chunk_by(|a, b| a == b).collect();
    for failed in alike.iter().take(SHOWN) {
        let times = if failed.len() > 1 { format!(", {} times", failed.len()) } else { String::new() };
        session.say(format!("  {} {}: {}{times}", red("failed"), safe(&failed[0].path), flaw(&failed[0].why)));
    }
    if alike.len() > SHOWN {
        session.say(dim(format!("  and {} more; --json lists them", grouped((alike.len() - SHOWN) as u64))));
    }
    Ok(code)
}

/// What becomes of a job that was followed when the daemon stopped; one that `buys` contexts is remembered.
fn stopped(job: &Job, buys: bool) -> String {
    let is_bought = job.kind == JobKind::Rebuild && (buys || job.contexts.is_some());
    // A generation is built up to its end whatever it costs.
    let goes_on = is_bought || job.kind == JobKind::Generation;
    let then = if goes_on {
        "goes on when it starts again: `situated jobs`, `situated jobs --cancel`"
    } else {
        "did not come to its end"
    };
    format!("the daemon has stopped; the {} of {} {then}", job.kind, place(job))
}

/// A progress bar on standard error; nothing at all if that is not a terminal.
pub(super) fn bar(hidden: bool) -> ProgressBar {
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(None, target).with_style(style(COUNTER))
}

/// Updates a bar to a job's state; the style changes once the total is known.
pub(super) fn show(bar: &ProgressBar, job: &Job) {
    if let Some(contexts) = job.contexts.as_ref().filter(|contexts| contexts.total > 0) {
        // The notes are done; now the model takes the time.
        bar.set_style(style("{wide_bar:.cyan} {human_pos}/{human_len} contexts  {msg}"));
        bar.set_length(contexts.total);
        bar.set_position(contexts.processed);
        bar.set_message(progress(job, contexts));
        return;
    }
    match job.total {
        Some(total) if bar.length() != Some(total) => {
            bar.set_style(style("{wide_bar:.cyan} {human_pos}/{human_len} notes  {msg}"));
            bar.set_length(total);
        }
        Some(_) => {}
        None => bar.set_style(style(COUNTER)),
    }
    bar.set_position(job.done);
    bar.set_message(safe(&job.phase));
}

/// What a running job does beside what its numbers say: it waits for a batch.
fn doing(job: &Job) -> Option<String> {
    let waits = job.is_running() && job.contexts.is_some_and(|contexts| contexts.total > 0);
    Some(safe(&job.phase)).filter(|_| waits && job.phase != WRITING_CONTEXTS)
}

/// `waiting for the batch (since 2026-11-12 09:30), 3 failed, $0.42, 2 min 5 s left`.
fn progress(job: &Job, contexts: &ContextProgress) -> String {
    let failed = (contexts.failed > 0).then(|| format!("{} failed", grouped(contexts.failed)));
    let money = (contexts.micro_dollars > 0).then(|| dollars(contexts.micro_dollars));
    let left = contexts
        .remaining_s
        .filter(|s| *s > 0.0 && contexts.processed < contexts.total)
        .map(|s| format!("{} left", millis(s * 1000.0)));
    let said: Vec<String> = [doing(job), failed, money, left].into_iter().flatten().collect();
    said.join(", ")
}

/// How a bar looks.
pub(super) fn style(template: &str) -> ProgressStyle {
    // A template that does not parse would be our bug; the plain bar still works.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// A job that runs, and how far it is: `rebuild: 345 of 1,000 notes`.
pub(super) fn running(job: &Job) -> String {
    let far = match (&job.contexts, job.total) {
        (Some(contexts), _) if contexts.total > 0 => {
            format!(": {} of {}", grouped(contexts.processed), counted(contexts.total, "context"))
        }
        (_, Some(total)) if total > 0 => format!(": {} of {}", grouped(job.done), counted(total, "note")),
        _ if job.done > 0 => format!(": {}", counted(job.done, "note")),
        _ => String::new(),
    };
    let doing = doing(job).map_or_else(String::new, |doing| format!(", {doing}"));
    format!("{}{far}{doing}", job.kind)
}

/// What a job covers: a look at the disk covers all of a vault.
fn place(job: &Job) -> String {
    let rest = if job.kind == JobKind::Sync && job.scope.path.is_some() { " and the rest of its vault" } else { "" };
    format!("{}{rest}", target::named(&job.scope))
}

/// One line about a job that has ended.
pub(super) fn ended(job: &Job) -> String {
    let took = millis(job.took_ms as f64);
    let place = place(job);
    let contexts = match &job.contexts {
        Some(contexts) if contexts.total > 0 => format!("; {}", written(contexts, job)),
        // The job waits for notes only; a model may have written contexts meanwhile.
        _ if job.bought > 0 => format!("; {} bought meanwhile", counted(job.bought, "context")),
        _ => String::new(),
    };
    match job.state {
        // Its notes are looked at for it by an index of its own, which has no end.
        JobState::Done if job.kind == JobKind::Generation => {
            format!("{} {} of {place}, {took}{contexts}", green("done:"), job.kind)
        }
        JobState::Done => format!(
            "{} {} of {place}: {} looked at, {} changed, {took}{contexts}",
            green("done:"),
            job.kind,
            counted(job.done, "note"),
            grouped(job.changed)
        ),
        JobState::Cancelled => format!(
            "{} {} of {place} after {} of {}; what was done stays{contexts}",
            yellow("cancelled:"),
            job.kind,
            grouped(job.done),
            job.total.map_or("?".to_owned(), grouped)
        ),
        state => format!(
            "{} {} of {place} after {}, {took}{contexts}",
            red(format!("{state}:")),
            job.kind,
            counted(job.done, "note")
        ),
    }
}

/// `3,338 of 3,350 contexts written, $0.42, 12 failed (declined by the model 7, too poor 5)`.
fn written(contexts: &ContextProgress, job: &Job) -> String {
    let good = contexts.processed.saturating_sub(contexts.failed);
    // Calls under way when it was cancelled may take less than they reserved.
    let most = if job.state == JobState::Cancelled { " at most" } else { "" };
    let money = match contexts.micro_dollars {
        0 => String::new(),
        micro => format!(", {}{most}", dollars(micro)),
    };
    let mut said = format!("{} of {} written{money}", grouped(good), counted(contexts.total, "context"));
    if contexts.failed > 0 {
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for failed in &job.failed {
            *reasons.entry(flaw(&failed.why)).or_default() += 1;
        }
        let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        // The daemon names only the first hundred.
        let some = if (job.failed.len() as u64) < contexts.failed { "of the first: " } else { "" };
        let named: Vec<String> = reasons.into_iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let named = if named.is_empty() { String::new() } else { format!(" ({some}{})", named.join(", ")) };
        said.push_str(&format!(", {} failed{named}", grouped(contexts.failed)));
    }
    said
}

/// `situated jobs`.
pub(super) fn jobs(args: Jobs, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    if let Some(job) = args.cancel {
        client.call(&CancelRequest::of_job(job))?;
        session.say(format!("job {job} will stop at the next note"));
    }
    let reply = client.ask(&JobsRequest::default())?;
    let Some(JobList { jobs }) = session.unless_json(reply)? else { return Ok(exit::OK) };
    if jobs.is_empty() {
        session.say("no jobs yet");
    }
    for job in &jobs {
        let total = job.total.map_or(String::new(), |total| format!("/{}", grouped(total)));
        let contexts = job.contexts.as_ref().filter(|contexts| contexts.total > 0);
        let contexts = contexts.map_or(String::new(), |contexts| {
            // A job that has ended has no time left.
            let remaining_s = contexts.remaining_s.filter(|_| job.is_running());
            let more = progress(job, &ContextProgress { remaining_s, ..*contexts });
            let more = if more.is_empty() { more } else { format!(", {more}") };
            format!(", {}/{} contexts{more}", grouped(contexts.processed), grouped(contexts.total))
        });
        let line = format!(
            "{} {} {} {}  {}",
            padded(&format!("{:>4}", job.job), 5),
            padded(&job.kind.to_string(), 8),
            padded(&job.state.to_string(), 10),
            target::named(&job.scope),
            dim(format!(
                "{}{total} notes, {} changed{contexts}, {}",
                grouped(job.done),
                grouped(job.changed),
                millis(job.took_ms as f64)
            ))
        );
        session.out.line(line)?;
        if let Some(problem) = &job.problem {
            session.out.wrapped("      ", &safe(problem))?;
        }
    }
    Ok(exit::OK)
}

/// `situated pause`.
pub(super) fn pause(args: Pause, session: &mut Session) -> Result<u8, CliFailure> {
    session.call(&PauseRequest { seconds: args.seconds })?;
    let until = args.seconds.map_or("until `situated resume`".to_owned(), |seconds| format!("for {}", span(seconds)));
    let said = format!("paused {until}, saves too; searches are answered");
    session.done(json!({ "paused": true, "seconds": args.seconds }), said)
}

/// `situated resume`.
pub(super) fn resume(session: &mut Session) -> Result<u8, CliFailure> {
    session.call(&ResumeRequest {})?;
    session.done(json!({ "paused": false }), "going on")
}

#[cfg(test)]
mod tests;
