//! Qwen3, as Qwen3-Embedding and Qwen3-Reranker have it: each token sees those before it, so the last one has seen them
//! all. After "Qwen3 Technical Report" (2025) and "Qwen3 Embedding" (2025).

use serde::Deserialize;

use super::TransformerError;
use super::attention::{Heads, Rotation, Sight, Wanted, attend};
use super::batch::Batch;
use super::folder::{CHOOSE, Folder};
use super::functions::Activation;
use super::head::Head;
use super::matrix::{Linear, Matrix, Norm, Numbers, add};
use super::modernbert::gated;
use super::pooling::Pooling;
use super::weights::Weights;

/// `config.json`, as far as it concerns us.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Qwen3Config {
    pub(super) hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    head_dim: Option<usize>,
    intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    rms_norm_eps: f64,
    hidden_act: String,
    rope_theta: Option<f64>,
    /// Newer files have `rope_theta` in here.
    rope_parameters: Option<Rope>,
    rope_scaling: Option<serde_json::Value>,
    #[serde(default)]
    use_sliding_window: bool,
}

#[derive(Clone, Debug, Deserialize)]
struct Rope {
    rope_theta: f64,
    rope_type: Option<String>,
}

impl Qwen3Config {
    pub(super) fn check(&self, folder: &Folder) -> Result<(), TransformerError> {
        const FILE: &str = "config.json";
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("intermediate_size", self.intermediate_size),
            ("head_dim", self.heads().size),
        ];
        folder.not_zero(&sizes)?;
        let Heads { count, asked, size } = self.heads();
        if !count.is_multiple_of(asked) || !size.is_multiple_of(2) {
            let problem = format!("{count} heads of {size} values cannot share {asked}");
            return Err(folder.damaged(FILE, problem));
        }
        folder.is_number("rms_norm_eps", self.rms_norm_eps, 0.0)?;
        folder.is_number("rope_theta", self.theta(), 1.0)?;
        let other = self.rope_parameters.as_ref().and_then(|rope| rope.rope_type.as_deref());
        if self.rope_scaling.is_some() || other.is_some_and(|kind| kind != "default") {
            return Err(folder.unsupported(
                FILE,
                "positions that are stretched (`rope_scaling`) are not supported",
                CHOOSE,
            ));
        }
        if self.use_sliding_window {
            return Err(folder.unsupported(FILE, "`use_sliding_window` is not supported", CHOOSE));
        }
        folder.activation(&self.hidden_act).map(drop)
    }

    /// How slow the rotations are; without a word in the file, as in the models.
    fn theta(&self) -> f64 {
        self.rope_parameters.as_ref().map(|rope| rope.rope_theta).or(self.rope_theta).unwrap_or(1e6)
    }

    fn heads(&self) -> Heads {
        let size = self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1));
        Heads { count: self.num_attention_heads, asked: self.num_key_value_heads, size }
    }
}

struct Layer {
    attention_norm: Norm,
    /// Query, key and value.
    attention: Linear,
    query_norm: Norm,
    key_norm: Norm,
    attention_out: Linear,
    norm: Norm,
    /// The gate, and what is let through.
    inner: Linear,
    outer: Linear,
}

/// The network without a head.
pub(super) struct Decoder {
    words: Matrix,
    layers: Vec<Layer>,
    last_norm: Norm,
    heads: Heads,
    activation: Activation,
    theta: f64,
}

