//! The data folder as a death leaves it: a killed process loses what it had not handed to the system, a loss of power
//! what was not synced.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use super::dice::Dice;

/// What is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// The process.
    Kill,
    /// The power.
    Power,
}

/// The data folder, and how much of it would survive.
pub(super) struct Disk {
    dir: PathBuf,
    /// The folder in force is `data-N` in `dir`.
    generation: u32,
    /// How long files were when they were synced last.
    synced: HashMap<PathBuf, u64>,
    /// Copies of folders as they were when they were synced last.
    safe: HashMap<PathBuf, PathBuf>,
}

impl Disk {
    pub(super) fn new(dir: &Path) -> Self {
        Disk { dir: dir.to_owned(), generation: 0, synced: HashMap::new(), safe: HashMap::new() }
    }

    /// The data folder.
    pub(super) fn data(&self) -> PathBuf {
        self.dir.join(format!("data-{}", self.generation))
    }

    pub(super) fn is_ours(&self, path: &Path) -> bool {
        path.starts_with(self.data())
    }

    /// A file or folder was synced: its present state survives.
    pub(super) fn synced(&mut self, path: &Path) {
        if path.is_dir() {
            let copy = self.dir.join(format!("safe-{}", self.safe.len()));
            let copy = self.safe.entry(path.to_owned()).or_insert(copy).clone();
            super::played::remove(&copy);
            copy_dir(path, &copy);
        } else {
            self.synced.insert(path.to_owned(), length(path));
        }
    }

    /// Makes the folder that a death leaves and that the next process uses.
    pub(super) fn lose(&mut self, loss: Loss, dice: &mut Dice) -> PathBuf {
        let before = self.data();
        self.generation += 1;
        let after = self.data();
        copy_dir(&before, &after);
        if loss == Loss::Power {
            self.lose_power(&before, &after, dice);
        }
        let moved = |path: &Path| path.strip_prefix(&before).ok().map(|rest| after.join(rest));
        if loss == Loss::Kill {
            // The system still has what was written; a later loss of power may take it.
            self.synced = self.synced.iter().filter_map(|(of, length)| Some((moved(of)?, *length))).collect();
            self.safe = self.safe.iter().filter_map(|(of, copy)| Some((moved(of)?, copy.clone()))).collect();
        } else {
            self.synced = files(&after).into_iter().map(|path| (path.clone(), length(&path))).collect();
            let safe: Vec<PathBuf> = self.safe.keys().filter_map(|of| moved(of)).collect();
            self.safe.clear();
            safe.iter().filter(|path| path.is_dir()).for_each(|path| self.synced(path));
        }
        after
    }

    /// Drops what was not synced, or a part of it.
    fn lose_power(&self, before: &Path, after: &Path, dice: &mut Dice) {
        for path in files(after) {
            let Ok(rest) = path.strip_prefix(after) else { continue };
            let was = before.join(rest);
            if self.safe.keys().any(|folder| was.starts_with(folder)) {
                continue;
            }
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let kind = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            let appended = matches!(kind, "journal" | "jsonl") || name.starts_with("vectors-");
            if appended {
                let (safe, now) = (self.synced.get(&was).copied().unwrap_or(0), length(&path));
                let kept = if now > safe { safe + dice.next() % (now - safe + 1) } else { now };
                cut(&path, kept);
            } else if rest.components().any(|part| part.as_os_str() == "lexical") {
                if name == "boot" {
                    fs::write(&path, "another boot").unwrap();
                } else if name != "clean" && dice.percent(30) {
                    cut(&path, dice.next() % (length(&path) + 1));
                }
            }
        }
        for (folder, copy) in &self.safe {
            if let Ok(rest) = folder.strip_prefix(before) {
                super::played::remove(&after.join(rest));
                copy_dir(copy, &after.join(rest));
            }
        }
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}

fn cut(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(length)).unwrap();
}

/// All files below a folder, in order.
pub(super) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Copies a folder. A file that is deleted meanwhile counts as not there.
fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_dir(&path, &target);
        } else if let Err(error) = fs::copy(&path, &target) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{}: {error}", path.display());
        }
    }
}
