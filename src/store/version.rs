//! The version of the program that opened a store, for the message of an older version that cannot open it.

use std::fs;
use std::path::Path;

/// The file with the version.
pub(super) const WRITTEN_BY: &str = "version";

/// This version.
pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Records which version has opened a store. If that fails, a message says less, and nothing else changes.
pub(super) fn sign(dir: &Path) {
    let file = dir.join(WRITTEN_BY);
    if fs::read_to_string(&file).is_ok_and(|known| known.trim() == PROGRAM) {
        return;
    }
    if let Err(error) = fs::write(&file, format!("{PROGRAM}\n")) {
        tracing::debug!(%error, "which version opened the store could not be written down");
    }
}

/// Which version of the program last opened the store with this database folder; `None` if no version recorded it.
pub(super) fn written_by(database: &Path) -> Option<String> {
    version(database.parent()?)
}

/// Which version of the program last opened the store in `dir`; `None` if no version recorded it, as 0.1 did not.
pub fn version(dir: &Path) -> Option<String> {
    /// Most bytes of a version.
    const LONGEST: usize = 40;
    let text = fs::read_to_string(dir.join(WRITTEN_BY)).ok()?;
    let version = text.trim();
    let is_version = version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte));
    (!version.is_empty() && version.len() <= LONGEST && is_version).then(|| version.to_owned())
}
