//! What the user and the system tell a process without asking it: to end, or that its terminal is gone.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::Signals;

/// What the process was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Ctrl-C.
    Interrupt,
    /// To end.
    Terminate,
    /// The terminal is gone; or, for a daemon, to read its configuration again. Windows never says it: a console that is gone
    /// ends the process there.
    HangUp,
}
