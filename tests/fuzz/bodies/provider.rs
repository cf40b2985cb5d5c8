//! What comes back from providers, on each of their wires.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderValue};

use crate::embeddings;
use crate::wire::{Answer, Protocol as _, Rerank, Wire, batch, made, parsed};
use context::cost::{self, Usage};
use context::models::{Price, Rates};
use context::prompt::Prompt;
use context::settings::{ContextConfig, Provider};

use input::Input;

#[allow(dead_code, clippy::duplicate_mod, reason = "each body stands alone, and uses what it needs")]
#[path = "../input.rs"]
mod input;

/// Words that stand in the bodies of the corpus, as those of a note might; no error may repeat them. A code is no such words.
const SECRET: &str = "Kestrel nests";

/// The longest message of a refusal, in characters: 120 of the provider's own words, and ours.
const LONGEST_MESSAGE: usize = 1000;

/// The longest wait that is granted: an hour.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

fn wire(choice: u8) -> Wire {
    const ALL: [Provider; 3] = [Provider::Anthropic, Provider::OpenAi, Provider::Ollama];
    let provider = ALL[usize::from(choice) % ALL.len()];
    Wire::new(&ContextConfig { provider, ..ContextConfig::default() }, &made::model(provider, "test"))
        .expect("it has an address")
}

fn prompt() -> Prompt {
    made::prompt("S", "D", "T", 100)
}

/// No error says what stands in an answer, which may be of a note.
fn silent(message: &str) {
    assert!(!message.contains(SECRET), "an error repeats what the provider said: {message}");
}

/// Whatever a provider says that an answer used, it can be counted and paid for.
fn countable(answer: &Answer) {
    let Usage { input, output, cache_read, cache_write, estimated } = answer.usage;
    let all = u128::from(input) + u128::from(output) + u128::from(cache_read) + u128::from(cache_write);
    assert!(all > 0 || answer.text.is_empty() || estimated, "an answer that used nothing");
    let rates = Rates {
        as_of: "2026-01-01".to_owned(),
        input: 1_000_000,
        output: 5_000_000,
        cache_write: 1_250_000,
        cache_read: 100_000,
        batch_percent: 50,
        above: None,
    };
    let (whole, batch) = (Price::Tokens(rates.clone()), Price::Tokens(rates));
    let (whole, batch) = (cost::cost(&whole, &answer.usage, false), cost::cost(&batch, &answer.usage, true));
    assert!(whole >= batch && batch.is_some(), "half of it is no more");
}

/// The body of an answer in one piece; the first byte chooses the wire.
pub fn answer(bytes: &[u8]) {
    let mut input = Input(bytes);
    let wire = wire(input.byte());
    match wire.read(input.0, &prompt()) {
        Ok(answer) => countable(&answer),
        Err(message) => silent(&message),
    }
}

/// The body of an answer that comes bit by bit: two bytes choose the wire and how it is cut, which changes nothing.
pub fn events(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (wire, cut) = (wire(input.byte()), usize::from(input.byte()) + 1);
    let read = |piece: usize| {
        let mut reader = wire.reader().expect("this wire has streams");
        let mut shown = 0;
        let fed = input.0.chunks(piece).try_for_each(|piece| {
            let fed = reader.feed(piece);
            assert!(reader.text().len() >= shown && reader.text().is_char_boundary(shown), "nothing is taken back");
            shown = reader.text().len();
            fed
        });
        let outcome = fed.and_then(|()| reader.end());
        let text = reader.text().to_owned();
        (text, outcome.map(|()| reader.answer(&prompt(), 1.0, true)))
    };
    let (text, outcome) = read(input.0.len().max(1));
    assert_eq!(read(cut), (text.clone(), outcome.clone()), "however it is cut");
    match outcome {
        Ok(answer) => {
            assert_eq!(answer.text, text);
            countable(&answer);
        }
        Err(why) => silent(&why.message),
    }
}

