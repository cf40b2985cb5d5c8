//! A static table that the user supplies, in the form of model2vec: a vector for each token, and optionally its weight
//! and the row that it shares with other tokens. A text is cut into tokens by the table's own tokenizer
//! ([`super::model_tokenizer`]), and its vector is the mean of their rows. Pure: `provider` reads the files.
//!
//! Whatever type the file has, in memory a row is int8 with its own factor, as in the built-in model: 500,000 tokens of
//! 256 numbers take 130 MB and not 512, and a text's vector becomes int8 in the end anyway.

use std::ops::RangeInclusive;

use super::Vector;
use super::apart::normalise;
pub use super::safetensors::ModelError;
use super::safetensors::{Number, Tensors};

/// The tensor of rows, as model2vec calls it and as sentence-transformers does.
const ROWS: [&str; 2] = ["embeddings", "embedding.weight"];
/// A weight for each token; may be absent.
const WEIGHTS: &str = "weights";
/// The row of each token; if absent, a token and its row have the same number.
const MAPPING: &str = "mapping";

/// How many numbers a row may have.
const WIDTHS: RangeInclusive<usize> = 64..=1024;

/// The vectors of tokens.
pub struct Table {
    dimensions: usize,
    rows: Box<[i8]>,
    tokens: Box<[Token]>,
}

/// The row of a token's vector, and the factor of its values.
struct Token {
    row: u32,
    factor: f32,
}

impl Table {
    /// Reads a table: tensor `embeddings` (rows × 64 to 1024 of F32, F16, BF16 or I8), and optionally `weights` and
    /// `mapping`.
    pub fn read(file: &[u8]) -> Result<Self, ModelError> {
        let tensors = Tensors::read(file)?;
        let (dimensions, rows, scales) = rows(&tensors)?;
        let mapping = if tensors.has(MAPPING) { Some(mapping(&tensors, scales.len())?) } else { None };
        let mapping = mapping.unwrap_or_else(|| (0..scales.len() as u32).collect());
        let weights = if tensors.has(WEIGHTS) { Some(weights(&tensors, mapping.len())?) } else { None };
        let weights = weights.unwrap_or_else(|| vec![1.0; mapping.len()]);
        let token = |(row, weight): (u32, f32)| Token { row, factor: scales[row as usize] * weight };
        let tokens: Box<[Token]> = mapping.into_iter().zip(weights).map(token).collect();
        if tokens.iter().all(|token| token.factor == 0.0) {
            return Err(wrong(ROWS[0], "holds nothing but zeros"));
        }
        Ok(Table { dimensions, rows, tokens })
    }

    /// Numbers of a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many tokens have a vector: those numbered below this.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// The direction of the mean of these tokens' vectors: of length 1, or zero if there are none. A token that has no
    /// vector is left out.
    pub fn mean(&self, tokens: &[u32]) -> Vec<f32> {
        let mut sum = vec![0.0_f32; self.dimensions];
        for Token { row, factor } in tokens.iter().filter_map(|token| self.tokens.get(*token as usize)) {
            let start = *row as usize * self.dimensions;
            for (sum, value) in sum.iter_mut().zip(&self.rows[start..start + self.dimensions]) {
                *sum += factor * f32::from(*value);
            }
        }
        normalise(&mut sum);
        // The sum of a table's numbers may overflow; then the vector is zero.
        if sum.iter().all(|x| x.is_finite()) { sum } else { vec![0.0; self.dimensions] }
    }
}

fn wrong(name: &'static str, problem: impl Into<String>) -> ModelError {
    ModelError::Tensor { name, problem: problem.into() }
}

