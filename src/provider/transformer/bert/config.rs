//! What `config.json` says of BERT and its descendants.

use serde::Deserialize;

use super::super::TransformerError;
use super::super::folder::{CHOOSE, Folder};

/// The kinds that differ in names, or in how they count positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::transformer) enum Architecture {
    Bert,
    /// And CamemBERT and XLM-RoBERTa, which have the same network.
    #[serde(alias = "xlm-roberta", alias = "camembert")]
    Roberta,
    Distilbert,
    Mpnet,
}

/// `config.json`, as far as it concerns us. The aliases are the names that DistilBERT uses.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::transformer) struct BertConfig {
    #[serde(rename = "model_type")]
    pub(in crate::transformer) architecture: Architecture,
    #[serde(alias = "dim")]
    pub(in crate::transformer) hidden_size: usize,
    #[serde(alias = "n_layers")]
    pub(in crate::transformer) num_hidden_layers: usize,
    #[serde(alias = "n_heads")]
    pub(in crate::transformer) num_attention_heads: usize,
    #[serde(alias = "hidden_dim")]
    pub(in crate::transformer) intermediate_size: usize,
    #[serde(alias = "activation", default = "gelu")]
    pub(in crate::transformer) hidden_act: String,
    #[serde(default = "epsilon")]
    pub(in crate::transformer) layer_norm_eps: f64,
    pub(in crate::transformer) max_position_embeddings: usize,
    pad_token_id: Option<usize>,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    #[serde(default = "buckets")]
    pub(in crate::transformer) relative_attention_num_buckets: usize,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

/// The default of all these networks, and what DistilBERT always has.
fn epsilon() -> f64 {
    1e-12
}

/// The default of MPNet.
fn buckets() -> usize {
    32
}

impl BertConfig {
    /// Whether a `model_type` is one of these.
    pub(in crate::transformer) fn knows(kind: &str) -> bool {
        Architecture::deserialize(serde_json::Value::from(kind)).is_ok()
    }

    /// The position of the first token. The networks that descend from RoBERTa count from the one after the padding's.
    pub(in crate::transformer) fn first_position(&self) -> usize {
        match self.architecture {
            Architecture::Bert | Architecture::Distilbert => 0,
            Architecture::Roberta | Architecture::Mpnet => self.pad_token_id.unwrap_or(1).saturating_add(1),
        }
    }

    /// Most tokens of a text.
    pub(in crate::transformer) fn longest(&self) -> usize {
        self.max_position_embeddings - self.first_position()
    }

    /// What results depend on. It is part of identities in stores: if this text changes, all vectors are made anew.
    pub(in crate::transformer) fn describe(&self) -> String {
        let (kind, first) = (self.architecture, self.first_position());
        let (heads, act, eps) = (self.num_attention_heads, &self.hidden_act, self.layer_norm_eps);
        format!("{kind:?} {heads} {act} {eps} {first}")
    }

    pub(in crate::transformer) fn check(&self, folder: &Folder) -> Result<(), TransformerError> {
        const FILE: &str = "config.json";
        if self.position_embedding_type != "absolute" {
            let problem = format!("positions of the kind `{}` are not supported", self.position_embedding_type);
            return Err(folder.unsupported(FILE, problem, CHOOSE));
        }
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
        ];
        folder.not_zero(&sizes)?;
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let problem = format!("{} heads cannot share {} values", self.num_attention_heads, self.hidden_size);
            return Err(folder.damaged(FILE, problem));
        }
        folder.is_number("layer_norm_eps", self.layer_norm_eps, 0.0)?;
        let buckets = self.relative_attention_num_buckets;
        if self.architecture == Architecture::Mpnet && (buckets < 4 || !buckets.is_multiple_of(4)) {
            return Err(folder.damaged(FILE, format!("`relative_attention_num_buckets` is {buckets}")));
        }
        // A text has at least the tokens that begin and end it; a pair has up to four such tokens, and one more on each
        // side.
        if self.max_position_embeddings < self.first_position().saturating_add(8) {
            let problem = format!("`max_position_embeddings` is {}: too few for a text", self.max_position_embeddings);
            return Err(folder.damaged(FILE, problem));
        }
        Ok(())
    }
}
