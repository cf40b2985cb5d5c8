//! `situated status`, on one screen: is it healthy, is it current, what does it do, what did it cost, what leaves the
//! machine.

mod page;
mod rows;

use std::cmp::Reverse;

use serde_json::json;

use super::args::Status as StatusArgs;
use super::config;
use super::consent::{self, OLDER};
use super::doctor::{self, Level};
use super::exit;
use super::jobs::{is_free, paused, running};
use super::money::{estimated, spent};
use super::print::{ago, bold, bytes, counted, grouped, millis, now, printable_lines, red, shown};
use super::service::LETS_IT;
use super::session::{CliFailure, Session, safe};
use note::Format;
use protocol::client::ClientError;
use protocol::contexts::OfferedWork;
use protocol::cost::CostReport;
use protocol::daemon::CostRequest;
use protocol::decision::Action;
use protocol::jobs::{Job, JobsRequest};
use protocol::status::{
    ContextStatus, EmbedStatus, Enforcement, RunState, Sandbox, Status, StatusRequest, VaultStatus,
};
use rows::Rows;

/// Most entries of a list; `--json` has all that the daemon reports.
const SHOWN: usize = 3;

/// What to say of a vault without a note.
pub(super) const NO_NOTE: &str = "no note in it: is this the right folder, and is it there?";

/// How the system says that a socket of the network is forbidden to a service.
const NO_NETWORK: &str = "(os error 97)";

/// Most kinds of left-out files that are named.
const LEFT_OUT: usize = 6;

