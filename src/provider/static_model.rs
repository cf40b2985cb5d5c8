//! A static table from a folder as model2vec writes it: `model.safetensors` with a vector for each token, and
//! `tokenizer.json`. A text's vector is the mean of its tokens' vectors ([`index::embed::table`]), so it takes no
//! longer than cutting the text into tokens. Files are read once: later changes to them are seen at the next start.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use index::embed::apart::embed_all_apart;
use index::embed::model_tokenizer::{ModelTokenizer, TokenizerError};
use index::embed::models::name_of;
use index::embed::table::{ModelError, Table};
use index::embed::{Input, Vector};

/// The files of a table, and how long each may be.
const ROWS: (&str, u64) = ("model.safetensors", 4 << 30);
/// Tokenizers of a hundred languages have 20 MB.
const TOKENIZER: (&str, u64) = ("tokenizer.json", 256 << 20);

/// Names the way vectors are made. It is part of the identity, because vectors that are made in another way are not
/// comparable.
const FORM: &[u8] = b"static/1";

/// Most bytes of a text that are read. Texts are cut into windows of 240 pieces before they are embedded, so only a
/// line without any words is longer, and the search for its most likely pieces takes many times its memory.
const LONGEST: usize = 32 << 10;

/// The names of the files.
pub const TABLE_FILES: [&str; 2] = [ROWS.0, TOKENIZER.0];

const WHICH: &str = "name the folder of a static table in `embed.path`: one that has model.safetensors and \
                     tokenizer.json, as model2vec writes it";
const AGAIN: &str = "download or copy the table again";
const ANEW: &str = "save it anew with model2vec, or choose another table";
const OTHER: &str = "choose a table with another tokenizer, or use its model behind \"ollama\" or \"openai\"";
const BOTH: &str = "the two seem to be of different models: take both files from one";
const OPEN: &str =
    "let this user read it; a daemon that was started before it was named in `embed.path` has to be restarted";

/// Why a folder holds no table that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}; {hint}", place.display())]
pub struct StaticError {
    place: PathBuf,
    problem: String,
    hint: &'static str,
}

/// A static table with its tokenizer, in memory.
pub struct StaticModel {
    identity: String,
    table: Table,
    tokenizer: ModelTokenizer,
}

impl std::fmt::Debug for StaticModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticModel").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl StaticModel {
    /// Reads the table in `folder`. Takes a second per gigabyte or so, and for that time the memory of the file too.
    pub fn open(folder: &Path) -> Result<Self, StaticError> {
        let folder = Folder(folder);
        folder.look()?;
        let json = folder.read(TOKENIZER)?;
        let tokenizer = ModelTokenizer::read_unframed(&json).map_err(|error| {
            let hint = if matches!(error, TokenizerError::Damaged(_)) { AGAIN } else { OTHER };
            folder.error(TOKENIZER.0, error.to_string(), hint)
        })?;
        let file = folder.read(ROWS)?;
        let table = Table::read(&file).map_err(|error| match &error {
            ModelError::Format(_) => folder.error(ROWS.0, error.to_string(), AGAIN),
            ModelError::Tensor { .. } => folder.error(ROWS.0, error.to_string(), ANEW),
        })?;
        if tokenizer.tokens() != table.tokens() || tokenizer.largest() as usize >= table.tokens() {
            let problem = format!(
                "it has {} tokens, numbered up to {}, and {} has vectors for {}, numbered up to {}",
                tokenizer.tokens(),
                tokenizer.largest(),
                ROWS.0,
                table.tokens(),
                table.tokens() - 1
            );
            return Err(folder.error(TOKENIZER.0, problem, BOTH));
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(FORM).update(blake3::hash(&file).as_bytes()).update(blake3::hash(&json).as_bytes());
        let identity = format!("static {} {}", name_of(folder.0), &hasher.finalize().to_hex()[..16]);
        Ok(StaticModel { identity, table, tokenizer })
    }

    /// Names the table and everything that its vectors depend on: vectors of different identities are never compared.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Components of a vector.
    pub fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// How many tokens have a vector.
    pub fn tokens(&self) -> usize {
        self.table.tokens()
    }

    /// The vector of a text; zero if no token of it is known.
    pub fn embed(&self, text: &str) -> Vector {
        Vector::quantized(&self.mean(text))
    }

    /// The vectors of inputs of a document, such as those of a chunk: text and context are embedded separately.
    pub fn embed_inputs(&self, inputs: &[&Input]) -> Vec<Vector> {
        embed_all_apart(inputs, |text| self.mean(text))
    }

    /// The share of a text's tokens that the tokenizer knows, 0..=1.
    pub fn familiarity(&self, text: &str) -> f32 {
        self.tokenizer.familiarity(read_part(text))
    }

    fn mean(&self, text: &str) -> Vec<f32> {
        // Tokens that are not known have no vector.
        self.table.mean(&self.tokenizer.cut(read_part(text)))
    }
}

fn read_part(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// The folder of a table.
struct Folder<'a>(&'a Path);

impl Folder<'_> {
    fn look(&self) -> Result<(), StaticError> {
        match std::fs::metadata(self.0) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(self.error("", "this is no folder", WHICH)),
            Err(error) => Err(self.unread("", &error)),
        }
    }

    fn read(&self, (name, most): (&str, u64)) -> Result<Vec<u8>, StaticError> {
        let path = self.0.join(name);
        let length = std::fs::metadata(&path).map_err(|error| self.unread(name, &error))?.len();
        if length > most {
            return Err(self.error(name, format!("it has {length} bytes, more than any such file needs"), ANEW));
        }
        std::fs::read(&path).map_err(|error| self.unread(name, &error))
    }

    fn unread(&self, name: &str, error: &std::io::Error) -> StaticError {
        match error.kind() {
            ErrorKind::NotFound => self.error(name, "it is not there", WHICH),
            ErrorKind::PermissionDenied => self.error(name, error.to_string(), OPEN),
            _ => self.error(name, error.to_string(), AGAIN),
        }
    }

    fn error(&self, name: &str, problem: impl Into<String>, hint: &'static str) -> StaticError {
        // Joining nothing would add a slash.
        let place = if name.is_empty() { self.0.to_owned() } else { self.0.join(name) };
        StaticError { place, problem: problem.into(), hint }
    }
}

#[cfg(test)]
mod tests;
