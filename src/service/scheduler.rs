//! Windows' Task Scheduler. Kept small, since it was never run on Windows: which commands, in which order, and what
//! their answers mean; the text of the task is in [`super::task`].

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::host::{self, Places};
use super::task::NAME;
use protocol::client::{Client, Discovery};
use protocol::daemon::ShutdownRequest;
use protocol::folders::Folders;

/// How long a daemon that was asked to end may take before it is ended.
const DRAINING: Duration = Duration::from_secs(25);

/// Results that the Scheduler itself gives: that a task runs now, and that it never ran.
/// <https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-error-and-success-constants>
const RUNS: u32 = 0x0004_1301;
const NEVER_RAN: u32 = 0x0004_1303;

/// Where the task's text is kept: the Scheduler has a copy of its own, which only its programs can read.
pub(super) fn path(places: &Places) -> PathBuf {
    places.config.join("situated").join("situated-task.xml")
}

/// What the Scheduler knows of the task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Whether it has the task.
    pub(super) loaded: bool,
    /// Whether it runs now.
    pub(super) running: bool,
    /// How it ended last.
    pub(super) last_exit: Option<u32>,
}

impl State {
    pub(super) fn failure(&self) -> Option<String> {
        let code = self.last_exit.filter(|code| *code != 0 && !self.running)?;
        Some(match code {
            78 => "the configuration is wrong (exit code 78): `situated config check`".to_owned(),
            75 => "another daemon has the data folder or the pipe (exit code 75)".to_owned(),
            code => format!("exit code {code:#x}"),
        })
    }
}

/// Asks the Scheduler about the task.
pub(super) fn state(places: &Places) -> State {
    let asked = host::run(places.command("schtasks").args(["/Query", "/TN", NAME, "/V", "/FO", "CSV", "/NH"]));
    asked.ok().filter(host::Ran::is_ok).map(|ran| listed(&ran.out)).unwrap_or_default()
}

/// What `schtasks /Query /V /FO CSV` says. Words are in the language of the system; the seventh value, the last result, is
/// a number.
fn listed(text: &str) -> State {
    let values = text.lines().find(|line| line.starts_with('"')).unwrap_or_default();
    let values: Vec<&str> = values.trim().trim_matches('"').split("\",\"").collect();
    // Negative where the program died of an exception.
    let result = values.get(6).and_then(|value| value.parse::<i64>().ok()).map(|value| value as u32);
    State {
        loaded: true,
        running: result == Some(RUNS),
        last_exit: result.filter(|result| ![RUNS, NEVER_RAN].contains(result)),
    }
}

/// Has the Scheduler read the task's file, and starts the task.
pub(super) fn load(places: &Places) -> Result<(), String> {
    unload(places)?;
    register(places)?;
    schtasks(places, &["/Run", "/TN", NAME])
}

/// Has the Scheduler read the task's file; without one it forgets the task.
pub(super) fn register(places: &Places) -> Result<(), String> {
    let file = path(places);
    if file.is_file() {
        return schtasks(places, &["/Create", "/F", "/TN", NAME, "/XML", &file.to_string_lossy()]);
    }
    if state(places).loaded { schtasks(places, &["/Delete", "/F", "/TN", NAME]) } else { Ok(()) }
}

/// Ends the daemon: by a shutdown request if it answers, else through the Scheduler.
pub(super) fn unload(places: &Places) -> Result<(), String> {
    if !state(places).running {
        return Ok(());
    }
    let discovery = Discovery { socket: None, data_dir: Folders::here().data_dir.path, is_named: false };
    let _ = Client::connect_to(&discovery.socket()).and_then(|mut client| client.call(&ShutdownRequest::default()));
    let until = Instant::now() + DRAINING;
    while state(places).running {
        if Instant::now() > until {
            return schtasks(places, &["/End", "/TN", NAME]);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn schtasks(places: &Places, arguments: &[&str]) -> Result<(), String> {
    let ran = host::run(places.command("schtasks").args(arguments));
    ran.map_err(|error| error.to_string())?.outcome().map(drop)
}

#[cfg(test)]
mod tests;
