//! Anthropic's Messages interface, and servers that speak it.
//!
//! Two blocks from the user: the note, which may be marked for the cache, and the question. With API version
//! 2026-10-21 and later sampling parameters are refused, whatever the model.

use serde_json::{Value, json};

use super::super::Finish;
use super::address::Address;
use super::{Answer, Counted, Field, Request};
use crate::Failure;
use crate::key::Key;
use context::models::{Model, Thinking};
use context::prompt;
use context::prompt::Prompt;
use context::settings::ContextConfig;

/// From this version on, ISO, sampling parameters are an error.
const NO_SAMPLING: &str = "2026-10-21";

/// Names that an error may hold, and the field that each means.
pub(super) const FIELDS: &[(&str, Field)] = &[
    ("temperature", Field::Temperature),
    ("thinking", Field::Thinking),
    ("output_config.effort", Field::Effort),
    ("effort", Field::Effort),
    ("output_config.format", Field::Schema),
    ("json_schema", Field::Schema),
    ("structured output", Field::Schema),
    ("structured outputs", Field::Schema),
    ("output_config", Field::OutputConfig),
    ("cache_control", Field::CacheControl),
];

/// How long a provider keeps what is marked for the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Five minutes.
    Short,
    /// An hour, for batches.
    Hour,
}

/// A model at Anthropic's interface.
#[derive(Clone, Debug)]
pub(crate) struct Anthropic {
    pub(super) address: Address,
    api_version: String,
    pub(super) asking: Asking,
}

/// Makes the body for a model that speaks Anthropic's Messages, wherever it runs.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) model: Model,
    temperature: Option<f64>,
}

impl Asking {
    pub(super) fn new(config: &ContextConfig, model: &Model) -> Self {
        let sampling = model.sampling && config.api_version.as_str() < NO_SAMPLING;
        Asking { model: model.clone(), temperature: sampling.then(|| super::temperature(config.temperature)) }
    }

    /// The body without `model`, which Bedrock has in its path.
    pub(super) fn body(&self, prompt: &Prompt, without: &[Field], keep: Keep) -> Value {
        let may = |field: Field| !without.contains(&field);
        let mut body = json!({
            "max_tokens": prompt.max_tokens,
            "messages": [{"role": "user", "content": self.blocks(prompt, may(Field::CacheControl), keep)}],
        });
        if !prompt.system.is_empty() {
            body["system"] = json!([text(&prompt.system)]);
        }
        if let Some(temperature) = self.temperature.filter(|_| may(Field::Temperature)) {
            body["temperature"] = json!(temperature);
        }
        let (thinking, effort) = match self.model.thinking {
            Thinking::Omit | Thinking::Always => (None, None),
            Thinking::Disable => (Some("disabled"), Some("low")),
            Thinking::BetweenTools => (Some("between_tools"), None),
            Thinking::Effort(effort) => (None, Some(effort)),
        };
        if let Some(thinking) = thinking.filter(|_| may(Field::Thinking)) {
            body["thinking"] = json!({"type": thinking});
        }
        if may(Field::OutputConfig) {
            if let Some(effort) = effort.filter(|_| may(Field::Effort)) {
                body["output_config"]["effort"] = json!(effort);
            }
            if prompt.json && self.model.json_schema && may(Field::Schema) {
                body["output_config"]["format"] =
                    json!({"type": "json_schema", "schema": prompt::schema(prompt.expansion)});
            }
        }
        body
    }

    /// The note and the question. The mark for the cache makes what it marks a quarter more expensive, and nothing is
    /// cached below the model's minimum. So it is set only if more requests follow and the prefix is long enough.
    fn blocks(&self, prompt: &Prompt, cache: bool, keep: Keep) -> Value {
        if prompt.document.is_empty() {
            return json!([text(&prompt.task)]);
        }
        let mut document = text(&prompt.document);
        let prefix = super::tokens(&prompt.document, &self.model) + super::tokens(&prompt.system, &self.model);
        if cache && prompt.cache && self.model.min_cache_tokens.is_some_and(|least| prefix >= least) {
            document["cache_control"] = match keep {
                Keep::Short => json!({"type": "ephemeral"}),
                Keep::Hour => json!({"type": "ephemeral", "ttl": "1h"}),
            };
        }
        json!([document, text(&prompt.task)])
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

impl Anthropic {
    pub(super) fn new(config: &ContextConfig, model: &Model) -> Result<Self, String> {
        let base = config.base_url.as_deref().unwrap_or("https://api.anthropic.com");
        if config.api_version.is_empty() || !config.api_version.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("the version of Anthropic's interface is a date such as 2023-06-01".to_owned());
        }
        Ok(Anthropic {
            address: Address::parse(base, &["/v1/messages", "/v1"])?,
            api_version: config.api_version.clone(),
            asking: Asking::new(config, model),
        })
    }

    pub(super) fn request(&self, prompt: &Prompt, key: Option<&Key>, without: &[Field]) -> Result<Request, Failure> {
        let body = self.params(prompt, without, Keep::Short);
        self.call("/v1/messages", key, super::bytes(&body))
    }

    /// The whole body, as batches hold it too.
    pub(super) fn params(&self, prompt: &Prompt, without: &[Field], keep: Keep) -> Value {
        let mut body = self.asking.body(prompt, without, keep);
        body["model"] = json!(self.asking.model.id);
        body
    }

    pub(super) fn call(&self, path: &str, key: Option<&Key>, body: Vec<u8>) -> Result<Request, Failure> {
        let mut headers = vec![super::plain(("anthropic-version", &self.api_version))];
        if !body.is_empty() {
            headers.push(super::plain(super::JSON));
        }
        if let Some(key) = super::api_key(key, &self.address, "context", true)? {
            // The Messages gateway of AWS knows keys only as bearers.
            headers.push(if self.address.host().ends_with(".api.aws") {
                super::bearer(key)
            } else {
                ("x-api-key", key.clone())
            });
        }
        Ok(Request { url: self.address.join(path), headers, body })
    }
}

/// Reads a message. Blocks are told by their type; unknown ones are skipped.
pub(super) fn read(message: &Value, prompt: &Prompt, token_factor: f32) -> Result<Answer, String> {
    let blocks = message.get("content").and_then(Value::as_array).ok_or("the answer has no `content`")?;
    let text: String = blocks
        .iter()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
        .filter_map(|block| block.get("text").and_then(Value::as_str))
        .collect();
    let finish = message.get("stop_reason").and_then(Value::as_str).map_or(Finish::Other, finish);
    let tokens = |key: &str| message.pointer(&format!("/usage/{key}")).and_then(Value::as_u64);
    let counted = Counted {
        input: tokens("input_tokens"),
        output: tokens("output_tokens"),
        cache_read: tokens("cache_read_input_tokens").unwrap_or(0),
        cache_write: tokens("cache_creation_input_tokens").unwrap_or(0),
    };
    Ok(super::answer(text, finish, counted, prompt, token_factor))
}

/// How an answer ended.
pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refusal,
        "tool_use" | "pause_turn" => Finish::Broken,
        _ => Finish::Other,
    }
}
