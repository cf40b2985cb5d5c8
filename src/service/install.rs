//! Installation and its removal. All that is going to be written is known and shown beforehand, and is undone exactly
//! if the daemon does not come up.

use std::fs;
use std::path::{Path, PathBuf};

use super::control::{self, ServiceReply};
use super::files::{Undo, Write};
use super::host::{Places, ServiceManager};
use super::inspect::{Inspection, inspect, unit_of};
use super::systemd::{Manager, Reach};
use super::unit::{self, DropIn, SERVICE};
use super::wanted::Wanted;
use super::{ServiceError, launchd, plist, program, scheduler, task};
use protocol::client::Discovery;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What an installation is going to do.
#[derive(Debug)]
pub struct InstallPlan {
    /// What is written, unless it is there already.
    pub writes: Vec<Write>,
    /// Drop-ins of ours that are no longer needed.
    pub removes: Vec<PathBuf>,
    /// What starts it at login: a link, and what it leads to.
    pub link: Option<(PathBuf, PathBuf)>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// The state of the service before.
    pub before: Inspection,
    data_dir: PathBuf,
    discovery: Discovery,
    places: Places,
}

/// How an installation went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It was there and runs: nothing was done.
    Already(ServiceReply),
    /// It runs.
    Runs(ServiceReply),
    /// It starts at the next login, since no manager answers now.
    Later,
}

/// Finds out what an installation has to do, and whether it can.
pub fn plan(wanted: &Wanted, places: &Places, exe: &Path, force: bool) -> Result<InstallPlan, ServiceError> {
    let program = program::choose(exe, &places.search);
    if !program.path.is_file() {
        return Err(ServiceError::unavailable(format!(
            "{} is gone, it was replaced while it ran: call `situated service install` once more",
            program.path.display()
        )));
    }
    let mut notes: Vec<String> = Vec::new();
    if let Some(doubt) = program.doubt {
        notes.push(format!("the service will run {}: {doubt}", program.path.display()));
    }
    if !wanted.unseen.is_empty() {
        notes.push(format!(
            "set in this shell only, so the service does not see it: {}; put it into the configuration",
            wanted.unseen.join(", ")
        ));
    }
    if wanted.key_in_shell {
        notes.push(
            "a key in a variable of this shell is not seen by the service: name its place with `key_file` or `key_command`"
                .to_owned(),
        );
    }
    let launch = wanted.launch(program.path);
    let mut plan = InstallPlan {
        writes: Vec::new(),
        removes: Vec::new(),
        link: None,
        notes,
        before: Inspection::default(),
        data_dir: wanted.data_dir.clone(),
        discovery: Discovery { socket: wanted.socket.clone(), data_dir: wanted.data_dir.clone(), is_named: false },
        places: places.clone(),
    };
    match ServiceManager::HERE {
        ServiceManager::Launchd => plan.agent(&launch)?,
        ServiceManager::TaskScheduler => plan.login_task(&launch)?,
        ServiceManager::Systemd => plan.unit(&launch, wanted, force)?,
    }
    plan.before.pid = control::own_pid(&plan.before, &plan.discovery);
    Ok(plan)
}

