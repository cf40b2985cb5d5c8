//! Names and links: which note a link's target means, and which notes link to a note.
//!
//! Both are looked up when they are asked for. The tables hold only what each note contributes by itself, its
//! names and the targets it mentions, so that adding, renaming or removing a note touches its own entries and
//! never those of other notes, although it may change what their links mean.

mod like;
mod names;
mod otherwise;

use std::collections::HashSet;
use std::iter::successors;
use std::sync::{Arc, OnceLock};

use unicode_normalization::UnicodeNormalization;

use self::names::{Bearer, NameKeys, Names};
use super::{Cancel, NoteEntry, NoteNo, NoteTable};
use note::{BY_ID, Format, IN_VAULT, VaultPath};

pub(super) use like::named_like;

/// How a note comes by a name, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// All of its path, written with a slash before it.
    Path,
    Stem,
    Title,
    Alias,
    /// The first word of a file name, title or alias of several words, stored with a space behind it: no whole name
    /// ends in a space.
    FirstWord,
    /// The time of its making, with which its file name begins or ends: see [`id`].
    Id,
}

impl Kind {
    const ALL: [Kind; 6] = [Kind::Path, Kind::Stem, Kind::Title, Kind::Alias, Kind::FirstWord, Kind::Id];

    /// How well a whole name of this kind fits; see [`Target::path_rank`] for paths.
    fn rank(self) -> u8 {
        match self {
            Kind::Path => LOCAL,
            Kind::Stem => TITLE - 1,
            Kind::Title => TITLE,
            Kind::Alias | Kind::FirstWord => TITLE + 1,
            Kind::Id => ID,
        }
    }
}

/// Which side of a wikilink's bar names the note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `[[target|text]]`, as Obsidian writes it; also of a link without a bar.
    First,
    /// `[[text|target]]`.
    Second,
}

/// The two targets that a mention ([`note::Link::mention`]) may have.
pub(super) fn sides(mention: &str) -> (&str, Option<&str>) {
    mention.split_once('\n').map_or((mention, None), |(target, other)| (target, Some(other)))
}

/// The names of all notes and the targets of all links.
#[derive(Clone, Default)]
pub(super) struct Links {
    keys: NameKeys,
    /// Normalised name → the notes that bear it.
    names: Names<Bearer>,
    /// Normalised target, and its last component → the notes that link to it.
    mentions: Names<NoteNo>,
    /// See [`Links::text_first`].
    text_first: OnceLock<bool>,
}

impl Links {
    /// Brings in a note's names and links.
    pub(super) fn add(&mut self, note: &NoteEntry) {
        self.text_first.take();
        for (kind, name) in names(note) {
            self.names.add(self.keys.of(&name), Bearer::new(kind, note.no));
        }
        for mention in mentions(note) {
            self.mentions.add(self.keys.of(&mention), note.no);
        }
    }

    /// Takes a note's names and links out; `note` must be what was added.
    pub(super) fn remove(&mut self, note: &NoteEntry) {
        self.text_first.take();
        for (_, name) in names(note) {
            self.names.take(self.keys.of(&name), note.no);
        }
        for mention in mentions(note) {
            self.mentions.take(self.keys.of(&mention), note.no);
        }
    }

