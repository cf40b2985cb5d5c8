//! Whether the notes of hits are still what was indexed. The disk is asked while the hits are made, because its answer
//! takes as long as a tenth of a search.

use std::collections::{HashMap, HashSet};

use super::super::access::{Served, read};
use crate::disk_access::{Hangs, Pending, STATES_WITHIN};
use crate::indexer::disk::Disk;
use crate::shared::VaultShared;
use index::NoteEntry;
use index::search::Answer;
use note::{FileStat, Private, VaultPath};
use protocol::hit::Hit;

/// A question to the disk about some notes of a vault.
pub(in crate::handle) struct Look {
    /// Paths that it was asked about.
    asked: HashSet<String>,
    /// Those of them that are not what was indexed.
    stale: Result<Pending<HashSet<String>>, Hangs>,
}

impl Look {
    /// Asks about notes that hits are expected to come from.
    pub(in crate::handle) fn begin<'a>(
        vault: &VaultShared,
        notes: impl IntoIterator<Item = &'a NoteEntry>,
    ) -> Option<Look> {
        let indexed: Vec<(VaultPath, FileStat)> =
            notes.into_iter().map(|note| (note.path.clone(), note.stat)).collect();
        if indexed.is_empty() {
            return None;
        }
        let asked = indexed.iter().map(|(path, _)| path.to_string()).collect();
        let root = vault.path.clone();
        let stale = move |disk: &dyn Disk| -> HashSet<String> {
            let is_stale = |(path, stat): &(VaultPath, FileStat)| {
                let now = disk.stat(&root, path).ok();
                // A new hard link to a file changes this time alone.
                now.map(|now| FileStat { ctime_ns: stat.ctime_ns, ..now }) != Some(*stat)
            };
            indexed.into_iter().filter(is_stale).map(|(path, _)| path.to_string()).collect()
        };
        Some(Look { asked, stale: vault.disk.begin(STATES_WITHIN, stale) })
    }
}

/// Marks hits whose note is no longer what was indexed, and leaves out those of notes that have become hidden from the
/// asker since. If the vault does not answer in time, the search does not wait: the answer carries a warning.
pub(in crate::handle) fn marked(mut answer: Answer, served: &Served, look: Option<Look>) -> Answer {
    let Served { vault, snapshot, hidden, .. } = served;
    let not_asked = |path: &&str| look.as_ref().is_none_or(|look| !look.asked.contains(*path));
    let others: HashSet<&str> = answer.hits.iter().map(|hit| hit.path.as_str()).filter(not_asked).collect();
    let others = others.into_iter().filter_map(VaultPath::parse).filter_map(|path| snapshot.note_at(&path));
    let others = Look::begin(vault, others.map(|note| &**note));
    let mut unknown = HashSet::new();
    for look in [look, others].into_iter().flatten() {
        // Once is enough to wait in vain.
        let stale =
            if unknown.is_empty() { look.stale.and_then(|stale| stale.wait(STATES_WITHIN)) } else { Err(Hangs) };
        match stale {
            Ok(stale) => answer.hits.iter_mut().for_each(|hit| hit.stale |= stale.contains(&hit.path)),
            Err(Hangs) => unknown.extend(look.asked),
        }
    }
    if !unknown.is_empty() {
        answer.warnings.push(format!(
            "vault `{}` does not answer, so its notes may have changed since they were indexed",
            vault.name
        ));
    }
    if let Some(hidden) = hidden {
        leave_hidden_out(&mut answer.hits, &unknown, served, hidden);
    }
    answer
}

/// Leaves out the hits of notes that have become private since they were indexed, or that cannot be read now. A note of
/// which it is `unknown` whether it changed may have become private, too.
fn leave_hidden_out(hits: &mut Vec<Hit>, unknown: &HashSet<String>, served: &Served, hidden: &Private) {
    let Served { vault, snapshot, pipeline, .. } = served;
    let mut known: HashMap<String, bool> = HashMap::new();
    let is_shown = |path: &str| {
        let Some(path) = VaultPath::parse(path) else { return false };
        let Ok(Ok(text)) = read(vault, &path, pipeline.max_note_bytes) else { return false };
        let note = note::parse(&path, &text.bytes, &pipeline.rules);
        !hidden.covers_now(&note, snapshot.note_at(&path).map(|note| note.tags()))
    };
    let may_differ = |hit: &Hit| hit.stale || unknown.contains(&hit.path);
    hits.retain(|hit| !may_differ(hit) || *known.entry(hit.path.clone()).or_insert_with(|| is_shown(&hit.path)));
}
