//! Start, stop, and wait: a service runs when its daemon answers, not when its manager says so.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::ServiceError;
use super::host::{Places, ServiceManager};
use super::inspect::{Inspection, inspect};
use super::systemd::{Manager, UnitState};
use super::unit::SERVICE;
use super::{launchd, scheduler};
use crate::daemon::serve::lock::make_private;
use protocol::client::{Client, Discovery};
use protocol::daemon::PingRequest;

/// Opening a large store takes its time; the unit gives up at two minutes.
const PATIENCE: Duration = Duration::from_secs(130);

/// Time between two looks at the manager, each of which starts a program.
const LOOK: Duration = Duration::from_millis(200);

/// How often the manager may start the daemon again before the wait for it ends.
const ATTEMPTS: u32 = 1;

/// A daemon that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceReply {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// From the start to the answer.
    pub after: Duration,
}

/// Asks the daemon who it is; `None` if none answers.
pub fn ask(discovery: &Discovery) -> Option<(u32, String)> {
    let mut client = Client::connect_to(&discovery.socket()).ok()?;
    client.set_timeout(Some(Duration::from_secs(1)));
    client.call(&PingRequest {}).ok()?;
    let server = client.hello().ok()?.server;
    Some((server.pid, server.version))
}

fn places() -> Result<Places, ServiceError> {
    Places::here().ok_or_else(|| ServiceError::unavailable("this user has no home folder"))
}

/// Inspects the service, which must be installed, and whose manager must answer.
fn installed() -> Result<Inspection, ServiceError> {
    let found = inspect();
    if found.unit.is_none() {
        return Err(ServiceError::unavailable("the service is not installed: `situated service install` installs it"));
    }
    if !found.reachable {
        return Err(ServiceError::unavailable(format!(
            "the service is installed, but the manager that keeps it does not answer: {}{}",
            found.keeper_says,
            no_session()
        )));
    }
    Ok(found)
}

/// What to do where a manager cannot be reached.
pub(super) fn no_session() -> &'static str {
    "\nlog in at the machine itself or by `ssh`, not by `su` or `sudo`, or run the daemon by hand: `situated run`"
}

/// Starts the service, unless it runs.
pub fn start(discovery: &Discovery) -> Result<(ServiceReply, bool), ServiceError> {
    let found = installed()?;
    if let Some(pid) = own_pid(&found, discovery).filter(|_| found.running)
        && let Some((other, version)) = ask(discovery).filter(|(answers, _)| *answers == pid)
    {
        return Ok((ServiceReply { pid: other, version, after: Duration::ZERO }, false));
    }
    Ok((begin(&found, discovery, "start")?, true))
}

/// Ends the daemon and starts it anew.
pub fn restart(discovery: &Discovery) -> Result<ServiceReply, ServiceError> {
    begin(&installed()?, discovery, "restart")
}

fn begin(found: &Inspection, discovery: &Discovery, verb: &str) -> Result<ServiceReply, ServiceError> {
    if let Some(program) = found.program.as_ref().filter(|_| !found.program_exists) {
        return Err(ServiceError::unavailable(format!(
            "the service runs {}, which is gone: `situated service install` makes it run this program",
            program.display()
        )));
    }
    by_hand(discovery, own_pid(found, discovery))?;
    // The unit opens only folders that exist: the daemon could not make one that is gone.
    let made = make_private(&discovery.data_dir);
    made.map_err(|error| ServiceError::new(error.exit_code(), error.to_string()))?;
    run(&places()?, discovery, verb)
}

