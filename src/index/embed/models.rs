//! What is known about embedding models: their length, their prefixes, their price. A table, so that no code
//! path depends on a model's name; the configuration overrides all of it. Pure.

use std::path::Path;

use super::provider::EmbedProvider;

/// When the prices were looked up.
pub const AS_OF: &str = "2026-11-12";

/// Tokens that an unknown model is assumed to take: as many as BERT's descendants.
const USUAL_TOKENS: u32 = 512;

/// What is known about a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// Tokens of one text that it takes.
    pub max_tokens: u32,
    /// What its makers put before queries and before documents.
    pub prefixes: (&'static str, &'static str),
    /// Micro-dollars per million tokens; `None` if unknown.
    pub price: Option<u64>,
}

/// Beginnings of models' names (without what stands before the last `/`), the longest match wins.
///
/// Prices are the vendors' list prices as of [`AS_OF`]; prefixes are those of the models' own cards.
const TABLE: &[(&str, KnownModel)] = &[
    ("text-embedding-3-small", known(8191, "", "", Some(20_000))),
    ("text-embedding-3-large", known(8191, "", "", Some(130_000))),
    ("voyage-4-lite", known(32_000, "", "", Some(20_000))),
    ("voyage-4-large", known(32_000, "", "", Some(120_000))),
    ("voyage-4", known(32_000, "", "", Some(60_000))),
    ("voyage-context-4", known(32_000, "", "", Some(120_000))),
    ("voyage-context-3", known(32_000, "", "", Some(180_000))),
    ("voyage-", known(16_000, "", "", None)),
    ("embed-v4", known(32_000, "", "", None)),
    ("embed-v5", known(32_000, "", "", None)),
    ("nomic-embed-text", known(2048, "search_query: ", "search_document: ", None)),
    ("mxbai-embed-large", known(512, "Represent this sentence for searching relevant passages: ", "", None)),
    ("snowflake-arctic-embed2", known(8192, "query: ", "", None)),
    ("embeddinggemma", known(2048, "task: search result | query: ", "title: none | text: ", None)),
    ("multilingual-e5", known(512, "query: ", "passage: ", None)),
    ("e5-", known(512, "query: ", "passage: ", None)),
    ("bge-m3", known(8192, "", "", None)),
    ("all-minilm", known(256, "", "", None)),
];

const fn known(max_tokens: u32, query: &'static str, document: &'static str, price: Option<u64>) -> KnownModel {
    KnownModel { max_tokens, prefixes: (query, document), price }
}

impl KnownModel {
    /// What is known about a model of a provider.
    pub fn of(provider: EmbedProvider, model: &str) -> KnownModel {
        let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let matching = TABLE.iter().filter(|(beginning, _)| name.starts_with(beginning));
        let found = matching.max_by_key(|(beginning, _)| beginning.len()).map(|(_, known)| *known);
        let usual = known(USUAL_TOKENS, "", "", None);
        match provider {
            // A field of these vendors' requests says whether a text is a query or a document; their models take no
            // prefix.
            EmbedProvider::Voyage | EmbedProvider::Cohere => {
                found.map_or(usual, |known| KnownModel { prefixes: ("", ""), ..known })
            }
            EmbedProvider::Builtin | EmbedProvider::Static => usual,
            EmbedProvider::Transformer | EmbedProvider::Ollama | EmbedProvider::OpenAi => found.unwrap_or(usual),
        }
    }
}

/// The name of the model in a folder: `org/name` if the folder is in a hub's cache.
pub fn name_of(folder: &Path) -> String {
    let parts = folder.iter().rev().filter_map(|part| part.to_str());
    // `models--org--name/snapshots/<commit>` is how huggingface_hub stores a model.
    let cached = parts.clone().take(3).find_map(|part| part.strip_prefix("models--"));
    let name = cached.or_else(|| parts.clone().next()).unwrap_or("model");
    name.replacen("--", "/", 1).chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests;
