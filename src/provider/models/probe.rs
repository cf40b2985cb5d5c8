//! Whether a folder holds a model that works: the code that will use it opens it and tries it on one input.

use std::path::Path;

use strum::VariantArray as _;

use super::ModelKind;
use crate::StaticModel;
use crate::transformer::{CrossEncoder, MUST_HAVE, TextRole, Transformer, TransformerError};

/// The inputs that a model is tried on.
const QUERY: &str = "where do herons nest";
const PASSAGE: &str = "Herons nest in tall trees near the water.";

/// Opens the model in `folder` and asks it for a vector or a score. Without a kind, any kind will do; the error is then
/// that of the kind that its files look like.
pub(super) fn probe(kind: Option<ModelKind>, folder: &Path) -> Result<(), String> {
    let Some(kind) = kind else {
        let looks = if folder.join(MUST_HAVE[0]).is_file() { ModelKind::Embedder } else { ModelKind::Static };
        let first = probe(Some(looks), folder);
        let others = ModelKind::VARIANTS.iter().copied().filter(|kind| *kind != looks);
        return first
            .or_else(|why| others.map(|kind| probe(Some(kind), folder)).find(Result::is_ok).unwrap_or(Err(why)));
    };
    match kind {
        ModelKind::CrossEncoder => {
            let model = CrossEncoder::open(folder).map_err(|error| error.to_string())?;
            let scores = model.scores(QUERY, &[PASSAGE]).map_err(|error| error.to_string())?;
            let fine = scores.len() == 1 && scores.iter().all(|score| (0.0..=1.0).contains(score));
            if fine { Ok(()) } else { Err("it gave no score from 0 to 1 for a pair of sentences".to_owned()) }
        }
        ModelKind::Embedder => {
            let model = Transformer::open(folder).map_err(|error| error.to_string())?;
            let vectors = model.embed(&[PASSAGE], TextRole::Document).map_err(|error| error.to_string())?;
            let fine = |vector: &Vec<f32>| {
                vector.len() == model.dimensions()
                    && vector.iter().all(|x| x.is_finite())
                    && vector.iter().any(|x| *x != 0.0)
            };
            if vectors.len() == 1 && vectors.iter().all(fine) {
                Ok(())
            } else {
                Err("it gave no vector of finite numbers for a sentence".to_owned())
            }
        }
        ModelKind::Static => {
            let model = StaticModel::open(folder).map_err(|error| error.to_string())?;
            // The vector of words that it does not know is all zero, and finite.
            let vector = model.embed(PASSAGE);
            let fine = vector.values.len() == model.dimensions() && vector.scale.is_finite();
            if fine { Ok(()) } else { Err("it gave no vector of finite numbers for a sentence".to_owned()) }
        }
    }
}

/// Checks the small files of a model before its weights are there; the error says what is wrong with them.
pub(super) fn foresee(kind: ModelKind, folder: &Path) -> Result<(), String> {
    let weights = folder.join(MUST_HAVE[2]);
    let opened = match kind {
        ModelKind::CrossEncoder => CrossEncoder::open(folder).map(drop),
        ModelKind::Embedder => Transformer::open(folder).map(drop),
        // Its only text is the tokenizer, which tells nothing without the vectors.
        ModelKind::Static => Ok(()),
    };
    match opened {
        Err(TransformerError::Missing { file, .. }) if file == weights => Ok(()),
        opened => opened.map_err(|error| error.to_string()),
    }
}
