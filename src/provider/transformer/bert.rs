//! BERT and its descendants RoBERTa, XLM-RoBERTa, DistilBERT and MPNet, which differ in names and in how they count
//! positions: embeddings of tokens, positions and sides, then layers of attention and two linear maps each.
//!
//! After Devlin et al., "BERT" (2019), with the differences of RoBERTa (Liu et al. 2019), DistilBERT (Sanh et al. 2019)
//! and MPNet (Song et al. 2020).

mod config;

use super::TransformerError;
use super::attention::{Distances, Heads, Sight, Wanted, attend};
use super::batch::Batch;
use super::functions::Activation;
use super::head::Head;
use super::matrix::{Linear, Matrix, Norm, add};
use super::pooling::Pooling;
use super::weights::Weights;
use config::Architecture;
pub(super) use config::BertConfig;

/// What the parts of a layer are called in the file.
struct Names {
    /// Followed by the number of a layer.
    layers: &'static str,
    /// Query, key, value.
    attention: [&'static str; 3],
    attention_out: &'static str,
    attention_norm: &'static str,
    inner: &'static str,
    outer: &'static str,
    norm: &'static str,
}

const BERT: Names = Names {
    layers: "encoder.layer",
    attention: ["attention.self.query", "attention.self.key", "attention.self.value"],
    attention_out: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    inner: "intermediate.dense",
    outer: "output.dense",
    norm: "output.LayerNorm",
};

const MPNET: Names = Names {
    attention: ["attention.attn.q", "attention.attn.k", "attention.attn.v"],
    attention_out: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    ..BERT
};

const DISTILBERT: Names = Names {
    layers: "transformer.layer",
    attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    attention_out: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    inner: "ffn.lin1",
    outer: "ffn.lin2",
    norm: "output_layer_norm",
};

struct Layer {
    /// Query, key and value.
    attention: Linear,
    attention_out: Linear,
    attention_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
}

impl Layer {
    fn read(weights: &Weights<'_>, prefix: &str, names: &Names, config: &BertConfig) -> Result<Self, TransformerError> {
        let (h, inner, epsilon) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let read = |name: &str, inputs, outputs| weights.linear(&format!("{prefix}.{name}"), inputs, outputs);
        let norm = |name: &str| weights.norm(&format!("{prefix}.{name}"), h, epsilon);
        let attention = names.attention.iter().map(|name| read(name, h, h)).collect::<Result<_, _>>()?;
        Ok(Layer {
            attention: Linear::beside(attention),
            attention_out: read(names.attention_out, h, h)?,
            attention_norm: norm(names.attention_norm)?,
            inner: read(names.inner, h, inner)?,
            outer: read(names.outer, inner, h)?,
            norm: norm(names.norm)?,
        })
    }
}

/// The network without a head.
pub(super) struct Encoder {
    words: Matrix,
    /// Rows for positions, including those before the first position that a token can have.
    positions: Matrix,
    first_position: usize,
    /// Rows for the sides of a pair.
    sides: Option<Matrix>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: Heads,
    activation: Activation,
    /// MPNet's attention bias for near and far tokens: a row for each step of distance, with a value for each head.
    distances: Option<Matrix>,
}

impl Encoder {
    pub(super) fn read(weights: &Weights<'_>, config: &BertConfig) -> Result<Self, TransformerError> {
        let (own, names) = match config.architecture {
            Architecture::Bert => ("bert.", BERT),
            Architecture::Roberta => ("roberta.", BERT),
            Architecture::Mpnet => ("mpnet.", MPNET),
            Architecture::Distilbert => ("distilbert.", DISTILBERT),
        };
        let activation = weights.folder().activation(&config.hidden_act)?;
        // A network that was saved with a head has the name of its kind before all names.
        let words = "embeddings.word_embeddings.weight";
        let prefix = if weights.has(&format!("{own}{words}")) { own } else { "" };
        let table = |name: &str| format!("{prefix}embeddings.{name}.weight");
        let (h, heads) = (config.hidden_size, config.num_attention_heads);
        let sides = table("token_type_embeddings");
        let distances = match config.architecture {
            Architecture::Mpnet => {
                let name = format!("{prefix}encoder.relative_attention_bias.weight");
                Some(weights.matrix(&name, config.relative_attention_num_buckets, heads)?)
            }
            _ => None,
        };
        let layers = (0..config.num_hidden_layers)
            .map(|i| Layer::read(weights, &format!("{prefix}{}.{i}", names.layers), &names, config));
        let words = format!("{prefix}{words}");
        Ok(Encoder {
            words: weights.matrix(&words, weights.rows(&words).unwrap_or(1), h)?,
            positions: weights.matrix(&table("position_embeddings"), config.max_position_embeddings, h)?,
            first_position: config.first_position(),
            sides: weights.rows(&sides).map(|rows| weights.matrix(&sides, rows, h)).transpose()?,
            norm: weights.norm(&format!("{prefix}embeddings.LayerNorm"), h, config.layer_norm_eps)?,
            layers: layers.collect::<Result<_, _>>()?,
            heads: Heads::alike(heads, h / heads),
            activation,
            distances,
        })
    }