    /// Appends all of it to `out`.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        self.keys.save(out);
        self.names.save(out);
        self.mentions.save(out);
    }

    /// What [`Links::save`] wrote; `None` if it is cut.
    pub(super) fn restored(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let links = Links {
            keys: NameKeys::restored(bytes)?,
            names: Names::restored(bytes)?,
            mentions: Names::restored(bytes)?,
            text_first: OnceLock::new(),
        };
        bytes.is_empty().then_some(links)
    }

    /// The notes that bear a normalised name, and how.
    fn bearers<'a>(&'a self, name: &str) -> impl Iterator<Item = (Kind, NoteNo)> + use<'a> {
        self.names.all(self.keys.of(name)).flat_map(|bearer| bearer.kinds().map(move |kind| (kind, bearer.no)))
    }

    /// The note that a mention ([`note::Link::mention`]) names, seen from the note at `from`.
    pub(super) fn resolve(&self, notes: &NoteTable, mention: &str, from: &VaultPath) -> Option<NoteNo> {
        self.resolve_side(notes, mention, from).map(|(_, no)| no)
    }

    /// Whether the vault writes `[[text|target]]` rather than `[[target|text]]`, as Obsidian does: by the side of its links
    /// that names a note, or names it better, by path or file name rather than title or alias; each link counts once.
    /// Otherwise one to a note that has been renamed, `[[Ann Lee|Ann]]`, would lead to whatever its text names.
    pub(super) fn text_first(&self, notes: &NoteTable) -> bool {
        *self.text_first.get_or_init(|| {
            let (mut seen, mut lead) = (HashSet::new(), 0_i32);
            for (note, mention) in notes.iter().flat_map(|note| note.links().map(move |mention| (note, mention))) {
                let (first, Some(second)) = sides(mention) else { continue };
                if seen.insert(mention) {
                    let fit = |side| match self.named(notes, side, &note.path) {
                        Some((rank, _)) if rank < TITLE => 2,
                        named => i32::from(named.is_some()),
                    };
                    lead += (fit(second) - fit(first)).signum();
                }
                if lead.abs() >= CLEAR_LEAD {
                    break;
                }
            }
            lead > 0
        })
    }

    /// The note that a mention names, and which of its sides names it. The second side counts only where links begin with
    /// their text, and if both sides name a note, only if it is a path or file name and the first a title or alias.
    pub(super) fn resolve_side(&self, notes: &NoteTable, mention: &str, from: &VaultPath) -> Option<(Side, NoteNo)> {
        let (target, other) = sides(mention);
        let first = self.named(notes, target, from);
        let Some(other) = other.filter(|_| first.is_none_or(|(rank, _)| rank >= TITLE)) else {
            return first.map(|(_, no)| (Side::First, no));
        };
        let second = self.named(notes, other, from).filter(|(rank, _)| first.is_none() || *rank < TITLE);
        let second = second.filter(|_| self.text_first(notes)).map(|(_, no)| (Side::Second, no));
        second.or_else(|| first.map(|(_, no)| (Side::First, no)))
    }

    /// The note that a target names, seen from the note at `from`, and how it comes by that name; less is better.
    ///
    /// In this order: the target as a path (from the vault's root, or from the folder of `from`), as the end of
    /// a path, as a title, as an alias, as an id if one note has it, as other programs write it. What is left ambiguous goes to the same folder, then
    /// to the path that is spelt so in upper and lower case, then to the shortest path, then to the first in the alphabet.
    fn named(&self, notes: &NoteTable, target: &str, from: &VaultPath) -> Option<(u8, NoteNo)> {
        if let Some((vault, target)) = target.strip_prefix(IN_VAULT).and_then(|place| place.split_once('/')) {
            // Dendron may call a vault otherwise than its folder.
            return self.within(notes, vault, target).or_else(|| self.named(notes, target, from));
        }
        // Nearly every target is a name that one note bears, or none. Then it means the same in every linking note.
        let name = key(target);
        if !name.contains('/') && without_extension(&name).len() == name.len() {
            let mut bearers = self.names.all(self.keys.of(&name));
            let Some(bearer) = bearers.next() else { return self.by_other_rules(notes, target, from) };
            if bearers.next().is_none() {
                return bearer.kinds().next().map(|kind| (kind.rank(), bearer.no));
            }
        }
        self.placed(notes, target, from).or_else(|| self.by_other_rules(notes, target, from))
    }

    /// The same for a target that has a folder or an ending, or that several notes bear.
    fn placed(&self, notes: &NoteTable, target: &str, from: &VaultPath) -> Option<(u8, NoteNo)> {
        let target = Target::new(target, from)?;
        let exact = self.exact(notes, &target);
        if exact.is_some() || target.relative {
            return exact.map(|no| (LOCAL, no));
        }
        let ranked = self.ranked(notes, &target).map(|(rank, note)| {
            let path = note.path.as_str();
            let elsewhere = note.path.folder() != from.folder();
            (rank, elsewhere, !target.is_spelt(path), path.matches('/').count(), path.len(), path, note.no)
        });
        let best = ranked.min().map(|best| (best.0, best.6))?;
        let is_other = |(rank, note): (u8, &Arc<NoteEntry>)| rank == ID && note.no != best.1;
        (best.0 < ID || !self.ranked(notes, &target).any(is_other)).then_some(best)
    }

    /// The note that a target names in a folder called `vault`, or below it.
    fn within(&self, notes: &NoteTable, vault: &str, target: &str) -> Option<(u8, NoteNo)> {
        let (vault, root) = (key(vault), VaultPath::parse("root")?);
        let target = Target::new(target, &root)?;
        let is_in = |note: &NoteEntry| key(note.path.folder()).split('/').any(|folder| folder == vault);
        let ranked = self.ranked(notes, &target).filter(|(_, note)| is_in(note));
        let ranked = ranked.map(|(rank, note)| (rank, note.path.as_str().len(), note.path.as_str(), note.no));
        ranked.min().map(|best| (best.0, best.3))
    }

    /// The notes that bear a target's name, and how; less is better.
    fn ranked<'a>(
        &'a self,
        notes: &'a NoteTable,
        target: &'a Target<'_>,
    ) -> impl Iterator<Item = (u8, &'a Arc<NoteEntry>)> {
        let by_path = self.bearers(last(&target.stem));
        let by_name = self.bearers(&target.whole);
        let by_stem = self.bearers(&target.stem).filter(|_| target.stem != target.whole);
        let stems = by_path.filter(|(kind, _)| *kind == Kind::Stem);
        let titles = by_name.chain(by_stem).filter(|(kind, _)| *kind != Kind::Stem && !target.relative);
        stems.chain(titles).filter_map(|(kind, no)| {
            let note = notes.get(no)?;
            let rank = match kind {
                Kind::Path | Kind::FirstWord => return None,
                Kind::Stem => target.path_rank(&key(note.path.as_str()))?,
                Kind::Title | Kind::Alias | Kind::Id => kind.rank(),
            };
            Some((rank, note))
        })
    }

    /// The notes that a user means by a name. The name is read as a path without regard to case, the end of a path, a
    /// title, an alias or an id: the first of these that fits any note counts, and all notes that it fits are given, the
    /// shortest path first; of paths that differ in case only those that are spelt so, if any is. Notes that `hides` picks
    /// are left out.
    pub(super) fn meant(&self, notes: &NoteTable, name: &str, hides: &dyn Fn(&NoteEntry) -> bool) -> Vec<NoteNo> {
        let is_shown = |no: &NoteNo| notes.get(*no).is_some_and(|note| !hides(note));
        if let Some((vault, name)) = name.strip_prefix(IN_VAULT).and_then(|place| place.split_once('/')) {
            let within = self.within(notes, vault, name).map(|(_, no)| no).filter(is_shown);
            return within.map_or_else(|| self.meant(notes, name, hides), |no| vec![no]);
        }
        // A user is in no folder of the vault, so names are seen from its root.
        let root = VaultPath::parse("user");
        let Some(target) = root.as_ref().and_then(|root| Target::new(name, root)) else { return Vec::new() };
        let shown = self.ranked(notes, &target).filter(|(_, note)| !hides(note));
        let mut ranked: Vec<_> =
            shown.map(|(rank, note)| ((rank, rank < ID && !target.is_spelt(note.path.as_str())), note)).collect();
        ranked.sort_unstable_by_key(|(rank, note)| (*rank, note.path.as_str().len(), note.path.as_str()));
        let best = ranked.first().map(|(rank, _)| *rank);
        let mut meant: Vec<NoteNo> = ranked.iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, n)| n.no).collect();
        meant.dedup();
        if meant.is_empty() {
            let other = root.and_then(|root| self.by_other_rules(notes, name, &root));
            meant.extend(other.map(|(_, no)| no).filter(is_shown));
        }
        meant
    }

    /// The note whose whole path the target is, from the root or from the linking note's folder. It takes precedence
    /// over all others, and is found without looking at the thousand other notes that may also be called `index.md`.
    fn exact(&self, notes: &NoteTable, target: &Target<'_>) -> Option<NoteNo> {
        let paths = std::iter::once(&target.whole).chain(&target.local);
        let spelt = paths.flat_map(|path| [path.as_str(), without_extension(path)]);
        let bearers = spelt.flat_map(|path| self.bearers(&format!("/{path}"))).filter(|(kind, _)| *kind == Kind::Path);
        let ranked = bearers.filter_map(|(_, no)| {
            let path = notes.get(no)?.path.as_str();
            let rank = target.path_rank(&key(path)).filter(|rank| *rank <= LOCAL)?;
            Some((rank, !target.is_spelt(path), path.len(), path, no))
        });
        ranked.min().map(|best| best.4)
    }

    /// The notes of this file name, title or alias.
    pub(super) fn bearing(&self, name: &str) -> Vec<NoteNo> {
        let bearers = self.bearers(&key(name)).filter(|(kind, _)| !matches!(kind, Kind::Path | Kind::Id));
        let mut notes: Vec<NoteNo> = bearers.map(|(_, no)| no).collect();
        notes.sort_unstable();
        notes.dedup();
        notes
    }

    /// The names of several words (file names, titles and aliases) that begin with `word`, in the form in which names
    /// are compared, each with its note; none if more than `most` notes have such a name.
    pub(super) fn beginning(&self, notes: &NoteTable, word: &str, most: usize) -> Vec<(NoteNo, Box<str>)> {
        let first = format!("{} ", key(word));
        let mut bearers: Vec<NoteNo> = self.names.all(self.keys.of(&first)).map(|bearer| bearer.no).collect();
        if bearers.len() > most {
            return Vec::new();
        }
        bearers.sort_unstable();
        let of_note = |no: NoteNo| {
            let begins = |(kind, name): &(Kind, String)| *kind != Kind::FirstWord && name.starts_with(&first);
            let named = notes.get(no).into_iter().flat_map(|note| names(note));
            named.filter(begins).map(move |(_, name)| (no, name.into())).collect::<Vec<_>>()
        };
        bearers.into_iter().flat_map(of_note).collect()
    }

    /// The notes that link to another one that is among `wanted`, in order of number, without those that were still to be
    /// found when `cancel` was raised.
    pub(super) fn linking(&self, notes: &NoteTable, wanted: &[NoteNo], cancel: &Cancel) -> Vec<NoteNo> {
        let of_note = |note| {
            let names = names(note).filter(|(kind, _)| *kind != Kind::FirstWord).map(|(_, name)| name);
            names.chain(otherwise::mentions(note))
        };
        // A thousand notes may be called `index`: what links to the name is looked up once for all of them.
        let names: HashSet<String> =
            wanted.iter().filter_map(|no| notes.get(*no)).flat_map(|note| of_note(note)).collect();
        let mut linking: Vec<NoteNo> = names.iter().flat_map(|name| self.mentions.all(self.keys.of(name))).collect();
        linking.sort_unstable();
        linking.dedup();
        let wanted: HashSet<NoteNo> = wanted.iter().copied().collect();
        let links_to_one = |note: &NoteEntry| {
            let mut targets = note.links().filter_map(|link| self.resolve(notes, link, &note.path));
            targets.any(|to| to != note.no && wanted.contains(&to))
        };
        // A note may have thousands of links, and a hub is named by as many notes.
        linking.retain(|&other| !cancel.is_cancelled() && notes.get(other).is_some_and(|other| links_to_one(other)));
        linking
    }
}

