//! A tokenizer as `tokenizer.json` describes it: WordPiece or Unigram, with the steps before it that tables are written
//! with. Special tokens are tokens like others here, and none is added; of a text that names one its letters are read.
//!
//! The crate `tokenizers` reads more kinds. It makes the program 1.5 MB larger, and holds 500,000 pieces in 1.2 GB.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::normal::Normal;
use super::pieces::{Pieces, UNKNOWN};
use super::words::Words;

/// Why a tokenizer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenizerError {
    /// It is not what its name says.
    #[error("it is damaged ({0})")]
    Damaged(String),
    /// It is of a kind, or has a step, that is not known here.
    #[error("it is no WordPiece or Unigram tokenizer that can be read here ({0})")]
    Unsupported(String),
}

/// Cuts texts into tokens.
pub struct TableTokenizer {
    normal: Option<Normal>,
    words: Option<Words>,
    pieces: Pieces,
    tokens: usize,
    largest: u32,
}

#[derive(Deserialize)]
struct File {
    normalizer: Option<Normal>,
    pre_tokenizer: Option<Words>,
    #[serde(default)]
    added_tokens: Vec<Added>,
    model: Model,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Model {
    WordPiece {
        vocab: HashMap<String, u32>,
        #[serde(default = "continues")]
        continuing_subword_prefix: String,
        #[serde(default = "longest_word")]
        max_input_chars_per_word: usize,
    },
    Unigram {
        vocab: Vec<(String, f64)>,
        unk_id: Option<u32>,
    },
}

fn continues() -> String {
    "##".to_owned()
}

fn longest_word() -> usize {
    100
}

impl TableTokenizer {
    /// Reads the text of `tokenizer.json`.
    pub fn read(json: &[u8]) -> Result<Self, TokenizerError> {
        let file: File = serde_json::from_slice(json).map_err(|error| {
            let said: String = error.to_string().lines().next().unwrap_or_default().chars().take(200).collect();
            if error.is_data() { TokenizerError::Unsupported(said) } else { TokenizerError::Damaged(said) }
        })?;
        let added = file.added_tokens.iter().map(|added| added.id);
        let (pieces, numbers): (Pieces, HashSet<u32>) = match file.model {
            Model::WordPiece { vocab, continuing_subword_prefix, max_input_chars_per_word } => {
                let vocab: Vec<(String, u32)> = vocab.into_iter().collect();
                let pieces = Pieces::word_piece(&vocab, &continuing_subword_prefix, max_input_chars_per_word);
                (pieces, vocab.into_iter().map(|(_, id)| id).chain(added).collect())
            }
            Model::Unigram { vocab, unk_id } => {
                (Pieces::unigram(&vocab, unk_id), (0..vocab.len() as u32).chain(added).collect())
            }
        };
        let largest = numbers.iter().max().copied();
        let largest = largest.ok_or_else(|| TokenizerError::Damaged("it has no tokens".to_owned()))?;
        Ok(TableTokenizer {
            normal: file.normalizer,
            words: file.pre_tokenizer,
            pieces,
            tokens: numbers.len(),
            largest,
        })
    }

    /// How many tokens it has.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The largest number of a token.
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// The tokens of a text, in order; `u32::MAX` for what it does not know.
    pub fn cut(&self, text: &str) -> Vec<u32> {
        let normal = match &self.normal {
            Some(normal) => normal.apply(text.to_owned()),
            None => text.to_owned(),
        };
        let mut tokens = Vec::with_capacity(text.len() / 4 + 4);
        match &self.words {
            Some(words) => words.cut(&normal, &mut |word| self.pieces.cover(word, &mut tokens)),
            None => self.pieces.cover(&normal, &mut tokens),
        }
        tokens
    }

    /// The share of a text's tokens that are known, 0..=1; 1 if it has none.
    pub fn familiarity(&self, text: &str) -> f32 {
        let tokens = self.cut(text);
        let unknown = tokens.iter().filter(|token| **token == UNKNOWN).count();
        1.0 - unknown as f32 / tokens.len().max(1) as f32
    }
}

#[cfg(test)]
mod tests;
