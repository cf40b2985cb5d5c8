//! How rare words are: numbers of a collection, counted here or by an engine elsewhere.

use tantivy::Term;

use super::documents::Fields;

/// The fields of the lexical lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Words,
    Context,
    Expansion,
}

impl Field {
    pub(super) const ALL: [Field; 3] = [Field::Words, Field::Context, Field::Expansion];

    /// The number of a term of this field. Two terms have the same number with a probability of one in four billion.
    pub(super) fn number(self, text: &str) -> u32 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[self as u8]).update(text.as_bytes());
        let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
        u32::from_le_bytes([a, b, c, d])
    }
}

/// A term that a query asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedTerm {
    /// Its number.
    pub number: u32,
    /// The weight of its field and of its word.
    pub weight: f32,
    field: Field,
    text: String,
}

impl AskedTerm {
    /// A term of no weight yet.
    pub(super) fn new(field: Field, text: &str) -> Self {
        AskedTerm { number: field.number(text), weight: 0.0, field, text: text.to_owned() }
    }

    /// The term in the lexical lane.
    pub(crate) fn in_lane(&self, fields: Fields) -> Term {
        let field = match self.field {
            Field::Words => fields.words,
            Field::Context => fields.around,
            Field::Expansion => fields.expansion,
        };
        Term::from_field_text(field, &self.text)
    }
}

/// The counts of a query's terms by an engine that keeps its own index of words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordStatistics {
    /// Its chunks.
    pub chunks: u64,
    /// The terms, each with how many of the chunks have it.
    pub terms: Vec<(AskedTerm, u64)>,
    /// The mean lengths against which it measures a chunk's.
    pub mean: MeanLengths,
}

/// The weight of a term that `having` of `chunks` chunks have: BM25's, as in the lexical lane.
pub fn rarity(chunks: u64, having: u64) -> f32 {
    let (chunks, having) = (chunks.max(having) as f32, having as f32);
    (1.0 + (chunks - having + 0.5) / (having + 0.5)).ln()
}

/// How many of `chunks` chunks have a term of this [`rarity`].
pub fn having(chunks: u64, rarity: f32) -> u64 {
    ((chunks as f32 + 1.0) / rarity.exp() - 0.5).round().clamp(0.0, chunks as f32) as u64
}

/// The mean number of words in each field of a chunk, against which a chunk's length is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanLengths(pub [f32; 3]);