/// The worse of the two ranks of a whole path; see [`Target::path_rank`].
const LOCAL: u8 = 1;
/// The rank of a title; those of paths and file names are less.
const TITLE: u8 = 3;
/// The rank of an id.
const ID: u8 = TITLE + 2;

/// By so many links one side of the bar is ahead where the others need not be looked at; see [`Links::text_first`].
const CLEAR_LEAD: i32 = 200;

/// Folders at the root of a disk in lower case, of Unix and macOS: what begins so is a path on the disk.
const OF_DISKS: &str = "etc home media mnt opt private root srv tmp users usr var volumes";

/// Endings of files that notes link to and that are not notes, besides those of attachments. A target that merely contains
/// a dot (`v1.2`, `Node.js`) may well be a note that is still to be written.
const FILES: &str = " png jpg jpeg gif svg webp avif bmp ico heic tif tiff pdf mp3 m4a wav ogg flac 3gp mp4 m4v mov mkv \
    webm ogv zip gz tar 7z csv tsv xlsx xls docx doc pptx ppt odt ods epub html htm css json yaml yml toml xml canvas \
    base excalidraw drawio bib tex ipynb ";

/// Whether a mention that names no note is a file of another kind, as far as its ending tells.
pub(super) fn is_file(mention: &str) -> bool {
    let ending = |(_, ending): (&str, &str)| FILES.contains(&format!(" {} ", ending.to_ascii_lowercase()));
    let is_attachment = |target: &str| Format::of(target) == Some(Format::Attachment);
    let ends = |target: &str| {
        let target = target.trim_end();
        is_attachment(target) || target.rsplit_once('.').is_some_and(ending)
    };
    // `tide.png?raw=true` has a query behind the file's name.
    let is_file = |target: &str| ends(target) || target.rsplit_once('?').is_some_and(|(path, _)| ends(path));
    let (target, other) = sides(mention);
    is_file(target) || other.is_some_and(is_file)
}

