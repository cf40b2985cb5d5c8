//! The words of several snapshots as those of one index.

use super::Snapshot;
use crate::Corpus;
use note::Private;

impl<'a> Corpus<'a> {
    /// The corpus of these snapshots.
    pub fn of(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Self {
        Corpus::hiding(snapshots.into_iter().map(|snapshot| (snapshot, None)))
    }

    /// The corpus of these snapshots for somebody from whom these of their notes are hidden.
    pub fn hiding<'p>(snapshots: impl IntoIterator<Item = (&'a Snapshot, Option<&'p Private>)>) -> Self {
        Corpus::of_views(snapshots.into_iter().map(|(snapshot, private)| {
            let of = |private: &Private| {
                snapshot.notes().filter(|n| private.covers(&n.path, n.tags())).map(|n| n.no).collect()
            };
            (&snapshot.words, private.map(of).unwrap_or_default())
        }))
    }
}
