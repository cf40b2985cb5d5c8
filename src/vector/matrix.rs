//! Values of vectors that are not in the index's memory: rows of a mapped file.

use std::sync::Arc;

use platform::files::Mapped;

use super::code::Code;
use super::rotation::Rotation;
use super::wide::{LINE, Width, fetch};
use crate::Vector;

/// The record of a window whose values are in no matrix.
pub(super) const HERE: u32 = u32::MAX;

/// A vector of a chunk, and where its values are.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowVector {
    /// The vector; without its values once it is prepared, if a row of the matrix has them.
    pub vector: Vector,
    /// The row of the matrix with its values; `None` if the index keeps the values itself.
    pub record: Option<u32>,
    /// The code that the first look compares, if it is made already.
    pub(super) code: Option<Code>,
}

impl WindowVector {
    /// A vector whose values lie in this row.
    pub fn at(record: Option<u32>, vector: Vector) -> Self {
        WindowVector { vector, record, code: None }
    }
}

impl From<Vector> for WindowVector {
    fn from(vector: Vector) -> Self {
        WindowVector::at(None, vector)
    }
}

/// Makes the codes of vectors, which takes longest when an index loads them; for another thread than the index's.
#[derive(Clone)]
pub struct Coder {
    pub(super) rotation: Arc<Rotation>,
    pub(super) dimensions: usize,
}

impl Coder {
    /// Prepares a vector for [`super::Windows`] of these dimensions.
    pub fn prepare(&self, window: &mut WindowVector) {
        if window.vector.values.len() == self.dimensions {
            window.code = Some(Code::of(&window.vector, &self.rotation, Width::chosen()));
            if window.record.is_some() {
                // Frees the values on the thread that allocated them: another thread would wait for this one's heap.
                window.vector.values = Box::default();
            }
        }
    }
}

/// Holds the values of vectors as rows. A row does not change as long as a note names its vector.
pub trait Matrix: Send + Sync {
    /// All rows there are now; `None` if they cannot be looked at, as when somebody has cut the file.
    fn rows(&self) -> Option<Rows>;
}

/// Rows of a mapped file, all of one size, one after another. The scale factor, a little-endian `f32`, precedes each
/// row's values, so it takes no memory of the process and arrives with them.
#[derive(Clone, Default)]
pub struct Rows {
    /// The part of the file that is mapped.
    pub bytes: Option<Mapped>,
    /// Where the values of the first row begin, in bytes.
    pub first: usize,
    /// From one row to the next, in bytes.
    pub stride: usize,
    /// Values of a row, a byte each.
    pub dimensions: usize,
}

impl Rows {
    /// The values of a row and their factor; `None` if there is no such row.
    pub fn get(&self, record: u32) -> Option<(&[i8], f32)> {
        let (scale, bytes) = self.bytes_of(record)?.split_first_chunk()?;
        // SAFETY: a byte is a valid `i8`, of the same size and alignment.
        #[allow(unsafe_code)]
        let values = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) };
        Some((values, f32::from_le_bytes(*scale)))
    }

    /// Prefetches what [`Rows::get`] gives.
    pub(super) fn fetch(&self, record: u32) {
        self.bytes_of(record).unwrap_or_default().chunks(LINE).for_each(fetch);
    }

    fn bytes_of(&self, record: u32) -> Option<&[u8]> {
        let begin = self.first.checked_add((record as usize).checked_mul(self.stride)?)?;
        self.bytes.as_ref()?.get(begin.checked_sub(size_of::<f32>())?..begin.checked_add(self.dimensions)?)
    }
}
