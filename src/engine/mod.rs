//! STUB in this worktree: the real one is the lead's.
pub mod handle;

use std::path::{Path, PathBuf};

/// How the daemon runs.
#[derive(Default)]
pub struct RunOptions {
    /// Whether a person watches standard output.
    pub foreground_report: bool,
    /// Called on a thread of its own once the engine runs: shows what it does.
    pub listen: Option<Box<dyn FnOnce(handle::Handle) + Send>>,
}

/// Runs until stopped.
pub fn daemon(config: crate::config::Config, options: RunOptions) -> anyhow::Result<()> {
    anyhow::bail!("stub: {} {}", config.vaults.len(), options.foreground_report)
}

/// The data folder of one vault.
pub fn vault_dir(data_dir: &Path, vault: &str) -> PathBuf {
    data_dir.join(vault)
}
