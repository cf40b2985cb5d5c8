//! Why a note was not found: what the index cannot know of it, and what [`search::expect`] says.

use std::path::Path;
use std::sync::Arc;

use super::super::access::{self, Served, not_found, parse_path};
use super::super::resolve;
use super::super::{CallError, VaultShared};
use super::Wanted;
use crate::disk_access::Hangs;
use index::search;
use index::search::Part;
use note::{FileStat, VaultPath};
use protocol::audience::Audience;
use protocol::hit::{Expected, Hit, NoteStanding};
use vault::policy::EntryKind;
use vault::read::ReadError;

/// How the note at `path` (or of that name) relates to the answer `hits` of these vaults.
pub(super) fn expected(
    path: &str,
    (served, parts): (&[Served], &[Part<'_>]),
    wanted: &Wanted,
    hits: &[Hit],
) -> Result<Expected, CallError> {
    let excluded = wanted.excluded.iter().map(|vault| Served::new(vault, false)).collect::<Result<Vec<_>, _>>()?;
    let served: Vec<&Served> = served.iter().chain(&excluded).collect();
    let vaults: Vec<Arc<VaultShared>> = served.iter().map(|served| served.vault.clone()).collect();
    let named = match resolve::note(&vaults, path, Audience::Owner) {
        Err(ambiguous @ CallError::Invalid(_)) => return Err(ambiguous),
        named => named.ok(),
    };
    let indexed = named.and_then(|named| {
        let at = vaults.iter().position(|vault| vault.id == named.vault.id)?;
        Some((at, served.get(at)?.snapshot.note_at(&named.path)?.clone()))
    });
    if let Some((at, note)) = indexed {
        let vault = &vaults[at];
        let mut expected = if at < parts.len() {
            search::expect(parts, at, &vault.name, &note, hits)?
        } else {
            // No lane asked this vault, so it is judged by the conditions alone.
            let Wanted { parsed, options, .. } = wanted;
            let (snapshot, options) = (&*served[at].snapshot, options.clone());
            let mut part = Part { snapshot, query: parsed.clone(), vector: None, options };
            part.query.of_vault(&vault.name);
            search::expect(&[part], 0, &vault.name, &note, hits)?
        };
        let now = state(vault, &note.path);
        expected.stale = now != OnDisk::Note(note.stat) && now != OnDisk::Unknown;
        expected.why.extend(match now {
            OnDisk::Unknown => Some(hanging(vault)),
            OnDisk::Nothing | OnDisk::Other(_) => Some("It is gone from the disk since it was indexed.".to_owned()),
            OnDisk::Note(_) if expected.stale => {
                Some("It has changed on disk since it was indexed; --fresh waits for that.".to_owned())
            }
            OnDisk::Note(_) => None,
        });
        return Ok(expected);
    }
    let places = places(path, &served)?;
    // The vault that has a file of that name, if one has; else the first vault counts as the one that lacks it.
    let lies = places.iter().filter_map(|(at, path)| Some((&served.get(*at)?.vault, path)));
    let mut found: Vec<_> = lies.map(|(vault, path)| (vault, path, state(vault, path))).collect();
    found.sort_by_key(|(.., state)| *state == OnDisk::Nothing);
    let Some((vault, path, state)) = found.first() else { return Err(CallError::NotReady) };
    let mut expected = unindexed(vault, path, state);
    if *state == OnDisk::Nothing && found.len() > 1 {
        let names: Vec<String> = found.iter().map(|(vault, ..)| format!("`{}`", vault.name)).collect();
        expected.why = vec![format!("There is no such note in the vaults {}.", names.join(", "))];
    }
    Ok(expected)
}

/// The same for a team's note, of which only the hits are known here.
pub(super) fn of_team((vault, path): (&str, &str), hits: &[Hit]) -> Expected {
    let at = hits.iter().position(|hit| hit.vault == vault && hit.path == path);
    let hit = at.map(|at| at as u32 + 1);
    let (standing, why) = match hit {
        Some(hit) => (NoteStanding::Hit, format!("It is hit no. {hit}.")),
        None => (
            NoteStanding::Unmatched,
            format!(
                "It is none of the hits. It is a team's and not on this machine, so no more is known of it here; \
                 `situated get '{vault}: {path}'` shows it."
            ),
        ),
    };
    let last_score = hits.last().map(|hit| hit.score);
    Expected {
        vault: vault.to_owned(),
        path: path.to_owned(),
        standing,
        hit,
        last_score,
        why: vec![why],
        ..Expected::default()
    }
}

/// Where a note may be: in each vault, or in the one that an absolute path leads to; the vaults by their index.
fn places(path: &str, served: &[&Served]) -> Result<Vec<(usize, VaultPath)>, CallError> {
    if !Path::new(path).is_absolute() {
        let path = parse_path(path)?;
        return Ok((0..served.len()).map(|at| (at, path.clone())).collect());
    }
    let inside = |(at, served): (usize, &&Served)| {
        let relative = Path::new(path).strip_prefix(&served.vault.path).ok()?;
        Some((at, VaultPath::from_relative(relative)?))
    };
    let places: Vec<_> = served.iter().enumerate().filter_map(inside).collect();
    if places.is_empty() { Err(not_found("note", path, "it lies in no vault that was searched")) } else { Ok(places) }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OnDisk {
    Note(FileStat),
    /// A folder, a link, or what cannot be looked at.
    Other(ReadError),
    Nothing,
    /// The file system did not answer.
    Unknown,
}

fn state(vault: &VaultShared, path: &VaultPath) -> OnDisk {
    match access::state(vault, path) {
        Ok(Ok(stat)) => OnDisk::Note(stat),
        Ok(Err(ReadError::Gone)) => OnDisk::Nothing,
        Ok(Err(error)) => OnDisk::Other(error),
        Err(Hangs) => OnDisk::Unknown,
    }
}

fn hanging(vault: &VaultShared) -> String {
    format!("The vault `{}` does not answer, so what is on its disk now is not known.", vault.name)
}

/// Why a note is not in the index.
fn unindexed(vault: &VaultShared, path: &VaultPath, state: &OnDisk) -> Expected {
    let verdict = vault.policy.load().as_ref().map(|policy| policy.verdict(path, false));
    let (standing, why) = match (state, verdict) {
        (OnDisk::Nothing, _) => {
            (NoteStanding::Missing, format!("There is no such note in the vault `{}`.", vault.name))
        }
        (OnDisk::Unknown, _) => (NoteStanding::Missing, hanging(vault)),
        (_, Some(EntryKind::Ignored(why))) => (NoteStanding::Ignored, format!("It is left out of the index: {why}.")),
        (OnDisk::Other(ReadError::NotAFile), _) => (NoteStanding::Missing, "That is no file; name a note.".to_owned()),
        (OnDisk::Other(error), _) => (NoteStanding::NotIndexed, format!("It is not in the index, for {error}.")),
        (OnDisk::Note(_), _) => {
            let skipped =
                vault.status.lock().skipped.iter().find(|file| file.path == path.as_str()).map(|f| f.why.clone());
            let why =
                skipped.map_or("; `situated sync --wait` looks at the disk now".to_owned(), |why| format!(": {why}"));
            (NoteStanding::NotIndexed, format!("It is on the disk but not in the index{why}."))
        }
    };
    let (name, path) = (vault.name.clone(), path.to_string());
    Expected { vault: name, path, standing, why: vec![why], ..Expected::default() }
}
