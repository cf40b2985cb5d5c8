//! The folder of a model: reading its files, and errors that say which of them is wrong.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::TransformerError;
use super::functions::Activation;

/// Files without which there is no model.
pub(crate) const MUST_HAVE: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];

/// Longest text file of a model. Tokenizers of a hundred languages have 20 MB.
pub(super) const MOST_TEXT: u64 = 256 << 20;

/// What to do about a kind of model that is not known here.
pub(super) const CHOOSE: &str =
    "choose a model of the kinds bert, roberta, xlm-roberta, distilbert, mpnet, modernbert or qwen3";

/// The folder of a model.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A folder that exists; nothing in it is read yet.
    pub(super) fn open(path: &Path) -> Result<Self, TransformerError> {
        let folder = Folder { path: path.to_owned() };
        let hint = "name the folder of a sentence-transformers model: one that has config.json, tokenizer.json and \
                    model.safetensors";
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(folder),
            Ok(_) => Err(folder.unsupported("", "this is not a folder", hint)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(TransformerError::Missing { file: folder.path, hint })
            }
            Err(error) => Err(folder.damaged("", error.to_string())),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the model: `org/name` where the folder is one of a hub's cache.
    pub(super) fn name(&self) -> String {
        index::embed::models::name_of(&self.path)
    }

    /// The bytes of a file, `None` if it is not there.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, TransformerError> {
        let path = self.path.join(name);
        match std::fs::metadata(&path) {
            Ok(found) if found.len() > most => {
                let problem = format!("it has {} bytes, more than any such file needs", found.len());
                return Err(self.damaged(name, problem));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.damaged(name, error.to_string())),
        }
        std::fs::read(&path).map(Some).map_err(|error| self.damaged(name, error.to_string()))
    }

    /// The bytes of a file that must be there.
    pub(super) fn must_read(&self, name: &str, hint: &'static str, most: u64) -> Result<Vec<u8>, TransformerError> {
        let missing = || TransformerError::Missing { file: self.path.join(name), hint };
        self.read(name, most)?.ok_or_else(missing)
    }

    /// A file that must be there.
    pub(super) fn must_open(&self, name: &str, hint: &'static str) -> Result<File, TransformerError> {
        File::open(self.path.join(name)).map_err(|error| match error.kind() {
            ErrorKind::NotFound => TransformerError::Missing { file: self.path.join(name), hint },
            _ => self.damaged(name, error.to_string()),
        })
    }

    /// The bytes of `tokenizer.json`.
    pub(super) fn tokenizer(&self) -> Result<Vec<u8>, TransformerError> {
        let hint = "a model that has only vocab.txt or sentencepiece.bpe.model has to be saved anew with a fast \
                    tokenizer, or download one that has it";
        self.must_read("tokenizer.json", hint, MOST_TEXT)
    }

    pub(super) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, TransformerError> {
        let Some(bytes) = self.read(name, MOST_TEXT)? else { return Ok(None) };
        let value = serde_json::from_slice(&bytes).map_err(|error| self.damaged(name, error.to_string()))?;
        Ok(Some(value))
    }

    /// The path of a file, or of the folder itself if `name` is empty (joining that would add a slash).
    fn file(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.path.clone() } else { self.path.join(name) }
    }

    /// Refuses a `config.json` in which one of these fields is 0.
    pub(super) fn not_zero(&self, sizes: &[(&str, usize)]) -> Result<(), TransformerError> {
        match sizes.iter().find(|(_, size)| *size == 0) {
            Some((name, _)) => Err(self.damaged("config.json", format!("`{name}` is 0"))),
            None => Ok(()),
        }
    }

    /// Refuses a `config.json` in which this field is no number that can be computed with.
    pub(super) fn is_number(&self, name: &str, value: f64, least: f64) -> Result<(), TransformerError> {
        if value.is_finite() && value >= least {
            return Ok(());
        }
        Err(self.damaged("config.json", format!("`{name}` is {value}")))
    }

    /// The activation that `config.json` calls by this name.
    pub(super) fn activation(&self, name: &str) -> Result<Activation, TransformerError> {
        let unknown = || self.unsupported("config.json", format!("the activation `{name}` is not supported"), CHOOSE);
        Activation::named(name).ok_or_else(unknown)
    }

    pub(super) fn damaged(&self, name: &str, problem: impl Into<String>) -> TransformerError {
        TransformerError::Damaged { file: self.file(name), problem: problem.into() }
    }

    pub(super) fn mismatch(&self, name: &str, problem: impl Into<String>) -> TransformerError {
        TransformerError::Mismatch { file: self.file(name), problem: problem.into() }
    }

    pub(super) fn unsupported(&self, name: &str, problem: impl Into<String>, hint: &'static str) -> TransformerError {
        TransformerError::Unsupported { file: self.file(name), problem: problem.into(), hint }
    }
}
