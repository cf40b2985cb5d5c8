//! Options of `mcp`.

use clap::{Args, Subcommand};

/// `mcp`
#[derive(Debug, Args)]
#[command(
    after_help = "Without a subcommand it speaks MCP on standard input and output: an assistant's program starts it so."
)]
pub(crate) struct Mcp {
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
