//! The network: embeddings of tokens, positions and sides, then layers of attention and two linear maps each.
//!
//! After Devlin et al., "BERT" (2019), with the differences of RoBERTa (Liu et al. 2019), DistilBERT (Sanh et al. 2019)
//! and MPNet (Song et al. 2020). Shapes in comments: `b` texts of `n` tokens (padded to the longest), `h` values per
//! token in `a` heads of `d`.

use candle_core::{Device, Result, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};

use super::TransformerError;
use super::settings::{Architecture, Network};
use super::tokens::Tokens;
use super::weights::Weights;

/// Texts that are computed together.
pub(super) struct Batch {
    lengths: Vec<usize>,
    /// Tokens of the longest.
    length: usize,
    /// Text after text, each `length` long.
    ids: Vec<u32>,
    types: Vec<u32>,
}

impl Batch {
    pub(super) fn new(texts: &[&Tokens]) -> Self {
        let lengths: Vec<usize> = texts.iter().map(|text| text.ids.len()).collect();
        let length = lengths.iter().copied().max().unwrap_or(0);
        let padded = |values: &dyn Fn(&Tokens) -> Vec<u32>| {
            let mut all = Vec::with_capacity(length * texts.len());
            for (i, text) in texts.iter().enumerate() {
                all.extend(values(text));
                // Which token fills up does not matter: nothing looks at it.
                all.resize((i + 1) * length, 0);
            }
            all
        };
        let (ids, types) = (padded(&|text| text.ids.clone()), padded(&|text| text.types.clone()));
        Batch { lengths, length, ids, types }
    }

    /// Tokens of each text.
    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Tokens of the longest text, to which the others are padded.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// What is added to the likeness of each token to another: nothing, or for padding so much that it has no weight.
    /// b × 1 × 1 × n; `None` if there is no padding.
    fn mask(&self) -> Result<Option<Tensor>> {
        if self.lengths.iter().all(|tokens| *tokens == self.length) {
            return Ok(None);
        }
        let weights = self
            .lengths
            .iter()
            .flat_map(|tokens| (0..self.length).map(move |i| if i < *tokens { 0.0 } else { -1e9_f32 }));
        Tensor::from_iter(weights, &Device::Cpu)?.reshape((self.lengths.len(), 1, 1, self.length)).map(Some)
    }
}

/// `x · weightᵀ + bias`.
pub(super) struct Linear {
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    pub(super) fn read(
        weights: &Weights,
        name: &str,
        input: usize,
        output: usize,
    ) -> std::result::Result<Self, TransformerError> {
        let weight = weights.tensor(&format!("{name}.weight"), &[output, input])?;
        Ok(Linear { weight, bias: weights.tensor(&format!("{name}.bias"), &[output])? })
    }

    /// For rows of inputs.
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.weight.t()?)?.broadcast_add(&self.bias)
    }

    fn times(&self, factor: f64) -> Result<Self> {
        Ok(Linear { weight: (&self.weight * factor)?, bias: (&self.bias * factor)? })
    }

    /// One whose output is that of all of these, side by side.
    fn beside(parts: &[Linear]) -> Result<Self> {
        let weights: Vec<&Tensor> = parts.iter().map(|part| &part.weight).collect();
        let biases: Vec<&Tensor> = parts.iter().map(|part| &part.bias).collect();
        Ok(Linear { weight: Tensor::cat(&weights, 0)?, bias: Tensor::cat(&biases, 0)? })
    }
}

/// Makes the values of each token have mean 0 and variance 1, then scales and shifts them.
struct Norm {
    scale: Tensor,
    shift: Tensor,
    epsilon: f32,
}

impl Norm {
    fn read(weights: &Weights, name: &str, network: &Network) -> std::result::Result<Self, TransformerError> {
        let part = |names: [&str; 2]| {
            // Weights that once were of TensorFlow have the other names.
            let names = names.map(|part| format!("{name}.{part}"));
            weights.tensor(weights.first_of(&[&names[0], &names[1]]), &[network.hidden_size])
        };
        let epsilon = network.layer_norm_eps as f32;
        Ok(Norm { scale: part(["weight", "gamma"])?, shift: part(["bias", "beta"])?, epsilon })
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        layer_norm(x, &self.scale, &self.shift, self.epsilon)
    }
}

/// Functions between linear maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    Gelu,
    /// By tanh, which differs from the above in the fourth digit.
    GeluTanh,
    Relu,
    Tanh,
}

impl Activation {
    pub(super) fn apply(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Activation::Gelu => x.gelu_erf(),
            Activation::GeluTanh => x.gelu(),
            Activation::Relu => x.relu(),
            Activation::Tanh => x.tanh(),
        }
    }
}

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
    /// Query (divided by √d), key and value.
    attention: Linear,
    attention_out: Linear,
    attention_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
}

