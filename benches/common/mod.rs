//! What the benches share. Each bench uses a part of it.
#![allow(dead_code, reason = "every bench compiles all of it and uses a part")]

pub(crate) mod caption;
pub(crate) mod daemon;
pub(crate) mod library;
pub(crate) mod rng;
pub(crate) mod vault;
pub(crate) mod words;

use std::path::{Path, PathBuf};

/// All files below `dir`, sorted.
pub(crate) fn files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The notes among `files`.
pub(crate) fn notes(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = files(dir)?;
    found.retain(|path| path.extension().is_some_and(|e| e == "md" || e == "markdown" || e == "txt"));
    Ok(found)
}

/// Copies a folder's files, so that the original is never touched and the copy is writable.
pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for file in files(from)? {
        let target = to.join(file.strip_prefix(from).unwrap_or(&file));
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // Contents only: the original's modes may be read-only.
        std::fs::write(target, std::fs::read(file)?)?;
    }
    Ok(())
}

/// Bytes of all files below `dir`.
pub(crate) fn size(dir: &Path) -> std::io::Result<u64> {
    files(dir)?.iter().try_fold(0, |sum, file| Ok(sum + std::fs::metadata(file)?.len()))
}

/// The `p`-th percentile (0..=100) of `samples`, nearest rank; 0 if there are none.
pub(crate) fn percentile(samples: &[f64], p: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (p / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// The value after `name` among the arguments.
pub(crate) fn option(args: &[String], name: &str) -> Option<String> {
    args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned()
}
