//! Chunks by their ids, as [`super::blocks`] has tables: cheap to copy. Only rows are kept here, for the chunk in a row says
//! its id, and so a chunk takes 7 bytes and not 27.

use std::sync::Arc;

use hashbrown::HashTable;

use super::blocks::Blocks;
use super::{ChunkEntry, Row};
use note::fingerprint::ChunkId;

/// Tables of an [`Ids`]: as many as a [`super::blocks::Shards`] has.
const SHARDS: usize = 256;

/// The chunks that are in the table.
pub(super) type Chunks = Blocks<ChunkEntry>;

/// Rows by the ids of their chunks. A row that is in here keeps its chunk until it is forgotten.
#[derive(Clone)]
pub(super) struct Ids(Vec<Arc<HashTable<Row>>>);

impl Default for Ids {
    fn default() -> Self {
        Ids((0..SHARDS).map(|_| Arc::default()).collect())
    }
}

impl Ids {
    /// The row of the chunk with this id.
    pub(super) fn get(&self, id: ChunkId, chunks: &Chunks) -> Option<Row> {
        self.0[shard(id)].find(hash(id), |row| has(chunks, *row, id)).copied()
    }

    /// From here on the chunk in this row is the one with its id, whichever was before.
    pub(super) fn insert(&mut self, row: Row, chunks: &Chunks) {
        let Some(id) = chunks.get(row).map(|chunk| chunk.id) else { return };
        let table = Arc::make_mut(&mut self.0[shard(id)]);
        if let Some(old) = table.find_mut(hash(id), |row| has(chunks, *row, id)) {
            *old = row;
            return;
        }
        // Every row has its chunk, or would have been forgotten.
        table.insert_unique(hash(id), row, |row| chunks.get(*row).map_or(0, |chunk| hash(chunk.id)));
    }

    /// Forgets a row whose chunk is about to go, unless its id has gone to another row since.
    pub(super) fn forget(&mut self, row: Row, chunks: &Chunks) {
        let Some(id) = chunks.get(row).map(|chunk| chunk.id) else { return };
        if self.get(id, chunks) != Some(row) {
            return;
        }
        let table = Arc::make_mut(&mut self.0[shard(id)]);
        if let Ok(found) = table.find_entry(hash(id), |other| *other == row) {
            found.remove();
        }
    }
}

fn has(chunks: &Chunks, row: Row, id: ChunkId) -> bool {
    chunks.get(row).is_some_and(|chunk| chunk.id == id)
}

/// An id is a hash already: two parts of it are as good as two hashes.
fn shard(id: ChunkId) -> usize {
    usize::from(id.0[15]) % SHARDS
}

fn hash(id: ChunkId) -> u64 {
    id.0.first_chunk().map_or(0, |half| u64::from_le_bytes(*half))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn entry(id: u8) -> ChunkEntry {
        // Many ids in one table, some of which differ in their last half alone.
        let id = ChunkId([id % 7, 0, 0, 0, 0, 0, 0, 0, id, 0, 0, 0, 0, 0, 0, id % 2]);
        ChunkEntry { id, note: 0, position: 0, span: (0, 0), lines: (0, 0) }
    }

    proptest! {
        #[test]
        fn it_is_a_map_and_clones_do_not_change(ops in proptest::collection::vec((0u32..300, proptest::option::of(0u8..60)), 0..400)) {
            let (mut ids, mut chunks) = (Ids::default(), Chunks::default());
            let mut map: HashMap<ChunkId, Row> = HashMap::new();
            let mut kept = Vec::new();
            for (at, (row, id)) in ops.into_iter().enumerate() {
                ids.forget(row, &chunks);
                if let Some(old) = chunks.set(row, None) && map.get(&old.id) == Some(&row) {
                    map.remove(&old.id);
                }
                if let Some(id) = id {
                    let entry = entry(id);
                    map.insert(entry.id, row);
                    chunks.set(row, Some(entry));
                    ids.insert(row, &chunks);
                }
                if at % 32 == 0 {
                    kept.push((ids.clone(), chunks.clone(), map.clone()));
                }
            }
            kept.push((ids, chunks, map));
            for (ids, chunks, map) in &kept {
                for id in (0..60).map(|id| entry(id).id) {
                    prop_assert_eq!(ids.get(id, chunks), map.get(&id).copied());
                }
            }
        }
    }
}
