//! Which notes are private: never shown to an assistant, never sent to another computer. All code that has to respect
//! this uses one rule: [`Private::covers`].

mod globs;

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use super::Note;
use crate::VaultPath;
use globs::Globs;

/// The tag that makes a note private wherever the note is; `private/…` does too.
pub const TAG: &str = "private";

/// The rules of one vault: its globs, and the tag that holds in every vault.
#[derive(Clone)]
pub struct Private {
    written: Vec<String>,
    globs: Globs,
}

impl Private {
    /// The rules with these globs, in the syntax of `.gitignore`. The check of the configuration refuses a glob that is
    /// not a pattern; here such a glob covers every note, since leaving it out would show what was to be hidden.
    pub fn new(globs: &[String]) -> Self {
        let compiled = Globs::new(globs.iter().flat_map(|glob| {
            let glob = folded_glob(glob);
            let named = as_named(&glob);
            [Some(glob), named].into_iter().flatten()
        }));
        Private { written: globs.to_vec(), globs: compiled.unwrap_or_else(|_| Globs::everything()) }
    }

    /// What is wrong with a glob.
    pub fn problem(glob: &str) -> Option<String> {
        Globs::new([folded_glob(glob)]).err().map(|error| error.to_string())
    }

    /// Whether the note of this path with these tags is private.
    pub fn covers(&self, path: &VaultPath, tags: impl IntoIterator<Item: AsRef<str>>) -> bool {
        tags.into_iter().any(|tag| is_private(tag.as_ref())) || self.covers_path(path)
    }

    /// As [`Private::covers`], of a note that has been read.
    pub fn covers_note(&self, note: &Note) -> bool {
        self.covers(&note.path, &note.tags)
    }

    /// As [`Private::covers_note`], of a note that had the tags `last` when it was read before: one that was private
    /// stays so while its front matter cannot be read.
    pub fn covers_now(&self, note: &Note, last: Option<impl IntoIterator<Item: AsRef<str>>>) -> bool {
        let was = || last.is_some_and(|tags| tags.into_iter().any(|tag| is_private(tag.as_ref())));
        self.covers_note(note) || (note.unread.is_some() && was())
    }

    /// As [`Private::covers`], of a file without tags.
    pub fn covers_path(&self, path: &VaultPath) -> bool {
        !self.globs.is_empty() && self.globs.cover(&folded(path.as_str()))
    }
}

impl PartialEq for Private {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Private {}

impl Default for Private {
    fn default() -> Self {
        Private::new(&[])
    }
}

impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Private").field(&self.written).finish()
    }
}

fn folded_glob(glob: &str) -> String {
    let glob = folded(glob);
    glob.strip_prefix("./").map(str::to_owned).unwrap_or(glob)
}

/// The glob with brackets and braces as signs: who has a folder `[Private] Diary` writes its name, and a class of letters
/// would hide nothing. Not of an exception, which may only show what it names for sure.
fn as_named(glob: &str) -> Option<String> {
    let signs = ['[', ']', '{', '}'];
    if !glob.contains(signs) || glob.starts_with('!') || glob.contains('\\') {
        return None;
    }
    Some(glob.chars().flat_map(|c| signs.contains(&c).then_some('\\').into_iter().chain([c])).collect())
}

/// A name typed in another case, or another form of the same letters, means the same to the user who typed it.
fn folded(name: &str) -> String {
    name.nfc().collect::<String>().to_lowercase()
}

/// Whether a tag makes its note private.
pub(super) fn is_private(tag: &str) -> bool {
    let tag = tag.trim_start_matches('#');
    let first = tag.split('/').next().unwrap_or(tag);
    // What has no shape may have been pasted with it, and the user sees a tag that is private.
    first.chars().filter(|c| c.is_ascii() || c.is_alphanumeric()).collect::<String>().to_lowercase() == TAG
}

#[cfg(test)]
mod tests;