/// How many numbers a row has, all rows as int8, and the factor of each row.
fn rows(tensors: &Tensors<'_>) -> Result<(usize, Box<[i8]>, Vec<f32>), ModelError> {
    let name = ROWS.into_iter().find(|name| tensors.has(name)).unwrap_or(ROWS[0]);
    let (number, bytes, shape) = numbers(tensors, name)?;
    let &[count, dimensions] = shape else {
        return Err(wrong(name, format!("has the shape {shape:?}, and a table has rows of numbers")));
    };
    if !WIDTHS.contains(&dimensions) {
        let (least, most) = (WIDTHS.start(), WIDTHS.end());
        return Err(wrong(name, format!("has rows of {dimensions} numbers, and {least} to {most} can be used")));
    }
    let (mut rows, mut scales) = (Vec::with_capacity(count * dimensions), Vec::with_capacity(count));
    for (no, bytes) in bytes.chunks_exact(dimensions * number.size()).enumerate() {
        let row = number.read(bytes);
        if !row.iter().all(|x| x.is_finite()) {
            return Err(wrong(name, format!("row {no} of {count} holds what is not a number (NaN or infinite)")));
        }
        if number == Number::I8 {
            rows.extend(row.iter().map(|x| *x as i8));
            scales.push(if row.iter().all(|x| *x == 0.0) { 0.0 } else { 1.0 });
        } else {
            let Vector { values, scale } = Vector::quantized(&row);
            rows.extend_from_slice(&values);
            scales.push(scale);
        }
    }
    if u32::try_from(scales.len()).is_err() {
        return Err(wrong(name, format!("has {count} rows, which are too many")));
    }
    Ok((dimensions, rows.into(), scales))
}

fn weights(tensors: &Tensors<'_>, tokens: usize) -> Result<Vec<f32>, ModelError> {
    let (number, bytes, shape) = numbers(tensors, WEIGHTS)?;
    if shape != [tokens] {
        return Err(wrong(WEIGHTS, format!("has the shape {shape:?}, and there are {tokens} tokens")));
    }
    let weights = number.read(bytes);
    match weights.iter().position(|x| !x.is_finite()) {
        Some(token) => Err(wrong(WEIGHTS, format!("that of token {token} is not a number (NaN or infinite)"))),
        None => Ok(weights),
    }
}

fn mapping(tensors: &Tensors<'_>, rows: usize) -> Result<Vec<u32>, ModelError> {
    let (bytes, shape, size) = match tensors.dtype(MAPPING) {
        Some(dtype @ ("I64" | "U64")) => tensors.tensor(MAPPING, dtype, 8).map(|(bytes, shape)| (bytes, shape, 8))?,
        Some(dtype @ ("I32" | "U32")) => tensors.tensor(MAPPING, dtype, 4).map(|(bytes, shape)| (bytes, shape, 4))?,
        other => {
            let dtype = other.unwrap_or_default();
            return Err(wrong(MAPPING, format!("is {dtype}, and I64, I32, U64 and U32 can be read")));
        }
    };
    if shape.len() != 1 {
        return Err(wrong(MAPPING, format!("has the shape {shape:?}, and it is one number for each token")));
    }
    // Read as unsigned, a negative number is beyond all rows, too, whichever its type.
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let row = |(token, bytes): (usize, &[u8])| match usize::try_from(number(bytes)) {
        Ok(row) if row < rows => Ok(row as u32),
        _ => Err(wrong(MAPPING, format!("token {token} has a row that is not there: there are {rows}"))),
    };
    bytes.chunks_exact(size).enumerate().map(row).collect()
}

/// The type of the numbers of a tensor, their bytes, and its shape.
fn numbers<'a, 't>(
    tensors: &'t Tensors<'a>,
    name: &'static str,
) -> Result<(Number, &'a [u8], &'t [usize]), ModelError> {
    let Some(dtype) = tensors.dtype(name) else { return Err(wrong(name, "is not there")) };
    let Some(number) = Number::of(dtype) else {
        return Err(wrong(name, format!("is {dtype}, and F32, F16, BF16 and I8 can be read")));
    };
    let (bytes, shape) = tensors.tensor(name, dtype, number.size())?;
    Ok((number, bytes, shape))
}

#[cfg(test)]
mod tests;
