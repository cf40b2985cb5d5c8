//! Whether a daemon answers, and what it says of itself.

use std::path::Path;
use std::time::Instant;

use super::super::session::{CliFailure, Session};
use protocol::locate;
use protocol::status::{Status, StatusRequest};

/// Whether a daemon answers.
#[derive(Clone, Debug, Default)]
pub(super) enum Daemon {
    /// It does.
    Answers(Box<Status>, f64),
    /// One holds the data folder and does not answer; the reason.
    Silent(String),
    /// None runs.
    #[default]
    Absent,
}

impl Daemon {
    /// Asks for the daemon's status, or finds out why there is none.
    pub(super) fn ask(session: &Session, data_dir: &Path) -> Self {
        let began = Instant::now();
        let asked: Result<Status, CliFailure> =
            session.client().and_then(|mut client| Ok(client.call(&StatusRequest::default())?));
        match asked {
            Ok(status) => Daemon::Answers(Box::new(status), began.elapsed().as_secs_f64() * 1e3),
            Err(failure) if locate::is_locked(data_dir) => Daemon::Silent(match failure {
                CliFailure::Said { message, .. } => message,
                CliFailure::Quiet => "it hung up".to_owned(),
            }),
            Err(_) => Daemon::Absent,
        }
    }
}
