//! The file that settings were read from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The file that settings were read from, as it was then, and what of it takes effect later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsSource {
    file: PathBuf,
    state: Option<(SystemTime, u64)>,
    /// Settings by name that only the next start of the daemon puts in force.
    pub awaits_start: Vec<String>,
    /// What became of the indexes of vaults whose paths were written anew, by the vault's name: see
    /// [`crate::take_over`].
    pub moved: BTreeMap<String, String>,
}

impl SettingsSource {
    /// The file as it is now, before it is read.
    pub fn of(file: PathBuf) -> Self {
        SettingsSource { state: state_of(&file), file, ..SettingsSource::default() }
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        std::path::absolute(&self.file).unwrap_or_else(|_| self.file.clone())
    }

    /// Whether the file is not as it was when it was read.
    pub fn has_changed(&self) -> bool {
        state_of(&self.file) != self.state
    }
}

/// When a file was last written, and its size; `None` if it is not there.
fn state_of(file: &Path) -> Option<(SystemTime, u64)> {
    let meta = file.metadata().ok()?;
    Some((meta.modified().ok()?, meta.len()))
}
