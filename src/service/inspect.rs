//! The state of the service: read, not changed.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::host::{Places, ServiceManager};
use super::systemd::{Manager, Reach, UnitState};
use super::unit::{self, DropIn, SERVICE};
use super::{launchd, plist, scheduler, task};

/// The state of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// Who keeps services here: `systemd`, `launchd`, `task scheduler`, or `none`.
    pub keeper: &'static str,
    /// Whether it answers.
    pub reachable: bool,
    /// Its version, or why it does not answer.
    pub keeper_says: String,
    /// The unit, or agent, in force.
    pub unit: Option<PathBuf>,
    /// Whether a package brought it.
    pub packaged: bool,
    /// Whether `situated service install` wrote it, and so may replace it.
    pub ours: bool,
    /// A package's unit that one of the user's own hides.
    pub hidden: Option<PathBuf>,
    /// Whether it starts at login.
    pub enabled: bool,
    /// Whether the user has forbidden it (`systemctl --user mask`).
    pub masked: bool,
    /// Whether it runs now.
    pub running: bool,
    /// Why not, if it was started and has failed.
    pub failed: Option<String>,
    /// The daemon's process, if the keeper reports it.
    pub pid: Option<u32>,
    /// Since when it runs, in seconds since 1970.
    pub since: Option<i64>,
    /// How often it had to be started again.
    pub restarts: u32,
    /// The program that the unit names.
    pub program: Option<PathBuf>,
    /// Whether that program exists.
    pub program_exists: bool,
    /// Whether it is the program that runs this inspection.
    pub program_is_this: bool,
    /// The version that wrote the unit.
    pub version: Option<String>,
    /// Whether that is older than the program that runs this inspection.
    pub older: bool,
    /// Whether the service goes on without a login; `None` where that cannot be told.
    pub linger: Option<bool>,
    /// Whether the strict sandbox is installed.
    pub strict: bool,
    /// Whether a drop-in lets it ask providers over the network.
    pub network: bool,
    /// Drop-ins in force, ours and others.
    pub drop_ins: Vec<PathBuf>,
}

/// Reads the state of this user's service.
pub fn inspect() -> Inspection {
    let Some(places) = Places::here() else {
        return Inspection {
            keeper: "none",
            keeper_says: "this user has no home folder".into(),
            ..Inspection::default()
        };
    };
    match ServiceManager::HERE {
        ServiceManager::Launchd => agent(&places),
        ServiceManager::TaskScheduler => login_task(&places),
        ServiceManager::Systemd => {
            let manager = Manager::find(&places);
            let state = manager.state();
            unit_of(&places, &manager, &state)
        }
    }
}

/// The same for a manager that has been asked already.
pub(super) fn unit_of(places: &Places, manager: &Manager, state: &UnitState) -> Inspection {
    let (keeper, says) = match &manager.reach {
        Reach::Answers(version) => ("systemd", version.clone()),
        Reach::Silent(why) => ("systemd", why.clone()),
        Reach::Missing => ("none", "there is no systemctl on PATH".to_owned()),
    };
    let folder = manager.own_folder();
    let own = Some(folder.join(SERVICE)).filter(|path| path.is_file());
    let package = manager.packaged();
    let unit = own.clone().or_else(|| package.clone());
    let text = unit.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let drop_ins = drop_ins(&folder.join(format!("{SERVICE}.d")));
    let has = |kind: DropIn| drop_ins.iter().any(|path| path.ends_with(kind.file()));
    let link = folder.join("default.target.wants").join(SERVICE);
    Inspection {
        reachable: manager.answers(),
        packaged: own.is_none() && package.is_some(),
        ours: own.is_some() && unit::version(&text).is_some(),
        hidden: own.and(package),
        // A link that leads nowhere starts nothing.
        enabled: unit.is_some() && (link.exists() || state.enabled),
        masked: state.masked,
        running: state.is_up() && state.pid.is_some(),
        failed: (state.has_failed() || state.restarting).then(|| state.why()),
        pid: state.pid,
        since: state.since.filter(|_| state.is_up()),
        restarts: state.restarts,
        linger: manager.lingers(),
        strict: has(DropIn::Sandbox),
        network: has(DropIn::Network),
        drop_ins,
        unit,
        keeper,
        keeper_says: says,
        ..written(&text, unit::program(&text, &places.home), unit::version(&text))
    }
}

fn agent(places: &Places) -> Inspection {
    let path = launchd::path(places);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let homebrew = path.with_file_name(format!("{}.plist", plist::HOMEBREW));
    let there = path.is_file();
    let state = launchd::state(places);
    Inspection {
        keeper: "launchd",
        reachable: places.has("launchctl"),
        ours: there && plist::version(&text).is_some(),
        packaged: !there && homebrew.is_file(),
        hidden: Some(homebrew.clone()).filter(|homebrew| there && homebrew.is_file()),
        unit: there.then_some(path).or(Some(homebrew).filter(|path| path.is_file())),
        enabled: there,
        running: state.pid.is_some(),
        failed: state.failure(),
        pid: state.pid,
        ..written(&text, plist::program(&text), plist::version(&text))
    }
}

fn login_task(places: &Places) -> Inspection {
    let path = scheduler::path(places);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let state = scheduler::state(places);
    Inspection {
        keeper: "task scheduler",
        reachable: places.has("schtasks.exe"),
        ours: task::version(&text).is_some(),
        unit: Some(path).filter(|path| path.is_file()),
        enabled: state.loaded,
        running: state.running,
        failed: state.failure(),
        ..written(&text, task::program(&text), task::version(&text))
    }
}

/// What the text of a unit, agent or task tells.
fn written(text: &str, program: Option<PathBuf>, version: Option<String>) -> Inspection {
    let this = std::env::current_exe().and_then(|exe| exe.canonicalize()).ok();
    let real = program.as_ref().and_then(|path| path.canonicalize().ok());
    Inspection {
        program_exists: real.is_some(),
        program_is_this: !text.is_empty() && real.is_some() && real == this,
        older: version.as_deref().is_some_and(|version| is_older(version, env!("CARGO_PKG_VERSION"))),
        program,
        version,
        ..Inspection::default()
    }
}

fn drop_ins(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "conf")).collect();
    found.sort();
    found
}

/// Whether `one` is a lower version than `other`.
pub(super) fn is_older(one: &str, other: &str) -> bool {
    let numbers =
        |version: &str| -> Vec<u64> { version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect() };
    numbers(one) < numbers(other)
}

#[cfg(test)]
mod tests;
