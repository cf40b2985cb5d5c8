//! Whether a daemon answers, and what it says of itself.

use std::path::Path;
use std::time::Instant;

use super::super::exit;
use super::super::session::{CliFailure, Session};
use protocol::locate;
use protocol::status::{Status, StatusRequest};

/// Whether a daemon answers.
#[derive(Clone, Debug, Default)]
pub(super) enum Daemon {
    /// It does.
    Answers(Box<Status>, f64),
    /// One holds the data folder and does not answer; the reason, and what ends it.
    Silent(String, String),
    /// None runs.
    #[default]
    Absent,
}

impl Daemon {
    /// Asks for the daemon's status, or finds out why there is none.
    pub(super) fn ask(session: &Session, data_dir: &Path) -> Self {
        let began = Instant::now();
        match session.call(&StatusRequest::default()) {
            Ok(status) => Daemon::Answers(Box::new(status), began.elapsed().as_secs_f64() * 1e3),
            Err(failure) if locate::is_locked(data_dir) => {
                let (hangs, why) = match failure {
                    CliFailure::Said { code, message } => (code == exit::TIMEOUT, message),
                    CliFailure::Quiet => (false, "it hung up".to_owned()),
                };
                let kill = if hangs { "kill -9" } else { "kill" };
                let ended = locate::running(data_dir).map(|running| format!("{kill} {}", running.pid));
                Daemon::Silent(why, ended.unwrap_or_else(|| "situated service restart".to_owned()))
            }
            Err(_) => Daemon::Absent,
        }
    }
}
