//! Small files of the engine's own, written so that a reader finds the old text or the new one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Puts `text` in the place of what the file `name` in `dir` holds: written beside it, on the disk, then renamed.
///
/// # Errors
/// It cannot be written; then the old text stands.
pub(crate) fn replace(dir: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    let fresh = dir.join(format!("{name}.new"));
    let mut file = File::create(&fresh)?;
    file.write_all(text)?;
    file.sync_all()?;
    std::fs::rename(fresh, dir.join(name))
}
