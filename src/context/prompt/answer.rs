//! Reads a model's answer. Models are asked for one JSON shape; some are forced to keep to it, and others come near:
//! whatever can be understood is accepted.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::clean::{clean, unfenced};
use super::{Form, Prompt, Unread};
use crate::expansion::{Expansion, MOST_TERMS, QUESTIONS};

/// Places of an answer at which JSON is looked for, at most.
const MOST_STARTS: usize = 256;

/// Names under which the number of a passage, and its caption, are found.
const NUMBERS: [&str; 6] = ["n", "number", "id", "passage", "index", "chunk"];
const TEXTS: [&str; 4] = ["text", "caption", "context", "content"];

/// Names under which questions and terms are found.
const ASKED_BESIDE: [&str; 2] = ["questions", "terms"];

/// The most words of a question, and of a term; longer ones are dropped.
const QUESTION_WORDS: usize = 40;
const TERM_WORDS: usize = 10;

/// Questions and terms of an answer that are read, in multiples of those that are kept.
const READ: usize = 3;

/// What an answer says of a passage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// Its context, cleaned.
    pub text: String,
    /// Questions and terms beside it, cleaned and not judged.
    pub expansion: Expansion,
    /// Whether it is known to be whole even if the answer was cut off: in JSON each text is closed.
    pub closed: bool,
}

