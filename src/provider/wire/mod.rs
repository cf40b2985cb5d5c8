//! What goes over the wire, and what comes back: bodies, headers, answers and refusals of every provider. No
//! request is sent here; [`Wire`] only says what to send and what an answer means.
//!
//! What differs between models comes from the [`Model`] table and the configuration, never from a model's name.
//! Formats are those of the vendors' own clients (`testdata/sdk_wire.json` holds what they send).

mod address;
mod anthropic;
pub(super) mod batch;
mod bedrock;
#[cfg(any(test, fuzzing))]
pub(crate) mod made;
mod ollama;
mod openai;
mod refusal;
mod rerank;
pub(super) mod stream;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::SystemTime;

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::key::Key;
use super::{ADDED, Failure, FailureKind, Finish, possible};
use context::cost::{Usage, estimate_tokens};
use context::models::Model;
use context::prompt::Prompt;
use context::settings::{ContextConfig, Provider};

pub(super) use self::address::Address;
pub(super) use self::anthropic::Anthropic;
pub(super) use self::bedrock::Bedrock;
pub(super) use self::ollama::Ollama;
pub(super) use self::openai::OpenAi;
pub(super) use self::refusal::{Refusal, RefusalKind, Who};
pub(super) use self::rerank::{Judgement, Rerank};

/// A provider's interface, with the model that is asked.
#[derive(Clone, Debug)]
pub(super) enum Wire {
    /// Anthropic's Messages interface.
    Anthropic(Anthropic),
    /// The same on AWS Bedrock.
    Bedrock(Bedrock),
    /// OpenAI's chat completions.
    OpenAi(OpenAi),
    /// Ollama's native chat.
    Ollama(Ollama),
}

/// One HTTP request; POST, unless [`batch::Call`] says otherwise.
#[derive(Clone)]
pub(super) struct Request {
    /// Where.
    pub(super) url: String,
    /// All headers except `Host` and `Content-Length`, names in lower case.
    pub(super) headers: Vec<(&'static str, SecretString)>,
    /// JSON, or empty.
    pub(super) body: Vec<u8>,
}

/// Says where a request goes and how large it is: headers hold keys, and the body holds a note.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| *name).collect();
        f.debug_struct("Request")
            .field("url", &self.url)
            .field("headers", &names)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// All text, thinking left out. May be empty.
    pub(super) text: String,
    /// How it ended; [`Finish::Length`] also where the provider says otherwise but the cap was reached.
    pub(super) finish: Finish,
    /// What was used; `estimated` if the provider did not say, or said 0.
    pub(super) usage: Usage,
}

/// A field of a request that can be left out when a server refuses it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Field {
    /// The sampling temperature.
    Temperature,
    /// Anthropic's `thinking`.
    Thinking,
    /// Anthropic's `output_config.effort`, OpenAI's `reasoning_effort`.
    Effort,
    /// All of Anthropic's `output_config`: effort and schema.
    OutputConfig,
    /// The cap of the answer. It is never missing: it goes under its other name (`max_tokens`,
    /// `max_completion_tokens`).
    OutputCap,
    /// The JSON schema.
    Schema,
    /// The mark that the document is to be cached.
    CacheControl,
    /// OpenAI's `developer` role: `system` instead.
    Developer,
    /// Ollama's `think`.
    Think,
    /// Ollama's `keep_alive`.
    KeepAlive,
    /// Ollama's `truncate` and `shift`.
    Truncate,
    /// The seed of sampling.
    Seed,
    /// OpenAI's `stream_options`: without it nobody says what a streamed answer used.
    StreamOptions,
}

/// What a line needs to know of the provider's interface, whatever is asked.
pub(super) trait Protocol {
    /// Who is asked for what.
    fn who(&self) -> Who<'_>;

    /// What an answer with another status than a success means. `now` is what a date in `Retry-After` is compared
    /// with.
    fn refusal(&self, status: u16, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Refusal {
        refusal::read(&self.who(), status, headers, body, now)
    }
}

impl Protocol for Wire {
    fn who(&self) -> Who<'_> {
        let fields = match self {
            Wire::Anthropic(_) | Wire::Bedrock(_) => anthropic::FIELDS,
            Wire::OpenAi(_) => openai::FIELDS,
            Wire::Ollama(_) => ollama::FIELDS,
        };
        Who::new(self.address().origin(), self.model(), fields)
    }
}

