//! Where vaults are: what the user names, folders above, what Obsidian knows, what is in the home folder. Looking costs
//! a bounded time, however large the home folder is.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use note::Format;
use serde_json::Value;

use crate::cli::session::CliFailure;
use crate::cli::vault::folder;

/// What marks the root of a vault of Obsidian, of Logseq, of zk.
const MARKS: [(&str, &str); 3] = [(".obsidian", "Obsidian"), ("logseq/config.edn", "Logseq"), (".zk", "zk")];

/// Where Obsidian lists its vaults, below the home folder: plain, Flatpak, Snap, macOS.
const OBSIDIAN_LISTS: [&str; 4] = [
    ".config/obsidian/obsidian.json",
    ".var/app/md.obsidian.Obsidian/config/obsidian/obsidian.json",
    "snap/obsidian/current/.config/obsidian/obsidian.json",
    "Library/Application Support/obsidian/obsidian.json",
];

/// Folders that hold much and no notes.
const SKIPPED: [&str; 6] = ["node_modules", "target", "Library", "snap", "go", "venv"];

/// How deep below the home folder a vault is looked for.
const DEPTH: usize = 4;

/// How long vaults are looked for, in all.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How long the notes of one vault are counted.
const COUNTING: Duration = Duration::from_millis(200);

/// A vault that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its root, with links resolved.
    pub path: PathBuf,
    /// The program that the vault belongs to.
    pub kind: &'static str,
    /// Notes in it, or as many as could be counted in a moment.
    pub notes: u64,
    /// Whether there are more.
    pub more: bool,
}

/// The vault given, or the one that `here` is in.
pub(super) fn named(given: Option<&Path>, here: &Path) -> Result<PathBuf, CliFailure> {
    if let Some(given) = given {
        return folder(&here.join(given)).map_err(CliFailure::usage);
    }
    above(&here.canonicalize()?).ok_or_else(|| {
        CliFailure::usage(
            "no vault of Obsidian, Logseq or zk here or above; name the folder that holds your notes: `situated init ~/Notes`",
        )
    })
}

/// The vault that a folder is in.
pub(super) fn above(here: &Path) -> Option<PathBuf> {
    here.ancestors().find(|folder| kind(folder).is_some()).map(Path::to_path_buf)
}

fn kind(folder: &Path) -> Option<&'static str> {
    MARKS.iter().find(|(mark, _)| folder.join(mark).exists()).map(|(_, kind)| *kind)
}

/// The vaults of a home folder, sorted by path; none is inside another.
pub(super) fn at_home(home: &Path) -> Vec<Found> {
    let mut folders = known_to_obsidian(home);
    folders.extend(walked(home, Instant::now() + PATIENCE));
    let mut folders: Vec<PathBuf> = folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    folders.sort();
    // In this order, what is inside a folder comes after it.
    let mut apart: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if !apart.iter().any(|other| folder.starts_with(other)) {
            apart.push(folder);
        }
    }
    apart.into_iter().map(found).collect()
}

/// Describes a vault.
pub(super) fn found(path: PathBuf) -> Found {
    let (notes, more) = counted(&path, Instant::now() + COUNTING);
    Found { kind: kind(&path).unwrap_or("folder"), path, notes, more }
}

fn known_to_obsidian(home: &Path) -> Vec<PathBuf> {
    let list = |path: &&str| std::fs::read_to_string(home.join(path)).ok();
    let read = |text: String| serde_json::from_str::<Value>(&text).ok();
    let mut folders = Vec::new();
    for known in OBSIDIAN_LISTS.iter().filter_map(list).filter_map(read) {
        let vaults = known["vaults"].as_object().into_iter().flat_map(|vaults| vaults.values());
        let paths = vaults.filter_map(|vault| vault["path"].as_str()).map(PathBuf::from);
        // A vault that was deleted stays in the list.
        folders.extend(paths.filter(|path| path.is_absolute() && path.is_dir()));
    }
    folders
}

/// Searches breadth first, so that the vaults found in time are the nearest ones.
fn walked(home: &Path, until: Instant) -> Vec<PathBuf> {
    let mut vaults = Vec::new();
    let mut queue = VecDeque::from([(home.to_path_buf(), 0)]);
    while let Some((folder, depth)) = queue.pop_front() {
        if Instant::now() > until {
            break;
        }
        // The home folder is no vault, though somebody once opened it as one.
        if depth > 0 && kind(&folder).is_some() {
            vaults.push(folder);
            continue;
        }
        if depth == DEPTH {
            continue;
        }
        queue.extend(folders_in(&folder).map(|below| (below, depth + 1)));
    }
    vaults
}

/// Folders that may hold something: not hidden, and no links, which may lead anywhere.
fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let name = entry.file_name();
            entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !is_hidden(&name)
                && !SKIPPED.iter().any(|s| name == *s)
        })
        .map(|entry| entry.path())
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Notes in a folder, and whether there are more.
fn counted(root: &Path, until: Instant) -> (u64, bool) {
    let mut notes = 0;
    let mut queue = VecDeque::from([root.to_path_buf()]);
    while let Some(folder) = queue.pop_front() {
        if Instant::now() > until {
            return (notes, true);
        }
        let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let format = |path: &Path| Format::of_bytes(path.file_name().unwrap_or_default().as_encoded_bytes());
        let is_note = |path: &Path| format(path).is_some_and(Format::has_lines);
        notes += files.filter(|entry| is_note(&entry.path()) && !is_hidden(&entry.file_name())).count() as u64;
        queue.extend(folders_in(&folder));
    }
    (notes, false)
}

#[cfg(test)]
mod tests;
