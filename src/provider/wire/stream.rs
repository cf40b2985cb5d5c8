//! Answers that come bit by bit: what to ask for them, and what their bytes mean. Pure.
//!
//! Anthropic and OpenAI send server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>),
//! Ollama a JSON object per line. However the network cuts the bytes, the same events come out: a line is read only
//! when it is complete, so no half of a character or field is ever seen. Bedrock's own binary framing is not supported:
//! there the answer comes in one piece.

use std::mem;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::super::{Failure, Finish};
use super::{Answer, Counted, Field, Request, Wire, anthropic, openai};
use crate::key::Key;
use context::prompt::Prompt;

/// Longest line, bytes. An event is some words of text; a server that sends a whole page in one is not understood.
const MOST_LINE: usize = 1 << 20;

/// What some servers put around a model's thinking at the beginning of its text.
const THINKING: (&str, &str) = ("<think>", "</think>");

/// Why an answer ends although it is not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interrupted {
    /// For the user: nothing of the answer, nothing of the request.
    pub(crate) message: String,
    /// Whether the provider says that it has too much to do.
    pub(crate) busy: bool,
}

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Anthropic,
    OpenAi,
    Ollama,
}

/// Reads an answer as it comes.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    dialect: Dialect,
    /// The beginning of a line that is not complete.
    line: Vec<u8>,
    /// Data of a server-sent event that is not complete.
    data: Vec<u8>,
    thinking: Thinking,
    /// All text so far, thinking left out.
    text: String,
    finish: Option<Finish>,
    counted: Counted,
    ended: bool,
}

impl Reader {
    fn new(dialect: Dialect) -> Self {
        Reader {
            dialect,
            line: Vec::new(),
            data: Vec::new(),
            // Anthropic sends thinking in blocks of another type.
            thinking: if dialect == Dialect::Anthropic { Thinking::Over } else { Thinking::Unsure(String::new()) },
            text: String::new(),
            finish: None,
            counted: Counted::default(),
            ended: false,
        }
    }

