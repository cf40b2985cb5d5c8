//! `situated service …`: shows what [`crate::service`] does.

mod show;

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{Install, Logs, ServiceAction, Uninstall};
use super::mcp::TOKEN_FILE;
use super::print::{bold, dim, green, millis, printable, shown, yellow};
use super::session::{CliFailure, Session, safe};
use super::{confirm, exit};
use crate::daemon::config::{Config, Loaded};
use crate::daemon::sandbox::OWN;
use crate::service::control::{self, ServiceReply};
use crate::service::host::{Places, ServiceManager};
use crate::service::install::{self, InstallPlan, Installed};
use crate::service::systemd::Manager;
use crate::service::wanted::Wanted;
use crate::service::{self, ServiceError, logs};
use protocol::status::StatusRequest;

impl From<ServiceError> for CliFailure {
    fn from(error: ServiceError) -> Self {
        CliFailure::new(error.code, error.message)
    }
}

/// `situated service`.
pub(super) fn run(action: &ServiceAction, session: &mut Session) -> Result<u8, CliFailure> {
    match action {
        ServiceAction::Install(install) => installed(install, session),
        ServiceAction::Uninstall(uninstall) => uninstalled(uninstall, session),
        ServiceAction::Start => {
            let (answer, began) = control::start(&session.discovery())?;
            answered(session, &answer, if began { "running" } else { "it runs already" })
        }
        ServiceAction::Restart => {
            let answer = control::restart(&session.discovery())?;
            answered(session, &answer, "running anew")
        }
        ServiceAction::Stop => stop(session),
        ServiceAction::Status => show::status(session),
        ServiceAction::Logs(args) => logs(args, session),
    }
}

fn places() -> Result<Places, CliFailure> {
    Places::here().ok_or_else(|| CliFailure::new(exit::UNREACHABLE, "this user has no home folder, so no services"))
}

/// The configuration, which must have a vault.
fn loaded(session: &Session) -> Result<Loaded, CliFailure> {
    let loaded = session.config()?;
    if loaded.config.engine.vaults.is_empty() {
        return Err(CliFailure::new(
            crate::daemon::config::ConfigErrors::EXIT_CODE,
            "no vault to watch: `situated init ~/Notes` writes a configuration, then install the service",
        ));
    }
    Ok(loaded)
}

fn installed(args: &Install, session: &mut Session) -> Result<u8, CliFailure> {
    let places = places()?;
    let wanted = Wanted::of(&loaded(session)?, &places);
    let plan = install::plan(&wanted, &places, &std::env::current_exe()?, args.force)?;
    if args.dry_run {
        return dry_run(&plan, session);
    }
    plan.check_free()?;
    if plan.changes() {
        for write in &plan.writes {
            session.say(format!("{}  {}", shown(&write.path), dim(InstallPlan::fate(write))));
        }
        for path in &plan.removes {
            session.say(format!("{}  {}", shown(path), dim("removed")));
        }
    }
    notes(&plan, session);
    let outcome = plan.carry_out()?;
    let (state, answer, said) = match &outcome {
        Installed::Already(answer) => {
            let said = format!("{} installed already, and running (pid {})", green("●"), answer.pid);
            ("already", Some(answer), said)
        }
        Installed::Runs(answer) => {
            let took = millis(answer.after.as_secs_f64() * 1e3);
            let said = format!("{} running (pid {}), answered after {took}", green("●"), answer.pid);
            ("running", Some(answer), said)
        }
        Installed::Later => ("at_login", None, format!("{} installed, starts at the next login", yellow("●"))),
    };
    let files: Vec<&PathBuf> = plan.writes.iter().map(|write| &write.path).collect();
    let json = json!({
        "state": state, "pid": answer.map(|a| a.pid), "took_ms": answer.map(|a| a.after.as_millis() as u64),
        "files": files, "notes": plan.notes,
    });
    session.result(json, said)?;
    if ServiceManager::HERE == ServiceManager::Launchd {
        permitted(session);
    }
    if args.linger {
        linger(&places, session);
    } else if ServiceManager::HERE == ServiceManager::Systemd && Manager::find(&places).lingers() != Some(true) {
        session.say(dim(
            "It runs while you are logged in; `--linger` lets it run without. `situated service logs` has its log.",
        ));
    }
    Ok(exit::OK)
}

