//! Why a note was not found: what the index cannot know of it, and what [`search::expect`] says.

use std::path::Path;
use std::sync::Arc;

use super::search::Served;
use super::{CallError, VaultShared, not_found, parse_path};
use index::search;
use index::search::{Expected, Hit, Part, Standing};
use index::{NoteEntry, Snapshot};
use note::VaultPath;
use vault::policy::EntryKind;
use vault::read::stat;

/// How the note at `path` (or of that name) stands to the answer `hits` of these vaults.
pub(super) fn expected(
    path: &str,
    (served, parts): (&[Served], &[Part<'_>]),
    hits: &[Hit],
) -> Result<Expected, CallError> {
    let places = places(path, served)?;
    for (at, path) in &places {
        let Some((Served { vault, desk, .. }, part)) = served.get(*at).zip(parts.get(*at)) else { continue };
        let Some(note) = named(part.snapshot, path) else { continue };
        let mut expected = search::expect(parts, *at, &vault.name, &note, hits)?;
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
    let lies = places.iter().filter_map(|(at, path)| Some((&served.get(*at)?.vault, path)));
    let on_disk = |(vault, path): &(&Arc<VaultShared>, &VaultPath)| vault.path.join(path.to_relative()).exists();
    match lies.clone().find(on_disk).or_else(|| lies.clone().next()) {
        Some((vault, path)) => Ok(unindexed(vault, path)),
        None => Err(CallError::NotReady),
    }
}

/// Where a note may lie: in each vault, or in the one that an absolute path leads to; the vaults by their index.
fn places(path: &str, served: &[Served]) -> Result<Vec<(usize, VaultPath)>, CallError> {
    if !Path::new(path).is_absolute() {
        let path = parse_path(path)?;
        return Ok((0..served.len()).map(|at| (at, path.clone())).collect());
    }
    let inside = |(at, served): (usize, &Served)| {
        let relative = Path::new(path).strip_prefix(&served.vault.path).ok()?;
        Some((at, VaultPath::from_relative(relative)?))
    };
    let places: Vec<_> = served.iter().enumerate().filter_map(inside).collect();
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
        Some(EntryKind::Ignored(why)) => (Standing::Ignored, format!("It is left out of the index: {why}.")),
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
