//! STUB in this worktree: the real one is written beside `search`.

use std::borrow::Cow;

/// One line that is safe to show.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().into()
    } else {
        text.into()
    }
}

/// Lines that are safe to show.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| c.is_control() && c != '\n') {
        text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect::<String>().into()
    } else {
        text.into()
    }
}