/// The normalised place of a target that names no note: two targets that are written differently may mean the same
/// place. `None` if it lies outside of the vault, as a path on the disk does, or is the path of one of these normalised
/// `folders`.
pub(super) fn missing(target: &str, from: &VaultPath, folders: &HashSet<String>) -> Option<String> {
    let whole = key(target);
    let first = whole.strip_prefix('/').and_then(|path| Some(path.split_once('/')?.0));
    let is_outside = |first| OF_DISKS.split(' ').any(|folder| folder == first) && !folders.contains(first);
    if whole.starts_with("~/") || first.is_some_and(is_outside) {
        return None;
    }
    let is_path = target.contains('/');
    let target = Target::new(target, from)?;
    let whole = target.whole.trim_end_matches('/');
    let is_folder = folders.contains(whole) || target.local.as_ref().is_some_and(|local| folders.contains(local));
    // `[[Projects]]` is a note that is still to be written, even beside a folder of that name.
    (!is_path || !is_folder).then_some(target.stem)
}

/// A link's target, ready to be compared.
struct Target<'a> {
    /// As written, without the dots and slashes that it begins with.
    written: &'a str,
    /// Normalised.
    whole: String,
    /// Without the extension of notes.
    stem: String,
    /// As seen from the linking note's folder.
    local: Option<String>,
    /// Written with `./`, `../` or a leading `/`: means one place and nothing else.
    relative: bool,
}

