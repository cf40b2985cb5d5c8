//! What a network reads before, between and after its texts: the step `post_processor`.

use std::collections::HashMap;

use serde::Deserialize;

/// What a network reads before, between and after a text or a pair of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// For a single text: [`Part::First`] once, and the tokens around it.
    pub single: Vec<Part>,
    /// For two texts: [`Part::First`] and [`Part::Second`] once each, and the tokens around them.
    pub pair: Vec<Part>,
}

/// A part of what a network reads, and its side: the type that each of its tokens has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A token.
    Token {
        /// Its number.
        id: u32,
        /// Its type.
        side: u32,
    },
    /// The tokens of the text, or of the first of two.
    First {
        /// The type of each.
        side: u32,
    },
    /// The tokens of the second text.
    Second {
        /// The type of each.
        side: u32,
    },
}

impl Default for Frame {
    /// Nothing but the texts.
    fn default() -> Self {
        let (first, second) = (Part::First { side: 0 }, Part::Second { side: 1 });
        Frame { single: vec![first], pair: vec![first, second] }
    }
}

/// The step, as it is written in the file.
#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Framing {
    TemplateProcessing {
        single: Vec<Piece>,
        pair: Vec<Piece>,
        special_tokens: HashMap<String, Special>,
    },
    BertProcessing {
        sep: (String, u32),
        cls: (String, u32),
    },
    RobertaProcessing {
        sep: (String, u32),
        cls: (String, u32),
    },
    /// Changes the reported positions of tokens in the text, not the tokens.
    ByteLevel,
    Sequence {
        processors: Vec<Framing>,
    },
}

#[derive(Deserialize)]
pub(super) enum Piece {
    SpecialToken { id: String, type_id: u32 },
    Sequence { id: Which, type_id: u32 },
}

#[derive(Deserialize)]
pub(super) enum Which {
    A,
    B,
}

/// What a template's special token is: one token, as a rule.
#[derive(Deserialize)]
pub(super) struct Special {
    ids: Vec<u32>,
}

impl Framing {
    /// The frame that the step makes; the error says in words why it is not supported.
    pub(super) fn frame(self) -> Result<Frame, String> {
        let (first, second) = (|side| Part::First { side }, |side| Part::Second { side });
        let token = |id, side| Part::Token { id, side };
        match self {
            Framing::TemplateProcessing { single, pair, special_tokens } => {
                let frame = Frame { single: parts(single, &special_tokens)?, pair: parts(pair, &special_tokens)? };
                let texts = |parts: &[Part]| {
                    let is_first = |part: &&Part| matches!(part, Part::First { .. });
                    let is_second = |part: &&Part| matches!(part, Part::Second { .. });
                    (parts.iter().filter(is_first).count(), parts.iter().filter(is_second).count())
                };
                if (texts(&frame.single), texts(&frame.pair)) == ((1, 0), (1, 1)) {
                    Ok(frame)
                } else {
                    Err("a template of `post_processor` does not have each of its texts once".to_owned())
                }
            }
            Framing::BertProcessing { sep: (_, sep), cls: (_, cls) } => Ok(Frame {
                single: vec![token(cls, 0), first(0), token(sep, 0)],
                pair: vec![token(cls, 0), first(0), token(sep, 0), second(1), token(sep, 1)],
            }),
            // All of one type, and two tokens between the texts.
            Framing::RobertaProcessing { sep: (_, sep), cls: (_, cls) } => Ok(Frame {
                single: vec![token(cls, 0), first(0), token(sep, 0)],
                pair: vec![token(cls, 0), first(0), token(sep, 0), token(sep, 0), second(0), token(sep, 0)],
            }),
            Framing::ByteLevel => Ok(Frame::default()),
            Framing::Sequence { processors } => {
                let mut frames = processors.into_iter().filter(|step| !matches!(step, Framing::ByteLevel));
                let frame = frames.next().map_or_else(|| Ok(Frame::default()), Framing::frame)?;
                match frames.next() {
                    None => Ok(frame),
                    Some(_) => Err("`post_processor` frames a text more than once".to_owned()),
                }
            }
        }
    }
}

fn parts(pieces: Vec<Piece>, special: &HashMap<String, Special>) -> Result<Vec<Part>, String> {
    let mut parts = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Sequence { id: Which::A, type_id } => parts.push(Part::First { side: type_id }),
            Piece::Sequence { id: Which::B, type_id } => parts.push(Part::Second { side: type_id }),
            Piece::SpecialToken { id, type_id } => {
                let missing = || format!("a template names `{}`, which is not among its tokens", id.escape_debug());
                let ids = &special.get(&id).ok_or_else(missing)?.ids;
                parts.extend(ids.iter().map(|id| Part::Token { id: *id, side: type_id }));
            }
        }
    }
    Ok(parts)
}
