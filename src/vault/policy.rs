//! What in a vault is a note: one policy for the walk, for events and for single paths.
//!
//! The rules, in order; the first that applies decides:
//!
//! 1. names that begin with a dot are ignored, whatever else is said of them;
//! 2. so are editors' and systems' temporaries, and files of no [`Format`] that has text;
//! 3. the globs of the configuration (a `!glob` keeps what the files below would ignore);
//! 4. Obsidian's settings: its folders of templates are ignored; and so are Logseq's folders of old versions;
//! 5. `.situatedignore` and `.gitignore` of the entry's own folder, in this order, then those of the
//!    folder above, up to the vault's root: the deeper file wins, and no git repository is needed;
//! 6. folders into which package managers install what others wrote are ignored.
//!
//! Everything in an ignored folder is ignored. Ignore files outside the vault, such as git's global one, are not
//! consulted: the vault's root is the border.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use parking_lot::RwLock;
use thiserror::Error;

use super::documents::MOST_BYTES;
use super::obsidian::{LONGEST, template_folders};
use super::read::{ReadError, read};
use super::root::VaultError;
use crate::settings::VaultConfig;
use note::format::Reading;
use note::{Format, VaultPath};

#[cfg(test)]
mod tests;

/// What an entry of a vault is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A note.
    Note,
    /// A folder that may hold notes.
    Folder,
    /// Neither.
    Ignored(Why),
}

/// Why an entry is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Why {
    /// Its name begins with a dot.
    #[error("its name, or that of a folder it is in, begins with a dot")]
    DotName,
    /// A program's temporary file.
    #[error("it is a program's temporary file")]
    Temporary,
    /// Its extension is not a note's.
    #[error("it is no kind of file whose text is searched")]
    NotANote,
    /// A glob of the configuration.
    #[error("`exclude` in the configuration names it or a folder it is in")]
    Excluded,
    /// A folder of Obsidian's templates.
    #[error("it lies in Obsidian's folder of templates; `exclude = [\"!FOLDER\"]` has it indexed")]
    Templates,
    /// A folder of old versions of Logseq's pages.
    #[error("it lies in Logseq's folder of old versions; `exclude = [\"!FOLDER\"]` has it indexed")]
    OldVersions,
    /// A folder of installed packages.
    #[error(
        "it lies in a folder of installed packages; `!node_modules/` in a .situatedignore has such a folder indexed"
    )]
    Packages,
    /// A line of a `.situatedignore`.
    #[error("a .situatedignore names it or a folder it is in")]
    SituatedIgnore,
    /// A line of a `.gitignore`.
    #[error("a .gitignore names it or a folder it is in")]
    GitIgnore,
}

impl Why {
    /// The setting or file that leaves it out.
    pub(super) fn of_setting(self) -> &'static str {
        match self {
            Why::DotName => "dot names",
            Why::Temporary => "temporary files",
            Why::NotANote => "no text",
            Why::Excluded => "exclude",
            Why::Templates => "templates",
            Why::OldVersions => "old versions",
            Why::Packages => "installed packages",
            Why::SituatedIgnore => SITUATED,
            Why::GitIgnore => GIT,
        }
    }
}

/// The ignore policy of one vault.
///
/// Ignore files and Obsidian's settings are read when they are first needed and again by every walk of their folder. When
/// an ignore file changes ([`Policy::is_ignore_file`]), a new policy takes this one's place and the vault is walked.
pub struct Policy {
    root: PathBuf,
    exclude: Gitignore,
    /// Obsidian's folders of templates, once its settings have been read.
    templates: RwLock<Option<Vec<VaultPath>>>,
    max_note_bytes: u64,
    /// The rules in force in a folder (`""`: the root), for folders that were seen.
    seen: RwLock<HashMap<Box<str>, Rules>>,
}

/// The ignore files in force in a folder, the deepest first; `None`: there are none.
pub(super) type Rules = Option<Arc<RulesOf>>;

/// The ignore files of one folder, and those above it.
pub(super) struct RulesOf {
    situated: Gitignore,
    git: Gitignore,
    /// This folder.
    folder: PathBuf,
    above: Rules,
}

/// Ignore files that cannot be read, and why.
pub(super) type Unread = Vec<(VaultPath, ReadError)>;

