//! Arguments of `situated team`.

use clap::Subcommand;

/// What to do about a team's vaults.
#[derive(Debug, Subcommand)]
pub(crate) enum TeamAction {
    /// Say how the shared collections stand, and how far what is published is
    Status {
        /// Only this team: NAME of [team.NAME]
        team: Option<String>,
    },
    /// Make a team's collection, for the vaults that are published there
    Init {
        /// NAME of [team.NAME]
        team: String,
        /// Look at vectors by one bit per value first: for tens of millions of chunks
        #[arg(long)]
        bits: bool,
    },
    /// Publish what differs now, and wait for it; a running daemon does so by itself
    Publish {
        /// Only for this team
        team: Option<String>,
        /// Take vaults over from a keeper that is gone for good
        #[arg(long)]
        take_over: bool,
    },
    /// Compare all that is published with the vaults, and mend what differs
    Verify {
        /// Only this team
        team: Option<String>,
    },
    /// Take a team's collection away, with the notes of all its keepers
    Drop {
        /// NAME of [team.NAME]
        team: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}
