//! The built-in model, compiled in: a table of word pieces and their vectors. Pure.
//!
//! A text's vector is the normalised sum of its pieces' rows; there is no neural network at run time, so
//! embedding costs little more than reading the text. The rows stay in the program's read-only data: only
//! two small hash tables are built, at first use. Components are summed in the order of the pieces, one
//! lane per component and without fused multiplication, so that every machine gives the same vectors.

use std::sync::OnceLock;

use super::apart::{embed_all_apart, embed_apart, normalise};
pub use super::safetensors::ModelError;
use super::safetensors::Tensors;
use super::tokenizer::{KnownWords, Sink, Tokenizer};
use super::{Input, Vector};
use crate::scratch::Scratch;

/// Name and version of the model.
pub const IDENTITY: &str = "builtin static-v1/2";
/// Components of a vector.
pub const DIMENSIONS: usize = 256;

/// A text of at least this many bytes is from a note, not a query.
const LONG: usize = 1000;

static FILE: &[u8] = include_bytes!("static-v1.safetensors");

/// The model.
pub struct BuiltinModel {
    tokenizer: Tokenizer<'static>,
    /// One row of [`DIMENSIONS`] int8 values per piece.
    rows: &'static [[u8; DIMENSIONS]],
    /// The factor of each row, f32 in little-endian bytes.
    scales: &'static [[u8; 4]],
}

/// The model compiled in. The first call builds its tables, which takes a few milliseconds.
pub fn model() -> &'static BuiltinModel {
    static MODEL: OnceLock<BuiltinModel> = OnceLock::new();
    MODEL.get_or_init(|| match BuiltinModel::read(FILE) {
        Ok(model) => model,
        // The bytes are a constant of the program, and the tests below read them.
        Err(error) => panic!("the model compiled in is damaged: {error}"),
    })
}

impl BuiltinModel {
    /// Reads a model: tensors `emb` (int8, pieces × [`DIMENSIONS`]), `scale` (f32 per piece), `vocab`
    /// (UTF-8, one piece per line, the first one unknown).
    pub fn read(file: &'static [u8]) -> Result<Self, ModelError> {
        let tensors = Tensors::read(file)?;
        let (vocab, _) = tensors.tensor("vocab", "U8", 1)?;
        let (rows, shape) = tensors.tensor("emb", "I8", 1)?;
        let (scales, _) = tensors.tensor("scale", "F32", 4)?;
        let tokenizer = Tokenizer::new(vocab).map_err(|problem| ModelError::Tensor { name: "vocab", problem })?;
        let (rows, _) = rows.as_chunks();
        let (scales, _) = scales.as_chunks();
        let pieces = tokenizer.pieces();
        if shape != [pieces, DIMENSIONS] || scales.len() != pieces {
            let problem = format!("{shape:?} and {} factors for {pieces} pieces", scales.len());
            return Err(ModelError::Tensor { name: "emb", problem });
        }
        Ok(BuiltinModel { tokenizer, rows, scales })
    }

    /// The vector of `text`; the zero vector if it has no pieces.
    pub fn embed(&self, text: &str) -> Vector {
        Vector::quantized(&self.embed_f32(text))
    }

    /// The vector of an input: its text, its context, and its questions and terms are embedded separately.
    pub fn embed_input(&self, input: &Input) -> Vector {
        embed_apart(input, |text| self.embed_f32(text))
    }

    /// The vectors of the inputs of a chunk.
    pub fn embed_inputs(&self, inputs: &[&Input]) -> Vec<Vector> {
        embed_all_apart(inputs, |text| self.embed_f32(text))
    }

    /// The vector of `text` before quantisation: of length 1, or zero if it has no pieces.
    pub fn embed_f32(&self, text: &str) -> [f32; DIMENSIONS] {
        let mut sum = self.sum(&self.tokenize(text));
        normalise(&mut sum);
        sum
    }

