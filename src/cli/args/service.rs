//! `situated service`.

use clap::{Args, Subcommand};

/// What to do with the service.
#[derive(Debug, Subcommand)]
pub(crate) enum ServiceAction {
    /// Have the daemon run whenever you are logged in
    Install(Install),
    /// End it and remove what `install` has written
    Uninstall(Uninstall),
    /// Start it, and wait until it answers
    Start,
    /// End the daemon until the next login or `start`
    Stop,
    /// End the daemon and start it anew
    Restart,
    /// Say how the service stands; exit code 3 if it does not run
    Status,
    /// Print the last lines of its log
    Logs(Logs),
}

/// `service install`
#[derive(Debug, Default, Args)]
pub(crate) struct Install {
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Have it run without a login too, as on a machine without a desktop
    #[arg(long)]
    pub linger: bool,
    /// Replace a unit that `install` did not write
    #[arg(long)]
    pub force: bool,
}

/// `service uninstall`
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// Remove the indexes too, with contexts that were paid for; never a vault
    #[arg(long)]
    pub purge: bool,
    /// Do not ask (`--purge` does)
    #[arg(long, short)]
    pub yes: bool,
}

/// `service logs`
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// Go on with new lines as they come
    #[arg(long, short)]
    pub follow: bool,
    /// Lines at most
    #[arg(long, short = 'n', default_value_t = 50)]
    pub lines: usize,
}