/// The JSON schema of an answer, with questions and terms if there is to be an `expansion`. It keeps to what Anthropic,
/// OpenAI's strict mode and Ollama all accept: every property required, none besides, no bounds on numbers and lengths.
pub fn schema(expansion: bool) -> Value {
    let mut caption = json!({
        "type": "object",
        "properties": { "n": { "type": "integer" }, "text": { "type": "string" } },
        "required": ["n", "text"],
        "additionalProperties": false,
    });
    if expansion {
        for name in ASKED_BESIDE {
            caption["properties"][name] = json!({ "type": "array", "items": { "type": "string" } });
        }
        caption["required"] = json!(["n", "questions", "terms", "text"]);
    }
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
/// JSON is found in fences and prose, as `{"captions":[{"n":1,"text":"…"}]}`, `{"1":"…"}`, an array of such objects, or
/// an array of as many strings as passages were asked for. If there are several, the one that answers most passages
/// counts, and of equals the last: a model that thinks aloud concludes at the end. Of an answer that was cut off, the
/// whole entries count. A passage with two captions that differ has none, for one of them belongs to another passage.
///
/// For a prompt for plain text, the whole answer is the caption of its passage. So it is for a prompt about a single
/// passage whose answer is not JSON: questions and terms are not worth a second call.
pub fn captions(prompt: &Prompt, answer: &str) -> Vec<(u32, Result<Caption, Unread>)> {
    let said = spoken(answer);
    let values = json_in(said);
    let read = match read(&values, prompt) {
        Some(read) if prompt.wanted.iter().any(|n| read.contains_key(n)) => Some(read),
        other => lone(&values, prompt).or(other),
    };
    // A model that was asked in JSON before may go on with it.
    let looks_json = unfenced(said).starts_with('{');
    if prompt.json && (read.is_some() || looks_json || prompt.form == Form::Note) {
        let Some(read) = read else {
            return prompt.wanted.iter().map(|n| (*n, Err(Unread::NotJson))).collect();
        };
        let mut read = counted_from_one(read, prompt);
        let caption = |n: &u32| {
            let caption = one(read.remove(n).unwrap_or_default(), prompt);
            (*n, caption.map(|caption| Caption { closed: true, ..caption }))
        };
        return prompt.wanted.iter().map(caption).collect();
    }
    let said_of = |text: &str| Said { text: text.to_owned(), expansion: Expansion::default() };
    let texts = read.filter(|_| looks_json).and_then(|read| read.into_values().find(|texts| !texts.is_empty()));
    let mut texts = Some(texts.unwrap_or_else(|| vec![said_of(said)]));
    let caption = |n: &u32| (*n, texts.take().map_or(Err(Unread::Missing), |texts| one(texts, prompt)));
    prompt.wanted.iter().map(caption).collect()
}

/// The same by the numbers that were asked for, if the model has counted from 0. If nobody can tell what it has counted,
/// none is of use: a passage would get its neighbour's caption.
fn counted_from_one(read: Captions, prompt: &Prompt) -> Captions {
    if !read.contains_key(&0) || prompt.wanted.iter().all(|n| read.contains_key(n)) {
        return read;
    }
    let most = prompt.wanted.len() as u32;
    let shifted = prompt.wanted.iter().copied().eq(1..=most) && read.keys().copied().eq(0..most);
    if shifted { read.into_iter().map(|(n, said)| (n + 1, said)).collect() } else { Captions::new() }
}

/// The one passage that was asked for, where the answer leaves its number out or gives it another.
fn lone(values: &[Value], prompt: &Prompt) -> Option<Captions> {
    let ([n], true) = (&prompt.wanted[..], prompt.form == Form::Chunk && prompt.expansion) else { return None };
    let within = |value: &Value| match value.get("captions") {
        Some(Value::Array(captions)) => captions.first().and_then(text_of),
        Some(other) => text_of(other),
        None => text_of(value),
    };
    values.iter().find_map(within).map(|said| Captions::from([(*n, vec![said])]))
}

impl Caption {
    /// A caption from somebody else's answer, cleaned again, since whoever stored it may have changed it. `None` if
    /// nothing is left. A context should have at most `words` words; the bound against floods follows from that.
    pub fn given(text: &str, expansion: &Expansion, words: usize) -> Option<Self> {
        let text = clean(text, words.saturating_mul(3).max(300));
        (!text.is_empty()).then(|| Caption { text, expansion: cleaned(expansion), closed: true })
    }
}

/// Three times the words that were asked for, or 300 if that is more: a bound against floods, while the gate judges the
/// length. The room for the answer, [`Prompt::max_tokens`], grows with the words asked for.
fn most_words(prompt: &Prompt) -> usize {
    let by_default = answer_tokens(prompt.form, prompt.wanted.len());
    let beside = if prompt.expansion { expansion_tokens(prompt.wanted.len()) } else { 0 };
    let words = u64::from(prompt.max_tokens.saturating_sub(beside)) * 300 / u64::from(by_default.max(1));
    words.clamp(300, 30_000) as usize
}

fn one(said: Vec<Said>, prompt: &Prompt) -> Result<Caption, Unread> {
    let most_words = most_words(prompt);
    let mut said = said.into_iter();
    let first = said.next().ok_or(Unread::Missing)?;
    let text = clean(&first.text, most_words);
    if said.any(|other| clean(&other.text, most_words) != text) {
        Err(Unread::Doubled)
    } else if text.is_empty() {
        Err(Unread::Empty)
    } else {
        // Questions and terms that were not asked for are ignored.
        let expansion = if prompt.expansion { cleaned(&first.expansion) } else { Expansion::default() };
        Ok(Caption { text, expansion, closed: false })
    }
}

/// Questions and terms, each in one line of plain words. One that had to be cut is dropped: it is not what the model
/// meant.
fn cleaned(expansion: &Expansion) -> Expansion {
    let clean = |texts: &[String], words: usize| {
        let texts = texts.iter().map(|text| clean(text, words + 1));
        texts.filter(|text| !text.is_empty() && text.split(' ').count() <= words).collect()
    };
    Expansion { questions: clean(&expansion.questions, QUESTION_WORDS), terms: clean(&expansion.terms, TERM_WORDS) }
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
    // Line feeds in strings are not valid JSON, but small models write them. Other control characters become U+FFFD, so
    // that the gate sees them.
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

/// What is said of a passage, as it stands in the answer.
struct Said {
    text: String,
    expansion: Expansion,
}

/// What is said, by number.
type Captions = BTreeMap<u32, Vec<Said>>;

/// What the values say; `None` if none of them is an answer.
fn read(values: &[Value], prompt: &Prompt) -> Option<Captions> {
    let answered = |captions: &Captions| prompt.wanted.iter().filter(|n| captions.contains_key(n)).count();
    let whole = values.iter().filter_map(|value| container(value, prompt, 0)).max_by_key(answered);
    if whole.as_ref().is_some_and(|captions| answered(captions) > 0) {
        return whole;
    }
    let mut loose = Captions::new();
    for (n, said) in values.iter().filter_map(entry) {
        loose.entry(n).or_default().push(said);
    }
    if loose.is_empty() { whole } else { Some(loose) }
}

/// An object or array that holds captions.
fn container(value: &Value, prompt: &Prompt, depth: u8) -> Option<Captions> {
    match value {
        Value::Array(values) => list(values, prompt),
        Value::Object(_) if entry(value).is_some() => None,
        Value::Object(object) => {
            let within = |value: &Value| (depth < 2).then(|| container(value, prompt, depth + 1)).flatten();
            match object.get("captions") {
                // An empty list is an answer too, though to another question.
                Some(captions) => Some(within(captions).unwrap_or_default()),
                None => by_number(object).or_else(|| object.values().find_map(within)),
            }
        }
        _ => None,
    }
}

fn list(values: &[Value], prompt: &Prompt) -> Option<Captions> {
    let mut captions = Captions::new();
    for (n, said) in values.iter().filter_map(entry) {
        captions.entry(n).or_default().push(said);
    }
    // Bare texts may be questions where these are asked for.
    let bare = !prompt.expansion && !values.is_empty() && values.len() == prompt.wanted.len();
    if captions.is_empty() && bare {
        let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
        let said = |text: &str| Said { text: text.to_owned(), expansion: Expansion::default() };
        captions = prompt.wanted.iter().zip(texts?).map(|(n, text)| (*n, vec![said(text)])).collect();
    }
    (!captions.is_empty()).then_some(captions)
}

/// `{"n": 1, "text": "…"}`.
fn entry(value: &Value) -> Option<(u32, Said)> {
    let object = value.as_object()?;
    let n = NUMBERS.iter().find_map(|name| object.get(*name)).and_then(number)?;
    Some((n, text_of(value)?))
}

/// `{"text": "…", "questions": ["…"], "terms": ["…"]}`, of which the text is needed.
fn text_of(value: &Value) -> Option<Said> {
    let text = TEXTS.iter().find_map(|name| value.get(*name)).and_then(Value::as_str)?;
    let [questions, terms] = ASKED_BESIDE.map(|name| value.get(name));
    let expansion =
        Expansion { questions: strings(questions, READ * QUESTIONS.1), terms: strings(terms, READ * MOST_TERMS) };
    Some(Said { text: text.to_owned(), expansion })
}

/// The first strings of a list; a single string is a list of its lines.
fn strings(value: Option<&Value>, most: usize) -> Vec<String> {
    match value {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).take(most).map(str::to_owned).collect(),
        Some(Value::String(text)) => text.lines().take(most).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// `{"1": "…", "2": {"text": "…"}}`. Of equal keys the last counts, as everywhere in JSON.
fn by_number(object: &Map<String, Value>) -> Option<Captions> {
    let mut captions = Captions::new();
    for (key, value) in object {
        let plain = value.as_str().map(|text| Said { text: text.to_owned(), expansion: Expansion::default() });
        if let (Some(n), Some(said)) = (digits(key), plain.or_else(|| text_of(value))) {
            captions.entry(n).or_default().push(said);
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

/// Tokens of the questions and terms beside so many contexts.
pub(super) fn expansion_tokens(wanted: usize) -> u32 {
    (170 * wanted as u64).min(4_000) as u32
}

#[cfg(test)]
mod tests;
