//! `situated service status`: installed, enabled, running since, which program, which sandbox, where the log is.

use serde_json::json;

use super::super::exit;
use super::super::print::{Out, ago, bold, dim, green, now, red, shown, yellow};
use super::super::session::{CliFailure, Session, safe};
use super::places;
use crate::service::control;
use crate::service::inspect::{Inspection, inspect};
use crate::service::logs::{self, LogPlace};
use crate::service::wanted::network;

/// Columns of the names.
const COLUMN: usize = 10;

pub(super) fn status(session: &mut Session) -> Result<u8, CliFailure> {
    let found = inspect();
    let discovery = session.discovery();
    let daemon = control::ask(&discovery);
    let log = places().ok().and_then(|places| logs::find(&places, &discovery.data_dir));
    let code = if found.running { exit::OK } else { exit::NOT_RUNNING };
    if session.globals.json {
        let (pid, version) = daemon.unzip();
        let log = match log {
            Some(LogPlace::Journal) => Some("journal".to_owned()),
            Some(LogPlace::File(path)) => Some(path.to_string_lossy().into_owned()),
            None => None,
        };
        session.json(json!({
            "service": found, "daemon": { "pid": pid, "version": version }, "program_version": env!("CARGO_PKG_VERSION"),
            "log": log,
        }))?;
        return Ok(code);
    }
    let providers = session.config().map(|loaded| network(&loaded.config)).unwrap_or_default();
    print(&found, &providers, daemon.as_ref(), log.as_ref(), now(), &mut session.out)?;
    Ok(code)
}

fn print(
    found: &Inspection,
    providers: &[String],
    daemon: Option<&(u32, String)>,
    log: Option<&LogPlace>,
    now: i64,
    out: &mut Out,
) -> std::io::Result<()> {
    let answers = found.pid.is_some() && daemon.map(|(pid, _)| *pid) == found.pid;
    let (dot, said) = match found {
        Inspection { unit: None, .. } => (red("●"), "not installed: `situated service install` installs it".to_owned()),
        Inspection { masked: true, .. } => {
            (red("●"), "masked: `systemctl --user unmask situated` allows it".to_owned())
        }
        Inspection { running: true, .. } => {
            let since = found.since.map_or(String::new(), |since| format!(" since {}", ago(now, since)));
            let pid = found.pid.map_or(String::new(), |pid| format!(" (pid {pid})"));
            let quiet = if answers { "" } else { ", but it does not answer yet" };
            (if answers { green("●") } else { yellow("●") }, format!("running{since}{pid}{quiet}"))
        }
        Inspection { failed: Some(why), .. } => {
            (red("●"), format!("failed: {}; see `situated service logs`", safe(why)))
        }
        Inspection { reachable: false, .. } => (yellow("●"), format!("cannot be asked: {}", safe(&found.keeper_says))),
        _ => (yellow("●"), "installed, not running: `situated service start` starts it".to_owned()),
    };
    out.line(format!("{dot} {}", bold(said)))?;
    let mut row = |name: &str, value: String| out.row("  ", name, COLUMN, &value);
    if let Some(unit) = &found.unit {
        let whose = match (found.packaged, found.ours) {
            (true, _) => " (packaged)",
            (_, true) => "",
            _ => " (not written by `situated service install`)",
        };
        row("unit", format!("{}{whose}", shown(unit)))?;
        if let Some(hidden) = &found.hidden {
            row("", format!("hides the packaged one, {}", shown(hidden)))?;
        }
        row(
            "at login",
            if found.enabled { "starts" } else { "does not start: `situated service install` enables it" }.to_owned(),
        )?;
        if let Some(linger) = found.linger {
            row("at logout", if linger { "goes on (linger)" } else { "ends" }.to_owned())?;
        }
        program(found, daemon, &mut row)?;
        row("sandbox", sandbox(found))?;
        if let Some(why) = super::lacks_network(found, providers) {
            row("", yellow(format!("{why}: {}", super::LETS_IT)))?;
        }
    }
    if let Some((pid, version)) = daemon.filter(|(pid, _)| found.pid != Some(*pid)) {
        row("daemon", format!("pid {pid} of version {} was started by hand", safe(version)))?;
    }
    match log {
        Some(LogPlace::Journal) => row("log", "the journal: `situated service logs`".to_owned())?,
        Some(LogPlace::File(path)) => row("log", shown(path))?,
        None => {}
    }
    if found.restarts > 0 {
        row("restarts", dim(format!("{}, for it ended badly", found.restarts)))?;
    }
    Ok(())
}

/// The program, and whether unit, daemon and this program are of one version.
fn program(
    found: &Inspection,
    daemon: Option<&(u32, String)>,
    row: &mut dyn FnMut(&str, String) -> std::io::Result<()>,
) -> std::io::Result<()> {
    const THIS: &str = env!("CARGO_PKG_VERSION");
    let Some(program) = &found.program else { return Ok(()) };
    let remark = match (found.program_exists, found.program_is_this) {
        (false, _) => ", which is gone: `situated service install` makes it run this one",
        (true, false) => ", which is not this program",
        (true, true) => "",
    };
    row("program", format!("{}{remark}", shown(program)))?;
    if found.older {
        let version = found.version.as_deref().unwrap_or_default();
        row("", format!("its unit is of {}, this is {THIS}: `situated service install` renews it", safe(version)))?;
    }
    match daemon.filter(|(pid, _)| found.pid == Some(*pid)) {
        Some((_, version)) if version != THIS => row(
            "version",
            format!("the daemon is {}, this is {THIS}: `situated service restart` brings them together", safe(version)),
        ),
        Some((_, version)) => row("version", safe(version)),
        None => Ok(()),
    }
}

fn sandbox(found: &Inspection) -> String {
    if found.keeper == "launchd" {
        return "none: launchd has none".to_owned();
    }
    let mut layers = vec!["system calls filtered"];
    layers.push(if found.strict { "home read-only, own user namespace" } else { "without the strict part" });
    layers.push(if found.network { "network for the provider" } else { "no network" });
    layers.join(", ")
}

#[cfg(test)]
mod tests;