    /// Takes bytes as they came, and appends the text that they hold to [`Reader::text`].
    ///
    /// # Errors
    /// The provider breaks off, or what it sends makes no sense.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), Interrupted> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|&byte| byte == b'\n') {
            self.line.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            let line = mem::take(&mut self.line);
            self.whole_line(line.strip_suffix(b"\r").unwrap_or(&line))?;
        }
        self.line.extend_from_slice(rest);
        if self.line.len() > MOST_LINE || self.data.len() > MOST_LINE {
            return Err(Interrupted { message: "a line of the answer is too long".to_owned(), busy: false });
        }
        Ok(())
    }

    /// Ends the answer, or the bytes that came of it. Text that was held back is appended to [`Reader::text`].
    ///
    /// # Errors
    /// The answer is not complete.
    pub(crate) fn end(&mut self) -> Result<(), Interrupted> {
        // The last line, and the last event, may lack their ends.
        let line = mem::take(&mut self.line);
        self.whole_line(line.strip_suffix(b"\r").unwrap_or(&line))?;
        self.event()?;
        if !self.ended && self.finish.is_none() {
            return Err(Interrupted { message: "the answer breaks off in the middle".to_owned(), busy: false });
        }
        if let Thinking::Unsure(held) = &mut self.thinking {
            self.text.push_str(&mem::take(held));
        }
        Ok(())
    }

    /// Whether the provider has said that nothing more comes.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// All text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The answer. Unless it is `whole`, its output tokens are estimated, because only the end would tell them.
    pub(crate) fn answer(self, prompt: &Prompt, token_factor: f32, whole: bool) -> Answer {
        let counted = if whole { self.counted } else { Counted { output: None, ..self.counted } };
        super::answer(self.text, self.finish.unwrap_or(Finish::Other), counted, prompt, token_factor)
    }

    fn whole_line(&mut self, line: &[u8]) -> Result<(), Interrupted> {
        if self.dialect == Dialect::Ollama {
            self.data.extend_from_slice(line);
            return self.event();
        }
        if line.is_empty() {
            return self.event();
        }
        // The data repeats the type of the event; comments and other fields are skipped.
        if let Some(data) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        Ok(())
    }

    fn event(&mut self) -> Result<(), Interrupted> {
        let data = mem::take(&mut self.data);
        let data = data.trim_ascii();
        if data.is_empty() || self.ended {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let event: Value = serde_json::from_slice(data)
            .map_err(|_| Interrupted { message: "a part of the answer is not JSON".to_owned(), busy: false })?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(interrupted(error));
        }
        match self.dialect {
            Dialect::Anthropic => self.anthropic(&event),
            Dialect::OpenAi => self.openai(&event),
            Dialect::Ollama => self.ollama(&event),
        }
        Ok(())
    }

    /// `message_start`, `content_block_delta`, `message_delta`, `message_stop`; all others are passed over.
    fn anthropic(&mut self, event: &Value) {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str);
        match text("/type") {
            Some("message_start") => self.count("/message/usage", event),
            Some("content_block_delta") if text("/delta/type") == Some("text_delta") => {
                self.say(text("/delta/text").unwrap_or_default());
            }
            Some("message_delta") => {
                self.count("/usage", event);
                self.finish = text("/delta/stop_reason").map(anthropic::finish).or(self.finish);
            }
            Some("message_stop") => self.ended = true,
            _ => {}
        }
    }

    /// Counts are of the whole answer so far, so the last ones stand.
    fn count(&mut self, path: &str, event: &Value) {
        let tokens = |key: &str| event.pointer(&format!("{path}/{key}")).and_then(Value::as_u64);
        self.counted.input = tokens("input_tokens").or(self.counted.input);
        self.counted.output = tokens("output_tokens").or(self.counted.output);
        self.counted.cache_read = tokens("cache_read_input_tokens").unwrap_or(self.counted.cache_read);
        self.counted.cache_write = tokens("cache_creation_input_tokens").unwrap_or(self.counted.cache_write);
    }

    fn openai(&mut self, event: &Value) {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str);
        self.say(text("/choices/0/delta/content").unwrap_or_default());
        if let Some(refusal) = text("/choices/0/delta/refusal").filter(|refusal| !refusal.is_empty()) {
            self.say(refusal);
            self.finish = Some(Finish::Refusal);
        }
        if self.finish != Some(Finish::Refusal) {
            self.finish = text("/choices/0/finish_reason").map(openai::finish).or(self.finish);
        }
        let tokens = |path: &str| event.pointer(&format!("/usage/{path}")).and_then(Value::as_u64);
        if let Some(all) = tokens("prompt_tokens") {
            let read = tokens("prompt_tokens_details/cached_tokens").unwrap_or(0);
            let write = tokens("prompt_tokens_details/cache_write_tokens").unwrap_or(0);
            self.counted = Counted {
                // Here the count of the prompt includes the tokens that the cache read or wrote.
                input: Some(all.saturating_sub(read).saturating_sub(write)),
                output: tokens("completion_tokens"),
                cache_read: read,
                cache_write: write,
            };
        }
    }

    fn ollama(&mut self, event: &Value) {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str);
        self.say(text("/message/content").unwrap_or_default());
        if event.get("done").and_then(Value::as_bool) == Some(true) {
            self.ended = true;
            self.finish = Some(match text("/done_reason") {
                Some("stop") => Finish::Stop,
                Some("length") => Finish::Length,
                _ => Finish::Other,
            });
            let tokens = |key: &str| event.get(key).and_then(Value::as_u64);
            self.counted.input = tokens("prompt_eval_count");
            self.counted.output = tokens("eval_count");
        }
    }

    fn say(&mut self, piece: &str) {
        self.thinking.take(piece, &mut self.text);
    }
}

/// Where the stream is: before, inside or after a model's thinking.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Thinking {
    /// It may begin with thinking, so it is held back until that is clear.
    Unsure(String),
    /// Inside the thinking. Holds what may be the beginning of its end.
    Inside(String),
    /// After the thinking. White space before the answer is dropped.
    Behind,
    /// All that comes is text.
    Over,
}

