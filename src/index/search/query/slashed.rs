//! `/a regular expression/` within a query, as Obsidian writes it.

use std::sync::Arc;

use super::starts_blank;
use crate::grep::{Pattern, PatternError, Rules};

/// A regular expression that a line of a chunk's text is to match, or not. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LinePattern {
    typed: Arc<str>,
    pattern: Arc<Pattern>,
}

/// Two patterns are equal if they were typed alike.
impl PartialEq for LinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.typed == other.typed
    }
}

impl LinePattern {
    /// Understands what stands between slashes; capitals count if it has one.
    ///
    /// # Errors
    /// It is no regular expression.
    pub(in crate::search) fn new(typed: &str) -> Result<Self, PatternError> {
        let pattern = Pattern::new(&typed.replace(r"\/", "/"), Rules::default())?;
        Ok(LinePattern { typed: format!("/{typed}/").into(), pattern: Arc::new(pattern) })
    }

    /// A pattern that these signs match, with or without the mark that has one shown as an emoji.
    ///
    /// # Errors
    /// They are too long.
    pub(super) fn literal(signs: &str) -> Result<Self, PatternError> {
        let bare = signs.trim_end_matches('\u{fe0f}');
        let pattern = Pattern::new(bare, Rules { fixed: true, ..Rules::default() })?;
        Ok(LinePattern { typed: format!("\"{signs}\"").into(), pattern: Arc::new(pattern) })
    }

    /// As it could be typed.
    pub(in crate::search) fn typed(&self) -> String {
        self.typed.to_string()
    }

    /// The compiled pattern.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

/// Splits what stands between slashes off the start of `body`: it may hold a slash as `\/`, and blanks, but neither
/// begin nor end with one: `this / that / other` are words. A path does not count: more text is right behind its second
/// slash.
pub(super) fn slashed(body: &str) -> Option<(&str, &str)> {
    let inner = body.strip_prefix('/')?;
    let mut escaped = false;
    let close = inner.bytes().position(|b| {
        let closes = b == b'/' && !escaped;
        escaped = b == b'\\' && !escaped;
        closes
    })?;
    let after = &inner[close + 1..];
    let ends = starts_blank(after) || after.starts_with(')');
    let inner = &inner[..close];
    (ends && !inner.is_empty() && inner.trim() == inner).then_some((inner, after))
}
