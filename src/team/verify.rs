//! The comparison of a vault's points with its store.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::point::Payload;
use crate::server::Read;

/// Notes that are named of each kind of difference.
const NAMED: usize = 20;

/// What differed between a collection and a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences {
    /// Notes that were compared.
    pub notes: usize,
    /// Points that were looked at.
    pub points: usize,
    /// Notes that were not there.
    pub missing: Vec<String>,
    /// Notes that were there in another state.
    pub outdated: Vec<String>,
    /// Notes of which chunks were missing, or another's words stood in them.
    pub damaged: Vec<String>,
    /// Notes that were there and not in the store, or not to be published.
    pub extra: Vec<String>,
    /// Points that nobody could see, or that were left over.
    pub left_over: usize,
    /// Points of the collection that are not situated's; they are left alone.
    pub foreign: usize,
}

impl Differences {
    /// How many there were, of those that are mended.
    pub fn count(&self) -> usize {
        self.missing.len() + self.outdated.len() + self.damaged.len() + self.extra.len() + self.left_over
    }

    /// Notes that are to be written anew.
    pub(crate) fn amiss(&self) -> Vec<String> {
        self.missing.iter().chain(&self.outdated).chain(&self.damaged).cloned().collect()
    }

    /// The same with no more than a few notes of each kind.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        for names in [&mut self.missing, &mut self.outdated, &mut self.damaged, &mut self.extra] {
            names.truncate(NAMED);
        }
        self
    }
}

/// Compares what was found, of one vault, with what the store has; also the ids of points that nobody needs.
pub(crate) fn compare(found: &[Read], wanted: &BTreeMap<String, String>, revision: u64) -> (Differences, Vec<String>) {
    let mut differences = Differences { notes: wanted.len(), points: found.len(), ..Differences::default() };
    let mut strays = Vec::new();
    let mut notes: BTreeMap<String, Vec<(&str, Payload)>> = BTreeMap::new();
    for Read { id, payload, .. } in found {
        let read: Option<Payload> = serde_json::from_value(payload.clone()).ok();
        if let Some(read) = read.filter(|read| read.revision <= revision) {
            notes.entry(read.path.clone()).or_default().push((id, read));
        } else {
            // Nobody sees it, or nobody understands it.
            differences.left_over += 1;
            strays.push(id.clone());
        }
    }
    for (path, points) in &notes {
        let newest = points.iter().map(|(_, read)| read.revision).max();
        let Some(state) = wanted.get(path) else {
            differences.extra.push(path.clone());
            strays.extend(points.iter().map(|(id, _)| (*id).to_owned()));
            continue;
        };
        let (current, old): (Vec<_>, Vec<_>) = points.iter().partition(|(_, read)| Some(read.revision) == newest);
        differences.left_over += old.len();
        strays.extend(old.into_iter().map(|(id, _)| (*id).to_owned()));
        if !is_whole(&current) {
            differences.damaged.push(path.clone());
        } else if current.iter().any(|(_, read)| read.state != *state) {
            differences.outdated.push(path.clone());
        }
    }
    differences.missing = wanted.keys().filter(|path| !notes.contains_key(*path)).cloned().collect();
    (differences, strays)
}

/// Whether these are all chunks of a note, each once and as it was written.
fn is_whole(points: &[&(&str, Payload)]) -> bool {
    let positions: BTreeSet<u32> = points.iter().map(|(_, read)| read.position).collect();
    let is_well = |read: &Payload| read.chunks as usize == points.len() && read.sum == read.reckoned();
    positions.len() == points.len() && points.iter().all(|(_, read)| is_well(read))
}

#[cfg(test)]
mod tests;
