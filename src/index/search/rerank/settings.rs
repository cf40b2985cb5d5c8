//! The settings that say who judges what a search finds. Pure.

use std::time::Duration;

use context::settings::{Consent, KeyConfig};

/// Who puts the best of a search in another order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum RerankProvider {
    /// Nobody; nothing leaves the machine.
    #[default]
    None,
    /// Cohere, or a server that speaks its `/v2/rerank`.
    Cohere,
    /// Voyage.
    Voyage,
    /// Jina, or a server that speaks its `/v1/rerank`.
    Jina,
    /// Hugging Face's text-embeddings-inference, or a server with `/rerank`: llama-server, infinity, vLLM, LiteLLM.
    Tei,
    /// A cross-encoder in this process.
    Transformer,
}

impl RerankProvider {
    /// Its name in the configuration and in the ledger.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its own address; `None` if the user has to give one.
    pub fn base_url(self) -> Option<&'static str> {
        match self {
            RerankProvider::Cohere => Some("https://api.cohere.com"),
            RerankProvider::Voyage => Some("https://api.voyageai.com"),
            RerankProvider::Jina => Some("https://api.jina.ai"),
            RerankProvider::None | RerankProvider::Tei | RerankProvider::Transformer => None,
        }
    }

    /// Variables of the environment that may hold its key, the usual one first.
    pub fn variables(self) -> &'static [&'static str] {
        match self {
            // The name that people expect, and the one that Cohere's own client reads.
            RerankProvider::Cohere => &["COHERE_API_KEY", "CO_API_KEY"],
            RerankProvider::Voyage => &["VOYAGE_API_KEY"],
            RerankProvider::Jina => &["JINA_API_KEY"],
            RerankProvider::None | RerankProvider::Tei | RerankProvider::Transformer => &[],
        }
    }
}

/// Which searches are judged anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum RerankWhen {
    /// Those that ask for it: `--rerank`, `rerank: true`.
    Asked,
    /// All that do not say otherwise.
    Always,
}

/// Who puts the best of a search in another order, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RerankConfig {
    /// Who.
    pub provider: RerankProvider,
    /// Which model; the provider's default (see [`RerankConfig::model`]) if absent.
    pub model: Option<String>,
    /// Where, if not at the provider's own address.
    pub base_url: Option<String>,
    /// Whether the server, though on this machine, passes texts on to other machines: a gateway, a tunnel.
    pub passes_on: bool,
    /// Whether the user is asked before a provider that costs money or runs elsewhere judges every search.
    pub consent: Consent,
    /// Where the key is.
    pub key: KeyConfig,
    /// Which searches it judges; see [`RerankConfig::when`].
    pub when: Option<RerankWhen>,
    /// Chunks that are judged at most; see [`RerankConfig::top`].
    pub top: Option<usize>,
    /// After this a search is answered without reranking; see [`RerankConfig::deadline`].
    pub deadline: Option<Duration>,
    /// Millionths of a dollar per million tokens.
    pub price_per_mtok: Option<u64>,
    /// Millionths of a dollar per thousand searches of a hundred chunks.
    pub price_per_1k: Option<u64>,
}

impl RerankConfig {
    /// The model in force: the configured one, else the provider's quick one. TEI serves one model and takes no name.
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(match self.provider {
            RerankProvider::Cohere => "rerank-v5.0-fast",
            RerankProvider::Voyage => "rerank-3-lite",
            RerankProvider::Jina => "jina-reranker-v3",
            RerankProvider::None | RerankProvider::Tei | RerankProvider::Transformer => "",
        })
    }

    /// Which searches it judges. A provider answers in a fraction of a second, and was named to be asked; a
    /// cross-encoder in this process takes all cores for a second or more, so it judges only searches that ask for it.
    pub fn when(&self) -> RerankWhen {
        self.when.unwrap_or(if self.is_local() { RerankWhen::Asked } else { RerankWhen::Always })
    }

    /// Chunks that are judged at most. A cross-encoder in this process reads about as many in a second as fit on a screen or
    /// two; what a provider charges is the same up to a hundred.
    pub fn top(&self) -> usize {
        self.top.unwrap_or(if self.is_local() { 20 } else { 100 })
    }

    /// After this a search is answered in its first order. The first search that a cross-encoder in this process judges
    /// waits for the model to be read too.
    pub fn deadline(&self) -> Duration {
        self.deadline.unwrap_or(Duration::from_millis(if self.is_local() { 5000 } else { 1500 }))
    }

    fn is_local(&self) -> bool {
        self.provider == RerankProvider::Transformer
    }
}

impl Default for RerankConfig {
    fn default() -> Self {
        RerankConfig {
            provider: RerankProvider::None,
            model: None,
            base_url: None,
            passes_on: false,
            consent: Consent::Ask,
            key: KeyConfig::default(),
            when: None,
            top: None,
            deadline: None,
            price_per_mtok: None,
            price_per_1k: None,
        }
    }
}
