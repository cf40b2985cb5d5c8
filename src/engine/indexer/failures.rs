//! Notes for which the model gave nothing usable: the log names each once, and a problem reports them together when
//! they are a good share of what the model was asked for.

use std::collections::{BTreeMap, HashSet};

use crate::counters::Counts;
use context::plan::Reason;
use context::quality::Flaw;
use note::VaultPath;
use store::record::NoteRecord;

/// Notes that the log of a process names one by one; a model that fails at all of them is a separate problem.
const MOST_TOLD: usize = 20;

/// Failures are a problem from this many chunks on, if they also reach [`SHARE`].
const FEWEST: u64 = 3;

/// Failures are a problem from this share of the chunks that were asked about, in percent.
const SHARE: u64 = 20;

/// Notes named in a problem.
const NAMED: usize = 3;

/// Which notes, and what was wrong with the last answer, if that was in this process.
#[derive(Debug, Default)]
pub(super) struct Failures {
    notes: BTreeMap<VaultPath, Option<Flaw>>,
    told: HashSet<VaultPath>,
}

impl Failures {
    /// Takes a note's state from its record.
    pub(super) fn put(&mut self, record: &NoteRecord) {
        if record.chunks.iter().any(|chunk| chunk.later == Some(Reason::ContextFailed)) {
            self.notes.entry(record.path.clone()).or_default();
        } else {
            self.notes.remove(&record.path);
        }
    }

    /// A note is gone.
    pub(super) fn remove(&mut self, path: &VaultPath) {
        self.notes.remove(path);
    }

    /// The model's last answer about a chunk of a note could not be used.
    pub(super) fn failed(&mut self, path: &VaultPath, flaw: Flaw) {
        self.notes.insert(path.clone(), Some(flaw));
        if self.told.len() < MOST_TOLD && self.told.insert(path.clone()) {
            tracing::warn!(note = %path, ?flaw, "the model gave no usable context; the free one serves");
            if self.told.len() == MOST_TOLD {
                tracing::warn!("further notes without a usable context are not logged: see `situated stats`");
            }
        }
    }

    /// That the model fails at a good share of what it is asked for: how much, how, and for which notes.
    pub(super) fn problem(&self, counts: Counts) -> Option<String> {
        let asked = counts.wanted.saturating_sub(counts.due);
        if counts.failed < FEWEST || counts.failed * 100 < asked * SHARE {
            return None;
        }
        let mut flaws: BTreeMap<&str, usize> = BTreeMap::new();
        for flaw in self.notes.values().flatten() {
            *flaws.entry(flaw.into()).or_default() += 1;
        }
        let flaw = flaws.into_iter().max_by_key(|(_, n)| *n).map_or_else(String::new, |(flaw, _)| format!(" ({flaw})"));
        let mut names: Vec<String> = self.notes.keys().take(NAMED).map(|path| format!("`{path}`")).collect();
        if self.notes.len() > NAMED {
            names.push(format!("and {} more", self.notes.len() - NAMED));
        }
        Some(format!(
            "the model gave nothing usable{flaw} for {} of {asked} chunks, in {}; the free context serves. `situated \
             stats` counts what was wrong, `situated doctor --provider` tries the model",
            counts.failed,
            names.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests;
