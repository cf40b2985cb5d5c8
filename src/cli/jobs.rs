//! Long work: `situated sync`, `rebuild`, `jobs`, `pause`, `resume`.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::args::{Jobs, Pause, Rebuild, Sync};
use super::exit;
use super::print::{bold, counted, dim, green, grouped, millis, padded, red, yellow};
use super::session::{Failure, Session, safe};
use super::signals::Interrupt;
use super::target;
use crate::client::Client;
use crate::engine::handle::{Job, Scope};

/// How often a running job is looked at: quick enough for a bar that moves, rare enough to cost nothing.
const LOOK: Duration = Duration::from_millis(100);

fn scope(what: Option<&Path>, client: &mut Client) -> Result<Scope, Failure> {
    Ok(target::scope(what, &target::vaults(client)?, &std::env::current_dir()?))
}

/// `situated sync`.
pub(super) fn sync(args: Sync, session: &mut Session) -> Result<u8, Failure> {
    let mut client = session.client()?;
    let scope = scope(args.what.as_deref(), &mut client)?;
    let (vault, path) = (&scope.vault, &scope.path);
    let params = json!({ "vault": vault, "path": path, "accept_deletes": args.accept_deletes, "wait": false });
    let job: Job = serde_json::from_value(client.call("sync", params)?)?;
    if args.wait {
        return follow(job, &mut client, session);
    }
    if session.globals.json {
        session.json(json!({ "job": job }))?;
    }
    session.say(format!("looking at {} in the background (job {})", target::named(&scope), job.job));
    Ok(exit::OK)
}

/// `situated rebuild`.
pub(super) fn rebuild(args: Rebuild, session: &mut Session) -> Result<u8, Failure> {
    let mut client = session.client()?;
    let scope = scope(args.what.as_deref(), &mut client)?;
    let params = |dry_run: bool| json!({ "vault": scope.vault, "path": scope.path, "dry_run": dry_run, "wait": false });
    let estimate: Job = serde_json::from_value(client.call("rebuild", params(true))?)?;
    let notes = estimate.total.unwrap_or(0);
    if args.dry_run && session.globals.json {
        session.json(json!({ "estimate": estimate }))?;
        return Ok(exit::OK);
    }
    session.say(format!(
        "{} of {} will be read, cut and embedded anew. Contexts come from the note itself: it costs nothing.\nSearches are answered meanwhile.",
        bold(counted(notes, "note")),
        target::named(&scope)
    ));
    if args.dry_run {
        return Ok(exit::OK);
    }
    if notes == 0 {
        session.say("there is nothing to do");
        return Ok(exit::NOTHING);
    }
    if !args.yes && !confirmed()? {
        session.say("nothing was done");
        return Ok(exit::OK);
    }
    let job: Job = serde_json::from_value(client.call("rebuild", params(false))?)?;
    follow(job, &mut client, session)
}

fn confirmed() -> Result<bool, Failure> {
    let mut stdin = std::io::stdin().lock();
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::usage(
            "nobody can be asked here; say `--yes` to rebuild, or `--dry-run` to see what it would do",
        ));
    }
    write!(std::io::stderr(), "Go on? [y/N] ")?;
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Shows a job's progress until it ends; Ctrl-C cancels it.
fn follow(mut job: Job, client: &mut Client, session: &mut Session) -> Result<u8, Failure> {
    let interrupt = Interrupt::listen();
    let bar = bar(session.globals.quiet || session.globals.json);
    let mut cancelled = false;
    while job.state == "running" {
        show(&bar, &job);
        if interrupt.raised() && !cancelled {
            cancelled = true;
            bar.set_message("cancelling");
            client.call("cancel", json!({ "job": job.job }))?;
        }
        std::thread::sleep(LOOK);
        let all: Vec<Job> = listed(&client.call("jobs", json!({}))?)?;
        let Some(now) = all.into_iter().find(|other| other.job == job.job) else {
            bar.finish_and_clear();
            let message = format!("the daemon knows nothing of job {} any more; was it restarted?", job.job);
            return Err(Failure::new(exit::INTERNAL, message));
        };
        job = now;
    }
    bar.finish_and_clear();
    let code = match job.state.as_str() {
        "done" if job.failed.is_empty() => exit::OK,
        "cancelled" => exit::INTERRUPTED,
        _ => exit::NOTHING,
    };
    if session.globals.json {
        session.json(json!({ "job": job }))?;
        return Ok(code);
    }
    if !session.globals.quiet {
        session.out.line(ended(&job))?;
    }
    for failed in &job.failed {
        session.say(format!("  {} {}: {}", red("failed"), safe(&failed.path), safe(&failed.why)));
    }
    Ok(code)
}