/// Says if the daemon may not read a vault. The user decides, folder by folder, what an agent may read, and a shell may
/// read more, so only the daemon itself can tell.
fn permitted(session: &Session) {
    let status = session.call(&StatusRequest::default());
    for problem in &status.map(|status| status.problems).unwrap_or_default() {
        session.say(format!("{} {}", yellow("!"), printable(problem)));
        if problem.contains("not permitted") || problem.contains("ermission denied") {
            session.say("  allow it in System Settings, Privacy & Security, Files & Folders (or Full Disk Access)");
        }
    }
}

/// Asks the system to run the service without a login, and says whether it will.
fn linger(places: &Places, session: &Session) {
    let logged_in = match ServiceManager::HERE {
        ServiceManager::Launchd => Some("an agent of launchd runs only while you are logged in"),
        ServiceManager::TaskScheduler => Some("the task runs only while you are logged in"),
        ServiceManager::Systemd => None,
    };
    if let Some(said) = logged_in {
        session.say(said);
        return;
    }
    let manager = Manager::find(places);
    match manager.linger() {
        Ok(()) => session.say("It runs without a login too (`loginctl disable-linger` takes that back)."),
        Err(why) => {
            let user = places.user().unwrap_or_else(|| "$USER".to_owned());
            session.say(format!(
                "{} it runs only while you are logged in, for lingering was refused ({}).\nAn administrator can allow it: \
                 sudo loginctl enable-linger {}",
                yellow("!"),
                safe(&why),
                safe(&user)
            ));
        }
    }
}

fn notes(plan: &InstallPlan, session: &Session) {
    for note in &plan.notes {
        session.say(format!("{} {}", yellow("!"), printable(note)));
    }
}

fn dry_run(plan: &InstallPlan, session: &mut Session) -> Result<u8, CliFailure> {
    if session.globals.json {
        let files: Vec<_> = plan
            .writes
            .iter()
            .map(|w| json!({ "path": w.path, "text": w.text, "fate": InstallPlan::fate(w) }))
            .collect();
        session.json(json!({ "files": files, "removes": plan.removes, "link": plan.link, "notes": plan.notes }))?;
        return Ok(exit::OK);
    }
    for write in &plan.writes {
        session.out.line(format!("{}  {}", bold(shown(&write.path)), dim(InstallPlan::fate(write))))?;
        for line in write.text.lines() {
            session.out.line(format!("  {}", printable(line)))?;
        }
    }
    for path in &plan.removes {
        session.out.line(format!("{}  {}", bold(shown(path)), dim("removed")))?;
    }
    if let Some((link, to)) = &plan.link {
        session.out.line(format!("{} -> {}", bold(shown(link)), shown(to)))?;
    }
    notes(plan, session);
    if let Err(obstacle) = plan.check_free() {
        session.say(format!("{} {}", yellow("note:"), printable(&obstacle.message)));
    }
    session.say("nothing was written");
    Ok(exit::OK)
}

fn answered(session: &mut Session, answer: &ServiceReply, said: &str) -> Result<u8, CliFailure> {
    let json = json!({ "pid": answer.pid, "version": answer.version, "took_ms": answer.after.as_millis() as u64 });
    let took = if answer.after.is_zero() {
        String::new()
    } else {
        format!(", answered after {}", millis(answer.after.as_secs_f64() * 1e3))
    };
    session.result(json, format!("{} {said} (pid {}){took}", green("●"), answer.pid))
}

fn stop(session: &mut Session) -> Result<u8, CliFailure> {
    let ran = control::stop()?;
    let said = if ran {
        "stopped; it starts again at the next login, or by `situated service start`"
    } else {
        "it did not run"
    };
    session.done(json!({ "stopped": ran }), said)
}

fn uninstalled(args: &Uninstall, session: &mut Session) -> Result<u8, CliFailure> {
    let data_dir = Config::whereabouts(&session.overrides()).data_dir;
    let purge = args.purge && !purgeable(&data_dir).is_empty();
    if purge && !args.yes && !confirmed(&data_dir)? {
        return session.nothing(exit::OK, "nothing was done");
    }
    let before = service::inspect();
    let removed = install::uninstall(&places()?)?;
    let mut gone = removed.clone();
    if purge {
        gone.extend(purged(session, &data_dir)?);
    }
    if session.globals.json {
        session.json(json!({ "removed": gone }))?;
        return Ok(exit::OK);
    }
    for path in &gone {
        session.out.line(format!("{}  {}", shown(path), dim("removed")))?;
    }
    if let Some(unit) = before.unit.filter(|_| before.packaged) {
        session.say(format!("the packaged unit {} stays; its package removes it", shown(&unit)));
        if service::inspect().enabled {
            session.say("it is enabled for everybody here: `systemctl --user mask situated` keeps it from starting");
        }
    }
    session.say(match (removed.is_empty(), args.purge) {
        (true, false) => "the service is not installed: nothing was done",
        (_, true) => "Configuration and vaults stay.",
        (false, false) => "Configuration, indexes and vaults stay.",
    });
    Ok(exit::OK)
}