/// Starts what is installed and waits until it answers.
pub(super) fn run(places: &Places, discovery: &Discovery, verb: &str) -> Result<ServiceReply, ServiceError> {
    let began = Instant::now();
    match ServiceManager::HERE {
        ServiceManager::Launchd => {
            launchd::load(places).map_err(ServiceError::unavailable)?;
            wait(discovery, began, &mut || {
                let state = launchd::state(places);
                // Where a restart cannot help, the daemon ends with success, so that launchd does not start it again.
                let over = state.last_exit.filter(|_| state.pid.is_none());
                let why = state.failure().unwrap_or_else(|| "it ended at once".to_owned());
                Look { pid: state.pid, over: over.map(|code| (Some(code), why)) }
            })
        }
        ServiceManager::TaskScheduler => {
            scheduler::load(places).map_err(ServiceError::unavailable)?;
            wait(discovery, began, &mut || {
                let state = scheduler::state(places);
                let over = state.last_exit.map(|code| i32::try_from(code).ok());
                let why = state.failure().unwrap_or_else(|| "it ended at once".to_owned());
                Look { pid: holder(discovery).filter(|_| state.running), over: over.map(|code| (code, why)) }
            })
        }
        ServiceManager::Systemd => {
            let manager = Manager::find(places);
            // The manager still waits after an attempt that failed: its failure would be taken for that of this start.
            if manager.state().restarting {
                let _ = manager.systemctl(&["stop", SERVICE]);
            }
            // A unit that failed too often does not start again until its failures are reset.
            let _ = manager.systemctl(&["reset-failed", SERVICE]);
            let asked = manager.systemctl(&[verb, "--no-block", SERVICE]);
            asked.map_err(|why| ServiceError::unavailable(format!("systemd does not {verb} the service: {why}")))?;
            wait(discovery, began, &mut || look(&manager.state()))
        }
    }
}

/// The process that has the data folder, if any has.
fn holder(discovery: &Discovery) -> Option<u32> {
    protocol::locate::running(&discovery.data_dir).map(|running| running.pid)
}

/// The service's process. The Task Scheduler does not report it: there it is the process that has the data folder while
/// the service runs.
pub(super) fn own_pid(found: &Inspection, discovery: &Discovery) -> Option<u32> {
    found.pid.or_else(|| {
        holder(discovery).filter(|_| ServiceManager::HERE == ServiceManager::TaskScheduler && found.running)
    })
}

struct Look {
    pid: Option<u32>,
    /// Set if the start has failed: exit code and reason.
    over: Option<(Option<i32>, String)>,
}

fn look(state: &UnitState) -> Look {
    // These exit codes name obstacles that will still be there at the next attempt, two seconds later.
    let in_vain = state.restarting && matches!(state.exit_code, Some(64 | 73 | 75 | 77 | 78));
    let often = state.restarting && state.restarts >= ATTEMPTS;
    let over = state.has_failed() || in_vain || often;
    Look { pid: state.pid, over: over.then(|| (state.exit_code, state.why())) }
}

/// Waits until the daemon that the manager keeps answers.
fn wait(discovery: &Discovery, began: Instant, look: &mut dyn FnMut() -> Look) -> Result<ServiceReply, ServiceError> {
    loop {
        let now = look();
        let looked = Instant::now();
        while looked.elapsed() < LOOK {
            if let Some((pid, version)) = ask(discovery).filter(|(pid, _)| now.pid == Some(*pid)) {
                return Ok(ServiceReply { pid, version, after: began.elapsed() });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Some((code, why)) = now.over {
            let code = code.and_then(|code| u8::try_from(code).ok()).filter(|code| (64..79).contains(code));
            return Err(ServiceError::new(code.unwrap_or(69), format!("the daemon did not come up: {why}")));
        }
        if began.elapsed() > PATIENCE {
            return Err(ServiceError::new(124, "the daemon did not answer within two minutes"));
        }
    }
}

/// Ends the service's daemon; returns whether there was one.
pub fn stop() -> Result<bool, ServiceError> {
    let found = installed()?;
    end(&places()?)?;
    Ok(found.running)
}

pub(super) fn end(places: &Places) -> Result<(), ServiceError> {
    let ended = match ServiceManager::HERE {
        ServiceManager::Launchd => launchd::unload(places),
        ServiceManager::TaskScheduler => scheduler::unload(places),
        ServiceManager::Systemd => Manager::find(places).systemctl(&["stop", SERVICE]).map(drop),
    };
    ended.map_err(|why| ServiceError::unavailable(format!("the service could not be stopped: {why}")))
}

/// Fails if a daemon that is not the service's (`pid`) has the data folder.
pub(super) fn by_hand(discovery: &Discovery, pid: Option<u32>) -> Result<(), ServiceError> {
    let data_dir: &PathBuf = &discovery.data_dir;
    let Some(running) = protocol::locate::running(data_dir).filter(|running| Some(running.pid) != pid) else {
        return Ok(());
    };
    let message = format!(
        "a daemon that is not the service's (pid {}) has the data folder {}: end it with `situated stop`, then try again",
        running.pid,
        data_dir.display()
    );
    Err(ServiceError::new(75, message))
}
