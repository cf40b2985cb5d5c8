//! ModernBERT: places by rotation, most layers look at near tokens only, and linear maps have gates. After Warner et
//! al., "Smarter, Better, Faster, Longer" (2024).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::TransformerError;
use super::attention::{Heads, Rotation, Sight, Wanted, attend};
use super::batch::Batch;
use super::folder::{CHOOSE, Folder};
use super::functions::Activation;
use super::head::Head;
use super::matrix::{Linear, Matrix, Norm, add};
use super::pooling::Pooling;
use super::weights::Weights;

/// `config.json`, as far as it concerns us.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ModernBertConfig {
    pub(super) hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    #[serde(default = "gelu")]
    hidden_activation: String,
    #[serde(default = "gelu")]
    classifier_activation: String,
    classifier_pooling: Option<String>,
    #[serde(default = "epsilon")]
    norm_eps: f64,
    /// Tokens that a layer with local attention sees, half of them on each side.
    local_attention: usize,
    /// One layer in this many, beginning with the first, sees all tokens.
    #[serde(default = "every")]
    global_attn_every_n_layers: usize,
    global_rope_theta: Option<f64>,
    local_rope_theta: Option<f64>,
    /// Newer files have the two thetas above in here, and say in `layer_types` which layers see all.
    #[serde(default)]
    rope_parameters: BTreeMap<String, Rope>,
    layer_types: Option<Vec<String>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Rope {
    rope_theta: f64,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn epsilon() -> f64 {
    1e-5
}

fn every() -> usize {
    3
}

impl ModernBertConfig {
    pub(super) fn check(&self, folder: &Folder) -> Result<(), TransformerError> {
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
            ("global_attn_every_n_layers", self.global_attn_every_n_layers),
        ];
        folder.not_zero(&sizes)?;
        if !self.hidden_size.is_multiple_of(2 * self.num_attention_heads) {
            let problem = format!("{} heads cannot share {} values", self.num_attention_heads, self.hidden_size);
            return Err(folder.damaged("config.json", problem));
        }
        folder.is_number("norm_eps", self.norm_eps, 0.0)?;
        folder.is_number("global_rope_theta", self.theta(Sight::All), 1.0)?;
        folder.is_number("local_rope_theta", self.theta(self.near()), 1.0)?;
        for name in [&self.hidden_activation, &self.classifier_activation] {
            folder.activation(name)?;
        }
        match self.layer_types.as_deref() {
            Some(types) if types.len() != self.num_hidden_layers => {
                let problem = format!("it has {} layers, and `layer_types` {}", self.num_hidden_layers, types.len());
                Err(folder.damaged("config.json", problem))
            }
            _ => Ok(()),
        }
    }

    fn near(&self) -> Sight {
        Sight::Near(self.local_attention / 2)
    }

    /// What a layer sees.
    fn sight(&self, layer: usize) -> Sight {
        let all = match &self.layer_types {
            Some(types) => types.get(layer).is_some_and(|kind| kind == "full_attention"),
            None => layer.is_multiple_of(self.global_attn_every_n_layers),
        };
        if all { Sight::All } else { self.near() }
    }

    /// How slow the rotations are; without a word in the file, as in the paper.
    fn theta(&self, sight: Sight) -> f64 {
        let (name, old, usual) = match sight {
            Sight::All => ("full_attention", self.global_rope_theta, 160_000.0),
            Sight::Near(_) | Sight::Before => ("sliding_attention", self.local_rope_theta, 10_000.0),
        };
        self.rope_parameters.get(name).map(|rope| rope.rope_theta).or(old).unwrap_or(usual)
    }

    fn heads(&self) -> Heads {
        Heads::alike(self.num_attention_heads, self.hidden_size / self.num_attention_heads)
    }
}

struct Layer {
    sight: Sight,
    /// The first layer has none.
    attention_norm: Option<Norm>,
    /// Query, key and value.
    attention: Linear,
    attention_out: Linear,
    norm: Norm,
    /// What is let through, and the gate.
    inner: Linear,
    outer: Linear,
}

/// The network without a head.
pub(super) struct Encoder {
    words: Matrix,
    words_norm: Norm,
    layers: Vec<Layer>,
    last_norm: Norm,
    heads: Heads,
    activation: Activation,
    /// The theta of layers that see all, and that of the others.
    thetas: (f64, f64),
}