/// Whether an address is of this machine. A malformed one is not; making a [`Wire`] of it says what is wrong.
pub(super) fn is_loopback(url: &str) -> bool {
    Address::parse(url, &[]).is_ok_and(|address| address.is_loopback())
}

impl Wire {
    /// The interface that a configuration asks for.
    ///
    /// # Errors
    /// What is wrong with the address or the region.
    pub(super) fn new(config: &ContextConfig, model: &Model) -> Result<Wire, String> {
        match config.provider {
            Provider::None | Provider::Template => Err("templates ask no model".to_owned()),
            Provider::Anthropic => Anthropic::new(config, model).map(Wire::Anthropic),
            Provider::Bedrock => Bedrock::new(config, model).map(Wire::Bedrock),
            Provider::OpenAi => OpenAi::new(config, model).map(Wire::OpenAi),
            Provider::Ollama => Ollama::new(config, model).map(Wire::Ollama),
        }
    }

    /// The request for a prompt. `without` are fields that this server refused before; `now` is the date that
    /// AWS signatures carry.
    ///
    /// # Errors
    /// [`FailureKind::Unauthorized`] if a key is needed and there is none, or none of the right sort;
    /// [`FailureKind::TooLong`] if the model cannot take so long a prompt.
    pub(super) fn request(
        &self,
        prompt: &Prompt,
        key: Option<&Key>,
        without: &[Field],
        now: SystemTime,
    ) -> Result<Request, Failure> {
        match self {
            Wire::Anthropic(wire) => wire.request(prompt, key, without),
            Wire::Bedrock(wire) => wire.request(prompt, key, without, now),
            Wire::OpenAi(wire) => wire.request(prompt, key, without),
            Wire::Ollama(wire) => wire.request(prompt, key, without),
        }
    }

    /// Reads the body of an answer with status 200.
    ///
    /// # Errors
    /// Why it is not an answer: a fault of the transport, worth another try. Never holds text of the body.
    pub(super) fn read(&self, body: &[u8], prompt: &Prompt) -> Result<Answer, String> {
        let body = parsed(body)?;
        match self {
            Wire::Anthropic(_) | Wire::Bedrock(_) => anthropic::read(&body, prompt, self.model().token_factor),
            Wire::OpenAi(wire) => wire.read(&body, prompt),
            Wire::Ollama(wire) => wire.read(&body, prompt),
        }
    }

    /// The batch interface, where the provider has one.
    pub(super) fn batches(&self) -> Option<&Anthropic> {
        match self {
            Wire::Anthropic(wire) => Some(wire),
            Wire::Bedrock(_) | Wire::OpenAi(_) | Wire::Ollama(_) => None,
        }
    }

    /// Where requests go.
    pub(super) fn address(&self) -> &Address {
        match self {
            Wire::Anthropic(wire) => &wire.address,
            Wire::Bedrock(wire) => &wire.address,
            Wire::OpenAi(wire) => &wire.address,
            Wire::Ollama(wire) => &wire.address,
        }
    }

    /// The model that is asked.
    pub(super) fn model(&self) -> &Model {
        match self {
            Wire::Anthropic(Anthropic { asking, .. }) | Wire::Bedrock(Bedrock { asking, .. }) => &asking.model,
            Wire::OpenAi(OpenAi { model, .. }) | Wire::Ollama(Ollama { model, .. }) => model,
        }
    }
}

pub(super) const JSON: (&str, &str) = ("content-type", "application/json");

pub(super) fn plain(header: (&'static str, &str)) -> (&'static str, SecretString) {
    (header.0, header.1.into())
}

pub(super) fn bearer(key: &SecretString) -> (&'static str, SecretString) {
    ("authorization", format!("Bearer {}", key.expose_secret()).into())
}

/// The single word that most providers take as a key. `section` of the configuration says where it is.
///
/// # Errors
/// There is none though one is `needed` and the address is not of this machine, or it is one for AWS.
pub(super) fn api_key<'a>(
    key: Option<&'a Key>,
    address: &Address,
    section: &str,
    needed: bool,
) -> Result<Option<&'a SecretString>, Failure> {
    match key {
        Some(Key::Bearer(key)) => Ok(Some(key)),
        Some(Key::Aws { .. }) => Err(no_key(address, section, "the key found is one for AWS")),
        None if address.is_loopback() || !needed => Ok(None),
        None => Err(no_key(address, section, "no key is found")),
    }
}