    /// How many tokens it knows.
    pub(super) fn vocabulary(&self) -> usize {
        self.words.outputs()
    }

    /// The states of the tokens that are wanted, row after row.
    pub(super) fn states(&self, batch: &Batch, wanted: Wanted) -> Vec<f32> {
        let h = self.words.inputs();
        let mut x = vec![0.0; batch.ids.len() * h];
        let tokens = batch.ids.iter().zip(&batch.types).zip(batch.places());
        for (row, ((id, side), place)) in x.chunks_exact_mut(h).zip(tokens) {
            row.copy_from_slice(&self.words.row(*id as usize));
            add(row, &self.positions.row(self.first_position + place));
            if let Some(sides) = &self.sides {
                // RoBERTa has one row for both sides, whatever its tokenizer says.
                add(row, &sides.row((*side as usize).min(sides.outputs() - 1)));
            }
        }
        self.norm.apply(&mut x);
        let distances = self.distances.as_ref().map(|table| {
            let value = |head, from, to| table.row(step(from, to, table.outputs()))[head];
            Distances::new(self.heads.count, batch.longest(), value)
        });
        for (i, layer) in self.layers.iter().enumerate() {
            let parts = layer.attention.apply(&x);
            // Before the last layer all tokens are needed, because others look at them.
            let wanted = if i + 1 == self.layers.len() { wanted } else { Wanted::All };
            let taken = attend(&parts, &batch.lengths, self.heads, Sight::All, wanted, distances.as_ref());
            if wanted == Wanted::First {
                let places = x.chunks_exact(h).zip(batch.places());
                x = places.filter(|(_, place)| *place == 0).flat_map(|(row, _)| row.to_vec()).collect();
            }
            add(&mut x, &layer.attention_out.apply(&taken));
            layer.attention_norm.apply(&mut x);
            let mut wide = layer.inner.apply(&x);
            self.activation.apply(&mut wide);
            add(&mut x, &layer.outer.apply(&wide));
            layer.norm.apply(&mut x);
        }
        x
    }
}

/// The row for a token that looks at another: half of the rows are for each direction. Half of these are for the
/// nearest distances one by one, and half for longer ones on a logarithmic scale. After Raffel et al., "T5" (2020),
/// §2.1.
fn step(from: usize, to: usize, steps: usize) -> usize {
    /// Everything farther is equally far.
    const FAR: f32 = 128.0;
    let half = steps / 2;
    let exact = half / 2;
    let distance = from.abs_diff(to);
    let step = if distance < exact {
        distance
    } else {
        let scale = (FAR / exact as f32).ln();
        let beyond = (distance as f32 / exact as f32).ln() / scale * (half - exact) as f32;
        (exact + beyond as usize).min(half - 1)
    };
    if to > from { half + step } else { step }
}

/// The head of a reranker.
pub(super) fn head(weights: &Weights<'_>, config: &BertConfig) -> Result<Head, TransformerError> {
    let (dense, activation, out) = match config.architecture {
        Architecture::Bert => ("bert.pooler.dense", Activation::Tanh, "classifier"),
        Architecture::Roberta | Architecture::Mpnet => ("classifier.dense", Activation::Tanh, "classifier.out_proj"),
        Architecture::Distilbert => ("pre_classifier", Activation::Relu, "classifier"),
    };
    let h = config.hidden_size;
    let out = Head::label(weights, out, h)?;
    let dense = weights.linear(dense, h, h)?;
    Ok(Head { pooling: Pooling::First, before: Some((dense, activation, None)), out })
}
