//! Reads tensors of a safetensors file: in memory, without copying them, or only the places in the file. Pure.
//!
//! The format is eight bytes with the header's length (little endian), a JSON header that gives each
//! tensor's type, shape and byte range, and the tensors' bytes.

use std::collections::HashMap;
use std::ops::Range;

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

/// What a file says of its tensors.
pub struct Header {
    entries: HashMap<String, Entry>,
    /// Bytes before the first tensor.
    start: u64,
}

impl Header {
    /// Reads the header of a file of `length` bytes from its beginning: eight bytes, and as many more as these say.
    ///
    /// # Errors
    /// If `file` is no header, or the header of a longer file, or a tensor in it ends before it begins.
    pub fn read(file: &[u8], length: u64) -> Result<Self, ModelError> {
        let (entries, body) = entries(file)?;
        let start = (file.len() - body.len()) as u64;
        if entries.values().any(|entry| entry.data_offsets.0 > entry.data_offsets.1) {
            return Err(ModelError::Format("a tensor ends before it begins".to_owned()));
        }
        let end = entries.values().map(|entry| entry.data_offsets.1 as u64).max().unwrap_or(0);
        if end > length.saturating_sub(start) {
            return Err(ModelError::Format("it is shorter than its tensors".to_owned()));
        }
        Ok(Header { entries, start })
    }

    /// Whether there is such a tensor.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The shape of a tensor: rows first.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        Some(&self.entries.get(name)?.shape)
    }

    /// The type of a tensor's numbers, and where in the file its bytes are.
    ///
    /// # Errors
    /// If it is not there, or has numbers of another type, or not as many as its shape says.
    pub fn place(&self, name: &str) -> Result<(Number, Range<u64>), ModelError> {
        let entry = self.entries.get(name).ok_or_else(|| ModelError::Format("it is not there".to_owned()))?;
        let Some(number) = Number::of(&entry.dtype) else {
            return Err(ModelError::Format(format!("numbers of the type {} cannot be read", entry.dtype)));
        };
        let (from, to) = (self.start + entry.data_offsets.0 as u64, self.start + entry.data_offsets.1 as u64);
        let expected = entry.shape.iter().try_fold(number.size() as u64, |n, d| n.checked_mul(*d as u64));
        if expected != Some(to - from) {
            return Err(ModelError::Format(format!("it has {} bytes for the shape {:?}", to - from, entry.shape)));
        }
        Ok((number, from..to))
    }
}

/// The header of a file, and what follows it.
fn entries(file: &[u8]) -> Result<(HashMap<String, Entry>, &[u8]), ModelError> {
    let short = || ModelError::Format("it is too short".to_owned());
    let (length, rest) = file.split_first_chunk::<8>().ok_or_else(short)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
    let (header, body) = rest.split_at_checked(length).ok_or_else(short)?;
    let wrong = |e: serde_json::Error| ModelError::Format(e.to_string());
    let mut header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).map_err(wrong)?;
    header.remove("__metadata__");
    Ok((serde_json::from_value(header.into()).map_err(wrong)?, body))
}

/// The tensors of a file.
pub(super) struct Tensors<'a> {
    entries: HashMap<String, Entry>,
    body: &'a [u8],
}

impl<'a> Tensors<'a> {
    /// Reads the header.
    pub(super) fn read(file: &'a [u8]) -> Result<Self, ModelError> {
        let (entries, body) = entries(file)?;
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

/// A type of numbers that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// A byte with a sign.
    I8,
    /// IEEE 754, half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
    /// IEEE 754, single precision.
    F32,
    /// IEEE 754, double precision.
    F64,
}

impl Number {
    /// By its name in a file.
    pub fn of(dtype: &str) -> Option<Number> {
        Some(match dtype {
            "I8" => Number::I8,
            "F16" => Number::F16,
            "BF16" => Number::Bf16,
            "F32" => Number::F32,
            "F64" => Number::F64,
            _ => return None,
        })
    }

    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Number::I8 => 1,
            Number::F16 | Number::Bf16 => 2,
            Number::F32 => 4,
            Number::F64 => 8,
        }
    }

    /// Reads numbers stored one after another.
    pub fn read(self, bytes: &[u8]) -> Vec<f32> {
        match self {
            Number::I8 => bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect(),
            Number::F16 => bytes.as_chunks().0.iter().map(|two| half(u16::from_le_bytes(*two))).collect(),
            Number::Bf16 => {
                let whole = |two: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*two)) << 16);
                bytes.as_chunks().0.iter().map(whole).collect()
            }
            Number::F32 => bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect(),
            Number::F64 => bytes.as_chunks().0.iter().map(|eight| f64::from_le_bytes(*eight) as f32).collect(),
        }
    }
}

/// A number of half precision: a sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        // A subnormal number: the fraction counts in steps of 2^-24.
        0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests;
