//! This user's folders, and running other programs, each with a timeout and with its output kept.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use protocol::folders::{Folders, session_dir};

/// Timeout of a program that only asks a manager something.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most bytes of a program's output that are read.
const MOST: u64 = 1 << 20;

/// Who keeps services on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceManager {
    /// systemd, with a unit of the user.
    Systemd,
    /// A Mac's launchd, with an agent.
    Launchd,
    /// Windows' Task Scheduler, with a task that starts when its user logs in.
    TaskScheduler,
}

impl ServiceManager {
    /// The one of this build.
    pub const HERE: ServiceManager = if cfg!(target_os = "macos") {
        ServiceManager::Launchd
    } else if cfg!(windows) {
        ServiceManager::TaskScheduler
    } else {
        ServiceManager::Systemd
    };
}

/// This user's folders and names.
#[derive(Clone, Debug)]
pub struct Places {
    /// The home folder.
    pub home: PathBuf,
    /// The folder in which programs keep their configuration; see [`Folders::config_dir`].
    pub config: PathBuf,
    /// The folder of the login session, if there is one.
    pub runtime: Option<PathBuf>,
    /// `PATH`.
    pub search: OsString,
    /// User id.
    pub uid: u32,
}

impl Places {
    /// Those of this process; `None` without a home folder.
    pub fn here() -> Option<Places> {
        let Folders { home, config_dir, runtime_dir, .. } = Folders::here();
        let home = home?;
        let uid = platform::user::id();
        let own = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|meta| meta.is_dir() && platform::files::owner(&meta) == uid)
        };
        Some(Places {
            config: config_dir,
            // tmux, cron and sudo lose the variable; the folder is there all the same.
            runtime: Some(runtime_dir.unwrap_or_else(|| session_dir(uid))).filter(own),
            search: std::env::var_os("PATH").unwrap_or_default(),
            home,
            uid,
        })
    }

    /// This user's name, as the system knows it.
    pub fn user(&self) -> Option<String> {
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let by_uid = passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)?.parse() == Ok(self.uid)).then(|| name.to_owned())
        });
        by_uid.or_else(|| std::env::var("USER").ok().filter(|name| !name.is_empty()))
    }

    /// Whether a program is on `PATH`.
    pub fn has(&self, program: &str) -> bool {
        std::env::split_paths(&self.search).any(|folder| folder.join(program).is_file())
    }

    /// A program with an environment in which it finds the user's manager and writes plain output.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").env("SYSTEMD_COLORS", "0").env("SYSTEMD_PAGER", "").env("SYSTEMD_URLIFY", "0");
        if let Some(runtime) = &self.runtime {
            command.env("XDG_RUNTIME_DIR", runtime);
        }
        command
    }
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it said on standard output.
    pub out: String,
    /// What it said on standard error.
    pub err: String,
}

impl Ran {
    /// Whether it went well.
    pub fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    /// What it said, or its complaint.
    pub fn outcome(self) -> Result<String, String> {
        if self.is_ok() { Ok(self.out) } else { Err(self.complaint()) }
    }

    /// Its own words on what went wrong, in one line.
    pub fn complaint(&self) -> String {
        let said = if self.err.trim().is_empty() { &self.out } else { &self.err };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
        match (lines.is_empty(), self.code) {
            (false, _) => lines.join("; "),
            (true, Some(code)) => format!("exit code {code}"),
            (true, None) => "ended by a signal".to_owned(),
        }
    }
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> io::Result<Ran> {
    run_within(command, PATIENCE)
}

/// Runs a program, and kills it if it takes longer than `patience`.
pub fn run_within(command: &mut Command, patience: Duration) -> io::Result<Ran> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (out, err) = (listen(child.stdout.take()), listen(child.stderr.take()));
    let until = Instant::now() + patience;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            let name = Path::new(command.get_program()).display().to_string();
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{name} did not end in time")));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // A grandchild may keep the other end open for ever.
    let heard = |from: mpsc::Receiver<String>| from.recv_timeout(Duration::from_secs(2)).unwrap_or_default();
    Ok(Ran { code: status.code(), out: heard(out), err: heard(err) })
}

fn listen(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            // After an error, what was read before it counts.
            let _ = from.take(MOST).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

#[cfg(all(test, unix))]
mod tests;
