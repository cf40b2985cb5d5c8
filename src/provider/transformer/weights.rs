//! The numbers of a network: `model.safetensors`. Each tensor is checked against the settings and read only when it is
//! asked for, so that no more is in memory than what is used.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};

use index::embed::safetensors::{Header, Number};

use super::TransformerError;
use super::folder::Folder;
use super::matrix::{Linear, Matrix, Norm, Numbers};

const FILE: &str = "model.safetensors";

/// Longest header: one of a network with thousands of tensors has 1 MB.
const MOST_HEADER: u64 = 64 << 20;

/// A file with weights.
pub(super) struct Weights<'a> {
    folder: &'a Folder,
    file: RefCell<File>,
    header: Header,
    hash: blake3::Hash,
    rounds: bool,
}

impl<'a> Weights<'a> {
    /// Reads the header, and the whole file once for its hash.
    pub(super) fn read(folder: &'a Folder) -> Result<Self, TransformerError> {
        let hint = "weights of another format (pytorch_model.bin, ONNX, several files) have to be saved anew as one \
                    safetensors file, or download a model that has it";
        let mut file = folder.must_open(FILE, hint)?;
        let unread = |error: std::io::Error| folder.damaged(FILE, error.to_string());
        let mut start = Vec::new();
        let length = file.metadata().map_err(unread)?.len();
        Read::by_ref(&mut file).take(8).read_to_end(&mut start).map_err(unread)?;
        let said = start.as_slice().try_into().map_or(0, u64::from_le_bytes);
        if said > MOST_HEADER {
            return Err(folder.damaged(FILE, "not a safetensors file (its header would be too long)"));
        }
        Read::by_ref(&mut file).take(said).read_to_end(&mut start).map_err(unread)?;
        let header = Header::read(&start, length).map_err(|error| folder.damaged(FILE, error.to_string()))?;
        file.rewind().map_err(unread)?;
        let hash = blake3::Hasher::new().update_reader(&mut file).map_err(unread)?.finalize();
        Ok(Weights { folder, file: RefCell::new(file), header, hash, rounds: false })
    }

    /// The same, but the matrices of layers are rounded ([`Matrix::rounded`]).
    pub(super) fn rounding(self) -> Self {
        Weights { rounds: true, ..self }
    }

    /// The hash of the bytes of the file.
    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.header.has(name)
    }

    /// The rows of a table; `None` if it is not there.
    pub(super) fn rows(&self, name: &str) -> Option<usize> {
        self.header.shape(name)?.first().copied()
    }

    /// A matrix of this many rows (`outputs`) of values.
    pub(super) fn matrix(&self, name: &str, outputs: usize, inputs: usize) -> Result<Matrix, TransformerError> {
        let numbers = match self.bytes(name, &[outputs, inputs])? {
            (Number::Bf16, bytes) => {
                Numbers::Upper(bytes.as_chunks().0.iter().map(|two| u16::from_le_bytes(*two)).collect())
            }
            (number, bytes) => Numbers::Single(number.read(&bytes).into()),
        };
        Ok(Matrix::new(numbers, outputs, inputs))
    }

    /// A single row of values.
    pub(super) fn row(&self, name: &str, width: usize) -> Result<Box<[f32]>, TransformerError> {
        let (number, bytes) = self.bytes(name, &[width])?;
        Ok(number.read(&bytes).into())
    }

    /// `name.weight`, and `name.bias` if there is one.
    pub(super) fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear, TransformerError> {
        let (weights, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let weights = self.matrix(&weights, outputs, inputs)?;
        let weights = if self.rounds { weights.rounded() } else { weights };
        let bias = if self.has(&bias) { Some(self.row(&bias, outputs)?) } else { None };
        Ok(Linear { weights, bias })
    }

    /// A layer norm: `name.weight`, and `name.bias` if there is one. Weights that came from TensorFlow have other
    /// names.
    pub(super) fn norm(&self, name: &str, width: usize, epsilon: f64) -> Result<Norm, TransformerError> {
        let part = |new: &str, old: &str| {
            let (new, old) = (format!("{name}.{new}"), format!("{name}.{old}"));
            if self.has(&old) { old } else { new }
        };
        let shift = part("bias", "beta");
        let shift = if self.has(&shift) { Some(self.row(&shift, width)?) } else { None };
        Ok(Norm::Layer { scale: self.row(&part("weight", "gamma"), width)?, shift, epsilon: epsilon as f32 })
    }

    /// A norm of mean squares: `name.weight`.
    pub(super) fn mean_square(&self, name: &str, width: usize, epsilon: f64) -> Result<Norm, TransformerError> {
        let scale = self.row(&format!("{name}.weight"), width)?;
        Ok(Norm::MeanSquare { scale, epsilon: epsilon as f32 })
    }

    pub(super) fn folder(&self) -> &Folder {
        self.folder
    }

    /// The bytes of a tensor, which must have this shape.
    fn bytes(&self, name: &str, shape: &[usize]) -> Result<(Number, Vec<u8>), TransformerError> {
        let Some(found) = self.header.shape(name) else {
            return Err(self.folder.mismatch(FILE, format!("it has no tensor `{name}`, which config.json asks for")));
        };
        if found != shape {
            let problem = format!("tensor `{name}` has the shape {found:?}, and config.json says {shape:?}");
            return Err(self.folder.mismatch(FILE, problem));
        }
        let damaged = |problem: String| self.folder.damaged(FILE, format!("tensor `{name}`: {problem}"));
        let (number, place) = self.header.place(name).map_err(|error| damaged(error.to_string()))?;
        if number == Number::I8 {
            return Err(damaged("whole numbers (I8) are no weights here".to_owned()));
        }
        let mut bytes = vec![0; (place.end - place.start) as usize];
        let mut file = self.file.borrow_mut();
        let read = file.seek(SeekFrom::Start(place.start)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|error| damaged(error.to_string()))?;
        Ok((number, bytes))
    }
}
