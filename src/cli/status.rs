//! `situated status`, on one screen: is it healthy, is it current, what does it do, what did it cost, what leaves the
//! machine.

use std::cmp::Reverse;

use serde_json::json;

use super::args::OnlyVault;
use super::consent;
use super::exit;
use super::jobs::is_free;
use super::money::{estimated, spent};
use super::print::{Out, age, bold, bytes, counted, dim, green, grouped, millis, now, printable_lines, red, yellow};
use super::session::{CliFailure, Session, safe};
use protocol::contexts::OfferedWork;
use protocol::cost::CostReport;
use protocol::daemon::CostRequest;
use protocol::decision::Action;
use protocol::jobs::{Job, JobsRequest};
use protocol::status::{
    ContextStatus, EmbedStatus, Enforcement, RunState, Sandbox, Status, StatusRequest, VaultStatus,
};
use protocol::table::Call;

/// Lists are cut here: `--json` has all that the daemon tells.
const SHOWN: usize = 3;

/// Kinds of what is left out that are named.
const LEFT_OUT: usize = 6;

/// `situated status`.
pub(super) fn run(args: OnlyVault, session: &mut Session) -> Result<u8, CliFailure> {
    let request = StatusRequest { vault: args.vault, ..StatusRequest::default() };
    let reply = match session.client().and_then(|mut client| Ok(client.ask(&request)?)) {
        Ok(reply) => reply,
        Err(CliFailure::Said { code: exit::UNREACHABLE, message }) => {
            if session.globals.json {
                session.json(json!({ "running": false, "message": message }))?;
            } else {
                session.out.line(format!("{} {}", red("●"), bold("not running")))?;
                session.say(printable_lines(&message));
            }
            return Ok(exit::NOT_RUNNING);
        }
        Err(failure) => return Err(failure),
    };
    if session.globals.json {
        let mut answer = reply.into_json();
        answer["running"] = true.into();
        session.json(answer)?;
        return Ok(exit::OK);
    }
    // Costs and jobs are shown if they can be had; the status is shown without them too.
    let report = Report {
        status: reply.read()?,
        cost: if_told(session, &CostRequest {}),
        jobs: if_told(session, &JobsRequest::default()).map(|list| list.jobs).unwrap_or_default(),
    };
    print(&report, now(), &mut session.out)?;
    Ok(exit::OK)
}

fn if_told<C: Call>(session: &Session, call: &C) -> Option<C::Answer> {
    session.client().ok()?.call(call).ok()
}

/// All that one screen is made of.
struct Report {
    status: Status,
    cost: Option<CostReport>,
    jobs: Vec<Job>,
}

