//! `situated search --expect`: why a note was not found, or stands where it stands.

use std::path::Path;

use super::print::{Out, bold};
use super::session::{Failure, safe};
use super::target;
use crate::client::Client;
use crate::search::Expected;

/// What is asked about a note that is named as users name notes.
pub(super) fn path(note: &Path, vault: Option<&str>, client: &mut Client) -> Result<String, Failure> {
    let scope = target::path(note, vault, &target::vaults(client)?, &std::env::current_dir()?);
    scope.path.ok_or_else(|| Failure::usage(format!("--expect {}: that is a vault; name a note", note.display())))
}

/// The note, and a sentence after the other.
pub(super) fn print(expected: &Expected, out: &mut Out) -> std::io::Result<()> {
    out.line(bold(format!("Expected: {}", safe(&expected.path))))?;
    for sentence in &expected.why {
        out.wrapped("    ", &safe(sentence))?;
    }
    Ok(())
}