/// Which ignore files a folder has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IgnoreFiles {
    situated: bool,
    git: bool,
}

const SITUATED: &str = ".situatedignore";
const GIT: &str = ".gitignore";
/// Where Logseq keeps what it or its synchronisation wrote over, in whatever folder its notes are.
const OLD_VERSIONS: [&str; 2] = ["logseq/bak", "logseq/version-files"];
/// Where npm and its like, and Python's installers (those of virtual environments too), put packages, readme files included.
const PACKAGES: [&str; 2] = ["node_modules", "site-packages"];
/// A larger ignore file is not read: no hand wrote it, and every path would be matched against it.
const MAX_IGNORE_BYTES: u64 = 1 << 20;

impl IgnoreFiles {
    /// Takes note of one more name in the folder's listing.
    pub(super) fn see(&mut self, name: &OsStr) {
        self.situated |= name == SITUATED;
        self.git |= name == GIT;
    }
}

impl Policy {
    /// The policy for the vault at `root`; reads nothing yet.
    ///
    /// # Errors
    /// A malformed glob in `exclude`.
    pub fn new(root: &Path, config: &VaultConfig) -> Result<Policy, VaultError> {
        let exclude = excluded(&config.exclude)
            .map_err(|(glob, error)| VaultError::BadGlob { glob, error: error.to_string() })?;
        let seen = RwLock::new(HashMap::new());
        Ok(Policy {
            root: root.to_owned(),
            exclude,
            templates: RwLock::default(),
            max_note_bytes: config.max_note_bytes,
            seen,
        })
    }

    /// What is wrong with a glob of `exclude`.
    pub fn problem(glob: &str) -> Option<String> {
        excluded(&[glob.to_owned()]).err().map(|(_, error)| error.to_string())
    }

    /// What `path` is, if it is a folder (`is_dir`) or a file. Need not exist.
    pub fn verdict(&self, path: &VaultPath, is_dir: bool) -> EntryKind {
        match self.rules_around(path) {
            Ok(rules) => self.entry(&rules, &file_system_form(path.as_str()), is_dir),
            Err(why) => EntryKind::Ignored(why),
        }
    }

    /// Whether a file at `path` has no text and is found by its name. Need not exist.
    pub fn is_attachment(&self, path: &VaultPath) -> bool {
        self.verdict(path, false) == EntryKind::Ignored(Why::NotANote)
            && self.rules_around(path).is_ok_and(|rules| self.is_attachment_under(&rules, path))
    }

    /// Whether a file without text, in a folder with `rules`, is one that is found by its name.
    pub(super) fn is_attachment_under(&self, rules: &Rules, path: &VaultPath) -> bool {
        let place = file_system_form(path.as_str());
        Format::of(path.as_str()) == Some(Format::Attachment) && self.by_rules(rules, &place, false).is_none()
    }

    /// Whether a change of this file changes the policy.
    pub fn is_ignore_file(&self, path: &VaultPath) -> bool {
        matches!(path.file_name(), SITUATED | GIT)
    }

    /// The most bytes that a note or document at `path` may have.
    pub(super) fn max_bytes(&self, path: &VaultPath) -> u64 {
        if Format::is_converted(path.as_str()) { MOST_BYTES } else { self.max_note_bytes }
    }

    /// The verdict on an entry (in file-system form) of a folder that is kept and has `rules`.
    pub(super) fn entry(&self, rules: &Rules, path: &Path, is_dir: bool) -> EntryKind {
        match self.ignored(rules, path, is_dir) {
            Some(why) => EntryKind::Ignored(why),
            None if is_dir => EntryKind::Folder,
            None => EntryKind::Note,
        }
    }

    fn ignored(&self, rules: &Rules, path: &Path, is_dir: bool) -> Option<Why> {
        let name = path.file_name()?.as_encoded_bytes();
        if name.starts_with(b".") {
            return Some(Why::DotName);
        }
        // Both checks need only the name, and save matching all attachments against the globs.
        if !is_dir && is_temporary(name) {
            return Some(Why::Temporary);
        }
        if !is_dir && !has_text(name) {
            return Some(Why::NotANote);
        }
        self.by_rules(rules, path, is_dir)
    }

