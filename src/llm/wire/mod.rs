//! Stand-in until the real module is merged: chat completions only.

pub(super) mod batch;

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::key::Key;
use super::{BatchState, Failure, Finish, SubmittedBatch};
use crate::context::cost::Usage;
use crate::context::models::Model;
use crate::context::prompt::Prompt;
use crate::context::settings::{ContextConfig, Provider};

pub(super) enum Wire {
    Anthropic(Anthropic),
    OpenAi(OpenAi),
}
pub(super) struct Anthropic {
    base: String,
}
pub(super) struct OpenAi {
    base: String,
    model: String,
}
pub(super) struct Request {
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, SecretString)>,
    pub(super) body: Vec<u8>,
}
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) finish: Finish,
    pub(super) usage: Usage,
}
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Field {
    Temperature,
    Thinking,
}
pub(super) struct Refusal {
    pub(super) kind: RefusalKind,
    pub(super) retry_after: Option<Duration>,
    pub(super) field: Option<Field>,
    pub(super) message: String,
}
pub(super) enum RefusalKind {
    Transient,
    Overloaded,
    Unauthorized,
    UnknownModel,
    SpendLimit,
    TooLong,
    Rejected,
    UnsupportedField,
}

fn bearer(key: Option<&Key>) -> Vec<(&'static str, SecretString)> {
    match key {
        Some(Key::Bearer(key)) => vec![("authorization", format!("Bearer {}", key.expose_secret()).into())],
        _ => Vec::new(),
    }
}

impl Wire {
    pub(super) fn new(config: &ContextConfig, model: &Model) -> Result<Wire, String> {
        let base = config.base_url.clone().unwrap_or_else(|| "https://api.example.org".to_owned());
        Ok(match config.provider {
            Provider::Anthropic => Wire::Anthropic(Anthropic { base }),
            _ => Wire::OpenAi(OpenAi { base, model: model.id.clone() }),
        })
    }

    pub(super) fn request(
        &self,
        prompt: &Prompt,
        key: Option<&Key>,
        without: &[Field],
        _now: SystemTime,
    ) -> Result<Request, Failure> {
        let model = if let Wire::OpenAi(wire) = self { wire.model.as_str() } else { "" };
        let mut body = json!({ "model": model, "max_tokens": prompt.max_tokens, "messages": [
            { "role": "system", "content": prompt.system },
            { "role": "user", "content": format!("{}{}", prompt.document, prompt.task) },
        ]});
        if !without.contains(&Field::Temperature) {
            body["temperature"] = 0.3.into();
        }
        if !without.contains(&Field::Thinking) {
            body["reasoning_effort"] = "none".into();
        }
        let url = format!("{}/chat/completions", self.base());
        Ok(Request { url, headers: bearer(key), body: body.to_string().into_bytes() })
    }

    pub(super) fn read(&self, body: &[u8], _prompt: &Prompt) -> Result<Answer, String> {
        let answer: Value = serde_json::from_slice(body).map_err(|_| "the answer is no JSON".to_owned())?;
        let choice = &answer["choices"][0];
        let text = choice["message"]["content"].as_str().ok_or("the answer has no text")?.to_owned();
        let finish = match choice["finish_reason"].as_str() {
            Some("stop") => Finish::Stop,
            Some("length") => Finish::Length,
            Some("content_filter") => Finish::Refusal,
            _ => Finish::Other,
        };
        let usage = &answer["usage"];
        let count = |name: &str| usage[name].as_u64().unwrap_or_default();
        let (input, output) = (count("prompt_tokens"), count("completion_tokens"));
        Ok(Answer { text, finish, usage: Usage { input, output, estimated: input == 0, ..Usage::default() } })
    }

    pub(super) fn refusal(&self, status: u16, headers: &HeaderMap, body: &[u8], _now: SystemTime) -> Refusal {
        let text = String::from_utf8_lossy(body);
        let names = |field: &str| status == 400 && text.contains(field);
        let field = if names("temperature") {
            Some(Field::Temperature)
        } else {
            names("reasoning_effort").then_some(Field::Thinking)
        };
        let kind = match status {
            429 if text.contains("insufficient_quota") => RefusalKind::SpendLimit,
            _ if text.contains("too large to process") => RefusalKind::TooLong,
            429 | 529 => RefusalKind::Overloaded,
            401 | 403 => RefusalKind::Unauthorized,
            402 => RefusalKind::SpendLimit,
            404 => RefusalKind::UnknownModel,
            413 => RefusalKind::TooLong,
            400 if field.is_some() => RefusalKind::UnsupportedField,
            408 | 409 | 425 | 500.. => RefusalKind::Transient,
            _ => RefusalKind::Rejected,
        };
        let seconds = headers.get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        Refusal {
            kind,
            retry_after: seconds.map(|seconds: u64| Duration::from_secs(seconds.min(120))),
            field,
            message: format!("status {status}"),
        }
    }

    pub(super) fn base(&self) -> &str {
        match self {
            Wire::Anthropic(wire) => &wire.base,
            Wire::OpenAi(wire) => &wire.base,
        }
    }
}