impl InstallPlan {
    fn unit(&mut self, launch: &unit::Launch, wanted: &Wanted, force: bool) -> Result<(), ServiceError> {
        let manager = Manager::find(&self.places);
        match &manager.reach {
            Reach::Missing => {
                return Err(ServiceError::unavailable(
                    "there is no systemd here (no systemctl on PATH): let whatever starts your programs at login run \
                     `situated run --quiet`",
                ));
            }
            Reach::Silent(why) => {
                self.notes.push(format!(
                    "your systemd does not answer ({why}): the service starts at the next login, if systemd runs then"
                ));
            }
            Reach::Answers(_) => {}
        }
        self.before = unit_of(&self.places, &manager, &manager.state());
        if self.before.masked {
            return Err(ServiceError::unavailable(
                "the service is masked: `systemctl --user unmask situated`, then try again",
            ));
        }
        let folder = manager.own_folder();
        let own = folder.join(SERVICE);
        let unwritable = |error: unit::Unwritable| ServiceError::new(73, error.to_string());
        let package = manager.packaged();
        let there = fs::read_to_string(&own).ok();
        let target = match (package, &there) {
            (Some(package), None) => {
                self.packaged(&package, launch);
                package
            }
            (package, there) => {
                if let Some(text) = there
                    && unit::version(text).is_none()
                    && !force
                {
                    return Err(ServiceError::new(
                        73,
                        format!(
                            "{} was not written by `situated service install`: move it away, or replace it with `--force`",
                            own.display()
                        ),
                    ));
                }
                if let Some(package) = package {
                    self.notes.push(format!(
                        "your own unit hides the packaged one, {}: `situated service uninstall` removes yours",
                        package.display()
                    ));
                }
                self.writes.push(Write::new(own.clone(), unit::service(launch, VERSION).map_err(unwritable)?));
                own
            }
        };
        self.link = Some((folder.join("default.target.wants").join(SERVICE), target));
        let needed = self.drop_ins(&manager, wanted).map_err(unwritable)?;
        let drop_in_folder = folder.join(format!("{SERVICE}.d"));
        for kind in DropIn::ALL {
            let path = drop_in_folder.join(kind.file());
            let there = fs::read_to_string(&path).ok();
            if there.as_ref().is_some_and(|text| !unit::is_our_drop_in(text)) {
                self.notes.push(format!("{} is not ours and is left as it is", path.display()));
                continue;
            }
            match needed.iter().find(|(other, _)| *other == kind) {
                Some((_, text)) => self.writes.push(Write::new(path, text.clone())),
                // If the manager does not answer, no trial can be run: what an earlier one found stays.
                None if kind == DropIn::Sandbox && !manager.answers() => {}
                None if there.is_some() => self.removes.push(path),
                None => {}
            }
        }
        Ok(())
    }

    /// Uses a packaged unit as it is, and notes what does not fit.
    fn packaged(&mut self, package: &Path, launch: &unit::Launch) {
        self.notes.push(format!("the packaged unit {} is used", package.display()));
        let differs = self.before.program.as_ref().filter(|_| !self.before.program_is_this);
        if let Some(program) = differs {
            self.notes.push(format!("it runs {}, not this program, {}", program.display(), launch.program.display()));
        }
        if !launch.options.is_empty() {
            self.notes.push(
                "it takes its configuration from the usual place: options and variables given here do not reach it"
                    .to_owned(),
            );
        }
    }

    /// What the unit needs beside its own lines.
    fn drop_ins(&mut self, manager: &Manager, wanted: &Wanted) -> Result<Vec<(DropIn, String)>, unit::Unwritable> {
        let mut needed = Vec::new();
        let network = !wanted.network.is_empty();
        if manager.answers() {
            match manager.trial(&unit::trial(network)) {
                Ok(()) => needed.push((DropIn::Sandbox, unit::strict(network))),
                Err(why) => self.notes.push(format!(
                    "the strict sandbox is left out, for a trial unit with it did not start ({why}); system calls are \
                     filtered all the same"
                )),
            }
        }
        if network {
            needed.push((DropIn::Network, unit::network(&wanted.network)));
        }
        if let Some(text) = unit::paths(&wanted.writable, wanted.shared_tmp)? {
            needed.push((DropIn::Paths, text));
        }
        if wanted.key_command {
            needed.push((DropIn::Keys, unit::keys()));
            self.notes.push(format!(
                "for the `key_command` the service may read {}, which the unit hides otherwise; what else it hides \
                 (`InaccessiblePaths=`, `ProtectHome=`) a command of the service cannot read or write",
                unit::KEY_STORES.map(|store| store.replace("%h", "~")).join(" and ")
            ));
        }
        Ok(needed)
    }

