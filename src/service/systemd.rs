//! The user's systemd, asked through its own programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::host::{self, Places};
use super::unit::SERVICE;

/// Timeout of a trial unit, which may wait for a manager that is busy at login.
const TRIAL_PATIENCE: Duration = Duration::from_secs(15);

/// Where packages and administrators put user units, for when no manager can be asked.
const SYSTEM_FOLDERS: [&str; 4] =
    ["/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user"];

/// Whether there is a manager that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It does, and is of this version.
    Answers(String),
    /// systemd is installed, but this user's manager does not answer: why.
    Silent(String),
    /// There is no systemd on this system.
    Missing,
}

/// The user's manager.
#[derive(Clone, Debug)]
pub struct Manager {
    /// Whether it answers.
    pub reach: Reach,
    /// Where it looks for units; the first one found counts.
    folders: Vec<PathBuf>,
    places: Places,
}

/// What a manager says about the service; nothing if it could not be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitState {
    /// `active`, `activating`, `failed`, …
    active: String,
    /// `success`, or how it ended.
    result: String,
    /// Whether it ended badly and is about to be started again.
    pub restarting: bool,
    /// The daemon's process.
    pub pid: Option<u32>,
    /// How often it was started again after it ended badly.
    pub restarts: u32,
    /// The exit code of the daemon that ran last.
    pub exit_code: Option<i32>,
    /// Since when it is up, in seconds since 1970.
    pub since: Option<i64>,
    /// Whether it starts at login, as the manager sees it.
    pub enabled: bool,
    /// Whether the user has forbidden it.
    pub masked: bool,
}

impl Manager {
    /// Finds out whether it answers.
    pub fn find(places: &Places) -> Manager {
        let mut manager = Manager { reach: Reach::Missing, folders: Vec::new(), places: places.clone() };
        if !places.has("systemctl") {
            return manager;
        }
        let asked = manager.systemctl(&["show", "--property=Version", "--property=UnitPath"]);
        manager.reach = match asked {
            Ok(ran) => {
                let mut properties = parsed(&ran);
                let folders = properties.remove("UnitPath").unwrap_or_default();
                manager.folders = folders.split_whitespace().map(PathBuf::from).collect();
                Reach::Answers(properties.remove("Version").unwrap_or_default())
            }
            Err(why) => Reach::Silent(why),
        };
        manager
    }

    /// Whether it answers.
    pub fn answers(&self) -> bool {
        matches!(self.reach, Reach::Answers(_))
    }

    /// The folder for this user's own units.
    pub fn own_folder(&self) -> PathBuf {
        let usual = self.places.config.join("systemd/user");
        if self.folders.is_empty() || self.folders.contains(&usual) {
            return usual;
        }
        // The manager was started with another `XDG_CONFIG_HOME` than this shell has.
        let own = |folder: &&PathBuf| folder.starts_with(&self.places.home) && folder.ends_with("systemd/user");
        self.folders.iter().find(own).cloned().unwrap_or(usual)
    }

    /// The unit that a package, or the administrator, has installed for everybody.
    pub fn packaged(&self) -> Option<PathBuf> {
        let own = self.own_folder();
        let usual = || SYSTEM_FOLDERS.iter().map(PathBuf::from).collect();
        let folders = if self.folders.is_empty() { usual() } else { self.folders.clone() };
        let of_everybody =
            |folder: &&PathBuf| **folder != own && !folder.starts_with("/run") && !folder.ends_with("user.control");
        folders.iter().filter(of_everybody).map(|folder| folder.join(SERVICE)).find(|unit| unit.is_file())
    }

    /// What it says about the service; nothing if it does not answer.
    pub fn state(&self) -> UnitState {
        if !self.answers() {
            return UnitState::default();
        }
        let asked = self.systemctl(&[
            "show",
            SERVICE,
            "--timestamp=unix",
            "--property=LoadState,ActiveState,SubState,Result,MainPID,NRestarts,ExecMainStatus,UnitFileState",
            "--property=ActiveEnterTimestamp,StatusText",
        ]);
        asked.map(|said| UnitState::of(&said)).unwrap_or_default()
    }

