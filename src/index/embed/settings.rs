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
    /// Whether the server that answers, though on this machine, hands texts on to other machines: a gateway, a tunnel.
    pub passes_on: bool,
    /// Whether the user is asked before notes are sent to a provider that costs money or is on another machine.
    pub consent: Consent,
    /// Where the key is.
    pub key: KeyConfig,
    /// Components of a vector, for models that can give several numbers of them.
    pub dimensions: Option<u32>,
    /// Prefix of queries; if absent, the one known for the model.
    pub query_prefix: Option<String>,
    /// Prefix of indexed texts; if absent, the one known for the model.
    pub document_prefix: Option<String>,
    /// Whether a slow model also embeds texts without their contexts, for searches without contexts. The built-in model
    /// embeds them only when such a search needs them.
    pub text_vectors: bool,
    /// Tokens of one text that the model takes; if absent, what is known of the model.
    pub max_tokens: Option<u32>,
    /// Most concurrent calls.
    pub concurrency: usize,
    /// Timeout of one attempt at a call.
    pub timeout: Duration,
    /// Timeout of a query's vector; after it, words alone answer the query.
    pub query_timeout: Duration,
    /// Micro-dollars per million tokens; if absent, what is known of the model.
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
    /// The model in force: the configured one, else a cheap one of the provider; for a static table, its folder.
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

    /// The prefixes of queries and of indexed texts.
    pub fn prefixes(&self) -> (String, String) {
        let (query, document) = self.known().prefixes;
        let own = |said: &Option<String>, known: &str| said.clone().unwrap_or_else(|| known.to_owned());
        (own(&self.query_prefix, query), own(&self.document_prefix, document))
    }

    /// Tokens of one text that the model takes. Callers stay below it, since tokenizers differ.
    pub fn max_tokens(&self) -> u32 {
        self.max_tokens.unwrap_or(self.known().max_tokens)
    }

    /// The name of vectors with so many dimensions. Vectors with different names are never compared, and are kept in
    /// separate files.
    pub fn identity(&self, dimensions: usize) -> String {
        let (query, document) = self.prefixes();
        let mut name = format!("{} {} {dimensions}", self.provider.name(), self.model());
        // The number of tokens is not part of the name: it changes how windows are cut, but their vectors may still be
        // compared.
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
