//! Names and links: which note a link's target means, and who links to a note.
//!
//! Both are looked up when they are asked for. The tables hold only what each note contributes by itself, its
//! names and the targets it mentions, so that adding, renaming or removing a note touches its own entries and
//! never those of other notes, although it may change what their links mean.

use unicode_normalization::UnicodeNormalization;

use super::blocks::{Blocks, Shards};
use super::{NoteEntry, NoteNo};
use note::VaultPath;

use std::sync::Arc;

/// How a note comes by a name; in the order in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// All of its path, written with a slash before it.
    Path,
    Stem,
    Title,
    Alias,
}

/// The names of all notes and the targets of all links.
#[derive(Clone, Default)]
pub(super) struct Links {
    /// Normalised name → the notes that bear it.
    names: Shards<Box<str>, Vec<(Kind, NoteNo)>>,
    /// Normalised target, and its last component → the notes that link so.
    mentions: Shards<Box<str>, Vec<NoteNo>>,
}

/// The notes table, as the snapshot holds it.
pub(super) type Notes = Blocks<Arc<NoteEntry>>;

impl Links {
    /// Brings in a note's names and links.
    pub(super) fn add(&mut self, note: &NoteEntry) {
        for (kind, name) in names(note) {
            self.names.add(name, (kind, note.no));
        }
        for mention in mentions(note) {
            self.mentions.add(mention, note.no);
        }
    }

    /// Takes a note's names and links out; `note` must be what was added.
    pub(super) fn remove(&mut self, note: &NoteEntry) {
        for (kind, name) in names(note) {
            self.names.take(&name, &(kind, note.no));
        }
        for mention in mentions(note) {
            self.mentions.take(&mention, &note.no);
        }
    }

    /// The note that `target` names, seen from the note at `from`.
    ///
    /// In this order: the target as a path (from the vault's root, or from the folder of `from`), as the end of
    /// a path, as a title, as an alias. What is left ambiguous goes to the same folder, then to the
    /// shortest path, then to the first in the alphabet.
    pub(super) fn resolve(&self, notes: &Notes, target: &str, from: &VaultPath) -> Option<NoteNo> {
        // Nearly every target is a name that one note bears, or none: then it means the same wherever it stands.
        let name = key(target);
        if !name.contains('/') && without_extension(&name).len() == name.len() {
            match self.names.all(&*name) {
                [] => return None,
                [(_, no), others @ ..] if others.iter().all(|(_, other)| other == no) => return Some(*no),
                _ => {}
            }
        }
        let target = Target::new(target, from)?;
        let exact = self.exact(notes, &target);
        if exact.is_some() || target.relative {
            return exact;
        }
        let by_path = self.names.all(last(&target.stem));
        let by_name = self.names.all(&*target.whole);
        let by_stem = self.names.all(&*target.stem).iter().filter(|_| target.stem != target.whole);
        let stems = by_path.iter().filter(|(kind, _)| *kind == Kind::Stem);
        let titles = by_name.iter().chain(by_stem).filter(|(kind, _)| *kind != Kind::Stem && !target.relative);
        let candidates = stems.chain(titles).filter_map(|&(kind, no)| {
            let note = notes.get(no)?;
            let rank = match kind {
                Kind::Path => return None,
                Kind::Stem => target.path_rank(&key(note.path.as_str()))?,
                Kind::Title => 3,
                Kind::Alias => 4,
            };
            let elsewhere = note.path.folder() != from.folder();
            let depth = note.path.as_str().matches('/').count();
            Some((rank, elsewhere, depth, note.path.as_str().len(), note.path.as_str(), no))
        });
        candidates.min().map(|best| best.5)
    }