impl Layer {
    fn read(
        weights: &Weights,
        prefix: &str,
        names: &Names,
        network: &Network,
    ) -> std::result::Result<Self, TransformerError> {
        let (h, inner) = (network.hidden_size, network.intermediate_size);
        let read = |name: &str, input, output| Linear::read(weights, &format!("{prefix}.{name}"), input, output);
        let [query, key, value] = names.attention.map(|name| read(name, h, h));
        let d = h / network.num_attention_heads;
        let (query, key, value) = (query?, key?, value?);
        let attention = query.times(1.0 / (d as f64).sqrt()).and_then(|query| Linear::beside(&[query, key, value]));
        Ok(Layer {
            attention: attention.map_err(|error| weights.mismatch(error.to_string()))?,
            attention_out: read(names.attention_out, h, h)?,
            attention_norm: Norm::read(weights, &format!("{prefix}.{}", names.attention_norm), network)?,
            inner: read(names.inner, h, inner)?,
            outer: read(names.outer, inner, h)?,
            norm: Norm::read(weights, &format!("{prefix}.{}", names.norm), network)?,
        })
    }

    /// From bn × h to bn × h. `bias` is added to the likeness of tokens, of a shape that can be spread to b × a × n × n.
    fn apply(&self, x: &Tensor, b: usize, heads: usize, act: Activation, bias: &[Tensor]) -> Result<Tensor> {
        let (rows, h) = x.dims2()?;
        let parts = self.attention.apply(x)?.reshape((b, rows / b, 3, heads, h / heads))?;
        // 3 × b × a × n × d
        let parts = parts.permute((2, 0, 3, 1, 4))?.contiguous()?;
        let (query, key, value) = (parts.get(0)?, parts.get(1)?, parts.get(2)?);
        let mut likeness = query.matmul(&key.t()?)?;
        for bias in bias {
            likeness = likeness.broadcast_add(bias)?;
        }
        let mixed = softmax_last_dim(&likeness)?.matmul(&value)?.transpose(1, 2)?.reshape((rows, h))?;
        let x = self.attention_norm.apply(&(self.attention_out.apply(&mixed)? + x)?)?;
        let wide = act.apply(&self.inner.apply(&x)?)?;
        self.norm.apply(&(self.outer.apply(&wide)? + &x)?)
    }
}

/// The network of an embedder, or of a reranker without its head.
pub(super) struct Encoder {
    /// Rows for tokens.
    words: Tensor,
    /// Rows for positions, from the first that a token can have.
    positions: Tensor,
    /// Rows for the sides of a pair.
    sides: Option<Tensor>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    activation: Activation,
    /// MPNet's: how much near and far tokens have to do with each other, a row of `a` values for each distance.
    distances: Option<Tensor>,
}

impl Encoder {
    pub(super) fn read(weights: &Weights, network: &Network) -> std::result::Result<Self, TransformerError> {
        let (own, names) = match network.architecture {
            Architecture::Bert => ("bert.", BERT),
            Architecture::Roberta => ("roberta.", BERT),
            Architecture::Mpnet => ("mpnet.", MPNET),
            Architecture::Distilbert => ("distilbert.", DISTILBERT),
        };
        let activation = match network.hidden_act.as_str() {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            other => {
                let problem = format!("the activation `{other}` is not supported");
                return Err(weights.folder().unsupported("config.json", problem, "choose a model with gelu or relu"));
            }
        };
        // A network that was saved with a head has its kind before all names.
        let words = "embeddings.word_embeddings.weight";
        let prefix = if weights.has(&format!("{own}{words}")) { own } else { "" };
        let table = |name: &str| format!("{prefix}embeddings.{name}.weight");
        let h = network.hidden_size;
        let (rows, first) = (weights.rows(&format!("{prefix}{words}")).unwrap_or(1), network.first_position());
        let (sides, distances) =
            (table("token_type_embeddings"), format!("{prefix}encoder.relative_attention_bias.weight"));
        let positions = weights.tensor(&table("position_embeddings"), &[network.positions(), h])?;
        let positions = positions.narrow(0, first, network.positions() - first);
        let sides = weights.rows(&sides).map(|rows| weights.tensor(&sides, &[rows, h])).transpose()?;
        let distances = match network.architecture {
            Architecture::Mpnet => Some(
                weights.tensor(&distances, &[network.relative_attention_num_buckets, network.num_attention_heads])?,
            ),
            _ => None,
        };
        let layers = (0..network.num_hidden_layers)
            .map(|i| Layer::read(weights, &format!("{prefix}{}.{i}", names.layers), &names, network));
        Ok(Encoder {
            words: weights.tensor(&format!("{prefix}{words}"), &[rows, h])?,
            positions: positions.map_err(|error| weights.mismatch(error.to_string()))?,
            sides,
            norm: Norm::read(weights, &format!("{prefix}embeddings.LayerNorm"), network)?,
            layers: layers.collect::<std::result::Result<_, _>>()?,
            heads: network.num_attention_heads,
            activation,
            distances,
        })
    }

