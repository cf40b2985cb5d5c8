//! The last part of a reranker: one number from the states of a pair's tokens.

use super::TransformerError;
use super::functions::{Activation, sigmoid};
use super::matrix::{Linear, Norm};
use super::pooling::Pooling;
use super::weights::Weights;

/// Turns the states of a pair into one number.
pub(super) struct Head {
    pub(super) pooling: Pooling,
    /// Maps, activations and norms before the last map.
    pub(super) before: Option<(Linear, Activation, Option<Norm>)>,
    /// The last map, to one number.
    pub(super) out: Linear,
}

/// What to do about a model that gives more or less than one number.
const CHOOSE: &str = "choose a reranker: a cross-encoder with one label";

impl Head {
    /// The last map of a model with one label.
    pub(super) fn label(weights: &Weights<'_>, name: &str, width: usize) -> Result<Linear, TransformerError> {
        let labels = weights.rows(&format!("{name}.weight")).ok_or_else(|| {
            let problem = format!("it has no `{name}`: this is no reranker");
            weights.folder().unsupported("model.safetensors", problem, CHOOSE)
        })?;
        if labels != 1 {
            let problem = format!("it has {labels} labels, and a reranker has one");
            return Err(weights.folder().unsupported("model.safetensors", problem, CHOOSE));
        }
        weights.linear(name, width, 1)
    }

    /// The score, 0 to 1, from the states of one pair's tokens: rows of `width` values.
    pub(super) fn score(&self, states: &[f32], width: usize) -> f32 {
        let mut state = self.pooling.pool(states, width);
        if let Some((dense, activation, norm)) = &self.before {
            state = dense.apply(&state);
            activation.apply(&mut state);
            if let Some(norm) = norm {
                norm.apply(&mut state);
            }
        }
        sigmoid(self.out.apply(&state)[0])
    }
}
