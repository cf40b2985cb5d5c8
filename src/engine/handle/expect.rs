//! Why a note was not found: what the index cannot know of it, and what [`search::expect`] says.

use std::path::Path;
use std::sync::Arc;

use super::vectors::QueryVectors;
use super::{CallError, VaultShared, not_found, parse_path, ready};
use crate::index::{NoteEntry, Snapshot};
use crate::search::{self, Expected, Hit, Mode, Options, Parsed, Standing};
use crate::vault::VaultPath;
use crate::vault::policy::Verdict;
use crate::vault::read::stat;

/// How the note at `path` (or of that name) stands to the answer `hits` of these vaults.
pub(super) fn expected(
    path: &str,
    vaults: &[Arc<VaultShared>],
    (query, vectors): (&Parsed, &mut QueryVectors<'_>),
    options: &Options,
    hits: &[Hit],
) -> Result<Expected, CallError> {
    let places = places(path, vaults)?;
    for (vault, path) in &places {
        let (snapshot, desk) = ready(vault)?;
        let Some(note) = named(&snapshot, path) else { continue };
        let dense = options.mode != Mode::Lexical && query.has_text();
        let vector = if dense { vectors.of(&desk, &query.text()) } else { None };
        let expected = search::expect(&snapshot, &vault.name, query, vector.as_ref(), options, &note, hits);
        let mut expected = expected?;
        let now = stat(&desk.root, &note.path);
        expected.stale = now != Some(note.stat);
        if now.is_none() {
            expected.why.push("It is gone from the disk since it was indexed.".to_owned());
        } else if expected.stale {
            expected.why.push("It has changed on disk since it was indexed; --fresh waits for that.".to_owned());
        }
        return Ok(expected);
    }
    // Where a file of that name lies, if one does; else the first vault is the one that lacks it.
    let on_disk = |(vault, path): &&(Arc<VaultShared>, VaultPath)| vault.path.join(path.to_relative()).exists();
    match places.iter().find(on_disk).or(places.first()) {
        Some((vault, path)) => Ok(unindexed(vault, path)),
        None => Err(CallError::NotReady),
    }
}

/// Where a note may lie: in each vault, or in the one that an absolute path leads to.
fn places(path: &str, vaults: &[Arc<VaultShared>]) -> Result<Vec<(Arc<VaultShared>, VaultPath)>, CallError> {
    if !Path::new(path).is_absolute() {
        let path = parse_path(path)?;
        return Ok(vaults.iter().map(|vault| (vault.clone(), path.clone())).collect());
    }
    let inside = |vault: &Arc<VaultShared>| {
        let relative = Path::new(path).strip_prefix(&vault.path).ok()?;
        Some((vault.clone(), VaultPath::from_relative(relative)?))
    };
    let places: Vec<_> = vaults.iter().filter_map(inside).collect();
    if places.is_empty() { Err(not_found("note", path, "it lies in no vault that was searched")) } else { Ok(places) }
}

/// The note at a path, else the one that a link so written would mean.
fn named(snapshot: &Snapshot, path: &VaultPath) -> Option<Arc<NoteEntry>> {
    let root = VaultPath::parse("query")?;
    let by_name = || snapshot.note(snapshot.resolve(path.as_str(), &root)?);
    snapshot.note_at(path).or_else(by_name).cloned()
}

/// Why a note is not in the index.
fn unindexed(vault: &VaultShared, path: &VaultPath) -> Expected {
    let (standing, why) = match vault.policy.load().as_ref().map(|policy| policy.verdict(path, false)) {
        _ if vault.path.join(path.to_relative()).symlink_metadata().is_err() => {
            (Standing::Missing, format!("There is no such note in the vault `{}`.", vault.name))
        }
        Some(Verdict::Ignored(why)) => (Standing::Ignored, format!("It is left out of the index: {why}.")),
        _ if vault.path.join(path.to_relative()).is_dir() => {
            (Standing::Missing, "That is a folder; name a note in it.".to_owned())
        }
        _ => {
            let skipped = vault.status().skipped.iter().find(|file| file.path == path.as_str()).map(|f| f.why.clone());
            let why =
                skipped.map_or("; `situated sync --wait` looks at the disk now".to_owned(), |why| format!(": {why}"));
            (Standing::NotIndexed, format!("It is on the disk but not in the index{why}."))
        }
    };
    let (name, path) = (vault.name.clone(), path.to_string());
    Expected { vault: name, path, standing, why: vec![why], ..Expected::default() }
}
