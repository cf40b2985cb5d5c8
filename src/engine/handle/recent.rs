//! The notes that were changed last.

use std::cmp::Reverse;
use std::sync::Arc;

use super::access::{Served, in_range};
use super::{CallError, Handle, RecentAnswer, RecentNote, RecentRequest};
use index::NoteEntry;
use protocol::search::MAX_HITS;

/// Notes of an answer unless the request says otherwise.
const USUAL: usize = 20;

/// The sort key of notes: the newest first, then by vault and path.
type Place = (Reverse<i64>, String, String);

/// See [`Handle::recent`].
pub(super) fn recent(engine: &Handle, request: &RecentRequest) -> Result<RecentAnswer, CallError> {
    let limit = in_range("limit", request.limit.unwrap_or(USUAL), MAX_HITS)?;
    let after = request.after.as_deref().map(place_of).transpose()?;
    let (mut found, mut total): (Vec<(Place, Arc<NoteEntry>)>, u64) = (Vec::new(), 0);
    for vault in engine.served(request.vault.as_deref())?.0 {
        let served = Served::new(&vault, request.audience.is_assistant())?;
        for note in served.snapshot.notes().filter(|note| served.shows(note)) {
            total += 1;
            let place = (Reverse(note.stat.mtime_ns), vault.name.clone(), note.path.as_str().to_owned());
            if after.as_ref().is_none_or(|after| place > *after) {
                found.push((place, note.clone()));
            }
        }
    }
    let more = found.len() > limit;
    if more {
        found.select_nth_unstable_by(limit, |a, b| a.0.cmp(&b.0));
        found.truncate(limit);
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let next = found.last().filter(|_| more).map(|(place, _)| cursor(place));
    let notes = found.into_iter().map(|((_, vault, path), note)| RecentNote {
        vault,
        path,
        title: note.title().to_owned(),
        tags: note.tags().to_vec(),
        note_type: note.kind().map(str::to_owned),
        mtime: note.stat.mtime_ns.div_euclid(1_000_000_000),
        bytes: note.stat.size,
    });
    Ok(RecentAnswer { notes: notes.collect(), total, next })
}

fn cursor((Reverse(mtime), vault, path): &Place) -> String {
    // A vault's name holds no slash.
    format!("{mtime}/{vault}/{path}")
}

fn place_of(cursor: &str) -> Result<Place, CallError> {
    let read = || {
        let (mtime, rest) = cursor.split_once('/')?;
        let (vault, path) = rest.split_once('/')?;
        Some((Reverse(mtime.parse().ok()?), vault.to_owned(), path.to_owned()))
    };
    read().ok_or_else(|| CallError::Invalid("`after` is not the `next` of an answer".to_owned()))
}

#[cfg(test)]
mod tests;