    fn agent(&mut self, launch: &unit::Launch) -> Result<(), ServiceError> {
        self.before = inspect();
        let path = launchd::path(&self.places);
        let homebrew = path.with_file_name(format!("{}.plist", plist::HOMEBREW));
        if homebrew.is_file() {
            return Err(ServiceError::new(
                75,
                format!(
                    "Homebrew keeps it already ({}): `brew services stop situated` first, or leave it to Homebrew",
                    homebrew.display()
                ),
            ));
        }
        let log = launchd::stderr(&self.places);
        self.writes.push(Write::new(path, plist::agent(launch, &log, VERSION)));
        Ok(())
    }

    fn login_task(&mut self, launch: &unit::Launch) -> Result<(), ServiceError> {
        self.before = inspect();
        let sid = platform::user::sid()
            .map_err(|error| ServiceError::unavailable(format!("this user cannot be told: {error}")))?;
        self.writes.push(Write::new(scheduler::path(&self.places), task::task(launch, &sid, VERSION)));
        Ok(())
    }

    /// Fails if a daemon that is not the service's has the data folder.
    pub fn check_free(&self) -> Result<(), ServiceError> {
        control::by_hand(&self.discovery, self.before.pid)
    }

    /// Whether anything is written or removed.
    pub fn changes(&self) -> bool {
        let linked = self.link.as_ref().is_none_or(|(link, _)| link.exists() || self.before.enabled);
        !linked || !self.removes.is_empty() || self.writes.iter().any(Write::changes)
    }

    /// What becomes of a file, in a word or two.
    pub fn fate(write: &Write) -> String {
        let before = write.before.as_deref().map(|text| {
            // Agents and tasks state it in the same way.
            unit::version(text).or_else(|| plist::version(text))
        });
        match before {
            _ if !write.changes() => "as it is".to_owned(),
            None => "new".to_owned(),
            Some(Some(version)) if version != VERSION => format!("in place of that of situated {version}"),
            Some(_) => "changed".to_owned(),
        }
    }

    /// Carries out the plan. After a failure everything is as before.
    pub fn carry_out(&self) -> Result<Installed, ServiceError> {
        if !self.changes()
            && let Some((pid, version)) = control::ask(&self.discovery)
            && self.before.running
            && self.before.pid == Some(pid)
            && version == VERSION
        {
            return Ok(Installed::Already(ServiceReply { pid, version, after: std::time::Duration::ZERO }));
        }
        let began = jiff::Timestamp::now().as_second();
        let mut undo = Undo::default();
        let mut started = false;
        let done = self.write(&mut undo).and_then(|()| {
            started = true;
            self.start()
        });
        done.map_err(|error| {
            let log = if started { super::logs::since(&self.places, &self.data_dir, began, 20) } else { Vec::new() };
            let left = self.take_back(undo, started);
            let mut message = error.message;
            if !log.is_empty() {
                message.push_str("\nIts last words:");
                log.iter().for_each(|line| message.push_str(&format!("\n  {line}")));
            }
            if left.is_empty() {
                message.push_str("\nEverything is as it was before.");
            } else {
                message.push_str(&format!("\nThis could not be taken back: {}", left.join("; ")));
            }
            ServiceError::new(error.code, message)
        })
    }

    fn write(&self, undo: &mut Undo) -> Result<(), ServiceError> {
        let refused = |error: std::io::Error| {
            let code = if error.kind() == std::io::ErrorKind::PermissionDenied { 77 } else { 73 };
            ServiceError::new(code, error.to_string())
        };
        // The sandbox opens only folders that exist: one that the daemon creates later would stay closed to it.
        let fresh = !self.data_dir.exists();
        undo.folder(&self.data_dir).map_err(refused)?;
        if fresh {
            platform::files::set_mode(&self.data_dir, 0o700).map_err(refused)?;
        }
        if ServiceManager::HERE == ServiceManager::Launchd
            && let Some(folder) = launchd::stderr(&self.places).parent()
        {
            undo.folder(folder).map_err(refused)?;
        }
        for write in &self.writes {
            undo.write(write).map_err(refused)?;
        }
        for path in &self.removes {
            undo.remove(path).map_err(refused)?;
        }
        if let Some((link, to)) = self.link.as_ref().filter(|_| !self.before.enabled) {
            // A link that leads nowhere starts nothing, and is in the way.
            if !link.exists() && link.symlink_metadata().is_ok() {
                fs::remove_file(link).map_err(refused)?;
            }
            undo.link(link, to).map_err(refused)?;
        }
        Ok(())
    }

