//! What a model's answer says. Models are asked for one JSON shape, some of them are held to it, and the others
//! come near: what can be understood is.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::clean::{clean, unfenced};
use super::{Form, Prompt, Unread};

/// Places of an answer at which JSON is looked for, at most.
const MOST_STARTS: usize = 256;

/// Names under which the number of a passage, and its caption, are found.
const NUMBERS: [&str; 6] = ["n", "number", "id", "passage", "index", "chunk"];
const TEXTS: [&str; 4] = ["text", "caption", "context", "content"];

/// The JSON schema of an answer to [`Form::Note`]. It keeps to what Anthropic, OpenAI's strict mode and Ollama
/// all accept: every property required, none besides, no bounds on numbers and lengths.
pub fn schema() -> Value {
    let caption = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" }, "text": { "type": "string" } },
        "required": ["n", "text"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": { "captions": { "type": "array", "items": caption } },
        "required": ["captions"],
        "additionalProperties": false,
    })
}

/// What an answer says for each wanted passage: its caption, cleaned, or why there is none (missing, doubled,
/// empty). Numbers that were not asked for are ignored. Never fails: an answer that is no JSON has none.
///
/// JSON is found in fences and prose, as `{"captions":[{"n":1,"text":"…"}]}`, `{"1":"…"}`, an array of such
/// objects, or an array of as many strings as passages were asked for. Of several the one that answers most
/// counts, the last of equals: a model that thinks aloud concludes at the end. Of an answer that was cut off,
/// the whole entries count. A passage with two captions that differ has none, for one of them belongs to
/// another passage.
///
/// A prompt for plain text takes the whole answer as the caption of its passage.
pub fn captions(prompt: &Prompt, answer: &str) -> Vec<(u32, Result<String, Unread>)> {
    let most_words = most_words(prompt);
    let said = spoken(answer);
    let read = read(&json_in(said), &prompt.wanted);
    if prompt.json {
        let Some(mut read) = read else {
            return prompt.wanted.iter().map(|n| (*n, Err(Unread::NotJson))).collect();
        };
        let caption = |n: &u32| (*n, one(read.remove(n).unwrap_or_default(), most_words));
        return prompt.wanted.iter().map(caption).collect();
    }
    // A model that was asked in JSON before may go on with it.
    let looks_json = unfenced(said).starts_with('{');
    let texts = read.filter(|_| looks_json).and_then(|read| read.into_values().find(|texts| !texts.is_empty()));
    let mut texts = Some(texts.unwrap_or_else(|| vec![said.to_owned()]));
    let caption = |n: &u32| (*n, texts.take().map_or(Err(Unread::Missing), |texts| one(texts, most_words)));
    prompt.wanted.iter().map(caption).collect()
}

/// Three times the words that were asked for, or 300 if that is more: a bound against floods, while length is
/// for the gate to judge. The room for the answer, [`Prompt::max_tokens`], grows with the words asked for.
fn most_words(prompt: &Prompt) -> usize {
    let by_default = answer_tokens(prompt.form, prompt.wanted.len());
    let words = u64::from(prompt.max_tokens) * 300 / u64::from(by_default.max(1));
    words.clamp(300, 30_000) as usize
}

fn one(texts: Vec<String>, most_words: usize) -> Result<String, Unread> {
    let mut texts = texts.into_iter().map(|text| clean(&text, most_words));
    let first = texts.next().ok_or(Unread::Missing)?;
    if texts.any(|other| other != first) {
        Err(Unread::Doubled)
    } else if first.is_empty() {
        Err(Unread::Empty)
    } else {
        Ok(first)
    }
}

/// The answer without what a model thought before it. Local models send their thoughts along, some without the
/// opening tag.
fn spoken(answer: &str) -> &str {
    let answer = answer.trim();
    if answer.starts_with(['{', '[', '`']) {
        return answer;
    }
    match answer.rsplit_once("</think>") {
        Some((_, said)) => said.trim(),
        None if answer.starts_with("<think>") => "",
        None => answer,
    }
}

/// The JSON objects and arrays in a text, outermost ones, in order.
fn json_in(text: &str) -> Vec<Value> {
    // Line feeds in strings are no JSON and what small models write; other control characters are for the
    // gate to see.
    let control = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_ascii_control() => '\u{fffd}',
        c => c,
    };
    let text: String = text.chars().map(control).collect();
    let mut values = Vec::new();
    let mut at = 0;
    for _ in 0..MOST_STARTS {
        let Some(start) = text.get(at..).and_then(|rest| rest.find(['{', '['])) else { break };
        at += start;
        let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                at += stream.byte_offset().max(1);
                values.push(value);
            }
            Some(Err(_)) | None => at += 1,
        }
    }
    values
}

