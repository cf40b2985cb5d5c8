//! Options of `mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// `mcp`
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Without a subcommand it speaks MCP on standard input and output: an assistant's\nprogram starts it so.\nOver HTTP: situated mcp --http 7391"
)]
pub(crate) struct Mcp {
    /// Serve over HTTP at this address instead, to clients that have the token
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    pub http: Option<String>,
    /// File with the token of clients; one in the data folder if absent, made at the first time
    #[arg(long, value_name = "FILE", requires = "http", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// A name that clients have for this machine, such as host.docker.internal; several times
    #[arg(long, value_name = "NAME", requires = "http")]
    pub host: Vec<String>,
    /// What to do instead of serving
    #[command(subcommand)]
    pub action: Option<McpAction>,
}

/// What to do with assistants.
#[derive(Debug, Subcommand)]
pub(crate) enum McpAction {
    /// Enter situated in an assistant's configuration; without a name, list those that are known
    Install(McpEntry),
    /// Take situated out of an assistant's configuration; without a name, list those that are known
    Uninstall(McpEntry),
}

/// `mcp install`, `mcp uninstall`
#[derive(Debug, Args)]
pub(crate) struct McpEntry {
    /// The assistant: claude, claude-desktop, codex, cursor, vscode, zed, …
    pub client: Option<String>,
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Only show what would be changed, and where
    #[arg(long)]
    pub dry_run: bool,
}
