//! The settings that say who makes vectors, and how. Pure.

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use super::provider::EmbedProvider;

use super::models::KnownModel;
use context::settings::{Consent, KeyConfig};

/// Who makes vectors, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedConfig {
    /// Who.
    pub provider: EmbedProvider,
    /// Which model (of `transformer`: its folder or hub id); see [`EmbedConfig::model`] if absent.
    pub model: Option<String>,
    /// The folder of a `static` table.
    pub path: Option<PathBuf>,
    /// Where, if not at the provider's own address.
    pub base_url: Option<String>,
    /// Whether what answers there hands texts on to other machines, though it is on this one: a gateway, a tunnel.
    pub passes_on: bool,
    /// Whether the user is asked before notes are shown to one that costs or is elsewhere.
    pub consent: Consent,
    /// Where the key is.
    pub key: KeyConfig,
    /// Components of a vector, for models that can give several numbers of them.
    pub dimensions: Option<u32>,
    /// Stands before queries; what the model is known to want if absent.
    pub query_prefix: Option<String>,
    /// Stands before what is indexed; what the model is known to want if absent.
    pub document_prefix: Option<String>,
    /// Whether texts are also embedded without their contexts, for searches without contexts, by a model that takes its
    /// time. The built-in one makes them when such a search asks.
    pub text_vectors: bool,
    /// Tokens of one text that the model takes; what is known of the model if absent.
    pub max_tokens: Option<u32>,
    /// Calls at once at most.
    pub concurrency: usize,
    /// One attempt at a call takes at most.
    pub timeout: Duration,
    /// A query waits for its vector at most so long, then words alone answer.
    pub query_timeout: Duration,
    /// Micro-dollars per million tokens; what is known of the model if absent.
    pub price_per_mtok: Option<u64>,
}

impl Default for EmbedConfig {
    fn default() -> Self {
        EmbedConfig {
            provider: EmbedProvider::Builtin,
            model: None,
            path: None,
            base_url: None,
            passes_on: false,
            consent: Consent::Ask,
            key: KeyConfig::default(),
            dimensions: None,
            query_prefix: None,
            document_prefix: None,
            text_vectors: false,
            max_tokens: None,
            concurrency: 4,
            timeout: Duration::from_mins(1),
            query_timeout: Duration::from_secs(2),
            price_per_mtok: None,
        }
    }
}

impl EmbedConfig {
    /// The model in force: the configured one, else a cheap one of the provider; of a static table its folder.
    pub fn model(&self) -> &str {
        match (self.provider, self.model.as_deref()) {
            (EmbedProvider::Static, _) => self.path.as_deref().and_then(Path::to_str).unwrap_or("table"),
            (_, Some(model)) => model,
            (EmbedProvider::Builtin, None) => super::builtin::IDENTITY,
            (EmbedProvider::Transformer, None) => "sentence-transformers/all-MiniLM-L6-v2",
            (EmbedProvider::Ollama, None) => "nomic-embed-text",
            (EmbedProvider::OpenAi, None) => "text-embedding-3-small",
            (EmbedProvider::Voyage, None) => "voyage-4-lite",
            (EmbedProvider::Cohere, None) => "embed-v4.0",
        }
    }

    /// Whether the model embeds a note's chunks in the light of each other.
    pub fn is_contextual(&self) -> bool {
        self.provider == EmbedProvider::Voyage && self.model().starts_with("voyage-context-")
    }

    /// What is known about the model.
    pub fn known(&self) -> KnownModel {
        KnownModel::of(self.provider, self.model())
    }

    /// What stands before queries and before what is indexed.
    pub fn prefixes(&self) -> (String, String) {
        let (query, document) = self.known().prefixes;
        let own = |said: &Option<String>, known: &str| said.clone().unwrap_or_else(|| known.to_owned());
        (own(&self.query_prefix, query), own(&self.document_prefix, document))
    }

    /// Tokens of one text that the model takes, to be kept below: tokenizers differ.
    pub fn max_tokens(&self) -> u32 {
        self.max_tokens.unwrap_or(self.known().max_tokens)
    }

    /// The name of the vectors of so many dimensions: those of different names are never compared, and lie in
    /// files of their own.
    pub fn identity(&self, dimensions: usize) -> String {
        let (query, document) = self.prefixes();
        let mut name = format!("{} {} {dimensions}", self.provider.name(), self.model());
        // Windows are cut differently, but their vectors may be compared: the number of tokens is no part of it.
        for (which, prefix) in [("q", query), ("d", document)] {
            if !prefix.is_empty() {
                name.push_str(&format!(" {which}={prefix:?}"));
            }
        }
        name
    }
}

#[cfg(test)]
mod tests;
