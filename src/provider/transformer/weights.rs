//! The numbers of a network: `model.safetensors`, each tensor checked against what the settings say.

use candle_core::safetensors::{BufferedSafetensors, Load as _};
use candle_core::{DType, Device, Tensor};

use super::TransformerError;
use super::folder::Folder;

const FILE: &str = "model.safetensors";

/// A file with weights, in memory.
pub(super) struct Weights<'a> {
    folder: &'a Folder,
    tensors: BufferedSafetensors,
    hash: blake3::Hash,
}

impl<'a> Weights<'a> {
    pub(super) fn read(folder: &'a Folder) -> Result<Self, TransformerError> {
        let hint = "weights of another format (pytorch_model.bin, ONNX, several files) have to be saved anew as one \
                    safetensors file, or download a model that has it";
        let bytes = folder.must_read(FILE, hint, u64::MAX)?;
        let hash = blake3::hash(&bytes);
        let bad =
            |error: candle_core::Error| folder.damaged(FILE, format!("not a safetensors file ({})", plain(&error)));
        Ok(Weights { folder, tensors: BufferedSafetensors::new(bytes).map_err(bad)?, hash })
    }

    /// Of the bytes of the file.
    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.get(name).is_ok()
    }

    /// The rows of a table; `None` if it is not there.
    pub(super) fn rows(&self, name: &str) -> Option<usize> {
        self.tensors.get(name).ok()?.shape().first().copied()
    }

    /// A tensor in f32, which must have this shape.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, TransformerError> {
        let Ok(view) = self.tensors.get(name) else {
            return Err(self.folder.mismatch(FILE, format!("it has no tensor `{name}`, which config.json asks for")));
        };
        if view.shape() != shape {
            let problem = format!("tensor `{name}` has the shape {:?}, and config.json says {shape:?}", view.shape());
            return Err(self.folder.mismatch(FILE, problem));
        }
        let tensor = view.load(&Device::Cpu).and_then(|tensor| match tensor.dtype() {
            DType::F32 | DType::F16 | DType::BF16 | DType::F64 => tensor.to_dtype(DType::F32),
            other => Err(candle_core::Error::Msg(format!("numbers of the type {other:?} are no weights"))),
        });
        tensor.map_err(|error| self.folder.damaged(FILE, format!("tensor `{name}`: {}", plain(&error))))
    }

    /// The first of `names` that is there, or else the first.
    pub(super) fn first_of<'b>(&self, names: &[&'b str]) -> &'b str {
        names.iter().find(|name| self.has(name)).or(names.first()).copied().unwrap_or_default()
    }

    pub(super) fn folder(&self) -> &Folder {
        self.folder
    }

    pub(super) fn mismatch(&self, problem: impl Into<String>) -> TransformerError {
        self.folder.mismatch(FILE, problem)
    }
}

/// An error in one line, without the trace that some carry.
pub(super) fn plain(error: &candle_core::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}
