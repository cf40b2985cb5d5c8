//! `situated search --expect`: why a note was not found, or has the rank that it has.

use super::print::{Out, bold};
use super::session::safe;
use protocol::hit::Expected;

/// Prints the note and the reasons, one sentence after the other.
pub(super) fn print(expected: &Expected, out: &mut Out) -> std::io::Result<()> {
    out.line(bold(format!("Expected: {}", safe(&expected.path))))?;
    for sentence in &expected.why {
        out.wrapped("    ", &safe(sentence))?;
    }
    Ok(())
}
