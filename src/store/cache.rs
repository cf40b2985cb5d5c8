//! The cached vectors of one embedder, for decisions, embedding and loading: a [`VectorFile`] behind a lock.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::vectors::VectorFile;
use super::{Store, StoreError};
use index::embed::Vector;
use note::fingerprint::InputHash;

/// Cached vectors of one embedder.
pub struct VectorCache(Mutex<VectorFile>);

impl VectorCache {
    pub(super) fn open(dir: &Path, identity: &str, dimensions: usize) -> Result<Self, StoreError> {
        VectorFile::open(dir, identity, dimensions).map(|file| VectorCache(Mutex::new(file)))
    }

    /// The vector of an input.
    pub fn get(&self, input: InputHash) -> Option<Vector> {
        self.0.lock().get(input)
    }

    /// The vectors of many inputs, in their order; fast between [`VectorCache::load`] and [`VectorCache::release`].
    pub fn get_all(&self, inputs: &[InputHash]) -> Vec<Option<Vector>> {
        let file = self.0.lock();
        inputs.iter().map(|&input| file.get(input)).collect()
    }

    /// Whether an input has a vector, without reading it.
    pub fn holds(&self, input: InputHash) -> bool {
        self.0.lock().holds(input)
    }

    /// Appends vectors, not fsynced. Inputs that have one keep it.
    pub fn put(&self, vectors: &[(InputHash, Vector)]) -> Result<(), StoreError> {
        self.0.lock().put(vectors)
    }

    /// Reads the file into memory, for many look-ups. It is there after opening already.
    pub fn load(&self) -> Result<(), StoreError> {
        self.0.lock().load()
    }

    /// Frees the copy in memory.
    pub fn release(&self) {
        self.0.lock().release();
    }

    /// How many inputs have a vector.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.0.lock().sync()
    }
}

impl Store {
    /// The vectors of the embedder in force.
    pub fn vectors(&self) -> Arc<VectorCache> {
        self.vectors.lock().clone()
    }

    /// Opens or creates the vectors of another embedder. Only one cache of an embedder may be open at a time.
    pub fn vectors_of(&self, identity: &str, dimensions: usize) -> Result<Arc<VectorCache>, StoreError> {
        VectorCache::open(&self.dir, identity, dimensions).map(Arc::new)
    }

    /// Puts another embedder's vectors in force.
    pub fn serve_vectors(&self, cache: Arc<VectorCache>) {
        *self.vectors.lock() = cache;
    }
}