    /// `systemctl --user …`; what it said, or what went wrong.
    pub fn systemctl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.places.command("systemctl");
        let ran = host::run(command.arg("--user").args(arguments));
        ran.map_err(|error| format!("systemctl: {error}"))?.outcome()
    }

    /// Whether a unit with these properties can start here.
    pub fn trial(&self, properties: &[String]) -> Result<(), String> {
        let mut command = self.places.command("systemd-run");
        command.args(["--user", "--wait", "--collect", "--quiet"]);
        for property in properties {
            command.args(["-p", property]);
        }
        let ran = host::run_within(command.arg("/bin/true"), TRIAL_PATIENCE);
        ran.map_err(|error| error.to_string())?.outcome().map(drop)
    }

    /// Whether this user's services run without a login; `None` if that cannot be told.
    pub fn lingers(&self) -> Option<bool> {
        let folder = Path::new("/var/lib/systemd/linger");
        Some(folder.join(self.places.user()?).exists())
    }

    /// Makes this user's services run without a login.
    pub fn linger(&self) -> Result<(), String> {
        let ran = host::run(self.places.command("loginctl").arg("enable-linger"));
        ran.map_err(|error| error.to_string())?.outcome().map(drop)
    }
}

impl UnitState {
    fn of(said: &str) -> UnitState {
        let properties = parsed(said);
        let get = |key: &str| properties.get(key).map_or("", String::as_str);
        UnitState {
            active: get("ActiveState").to_owned(),
            result: get("Result").to_owned(),
            restarting: get("SubState") == "auto-restart",
            pid: get("MainPID").parse().ok().filter(|pid| *pid != 0),
            restarts: get("NRestarts").parse().unwrap_or(0),
            exit_code: get("ExecMainStatus").parse().ok(),
            since: get("ActiveEnterTimestamp").trim_start_matches('@').parse().ok().filter(|since| *since > 0),
            enabled: matches!(get("UnitFileState"), "enabled" | "enabled-runtime"),
            masked: get("LoadState") == "masked",
        }
    }

    /// Whether it is up, or on its way.
    pub fn is_up(&self) -> bool {
        matches!(self.active.as_str(), "active" | "activating" | "reloading")
    }

    /// Whether it ended badly and stays down.
    pub fn has_failed(&self) -> bool {
        self.active == "failed"
    }

    /// Why it does not run, for a person.
    pub fn why(&self) -> String {
        let code = self.exit_code.unwrap_or(0);
        match (self.result.as_str(), code) {
            ("start-limit-hit", _) => "it failed too often in a short time".to_owned(),
            ("watchdog", _) => "it no longer answered its watchdog".to_owned(),
            ("timeout", _) => "it took too long".to_owned(),
            ("oom-kill", _) => "the system had no memory left for it".to_owned(),
            (_, 75) => "another daemon has the data folder or the socket (exit code 75)".to_owned(),
            (_, 78) => "the configuration is wrong (exit code 78): `situated config check`".to_owned(),
            (_, 73) => "a file or socket cannot be made (exit code 73)".to_owned(),
            (_, 77) => "something may not be read or written (exit code 77)".to_owned(),
            (_, 203) => "the program that the unit names cannot be run (203/EXEC)".to_owned(),
            (_, 200..=245) => format!("systemd could not set up what the unit asks for (exit code {code})"),
            ("exit-code", code) => format!("exit code {code}"),
            ("" | "success", _) => "it was stopped".to_owned(),
            (result, _) => result.to_owned(),
        }
    }
}

fn parsed(said: &str) -> BTreeMap<String, String> {
    said.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

#[cfg(test)]
mod tests;
