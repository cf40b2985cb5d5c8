//! Texts as tokens, by the model's own `tokenizer.json`.

use std::borrow::Cow;

use index::embed::model_tokenizer::{ModelTokenizer, Part, TokenizerError};

use super::TransformerError;
use super::batch::Tokens;
use super::folder::Folder;
use super::settings::{PairForm, Settings};

const FILE: &str = "tokenizer.json";

/// The tokenizer of a model, and how the model takes texts and pairs.
pub(super) struct Pieces {
    tokenizer: ModelTokenizer,
    lowercase: bool,
    most: usize,
    form: Form,
    hash: blake3::Hash,
}

/// How a pair is put together.
enum Form {
    /// As the tokenizer frames it.
    Frame,
    /// As a question to a chat model, between these tokens.
    Question { before: Vec<u32>, after: Vec<u32> },
}

/// The query, which is the first text of many pairs.
pub(super) struct QueryTokens<'a> {
    text: Cow<'a, str>,
    ids: Vec<u32>,
}

/// What a chat model is asked, as Qwen3-Reranker was trained ("Qwen3 Embedding", 2025, and the model's card).
mod question {
    pub(super) const SYSTEM: &str = "system\nJudge whether the Document meets the requirements based on the Query and the Instruct \
                                     provided. Note that the answer can only be \"yes\" or \"no\".";
    pub(super) const TASK: &str = "Given a web search query, retrieve relevant passages that answer the query";
    /// What begins and ends a turn, and a thought.
    pub(super) const MARKS: [&str; 4] = ["<|im_start|>", "<|im_end|>", "<think>", "</think>"];
}

impl Pieces {
    pub(super) fn read(folder: &Folder, settings: &Settings) -> Result<Self, TransformerError> {
        let bytes = folder.tokenizer()?;
        let tokenizer = ModelTokenizer::read(&bytes).map_err(|error| match error {
            TokenizerError::Damaged(_) => folder.damaged(FILE, error.to_string()),
            TokenizerError::Unsupported(_) => {
                folder.unsupported(FILE, error.to_string(), "choose a model with another tokenizer")
            }
        })?;
        let form = match settings.pairs {
            PairForm::Frame => Form::Frame,
            PairForm::Question => ask(folder, &tokenizer)?,
        };
        let pieces = Pieces {
            tokenizer,
            lowercase: settings.lowercase,
            most: settings.max_tokens,
            form,
            hash: blake3::hash(&bytes),
        };
        let frame = pieces.frame(false).max(pieces.frame(true));
        // Each side of a pair keeps a token at least.
        if frame + 2 > pieces.most {
            let problem = format!("it adds {frame} tokens, and a text may have {} only", pieces.most);
            return Err(folder.mismatch(FILE, problem));
        }
        Ok(pieces)
    }

    /// Fails if there are tokens beyond the `rows` that a network knows.
    pub(super) fn must_fit(&self, folder: &Folder, rows: usize) -> Result<(), TransformerError> {
        let largest = self.tokenizer.largest();
        if (largest as usize) < rows {
            return Ok(());
        }
        let problem = format!("it has a token {largest}, and the network has vectors of {rows} tokens only");
        Err(folder.mismatch(FILE, problem))
    }

    /// The hash of the bytes of the file.
    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash
    }

    /// The number of a token, which is given as in the file.
    pub(super) fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.id(token)
    }

    /// How many tokens `text` has, without those that begin and end it.
    pub(super) fn count(&self, text: &str) -> usize {
        self.cut(text, usize::MAX).len()
    }

    /// How many tokens begin, part and end a text, or a pair of texts.
    fn frame(&self, pair: bool) -> usize {
        match &self.form {
            Form::Question { before, after } if pair => before.len() + after.len(),
            _ => self.parts(pair).iter().filter(|part| matches!(part, Part::Token { .. })).count(),
        }
    }

    fn parts(&self, pair: bool) -> &[Part] {
        let frame = self.tokenizer.frame();
        if pair { &frame.pair } else { &frame.single }
    }

    fn cut(&self, text: &str, most: usize) -> Vec<u32> {
        let text = if self.lowercase { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) };
        self.tokenizer.ids(&text, most)
    }

    /// The tokens of `prefix` and `text`, cut off at what a text may have.
    pub(super) fn single(&self, prefix: &str, text: &str) -> Tokens {
        let text = if prefix.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{prefix}{text}")) };
        self.join(false, &self.cut(&text, self.most - self.frame(false)), &[])
    }

    /// The query of many [pairs](Self::pair).
    pub(super) fn query<'a>(&self, query: &'a str) -> QueryTokens<'a> {
        let most = (self.most - self.frame(true)) / 2;
        let ids = self.cut(query, most.saturating_add(1));
        // If the query has more than `most` tokens, its text, which a question needs, is cut to as many bytes.
        let end = if ids.len() > most { most } else { query.len() };
        let text = Cow::Borrowed(&query[..query.floor_char_boundary(end)]);
        QueryTokens { text, ids: ids[..ids.len().min(most)].to_vec() }
    }

    /// The tokens of a query and a passage, together as many as a text may have. If there are more, the end of the
    /// passage is cut off, and a query is cut to half of the tokens.
    pub(super) fn pair(&self, query: &QueryTokens<'_>, passage: &str) -> Tokens {
        let room = self.most - self.frame(true);
        match &self.form {
            Form::Frame => self.join(true, &query.ids, &self.cut(passage, room - query.ids.len())),
            Form::Question { before, after } => {
                let body = format!("<Instruct>: {}\n<Query>: {}\n<Document>: {passage}", question::TASK, query.text);
                let mut tokens = Tokens::default();
                for ids in [before, &self.cut(&body, room), after] {
                    tokens.push(ids, 0);
                }
                tokens
            }
        }
    }

    fn join(&self, pair: bool, first: &[u32], second: &[u32]) -> Tokens {
        let mut tokens = Tokens::default();
        for part in self.parts(pair) {
            match *part {
                Part::Token { id, side } => tokens.push(&[id], side),
                Part::First { side } => tokens.push(first, side),
                Part::Second { side } => tokens.push(second, side),
            }
        }
        // Without a frame, an empty text has no tokens; the network needs one.
        if tokens.ids.is_empty() {
            tokens.push(&[0], 0);
        }
        tokens
    }
}

/// The tokens before and after a question.
fn ask(folder: &Folder, tokenizer: &ModelTokenizer) -> Result<Form, TransformerError> {
    let mark = |token: &str| {
        let missing = || folder.mismatch(FILE, format!("it has no token `{token}`, which this kind of reranker reads"));
        tokenizer.id(token).ok_or_else(missing)
    };
    let [start, end, think, thought] = question::MARKS.map(mark);
    let (start, end, think, thought) = (start?, end?, think?, thought?);
    let text = |text: &str| tokenizer.ids(text, usize::MAX);
    let before = [vec![start], text(question::SYSTEM), vec![end], text("\n"), vec![start], text("user\n")].concat();
    let after = [
        vec![end],
        text("\n"),
        vec![start],
        text("assistant\n"),
        vec![think],
        text("\n\n"),
        vec![thought],
        text("\n\n"),
    ];
    Ok(Form::Question { before, after: after.concat() })
}