impl Encoder {
    pub(super) fn read(weights: &Weights<'_>, config: &ModernBertConfig) -> Result<Self, TransformerError> {
        let words = "embeddings.tok_embeddings.weight";
        let prefix = if weights.has(&format!("model.{words}")) { "model." } else { "" };
        let (h, inner, epsilon) = (config.hidden_size, config.intermediate_size, config.norm_eps);
        let norm = |name: &str| weights.norm(&format!("{prefix}{name}"), h, epsilon);
        let layer = |i: usize| {
            let linear =
                |name: &str, inputs, outputs| weights.linear(&format!("{prefix}layers.{i}.{name}"), inputs, outputs);
            let first = if i == 0 { None } else { Some(norm(&format!("layers.{i}.attn_norm"))?) };
            Ok(Layer {
                sight: config.sight(i),
                attention_norm: first,
                attention: linear("attn.Wqkv", h, 3 * h)?,
                attention_out: linear("attn.Wo", h, h)?,
                norm: norm(&format!("layers.{i}.mlp_norm"))?,
                inner: linear("mlp.Wi", h, 2 * inner)?,
                outer: linear("mlp.Wo", inner, h)?,
            })
        };
        let words = format!("{prefix}{words}");
        Ok(Encoder {
            words: weights.matrix(&words, weights.rows(&words).unwrap_or(1), h)?,
            words_norm: norm("embeddings.norm")?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_, TransformerError>>()?,
            last_norm: norm("final_norm")?,
            heads: config.heads(),
            activation: weights.folder().activation(&config.hidden_activation)?,
            thetas: (config.theta(Sight::All), config.theta(config.near())),
        })
    }

    /// How many tokens it knows.
    pub(super) fn vocabulary(&self) -> usize {
        self.words.outputs()
    }

    /// The state of every token, row after row.
    pub(super) fn states(&self, batch: &Batch) -> Vec<f32> {
        let turns = |theta| Rotation::new(theta, self.heads.size, batch.longest());
        let (far, near) = (turns(self.thetas.0), turns(self.thetas.1));
        let mut x: Vec<f32> = batch.ids.iter().flat_map(|id| self.words.row(*id as usize).into_owned()).collect();
        self.words_norm.apply(&mut x);
        for layer in &self.layers {
            let mut level = x.clone();
            if let Some(norm) = &layer.attention_norm {
                norm.apply(&mut level);
            }
            let mut parts = layer.attention.apply(&level);
            let rotation = if layer.sight == Sight::All { &far } else { &near };
            rotation.turn(&mut parts, &batch.lengths, self.heads);
            let taken = attend(&parts, &batch.lengths, self.heads, layer.sight, Wanted::All, None);
            add(&mut x, &layer.attention_out.apply(&taken));
            level.copy_from_slice(&x);
            layer.norm.apply(&mut level);
            add(&mut x, &layer.outer.apply(&gated(layer.inner.apply(&level), &layer.inner, self.activation)));
        }
        self.last_norm.apply(&mut x);
        x
    }
}

/// The first half of each row, activated, times the second (Shazeer, "GLU Variants Improve Transformer", 2020).
pub(super) fn gated(wide: Vec<f32>, of: &Linear, activation: Activation) -> Vec<f32> {
    let (width, mut out) = (of.weights.outputs(), Vec::with_capacity(wide.len() / 2));
    let mut wide = wide;
    for row in wide.chunks_exact_mut(width) {
        let (through, gate) = row.split_at_mut(width / 2);
        activation.apply(through);
        out.extend(through.iter().zip(gate).map(|(x, gate)| *x * *gate));
    }
    out
}

/// The head of a reranker.
pub(super) fn head(weights: &Weights<'_>, config: &ModernBertConfig) -> Result<Head, TransformerError> {
    let h = config.hidden_size;
    let out = Head::label(weights, "classifier", h)?;
    let norm = weights.norm("head.norm", h, config.norm_eps)?;
    let pooling = match config.classifier_pooling.as_deref() {
        Some("mean") => Pooling::Mean,
        None | Some("cls") => Pooling::First,
        Some(other) => {
            let problem = format!("`classifier_pooling` is `{other}`, and only `mean` and `cls` are supported");
            return Err(weights.folder().unsupported("config.json", problem, CHOOSE));
        }
    };
    let dense = weights.linear("head.dense", h, h)?;
    let activation = weights.folder().activation(&config.classifier_activation)?;
    Ok(Head { pooling, before: Some((dense, activation, Some(norm))), out })
}
