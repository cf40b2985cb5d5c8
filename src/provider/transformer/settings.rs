//! What the files of a model's folder say, checked: kind and size of the network, how tokens become one vector, how
//! long a text may be, and which prefixes it was trained with.
//!
//! The format is that of the Python library sentence-transformers: `modules.json` lists steps, each with a folder of
//! its own. A folder without it is a bare network, whose tokens are averaged, as that library does.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::TransformerError;
use super::folder::{Folder, MOST_TEXT};

/// What says how long a text may be. Older versions of the library named the file after the network.
pub(crate) const SENTENCE_CONFIGS: [&str; 4] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_xlm-roberta_config.json",
];

/// What to do about a kind of model that is not known here.
const CHOOSE: &str = "choose a model of the kinds bert, roberta, xlm-roberta, distilbert or mpnet";

/// The kinds of networks that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Architecture {
    Bert,
    /// And CamemBERT and XLM-RoBERTa, which have the same network.
    #[serde(alias = "xlm-roberta", alias = "camembert")]
    Roberta,
    Distilbert,
    Mpnet,
}

/// `config.json`, as far as it concerns us. The aliases are the names that DistilBERT uses.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Network {
    #[serde(rename = "model_type")]
    pub(super) architecture: Architecture,
    #[serde(alias = "dim")]
    pub(super) hidden_size: usize,
    #[serde(alias = "n_layers")]
    pub(super) num_hidden_layers: usize,
    #[serde(alias = "n_heads")]
    pub(super) num_attention_heads: usize,
    #[serde(alias = "hidden_dim")]
    pub(super) intermediate_size: usize,
    #[serde(alias = "activation", default = "gelu")]
    pub(super) hidden_act: String,
    #[serde(default = "epsilon")]
    pub(super) layer_norm_eps: f64,
    max_position_embeddings: usize,
    pad_token_id: Option<usize>,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    #[serde(default = "buckets")]
    pub(super) relative_attention_num_buckets: usize,
    #[serde(default)]
    architectures: Vec<String>,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

/// What the configurations of all these networks have where they say nothing, and DistilBERT always.
fn epsilon() -> f64 {
    1e-12
}

/// Of MPNet, where its configuration says nothing.
fn buckets() -> usize {
    32
}

impl Network {
    /// The position of the first token. The networks that descend from RoBERTa count from the one after the padding's.
    pub(super) fn first_position(&self) -> usize {
        match self.architecture {
            Architecture::Bert | Architecture::Distilbert => 0,
            Architecture::Roberta | Architecture::Mpnet => self.pad_token_id.unwrap_or(1).saturating_add(1),
        }
    }

    pub(super) fn positions(&self) -> usize {
        self.max_position_embeddings
    }

    fn read(folder: &Folder) -> Result<Self, TransformerError> {
        #[derive(Deserialize)]
        struct Peek {
            model_type: Option<String>,
        }
        const FILE: &str = "config.json";
        let bytes = folder.must_read(FILE, "name the folder of a sentence-transformers model", MOST_TEXT)?;
        let bad = |error: serde_json::Error| folder.damaged(FILE, error.to_string());
        let Peek { model_type } = serde_json::from_slice(&bytes).map_err(bad)?;
        let model_type = model_type.ok_or_else(|| folder.damaged(FILE, "it does not say its `model_type`"))?;
        if Architecture::deserialize(serde_json::Value::from(model_type.as_str())).is_err() {
            let problem = format!("networks of the kind `{model_type}` are not supported");
            return Err(folder.unsupported(FILE, problem, CHOOSE));
        }
        let network: Network = serde_json::from_slice(&bytes).map_err(bad)?;
        network.check(folder)?;
        Ok(network)
    }

    fn check(&self, folder: &Folder) -> Result<(), TransformerError> {
        const FILE: &str = "config.json";
        let relative = self.position_embedding_type != "absolute";
        if relative {
            let problem = format!("positions of the kind `{}` are not supported", self.position_embedding_type);
            return Err(folder.unsupported(FILE, problem, CHOOSE));
        }
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
        ];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(folder.damaged(FILE, format!("`{name}` is 0")));
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let problem = format!("{} heads cannot share {} values", self.num_attention_heads, self.hidden_size);
            return Err(folder.damaged(FILE, problem));
        }
        if !(self.layer_norm_eps.is_finite() && self.layer_norm_eps >= 0.0) {
            return Err(folder.damaged(FILE, format!("`layer_norm_eps` is {}", self.layer_norm_eps)));
        }
        let buckets = self.relative_attention_num_buckets;
        if self.architecture == Architecture::Mpnet && (buckets < 4 || !buckets.is_multiple_of(4)) {
            return Err(folder.damaged(FILE, format!("`relative_attention_num_buckets` is {buckets}")));
        }
        // A text has at least what begins and ends it, a pair up to four such tokens, and each side one of its own.
        if self.positions() < self.first_position().saturating_add(8) {
            let problem = format!("`max_position_embeddings` is {}: too few for a text", self.positions());
            return Err(folder.damaged(FILE, problem));
        }
        Ok(())
    }
}

