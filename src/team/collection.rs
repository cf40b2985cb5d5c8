//! What a collection looks like: its vectors, the indexes of its payloads, and the two kinds of points that are no chunks.

use index::Language;
use index::terms::MeanLengths;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Failure, Kind};

/// The layout of points. A collection with another one cannot be read and is filled anew.
pub(crate) const LAYOUT: u32 = 1;

/// The vectors of a chunk, one per window; the nearest counts.
pub(crate) const DENSE: &str = "dense";
/// The terms of a chunk.
pub(crate) const WORDS: &str = "words";

/// The field that tells kinds of points apart: `chunk`, `vault` or `collection`.
pub(crate) const WHAT: &str = "situated";

/// Payload fields that conditions use, their types, and whether their index is in a file: with these indexes and the
/// words in files a chunk takes a third less memory (`SCALE.md`). Each search checks the other two for every point.
const FIELDS: [(&str, &str, bool); 12] = [
    (WHAT, "keyword", true),
    ("vault", "keyword", false),
    ("path", "keyword", true),
    ("folders", "keyword", true),
    ("tags", "keyword", true),
    ("kind_key", "keyword", true),
    ("audience", "keyword", true),
    ("key", "keyword", true),
    ("keeper", "keyword", true),
    ("day", "integer", true),
    ("position", "integer", true),
    ("revision", "integer", false),
];

/// How vectors are looked at first, by one byte or one bit per value, before an exact look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantisation {
    /// One byte per value: what our vectors have anyway, so that nothing is lost.
    #[default]
    Byte,
    /// One bit per value: an eighth of the memory, for tens of millions of chunks.
    Bit,
}

/// The request that creates a collection.
pub(crate) fn made_with(dimensions: usize, quantisation: Quantisation) -> Value {
    let quantisation = match quantisation {
        Quantisation::Byte => json!({"scalar": {"type": "int8", "quantile": 1.0, "always_ram": true}}),
        Quantisation::Bit => json!({"binary": {"always_ram": true}}),
    };
    json!({
        "vectors": {DENSE: {
            "size": dimensions,
            // Vectors are of length one; this leaves them as they are.
            "distance": "Dot",
            "on_disk": true,
            "multivector_config": {"comparator": "max_sim"},
        }},
        "quantization_config": quantisation,
        // No graph: it missed a third of what is nearest, and a look at all quantised vectors is as fast (`SCALE.md`).
        "hnsw_config": {"m": 0},
        "sparse_vectors": {WORDS: {"modifier": "idf", "index": {"on_disk": true}}},
        "on_disk_payload": true,
    })
}

/// The indexes of its payloads.
pub(crate) fn fields() -> impl Iterator<Item = Value> {
    let index = |(name, kind, on_disk)| json!({"field_name": name, "field_schema": {"type": kind, "on_disk": on_disk}});
    FIELDS.into_iter().map(index)
}

/// What holds for a whole collection, stored in its own point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The layout of points.
    pub layout: u32,
    /// Who made the vectors: another embedder's cannot be compared with them.
    pub embedder: String,
    /// Their dimensions.
    pub dimensions: usize,
    /// What lengths are measured by: the mean number of words of a chunk in each field, as of the first vault.
    pub mean: [f32; 3],
    /// Codes of the languages that words were stemmed in.
    pub languages: Vec<String>,
    /// Whether vectors are looked at as bits first, or as bytes.
    #[serde(default)]
    pub bits: bool,
}

impl Described {
    /// The description of a collection whose first vault has this embedder.
    pub fn new(embedder: &str, dimensions: usize, mean: MeanLengths, languages: &[Language]) -> Self {
        let languages = languages.iter().map(|language| language.code().to_owned()).collect();
        Described { layout: LAYOUT, embedder: embedder.to_owned(), dimensions, mean: mean.0, languages, bits: false }
    }

    /// The languages that a query's words are looked up in.
    pub fn languages(&self) -> Vec<Language> {
        self.languages.iter().filter_map(|code| Language::of_code(code)).collect()
    }

    /// What lengths are measured by.
    pub fn mean(&self) -> MeanLengths {
        MeanLengths(self.mean)
    }

    /// Checks that the collection can be used with an embedder; `None` as embedder for a caller that only reads words.
    ///
    /// # Errors
    /// What differs, and what to do.
    pub fn check(&self, embedder: Option<&str>, name: &str) -> Result<(), Failure> {
        if self.layout != LAYOUT {
            let (theirs, why) = (self.layout, if self.layout > LAYOUT { "newer" } else { "older" });
            let todo = "bring all to the same version, then `situated team drop` and `publish` fill it anew";
            let message =
                format!("`{name}` was filled by a {why} version of situated (layout {theirs}, not {LAYOUT}); {todo}");
            return Err(Failure::new(Kind::Other, message));
        }
        match embedder.filter(|embedder| *embedder != self.embedder) {
            None => Ok(()),
            Some(own) => Err(Failure::new(
                Kind::Other,
                format!(
                    "the vectors of `{name}` are those of {}, and `[embed]` here is {own}; take the same embedder, or \
                     another collection",
                    self.embedder
                ),
            )),
        }
    }
}

/// How far a vault is, and who keeps it, stored in its own point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VaultState {
    /// Its name.
    pub vault: String,
    /// Points up to this number are visible to all.
    pub revision: u64,
    /// A random word that only its keeper knows, hashed.
    pub keeper: String,
    /// Where the keeper is, for people.
    pub host: String,
}

impl VaultState {
    /// The failure that a second keeper gets.
    pub fn kept(&self) -> Failure {
        let VaultState { vault, host, .. } = self;
        Failure::new(
            Kind::Kept,
            format!(
                "the vault `{vault}` is published by {host}; a vault has one keeper. If that one is gone for good: \
                 `situated team publish --take-over`"
            ),
        )
    }
}
