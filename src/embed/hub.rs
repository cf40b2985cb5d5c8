//! Models from a Hugging Face hub: the few files that are needed, whole and as they should be, or none.

use std::path::{Path, PathBuf};

/// A model cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HubError {}

/// Where models come from.
pub struct Hub {}

impl Hub {
    /// The hub at `HF_ENDPOINT` (or huggingface.co) with the token `HF_TOKEN`, and the caches of other programs at
    /// `HF_HUB_CACHE`, `HF_HOME` or below `~/.cache`.
    pub fn from_env() -> Result<Self, HubError> {
        todo!()
    }

    /// The folder of a model: `model` itself if it is a folder (an absolute path, or one that begins with `.` or `~/`),
    /// the snapshot that another program has downloaded, or what was or is now downloaded to `cache`.
    /// `model` is `org/name` or `org/name@revision`. `progress` hears of bytes done and bytes in all of a file.
    pub async fn fetch(
        &self,
        model: &str,
        cache: &Path,
        progress: &(dyn Fn(&str, u64, Option<u64>) + Sync),
    ) -> Result<PathBuf, HubError> {
        todo!()
    }
}