/// Captions by number.
type Captions = BTreeMap<u32, Vec<String>>;

/// What the values say; `None` if none of them is an answer.
fn read(values: &[Value], wanted: &[u32]) -> Option<Captions> {
    let answered = |captions: &Captions| wanted.iter().filter(|n| captions.contains_key(n)).count();
    let whole = values.iter().filter_map(|value| container(value, wanted, 0)).max_by_key(answered);
    if whole.as_ref().is_some_and(|captions| answered(captions) > 0) {
        return whole;
    }
    let mut loose = Captions::new();
    for (n, text) in values.iter().filter_map(entry) {
        loose.entry(n).or_default().push(text);
    }
    if loose.is_empty() { whole } else { Some(loose) }
}

/// An object or array that holds captions.
fn container(value: &Value, wanted: &[u32], depth: u8) -> Option<Captions> {
    match value {
        Value::Array(values) => list(values, wanted),
        Value::Object(_) if entry(value).is_some() => None,
        Value::Object(object) => {
            let within = |value: &Value| (depth < 2).then(|| container(value, wanted, depth + 1)).flatten();
            match object.get("captions") {
                // An empty list is an answer too, though to another question.
                Some(captions) => Some(within(captions).unwrap_or_default()),
                None => by_number(object).or_else(|| object.values().find_map(within)),
            }
        }
        _ => None,
    }
}

fn list(values: &[Value], wanted: &[u32]) -> Option<Captions> {
    let mut captions = Captions::new();
    for (n, text) in values.iter().filter_map(entry) {
        captions.entry(n).or_default().push(text);
    }
    if captions.is_empty() && !values.is_empty() && values.len() == wanted.len() {
        let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
        captions = wanted.iter().zip(texts?).map(|(n, text)| (*n, vec![text.to_owned()])).collect();
    }
    (!captions.is_empty()).then_some(captions)
}

/// `{"n": 1, "text": "…"}`.
fn entry(value: &Value) -> Option<(u32, String)> {
    let object = value.as_object()?;
    let n = NUMBERS.iter().find_map(|name| object.get(*name)).and_then(number)?;
    let text = TEXTS.iter().find_map(|name| object.get(*name)).and_then(Value::as_str)?;
    Some((n, text.to_owned()))
}

/// `{"1": "…", "2": {"text": "…"}}`. Of equal keys the last counts, as everywhere in JSON.
fn by_number(object: &Map<String, Value>) -> Option<Captions> {
    let mut captions = Captions::new();
    for (key, value) in object {
        let text = value.as_str().or_else(|| TEXTS.iter().find_map(|name| value.get(*name)).and_then(Value::as_str));
        if let (Some(n), Some(text)) = (digits(key), text) {
            captions.entry(n).or_default().push(text.to_owned());
        }
    }
    (!captions.is_empty()).then_some(captions)
}

fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(n) => match n.as_u64() {
            Some(n) => u32::try_from(n).ok(),
            None => n.as_f64().filter(|n| n.fract() == 0.0 && (0.0..1e9).contains(n)).map(|n| n as u32),
        },
        Value::String(text) => digits(text),
        _ => None,
    }
}

/// The number in `7`, `#7`, `⟦7⟧`, `passage 7`; but not in `v1` or `2024-11`.
fn digits(text: &str) -> Option<u32> {
    if text.len() > 24 {
        return None;
    }
    let marks = |c: char| c.is_whitespace() || matches!(c, '⟦' | '⟧' | '[' | ']' | '#' | '.' | ':');
    let text = text.trim_matches(marks).to_ascii_lowercase();
    let named = NUMBERS.iter().find_map(|name| text.strip_prefix(name));
    named.unwrap_or(&text).trim_matches(marks).trim_start_matches('_').parse().ok()
}

/// Tokens of an answer, for contexts of up to 100 words.
pub(super) fn answer_tokens(form: Form, wanted: usize) -> u32 {
    match form {
        Form::Note => (60 + 110 * wanted as u64).min(4_000) as u32,
        Form::Chunk => 200,
        Form::Simple => 120,
    }
}

#[cfg(test)]
mod tests;
