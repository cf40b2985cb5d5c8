//! `situated search --expect`: why a note was not found, or has the rank that it has.

use std::path::Path;

use super::print::{Out, bold};
use super::session::{CliFailure, safe};
use super::target::Served;
use protocol::client::Client;
use protocol::hit::Expected;

/// The path that the daemon is asked about, for a note named as users name notes. A note on the disk is sent by its
/// whole path, because other vaults may have a note at the same path.
pub(super) fn path(note: &Path, vault: Option<&str>, client: &mut Client) -> Result<String, CliFailure> {
    let served = Served::ask(client)?;
    let scope = served.path(note, vault);
    let Some(path) = scope.path else {
        return Err(CliFailure::usage(format!("--expect {}: that is a vault; name a note", note.display())));
    };
    // With a vault it is the name of a note there, which may be a title, an alias or a link.
    if vault.is_some() {
        return Ok(path);
    }
    let place = scope.vault.and_then(|vault| served.place_of(&vault, &path, 1));
    Ok(place.and_then(|place| place.file.to_str().map(str::to_owned)).unwrap_or(path))
}

/// Prints the note and the reasons, one sentence after the other.
pub(super) fn print(expected: &Expected, out: &mut Out) -> std::io::Result<()> {
    out.line(bold(format!("Expected: {}", safe(&expected.path))))?;
    for sentence in &expected.why {
        out.wrapped("    ", &safe(sentence))?;
    }
    Ok(())
}