/// A bar on standard error; nothing at all if that is no terminal.
pub(super) fn bar(hidden: bool) -> ProgressBar {
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(None, target)
}

/// Brings a bar up to a job's state; the style follows once the total is known.
pub(super) fn show(bar: &ProgressBar, job: &Job) {
    match job.total {
        Some(total) if bar.length() != Some(total) => {
            bar.set_style(style("{wide_bar:.cyan} {human_pos}/{human_len} notes  {msg}"));
            bar.set_length(total);
        }
        Some(_) => {}
        None => bar.set_style(style("{spinner:.cyan} {human_pos} notes  {msg}")),
    }
    bar.set_position(job.done);
    bar.set_message(safe(&job.phase));
}

fn style(template: &str) -> ProgressStyle {
    // A template that does not parse would be a fault of ours; the plain bar still serves.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// One line about a job that has ended.
pub(super) fn ended(job: &Job) -> String {
    let took = millis(job.took_ms as f64);
    let place = target::named(&job.scope);
    match job.state.as_str() {
        "done" => format!(
            "{} {} of {place}: {} looked at, {} changed, {took}",
            green("done:"),
            safe(&job.kind),
            counted(job.done, "note"),
            grouped(job.changed)
        ),
        "cancelled" => format!(
            "{} {} of {place} after {} of {}; what was done stays",
            yellow("cancelled:"),
            safe(&job.kind),
            grouped(job.done),
            job.total.map_or("?".to_owned(), grouped)
        ),
        state => format!(
            "{} {} of {place}: {} after {}, {took}",
            red("failed:"),
            safe(&job.kind),
            safe(state),
            counted(job.done, "note")
        ),
    }
}

fn listed(answer: &Value) -> Result<Vec<Job>, Failure> {
    Ok(serde_json::from_value(answer["jobs"].clone())?)
}

/// `situated jobs`.
pub(super) fn jobs(args: Jobs, session: &mut Session) -> Result<u8, Failure> {
    let mut client = session.client()?;
    if let Some(job) = args.cancel {
        client.call("cancel", json!({ "job": job }))?;
        session.say(format!("job {job} will stop at the next note"));
    }
    let answer = client.call("jobs", json!({}))?;
    if session.globals.json {
        session.json(answer)?;
        return Ok(exit::OK);
    }
    let jobs = listed(&answer)?;
    if jobs.is_empty() {
        session.say("no jobs yet");
    }
    for job in &jobs {
        let total = job.total.map_or(String::new(), |total| format!("/{}", grouped(total)));
        let line = format!(
            "{} {} {} {}  {}",
            padded(&format!("{:>4}", job.job), 5),
            padded(&job.kind, 8),
            padded(&job.state, 10),
            target::named(&job.scope),
            dim(format!(
                "{}{total} notes, {} changed, {}",
                grouped(job.done),
                grouped(job.changed),
                millis(job.took_ms as f64)
            ))
        );
        session.out.line(line)?;
    }
    Ok(exit::OK)
}

/// `situated pause`.
pub(super) fn pause(args: Pause, session: &mut Session) -> Result<u8, Failure> {
    session.client()?.call("pause", args.seconds.map_or_else(|| json!({}), |seconds| json!({ "seconds": seconds })))?;
    answered(
        session,
        &args.seconds.map_or("paused until `situated resume`; searches are answered".to_owned(), |s| {
            format!("paused for {s} s; searches are answered")
        }),
    )
}

/// `situated resume`.
pub(super) fn resume(session: &mut Session) -> Result<u8, Failure> {
    session.client()?.call("resume", json!({}))?;
    answered(session, "going on")
}

fn answered(session: &mut Session, text: &str) -> Result<u8, Failure> {
    if session.globals.json {
        session.json(Value::Null)?;
    }
    session.say(text);
    Ok(exit::OK)
}
