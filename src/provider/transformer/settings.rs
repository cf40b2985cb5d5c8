//! What the files of a model's folder say, checked: kind and size of the network, how tokens become one vector, how
//! long a text may be, and which prefixes it was trained with.
//!
//! The format is that of the Python library sentence-transformers: `modules.json` lists steps, each with its own
//! folder. A folder without it is a bare network, whose tokens are averaged, as that library does (for Qwen3, the last
//! token is taken).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::TransformerError;
use super::folder::Folder;
use super::network::NetworkConfig;
use super::pooling::Pooling;

/// What says how long a text may be. Older versions of the library named the file after the network.
pub(crate) const SENTENCE_CONFIGS: [&str; 4] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_xlm-roberta_config.json",
];

/// Everything that the small files say.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) network: NetworkConfig,
    pub(super) pooling: Pooling,
    /// Whether a text is put into lower case before it is tokenized.
    pub(super) lowercase: bool,
    /// Most tokens of a text, with those that begin and end it.
    pub(super) max_tokens: usize,
    /// How a reranker gets query and passage.
    pub(super) pairs: PairForm,
    pub(super) query_prefix: String,
    pub(super) document_prefix: String,
}

/// How two texts are put to a model that judges them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairForm {
    /// As its tokenizer frames pairs.
    Frame,
    /// As a question to a chat model.
    Question,
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
    /// Reads the settings of a model that gives vectors.
    pub(super) fn read(folder: &Folder) -> Result<Self, TransformerError> {
        let (network, architectures) = NetworkConfig::read(folder)?;
        if architectures.iter().any(|name| name.ends_with("ForSequenceClassification")) {
            let problem = "this model judges pairs of texts and gives no vectors";
            return Err(folder.unsupported("config.json", problem, "name it as the reranker, and another one here"));
        }
        let pooling = match folder.json::<Vec<Module>>("modules.json")? {
            Some(modules) => pooling(folder, &modules, network.width())?,
            None => network.pooling(),
        };
        let Prompts { prompts, default_prompt_name } =
            folder.json("config_sentence_transformers.json")?.unwrap_or_default();
        // The choice of the prompts follows `encode_query` and `encode_document` of sentence-transformers.
        let prefix = |names: &[&str]| {
            let found = names.iter().copied().chain(default_prompt_name.as_deref()).find_map(|name| prompts.get(name));
            found.cloned().unwrap_or_default()
        };
        let (query_prefix, document_prefix) = (prefix(&["query"]), prefix(&["document", "passage", "corpus"]));
        Self::finish(folder, network, pooling, query_prefix, document_prefix)
    }

    /// Reads the settings of a model that judges pairs.
    pub(super) fn read_reranker(folder: &Folder) -> Result<Self, TransformerError> {
        let (network, _) = NetworkConfig::read(folder)?;
        let pairs = match network {
            NetworkConfig::Qwen3(_) => PairForm::Question,
            NetworkConfig::Bert(_) | NetworkConfig::ModernBert(_) => PairForm::Frame,
        };
        let settings = Self::finish(folder, network, Pooling::First, String::new(), String::new())?;
        Ok(Settings { pairs, ..settings })
    }

    /// The hash of everything that vectors and scores depend on, except the prefixes; given those of weights and
    /// tokenizer.
    pub(super) fn hash(&self, weights: blake3::Hash, pieces: blake3::Hash) -> blake3::Hash {
        let Settings { network, pooling, lowercase, max_tokens, .. } = self;
        let mut hasher = blake3::Hasher::new();
        hasher.update(weights.as_bytes()).update(pieces.as_bytes());
        let rest = format!("{} {pooling:?} {lowercase} {max_tokens}", network.describe());
        hasher.update(rest.as_bytes()).finalize()
    }

    fn finish(
        folder: &Folder,
        network: NetworkConfig,
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
        let max_tokens = network.longest().min(most.unwrap_or(usize::MAX));
        if max_tokens < 8 {
            let problem = format!("texts of {max_tokens} tokens are too short for anything");
            return Err(folder.damaged("sentence_bert_config.json", problem));
        }
        let lowercase = sentence.do_lower_case;
        let pairs = PairForm::Frame;
        Ok(Settings { network, pooling, lowercase, max_tokens, pairs, query_prefix, document_prefix })
    }
}

/// The pooling among the steps of a model: the network, pooling, and perhaps scaling to length 1, which vectors get in
/// any case.
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
