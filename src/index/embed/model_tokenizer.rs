//! A tokenizer as `tokenizer.json` describes it: WordPiece, Unigram or byte-level BPE, with the preceding steps that
//! static tables and networks use, and the frame that a network expects around a text.
//!
//! The name of a special token in a text is read as ordinary letters, whatever the file says, so a note cannot end its
//! own passage.
//!
//! The crate `tokenizers` reads more kinds, but makes the program 1.5 MB larger, and needs 1.2 GB for 500,000 pieces.

mod frame;
mod merges;
mod normal;
mod pieces;
mod split;
mod trie;
mod words;

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use frame::Framing;
pub use frame::{Frame, Part};
use merges::Merges;
use normal::Normal;
use pieces::Pieces;
use trie::{Trie, UNKNOWN};
use words::Words;

/// Why a tokenizer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenizerError {
    /// It is not what its name says.
    #[error("it is damaged ({0})")]
    Damaged(String),
    /// It is of a kind, or has a step, that is not known here.
    #[error("it is no WordPiece, Unigram or BPE tokenizer that can be read here ({0})")]
    Unsupported(String),
}

/// Cuts texts into tokens.
pub struct ModelTokenizer {
    normal: Option<Normal>,
    words: Option<Words>,
    pieces: Pieces,
    /// The tokens that were added to the vocabulary.
    added: HashMap<String, u32>,
    /// The token that a network reads for unknown text.
    unknown: Option<u32>,
    frame: Frame,
    tokens: usize,
    largest: u32,
}

#[derive(Deserialize)]
struct File<M> {
    normalizer: Option<Normal>,
    pre_tokenizer: Option<Words>,
    #[serde(default)]
    added_tokens: Vec<Added>,
    model: M,
}

/// The rest of the file, which static tables do not need.
#[derive(Deserialize)]
struct Framed {
    post_processor: Option<Framing>,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Model {
    WordPiece {
        vocab: HashMap<String, u32>,
        #[serde(default = "unknown_word")]
        unk_token: String,
        #[serde(default = "continues")]
        continuing_subword_prefix: String,
        #[serde(default = "longest_word")]
        max_input_chars_per_word: usize,
    },
    Unigram {
        vocab: Vec<(String, f64)>,
        unk_id: Option<u32>,
    },
    #[serde(rename = "BPE")]
    Bpe(Bpe),
}

#[derive(Deserialize)]
struct Bpe {
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
    unk_token: Option<String>,
    #[serde(default)]
    fuse_unk: bool,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(default)]
    byte_fallback: bool,
    dropout: Option<f32>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
}

/// A pair, in the older form with a space between the two or in the newer one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Text(String),
    Pair(String, String),
}

fn unknown_word() -> String {
    "[UNK]".to_owned()
}

fn continues() -> String {
    "##".to_owned()
}

fn longest_word() -> usize {
    100
}

/// A part of the file.
fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, TokenizerError> {
    serde_json::from_slice(json).map_err(|error| {
        let said: String = error.to_string().lines().next().unwrap_or_default().chars().take(300).collect();
        if error.is_data() { TokenizerError::Unsupported(said) } else { TokenizerError::Damaged(said) }
    })
}

/// Refuses a vocabulary in which two tokens have the same number.
fn distinct(vocab: &HashMap<String, u32>) -> Result<(), TokenizerError> {
    let mut numbers = HashSet::with_capacity(vocab.len());
    match vocab.values().find(|id| !numbers.insert(**id)) {
        Some(id) => Err(TokenizerError::Damaged(format!("two of its tokens have the number {id}"))),
        None => Ok(()),
    }
}

impl Bpe {
    /// Its pieces, and its unknown token.
    fn pieces(self) -> Result<(Pieces, Option<u32>), TokenizerError> {
        let is_some = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        for (there, name) in [
            (self.byte_fallback, "byte_fallback"),
            (self.dropout.is_some_and(|share| share > 0.0), "dropout"),
            (is_some(&self.continuing_subword_prefix), "continuing_subword_prefix"),
            (is_some(&self.end_of_word_suffix), "end_of_word_suffix"),
        ] {
            if there {
                return Err(TokenizerError::Unsupported(format!("BPE with `{name}` is not known here")));
            }
        }
        distinct(&self.vocab)?;
        let unknown = match &self.unk_token {
            Some(name) => match self.vocab.get(name) {
                Some(id) => Some(*id),
                None => return Err(TokenizerError::Damaged(format!("its unknown token `{name}` is no token"))),
            },
            None => None,
        };
        let trie = Trie::new(self.vocab.iter().map(|(piece, id)| (piece.as_bytes(), *id)).collect());
        drop(self.vocab);
        // The older form may begin with a line that says its version.
        let is_pair = |merge: &Merge| !matches!(merge, Merge::Text(text) if text.starts_with("#version"));
        let mut pairs = Vec::with_capacity(self.merges.len());
        for merge in self.merges.into_iter().filter(is_pair) {
            pairs.push(match merge {
                Merge::Pair(left, right) => (left, right),
                Merge::Text(text) => match text.split_once(' ') {
                    Some((left, right)) if !right.contains(' ') => (left.to_owned(), right.to_owned()),
                    _ => return Err(TokenizerError::Damaged(format!("the merge `{text}` is not of two tokens"))),
                },
            });
        }
        let settings = (self.ignore_merges, unknown, self.fuse_unk);
        let merges = Merges::new(&trie, pairs.into_iter(), settings).map_err(TokenizerError::Damaged)?;
        Ok((Pieces::bpe(trie, merges), unknown))
    }
}

