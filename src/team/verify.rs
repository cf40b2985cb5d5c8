//! The comparison of a vault's points with its store.

use std::collections::{BTreeMap, BTreeSet};

use crate::point::Payload;
use crate::server::Read;
use protocol::team::VaultDifferences;

/// The most notes that are named for each kind of difference.
const NAMED: usize = 20;

/// Notes that are to be written anew.
pub(crate) fn amiss(differences: &VaultDifferences) -> Vec<String> {
    let VaultDifferences { missing, outdated, damaged, .. } = differences;
    [&missing[..], outdated, damaged].concat()
}

/// The same with no more than a few notes of each kind.
pub(crate) fn shortened(mut found: VaultDifferences) -> VaultDifferences {
    for names in [&mut found.missing, &mut found.outdated, &mut found.damaged, &mut found.extra] {
        names.truncate(NAMED);
    }
    found
}

/// What the comparison needs of a point, so that the texts of a collection are not held in memory.
#[derive(Debug)]
struct Looked {
    id: String,
    revision: u64,
    position: u32,
    /// Chunks of its note.
    chunks: u32,
    state: String,
    /// Whether it is as it was written.
    sound: bool,
}

/// The points of a vault, looked at one after the other.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    points: usize,
    notes: BTreeMap<String, Vec<Looked>>,
    /// Points that cannot be read.
    odd: Vec<String>,
}

impl Comparison {
    /// Looks at a point.
    pub(crate) fn look(&mut self, Read { id, payload, .. }: Read) {
        self.points += 1;
        let Ok(read) = serde_json::from_value::<Payload>(payload) else { return self.odd.push(id) };
        let sound = read.sum == read.reckoned();
        let Payload { path, revision, position, chunks, state, .. } = read;
        self.notes.entry(path).or_default().push(Looked { id, revision, position, chunks, state, sound });
    }

    /// Compares all that was looked at with what the store has; also returns the ids of points that nobody needs.
    pub(crate) fn with(self, wanted: &BTreeMap<String, String>, revision: u64) -> (VaultDifferences, Vec<String>) {
        let Comparison { points, mut notes, odd: mut strays } = self;
        let mut differences = VaultDifferences { notes: wanted.len(), points, ..VaultDifferences::default() };
        for points in notes.values_mut() {
            // Readers do not see points above `revision`.
            strays.extend(points.extract_if(.., |point| point.revision > revision).map(|point| point.id));
        }
        differences.left_over = strays.len();
        notes.retain(|_, points| !points.is_empty());
        differences.missing = wanted.keys().filter(|path| !notes.contains_key(*path)).cloned().collect();
        for (path, points) in notes {
            let newest = points.iter().map(|point| point.revision).max();
            let Some(state) = wanted.get(&path) else {
                differences.extra.push(path);
                strays.extend(points.into_iter().map(|point| point.id));
                continue;
            };
            let (current, old): (Vec<_>, Vec<_>) = points.into_iter().partition(|point| Some(point.revision) == newest);
            differences.left_over += old.len();
            strays.extend(old.into_iter().map(|point| point.id));
            if !is_whole(&current) {
                differences.damaged.push(path);
            } else if current.iter().any(|point| point.state != *state) {
                differences.outdated.push(path);
            }
        }
        let notes = differences.missing.len() + differences.outdated.len() + differences.damaged.len();
        differences.differences = notes + differences.extra.len() + differences.left_over;
        (differences, strays)
    }
}

/// Whether these are all chunks of a note, each once and as it was written.
fn is_whole(points: &[Looked]) -> bool {
    let positions: BTreeSet<u32> = points.iter().map(|point| point.position).collect();
    positions.len() == points.len() && points.iter().all(|point| point.sound && point.chunks as usize == points.len())
}

#[cfg(test)]
mod tests;