fn print(Report { status, cost, jobs }: &Report, now: i64, out: &mut Out) -> std::io::Result<()> {
    let until = status.paused_until.and_then(|until| jiff::Timestamp::from_second(until).ok());
    let until = until.filter(|until| until.as_second() > 0).map_or_else(String::new, |until| {
        format!(" until {}", until.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M"))
    });
    let paused = format!("paused{until}; `situated resume` lets it go on");
    let (dot, health) = match status.state {
        RunState::Idle if status.problems.is_empty() && !status.contexts.offers.is_empty() => {
            (yellow("●"), "up to date; a model waits for your yes, see below")
        }
        RunState::Idle if status.problems.is_empty() => (green("●"), "healthy, up to date"),
        RunState::Idle => (yellow("●"), "up to date, but see below"),
        RunState::Indexing => (green("●"), "healthy, indexing"),
        RunState::Starting => (yellow("●"), "starting"),
        RunState::Paused if !status.held.is_empty() => (yellow("●"), "paused, see below"),
        RunState::Paused => (yellow("●"), paused.as_str()),
        RunState::Degraded => (red("●"), "needs you: see below"),
    };
    out.line(format!("{dot} {}", bold(health)))?;
    for problem in &status.problems {
        row("problem", &safe(problem), out)?;
    }
    for vault in &status.vaults {
        out.line("")?;
        print_vault(vault, now, out)?;
    }
    out.line("")?;
    row("doing", &doing(status, jobs), out)?;
    for held in &status.held {
        row("", &safe(held), out)?;
    }
    if status.contexts.provider == "none" {
        row("contexts", "off: passages are searched as they are", out)?;
    } else if is_free(&status.contexts.provider) {
        row("contexts", &format!("{}, free", safe(&status.contextualizer)), out)?;
    } else {
        let ContextStatus { provider, model, .. } = &status.contexts;
        row("contexts", &format!("{} {}", safe(provider), safe(model)), out)?;
        print_contexts(&status.contexts, now, out)?;
    }
    row("vectors", &safe(&status.embedder), out)?;
    print_embedding(&status.embedding, out)?;
    print_offers("", &status.contexts, OfferedWork::Vectors, out)?;
    print_offers("reranking", &status.contexts, OfferedWork::Reranking, out)?;
    if let Some(cost) = cost {
        row("cost", &format!("{} today, {} this month", spent(&cost.today), spent(&cost.this_month)), out)?;
    }
    if status.leaves_machine.is_empty() {
        row("leaves", "nothing leaves this machine", out)?;
    }
    for (i, leaving) in status.leaves_machine.iter().enumerate() {
        row(if i == 0 { "leaves" } else { "" }, &safe(leaving), out)?;
    }
    row("sandbox", &sandbox(&status.sandbox), out)?;
    let by = match status.supervisor.as_str() {
        "none" => "started by hand".to_owned(),
        supervisor => format!("kept by {}", safe(supervisor)),
    };
    let memory = if status.rss_bytes > 0 { format!(", {} of memory", bytes(status.rss_bytes)) } else { String::new() };
    let up = millis(status.uptime_s as f64 * 1000.0);
    let about = format!("situated {}, process {}, {by}, up {up}{memory}", safe(&status.version), status.pid);
    row("daemon", &about, out)?;
    row("socket", &safe(&status.socket.to_string_lossy()), out)
}

/// A line of the screen: what it is about, in a column of its own.
fn row(name: &str, value: &str, out: &mut Out) -> std::io::Result<()> {
    out.row("  ", name, 10, value)
}

/// What the kernel holds the daemon to.
fn sandbox(sandbox: &Sandbox) -> String {
    let network = if sandbox.network { "" } else { ", and connect to nothing" };
    let why = sandbox.why.as_ref().map_or_else(String::new, |why| format!(": {}", safe(why)));
    match sandbox.landlock {
        Enforcement::Full => {
            format!("it can read the vaults, write to its own folders{network}; the kernel sees to it")
        }
        Enforcement::Partial => format!("the kernel holds it to a part of its rules{why}"),
        Enforcement::None => format!("none{why}"),
    }
}

/// What goes on at this moment.
fn doing(status: &Status, jobs: &[Job]) -> String {
    let pending: u64 = status.vaults.iter().map(|vault| vault.pending).sum();
    let mut doing: Vec<String> = jobs.iter().filter(|job| job.is_running()).map(running).collect();
    if pending > 0 {
        doing.push(format!("{} to look at", counted(pending, "path")));
    }
    if doing.is_empty() { "nothing".to_owned() } else { doing.join("; ") }
}

/// A job that runs, and how far it is.
fn running(job: &Job) -> String {
    let far = match (&job.contexts, job.total) {
        (Some(contexts), _) if contexts.total > 0 => {
            format!(": {} of {}", grouped(contexts.processed), counted(contexts.total, "context"))
        }
        (_, Some(total)) if total > 0 => format!(": {} of {}", grouped(job.done), counted(total, "note")),
        _ => String::new(),
    };
    format!("{}{far}", job.kind)
}

/// Vectors that a slow embedder makes: what waits for it, and how far the next one is.
fn print_embedding(embedding: &EmbedStatus, out: &mut Out) -> std::io::Result<()> {
    if embedding.waiting > 0 {
        let wait =
            if embedding.waiting == 1 { "waits for its vectors and is" } else { "wait for their vectors and are" };
        let notes = counted(embedding.waiting, "note");
        row("", &format!("{notes} {wait} found by words meanwhile"), out)?;
    }
    let Some(next) = &embedding.next else { return Ok(()) };
    let far = match embedding.total {
        0 => String::new(),
        total => format!(": {} of {} are ready", grouped(embedding.done), counted(total, "note")),
    };
    row("", &format!("{} is to take over{far}", safe(next)), out)
}

/// What models are asked for once the user has agreed.
fn print_offers(name: &str, contexts: &ContextStatus, what: OfferedWork, out: &mut Out) -> std::io::Result<()> {
    let offers = contexts.offers.iter().filter(|offer| offer.what == what);
    offers.into_iter().try_for_each(|offer| row(name, &yellow(consent::waiting(offer)), out))
}

/// Contexts that a model writes: what waits, what is old, stale or failed, and what to do about it.
fn print_contexts(contexts: &ContextStatus, now: i64, out: &mut Out) -> std::io::Result<()> {
    let waiting = match contexts.waiting {
        0 => "none waits for it".to_owned(),
        1 => "1 waits for it".to_owned(),
        n => format!("{} wait for it", grouped(n)),
    };
    row("", &format!("it is to write {}; {waiting}", counted(contexts.wanted, "context")), out)?;
    print_offers("", contexts, OfferedWork::Contexts, out)?;
    if let Some(held) = &contexts.held {
        row("", &format!("nothing is asked at present: {}", safe(held)), out)?;
    }
    if contexts.old_generation > 0 {
        let cost = match &contexts.renewal {
            Some(renewal) => match renewal.micro_dollars {
                Some(0) => "; new ones are free".to_owned(),
                Some(_) => format!("; new ones would cost {}", estimated(renewal)),
                None => format!("; new ones: {}", estimated(renewal)),
            },
            None => String::new(),
        };
        let are = if contexts.old_generation == 1 { "is" } else { "are" };
        let old = counted(contexts.old_generation, "context");
        row("", &format!("{old} {are} of an older model or prompt{cost}: `situated rebuild`"), out)?;
    }
    if contexts.drifted > 0 {
        let were = if contexts.drifted == 1 { "was" } else { "were" };
        let drifted = counted(contexts.drifted, "context");
        let what = format!("{drifted} {were} written for text that has become another: `situated sync --since all`");
        row("", &what, out)?;
    }
    if contexts.failed > 0 {
        let failed = counted(contexts.failed, "chunk");
        let what =
            format!("{failed} got nothing usable from the model; the free context serves, the next sync asks again");
        row("", &what, out)?;
    }
    let synced = contexts.synced_at.map_or("not yet".to_owned(), |then| match age(now, then).as_str() {
        "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    });
    row("", &format!("last look after stale ones: {synced}"), out)
}

fn print_vault(vault: &VaultStatus, now: i64, out: &mut Out) -> std::io::Result<()> {
    let name = safe(&vault.name);
    row("vault", &format!("{}  {}", bold(&name), dim(safe(&vault.path.to_string_lossy()))), out)?;
    let changed = vault.last_change.map_or("not indexed yet".to_owned(), |then| match age(now, then).as_str() {
        "now" => "changed just now".to_owned(),
        age => format!("changed {age} ago"),
    });
    let size = if vault.index_bytes > 0 { format!(", {} on disk", bytes(vault.index_bytes)) } else { String::new() };
    let (notes, chunks) = (counted(vault.notes, "note"), counted(vault.chunks, "chunk"));
    row("", &format!("{notes}, {chunks}{size}; {changed}, by {}", safe(&vault.watch)), out)?;
    let decided = |action: Action| vault.decisions.iter().filter(|d| d.action == action).map(|d| d.count).sum::<u64>();
    let decided: Vec<String> = [
        (Action::Keep, "kept"),
        (Action::Reembed, "re-embedded"),
        (Action::Regenerate, "regenerated"),
        (Action::Remove, "removed"),
    ]
    .into_iter()
    .map(|(action, word)| (decided(action), word))
    .filter(|(n, _)| *n > 0)
    .map(|(n, word)| format!("{} {word}", grouped(n)))
    .collect();
    if !decided.is_empty() {
        row("", &format!("chunks since the start: {}", decided.join(", ")), out)?;
    }
    if vault.formats.len() > 1 {
        let formats: Vec<String> =
            vault.formats.iter().map(|(format, n)| format!("{} {format}", grouped(*n))).collect();
        row("", &format!("formats: {}", formats.join(", ")), out)?;
    }
    if !vault.left_out.is_empty() {
        // The most frequent first.
        let mut kinds: Vec<(&String, &u64)> = vault.left_out.iter().collect();
        kinds.sort_by_key(|(kind, n)| (Reverse(**n), kind.as_str()));
        let shown = kinds.iter().take(LEFT_OUT).map(|(kind, n)| format!("{} {}", grouped(**n), safe(kind)));
        let more = if kinds.len() > LEFT_OUT { ", …" } else { "" };
        row("", &format!("left out: {}{more}", shown.collect::<Vec<_>>().join(", ")), out)?;
    }
    for (what, why) in [("doubted", &vault.doubt), ("watching", &vault.watch_problem)] {
        if let Some(why) = why {
            row("", &format!("{what}: {}", safe(why)), out)?;
        }
    }
    if vault.skipped_total > 0 {
        row("", &yellow(format!("{} skipped", counted(vault.skipped_total, "file"))), out)?;
        for file in vault.skipped.iter().take(SHOWN) {
            row("", &format!("  {}: {}", safe(&file.path), safe(&file.why)), out)?;
        }
        rest(vault.skipped_total, out)?;
    }
    if !vault.conflicts.is_empty() {
        let count = vault.conflicts.len() as u64;
        let copies = if count == 1 { "copy" } else { "copies" };
        row("", &yellow(format!("{count} {copies} made by a sync conflict")), out)?;
        for path in vault.conflicts.iter().take(SHOWN) {
            row("", &format!("  {}", safe(path)), out)?;
        }
        rest(count, out)?;
    }
    if vault.warned > 0 {
        row("", &yellow(format!("{} with something odd", counted(vault.warned, "note"))), out)?;
        for note in vault.warned_notes.iter().take(SHOWN) {
            row("", &format!("  {}:{}: {}", safe(&note.path), note.line, safe(&note.message)), out)?;
        }
        rest(vault.warned, out)?;
    }
    Ok(())
}

fn rest(total: u64, out: &mut Out) -> std::io::Result<()> {
    let more = total.saturating_sub(SHOWN as u64);
    if more > 0 { row("", &dim(format!("  and {} more; --json lists them", grouped(more))), out) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