    /// The note whose whole path the target is, from the root or from the linking note's folder. Nothing else comes
    /// before it, and it is found without a look at the thousand other notes that may be called `index.md` too.
    fn exact(&self, notes: &Notes, target: &Target) -> Option<NoteNo> {
        let paths = std::iter::once(&target.whole).chain(&target.local);
        let spelt = paths.flat_map(|path| [path.as_str(), without_extension(path)]);
        let bearers =
            spelt.flat_map(|path| self.names.all(&*format!("/{path}"))).filter(|(kind, _)| *kind == Kind::Path);
        let ranked = bearers.filter_map(|(_, no)| {
            let path = notes.get(*no)?.path.as_str();
            Some((target.path_rank(&key(path)).filter(|rank| *rank <= LOCAL)?, path.len(), path, *no))
        });
        ranked.min().map(|best| best.3)
    }

    /// The notes of this file name, title or alias.
    pub(super) fn bearing(&self, name: &str) -> Vec<NoteNo> {
        let bearers = self.names.all(&*key(name)).iter().filter(|(kind, _)| *kind != Kind::Path);
        let mut notes: Vec<NoteNo> = bearers.map(|(_, no)| *no).collect();
        notes.sort_unstable();
        notes.dedup();
        notes
    }

    /// The other notes that link to note `no`, in order of number.
    pub(super) fn backlinks(&self, notes: &Notes, no: NoteNo) -> Vec<NoteNo> {
        let Some(note) = notes.get(no) else {
            return Vec::new();
        };
        let mut linking: Vec<NoteNo> = names(note).flat_map(|(_, name)| self.mentions.all(&*name).to_vec()).collect();
        linking.sort_unstable();
        linking.dedup();
        linking.retain(|&other| {
            other != no
                && notes.get(other).is_some_and(|other| {
                    other.links.iter().any(|link| self.resolve(notes, link, &other.path) == Some(no))
                })
        });
        linking
    }
}

/// The worse of the two ranks of a whole path; see [`Target::path_rank`].
const LOCAL: u8 = 1;

/// Endings of files that notes link to and that are no notes. What merely holds a dot (`v1.2`, `Node.js`) may well
/// be a note that is still to be written.
const FILES: &str = " png jpg jpeg gif svg webp avif bmp ico heic tif tiff pdf mp3 m4a wav ogg flac 3gp mp4 m4v mov mkv \
    webm ogv zip gz tar 7z csv tsv xlsx xls docx doc pptx ppt odt ods epub html htm css json yaml yml toml xml canvas \
    base excalidraw drawio bib tex ipynb ";

/// Whether a target that names no note is a file of another kind, as far as its ending tells.
pub(super) fn is_file(target: &str) -> bool {
    let ending = |(_, ending): (&str, &str)| FILES.contains(&format!(" {} ", ending.to_ascii_lowercase()));
    target.trim_end().rsplit_once('.').is_some_and(ending)
}

/// What a target that names no note would be: two that are written differently may mean the same.
pub(super) fn place(target: &str, from: &VaultPath) -> String {
    Target::new(target, from).map_or_else(|| key(target), |target| target.stem)
}

/// A link's target, ready to be compared.
struct Target {
    /// Normalised.
    whole: String,
    /// Without the extension of notes.
    stem: String,
    /// As seen from the linking note's folder.
    local: Option<String>,
    /// Written with `./`, `../` or a leading `/`: means one place and nothing else.
    relative: bool,
}

impl Target {
    fn new(target: &str, from: &VaultPath) -> Option<Self> {
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
        (!stem.is_empty()).then_some(Target { whole, stem, local, relative: rooted || dotted })
    }

    /// How well the target fits a note's normalised path; less is better.
    fn path_rank(&self, path: &str) -> Option<u8> {
        let bare = without_extension(path);
        let is = |target: &str| path == target || bare == target;
        let local = self.local.as_deref().is_some_and(is);
        // A target with an extension is a Markdown link, which is relative to its note; one without is a
        // wikilink, which is relative to the vault.
        let (root_rank, local_rank) = if self.whole == self.stem { (0, 1) } else { (1, 0) };
        let written = self.whole == self.stem || path == self.whole || path.ends_with(&format!("/{}", self.whole));
        if is(&self.whole) {
            Some(root_rank)
        } else if local {
            Some(local_rank)
        } else if !self.relative && written && (bare.ends_with(&format!("/{}", self.stem))) {
            Some(2)
        } else {
            None
        }
    }
}