impl<'a> Target<'a> {
    fn new(target: &'a str, from: &VaultPath) -> Option<Self> {
        let whole = key(target);
        let folder = key(from.folder());
        let rooted = whole.starts_with('/');
        let dotted = whole.starts_with("./") || whole.starts_with("../");
        let (whole, local) = if rooted {
            (join("", &whole)?, None)
        } else if dotted {
            (join(&folder, &whole)?, None)
        } else {
            let local = join(&folder, &whole);
            (whole, local)
        };
        let stem = without_extension(&whole).to_owned();
        let written = without_extension(target.trim()).trim_start_matches(['.', '/']);
        (!stem.is_empty()).then_some(Target { written, whole, stem, local, relative: rooted || dotted })
    }

    /// Whether a path that the target fits has its upper and lower case, too.
    fn is_spelt(&self, path: &str) -> bool {
        without_extension(path).ends_with(self.written)
    }

    /// How well the target fits a note's normalised path; less is better.
    fn path_rank(&self, path: &str) -> Option<u8> {
        let bare = without_extension(path);
        let is = |target: &str| path == target || bare == target;
        let local = self.local.as_deref().is_some_and(is);
        // A target with an extension is a Markdown link, which is relative to its note; one without is a
        // wikilink, which is relative to the vault.
        let (root_rank, local_rank) = if self.whole == self.stem { (0, 1) } else { (1, 0) };
        let ends = |path: &str, end: &str| path.strip_suffix(end).is_some_and(|before| before.ends_with('/'));
        let written = self.whole == self.stem || path == self.whole || ends(path, &self.whole);
        if is(&self.whole) {
            Some(root_rank)
        } else if local {
            Some(local_rank)
        } else if !self.relative && written && ends(bare, &self.stem) {
            Some(2)
        } else {
            None
        }
    }
}

