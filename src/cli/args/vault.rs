//! `vault`: which folders are searched.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// What to do about vaults.
#[derive(Debug, Subcommand)]
pub(crate) enum VaultAction {
    /// Have one more folder searched: written into the configuration, and taken over by the daemon that runs
    Add {
        /// The folder
        #[arg(value_hint = ValueHint::DirPath)]
        path: PathBuf,
        /// What it is called; the folder's name if absent
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Do not ask, not even about a home folder or one without notes
        #[arg(long, short)]
        yes: bool,
    },
    /// List the vaults, where each is named, and how the daemon has it
    List,
    /// Have a folder searched no more: its notes stay as they are, and so does what was indexed of it
    Remove {
        /// Its name
        #[arg(id = "vault", value_name = "NAME")]
        name: String,
        /// Also delete what was indexed of it, contexts that were paid for included
        #[arg(long)]
        delete_data: bool,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Call a vault otherwise; its index and contexts stay
    Rename {
        /// Its name
        #[arg(id = "vault", value_name = "OLD")]
        old: String,
        /// What it is called from now on
        new: String,
    },
}
