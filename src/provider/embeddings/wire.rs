//! What goes over the wire for vectors, and what comes back.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::key::Key;
use super::super::wire::{Address, JSON, Protocol, Request, Who, api_key, bearer, plain};
use super::TextGroup;
use crate::Failure;
use index::embed::settings::{EmbedConfig, EmbedProvider};
use index::embed::{TextKind, base64};

/// How long Ollama keeps the model loaded: longer than the pauses between saves.
const KEEP_ALIVE: &str = "15m";

/// How much one call may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerCall {
    /// Texts.
    pub texts: usize,
    /// Tokens of all of them, as [`super::tokens_of`] counts.
    pub tokens: u64,
}

/// A provider's interface, with the model that is asked.
#[derive(Clone, Debug)]
pub(super) struct EmbedWire {
    provider: EmbedProvider,
    pub(super) address: Address,
    model: String,
    /// Sent only if the configuration sets it: many models have a fixed number of dimensions and refuse the field.
    dimensions: Option<u32>,
    contextual: bool,
}

impl EmbedWire {
    pub(super) fn new(config: &EmbedConfig) -> Result<Self, String> {
        let (base, ends): (&str, &[&str]) = match config.provider {
            EmbedProvider::Builtin | EmbedProvider::Static | EmbedProvider::Transformer => {
                return Err(format!("`{}` is not asked over HTTP", config.provider.name()));
            }
            EmbedProvider::Ollama => ("http://127.0.0.1:11434", &["/api/embed", "/api", "/v1"]),
            EmbedProvider::OpenAi => ("https://api.openai.com/v1", &["/embeddings"]),
            EmbedProvider::Voyage => ("https://api.voyageai.com", &["/embeddings", "/contextualizedembeddings", "/v1"]),
            EmbedProvider::Cohere => ("https://api.cohere.com", &["/embed", "/v2", "/v1"]),
        };
        Ok(EmbedWire {
            provider: config.provider,
            address: Address::parse(config.base_url.as_deref().unwrap_or(base), ends)?,
            model: config.model().to_owned(),
            dimensions: config.dimensions,
            contextual: config.is_contextual(),
        })
    }

    /// Well below what the vendors allow, so that a call that fails costs little and an answer comes in seconds.
    pub(super) fn per_call(&self) -> PerCall {
        match self.provider {
            // Models on the user's own machine are slow: a save must not wait long for the call before it.
            _ if self.address.is_loopback() => PerCall { texts: 32, tokens: 8_000 },
            EmbedProvider::Cohere => PerCall { texts: 96, tokens: 50_000 },
            // The vendor allows 120,000 tokens, of which one document may take 32,000.
            EmbedProvider::Voyage => PerCall { texts: 128, tokens: 60_000 },
            _ => PerCall { texts: 128, tokens: 100_000 },
        }
    }

    pub(super) fn request(
        &self,
        documents: &[TextGroup],
        kind: TextKind,
        key: Option<&Key>,
    ) -> Result<Request, Failure> {
        let mut headers = vec![plain(JSON)];
        // Ollama itself takes no key; a proxy before it may.
        let needed = self.provider != EmbedProvider::Ollama;
        headers.extend(api_key(key, &self.address, "embed", needed)?.map(bearer));
        let (path, body) = self.body(documents, kind);
        Ok(Request { url: self.address.join(path), headers, body: body.to_string().into_bytes() })
    }

    fn body(&self, documents: &[TextGroup], kind: TextKind) -> (&'static str, Value) {
        let texts: Vec<&str> = documents.iter().flatten().map(String::as_str).collect();
        let model = &self.model;
        let (path, mut body) = match self.provider {
            EmbedProvider::Ollama => {
                ("/api/embed", json!({"model": model, "input": texts, "truncate": true, "keep_alive": KEEP_ALIVE}))
            }
            EmbedProvider::Voyage if self.contextual => {
                let body = json!({"model": model, "inputs": documents, "input_type": voyage_type(kind)});
                ("/v1/contextualizedembeddings", body)
            }
            EmbedProvider::Voyage => {
                let body = json!({"model": model, "input": texts, "input_type": voyage_type(kind), "truncation": true});
                ("/v1/embeddings", body)
            }
            EmbedProvider::Cohere => {
                let input_type = match kind {
                    TextKind::Query => "search_query",
                    TextKind::Document => "search_document",
                };
                let body = json!({
                    "model": model, "texts": texts, "input_type": input_type, "embedding_types": ["float"],
                    "truncate": "END",
                });
                ("/v2/embed", body)
            }
            EmbedProvider::OpenAi | EmbedProvider::Builtin | EmbedProvider::Static | EmbedProvider::Transformer => {
                ("/embeddings", json!({"model": model, "input": texts, "encoding_format": "float"}))
            }
        };
        if let Some(dimensions) = self.dimensions {
            let name = match self.provider {
                EmbedProvider::Voyage | EmbedProvider::Cohere => "output_dimension",
                _ => "dimensions",
            };
            body[name] = json!(dimensions);
        }
        (path, body)
    }

