//! Replaces the live search in a program that was built without it.

use super::session::{CliFailure, Session};

/// Never.
pub(super) fn is_possible() -> bool {
    false
}

/// `situated live`.
pub(super) fn run(_: &mut Session) -> Result<u8, CliFailure> {
    Err(CliFailure::usage(
        "this program was built without the live search (cargo feature `tui`); `situated search WORDS` prints",
    ))
}
