//! `situated config show | check | path | reload`.

use std::time::{Duration, Instant};

use serde_json::json;

use super::args::ConfigAction;
use super::consent;
use super::exit;
use super::jobs::is_free;
use super::models;
use super::money::estimated;
use super::print::{Out, counted, printable, printable_lines};
use super::session::{CliFailure, Session};
use crate::daemon::config::{AskedProvider, Config, Loaded, config_file};
use protocol::daemon::{Problem, Problems, ReloadRequest};
use protocol::status::{ConfigStatus, ContextStatus, RunState, Status, StatusRequest};

/// `situated config`.
pub(super) fn run(action: ConfigAction, session: &mut Session) -> Result<u8, CliFailure> {
    match action {
        ConfigAction::Show { origin } => show(origin, session),
        ConfigAction::Check => check(session),
        ConfigAction::Path => path(session),
        ConfigAction::Reload => reload(session),
    }
}

fn show(origin: bool, session: &mut Session) -> Result<u8, CliFailure> {
    let loaded = session.config()?;
    let json = json!({ "file": loaded.file, "values": loaded.values() });
    session.print(json, |out| out.text(&printable_lines(&loaded.show(origin))))?;
    // What is shown is what a daemon would read now, here.
    let status = session.running().ok().flatten().and_then(|mut client| client.call(&StatusRequest::default()).ok());
    if status.is_some_and(|status| status.config.changed) {
        session.say(format!("{CHANGED}: `situated config reload` puts it in force"));
    }
    Ok(exit::OK)
}

fn check(session: &mut Session) -> Result<u8, CliFailure> {
    let (loaded, mut problems) = Config::read(&session.overrides());
    if problems.is_empty() {
        problems.extend(models::absent(&loaded));
        problems.extend(key_files(&loaded));
    }
    if problems.is_empty() && !session.globals.json {
        session.say("the configuration is fine");
    }
    tell(&problems, session)
}

/// The problems of key files that the daemon would not take.
fn key_files(loaded: &Loaded) -> Vec<Problem> {
    let problem = |asked: AskedProvider<'_>| {
        let why = provider::check_key_file(asked.key.file.as_ref()?, asked.whose).err()?;
        Some(loaded.problem_at(&format!("{}.key_file", asked.section), &why))
    };
    loaded.config.providers().filter_map(problem).collect()
}

/// Prints the problems, if any; they decide the exit code.
fn tell(problems: &[Problem], session: &mut Session) -> Result<u8, CliFailure> {
    let line = |problem: &Problem, out: &mut Out| out.line(printable(&problem.to_string()));
    session.print(json!({ "problems": problems }), |out| problems.iter().try_for_each(|problem| line(problem, out)))?;
    Ok(if problems.is_empty() { exit::OK } else { exit::NOTHING })
}

fn reload(session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let before = client.call(&StatusRequest::default())?.contexts;
    let Problems { problems, restarts } = client.call(&ReloadRequest {})?;
    let code = tell(&problems, session)?;
    if session.globals.json {
        return Ok(code);
    }
    session.say(match problems.is_empty() {
        true if restarts => "the daemon starts itself anew, for it needs rights that it did not need before",
        true => "the daemon has read its configuration again",
        false => "the old configuration stays in force",
    });
    if problems.is_empty() {
        // A client that connects while the daemon restarts waits until it listens.
        let Status { contexts: now, config, state, .. } = match counted_for(&before, session) {
            // It may be at another socket now.
            Err(_) if restarts => return Ok(code),
            asked => asked?,
        };
        if !config.awaits_start.is_empty() {
            session.say(printable(&awaits_start(&config)));
        }
        for line in changed_model(&before, &now, is_counting(state)) {
            session.say(line);
        }
    }
    // Said in any case: where the unit's sandbox forbids the network, restarting the daemon is not enough.
    let now = session.config().ok().and_then(|loaded| super::service::not_allowed(&loaded.config));
    if let Some(missing) = now {
        session.say(printable(&missing));
    }
    Ok(code)
}

/// How long a reload waits until the contexts are counted for another model.
const COUNTED_WITHIN: Duration = Duration::from_secs(5);

/// The status after a reload, once the notes have been looked at for another model if there is one: before that it counts
/// for the model of before.
fn counted_for(before: &ContextStatus, session: &mut Session) -> Result<Status, CliFailure> {
    let until = Instant::now() + COUNTED_WITHIN;
    loop {
        let status = session.call(&StatusRequest::default())?;
        let now = &status.contexts;
        let is_same = (&before.provider, &before.model) == (&now.provider, &now.model);
        if is_same || !is_counting(status.state) || Instant::now() >= until {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_counting(state: RunState) -> bool {
    matches!(state, RunState::Starting | RunState::Indexing)
}

/// Which settings the daemon has read and not put in force.
pub(super) fn awaits_start(config: &ConfigStatus) -> String {
    format!("taken only when the daemon starts again: {}", config.awaits_start.join(", "))
}

/// What to say of a configuration that the daemon has not read.
pub(super) const CHANGED: &str = "the file has changed since the daemon read it";

/// The offers that wait for a yes, and what a change of the model means for the contexts that exist; `counting`: nobody
/// knows yet.
fn changed_model(before: &ContextStatus, now: &ContextStatus, counting: bool) -> Vec<String> {
    let mut lines: Vec<String> = consent::all_waiting(now.offers.iter());
    if (&before.provider, &before.model) == (&now.provider, &now.model) {
        return lines;
    }
    if is_free(&now.provider) {
        lines.push(
            "contexts that a model wrote serve on, and new ones are free; `situated rebuild` has all of them free"
                .into(),
        );
    } else if counting {
        let later = "the notes are being looked at for the other model: `situated status` says what waits for your yes, and \
                     which contexts are older";
        return vec![later.to_owned()];
    } else if now.old_generation > 0 {
        let cost = now.renewal.as_ref().map_or_else(String::new, |renewal| format!(" ({})", estimated(renewal)));
        lines.push(format!(
            "{} of another model or prompt serve on; `situated contexts start --replace` has them written anew{cost} \
             day by day, `situated rebuild` at once",
            counted(now.old_generation, "context")
        ));
    }
    lines
}

fn path(session: &mut Session) -> Result<u8, CliFailure> {
    let path = config_file(&session.overrides());
    session.result(json!({ "file": path, "exists": path.exists() }), path.to_string_lossy())?;
    if !path.exists() {
        session.say("(it does not exist: the defaults are in force; `situated init` writes it)");
    }
    Ok(exit::OK)
}
