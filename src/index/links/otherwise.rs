//! Links as other programs write them, for targets that name no note as they stand: Logseq's days, a wiki's pages, folders
//! with a page of their own. Notes get no names for this; those that link to a note are found by what links to it might
//! say ([`mentions`]).

use std::sync::Arc;

use super::{Kind, Links, Target, key, last, without_extension};
use crate::{NoteEntry, NoteNo, NoteTable};
use note::{IN_VAULT, VaultPath};

/// The folder of Logseq's pages of days.
const JOURNALS: &str = "journals";

/// Fewest digits of a day.
const DAY_DIGITS: usize = 5;

/// Names of the notes that a link to their folder leads to.
const INDEX_PAGES: [&str; 3] = ["index", "_index", "readme"];

impl Links {
    /// The note that a target names by the rules of other programs.
    pub(super) fn by_other_rules(&self, notes: &NoteTable, target: &str, from: &VaultPath) -> Option<(u8, NoteNo)> {
        if let Some(bare) = bare(target) {
            return self.named(notes, bare, from);
        }
        let found = self.journal(notes, target).or_else(|| self.hyphened(notes, target, from));
        let found = found.or_else(|| self.escaped(notes, target, from));
        Some((Kind::Alias.rank(), found.or_else(|| self.index_page(notes, target, from))?))
    }

    /// The page of the day that a target is: Logseq's links may write days in any form, its files do not.
    fn journal(&self, notes: &NoteTable, target: &str) -> Option<NoteNo> {
        let is_page =
            |note: &&Arc<NoteEntry>| note.path.journal().is_some() && key(note.path.folder()).ends_with(JOURNALS);
        let bearers = self.names.all(self.keys.of(&day(target)?));
        bearers.filter_map(|bearer| notes.get(bearer.no)).filter(is_page).map(|note| note.no).min()
    }

    /// The page whose file has hyphens for the blanks of its name, as in the wikis of GitHub, GitLab and Gollum.
    fn hyphened(&self, notes: &NoteTable, target: &str, from: &VaultPath) -> Option<NoteNo> {
        let hyphened = hyphened(target)?;
        let target = Target::new(&hyphened, from)?;
        let by_path = |(rank, _): &(u8, &Arc<NoteEntry>)| *rank < Kind::Title.rank();
        let mut found = self.ranked(notes, &target).filter(by_path).map(|(_, note)| note.no);
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// The note whose file name has escapes, `Roll%2Dback.md`, for a link that lost them when it was read.
    fn escaped(&self, notes: &NoteTable, target: &str, from: &VaultPath) -> Option<NoteNo> {
        let target = Target::new(target, from).filter(|target| target.relative || target.whole.contains('/'))?;
        let fits = |note: &&Arc<NoteEntry>| {
            let Some(page) = note.path.page().filter(|_| note.path.file_name().contains('%')) else { return false };
            target.path_rank(key(&format!("{}/{page}.md", note.path.folder())).trim_start_matches('/')).is_some()
        };
        let titled = self.bearers(last(&target.stem)).filter(|(kind, _)| *kind == Kind::Title);
        titled.filter_map(|(_, no)| notes.get(no)).find(fits).map(|note| note.no)
    }

    /// The page of the folder that a target is.
    fn index_page(&self, notes: &NoteTable, target: &str, from: &VaultPath) -> Option<NoteNo> {
        let folder = target.contains('/').then(|| target.trim_end_matches('/'))?;
        let pages = INDEX_PAGES.iter().map(|page| format!("{folder}/{page}"));
        pages.into_iter().find_map(|page| self.exact(notes, &Target::new(&page, from)?))
    }
}

/// What links to a note that these rules resolve might say.
pub(super) fn mentions(note: &NoteEntry) -> impl Iterator<Item = String> {
    let stem = key(without_extension(note.path.file_name()));
    let folder = INDEX_PAGES.contains(&stem.as_str()).then(|| match last(note.path.folder()) {
        "" => "/".to_owned(),
        folder => key(folder),
    });
    let spaced = stem.contains('-').then(|| stem.replace('-', " "));
    [spaced, folder].into_iter().flatten()
}

/// A target without the vault that it names, without the mark of a tag before it, or of a part of a note behind it that is
/// not named.
pub(super) fn bare(target: &str) -> Option<&str> {
    let in_vault = target.strip_prefix(IN_VAULT).and_then(|place| Some(place.split_once('/')?.1));
    in_vault.or_else(|| target.strip_suffix('#')).or_else(|| target.strip_prefix('#'))
}

/// A name with hyphens for its blanks, if it has any.
pub(super) fn hyphened(name: &str) -> Option<String> {
    name.contains(' ').then(|| name.replace(' ', "-"))
}

/// The day that a target is, in the form of a name.
pub(super) fn day(target: &str) -> Option<String> {
    // Nearly no target is one.
    let digits = target.bytes().filter(u8::is_ascii_digit).count();
    (digits >= DAY_DIGITS).then(|| note::day_named(target))?.map(|day| day.to_string())
}