    /// How far the model knows the language of `text`, 0..=1.
    ///
    /// A word of a language that the model was made from is one piece or two. In other scripts every character is a
    /// piece, and the sum of such pieces means little. So the measure is pieces per letter or digit: at the median .25
    /// in English questions, .40 in German, .98 in Russian and 1.07 in Chinese ones (XQuAD). Names (`IPv4`, `C++`,
    /// `br_if`, `RFC`) belong to no language: ASCII words with digits or symbols, or of capitals alone, do not count.
    pub fn familiarity(&self, text: &str) -> f32 {
        const KNOWN: f32 = 0.45;
        const FOREIGN: f32 = 0.7;
        let (mut pieces, mut letters) = (0, 0);
        for word in text.split_whitespace().filter(|word| !is_name(word)) {
            pieces += self.count(word);
            letters += word.chars().filter(|c| c.is_alphanumeric()).count();
        }
        if letters == 0 {
            return 1.0;
        }
        ((FOREIGN - pieces as f32 / letters as f32) / (FOREIGN - KNOWN)).clamp(0.0, 1.0)
    }

    /// How many pieces `text` has.
    pub fn count(&self, text: &str) -> usize {
        let mut count = 0;
        self.run(text, &mut count);
        count
    }

    /// The rows of the pieces of `text`, in order.
    pub fn tokenize(&self, text: &str) -> Vec<u16> {
        // English has a piece for about every four to five bytes.
        let mut ids = Vec::with_capacity(text.len() / 4 + 4);
        self.run(text, &mut ids);
        ids
    }

    /// The byte of `text` where each piece begins, in order: never falling, always the start of a character. If a
    /// character has several pieces, they share its start.
    pub fn token_starts(&self, text: &str) -> Vec<u32> {
        let mut starts = Vec::with_capacity(text.len() / 4 + 4);
        self.run(text, &mut starts);
        starts
    }

    /// Gives the pieces of `text` to `sink`. Known words are cached once a long text was read: a process that only
    /// embeds queries needs no cache.
    fn run(&self, text: &str, sink: &mut impl Sink) {
        static KNOWN: Scratch<KnownWords> = Scratch::new();
        let known = KNOWN.take().or_else(|| (text.len() >= LONG).then(KnownWords::default));
        let Some(mut known) = known else { return self.tokenizer.run(text, None, sink) };
        self.tokenizer.run(text, Some(&mut known), sink);
        KNOWN.give(known);
    }

    fn sum(&self, ids: &[u16]) -> [f32; DIMENSIONS] {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            #[target_feature(enable = "avx2")]
            fn with_avx2(model: &BuiltinModel, ids: &[u16]) -> [f32; DIMENSIONS] {
                sum(model, ids)
            }
            // SAFETY: the processor has AVX2, the only thing that the function requires.
            return unsafe { with_avx2(self, ids) };
        }
        sum(self, ids)
    }
}

/// Whether a word is a name, which belongs to no language: ASCII with digits or symbols in it, or of capitals alone.
fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '+' | '#'));
    let is_plain = |byte: u8| byte.is_ascii_alphabetic() || byte == b'\'' || byte == b'-';
    let capitals = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    word.is_ascii() && (capitals || !word.bytes().all(is_plain))
}

/// The sum of the rows `ids`. Adds one cache line of every row at a time, so that the running sums of its 64 components
/// stay in registers; inlined into callers with wider registers.
#[inline(always)]
fn sum(model: &BuiltinModel, ids: &[u16]) -> [f32; DIMENSIONS] {
    const LINE: usize = 64;
    let mut out = [0.0; DIMENSIONS];
    for (line, out) in out.as_chunks_mut::<LINE>().0.iter_mut().enumerate() {
        let mut sums = [0.0; LINE];
        for id in ids {
            let id = usize::from(*id);
            let scale = f32::from_le_bytes(model.scales[id]);
            let values = &model.rows[id].as_chunks::<LINE>().0[line];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += scale * f32::from(value.cast_signed());
            }
        }
        *out = sums;
    }
    out
}

#[cfg(test)]
mod tests;