/// The prefix of the names of the weights, if they have one.
fn prefix(weights: &Weights<'_>) -> &'static str {
    if weights.has("model.embed_tokens.weight") { "model." } else { "" }
}

impl Decoder {
    pub(super) fn read(weights: &Weights<'_>, config: &Qwen3Config) -> Result<Self, TransformerError> {
        let prefix = prefix(weights);
        let (h, inner, epsilon, heads) =
            (config.hidden_size, config.intermediate_size, config.rms_norm_eps, config.heads());
        let layer = |i: usize| {
            let name = |name: &str| format!("{prefix}layers.{i}.{name}");
            let linear = |part: &str, inputs, outputs| weights.linear(&name(part), inputs, outputs);
            let norm = |part: &str, width| weights.mean_square(&name(part), width, epsilon);
            let keys = heads.asked * heads.size;
            let attention = vec![
                linear("self_attn.q_proj", h, heads.asking())?,
                linear("self_attn.k_proj", h, keys)?,
                linear("self_attn.v_proj", h, keys)?,
            ];
            Ok(Layer {
                attention_norm: norm("input_layernorm", h)?,
                attention: Linear::beside(attention),
                query_norm: norm("self_attn.q_norm", heads.size)?,
                key_norm: norm("self_attn.k_norm", heads.size)?,
                attention_out: linear("self_attn.o_proj", heads.asking(), h)?,
                norm: norm("post_attention_layernorm", h)?,
                inner: Linear::beside(vec![linear("mlp.gate_proj", h, inner)?, linear("mlp.up_proj", h, inner)?]),
                outer: linear("mlp.down_proj", inner, h)?,
            })
        };
        let words = format!("{prefix}embed_tokens.weight");
        Ok(Decoder {
            words: weights.matrix(&words, weights.rows(&words).unwrap_or(1), h)?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_, TransformerError>>()?,
            last_norm: weights.mean_square(&format!("{prefix}norm"), h, epsilon)?,
            heads,
            activation: weights.folder().activation(&config.hidden_act)?,
            theta: config.theta(),
        })
    }

    /// How many tokens it knows.
    pub(super) fn vocabulary(&self) -> usize {
        self.words.outputs()
    }

    /// The state of every token, row after row.
    pub(super) fn states(&self, batch: &Batch) -> Vec<f32> {
        let Heads { count, asked, size } = self.heads;
        let rotation = Rotation::new(self.theta, size, batch.longest());
        let mut x: Vec<f32> = batch.ids.iter().flat_map(|id| self.words.row(*id as usize).into_owned()).collect();
        for layer in &self.layers {
            let mut level = x.clone();
            layer.attention_norm.apply(&mut level);
            let mut parts = layer.attention.apply(&level);
            for row in parts.chunks_exact_mut(self.heads.width()) {
                let (queries, rest) = row.split_at_mut(count * size);
                layer.query_norm.apply(queries);
                layer.key_norm.apply(&mut rest[..asked * size]);
            }
            rotation.turn(&mut parts, &batch.lengths, self.heads);
            let taken = attend(&parts, &batch.lengths, self.heads, Sight::Before, Wanted::All, None);
            add(&mut x, &layer.attention_out.apply(&taken));
            level.copy_from_slice(&x);
            layer.norm.apply(&mut level);
            add(&mut x, &layer.outer.apply(&gated(layer.inner.apply(&level), &layer.inner, self.activation)));
        }
        self.last_norm.apply(&mut x);
        x
    }
}

/// The head of a reranker: its own label, or by how much it prefers to go on with "yes" over "no".
pub(super) fn head(
    weights: &Weights<'_>,
    config: &Qwen3Config,
    id: impl Fn(&str) -> Option<u32>,
) -> Result<Head, TransformerError> {
    let h = config.hidden_size;
    if weights.has("score.weight") {
        return Ok(Head { pooling: Pooling::Last, before: None, out: Head::label(weights, "score", h)? });
    }
    let tied = format!("{}embed_tokens.weight", prefix(weights));
    let name = if weights.has("lm_head.weight") { "lm_head.weight" } else { tied.as_str() };
    let words = weights.matrix(name, weights.rows(name).unwrap_or(1), h)?;
    let word = |token: &str| {
        let problem = || format!("it has no token `{token}`, by which this kind of reranker judges");
        let row = id(token).filter(|id| (*id as usize) < words.outputs());
        let row = row.ok_or_else(|| weights.folder().mismatch("tokenizer.json", problem()))?;
        Ok(words.row(row as usize).into_owned())
    };
    let (yes, no): (Vec<f32>, Vec<f32>) = (word("yes")?, word("no")?);
    let rather = yes.iter().zip(no).map(|(yes, no)| yes - no).collect();
    let out = Linear { weights: Matrix::new(Numbers::Single(rather), 1, h), bias: None };
    Ok(Head { pooling: Pooling::Last, before: None, out })
}