    /// Values per token.
    pub(super) fn width(&self) -> usize {
        self.words.dim(1).unwrap_or(0)
    }

    /// How many tokens it knows.
    pub(super) fn vocabulary(&self) -> usize {
        self.words.dim(0).unwrap_or(0)
    }

    /// The state of every token, padding included: bn × h, row after row.
    pub(super) fn states(&self, batch: &Batch) -> Result<Vec<f32>> {
        self.run(batch)?.flatten_all()?.to_vec1()
    }

    /// The state of the first token of each text: b × h.
    pub(super) fn firsts(&self, batch: &Batch) -> Result<Tensor> {
        let (b, n) = (batch.lengths.len(), batch.length);
        self.run(batch)?.reshape((b, n, self.width()))?.narrow(1, 0, 1)?.squeeze(1)
    }

    fn run(&self, batch: &Batch) -> Result<Tensor> {
        let (b, n, h) = (batch.lengths.len(), batch.length, self.width());
        let lookup = |table: &Tensor, ids: &[u32]| table.index_select(&Tensor::new(ids, &Device::Cpu)?, 0);
        let words = lookup(&self.words, &batch.ids)?.reshape((b, n, h))?;
        let mut x = words.broadcast_add(&self.positions.narrow(0, 0, n)?)?.reshape((b * n, h))?;
        if let Some(sides) = &self.sides {
            // RoBERTa has one row for both sides, whatever its tokenizer says.
            let last = (sides.dim(0)? as u32).saturating_sub(1);
            let types: Vec<u32> = batch.types.iter().map(|side| (*side).min(last)).collect();
            x = (x + lookup(sides, &types)?)?;
        }
        let mut x = self.norm.apply(&x)?;
        let distances = self.distances.as_ref().map(|table| likeness_by_distance(table, n)).transpose()?;
        let bias: Vec<Tensor> = batch.mask()?.into_iter().chain(distances).collect();
        for layer in &self.layers {
            x = layer.apply(&x, b, self.heads, self.activation, &bias)?;
        }
        Ok(x)
    }
}

/// 1 × a × n × n from a table of buckets × a.
fn likeness_by_distance(table: &Tensor, n: usize) -> Result<Tensor> {
    let buckets = table.dim(0)?;
    let ids = (0..n).flat_map(|from| (0..n).map(move |to| bucket(from, to, buckets)));
    let rows = table.index_select(&Tensor::from_iter(ids, &Device::Cpu)?, 0)?;
    rows.reshape((n, n, ()))?.permute((2, 0, 1))?.unsqueeze(0)?.contiguous()
}

/// The row for how a token looks at another: half of the rows for each direction; of these, half for the nearest
/// distances one by one, and half for longer ones on a logarithmic scale. After Raffel et al., "T5" (2020), §2.1.
fn bucket(from: usize, to: usize, buckets: usize) -> u32 {
    /// Everything farther is equally far.
    const FAR: f32 = 128.0;
    let half = buckets / 2;
    let exact = half / 2;
    let distance = from.abs_diff(to);
    let step = if distance < exact {
        distance
    } else {
        let scale = (FAR / exact as f32).ln();
        let beyond = (distance as f32 / exact as f32).ln() / scale * (half - exact) as f32;
        (exact + beyond as usize).min(half - 1)
    };
    (if to > from { half + step } else { step }) as u32
}

/// What makes one number of the state of the first token.
pub(super) struct Head {
    dense: Linear,
    activation: Activation,
    out: Linear,
}

impl Head {
    pub(super) fn read(weights: &Weights, network: &Network) -> std::result::Result<Self, TransformerError> {
        let (dense, activation, out) = match network.architecture {
            Architecture::Bert => ("bert.pooler.dense", Activation::Tanh, "classifier"),
            Architecture::Roberta | Architecture::Mpnet => {
                ("classifier.dense", Activation::Tanh, "classifier.out_proj")
            }
            Architecture::Distilbert => ("pre_classifier", Activation::Relu, "classifier"),
        };
        let hint = "choose a reranker: a cross-encoder with one label";
        let labels = weights.rows(&format!("{out}.weight")).ok_or_else(|| {
            weights.folder().unsupported("model.safetensors", format!("it has no `{out}`: this is no reranker"), hint)
        })?;
        if labels != 1 {
            let problem = format!("it has {labels} labels, and a reranker has one");
            return Err(weights.folder().unsupported("model.safetensors", problem, hint));
        }
        let h = network.hidden_size;
        Ok(Head { dense: Linear::read(weights, dense, h, h)?, activation, out: Linear::read(weights, out, h, 1)? })
    }

    /// A score of each text, from the states of first tokens: 0 to 1.
    pub(super) fn scores(&self, firsts: &Tensor) -> Result<Vec<f32>> {
        let dense = self.activation.apply(&self.dense.apply(&firsts.contiguous()?)?)?;
        candle_nn::ops::sigmoid(&self.out.apply(&dense)?)?.flatten_all()?.to_vec1()
    }
}