/// A refusal: wire, status, `Retry-After`, body. Waits are bounded, and messages are one short line.
pub fn refusal(bytes: &[u8]) {
    let mut input = Input(bytes);
    let wire = wire(input.byte());
    let status = u16::from(input.byte()) * 2 + 100;
    let mut headers = HeaderMap::new();
    for name in ["retry-after", "retry-after-ms", "x-should-retry"] {
        if let Ok(value) = HeaderValue::from_bytes(input.bytes()) {
            headers.insert(name, value);
        }
    }
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let refusal = wire.refusal(status, &headers, input.0, now);
    assert!(refusal.retry_after.is_none_or(|wait| wait <= LONGEST_WAIT), "{:?}", refusal.retry_after);
    assert!(refusal.message.chars().count() <= LONGEST_MESSAGE && !refusal.message.contains(['\n', '\r', '\u{1B}']));
    assert_eq!(refusal, wire.refusal(status, &headers, input.0, now));
}

/// The results of a batch, line by line; the same bytes as its status, and as a list of batches.
pub fn batches(bytes: &[u8]) {
    let is_id = |id: &str| id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') && !id.is_empty();
    match batch::status(bytes) {
        Ok(status) => assert!(is_id(&status.id), "an id goes into an address"),
        Err(message) => silent(&message),
    }
    match batch::list(bytes) {
        Ok((batches, next)) => assert!(batches.iter().map(|batch| &batch.id).chain(&next).all(|id| is_id(id))),
        Err(message) => silent(&message),
    }
    let wire = wire(0);
    let anthropic = wire.batches().expect("this wire has batches");
    let now = SystemTime::UNIX_EPOCH;
    for line in bytes.split(|byte| *byte == b'\n') {
        match anthropic.batch_line(line, now) {
            Ok(line) => {
                assert!(is_id(&line.id));
                if let batch::Outcome::Succeeded(message) = &line.outcome {
                    match anthropic.batch_answer(message, &prompt()) {
                        Ok(answer) => countable(&answer),
                        Err(message) => silent(&message),
                    }
                }
            }
            Err(message) => silent(&message),
        }
    }
}

/// Vectors of one to three texts, and the scores of as many documents.
pub fn embeddings(bytes: &[u8]) {
    let mut input = Input(bytes);
    let texts = usize::from(input.below(3)) + 1;
    let groups = [vec![vec!["a".to_owned()]; texts], vec![vec!["a".to_owned(); texts]]];
    for documents in &groups {
        match embeddings::read(input.0, documents) {
            Ok((vectors, tokens)) => {
                assert_eq!(vectors.len(), texts, "one for each text");
                assert!(vectors.iter().all(|vector| vector.len() == vectors[0].len() && !vector.is_empty()));
                assert!(vectors.iter().flatten().all(|value| value.is_finite()));
                assert_ne!(tokens, Some(0), "0 says nothing");
            }
            Err(message) => silent(&message),
        }
    }
    match Rerank::read(input.0, texts) {
        Ok(judgement) => {
            assert_eq!(judgement.scores.len(), texts, "one for each document");
            assert!(judgement.scores.iter().any(Option::is_some));
            assert!(judgement.scores.iter().flatten().all(|score| score.is_finite()));
        }
        Err(message) => silent(&message),
    }
    // What is JSON and no error is that for every wire.
    if let Ok(value) = parsed(input.0) {
        assert_eq!(serde_json::from_slice(input.0).ok(), Some(value));
    }
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn answers() {
        kept::run("answer", 4_000, super::answer);
    }

    #[test]
    fn streamed() {
        kept::run("events", 4_000, super::events);
    }

    #[test]
    fn refusals() {
        kept::run("refusal", 4_000, super::refusal);
    }

    #[test]
    fn batched() {
        kept::run("batches", 4_000, super::batches);
    }

    #[test]
    fn vectors_and_scores() {
        kept::run("embeddings", 4_000, super::embeddings);
    }
}