/// How the states of a text's tokens become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean of all, those that begin and end the text included.
    Mean,
    /// The state of the first token.
    First,
    /// Of each component the largest.
    Max,
}

impl Pooling {
    /// One vector from the states of one text: rows of `width` values, at least one.
    pub(super) fn pool(self, states: &[f32], width: usize) -> Vec<f32> {
        let mut rows = states.chunks_exact(width);
        let mut vector = rows.next().map_or_else(|| vec![0.0; width], <[f32]>::to_vec);
        match self {
            Pooling::First => {}
            Pooling::Mean => {
                rows.for_each(|row| vector.iter_mut().zip(row).for_each(|(sum, x)| *sum += x));
                let count = (states.len() / width).max(1) as f32;
                vector.iter_mut().for_each(|x| *x /= count);
            }
            Pooling::Max => rows.for_each(|row| vector.iter_mut().zip(row).for_each(|(most, x)| *most = most.max(*x))),
        }
        vector
    }

    /// What `file` says.
    fn read(folder: &Folder, file: &str, width: usize) -> Result<Self, TransformerError> {
        let hint = "choose a model that takes the mean, the maximum or the first token";
        let bytes = folder.must_read(file, "download the model again, with its folders", MOST_TEXT)?;
        let bad = |error: serde_json::Error| folder.damaged(file, error.to_string());
        let fields: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&bytes).map_err(bad)?;
        let size = fields.get("word_embedding_dimension").or_else(|| fields.get("embedding_dimension"));
        if let Some(size) = size.and_then(|size| size.as_u64()).filter(|size| *size != width as u64) {
            let problem = format!("it is for vectors of {size} values, and config.json says {width}");
            return Err(folder.mismatch(file, problem));
        }
        // Older files have a field for each mode, newer ones may name it.
        let named = fields.get("pooling_mode").and_then(|mode| mode.as_str()).map(str::to_owned);
        let ticked = fields.iter().filter(|(_, value)| value.as_bool() == Some(true));
        let ticked = ticked.filter_map(|(name, _)| Some(name.strip_prefix("pooling_mode_")?.to_owned()));
        let modes: Vec<String> = named.into_iter().chain(ticked).collect();
        let modes: Vec<&str> = modes.iter().map(|mode| mode.trim_end_matches("_tokens")).collect();
        match modes[..] {
            ["mean"] => Ok(Pooling::Mean),
            ["cls" | "cls_token"] => Ok(Pooling::First),
            ["max"] => Ok(Pooling::Max),
            [] => Err(folder.damaged(file, "it says no way of pooling")),
            _ => Err(folder.unsupported(file, format!("pooling by {} is not supported", modes.join(" and ")), hint)),
        }
    }
}

/// Everything that the small files say.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) network: Network,
    pub(super) pooling: Pooling,
    /// Whether the text is put into lower case before the tokenizer has it.
    pub(super) lowercase: bool,
    /// Tokens of a text at most, with those that begin and end it.
    pub(super) max_tokens: usize,
    pub(super) query_prefix: String,
    pub(super) document_prefix: String,
}

#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
    path: String,
}