    /// Reads the body of an answer with status 200: vectors in the order of the texts, and tokens if it tells them.
    ///
    /// # Errors
    /// Why it is not an answer. Never holds text of the body.
    pub(super) fn read(body: &[u8], documents: &[TextGroup]) -> Result<(Vec<Vec<f32>>, Option<u64>), String> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| match () {
            () if body.trim_ascii().is_empty() => "the answer is empty",
            () if error.is_eof() => "the answer breaks off in the middle",
            () => "the answer holds no vectors, or not in the form of this provider",
        })?;
        if answer.error.is_some() {
            return Err("the answer is an error in spite of its status 200".to_owned());
        }
        let tokens = answer.tokens();
        let vectors = answer.vectors(documents)?;
        let wanted: usize = documents.iter().map(Vec::len).sum();
        if vectors.len() != wanted {
            return Err(format!("texts sent: {wanted}, vectors that came: {}", vectors.len()));
        }
        let length = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != length || length == 0) {
            return Err("the vectors of one answer differ in their dimensions".to_owned());
        }
        if vectors.iter().flatten().any(|x| !x.is_finite()) {
            return Err("a vector holds what is no number".to_owned());
        }
        let says_something = |text: &String| text.chars().any(char::is_alphanumeric);
        let of_words = documents.iter().flatten().zip(&vectors).filter(|(text, _)| says_something(text));
        let mut empty = of_words.map(|(_, vector)| vector.iter().all(|x| *x == 0.0)).peekable();
        if empty.peek().is_some() && empty.all(|empty| empty) {
            return Err("the vectors are all zeros, with which nothing can be found".to_owned());
        }
        Ok((vectors, tokens))
    }
}

impl Protocol for EmbedWire {
    fn who(&self) -> Who<'_> {
        let (base, ollama) = (self.address.origin(), self.provider == EmbedProvider::Ollama);
        Who { base, model: &self.model, ollama, fields: &[], section: "embed" }
    }
}

fn voyage_type(kind: TextKind) -> &'static str {
    match kind {
        TextKind::Query => "query",
        TextKind::Document => "document",
    }
}

/// The answers of all providers in one: fields that a provider does not send are absent.
#[derive(Deserialize)]
struct Answer {
    /// OpenAI, Voyage.
    data: Option<Vec<Item>>,
    /// A list from Ollama, an object by type from Cohere.
    embeddings: Option<Lists>,
    /// Ollama's older form, for one text.
    embedding: Option<Floats>,
    usage: Option<Usage>,
    prompt_eval_count: Option<u64>,
    meta: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Option<Floats>,
    /// The chunks of a document.
    data: Option<Vec<Item>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lists {
    Plain(Vec<Vec<f32>>),
    ByType { float: Vec<Vec<f32>> },
}

/// A vector: numbers, or their bytes in base64, which some servers send unasked.
#[derive(Deserialize)]
#[serde(untagged)]
enum Floats {
    Numbers(Vec<f32>),
    Base64(String),
}

#[derive(Deserialize)]
struct Usage {
    total_tokens: Option<u64>,
    prompt_tokens: Option<u64>,
}

impl Answer {
    fn tokens(&self) -> Option<u64> {
        let usage = self.usage.as_ref().and_then(|usage| usage.total_tokens.or(usage.prompt_tokens));
        let billed = || self.meta.as_ref()?.pointer("/billed_units/input_tokens")?.as_f64().map(|n| n as u64);
        // Some servers say 0 because they do not count.
        usage.or(self.prompt_eval_count).or_else(billed).filter(|tokens| *tokens > 0)
    }

    fn vectors(self, documents: &[TextGroup]) -> Result<Vec<Vec<f32>>, String> {
        match (self.data, self.embeddings, self.embedding) {
            (Some(items), _, _) if items.iter().any(|item| item.data.is_some()) => {
                let sorted = in_order(items, documents.len())?;
                let mut vectors = Vec::new();
                for (item, document) in sorted.into_iter().zip(documents) {
                    let chunks = in_order(item.data.unwrap_or_default(), document.len())?;
                    vectors.extend(chunks.into_iter().map(Item::floats).collect::<Result<Vec<_>, _>>()?);
                }
                Ok(vectors)
            }
            (Some(items), _, _) => {
                let texts = documents.iter().map(Vec::len).sum();
                in_order(items, texts)?.into_iter().map(Item::floats).collect()
            }
            (None, Some(Lists::Plain(vectors) | Lists::ByType { float: vectors }), _) => Ok(vectors),
            (None, None, Some(floats)) => Ok(vec![floats.numbers()?]),
            (None, None, None) => Err("the answer holds no vectors".to_owned()),
        }
    }
}

/// Puts items in the order of their indexes, of which each below `wanted` must occur once. If one has no index, all
/// stay in their order.
fn in_order(mut items: Vec<Item>, wanted: usize) -> Result<Vec<Item>, String> {
    if items.len() != wanted {
        return Err(format!("texts sent: {wanted}, vectors that came: {}", items.len()));
    }
    if items.iter().all(|item| item.index.is_some()) {
        items.sort_by_key(|item| item.index);
        if items.iter().enumerate().any(|(place, item)| item.index != Some(place)) {
            return Err("the answer does not say which vector is whose".to_owned());
        }
    }
    Ok(items)
}

impl Item {
    fn floats(self) -> Result<Vec<f32>, String> {
        self.embedding.ok_or_else(|| "the answer holds no vectors".to_owned())?.numbers()
    }
}

impl Floats {
    fn numbers(self) -> Result<Vec<f32>, String> {
        match self {
            Floats::Numbers(numbers) => Ok(numbers),
            Floats::Base64(text) => {
                let bytes = base64::bytes_of(&text).filter(|bytes| bytes.len() % 4 == 0);
                let bytes = bytes.ok_or_else(|| "a vector in base64 cannot be read".to_owned())?;
                Ok(bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
            }
        }
    }
}
