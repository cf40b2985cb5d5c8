//! What the daemon tells systemd, if that started it and asks for it. Without systemd, no process listens.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{tell, watchdog};
#[cfg(windows)]
pub(super) use windows::{tell, watchdog};

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell<'a> {
    /// What is stored can be searched.
    Ready,
    /// The daemon is about to go on with another configuration, or as a new process.
    Reloading,
    /// It is about to end.
    Stopping,
    /// It is alive.
    Alive,
    /// What it is doing, for a person.
    Doing(&'a str),
}
