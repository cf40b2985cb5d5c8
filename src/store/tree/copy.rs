//! Copying a database.

use std::path::Path;

use super::{Lazy, Trees};
use crate::salvage::{Fault, guarded};

impl Trees {
    /// Copies every tree into a new database in `path`, and waits until it is on the disk.
    pub(crate) fn copy_to(&self, path: &Path) -> Result<(), Fault> {
        /// Keys per batch, which is built in memory. With 11,000 contexts, smaller and larger batches made a larger
        /// copy (64 keys by 2 %, 16 by 8 %, 2,048 by 27 %).
        const BATCH: usize = 256;
        let new = Self::open(path)?;
        guarded(|| {
            let _lazy = Lazy::begin();
            for (from, to) in self.all().into_iter().zip(new.all()) {
                let mut batch = sled::Batch::default();
                for (n, entry) in from.iter().enumerate() {
                    let (key, value) = entry?;
                    batch.insert(key, value);
                    if n % BATCH == BATCH - 1 {
                        to.apply_batch(std::mem::take(&mut batch))?;
                        // sled reuses the space that a batch overwrote only once the batch is flushed.
                        new.db.flush()?;
                    }
                }
                to.apply_batch(batch)?;
            }
            Ok(())
        })?;
        new.flush(true)
    }

    /// Whether every tree has the same keys and values as that of a copy.
    pub(crate) fn holds_the_same_as(&self, copy: &Trees) -> Result<bool, Fault> {
        guarded(|| {
            for (one, other) in self.all().into_iter().zip(copy.all()) {
                let mut others = other.iter();
                for entry in one {
                    if others.next().transpose()?.is_none_or(|other| Ok(other) != entry) {
                        return Ok(false);
                    }
                }
                if others.next().is_some() {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}