    /// Why rules of the user or of other programs ignore an entry.
    fn by_rules(&self, rules: &Rules, path: &Path, is_dir: bool) -> Option<Why> {
        match self.exclude.matched(path, is_dir) {
            Match::Ignore(_) => return Some(Why::Excluded),
            Match::Whitelist(_) => return None,
            Match::None => {}
        }
        if is_dir && self.holds_templates(path) {
            return Some(Why::Templates);
        }
        if is_dir && OLD_VERSIONS.iter().any(|folder| path.ends_with(folder)) {
            return Some(Why::OldVersions);
        }
        let mut next = rules;
        while let Some(rules) = next {
            let below = path.strip_prefix(&rules.folder).ok()?;
            for (globs, why) in [(&rules.situated, Why::SituatedIgnore), (&rules.git, Why::GitIgnore)] {
                match globs.matched(below, is_dir) {
                    Match::Ignore(_) => return Some(why),
                    Match::Whitelist(_) => return None,
                    Match::None => {}
                }
            }
            next = &rules.above;
        }
        (is_dir && PACKAGES.iter().any(|folder| path.ends_with(folder))).then_some(Why::Packages)
    }

    fn holds_templates(&self, folder: &Path) -> bool {
        if self.templates.read().is_none() {
            self.read_templates();
        }
        let known = self.templates.read();
        known.iter().flatten().any(|templates| *file_system_form(templates.as_str()) == *folder)
    }

    fn read_templates(&self) {
        let settings = |path: &VaultPath| read(&self.root, path, LONGEST).ok().map(|(bytes, _)| bytes);
        let folders = template_folders(settings);
        *self.templates.write() = Some(folders);
    }

    /// The rules in a folder (`None`: the root), given those in the folder above it.
    fn rules_in(&self, folder: Option<(&str, &Rules)>) -> Rules {
        let name = folder.map_or("", |(name, _)| name);
        let seen = self.seen.read().get(name).cloned();
        seen.unwrap_or_else(|| {
            let above = folder.and_then(|(_, above)| above.clone());
            let (rules, _) = self.load(name, above.clone(), IgnoreFiles { situated: true, git: true });
            // A folder without ignore files may be a name that a client made up: it is not remembered.
            if !same(&rules, &above) {
                self.remember(name, &rules);
            }
            rules
        })
    }

    /// Reads a folder's ignore files anew. Walks call this from the outside in, with the ignore files that the listing
    /// has. Also returns those that cannot be read.
    pub(super) fn refresh(&self, folder: Option<&VaultPath>, above: &Rules, has: IgnoreFiles) -> (Rules, Unread) {
        if folder.is_none() {
            self.read_templates();
        }
        let name = folder.map_or("", VaultPath::as_str);
        let (rules, unread) = self.load(name, above.clone(), has);
        self.remember(name, &rules);
        (rules, unread)
    }

    /// The rules in the folder that holds `path`, or why a folder on the way to it is ignored.
    pub(super) fn rules_around(&self, path: &VaultPath) -> Result<Rules, Why> {
        let mut rules = self.rules_in(None);
        for folder in path.ancestors() {
            if let Some(why) = self.ignored(&rules, &file_system_form(folder), true) {
                return Err(why);
            }
            rules = self.rules_in(Some((folder, &rules)));
        }
        Ok(rules)
    }

    fn remember(&self, folder: &str, rules: &Rules) {
        self.seen.write().insert(folder.into(), rules.clone());
    }

    fn load(&self, folder: &str, above: Rules, has: IgnoreFiles) -> (Rules, Unread) {
        let mut unread = Vec::new();
        let mut globs = |has: bool, name: &str| {
            let globs = if has { self.globs(folder, name) } else { Ok(Gitignore::empty()) };
            globs.unwrap_or_else(|error| {
                unread.push(error);
                Gitignore::empty()
            })
        };
        let (situated, git) = (globs(has.situated, SITUATED), globs(has.git, GIT));
        if situated.is_empty() && git.is_empty() {
            return (above, unread);
        }
        let folder = file_system_form(folder).into_owned();
        (Some(Arc::new(RulesOf { situated, git, folder, above })), unread)
    }

