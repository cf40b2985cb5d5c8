//! What an answer with a status other than 200 means.
//!
//! Proxies, gateways and imitations stand between a daemon and a model, each with its own envelope. So the codes that
//! are known decide first, then words of the text, then the codes of busy providers and refused fields, and only then
//! the status. A 429 may be permanent (the account's limit), and so may a 500 (a prompt that is too long).

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::Field;
use context::models::Model;
use context::settings::Provider;

/// The longest wait that a provider can ask for: some ask for a day, or the year 9999, and are well again within
/// minutes.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_hours(1);

/// Most characters of a provider's own words that a message quotes.
const QUOTED: usize = 120;

/// Bytes of a body that are looked at: errors are short, and what is longer repeats the prompt.
const READ: usize = 64 * 1024;

/// Why a provider did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What follows.
    pub(crate) kind: RefusalKind,
    /// How long the provider asks us to wait, an hour at most.
    pub(crate) retry_after: Option<Duration>,
    /// The field that it does not take, with [`RefusalKind::UnsupportedField`].
    pub(crate) field: Option<Field>,
    /// For the user: who refuses what, with the provider's code. No key, no text of a note.
    pub(crate) message: String,
}

/// What follows from a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RefusalKind {
    /// It may work in a moment.
    Transient,
    /// As above, and fewer calls at once should be made.
    Overloaded,
    /// The key is missing, wrong, or lacks the right.
    Unauthorized,
    /// The model, or the address, is not known there.
    UnknownModel,
    /// The account's limit or bill.
    SpendLimit,
    /// The prompt is too long.
    TooLong,
    /// This request will never be answered.
    Rejected,
    /// It will be answered without the field.
    UnsupportedField,
}

/// Who refuses.
pub(crate) struct Who<'a> {
    /// `scheme://host[:port]`.
    pub(crate) base: &'a str,
    /// The model that was asked.
    pub(crate) model: &'a str,
    /// Whether Ollama was asked for it.
    pub(crate) ollama: bool,
    /// Names that an error may hold, and the fields they mean.
    pub(crate) fields: &'a [(&'static str, Field)],
    /// The section of the configuration that says who is asked.
    pub(crate) section: &'static str,
}

impl<'a> Who<'a> {
    /// A model that writes contexts.
    pub(super) fn new(base: &'a str, model: &'a Model, fields: &'a [(&'static str, Field)]) -> Self {
        Who { base, model: &model.id, ollama: model.provider == Provider::Ollama, fields, section: "context" }
    }
}

/// Codes (lower case) that mean the same wherever they come from, and whatever the status.
const CODES: &[(&str, RefusalKind)] = &[
    // Money. The first is Anthropic's monthly cap, which comes as a 429 without `Retry-After`.
    ("enforced_spend_limit_reached", RefusalKind::SpendLimit),
    ("billing_error", RefusalKind::SpendLimit),
    ("insufficient_quota", RefusalKind::SpendLimit),
    ("credit_balance_exhausted", RefusalKind::SpendLimit),
    ("billing_hard_limit_reached", RefusalKind::SpendLimit),
    ("billing_not_active", RefusalKind::SpendLimit),
    ("insufficient_credits", RefusalKind::SpendLimit),
    ("budget_exceeded", RefusalKind::SpendLimit),
    ("servicequotaexceededexception", RefusalKind::SpendLimit),
    // Length.
    ("request_too_large", RefusalKind::TooLong),
    ("context_length_exceeded", RefusalKind::TooLong),
    ("exceed_context_size_error", RefusalKind::TooLong),
    ("string_above_max_length", RefusalKind::TooLong),
    // Keys. LiteLLM without a database answers a wrong key with the last one.
    ("authentication_error", RefusalKind::Unauthorized),
    ("permission_error", RefusalKind::Unauthorized),
    ("invalid_api_key", RefusalKind::Unauthorized),
    ("accessdeniedexception", RefusalKind::Unauthorized),
    ("unrecognizedclientexception", RefusalKind::Unauthorized),
    ("invalidsignatureexception", RefusalKind::Unauthorized),
    ("signaturedoesnotmatch", RefusalKind::Unauthorized),
    ("expiredtokenexception", RefusalKind::Unauthorized),
    ("no_db_connection", RefusalKind::Unauthorized),
    // Models.
    ("model_not_found", RefusalKind::UnknownModel),
    ("resourcenotfoundexception", RefusalKind::UnknownModel),
];

