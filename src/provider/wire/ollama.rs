//! Ollama's native chat. Chosen over its OpenAI-like interface because only here the length of the context can be
//! set: the other one cuts prompts at 4,096 tokens without a word.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::super::{Failure, FailureKind, Finish};
use super::address::Address;
use super::{Answer, Counted, Field, Request};
use crate::key::Key;
use context::models::{Model, Thinking};
use context::prompt;
use context::prompt::Prompt;
use context::settings::ContextConfig;

/// The smallest context that is requested, in tokens; larger ones are this doubled.
const LEAST_CONTEXT: u32 = 4096;

/// The largest context that is requested, in tokens, unless the model is known to take more.
const USUAL_CONTEXT: u32 = 32_768;

/// Equal prompts should get equal answers.
const SEED: u32 = 1;

/// Names that an error may hold, and the field that each means.
pub(super) const FIELDS: &[(&str, Field)] = &[
    ("temperature", Field::Temperature),
    ("thinking", Field::Think),
    ("think", Field::Think),
    ("format", Field::Schema),
    ("grammar", Field::Schema),
    ("keep_alive", Field::KeepAlive),
    ("truncate", Field::Truncate),
    ("shift", Field::Truncate),
    ("seed", Field::Seed),
];

/// A model at an Ollama server.
#[derive(Clone, Debug)]
pub(crate) struct Ollama {
    pub(super) address: Address,
    keep_alive: String,
    temperature: Option<f64>,
    pub(super) model: Model,
    /// The largest context asked for so far: another length makes the server load the model again, so it only grows.
    context: Arc<AtomicU32>,
}

impl Ollama {
    pub(super) fn new(config: &ContextConfig, model: &Model) -> Result<Self, String> {
        let base = config.base_url.as_deref().unwrap_or("http://127.0.0.1:11434");
        Ok(Ollama {
            address: Address::parse(base, &["/api/chat", "/api", "/v1"])?,
            keep_alive: config.keep_alive.clone(),
            temperature: model.sampling.then(|| super::temperature(config.temperature)),
            model: model.clone(),
            context: Arc::new(AtomicU32::new(LEAST_CONTEXT)),
        })
    }

    pub(super) fn request(&self, prompt: &Prompt, key: Option<&Key>, without: &[Field]) -> Result<Request, Failure> {
        let context = self.context_for(prompt)?;
        let mut headers = vec![super::plain(super::JSON)];
        // Ollama itself takes no key; a proxy before it may.
        headers.extend(super::api_key(key, &self.address, "context", false)?.map(super::bearer));
        let body = super::bytes(&self.body(prompt, without, context));
        Ok(Request { url: self.address.join("/api/chat"), headers, body })
    }

    fn context_for(&self, prompt: &Prompt) -> Result<u32, Failure> {
        let most = self.model.context_size.max(USUAL_CONTEXT);
        let needed = prompt.tokens.saturating_add(prompt.max_tokens);
        let mut context = LEAST_CONTEXT;
        while context < needed && context < most {
            context = context.saturating_mul(2);
        }
        if context < needed {
            let message = format!("a prompt of about {} tokens is too long for {}", prompt.tokens, self.model.id);
            return Err(Failure::new(FailureKind::TooLong, message));
        }
        Ok(self.context.fetch_max(context, Ordering::Relaxed).max(context))
    }

    fn body(&self, prompt: &Prompt, without: &[Field], context: u32) -> Value {
        let may = |field: Field| !without.contains(&field);
        let mut body = json!({
            "model": self.model.id,
            "messages": super::messages("system", prompt),
            "stream": false,
            "options": {"num_ctx": context, "num_predict": prompt.max_tokens},
        });
        if let Some(temperature) = self.temperature.filter(|_| may(Field::Temperature)) {
            body["options"]["temperature"] = json!(temperature);
        }
        if may(Field::Seed) {
            body["options"]["seed"] = json!(SEED);
        }
        if may(Field::Think) {
            body["think"] = match self.model.thinking {
                Thinking::Effort(effort) => json!(effort),
                Thinking::Omit | Thinking::Disable | Thinking::BetweenTools | Thinking::Always => json!(false),
            };
        }
        if may(Field::KeepAlive) {
            body["keep_alive"] = keep_alive(&self.keep_alive);
        }
        if may(Field::Truncate) {
            body["truncate"] = json!(false);
            body["shift"] = json!(false);
        }
        if prompt.json && self.model.json_schema && may(Field::Schema) {
            body["format"] = prompt::schema(prompt.expansion);
        }
        body
    }

    pub(super) fn read(&self, body: &Value, prompt: &Prompt) -> Result<Answer, String> {
        let message = body.get("message").filter(|m| m.is_object()).ok_or("the answer has no `message`")?;
        if body.get("done").and_then(Value::as_bool) == Some(false) {
            return Err("the answer is only the beginning of one".to_owned());
        }
        let text = message.get("content").and_then(Value::as_str).unwrap_or("");
        let finish = match body.get("done_reason").and_then(Value::as_str) {
            Some("stop") => Finish::Stop,
            Some("length") => Finish::Length,
            _ => Finish::Other,
        };
        let tokens = |key: &str| body.get(key).and_then(Value::as_u64);
        let counted =
            Counted { input: tokens("prompt_eval_count"), output: tokens("eval_count"), ..Counted::default() };
        if let Some(read) = counted.input.filter(|&n| n > 0)
            && read * 10 < at_least(prompt) * 6
        {
            return Err(format!("the server read only {read} of about {} tokens: it cut the prompt", at_least(prompt)));
        }
        let text = super::without_thinking(text).to_owned();
        Ok(super::answer(text, finish, counted, prompt, self.model.token_factor))
    }
}

/// About how many tokens a prompt has at least. The estimate goes by bytes, which is too much for scripts with several
/// bytes per letter. There an honest count must not look like a cut prompt, so letters are counted too.
pub(super) fn at_least(prompt: &Prompt) -> u64 {
    let letters: usize = [&prompt.system, &prompt.document, &prompt.task].iter().map(|part| part.chars().count()).sum();
    // 3.6 letters per token, as in the estimate.
    u64::from(prompt.tokens).min(letters as u64 * 10 / 36)
}

/// Ollama takes seconds as a number, and a duration with a unit as text; `-1` is for ever.
fn keep_alive(text: &str) -> Value {
    text.trim().parse::<i64>().map_or_else(|_| json!(text.trim()), |seconds| json!(seconds))
}