    /// As git does, passes over a malformed line, and over a file that is not there.
    fn globs(&self, folder: &str, name: &str) -> Result<Gitignore, (VaultPath, ReadError)> {
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let Some(file) = VaultPath::parse(&path) else { return Ok(Gitignore::empty()) };
        let bytes = match read(&self.root, &file, MAX_IGNORE_BYTES) {
            Ok((bytes, _)) => bytes,
            Err(ReadError::Gone) => return Ok(Gitignore::empty()),
            Err(error) => return Err((file, error)),
        };
        // Some shells write UTF-16.
        let text = note::text(&bytes);
        let mut builder = GitignoreBuilder::new("");
        for line in text.strip_prefix('\u{FEFF}').unwrap_or(&text).lines() {
            if let Err(error) = builder.add_line(None, line) {
                tracing::warn!(file = %path, %error, "a line of an ignore file is passed over");
            }
        }
        Ok(builder.build().unwrap_or_else(|error| {
            tracing::warn!(file = %path, %error, "an ignore file is passed over");
            Gitignore::empty()
        }))
    }
}

fn same(one: &Rules, other: &Rules) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

/// The name as the file system has it, without a copy unless it is not plain UTF-8.
pub(super) fn file_system_form(path: &str) -> Cow<'_, Path> {
    if path.chars().any(|c| matches!(u32::from(c), 0xF780..=0xF7FF)) {
        // The text came out of a `VaultPath` or is a folder of one, so it parses.
        VaultPath::parse(path).map_or(Cow::Borrowed(Path::new(path)), |path| Cow::Owned(path.to_relative()))
    } else {
        Cow::Borrowed(Path::new(path))
    }
}

/// The globs of `exclude`; or one that is malformed, and what is wrong with it.
fn excluded(globs: &[String]) -> Result<Gitignore, (String, ignore::Error)> {
    let mut builder = GitignoreBuilder::new("");
    // Git takes an unclosed `[` literally; in a configuration it is a typing error.
    builder.allow_unclosed_class(false);
    for glob in globs {
        builder.add_line(None, glob.strip_prefix("./").unwrap_or(glob)).map_err(|error| (glob.clone(), error))?;
    }
    builder.build().map_err(|error| (globs.join("`, `"), error))
}

/// Whether a file of this name has text that is searched.
fn has_text(name: &[u8]) -> bool {
    Format::of_bytes(name).is_some_and(|format| format.reading() != Reading::NameOnly)
}

/// Names of editors' backups, locks and probes, of half-written downloads and of office locks.
/// Dot-names (`.#note.md`, `.note.md.swp`, rsync's, Syncthing's, iCloud's stubs) never come here.
fn is_temporary(name: &[u8]) -> bool {
    let ends = [b"~".as_slice(), b".swp", b".swx", b".swo", b".tmp", b".temp", b".part", b".crdownload", b".icloud"];
    ends.iter().any(|end| name.ends_with(end))
        || name.starts_with(b"~$")
        || name == b"4913"
        || (name.len() > 2 && name.starts_with(b"#") && name.ends_with(b"#"))
        || (name.len() == 9 && name.starts_with(b"sed") && name[3..].iter().all(u8::is_ascii_alphanumeric))
}

/// Whether a name is that of a conflict copy of Syncthing, Dropbox, Obsidian Sync, Nextcloud, Seafile, Synology or
/// Resilio, as far as such names can be told from a person's. Such copies are notes all the same, for their text may be
/// nowhere else.
pub fn is_conflict(name: &str) -> bool {
    let name = name.to_lowercase();
    let in_brackets = |phrase: &str| {
        name.find('(').is_some_and(|open| {
            let inside = &name[open..];
            inside.find(phrase).is_some_and(|at| inside[at..].contains(')'))
        })
    };
    let then_digit = |mark: &str| {
        name.find(mark).is_some_and(|at| name[at + mark.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    name.contains(".sync-conflict-")
        || ["conflicted copy", "conflict copy", "case conflict", "sfconflict "].into_iter().any(in_brackets)
        || then_digit("_conflict-")
        || ["_conflict.md", "_conflict.markdown", "_conflict.txt"].iter().any(|end| name.ends_with(end))
        || [".conflict.md", ".conflict.markdown", ".conflict.txt"].iter().any(|end| name.ends_with(end))
}
