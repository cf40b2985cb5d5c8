//! How many contexts wait, are of an old generation, or failed: counted note by note as records change, so
//! that `status` does not have to read the store.

use std::collections::HashMap;

use context::plan::Reason;
use store::record::NoteRecord;

/// Numbers of chunks, of a note or of all notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// For which a model's context makes sense.
    pub(super) wanted: u64,
    /// For which a model is to be asked.
    pub(super) due: u64,
    /// Of those, for a rebuild.
    pub(super) rebuild: u64,
    /// Whose context another generation wrote.
    pub(super) old: u64,
    /// Whose text has become too different from the one that its context was written for.
    pub(super) drifted: u64,
    /// For which the model gave nothing usable.
    pub(super) failed: u64,
}

/// Counts of a vault.
#[derive(Debug, Default)]
pub(super) struct ContextCounters {
    /// [`Counts::wanted`] by number of the note: nearly all notes have no other counts.
    wanted: Vec<u32>,
    /// The other counts, of notes that have any.
    rest: HashMap<u32, Counts>,
    sum: Counts,
}

impl Counts {
    fn of(record: &NoteRecord) -> Self {
        let mut counts = Counts::default();
        for chunk in &record.chunks {
            counts.wanted += u64::from(chunk.wanted);
            counts.due += u64::from(chunk.due.is_some());
            counts.rebuild += u64::from(chunk.due.is_some_and(|due| due.reason == Reason::Rebuild));
            counts.old += u64::from(chunk.later == Some(Reason::ContextualizerChanged));
            counts.drifted += u64::from(chunk.later == Some(Reason::Drifted));
            counts.failed += u64::from(chunk.later == Some(Reason::ContextFailed));
        }
        counts
    }

    fn each(self, other: Counts, f: impl Fn(u64, u64) -> u64) -> Counts {
        Counts {
            wanted: f(self.wanted, other.wanted),
            due: f(self.due, other.due),
            rebuild: f(self.rebuild, other.rebuild),
            old: f(self.old, other.old),
            drifted: f(self.drifted, other.drifted),
            failed: f(self.failed, other.failed),
        }
    }
}

impl Counts {
    /// The sum of these counts and those of another vault.
    pub(super) fn plus(self, other: Counts) -> Counts {
        self.each(other, |a, b| a + b)
    }
}

impl ContextCounters {
    /// Counts a note as its record says.
    pub(super) fn put(&mut self, record: &NoteRecord) {
        self.remove(record.no);
        let counts = Counts::of(record);
        self.sum = self.sum.plus(counts);
        let (wanted, rest) = (counts.wanted, Counts { wanted: 0, ..counts });
        let at = record.no as usize;
        if wanted > 0 && at >= self.wanted.len() {
            self.wanted.resize(at + 1, 0);
        }
        if let Some(of_note) = self.wanted.get_mut(at) {
            // A note has no more chunks than bytes, and is no longer than 4 GiB.
            *of_note = wanted as u32;
        }
        if rest != Counts::default() {
            self.rest.insert(record.no, rest);
        }
    }

    /// Stops counting a note that is gone.
    pub(super) fn remove(&mut self, no: u32) {
        let wanted = self.wanted.get_mut(no as usize).map_or(0, std::mem::take).into();
        let counts = Counts { wanted, ..self.rest.remove(&no).unwrap_or_default() };
        self.sum = self.sum.each(counts, u64::saturating_sub);
    }

    /// All notes together.
    pub(super) fn sum(&self) -> Counts {
        self.sum
    }
}
