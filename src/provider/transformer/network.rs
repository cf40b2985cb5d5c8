//! The supported kinds of networks: what `config.json` says of one, and the network built from its weights.

use serde::Deserialize;

use super::TransformerError;
use super::attention::Wanted;
use super::batch::Batch;
use super::bert::{self, BertConfig};
use super::folder::{CHOOSE, Folder, MOST_TEXT};
use super::head::Head;
use super::modernbert::{self, ModernBertConfig};
use super::pooling::Pooling;
use super::qwen3::{self, Qwen3Config};
use super::weights::Weights;

/// `config.json`, checked.
#[derive(Clone, Debug)]
pub(super) enum NetworkConfig {
    Bert(BertConfig),
    ModernBert(ModernBertConfig),
    Qwen3(Qwen3Config),
}

/// What all of these files have.
#[derive(Deserialize)]
struct Common {
    model_type: Option<String>,
    #[serde(default)]
    architectures: Vec<String>,
}

impl NetworkConfig {
    /// Reads and checks `config.json`. Also returns its `architectures`: the names of what the weights were saved as.
    pub(super) fn read(folder: &Folder) -> Result<(Self, Vec<String>), TransformerError> {
        const FILE: &str = "config.json";
        let bytes = folder.must_read(FILE, "name the folder of a sentence-transformers model", MOST_TEXT)?;
        let bad = |error: serde_json::Error| folder.damaged(FILE, error.to_string());
        let Common { model_type, architectures } = serde_json::from_slice(&bytes).map_err(bad)?;
        let kind = model_type.ok_or_else(|| folder.damaged(FILE, "it does not say its `model_type`"))?;
        let config = match kind.as_str() {
            "modernbert" => NetworkConfig::ModernBert(serde_json::from_slice(&bytes).map_err(bad)?),
            "qwen3" => NetworkConfig::Qwen3(serde_json::from_slice(&bytes).map_err(bad)?),
            kind if BertConfig::knows(kind) => NetworkConfig::Bert(serde_json::from_slice(&bytes).map_err(bad)?),
            kind => {
                let problem = format!("networks of the kind `{kind}` are not supported");
                return Err(folder.unsupported(FILE, problem, CHOOSE));
            }
        };
        let checked = match &config {
            NetworkConfig::Bert(config) => config.check(folder),
            NetworkConfig::ModernBert(config) => config.check(folder),
            NetworkConfig::Qwen3(config) => config.check(folder),
        };
        checked.map(|()| (config, architectures))
    }

    /// Values per token.
    pub(super) fn width(&self) -> usize {
        match self {
            NetworkConfig::Bert(config) => config.hidden_size,
            NetworkConfig::ModernBert(config) => config.hidden_size,
            NetworkConfig::Qwen3(config) => config.hidden_size,
        }
    }

    /// Most tokens of a text.
    pub(super) fn longest(&self) -> usize {
        match self {
            NetworkConfig::Bert(config) => config.longest(),
            NetworkConfig::ModernBert(config) => config.max_position_embeddings,
            NetworkConfig::Qwen3(config) => config.max_position_embeddings,
        }
    }

    /// How states become a vector if the folder does not say it.
    pub(super) fn pooling(&self) -> Pooling {
        match self {
            NetworkConfig::Bert(_) | NetworkConfig::ModernBert(_) => Pooling::Mean,
            NetworkConfig::Qwen3(_) => Pooling::Last,
        }
    }

    /// Everything in `config.json` that results depend on, for an identity.
    pub(super) fn describe(&self) -> String {
        match self {
            NetworkConfig::Bert(config) => config.describe(),
            NetworkConfig::ModernBert(config) => format!("{config:?}"),
            NetworkConfig::Qwen3(config) => format!("{config:?}"),
        }
    }
}

/// A network with its weights.
pub(super) enum Network {
    Bert(bert::Encoder),
    ModernBert(modernbert::Encoder),
    Qwen3(qwen3::Decoder),
}

impl Network {
    pub(super) fn read(weights: &Weights<'_>, config: &NetworkConfig) -> Result<Self, TransformerError> {
        Ok(match config {
            NetworkConfig::Bert(config) => Network::Bert(bert::Encoder::read(weights, config)?),
            NetworkConfig::ModernBert(config) => Network::ModernBert(modernbert::Encoder::read(weights, config)?),
            NetworkConfig::Qwen3(config) => Network::Qwen3(qwen3::Decoder::read(weights, config)?),
        })
    }

    /// How many tokens it knows.
    pub(super) fn vocabulary(&self) -> usize {
        match self {
            Network::Bert(encoder) => encoder.vocabulary(),
            Network::ModernBert(encoder) => encoder.vocabulary(),
            Network::Qwen3(decoder) => decoder.vocabulary(),
        }
    }

    /// For each text, what `read` makes of the states of its tokens, rows of `width` values. If the pooling needs only
    /// the first token, the others may be left out.
    pub(super) fn read_states<T>(
        &self,
        batch: &Batch,
        pooling: Pooling,
        width: usize,
        read: impl Fn(&[f32]) -> T,
    ) -> Vec<T> {
        let mut wanted = Wanted::All;
        let states = match self {
            Network::Bert(encoder) => {
                if pooling == Pooling::First {
                    wanted = Wanted::First;
                }
                encoder.states(batch, wanted)
            }
            Network::ModernBert(encoder) => encoder.states(batch),
            Network::Qwen3(decoder) => decoder.states(batch),
        };
        let mut rest = &states[..];
        let texts = batch.lengths.iter().map(|tokens| {
            let (text, after) = rest.split_at(wanted.of(*tokens) * width);
            rest = after;
            read(text)
        });
        texts.collect()
    }
}

/// The head of a reranker. `id` gives the number of a token.
pub(super) fn head(
    weights: &Weights<'_>,
    config: &NetworkConfig,
    id: impl Fn(&str) -> Option<u32>,
) -> Result<Head, TransformerError> {
    match config {
        NetworkConfig::Bert(config) => bert::head(weights, config),
        NetworkConfig::ModernBert(config) => modernbert::head(weights, config),
        NetworkConfig::Qwen3(config) => qwen3::head(weights, config, id),
    }
}
