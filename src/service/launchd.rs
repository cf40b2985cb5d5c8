//! The user's launchd. Kept small, since it was never run on a Mac: which commands, in which order, and what their
//! failures mean; the text of the agent is in [`super::plist`].

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::host::{self, Places};
use super::plist::LABEL;

/// How long an agent may take to be gone after `bootout`.
const DRAINING: Duration = Duration::from_secs(25);

/// How often `bootstrap` is tried while the old agent drains.
const TRIES: u32 = 5;

/// The agent's file.
pub(super) fn path(places: &Places) -> PathBuf {
    places.home.join("Library/LaunchAgents").join(format!("{LABEL}.plist"))
}

/// Where launchd puts what the daemon says before its own log is open.
pub(super) fn stderr(places: &Places) -> PathBuf {
    places.home.join("Library/Logs/situated/stderr.log")
}

/// What launchd knows of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Whether it has been bootstrapped.
    pub(super) loaded: bool,
    /// The daemon's process.
    pub(super) pid: Option<u32>,
    /// How the last one ended.
    pub(super) last_exit: Option<i32>,
}

impl State {
    pub(super) fn failure(&self) -> Option<String> {
        let code = self.last_exit.filter(|code| *code != 0 && self.pid.is_none())?;
        Some(match code {
            78 => "the configuration is wrong (exit code 78): `situated config check`".to_owned(),
            75 => "another daemon has the data folder or the socket (exit code 75)".to_owned(),
            code => format!("exit code {code}"),
        })
    }
}

/// Asks launchd about the agent.
pub(super) fn state(places: &Places) -> State {
    let ran = host::run(places.command("launchctl").args(["print", &target(places)]));
    ran.ok().filter(host::Ran::is_ok).map(|ran| printed(&ran.out)).unwrap_or_default()
}

/// What `launchctl print` says.
fn printed(text: &str) -> State {
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix(key)?.trim_start().strip_prefix("= ")?.parse::<i32>().ok())
    };
    State {
        loaded: true,
        pid: value("pid").and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0),
        last_exit: value("last exit code"),
    }
}

fn domain(places: &Places) -> String {
    format!("gui/{}", places.uid)
}

fn target(places: &Places) -> String {
    format!("{}/{LABEL}", domain(places))
}

/// The commands that load an agent. Between the first and the second, [`load`] waits until the old one is gone.
pub(super) fn commands(places: &Places) -> [Vec<String>; 4] {
    let (domain, target) = (domain(places), target(places));
    let file = path(places).to_string_lossy().into_owned();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    [
        words(&["bootout", &target]),
        words(&["enable", &target]),
        words(&["bootstrap", &domain, &file]),
        words(&["kickstart", &target]),
    ]
}

/// Loads the agent, in place of one that may run.
pub(super) fn load(places: &Places) -> Result<(), String> {
    let [bootout, enable, bootstrap, kickstart] = commands(places);
    unload_by(places, &bootout)?;
    launchctl(places, &enable)?;
    let mut tries = 1;
    // Exit code 5 can also mean that the old agent of this label is still ending.
    while let Err((code, said)) = launchctl_code(places, &bootstrap) {
        if code != Some(5) || tries == TRIES {
            return Err(meaning(code, &said));
        }
        tries += 1;
        std::thread::sleep(Duration::from_secs(1));
    }
    launchctl(places, &kickstart)
}

/// Ends the agent until the next login, or for good if its file is gone.
pub(super) fn unload(places: &Places) -> Result<(), String> {
    let [bootout, ..] = commands(places);
    unload_by(places, &bootout)
}

fn unload_by(places: &Places, bootout: &[String]) -> Result<(), String> {
    // A failure means that nothing is loaded, as wanted.
    let _ = launchctl_code(places, bootout);
    let until = Instant::now() + DRAINING;
    while state(places).loaded {
        if Instant::now() > until {
            return Err(format!("launchd does not let go of {LABEL}; log out and in again"));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn launchctl(places: &Places, arguments: &[String]) -> Result<(), String> {
    launchctl_code(places, arguments).map_err(|(code, said)| meaning(code, &said))
}

fn launchctl_code(places: &Places, arguments: &[String]) -> Result<(), (Option<i32>, String)> {
    match host::run(places.command("launchctl").args(arguments)) {
        Ok(ran) if ran.is_ok() => Ok(()),
        Ok(ran) => Err((ran.code, ran.complaint())),
        Err(error) => Err((None, error.to_string())),
    }
}

/// Explains launchd's exit codes: its own words say little.
fn meaning(code: Option<i32>, said: &str) -> String {
    match code {
        Some(5) => format!(
            "launchd refuses the agent ({said}): over SSH there is no desktop session to run it in; else log out and in again"
        ),
        Some(125) => format!("launchd knows no such session ({said}): run this as yourself, not with sudo"),
        _ => said.to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests;