impl Thinking {
    /// Appends what of a piece is text to `text`.
    fn take(&mut self, piece: &str, text: &mut String) {
        match self {
            Thinking::Over => text.push_str(piece),
            Thinking::Behind => {
                let piece = piece.trim_start();
                if !piece.is_empty() {
                    text.push_str(piece);
                    *self = Thinking::Over;
                }
            }
            Thinking::Unsure(held) => {
                held.push_str(piece);
                let begun = held.trim_start();
                if let Some(inside) = begun.strip_prefix(THINKING.0) {
                    let inside = inside.to_owned();
                    *self = Thinking::Inside(String::new());
                    self.take(&inside, text);
                } else if !THINKING.0.starts_with(begun) {
                    text.push_str(held);
                    *self = Thinking::Over;
                }
            }
            Thinking::Inside(held) => {
                held.push_str(piece);
                if let Some((_, rest)) = held.split_once(THINKING.1) {
                    let rest = rest.to_owned();
                    *self = Thinking::Behind;
                    self.take(&rest, text);
                } else {
                    // Keeps as much as may be the beginning of the end.
                    let from = held.len().saturating_sub(THINKING.1.len());
                    held.drain(..held.ceil_char_boundary(from));
                }
            }
        }
    }
}

/// What an error in the middle of an answer says. Its words may quote our request, so only its code is repeated.
fn interrupted(error: &Value) -> Interrupted {
    let code = ["code", "type"].into_iter().find_map(|key| error.get(key).and_then(Value::as_str));
    let code = code.filter(|code| code.len() <= 60 && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
    let busy = matches!(code, Some("overloaded_error" | "rate_limit_error" | "server_is_overloaded" | "slow_down"));
    let detail = code.map(|code| format!(" ({code})")).unwrap_or_default();
    let message = if busy {
        format!("the provider has too much to do and breaks off{detail}; ask again in a moment")
    } else {
        format!("the provider breaks off with an error{detail}")
    };
    Interrupted { message, busy }
}

impl Wire {
    /// As [`Wire::request`], for an answer that comes bit by bit where the provider can.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn streaming(
        &self,
        prompt: &Prompt,
        key: Option<&Key>,
        without: &[Field],
        now: SystemTime,
    ) -> Result<Request, Failure> {
        let mut request = self.request(prompt, key, without, now)?;
        // Bedrock's request is signed, and is not for a stream.
        if self.reader().is_none() {
            return Ok(request);
        }
        if let Ok(mut body) = serde_json::from_slice::<Value>(&request.body) {
            body["stream"] = json!(true);
            // Otherwise the server does not say what the answer used.
            if matches!(self, Wire::OpenAi(_)) && !without.contains(&Field::StreamOptions) {
                body["stream_options"] = json!({"include_usage": true});
            }
            request.body = super::bytes(&body);
        }
        Ok(request)
    }

    /// Reads an answer bit by bit; `None` if it comes in one piece.
    pub(crate) fn reader(&self) -> Option<Reader> {
        match self {
            Wire::Anthropic(_) => Some(Reader::new(Dialect::Anthropic)),
            Wire::OpenAi(_) => Some(Reader::new(Dialect::OpenAi)),
            Wire::Ollama(_) => Some(Reader::new(Dialect::Ollama)),
            Wire::Bedrock(_) => None,
        }
    }

    /// Why a whole answer is to a prompt that was cut, if so: Ollama cuts prompts without a word, and shows it only in
    /// its counts.
    pub(crate) fn prompt_was_cut(&self, answer: &Answer, prompt: &Prompt) -> Option<String> {
        // If nothing was counted, `input` is the estimate, and that is enough.
        let (read, least) = (answer.usage.input, super::ollama::at_least(prompt));
        let is_cut = matches!(self, Wire::Ollama(_)) && read.saturating_mul(10) < least * 6;
        is_cut.then(|| format!("the server read only {read} of about {least} tokens: it cut the passages off"))
    }
}

#[cfg(test)]
mod tests;
