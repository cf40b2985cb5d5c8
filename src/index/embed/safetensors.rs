//! Reads tensors of a safetensors file that lies in memory, without copying them. Pure.
//!
//! The format is eight bytes with the header's length (little endian), a JSON header that gives each
//! tensor's type, shape and byte range, and the tensors' bytes.

use std::collections::HashMap;

use serde::Deserialize;

/// The file is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Length, header or byte ranges do not fit together.
    #[error("not a safetensors file: {0}")]
    Format(String),
    /// A tensor is not there, or has another type or shape.
    #[error("tensor `{name}`: {problem}")]
    Tensor {
        /// The tensor asked for.
        name: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// The tensors of a file.
pub(super) struct Tensors<'a> {
    entries: HashMap<String, Entry>,
    body: &'a [u8],
}

impl<'a> Tensors<'a> {
    /// Reads the header.
    pub(super) fn read(file: &'a [u8]) -> Result<Self, ModelError> {
        let short = || ModelError::Format("it is too short".to_owned());
        let (length, rest) = file.split_first_chunk::<8>().ok_or_else(short)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
        let (header, body) = rest.split_at_checked(length).ok_or_else(short)?;
        let wrong = |e: serde_json::Error| ModelError::Format(e.to_string());
        let mut header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).map_err(wrong)?;
        header.remove("__metadata__");
        let entries = serde_json::from_value(header.into()).map_err(wrong)?;
        Ok(Tensors { entries, body })
    }

    /// Whether there is such a tensor.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The type of a tensor's elements.
    pub(super) fn dtype(&self, name: &str) -> Option<&str> {
        Some(self.entries.get(name)?.dtype.as_str())
    }

    /// The bytes and the shape of a tensor with elements of type `dtype`, `size` bytes each.
    pub(super) fn tensor(
        &self,
        name: &'static str,
        dtype: &str,
        size: usize,
    ) -> Result<(&'a [u8], &[usize]), ModelError> {
        let wrong = |problem: String| ModelError::Tensor { name, problem };
        let entry = self.entries.get(name).ok_or_else(|| wrong("is not there".to_owned()))?;
        if entry.dtype != dtype {
            return Err(wrong(format!("is {}, not {dtype}", entry.dtype)));
        }
        let (start, end) = entry.data_offsets;
        let bytes = self.body.get(start..end).ok_or_else(|| wrong("lies outside the file".to_owned()))?;
        let expected = entry.shape.iter().try_fold(size, |n, d| n.checked_mul(*d));
        if expected != Some(bytes.len()) {
            return Err(wrong(format!("{} bytes for the shape {:?}", bytes.len(), entry.shape)));
        }
        Ok((bytes, &entry.shape))
    }
}

#[cfg(test)]
mod tests;
