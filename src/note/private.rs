//! Which notes are their owner's alone: never shown to an assistant, never sent to anybody's computer. One rule for all
//! who have to keep to it: [`Private::covers`].

use std::fmt;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use unicode_normalization::UnicodeNormalization as _;

use super::Note;
use crate::VaultPath;

/// The tag that makes a note private wherever it lies; `private/…` does too.
pub const TAG: &str = "private";

/// The rules of one vault: its globs, and the tag that holds in every vault.
#[derive(Clone)]
pub struct Private {
    globs: Vec<String>,
    matcher: Gitignore,
}

impl Private {
    /// The rules with these globs, in the syntax of `.gitignore`. One that is no pattern is refused where the
    /// configuration is checked; here it covers every note, for to leave it out would show what was to be hidden.
    pub fn new(globs: &[String]) -> Self {
        let mut builder = GitignoreBuilder::new("");
        let unread = globs.iter().any(|glob| !add(&mut builder, glob));
        let matcher = builder.build().ok().filter(|_| !unread).unwrap_or_else(everything);
        Private { globs: globs.to_vec(), matcher }
    }

    /// What is wrong with a glob.
    pub fn problem(glob: &str) -> Option<String> {
        GitignoreBuilder::new("").add_line(None, glob).err().map(|error| error.to_string())
    }

    /// Whether the note of this path with these tags is private.
    pub fn covers(&self, path: &VaultPath, tags: &[String]) -> bool {
        tags.iter().any(|tag| is_private(tag)) || self.covers_path(path)
    }

    /// As [`Private::covers`], of a note that has been read.
    pub fn covers_note(&self, note: &Note) -> bool {
        self.covers(&note.path, &note.tags)
    }

    /// As [`Private::covers_note`], of a note that had the tags `last` when it was read before: one that was private
    /// stays so while its front matter cannot be read.
    pub fn covers_now(&self, note: &Note, last: Option<&[String]>) -> bool {
        let was = || last.is_some_and(|tags| tags.iter().any(|tag| is_private(tag)));
        self.covers_note(note) || (note.unread && was())
    }

    fn covers_path(&self, path: &VaultPath) -> bool {
        if self.matcher.is_empty() {
            return false;
        }
        self.matcher.matched_path_or_any_parents(Path::new(&folded(path.as_str())), false).is_ignore()
    }
}

impl PartialEq for Private {
    fn eq(&self, other: &Self) -> bool {
        self.globs == other.globs
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
        f.debug_tuple("Private").field(&self.globs).finish()
    }
}

fn add(builder: &mut GitignoreBuilder, glob: &str) -> bool {
    let glob = folded(glob);
    builder.add_line(None, glob.strip_prefix("./").unwrap_or(&glob)).is_ok()
}

/// A name typed in another case, or another form of the same letters, means the same to whoever typed it.
fn folded(name: &str) -> String {
    name.nfc().collect::<String>().to_lowercase()
}

fn everything() -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    add(&mut builder, "*");
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Whether a tag makes its note private.
pub(super) fn is_private(tag: &str) -> bool {
    let tag = tag.trim_start_matches('#');
    let first = tag.split('/').next().unwrap_or(tag);
    first.to_lowercase() == TAG
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoteRules, parse};

    fn covers(globs: &[&str], path: &str, text: &str) -> bool {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let note = parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default());
        Private::new(&globs).covers_note(&note)
    }

    #[test]
    fn a_tag_anywhere_makes_a_note_private() {
        for text in [
            "About #private things",
            "#Private",
            "#private/family",
            "---\ntags: [work, private]\n---\nx",
            "---\ntags: private/health\n---\nx",
            "---\ntag: '#PRIVATE'\n---\nx",
            // Front matter that is no YAML is read as far as it goes.
            "---\ntags: private\nup: [[Home]]: x\n---\nx",
        ] {
            assert!(covers(&[], "a.md", text), "{text}");
        }
        for text in ["#privateer", "private", "`#private`", "#work/private", "https://x.example/#private", ""] {
            assert!(!covers(&[], "a.md", text), "{text}");
        }
    }

    #[test]
    fn globs_are_those_of_gitignore() {
        for (glob, path) in [
            ("Journal/**", "Journal/2026/a.md"),
            ("Journal/", "Journal/2026/a.md"),
            ("Journal", "journal/a.md"),
            ("./Journal", "Journal/a.md"),
            ("/Journal/", "Journal/a.md"),
            ("*.secret.md", "deep/er/x.secret.md"),
            ("TÄGEBUCH/*", "Tägebuch/x.md"),
            ("Tägebuch/", "Ta\u{308}gebuch/x.md"),
        ] {
            assert!(covers(&[glob], path, "x"), "{glob} {path}");
        }
        assert!(!covers(&["/Journal/"], "Old/Journal/a.md", "x"));
        assert!(!covers(&["Journal/*", "!Journal/open.md"], "Journal/open.md", "x"));
        assert!(covers(&["Journal/*", "!Journal/open.md"], "Journal/open.md", "#private"));
        assert!(covers(&["a{b"], "anything.md", "x"), "a glob that cannot be read hides all");
        assert!(Private::problem("a{b").is_some() && Private::problem("Journal/**").is_none());
    }
}