/// `path` from `folder`, with `.` and `..` worked off; `None` if it leaves the vault.
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
fn key(name: &str) -> String {
    let name = name.trim();
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.nfc().flat_map(char::to_lowercase).nfc().collect() }
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn without_extension(path: &str) -> &str {
    [".md", ".markdown", ".txt"].iter().find_map(|ext| path.strip_suffix(ext)).unwrap_or(path)
}

fn names(note: &NoteEntry) -> impl Iterator<Item = (Kind, Box<str>)> {
    let stem = key(without_extension(&key(note.path.file_name())));
    let others = std::iter::once((Kind::Title, &note.title)).chain(note.aliases.iter().map(|a| (Kind::Alias, a)));
    let others: Vec<_> = others.map(|(kind, name)| (kind, key(name))).filter(|(_, name)| *name != stem).collect();
    let path = format!("/{}", without_extension(&key(note.path.as_str())));
    [(Kind::Path, path), (Kind::Stem, stem)]
        .into_iter()
        .chain(others)
        .filter(|(_, name)| !name.is_empty())
        .map(|(k, n)| (k, n.into()))
}

/// What a link is looked up by: its last component as a file's stem, and all of it as a title or alias.
fn mentions(note: &NoteEntry) -> impl Iterator<Item = Box<str>> {
    note.links.iter().flat_map(|link| {
        let whole = key(link);
        let stem = without_extension(&whole).to_owned();
        let last = last(&stem).to_owned();
        let mut all = vec![whole, stem, last];
        all.dedup();
        all.into_iter().filter(|name| !name.is_empty()).map(String::into_boxed_str)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vault of notes `(path, title, aliases, links)`, numbered from 1.
    fn vault(notes: &[(&str, &str, &[&str], &[&str])]) -> (Notes, Links) {
        let (mut table, mut links) = (Notes::default(), Links::default());
        for (no, (path, title, aliases, targets)) in (1u32..).zip(notes) {
            let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
            let note = NoteEntry {
                title: (*title).to_owned(),
                aliases: owned(aliases),
                links: owned(targets),
                ..super::super::testing::note(no, 1, path)
            };
            links.add(&note);
            table.set(no, Some(Arc::new(note)));
        }
        (table, links)
    }

    #[test]
    fn targets_resolve_by_path_then_name() {
        let (notes, links) = vault(&[
            ("Plan.md", "The Plan", &["scheme"], &[]),
            ("a/Plan.md", "Plan of A", &[], &[]),
            ("a/b/Deep.md", "Deep", &["Scheme"], &[]),
            ("z/Other.md", "Plan", &["Ünïcode"], &[]),
            ("a/v1.2.md", "Version", &[], &[]),
            ("z/AC\u{0327}a\u{0301}.txt", "A / B", &[], &[]),
            ("y/Other.md", "Other", &[], &[]),
        ]);
        let table: [(&str, &str, Option<&str>); 26] = [
            ("Plan", "x.md", Some("Plan.md")),
            ("plan", "a/x.md", Some("Plan.md")),
            ("Plan.md", "a/x.md", Some("a/Plan.md")),
            ("./Plan", "a/x.md", Some("a/Plan.md")),
            ("../Plan.md", "a/x.md", Some("Plan.md")),
            ("../../Plan.md", "a/x.md", None),
            ("/a/Plan", "z/x.md", Some("a/Plan.md")),
            ("a/plan", "z/x.md", Some("a/Plan.md")),
            ("b/Deep", "z/x.md", Some("a/b/Deep.md")),
            ("c/Deep", "z/x.md", None),
            ("eep", "z/x.md", None),
            ("Deep.md", "z/x.md", Some("a/b/Deep.md")),
            ("Deep.txt", "z/x.md", None),
            ("Deep", "q/x.md", Some("a/b/Deep.md")),
            ("The plan", "x.md", Some("Plan.md")),
            ("SCHEME", "x.md", Some("Plan.md")),
            ("scheme", "a/b/x.md", Some("a/b/Deep.md")),
            ("ünïcode", "x.md", Some("z/Other.md")),
            ("u\u{0308}ni\u{0308}code", "x.md", Some("z/Other.md")),
            ("v1.2", "x.md", Some("a/v1.2.md")),
            ("a/v1.2.md", "x.md", Some("a/v1.2.md")),
            ("Açá", "x.md", Some("z/AC\u{0327}a\u{0301}.txt")),
            ("z/AÇÁ.txt", "x.md", Some("z/AC\u{0327}a\u{0301}.txt")),
            ("a / b", "x.md", Some("z/AC\u{0327}a\u{0301}.txt")),
            ("Other", "z/x.md", Some("z/Other.md")),
            ("Other", "x.md", Some("y/Other.md")),
        ];
        for (target, from, expected) in table {
            let from = VaultPath::parse(from).unwrap();
            let found = links.resolve(&notes, target, &from).map(|no| notes.get(no).unwrap().path.as_str());
            assert_eq!(found, expected, "{target} from {from}");
        }
        let from = VaultPath::parse("x.md").unwrap();
        assert_eq!(links.resolve(&notes, "", &from), None);
        assert_eq!(links.resolve(&notes, "///", &from), None);
    }

    #[test]
    fn whole_paths_are_found_among_notes_of_one_name() {
        let paths: Vec<String> = (0..300).map(|n| format!("f{n}/index.md")).collect();
        let notes: Vec<_> = paths.iter().map(|path| (path.as_str(), "Index", &[][..], &[][..])).collect();
        let (notes, links) = vault(&notes);
        let from = VaultPath::parse("f7/x.md").unwrap();
        for (target, expected) in [
            ("../f250/index.md", Some(251)),
            ("f250/index", Some(251)),
            ("/f0/INDEX", Some(1)),
            ("index", Some(8)),
            ("index.md", Some(8)),
            ("../index.md", None),
            ("g/index", None),
        ] {
            assert_eq!(links.resolve(&notes, target, &from), expected, "{target}");
        }
        assert_eq!(links.bearing("INDEX").len(), 300);
        assert_eq!(links.bearing("/f0/index"), [] as [NoteNo; 0]);
    }

    #[test]
    fn file_endings() {
        for (target, expected) in
            [("a.png", true), ("a/b.PDF ", true), ("v1.2", false), ("Node.js", false), ("a.md", false), ("png", false)]
        {
            assert_eq!(is_file(target), expected, "{target}");
        }
    }

    #[test]
    fn backlinks_follow_renames_without_touching_the_linking_note() {
        let (mut notes, mut links) = vault(&[
            ("Home.md", "Home", &[], &["Plan", "a/b/Deep.md", "nowhere", "Plan"]),
            ("Plan.md", "The Plan", &["scheme"], &["Home"]),
            ("a/b/Deep.md", "Deep", &[], &["SCHEME", "../../Plan.md", "Deep"]),
        ]);
        assert_eq!(links.backlinks(&notes, 1), [2]);
        assert_eq!(links.backlinks(&notes, 2), [1, 3]);
        assert_eq!(links.backlinks(&notes, 3), [1], "a link to itself is none");
        assert_eq!(links.backlinks(&notes, 9), [] as [NoteNo; 0]);
        let before = (notes.clone(), links.clone());

        let old = notes.get(2).unwrap().clone();
        links.remove(&old);
        let renamed = NoteEntry { path: VaultPath::parse("a/nowhere.md").unwrap(), ..(*old).clone() };
        links.add(&renamed);
        notes.set(2, Some(Arc::new(renamed)));
        assert_eq!(links.backlinks(&notes, 2), [1, 3], "by its new name, and still by its alias");
        assert_eq!(before.1.backlinks(&before.0, 2), [1, 3]);

        links.remove(&notes.set(1, None).unwrap());
        assert_eq!(links.backlinks(&notes, 2), [3]);
        assert!(links.names.get("home").is_none() && links.mentions.get("nowhere").is_none());
    }
}
