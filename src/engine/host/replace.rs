//! Writes small files of the engine so that a reader finds either the old text or the new one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Replaces the text of the file `name` in `dir`: writes the new text beside it, syncs that file, renames it, and syncs
/// the folder, so that a power cut does not bring the old text back.
///
/// # Errors
/// The new text cannot be written, then the old one stays; or the folder cannot be synced.
pub(crate) fn replace(dir: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    let fresh = dir.join(format!("{name}.new"));
    let mut file = File::create(&fresh)?;
    file.write_all(text)?;
    file.sync_all()?;
    std::fs::rename(fresh, dir.join(name))?;
    platform::files::sync_folder(dir)
}
