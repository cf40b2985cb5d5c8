//! The cached vectors of one embedder, for decisions, embedding, loading and searches: a [`VectorFile`] behind a lock.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use platform::files::Mapped;

use super::vectors::{Records, VectorFile};
use super::{Store, StoreError};
use index::embed::Vector;
use index::{Matrix, Rows, WindowVector};
use note::fingerprint::InputHash;

/// Cached vectors of one embedder.
pub struct VectorCache {
    file: Mutex<VectorFile>,
    /// The rows that the file shows. They have their own lock: searches do not wait for writes to the file.
    rows: RwLock<Option<Rows>>,
}

impl VectorCache {
    pub(super) fn new(file: VectorFile) -> Self {
        let rows = RwLock::new(file.rows());
        VectorCache { file: Mutex::new(file), rows }
    }

    /// The file, once it is known which inputs it has: whoever needs that first reads them, if the store has not. Of a
    /// file that was cut none are known.
    fn file(&self) -> MutexGuard<'_, VectorFile> {
        let mut file = self.file.lock();
        if let Err(error) = file.read_inputs(&|| true) {
            tracing::warn!(%error, "the vectors cannot be read");
            file.know_none();
        }
        file
    }

    /// Reads which inputs have vectors.
    pub(super) fn read_inputs(&self, room: &dyn Fn() -> bool) -> Result<(), StoreError> {
        self.file.lock().read_inputs(room)
    }

    /// The vector of an input.
    pub fn get(&self, input: InputHash) -> Option<Vector> {
        self.file().get(input, false).map(|(_, vector)| vector)
    }

    /// The vectors of many inputs, in their order, for an index whose matrix this cache is.
    pub fn windows(&self, inputs: &[InputHash]) -> Vec<Option<WindowVector>> {
        let rows = self.rows();
        let mut file = self.file();
        let get = |&input| {
            let (record, vector) = file.get(input, rows.is_some())?;
            let shown = rows.as_ref().is_some_and(|rows| rows.get(record).is_some());
            Some(WindowVector::at(shown.then_some(record), vector))
        };
        inputs.iter().map(get).collect()
    }

    /// The records of inputs whose vectors are whole and shown as rows, in order; those of other inputs are left out.
    pub fn records(&self, inputs: &[InputHash]) -> Vec<u32> {
        let Some(rows) = self.rows() else { return Vec::new() };
        let mut file = self.file();
        let records = inputs.iter().filter_map(|input| file.whole_record_of(*input, true));
        records.filter(|record| rows.get(*record).is_some()).collect()
    }

    /// Changes whenever records change, also if another program changes them: how many there are, and when the file was
    /// written last, in nanoseconds since 1970 (UTC).
    ///
    /// # Errors
    /// What the system says.
    pub fn version(&self) -> Result<(u32, i64), StoreError> {
        self.file.lock().version()
    }

    /// Sets the records of a chunk's windows, which say where their vectors are. `inputs` are all inputs of the chunk,
    /// in order; `windows` belong to those that have vectors.
    pub fn place(&self, windows: &mut [WindowVector], inputs: &[InputHash]) {
        let rows = self.rows();
        let file = self.file();
        let held: Vec<u32> = inputs.iter().filter_map(|input| file.record_of(*input, rows.is_some())).collect();
        if held.len() == windows.len() {
            for (window, record) in windows.iter_mut().zip(held) {
                let row = (&*window.vector.values, window.vector.scale);
                let is_shown = rows.as_ref().is_some_and(|rows| rows.get(record) == Some(row));
                window.record = is_shown.then_some(record);
            }
        }
    }

    /// Whether another program has cut the file: then it shows nothing until the store is opened anew, and missing
    /// vectors have to be made again.
    pub fn is_cut(&self) -> bool {
        self.rows.read().as_ref().is_some_and(|rows| !rows.bytes.as_ref().is_some_and(Mapped::is_whole))
    }

    /// Whether an input has a vector, without reading it.
    pub fn holds(&self, input: InputHash) -> bool {
        self.file().holds(input)
    }

    /// Keeps vectors, not fsynced. Inputs that have one keep it.
    pub fn put(&self, vectors: &[(InputHash, Vector)]) -> Result<(), StoreError> {
        let mut file = self.file();
        file.put(vectors)?;
        *self.rows.write() = file.rows();
        Ok(())
    }

    /// Adds the records of `inputs` to `named`.
    pub(super) fn name(&self, inputs: impl Iterator<Item = InputHash>, named: &mut Records) {
        let is_whole = self.rows().is_some();
        let file = self.file();
        inputs.filter_map(|input| file.record_of(input, is_whole)).for_each(|record| named.add(record));
    }

    /// See [`VectorFile::give_up`].
    pub(super) fn give_up(&self, named: &Records) {
        self.file().give_up(named);
    }

    /// Lets the system reclaim the memory that shows the vectors: nobody will look at them for a while.
    pub(super) fn let_go(&self) {
        if let Some(bytes) = self.rows.read().as_ref().and_then(|rows| rows.bytes.as_ref()) {
            bytes.let_go();
        }
    }

    /// How many inputs have a vector.
    pub(super) fn len(&self) -> usize {
        self.file().len()
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.file.lock().sync()
    }
}

impl Matrix for VectorCache {
    fn rows(&self) -> Option<Rows> {
        let rows = self.rows.read().clone();
        rows.filter(|rows| rows.bytes.as_ref().is_some_and(Mapped::is_whole))
    }
}

impl Store {
    /// The vectors of the embedder in force.
    pub fn vectors(&self) -> Arc<VectorCache> {
        self.vectors.lock().clone()
    }

    /// Opens or creates the vectors of another embedder. Only one cache of an embedder may be open at a time.
    pub fn vectors_of(&self, identity: &str, dimensions: usize) -> Result<Arc<VectorCache>, StoreError> {
        let file = VectorFile::open_and_read(&self.dir, identity, dimensions, &|| true)?;
        Ok(Arc::new(VectorCache::new(file)))
    }

    /// Puts another embedder's vectors in force.
    pub fn serve_vectors(&self, cache: Arc<VectorCache>) {
        // What the survey saw is about records of the other file.
        self.reclaiming.lock().forget();
        *self.vectors.lock() = cache;
    }
}
