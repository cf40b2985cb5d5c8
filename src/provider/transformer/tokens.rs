//! Texts as tokens, by the model's own `tokenizer.json`.

use std::borrow::Cow;

use tokenizers::{Encoding, PostProcessor as _, Tokenizer, TruncationDirection};

use super::TransformerError;
use super::folder::Folder;
use super::settings::Settings;

const FILE: &str = "tokenizer.json";

/// What a network reads: one text, or two that are judged together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) ids: Vec<u32>,
    /// Which of the two texts each token is of, as long as `ids`.
    pub(super) types: Vec<u32>,
}

/// The tokenizer of a model.
pub(super) struct Pieces {
    tokenizer: Tokenizer,
    lowercase: bool,
    hash: blake3::Hash,
}

impl Pieces {
    /// Reads the tokenizer, whose tokens must be within a vocabulary of `rows`.
    pub(super) fn read(folder: &Folder, settings: &Settings, rows: usize) -> Result<Self, TransformerError> {
        let bytes = folder.tokenizer()?;
        let bad = |error: tokenizers::Error| folder.damaged(FILE, error.to_string());
        let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(bad)?;
        // The file may say how its author padded and cut; we do both.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(bad)?;
        let largest = tokenizer.get_vocab(true).into_values().max();
        let Some(largest) = largest else { return Err(folder.damaged(FILE, "it has no tokens")) };
        if largest as usize >= rows {
            let problem = format!("it has a token {largest}, and the network has vectors of {rows} tokens only");
            return Err(folder.mismatch(FILE, problem));
        }
        let pieces = Pieces { tokenizer, lowercase: settings.lowercase, hash: blake3::hash(&bytes) };
        let frame = pieces.frame(false).max(pieces.frame(true));
        // Each side of a pair keeps a token at least.
        if frame + 2 > settings.max_tokens {
            let problem = format!("it adds {frame} tokens, and a text may have {} only", settings.max_tokens);
            return Err(folder.mismatch(FILE, problem));
        }
        Ok(pieces)
    }

    /// Of the bytes of the file.
    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash
    }

    /// How many tokens begin, part and end a text, or a pair of texts.
    fn frame(&self, pair: bool) -> usize {
        self.tokenizer.get_post_processor().map_or(0, |processor| processor.added_tokens(pair))
    }

    /// The tokens of `prefix` and `text`, `most` at most. Errors do not repeat the text.
    pub(super) fn single(&self, prefix: &str, text: &str, most: usize) -> Result<Tokens, String> {
        let text = if prefix.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{prefix}{text}")) };
        let text = self.cut(&text, most - self.frame(false))?;
        self.join(text, None)
    }

    /// A query and a passage, `most` tokens together. What is too long is the end of the passage; a query of more than
    /// half of the tokens is cut too.
    pub(super) fn pair(&self, query: &Encoding, passage: &str, most: usize) -> Result<Tokens, String> {
        let left = most.saturating_sub(self.frame(true) + query.len());
        self.join(query.clone(), Some(self.cut(passage, left)?))
    }

    /// The query of many [pairs](Self::pair).
    pub(super) fn query(&self, query: &str, most: usize) -> Result<Encoding, String> {
        self.cut(query, most.saturating_sub(self.frame(true)) / 2)
    }

    /// The bytes where the tokens of `text` begin.
    pub(super) fn starts(&self, text: &str) -> Vec<u32> {
        // A tokenizer can only fail for a text if it is broken for all: then `single` says so.
        let encoding = self.tokenizer.encode(text, false);
        let mut last = 0;
        let starts = encoding.iter().flat_map(|encoding| encoding.get_offsets()).map(|(start, _)| {
            last = last.max(text.floor_char_boundary(*start));
            last as u32
        });
        starts.collect()
    }

    fn cut(&self, text: &str, most: usize) -> Result<Encoding, String> {
        let text = if self.lowercase { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) };
        let failed = |_| "its tokenizer cannot read a text".to_owned();
        let mut encoding = self.tokenizer.encode(text, false).map_err(failed)?;
        encoding.truncate(most, 0, TruncationDirection::Right);
        // What was cut off is kept in there, and would be framed too.
        encoding.take_overflowing();
        Ok(encoding)
    }

    fn join(&self, text: Encoding, other: Option<Encoding>) -> Result<Tokens, String> {
        let failed = |_| "its tokenizer cannot frame a text".to_owned();
        let whole = self.tokenizer.post_process(text, other, true).map_err(failed)?;
        // Without a frame, an empty text has no tokens; the network needs one.
        let pad = || (vec![0], vec![0]);
        let (ids, types) =
            if whole.is_empty() { pad() } else { (whole.get_ids().to_vec(), whole.get_type_ids().to_vec()) };
        Ok(Tokens { ids, types })
    }
}
