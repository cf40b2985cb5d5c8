//! What belongs to a shell: `tail`, `completions`, `man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// `tail`
#[derive(Debug, Args)]
#[command(after_help = "It goes on when the daemon is started anew, and ends when nobody reads any more.")]
pub(crate) struct Tail {
    /// Only this vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// A JSON object per event and line
    #[arg(long, conflicts_with = "json")]
    pub jsonl: bool,
    /// What it does anyway; other programs of this name want to be told
    #[arg(long, short, hide = true)]
    pub follow: bool,
}

/// `completions`
#[derive(Debug, Args)]
#[command(
    after_help = "Bash:\n  situated completions bash \\\n    > ~/.local/share/bash-completion/completions/situated\nZsh, with fpath+=~/.zfunc before compinit:\n  situated completions zsh > ~/.zfunc/_situated\nFish:\n  situated completions fish > ~/.config/fish/completions/situated.fish"
)]
pub(crate) struct Completions {
    /// The shell; that of $SHELL if absent
    pub shell: Option<clap_complete::Shell>,
}

/// `man`
#[derive(Debug, Args)]
#[command(after_help = "Example:  situated man | man -l -")]
pub(crate) struct Manual {
    /// Write the pages of all commands into this folder; the main page is printed if absent
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}