impl Model {
    /// Its pieces, its unknown token, and the numbers of its tokens.
    fn pieces(self) -> Result<(Pieces, Option<u32>, HashSet<u32>), TokenizerError> {
        Ok(match self {
            Model::WordPiece { vocab, unk_token, continuing_subword_prefix, max_input_chars_per_word } => {
                let unknown = vocab.get(&unk_token).copied();
                let vocab: Vec<(String, u32)> = vocab.into_iter().collect();
                let pieces = Pieces::word_piece(&vocab, &continuing_subword_prefix, max_input_chars_per_word);
                (pieces, unknown, vocab.into_iter().map(|(_, id)| id).collect())
            }
            Model::Unigram { vocab, unk_id } => {
                (Pieces::unigram(&vocab, unk_id), unk_id, (0..vocab.len() as u32).collect())
            }
            Model::Bpe(bpe) => {
                let numbers = bpe.vocab.values().copied().collect();
                let (pieces, unknown) = bpe.pieces()?;
                (pieces, unknown, numbers)
            }
        })
    }
}

/// A file that does not say the kind of its model. It is BPE, whose files are older than those of the other kinds.
fn untyped(json: &[u8]) -> Result<File<Model>, TokenizerError> {
    let File { normalizer, pre_tokenizer, added_tokens, model } = parsed(json)?;
    Ok(File { normalizer, pre_tokenizer, added_tokens, model: Model::Bpe(model) })
}

impl ModelTokenizer {
    /// Reads the text of `tokenizer.json` for a network: with its frame, and strictly.
    pub fn read(json: &[u8]) -> Result<Self, TokenizerError> {
        let file = Self::file(json)?;
        if let Model::WordPiece { vocab, .. } = &file.model {
            distinct(vocab)?;
        }
        let mut tokenizer = Self::of(file)?;
        if let Some(framing) = parsed::<Framed>(json)?.post_processor {
            tokenizer.frame = framing.frame().map_err(TokenizerError::Unsupported)?;
        }
        Ok(tokenizer)
    }

    /// Reads the text of `tokenizer.json` for a static table, which reads texts without a frame: a table made from a
    /// network may still come with the network's frame, although the tokens of the frame are gone.
    pub fn read_unframed(json: &[u8]) -> Result<Self, TokenizerError> {
        Self::of(Self::file(json)?)
    }

    fn file(json: &[u8]) -> Result<File<Model>, TokenizerError> {
        parsed(json).or_else(|error| match &error {
            TokenizerError::Unsupported(said) if said.contains("missing field `type`") => {
                untyped(json).map_err(|_| error)
            }
            _ => Err(error),
        })
    }

    fn of(file: File<Model>) -> Result<Self, TokenizerError> {
        let damaged = |said: &str| TokenizerError::Damaged(said.to_owned());
        let (pieces, unknown, mut numbers) = file.model.pieces()?;
        numbers.extend(file.added_tokens.iter().map(|added| added.id));
        let largest = numbers.iter().max().copied().ok_or_else(|| damaged("it has no tokens"))?;
        if largest == UNKNOWN {
            return Err(damaged("a token has the number 4294967295, which is too large"));
        }
        let added = file.added_tokens.into_iter();
        Ok(ModelTokenizer {
            normal: file.normalizer,
            words: file.pre_tokenizer,
            pieces,
            added: added.filter_map(|added| Some((added.content?, added.id))).collect(),
            unknown,
            frame: Frame::default(),
            tokens: numbers.len(),
            largest,
        })
    }

    /// What a network reads before, between and after a text or a pair of texts: nothing if the tokenizer was read
    /// [without a frame](Self::read_unframed).
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The number of a token that the file has under this name, in the vocabulary or among the added tokens.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.added.get(token).copied().or_else(|| self.pieces.vocabulary().piece(token.as_bytes()))
    }

    /// The first `most` tokens of a text as a network reads them, without a frame. Unknown text becomes the model's
    /// unknown token, or is left out if the model has none. The names of special tokens are read letter by letter.
    pub fn ids(&self, text: &str, most: usize) -> Vec<u32> {
        let normal = self.normal(text);
        let mut ids = Vec::with_capacity(most.min(normal.len() / 4 + 4));
        let mut word_ids = Vec::new();
        // Stops cutting words after the last wanted token, and does not read the rest of a word of a megabyte
        // (`cover_first`).
        let mut cover = |word: &str| {
            word_ids.clear();
            let left = most - ids.len();
            self.pieces.cover_first(word, left, &mut word_ids);
            let known = word_ids.iter().filter_map(|id| if *id == UNKNOWN { self.unknown } else { Some(*id) });
            ids.extend(known.take(left));
            ids.len() < most
        };
        if most > 0 && !normal.is_empty() {
            self.each_word(&normal, &mut cover);
        }
        ids
    }

    fn normal(&self, text: &str) -> String {
        match &self.normal {
            Some(normal) => normal.apply(text.to_owned()),
            None => text.to_owned(),
        }
    }

    /// How many tokens it has.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The largest number of a token.
    pub fn largest(&self) -> u32 {
        self.largest
    }

    /// The tokens of a text, in order; `u32::MAX` for unknown text.
    pub fn cut(&self, text: &str) -> Vec<u32> {
        let normal = self.normal(text);
        let mut tokens = Vec::with_capacity(text.len() / 4 + 4);
        self.each_word(&normal, &mut |word| {
            self.pieces.cover(word, &mut tokens);
            true
        });
        tokens
    }

    /// Gives the words of a text in its normal form to `each`, until that says no.
    fn each_word(&self, normal: &str, each: &mut dyn FnMut(&str) -> bool) {
        match &self.words {
            Some(words) => words.cut(normal, each),
            None => drop(each(normal)),
        }
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
