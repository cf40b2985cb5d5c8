//! `editor`: plugins that this program carries.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum, ValueHint};

/// What to do about plugins.
#[derive(Debug, Subcommand)]
pub(crate) enum EditorAction {
    /// Write the plugin into the editor's own folder
    Install {
        /// Which editor
        #[arg(value_enum)]
        editor: EditorName,
        /// Only say what would be written
        #[arg(long)]
        dry_run: bool,
        /// Do not ask, and write also over files that somebody has changed
        #[arg(long, short)]
        yes: bool,
        /// Obsidian: the vault, by name or folder, whose plugins it joins
        #[arg(long, value_name = "VAULT", value_hint = ValueHint::DirPath)]
        vault: Option<PathBuf>,
        /// Another folder than the editor's usual one
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "vault")]
        dir: Option<PathBuf>,
    },
    /// List the editors, and what is installed where
    List,
    /// Take the plugin out: the files that were written, unless somebody has changed them
    Uninstall {
        /// Which editor
        #[arg(value_enum)]
        editor: EditorName,
        /// Obsidian: the vault, by name or folder
        #[arg(long, value_name = "VAULT", value_hint = ValueHint::DirPath)]
        vault: Option<PathBuf>,
        /// Another folder than the editor's usual one
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

/// An editor that there is a plugin for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditorName {
    /// Neovim 0.7 or later
    Neovim,
    /// Emacs 27.1 or later
    Emacs,
    /// Visual Studio Code 1.75 or later
    Vscode,
    /// Obsidian 1.0 or later, on a desktop
    Obsidian,
}