/// Codes of providers that are busy. Checked only after [`WORDS`], because a limit of the account may come with them.
const BUSY: &[(&str, RefusalKind)] = &[
    ("modelnotreadyexception", RefusalKind::Transient),
    ("overloaded_error", RefusalKind::Overloaded),
    ("rate_limit_error", RefusalKind::Overloaded),
    ("rate_limit_exceeded", RefusalKind::Overloaded),
    ("throttlingexception", RefusalKind::Overloaded),
    ("slow_down", RefusalKind::Overloaded),
    ("server_is_overloaded", RefusalKind::Overloaded),
];

/// Words (lower case) of messages that have no code of their own, with the statuses in which they are believed.
const WORDS: &[(&str, RefusalKind, &[u16])] = &[
    ("credit balance is too low", RefusalKind::SpendLimit, &[400, 403, 429]),
    ("api usage limits", RefusalKind::SpendLimit, &[400, 403, 429]),
    ("spend limit", RefusalKind::SpendLimit, &[400, 403, 429]),
    ("spending limit", RefusalKind::SpendLimit, &[400, 403, 429]),
    ("exceeded your current quota", RefusalKind::SpendLimit, &[400, 403, 429]),
    ("insufficient balance", RefusalKind::SpendLimit, &[400, 403, 429]),
    ("budget has been exceeded", RefusalKind::SpendLimit, &[400, 403, 429]),
    ("prompt is too long", RefusalKind::TooLong, &[400, 422, 500]),
    ("input is too long", RefusalKind::TooLong, &[400, 422, 500]),
    ("too large to process", RefusalKind::TooLong, &[400, 422, 500]),
    ("exceeds the available context size", RefusalKind::TooLong, &[400, 422, 500]),
    ("exceeds the context length", RefusalKind::TooLong, &[400, 422, 500]),
    ("exceed context limit", RefusalKind::TooLong, &[400, 422, 500]),
    ("exceed_context_size_error", RefusalKind::TooLong, &[400, 422, 500]),
    ("contextwindowexceedederror", RefusalKind::TooLong, &[400, 422, 500]),
    ("context_length_exceeded", RefusalKind::TooLong, &[400, 422, 500]),
    ("maximum context length", RefusalKind::TooLong, &[400, 422, 500]),
    ("must have less than", RefusalKind::TooLong, &[413, 422]),
    ("invalid api key", RefusalKind::Unauthorized, &[400]),
    ("incorrect api key", RefusalKind::Unauthorized, &[400]),
    ("api key not valid", RefusalKind::Unauthorized, &[400]),
    ("invalid model", RefusalKind::UnknownModel, &[400, 422]),
    ("unknown model", RefusalKind::UnknownModel, &[400, 422]),
    ("model identifier is invalid", RefusalKind::UnknownModel, &[400]),
    ("on-demand throughput isn", RefusalKind::UnknownModel, &[400]),
    ("is not a valid model", RefusalKind::UnknownModel, &[400, 422]),
    ("model not found", RefusalKind::UnknownModel, &[400, 422, 500]),
    ("server busy", RefusalKind::Overloaded, &[500, 503]),
];

/// Words (lower case) that say that a field is not taken, rather than that its value is wrong.
const UNSUPPORTED: [&str; 15] = [
    "not support",
    "unsupported",
    "not permitted",
    "not allowed",
    "not accept",
    "not available",
    "no longer",
    "cannot be set",
    "may only be set",
    "unknown",
    "unrecognized",
    "unexpected",
    "removed",
    "extra inputs",
    "is not one of",
];