/// `path` from `folder`, with `.` and `..` resolved; `None` if it leaves the vault.
fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The form in which names are compared: NFC, lower case, without outer white space.
pub(super) fn key(name: &str) -> String {
    let name = name.trim();
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // At the end of a word, a capital sigma is written otherwise in lower case; a space that breaks no line is a space.
    let same = |c: char| match c {
        'ς' => 'σ',
        '\u{a0}' => ' ',
        c => c,
    };
    let lower = |c: char| c.to_lowercase().map(same);
    name.nfc().flat_map(lower).nfc().collect()
}

/// The time, to the minute at least, with which a file's normalised name begins or ends among other words: `202403151230
/// tides`, `20240315t123045--tides`. Zettlr, The Archive, zk and Denote give notes such ids, by which links name them.
fn id(stem: &str) -> Option<&str> {
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let is_id = |part: &&str| match part.split_once('t') {
        Some((day, time)) => day.len() == 8 && matches!(time.len(), 4..=6) && is_digits(day) && is_digits(time),
        None => (12..=17).contains(&part.len()) && is_digits(part),
    };
    let mut parts = stem.split(|c: char| !c.is_ascii_alphanumeric());
    let ends = [parts.next(), parts.next_back()];
    ends.into_iter().flatten().find(is_id).filter(|id| id.len() < stem.len())
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn without_extension(path: &str) -> &str {
    note::format::without_ending(path)
}

fn names(note: &NoteEntry) -> impl Iterator<Item = (Kind, String)> {
    let stem = key(without_extension(&key(note.path.file_name())));
    let page = note.path.page().filter(|page| *page != note.title());
    let titles = std::iter::once(note.title()).chain(page.as_deref()).map(|title| (Kind::Title, title));
    let ids: Vec<String> = note::ids(note.properties()).iter().map(|id| format!("{BY_ID}{id}")).collect();
    let aliases = note.aliases().chain(ids.iter().map(String::as_str)).map(|alias| (Kind::Alias, alias));
    let id = id(&stem).map(|id| (Kind::Id, id));
    let others =
        titles.chain(aliases).map(|(kind, name)| (kind, key(name))).chain(id.map(|(k, id)| (k, id.to_owned())));
    let others: Vec<_> = others.filter(|(_, name)| *name != stem).collect();
    let path = format!("/{}", without_extension(&key(note.path.as_str())));
    let whole: Vec<_> = std::iter::once((Kind::Stem, stem)).chain(others).collect();
    let first = |(_, name): &(Kind, String)| Some((Kind::FirstWord, format!("{} ", name.split_once(' ')?.0)));
    let mut begin: Vec<_> = whole.iter().filter_map(first).collect();
    begin.dedup();
    // Their first words would be those of thousands of notes.
    let journal = note.path.journal_title().into_iter().chain(note.path.journal().map(|day| day.to_string()));
    let journal = journal.map(|day| (Kind::Alias, key(&day)));
    std::iter::once((Kind::Path, path)).chain(whole).chain(begin).chain(journal).filter(|(_, name)| !name.is_empty())
}

/// The names by which a note's links are looked up: the last component of a target as a file's stem, and all of it as a
/// title or alias.
fn mentions(note: &NoteEntry) -> impl Iterator<Item = String> {
    let targets = note.links().map(|mention| sides(mention)).flat_map(|(target, other)| [Some(target), other]);
    let targets = targets.flatten().flat_map(|target| successors(Some(target), |target| otherwise::bare(target)));
    targets.flat_map(|target| {
        let whole = key(target);
        let stem = without_extension(&whole).to_owned();
        let last = match last(&stem) {
            // What such a path comes to is found from its note alone.
            "" | "." | ".." => place(target, &note.path).unwrap_or_default(),
            name => name.to_owned(),
        };
        let hyphened = otherwise::hyphened(&last).unwrap_or_default();
        let mut all = vec![otherwise::day(target).unwrap_or_default(), whole, stem, last, hyphened];
        all.dedup();
        all.into_iter().filter(|name| !name.is_empty())
    })
}

/// The last component of the path that a target is, seen from the note at `from`, as a file's stem; a slash for the vault
/// itself.
fn place(target: &str, from: &VaultPath) -> Option<String> {
    let folder = if target.starts_with('/') { "" } else { from.folder() };
    let path = join(&key(folder), &key(target))?;
    Some(if path.is_empty() { "/" } else { last(without_extension(&path)) }.to_owned())
}

#[cfg(test)]
mod tests;
