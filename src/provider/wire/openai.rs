//! OpenAI's chat completions, and the many servers that speak them.
//!
//! Two dialects: OpenAI's own, and what every compatible server understands. The note stands first in one message,
//! since these servers cache equal beginnings by themselves.

use serde_json::{Value, json};

use super::super::Finish;
use super::address::Address;
use super::{Answer, Counted, Field, Request};
use crate::Failure;
use crate::key::Key;
use context::models::{Model, Thinking};
use context::prompt;
use context::prompt::Prompt;
use context::settings::{ContextConfig, Dialect};

const VENDOR: &str = "api.openai.com";

/// The two names of the cap of an answer.
const CAPS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// Names that an error may hold, and the field that each means.
pub(super) const FIELDS: &[(&str, Field)] = &[
    ("temperature", Field::Temperature),
    ("reasoning_effort", Field::Effort),
    ("reasoning effort", Field::Effort),
    ("max_completion_tokens", Field::OutputCap),
    ("max_tokens", Field::OutputCap),
    ("response_format", Field::Schema),
    ("json_schema", Field::Schema),
    ("structured outputs", Field::Schema),
    ("grammar", Field::Schema),
    ("developer", Field::Developer),
    ("stream_options", Field::StreamOptions),
    ("include_usage", Field::StreamOptions),
];

/// A model behind chat completions.
#[derive(Clone, Debug)]
pub(crate) struct OpenAi {
    pub(super) address: Address,
    dialect: Dialect,
    temperature: Option<f64>,
    pub(super) model: Model,
}

impl OpenAi {
    pub(super) fn new(config: &ContextConfig, model: &Model) -> Result<Self, String> {
        let base = config.base_url.as_deref().unwrap_or("https://api.openai.com");
        let address = Address::parse(base, &["/chat/completions", "/v1"])?;
        let guessed = if address.host() == VENDOR { Dialect::OpenAi } else { Dialect::Compat };
        Ok(OpenAi {
            dialect: config.dialect.unwrap_or(guessed),
            temperature: model.sampling.then(|| super::temperature(config.temperature)),
            model: model.clone(),
            address,
        })
    }

    pub(super) fn request(&self, prompt: &Prompt, key: Option<&Key>, without: &[Field]) -> Result<Request, Failure> {
        let mut headers = vec![super::plain(super::JSON)];
        headers.extend(super::api_key(key, &self.address, "context", true)?.map(super::bearer));
        let body = super::bytes(&self.body(prompt, without));
        Ok(Request { url: self.address.join("/v1/chat/completions"), headers, body })
    }

    fn body(&self, prompt: &Prompt, without: &[Field]) -> Value {
        let may = |field: Field| !without.contains(&field);
        let system = match self.dialect {
            Dialect::OpenAi if may(Field::Developer) => "developer",
            Dialect::OpenAi | Dialect::Compat => "system",
        };
        let mut body = json!({
            "model": self.model.id,
            "messages": super::messages(system, prompt),
        });
        body[self.cap(may(Field::OutputCap))] = json!(prompt.max_tokens);
        if let Some(temperature) = self.temperature.filter(|_| may(Field::Temperature)) {
            body["temperature"] = json!(temperature);
        }
        if let Thinking::Effort(effort) = self.model.thinking
            && may(Field::Effort)
        {
            body["reasoning_effort"] = json!(effort);
        }
        if prompt.json && self.model.json_schema && may(Field::Schema) {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": {"name": "captions", "strict": true, "schema": prompt::schema(prompt.expansion)},
            });
        }
        body
    }

    /// The name of the cap: the model's, else the dialect's; the other one if that was refused.
    fn cap(&self, accepted: bool) -> &str {
        let own = match (self.model.output_cap.as_deref(), self.dialect) {
            (Some(name), _) => name,
            (None, Dialect::OpenAi) => CAPS[0],
            (None, Dialect::Compat) => CAPS[1],
        };
        if accepted { own } else { CAPS[usize::from(own == CAPS[0])] }
    }

    pub(super) fn read(&self, body: &Value, prompt: &Prompt) -> Result<Answer, String> {
        let choice = body.pointer("/choices/0").ok_or("the answer has no `choices`")?;
        let message = choice.get("message").filter(|m| m.is_object()).ok_or("the answer has no `message`")?;
        let text = super::without_thinking(&content(message.get("content"))).to_owned();
        let said = |key: &str, of: &Value| of.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
        let finish = match said("finish_reason", choice).as_str() {
            _ if text.is_empty() && !said("refusal", message).is_empty() => Finish::Refusal,
            reason => finish(reason),
        };
        let tokens = |path: &str| body.pointer(&format!("/usage/{path}")).and_then(Value::as_u64);
        let cache_read = tokens("prompt_tokens_details/cached_tokens").unwrap_or(0);
        let cache_write = tokens("prompt_tokens_details/cache_write_tokens").unwrap_or(0);
        let counted = Counted {
            // Here the count of the prompt includes the tokens that the cache read or wrote.
            input: tokens("prompt_tokens").map(|all| all.saturating_sub(cache_read).saturating_sub(cache_write)),
            output: tokens("completion_tokens"),
            cache_read,
            cache_write,
        };
        Ok(super::answer(text, finish, counted, prompt, self.model.token_factor))
    }
}

/// How an answer ended, in the words of the servers that speak this dialect.
pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "stop" | "eos" | "end_turn" => Finish::Stop,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "content_filter" => Finish::Refusal,
        "error" | "insufficient_system_resource" | "tool_calls" | "function_call" => Finish::Broken,
        _ => Finish::Other,
    }
}

/// A message's content: text, nothing, or parts of which some are text.
fn content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
        _ => String::new(),
    }
}