/// Reads a refusal.
pub(crate) fn read(who: &Who, status: u16, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Refusal {
    let said = Said::new(headers, body);
    let (mut kind, mut field) = classify(who, status, &said);
    // For plain refusals and faults, the provider's own word on whether to try again overrides our guess.
    match headers.get("x-should-retry").map(|value| value.as_bytes()) {
        Some(b"true") if kind == RefusalKind::Rejected => kind = RefusalKind::Transient,
        Some(b"false") if kind == RefusalKind::Transient => kind = RefusalKind::Rejected,
        _ => {}
    }
    if kind != RefusalKind::UnsupportedField {
        field = None;
    }
    Refusal { kind, retry_after: retry_after(headers, now), field, message: message(who, status, kind, field, &said) }
}

fn classify(who: &Who, status: u16, said: &Said) -> (RefusalKind, Option<Field>) {
    let by_code = |table: &[(&str, RefusalKind)]| {
        table.iter().find(|(code, _)| said.codes.iter().any(|c| c == code)).map(|&(_, kind)| kind)
    };
    if let Some(kind) = by_code(CODES) {
        return (kind, None);
    }
    if said.codes.iter().any(|code| code.contains("spend_limit")) || status == 402 {
        return (RefusalKind::SpendLimit, None);
    }
    if let Some(&(_, kind, _)) =
        WORDS.iter().find(|(words, _, statuses)| statuses.contains(&status) && said.lower.contains(words))
    {
        return (kind, None);
    }
    if let Some(kind) = by_code(BUSY) {
        return (kind, None);
    }
    if matches!(status, 400 | 422 | 500 | 501)
        && let Some(field) = said.unsupported(who.fields)
    {
        return (RefusalKind::UnsupportedField, Some(field));
    }
    let kind = match status {
        401 | 403 | 407 => RefusalKind::Unauthorized,
        404 => RefusalKind::UnknownModel,
        413 => RefusalKind::TooLong,
        408 | 409 | 424 | 425 => RefusalKind::Transient,
        429 | 529 => RefusalKind::Overloaded,
        501 | 505 => RefusalKind::Rejected,
        500..=599 => RefusalKind::Transient,
        _ => RefusalKind::Rejected,
    };
    (kind, None)
}

/// What headers and body say.
#[derive(Debug, Default)]
struct Said {
    /// Types and codes, lower case, the most telling first.
    codes: Vec<String>,
    /// The parameter that is named as the culprit.
    param: Option<String>,
    /// The message, or a body that is plain text.
    text: String,
    /// The message, or all of the body, in lower case.
    lower: String,
}

impl Said {
    fn new(headers: &HeaderMap, body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(&body[..body.len().min(READ)]);
        let mut said = Said::default();
        match serde_json::from_str::<Value>(&body) {
            Ok(value) => said.gather(&value, 0),
            // Pages of proxies, XML and half an envelope are searched for words, but not quoted.
            Err(_) if body.trim_start().starts_with(['<', '{', '[']) => said.lower = body.into_owned(),
            Err(_) => said.text = body.into_owned(),
        }
        if said.lower.is_empty() {
            said.lower.clone_from(&said.text);
        }
        said.lower.make_ascii_lowercase();
        // `x-amzn-errortype: ThrottlingException:http://…`
        let aws = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
        let aws = aws.and_then(|code| code.split(':').next()).filter(|code| is_code(code));
        said.codes.extend(aws.map(str::to_owned));
        said.codes.iter_mut().for_each(|code| code.make_ascii_lowercase());
        said
    }

    /// Reads `{"error":{…}}`, `{"error":"…"}`, `{"detail":…}`, `{"message":…}`, and these in each other.
    fn gather(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) => match serde_json::from_str::<Value>(text) {
                Ok(inner) if depth < 4 && inner.is_object() => self.gather(&inner, depth + 1),
                _ => self.say(text),
            },
            Value::Array(items) if depth < 4 => items.iter().take(8).for_each(|item| self.gather(item, depth + 1)),
            Value::Object(object) if depth < 4 => {
                let detail = value.pointer("/details/error_code").and_then(Value::as_str).filter(|code| is_code(code));
                self.codes.extend(detail.map(str::to_owned));
                for key in ["code", "type", "error_type", "__type"] {
                    let code = object.get(key).and_then(Value::as_str).filter(|code| is_code(code));
                    // AWS writes `com.amazon.coral.service#AccessDeniedException`.
                    self.codes.extend(code.and_then(|code| code.rsplit('#').next()).map(str::to_owned));
                }
                if let Some(param) = object.get("param").and_then(Value::as_str) {
                    self.param.get_or_insert_with(|| param.to_owned());
                }
                // Pydantic says which field it is, and what is wrong with it. Its `input` quotes our request, and is
                // not read.
                if let Some(place) = object.get("loc").and_then(Value::as_array) {
                    let place: Vec<&str> = place.iter().filter_map(Value::as_str).collect();
                    self.say(&format!("{}:", place.join(".")));
                }
                for key in ["error", "detail", "message", "Message", "msg"] {
                    if let Some(inner) = object.get(key) {
                        self.gather(inner, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    /// The field that is refused: the one named as the culprit, else the one that the text names first.
    fn unsupported(&self, fields: &[(&'static str, Field)]) -> Option<Field> {
        let by_code = self.codes.iter().any(|code| {
            matches!(code.as_str(), "unsupported_parameter" | "unsupported_value" | "unknown_parameter")
                || code == "extra_forbidden"
        });
        let grammar = self.lower.contains("grammar");
        if !by_code && !grammar && !UNSUPPORTED.iter().any(|words| self.lower.contains(words)) {
            return None;
        }
        let param = self.param.as_deref().unwrap_or("").to_ascii_lowercase();
        let place = |text: &str| {
            let places = fields.iter().filter_map(|&(name, field)| find_word(text, name).map(|at| (at, name, field)));
            // Of two names at one place the longer one says more.
            places.min_by_key(|(at, name, _)| (*at, std::cmp::Reverse(name.len()))).map(|(_, _, field)| field)
        };
        place(&param).or_else(|| place(&self.lower))
    }
}

/// Whether a text is a code and not a sentence or an address.
fn is_code(text: &str) -> bool {
    !text.is_empty() && text.len() <= 80 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.#".contains(&b))
}

/// Where a word begins in a text, with no letter, digit or `_` around it.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.match_indices(word).map(|(at, _)| at).find(|&at| {
        let before = at.checked_sub(1).and_then(|i| text.as_bytes().get(i));
        let after = text.as_bytes().get(at + word.len());
        !before.is_some_and(|&b| inside(b)) && !after.is_some_and(|&b| inside(b))
    })
}

/// When to ask again: milliseconds, seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |name: &str| text(name).and_then(|value| value.parse().ok()).filter(|n: &f64| n.is_finite());
    let wait = if let Some(milliseconds) = number("retry-after-ms") {
        seconds(milliseconds / 1000.0)
    } else if let Some(wait) = number("retry-after") {
        seconds(wait)
    } else {
        let date = text("retry-after").and_then(|value| httpdate::parse_http_date(value).ok());
        date.and_then(|date| date.duration_since(now).ok())
    };
    wait.filter(|wait| !wait.is_zero()).map(|wait| wait.min(LONGEST_WAIT))
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds.min(LONGEST_WAIT.as_secs_f64())).ok()
}

fn message(who: &Who, status: u16, kind: RefusalKind, field: Option<Field>, said: &Said) -> String {
    let Who { base, model: id, section, .. } = who;
    // Anthropic's envelope says of itself that it is an error.
    let code = said.codes.iter().find(|code| *code != "error").map(|code| format!(" {code}")).unwrap_or_default();
    let quoted = match kind {
        RefusalKind::Unauthorized
        | RefusalKind::UnknownModel
        | RefusalKind::SpendLimit
        | RefusalKind::UnsupportedField
            if (400..500).contains(&status) =>
        {
            quote(&said.text)
        }
        // The words of other refusals may quote our request.
        _ => String::new(),
    };
    let detail = format!("({status}{code}{quoted})");
    match kind {
        RefusalKind::Transient => format!("{base} fails {detail}"),
        RefusalKind::Overloaded => format!("{base} asks for fewer requests {detail}"),
        RefusalKind::Unauthorized => format!("{base} refuses the key, or has none from us {detail}"),
        RefusalKind::UnknownModel if who.ollama => {
            format!("{base} does not have the model {id} {detail}: `ollama pull {id}` fetches it")
        }
        RefusalKind::UnknownModel => format!("{base} does not know the model {id}, or is not its address {detail}"),
        RefusalKind::SpendLimit => format!("{base} says that the account's limit is reached {detail}"),
        RefusalKind::TooLong => format!("the prompt is too long for {id} {detail}"),
        RefusalKind::Rejected if (300..400).contains(&status) => {
            format!("{base} sends requests elsewhere {detail}: is `{section}.base_url` right?")
        }
        RefusalKind::Rejected => format!("{base} refuses the request {detail}"),
        RefusalKind::UnsupportedField => {
            let field = field.map(|field| format!("{field:?}")).unwrap_or_default();
            format!("{base} does not take the field {field} {detail}")
        }
    }
}

/// The beginning of a provider's words on one line, without anything that looks like a key. It ends before a `{`, after
/// which the provider may repeat the request.
fn quote(text: &str) -> String {
    let text = text.split('{').next().unwrap_or_default();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = words.map(|word| if is_secret(word) { "…" } else { word }).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(QUOTED) {
        _ if line.is_empty() => String::new(),
        Some((end, _)) => format!(": {}…", &line[..end]),
        None => format!(": {line}"),
    }
}

/// Whether a word may be a key that a server repeats: it begins like one, or is long and mixed, as no word is. Ids of
/// models and addresses pass, because punctuation divides them.
fn is_secret(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let begins = ["sk-", "AKIA", "ASIA", "ABSK", "bedrock-api-key"].iter().any(|prefix| bare.starts_with(prefix));
    let longest = bare.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max().unwrap_or(0);
    let mixed = bare.bytes().any(|b| b.is_ascii_digit()) && bare.bytes().any(|b| b.is_ascii_alphabetic());
    begins || (longest >= 20 && mixed)
}

#[cfg(test)]
mod tests;