    fn start(&self) -> Result<Installed, ServiceError> {
        if ServiceManager::HERE == ServiceManager::Systemd {
            if !self.before.reachable {
                return Ok(Installed::Later);
            }
            reload(&self.places)?;
        }
        control::run(&self.places, &self.discovery, "restart").map(Installed::Runs)
    }

    fn take_back(&self, undo: Undo, started: bool) -> Vec<String> {
        let managed = started && (ServiceManager::HERE != ServiceManager::Systemd || self.before.reachable);
        if managed {
            // This fails if the service does not run, and then there is nothing to end.
            let _ = control::end(&self.places);
        }
        let mut left = undo.take_back();
        match ServiceManager::HERE {
            ServiceManager::Systemd if managed => {
                left.extend(reload(&self.places).err().map(|error| error.message));
                let _ = Manager::find(&self.places).systemctl(&["reset-failed", SERVICE]);
            }
            ServiceManager::TaskScheduler if managed => left.extend(scheduler::register(&self.places).err()),
            _ => {}
        }
        if managed && self.before.running {
            let again = control::run(&self.places, &self.discovery, "start");
            left.extend(again.err().map(|error| format!("the service does not run any more: {}", error.message)));
        }
        left
    }
}

fn reload(places: &Places) -> Result<(), ServiceError> {
    let reloaded = Manager::find(places).systemctl(&["daemon-reload"]);
    reloaded.map(drop).map_err(|why| ServiceError::unavailable(format!("systemd does not read its units again: {why}")))
}

/// Ends the service and removes what [`InstallPlan::carry_out`] has written; returns what was removed.
pub fn uninstall(places: &Places) -> Result<Vec<PathBuf>, ServiceError> {
    let found = inspect();
    let failed = |path: &Path, error: std::io::Error| {
        ServiceError::new(73, format!("cannot remove {}: {error}", path.display()))
    };
    if let Some(unit) = found.unit.as_ref().filter(|_| !found.ours && !found.packaged) {
        return Err(ServiceError::new(
            73,
            format!("{} was not written by `situated service install`: remove it yourself", unit.display()),
        ));
    }
    if found.reachable && (found.running || found.failed.is_some()) {
        control::end(places)?;
    }
    let mut removed = Vec::new();
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders: Vec<PathBuf> = Vec::new();
    match ServiceManager::HERE {
        ServiceManager::Launchd => files.push(launchd::path(places)),
        ServiceManager::TaskScheduler => files.push(scheduler::path(places)),
        ServiceManager::Systemd => {
            let folder = Manager::find(places).own_folder();
            let (wants, drop_ins) = (folder.join("default.target.wants"), folder.join(format!("{SERVICE}.d")));
            files.push(wants.join(SERVICE));
            files.extend(found.unit.clone().filter(|_| found.ours));
            let ours = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| unit::is_our_drop_in(&text));
            files.extend(DropIn::ALL.iter().map(|kind| drop_ins.join(kind.file())).filter(ours));
            folders.extend([wants, drop_ins]);
        }
    }
    for file in files.into_iter().filter(|file| file.symlink_metadata().is_ok()) {
        fs::remove_file(&file).map_err(|error| failed(&file, error))?;
        removed.push(file);
    }
    for folder in folders {
        // Fails if the folder is not empty: others have their links and drop-ins there.
        let _ = fs::remove_dir(folder);
    }
    match ServiceManager::HERE {
        ServiceManager::Systemd if found.reachable && !removed.is_empty() => {
            reload(places)?;
            let _ = Manager::find(places).systemctl(&["reset-failed", SERVICE]);
        }
        ServiceManager::TaskScheduler => scheduler::register(places).map_err(ServiceError::unavailable)?,
        _ => {}
    }
    Ok(removed)
}