fn no_key(address: &Address, section: &str, why: &str) -> Failure {
    let message = format!(
        "{why}, and {} wants one: name a file that only you can read in `{section}.key_file`, \
         or a command in `{section}.key_command`",
        address.origin()
    );
    Failure::new(FailureKind::Unauthorized, message)
}

/// The messages for interfaces that take one text from the user. The document comes first, because caches look for
/// equal beginnings. Empty texts are left out, because some servers refuse them.
fn messages(system: &str, prompt: &Prompt) -> Value {
    let parts = [prompt.document.as_str(), prompt.task.as_str()];
    let question = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    let question = json!({"role": "user", "content": question});
    if prompt.system.is_empty() {
        return json!([question]);
    }
    json!([{"role": system, "content": prompt.system}, question])
}

/// A temperature as people write it: 0.3, where the next `f64` would be 0.30000001192092896.
fn temperature(value: f32) -> f64 {
    (f64::from(value) * 1000.0).round() / 1000.0
}

fn tokens(text: &str, model: &Model) -> u32 {
    estimate_tokens(text, model.token_factor)
}

fn bytes(body: &Value) -> Vec<u8> {
    body.to_string().into_bytes()
}

pub(super) fn parsed(body: &[u8]) -> Result<Value, String> {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(_) if body.iter().all(u8::is_ascii_whitespace) => return Err("the answer is empty".to_owned()),
        Err(e) if e.is_eof() => return Err("the answer breaks off in the middle".to_owned()),
        Err(_) => return Err("the answer is not JSON".to_owned()),
    };
    if value.get("error").is_some_and(|e| !e.is_null()) {
        return Err("the answer is an error in spite of its status 200".to_owned());
    }
    Ok(value)
}

/// Fills in what the provider does not say about usage, and corrects what it says about the end.
///
/// Servers that do not count send no counts, or 0. `input` is without the tokens that came from a cache or went into
/// it.
fn answer(text: String, said: Finish, counted: Counted, prompt: &Prompt, token_factor: f32) -> Answer {
    let Counted { input, output, cache_read, cache_write } = counted;
    let mut usage =
        Usage { input: input.unwrap_or(0), output: output.unwrap_or(0), cache_read, cache_write, estimated: false };
    if usage.input == 0 && cache_read == 0 && cache_write == 0 {
        usage.input = u64::from(prompt.tokens);
        usage.estimated = true;
    }
    if usage.output == 0 && !(text.is_empty() && output.is_some()) {
        usage.output = u64::from(estimate_tokens(&text, token_factor));
        usage.estimated = true;
    }
    cap(&mut usage, prompt);
    // Proxies are known to call a cut answer finished.
    let at_the_cap = output.is_some_and(|n| n > 0 && n >= u64::from(prompt.max_tokens));
    let finish = if said == Finish::Stop && at_the_cap { Finish::Length } else { said };
    Answer { text, finish, usage }
}

/// Caps counts that cannot be: a token is a byte of the prompt at least, and none is written past the cap.
fn cap(usage: &mut Usage, prompt: &Prompt) {
    let bytes = (prompt.system.len() + prompt.document.len() + prompt.task.len()) as u64;
    let mut left = bytes.max(u64::from(prompt.tokens)).saturating_add(ADDED);
    for count in [&mut usage.input, &mut usage.cache_write, &mut usage.cache_read] {
        *count = possible(*count, left);
        left -= *count;
    }
    usage.output = possible(usage.output, u64::from(prompt.max_tokens).saturating_add(ADDED));
}

/// Tokens as a provider counted them; `input` without those of the cache.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: u64,
    cache_write: u64,
}

/// Text without the thinking that some servers leave at its beginning.
fn without_thinking(text: &str) -> &str {
    let Some(thinking) = text.trim_start().strip_prefix("<think>") else { return text };
    thinking.split_once("</think>").map_or("", |(_, rest)| rest.trim_start())
}