/// `situated status`.
pub(super) fn run(args: StatusArgs, session: &mut Session) -> Result<u8, CliFailure> {
    let request = StatusRequest { vault: args.vault.name(), ..StatusRequest::default() };
    let reply = match session.client().and_then(|mut client| client.ask(&request).map_err(unanswered)) {
        Ok(reply) => reply,
        Err(CliFailure::Said { code: exit::UNREACHABLE, message }) => {
            let json = json!({ "running": false, "message": message });
            session.result(json, format!("{} {}", red("●"), bold("not running")))?;
            session.say(printable_lines(&message));
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
    // Costs and jobs are shown if the daemon reports them; the status is shown without them too.
    let report = Report {
        status: reply.read()?,
        cost: session.call(&CostRequest {}).ok(),
        jobs: session.call(&JobsRequest::default()).map(|list| list.jobs).unwrap_or_default(),
    };
    let rows = rows(&report, now());
    match &args.html {
        None => rows.print(&mut session.out)?,
        Some(file) => {
            let page = page::page(&rows, &doctor::findings(session));
            page::write(file, &page, &report.status.vaults, session)?;
        }
    }
    Ok(exit::OK)
}

/// The failure of a request for the status. Of any other request that has no answer, `status` itself is the advice.
fn unanswered(error: ClientError) -> CliFailure {
    match error {
        ClientError::Timeout { after, pid: Some(pid) } => CliFailure::new(
            exit::TIMEOUT,
            format!(
                "the daemon (process {pid}) did not answer within {:.1} s; if it goes on so, `kill -9 {pid}` ends it",
                after.as_secs_f64()
            ),
        ),
        error => error.into(),
    }
}

/// Everything that one screen is made from.
struct Report {
    status: Status,
    cost: Option<CostReport>,
    jobs: Vec<Job>,
}

/// The lines on the screen, from top to bottom.
fn rows(Report { status, cost, jobs }: &Report, now: i64) -> Rows {
    let paused = paused(status, now).unwrap_or_else(|| "paused".to_owned());
    let paused = format!("{paused}; `situated resume` lets it go on");
    let (light, health) = match status.state {
        RunState::Idle if status.problems.is_empty() && !status.contexts.offers.is_empty() => {
            (Level::Warn, "up to date; a model waits for your yes, see below")
        }
        RunState::Idle
            if status.problems.is_empty() && !status.vaults.is_empty() && status.vaults.iter().all(is_empty) =>
        {
            (Level::Warn, "up to date, and there is no note")
        }
        RunState::Idle if status.problems.is_empty() => (Level::Ok, "healthy, up to date"),
        RunState::Idle => (Level::Warn, "up to date, but see below"),
        RunState::Indexing => (Level::Ok, "healthy, indexing"),
        RunState::Starting => (Level::Warn, "starting"),
        RunState::Paused if !status.held.is_empty() => (Level::Warn, "paused, see below"),
        RunState::Paused => (Level::Warn, paused.as_str()),
        RunState::Degraded => (Level::Fail, "needs you: see below"),
    };
    let mut rows = Rows::new(light, health);
    let out = &mut rows;
    for problem in &status.problems {
        out.add("problem", &safe(problem));
    }
    // A unit that was installed before a provider was configured forbids it the network; the system says no more than this.
    let unreached = status.problems.iter().chain(&status.contexts.held).any(|why| why.contains(NO_NETWORK));
    if unreached && status.supervisor == "systemd" {
        out.add("problem", &format!("the service may not use the network: {LETS_IT}"));
    }
    for vault in &status.vaults {
        out.gap();
        add_vault(vault, status, now, out);
    }
    out.gap();
    out.add("doing", &doing(status, jobs));
    for held in &status.held {
        out.add("", &safe(held));
    }
    if status.contexts.provider == "none" {
        out.add("contexts", "off: passages are searched as they are");
    } else if is_free(&status.contexts.provider) {
        // Where no vault is served, nothing writes contexts or makes vectors.
        if !status.contextualizer.is_empty() {
            out.add("contexts", &format!("{}, free", safe(&status.contextualizer)));
        }
    } else {
        let ContextStatus { provider, model, .. } = &status.contexts;
        out.add("contexts", &format!("{} {}", safe(provider), safe(model)));
        add_contexts(&status.contexts, now, out);
    }
    if !status.embedder.is_empty() {
        out.add("vectors", &safe(&status.embedder));
    }
    add_embedding(&status.embedding, out);
    add_offers("", &status.contexts, OfferedWork::Vectors, out);
    add_offers("reranking", &status.contexts, OfferedWork::Reranking, out);
    if let Some(cost) = cost {
        out.add("cost", &format!("{} today, {} this month", spent(&cost.today), spent(&cost.this_month)));
    }
    if status.leaves_machine.is_empty() {
        out.add("leaves", "nothing leaves this machine");
    }
    for (i, leaving) in status.leaves_machine.iter().enumerate() {
        out.add(if i == 0 { "leaves" } else { "" }, &safe(leaving));
    }
    if status.config.changed {
        out.warn("config", &format!("{}: `situated config reload`", config::CHANGED));
    }
    if !status.config.awaits_start.is_empty() {
        out.warn("config", &safe(&config::awaits_start(&status.config)));
    }
    out.add("sandbox", &sandbox(&status.sandbox));
    let by = match status.supervisor.as_str() {
        "none" => "started by hand".to_owned(),
        supervisor => format!("kept by {}", safe(supervisor)),
    };
    let memory = if status.rss_bytes > 0 { format!(", {} of memory", bytes(status.rss_bytes)) } else { String::new() };
    let up = match status.uptime_s {
        seconds @ ..60 => format!("{seconds} s"),
        seconds => millis(seconds as f64 * 1000.0),
    };
    let about = format!("situated {}, process {}, {by}, up {up}{memory}", safe(&status.version), status.pid);
    out.add("daemon", &about);
    out.add("socket", &shown(&status.socket));
    rows
}

/// What the kernel restricts the daemon to.
fn sandbox(sandbox: &Sandbox) -> String {
    let network = if sandbox.network { "open connections" } else { "connect to nothing" };
    let why = sandbox.why.as_ref().map_or_else(String::new, |why| format!(": {}", safe(why)));
    match sandbox.landlock {
        Enforcement::Full => {
            format!("it can read the vaults, write to its own folders, and {network}; the kernel sees to it")
        }
        Enforcement::Partial => format!("the kernel holds it to a part of its rules{why}"),
        Enforcement::None => format!("none{why}"),
    }
}

/// What the daemon is doing now.
fn doing(status: &Status, jobs: &[Job]) -> String {
    let pending: u64 = status.vaults.iter().map(|vault| vault.pending).sum();
    let mut doing: Vec<String> = jobs.iter().filter(|job| job.is_running()).map(running).collect();
    if pending > 0 {
        doing.push(format!("{} to look at", counted(pending, "path")));
    }
    if doing.is_empty() { "nothing".to_owned() } else { doing.join("; ") }
}

/// Vectors that a slow embedder makes: what waits for it, and how far the next one is.
fn add_embedding(embedding: &EmbedStatus, out: &mut Rows) {
    if embedding.waiting > 0 {
        let wait =
            if embedding.waiting == 1 { "waits for its vectors and is" } else { "wait for their vectors and are" };
        let notes = counted(embedding.waiting, "note");
        out.add("", &format!("{notes} {wait} found by words meanwhile"));
    }
    let Some(next) = &embedding.next else { return };
    let far = match embedding.total {
        0 => String::new(),
        total => format!(": {} of {} are ready", grouped(embedding.done), counted(total, "note")),
    };
    out.add("", &format!("{} is to take over{far}", safe(next)));
}

/// What models are asked for once the user has agreed.
fn add_offers(name: &'static str, contexts: &ContextStatus, what: OfferedWork, out: &mut Rows) {
    for line in consent::all_waiting(contexts.offers.iter().filter(|offer| offer.what == what)) {
        out.warn(name, &line);
    }
}

/// Contexts that a model writes: what waits, what is old, stale or failed, and what to do about it.
fn add_contexts(contexts: &ContextStatus, now: i64, out: &mut Rows) {
    let waiting = match contexts.waiting {
        0 => "none waits for it".to_owned(),
        1 => "1 waits for it".to_owned(),
        n => format!("{} wait for it", grouped(n)),
    };
    out.add("", &format!("it is to write {}; {waiting}", counted(contexts.wanted, "context")));
    add_offers("", contexts, OfferedWork::Contexts, out);
    if let Some(held) = &contexts.held {
        out.add("", &format!("nothing is asked at present: {}", safe(held)));
    }
    if contexts.old_generation > 0 {
        let cost = contexts.renewal.as_ref();
        let cost = cost.map_or_else(String::new, |renewal| format!("; new ones: {}", estimated(renewal)));
        let are = if contexts.old_generation == 1 { "is" } else { "are" };
        let old = counted(contexts.old_generation, "context");
        // To rebuild would buy all contexts, those that are new included.
        out.add("", &format!("{old} {are} {OLDER}{cost}: `situated contexts start --replace`"));
    }
    if contexts.drifted > 0 {
        let wait = if contexts.drifted == 1 { "waits" } else { "wait" };
        let drifted = counted(contexts.drifted, "chunk");
        let what = format!(
            "{drifted} {wait} for the next sync: the text has become another than its context was written for, or the \
             model has not been asked yet; `situated sync --since all` asks now"
        );
        out.add("", &what);
    }
    if contexts.failed > 0 {
        let failed = counted(contexts.failed, "chunk");
        let what =
            format!("{failed} got nothing usable from the model; the free context serves, the next sync asks again");
        out.add("", &what);
    }
    let synced = contexts.synced_at.map_or("not yet".to_owned(), |then| ago(now, then));
    out.add("", &format!("last look after stale ones: {synced}"));
}

fn add_vault(vault: &VaultStatus, Status { problems, state, .. }: &Status, now: i64, out: &mut Rows) {
    let name = safe(&vault.name);
    out.vault(&name, &shown(&vault.path));
    // Its first look may still be under way, or what it found could not be kept, as on a full disk.
    let looks = matches!(state, RunState::Starting | RunState::Indexing);
    let is_empty = is_empty(vault) && !looks && problems.is_empty();
    let unchanged = if is_empty { "nothing to index" } else { "not indexed yet" };
    let changed = vault.last_change.map_or(unchanged.to_owned(), |then| format!("changed {}", ago(now, then)));
    let size = if vault.index_bytes > 0 { format!(", {} on disk", bytes(vault.index_bytes)) } else { String::new() };
    if is_empty {
        out.warn("", NO_NOTE);
    }
    let (notes, chunks) = (counted(vault.notes, "note"), counted(vault.chunks, "chunk"));
    let by = if vault.watch.is_empty() { String::new() } else { format!(", by {}", safe(&vault.watch)) };
    out.add("", &format!("{notes}, {chunks}{size}; {changed}{by}"));
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
        out.add("", &format!("chunks since the start: {}", decided.join(", ")));
    }
    if vault.formats.len() > 1 {
        let formats: Vec<String> =
            vault.formats.iter().map(|(format, n)| format!("{} {format}", grouped(*n))).collect();
        out.add("", &format!("formats: {}", formats.join(", ")));
    }
    if !vault.left_out.is_empty() {
        // The most frequent first.
        let mut kinds: Vec<(&String, &u64)> = vault.left_out.iter().collect();
        kinds.sort_by_key(|(kind, n)| (Reverse(**n), kind.as_str()));
        let shown = kinds.iter().take(LEFT_OUT).map(|(kind, n)| format!("{} {}", grouped(**n), safe(kind)));
        let more = if kinds.len() > LEFT_OUT { ", …" } else { "" };
        out.add("", &format!("left out: {}{more}", shown.collect::<Vec<_>>().join(", ")));
    }
    for (what, why) in [("doubted", &vault.doubt), ("watching", &vault.watch_problem)] {
        // A problem is shown at the top already.
        if let Some(why) = why.as_ref().filter(|why| !problems.iter().any(|problem| problem.contains(*why))) {
            out.add("", &format!("{what}: {}", safe(why)));
        }
    }
    let skipped = vault.skipped.iter().map(|file| format!("{}: {}", safe(&file.path), safe(&file.why)));
    add_first(&format!("{} skipped", counted(vault.skipped_total, "file")), vault.skipped_total, skipped, out);
    let count = vault.conflicts.len() as u64;
    let conflicts = vault.conflicts.iter().map(|path| safe(path));
    add_first(&format!("{} made by a sync conflict", counted(count, "copy")), count, conflicts, out);
    let mut odd: Vec<_> = vault.warned_notes.iter().collect();
    // Of these the text is not found.
    odd.sort_by_key(|note| !Format::is_converted(&note.path));
    let odd = odd.into_iter().map(|note| format!("{}:{}: {}", safe(&note.path), note.line, safe(&note.message)));
    add_first(&format!("{} with something odd", counted(vault.warned, "note")), vault.warned, odd, out);
}

/// Whether a vault was looked at and has nothing that could be found.
pub(super) fn is_empty(vault: &VaultStatus) -> bool {
    vault.notes == 0 && vault.pending == 0 && !vault.watch.is_empty()
}

/// Warns of `total` things, if there are any, and shows the first few of them.
fn add_first(warning: &str, total: u64, all: impl Iterator<Item = String>, out: &mut Rows) {
    if total == 0 {
        return;
    }
    out.warn("", warning);
    all.take(SHOWN).for_each(|one| out.add("", &format!("  {one}")));
    let more = total.saturating_sub(SHOWN as u64);
    if more > 0 {
        out.soft("", &format!("  and {} more; --json lists them", grouped(more)));
    }
}

#[cfg(test)]
mod tests;