#[derive(Default, Deserialize)]
struct Sentence {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

#[derive(Deserialize)]
struct TokenizerConfig {
    /// Some have 1e30 here, which means nothing.
    model_max_length: Option<f64>,
}

#[derive(Default, Deserialize)]
struct Prompts {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    default_prompt_name: Option<String>,
}

impl Settings {
    /// Of a model that gives vectors.
    pub(super) fn read(folder: &Folder) -> Result<Self, TransformerError> {
        let network = Network::read(folder)?;
        if network.architectures.iter().any(|name| name.ends_with("ForSequenceClassification")) {
            let problem = "this model judges pairs of texts and gives no vectors";
            return Err(folder.unsupported("config.json", problem, "name it as the reranker, and another one here"));
        }
        let pooling = match folder.json::<Vec<Module>>("modules.json")? {
            Some(modules) => pooling(folder, &modules, network.hidden_size)?,
            None => Pooling::Mean,
        };
        let Prompts { prompts, default_prompt_name } =
            folder.json("config_sentence_transformers.json")?.unwrap_or_default();
        // Which prompt is taken for what, is up to `encode_query` and `encode_document` of sentence-transformers.
        let prefix = |names: &[&str]| {
            let found = names.iter().copied().chain(default_prompt_name.as_deref()).find_map(|name| prompts.get(name));
            found.cloned().unwrap_or_default()
        };
        let (query_prefix, document_prefix) = (prefix(&["query"]), prefix(&["document", "passage", "corpus"]));
        Self::finish(folder, network, pooling, query_prefix, document_prefix)
    }

    /// Of a model that judges pairs.
    pub(super) fn read_reranker(folder: &Folder) -> Result<Self, TransformerError> {
        let network = Network::read(folder)?;
        Self::finish(folder, network, Pooling::First, String::new(), String::new())
    }

    /// Of everything that vectors and scores depend on, but the prefixes; given the hashes of weights and tokenizer.
    pub(super) fn hash(&self, weights: blake3::Hash, pieces: blake3::Hash) -> blake3::Hash {
        let Settings { network, pooling, lowercase, max_tokens, .. } = self;
        let (heads, act, eps) = (network.num_attention_heads, &network.hidden_act, network.layer_norm_eps);
        let (kind, first) = (network.architecture, network.first_position());
        let mut hasher = blake3::Hasher::new();
        hasher.update(weights.as_bytes()).update(pieces.as_bytes());
        let rest = format!("{kind:?} {heads} {act} {eps} {first} {pooling:?} {lowercase} {max_tokens}");
        hasher.update(rest.as_bytes()).finalize()
    }

    fn finish(
        folder: &Folder,
        network: Network,
        pooling: Pooling,
        query_prefix: String,
        document_prefix: String,
    ) -> Result<Self, TransformerError> {
        let mut sentence = None;
        for name in SENTENCE_CONFIGS {
            sentence = sentence.or(folder.json::<Sentence>(name)?);
        }
        let sentence = sentence.unwrap_or_default();
        let mut most = sentence.max_seq_length;
        if most.is_none() {
            let config: Option<TokenizerConfig> = folder.json("tokenizer_config.json")?;
            let said = config.and_then(|config| config.model_max_length).filter(|most| *most >= 1.0);
            most = said.map(|most| most as usize);
        }
        let max_tokens = (network.positions() - network.first_position()).min(most.unwrap_or(usize::MAX));
        if max_tokens < 8 {
            let problem = format!("texts of {max_tokens} tokens are too short for anything");
            return Err(folder.damaged("sentence_bert_config.json", problem));
        }
        let lowercase = sentence.do_lower_case;
        Ok(Settings { network, pooling, lowercase, max_tokens, query_prefix, document_prefix })
    }
}

/// What the steps of the model come to: the network, pooling, and perhaps the length 1, which vectors get in any case.
fn pooling(folder: &Folder, modules: &[Module], width: usize) -> Result<Pooling, TransformerError> {
    const FILE: &str = "modules.json";
    let mut pooling = None;
    for (i, Module { kind, path }) in modules.iter().enumerate() {
        match (kind.rsplit('.').next().unwrap_or_default(), i) {
            ("Transformer", 0) if path.is_empty() => {}
            ("Transformer", 0) => {
                let hint = "name that folder, if it is all of the model, or choose another model";
                return Err(folder.unsupported(FILE, format!("the network lies in the folder `{path}`"), hint));
            }
            ("Pooling", 1) => {
                let inside = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
                if !inside {
                    return Err(folder.damaged(FILE, format!("`{path}` is not a folder of the model")));
                }
                pooling = Some(Pooling::read(folder, &format!("{path}/config.json"), width)?);
            }
            ("Normalize", 2) => {}
            (other, _) => {
                let problem = format!("its step {} is `{other}`, which is not supported there", i + 1);
                let hint = "choose a model of a transformer, pooling and normalization";
                return Err(folder.unsupported(FILE, problem, hint));
            }
        }
    }
    pooling.ok_or_else(|| {
        folder.unsupported(FILE, "it has no step that pools", "choose a model of a transformer and pooling")
    })
}
