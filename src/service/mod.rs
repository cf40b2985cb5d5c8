//! The daemon as a login service: units of systemd, an agent of launchd, a task of Windows, and where their logs are.
//!
//! [`mod@unit`], [`plist`], [`task`] and what the configuration asks for ([`wanted`]) are pure; the rest asks the
//! manager through its own programs, each with a timeout. Nothing here prints: [`inspect()`] reports the state of the
//! service. [`install`] says what it is going to do before it does it, and undoes exactly that if the daemon does not
//! come up.

pub mod control;
pub mod files;
pub mod host;
pub mod inspect;
pub mod install;
mod launchd;
pub mod logfile;
pub mod logs;
pub mod plist;
pub mod program;
mod scheduler;
pub mod systemd;
pub mod task;
pub mod unit;
pub mod wanted;

pub use inspect::{Inspection, inspect};

/// Why something did not work, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ServiceError {
    /// The program's exit code, after `sysexits.h`.
    pub code: u8,
    /// For a person.
    pub message: String,
}

impl ServiceError {
    fn new(code: u8, message: impl Into<String>) -> Self {
        ServiceError { code, message: message.into() }
    }

    /// Something that is needed is not there.
    fn unavailable(message: impl Into<String>) -> Self {
        ServiceError::new(69, message)
    }
}