/// The parts of a data folder that are ours to remove, if they exist. Nothing else in it is touched.
fn purgeable(data_dir: &Path) -> Vec<PathBuf> {
    // Without the lock's file, no daemon ever used the folder, and it is not ours.
    if !data_dir.join("lock").is_file() {
        return Vec::new();
    }
    let ours = std::iter::once(&TOKEN_FILE).chain(&OWN);
    ours.map(|name| data_dir.join(name)).filter(|path| path.symlink_metadata().is_ok()).collect()
}

fn confirmed(data_dir: &Path) -> Result<bool, CliFailure> {
    let folder = shown(data_dir);
    let question = format!(
        "This removes all indexes in {folder}, the record of what models cost, and contexts that were paid for\n\
         (`situated contexts export` saves those). Vaults and configuration stay. Remove?"
    );
    confirm::answered_yes(&question, "say `--yes` to remove the indexes")
}

fn purged(session: &Session, data_dir: &Path) -> Result<Vec<PathBuf>, CliFailure> {
    // Held until the removal is done, so that no daemon opens what is being removed.
    let lock = crate::daemon::serve::bind::DataLock::acquire(data_dir);
    let _lock = lock.map_err(|error| CliFailure::new(error.exit_code(), error.to_string()))?;
    let vaults = Config::load(&session.overrides()).map(|loaded| loaded.config.engine.vaults).unwrap_or_default();
    let mut gone = Vec::new();
    for path in purgeable(data_dir) {
        if let Some(vault) = vaults.iter().find(|vault| vault.path.starts_with(&path) || path.starts_with(&vault.path))
        {
            return Err(CliFailure::usage(format!(
                "{} and the vault {} lie in one another: nothing of it is removed",
                path.display(),
                vault.path.display()
            )));
        }
        let removed = if path.is_dir() && !path.is_symlink() {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        };
        removed.map_err(|error| CliFailure::new(exit::IO, format!("cannot remove {}: {error}", path.display())))?;
        gone.push(path);
    }
    // This fails if something in the folder is not ours.
    let _ = std::fs::remove_dir(data_dir);
    Ok(gone)
}

fn logs(args: &Logs, session: &mut Session) -> Result<u8, CliFailure> {
    let places = places()?;
    let data_dir = Config::whereabouts(&session.overrides()).data_dir;
    let Some(place) = logs::find(&places, &data_dir) else {
        return session.nothing(exit::NOTHING, "there is no log yet: neither in the journal nor in the data folder");
    };
    session.say(dim(match &place {
        logs::LogPlace::Journal => "from the journal: journalctl --user --unit situated".to_owned(),
        logs::LogPlace::File(path) => format!("from {}", shown(path)),
    }));
    let lines = logs::last(&places, &place, args.lines)?;
    if session.globals.json && !args.follow {
        session.json(json!({ "lines": lines }))?;
        return Ok(exit::OK);
    }
    for line in &lines {
        session.out.line(printable(line))?;
    }
    if args.follow {
        let mut failed = None;
        logs::follow(&places, &place, &mut |line| match session.out.line(printable(line)) {
            Ok(()) => true,
            Err(error) => {
                failed = Some(error);
                false
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
    }
    Ok(exit::OK)
}

/// What a reloaded configuration needs and the service's sandbox does not allow.
pub(super) fn not_allowed(config: &Config) -> Option<String> {
    let network = crate::service::wanted::network(config);
    if network.is_empty() {
        return None;
    }
    let found = service::inspect();
    lacks_network(&found, &network).filter(|_| found.running).map(|why| format!("{why}: {LETS_IT}"))
}

/// What to do about a unit that forbids the network.
pub(super) const LETS_IT: &str = "`situated service install` lets it";

/// That the unit forbids the network which these providers need. It was installed before they were configured.
pub(super) fn lacks_network(found: &service::Inspection, providers: &[String]) -> Option<String> {
    let closed = found.unit.is_some() && found.keeper == "systemd" && !found.network && !providers.is_empty();
    closed.then(|| format!("the service may not use the network, which {} needs", providers.join(", ")))
}

#[cfg(test)]
mod tests;
