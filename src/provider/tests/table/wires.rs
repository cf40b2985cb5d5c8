//! Every wire of the table: its client, what a good answer on it looks like, and what spoils that answer's items.

use std::path::Path;

use super::super::*;
use crate::embeddings::TextGroup;
use crate::{Account, Batches, Embeddings, RerankClient, Unanswered};
use context::models::Rates;
use context::settings::KeyConfig;
use index::embed::TextKind;
use index::embed::settings::{EmbedConfig, EmbedProvider};
use index::search::rerank::{RerankConfig, RerankProvider};

/// What is asked, and in whose words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Caption(Provider),
    /// Of a model, whose name says of Voyage in which form.
    Vectors(EmbedProvider, &'static str),
    /// Of a model; without one TEI is asked in its own form.
    Judgement(RerankProvider, Option<&'static str>),
    Batch(Step),
}

/// What is asked of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    HandIn,
    Poll,
    Results,
    List,
    Cancel,
}

/// All of them.
pub(super) const WIRES: [Wire; 19] = [
    Wire::Caption(Provider::Anthropic),
    Wire::Caption(Provider::Bedrock),
    Wire::Caption(Provider::OpenAi),
    Wire::Caption(Provider::Ollama),
    Wire::Vectors(EmbedProvider::OpenAi, "m"),
    Wire::Vectors(EmbedProvider::Ollama, "m"),
    Wire::Vectors(EmbedProvider::Voyage, "voyage-4"),
    Wire::Vectors(EmbedProvider::Voyage, "voyage-context-4"),
    Wire::Vectors(EmbedProvider::Cohere, "m"),
    Wire::Judgement(RerankProvider::Cohere, None),
    Wire::Judgement(RerankProvider::Voyage, None),
    Wire::Judgement(RerankProvider::Jina, None),
    Wire::Judgement(RerankProvider::Tei, None),
    Wire::Judgement(RerankProvider::Tei, Some("bge")),
    Wire::Batch(Step::HandIn),
    Wire::Batch(Step::Poll),
    Wire::Batch(Step::Results),
    Wire::Batch(Step::List),
    Wire::Batch(Step::Cancel),
];

/// What one attempt may take where nothing ever comes. Long elsewhere, so that a slow machine changes no cell; but what
/// all attempts may take is less than the hour that a provider can ask for.
const QUICK: Duration = Duration::from_secs(10);
const SLOW: Duration = Duration::from_mins(10);
const WHOLE: Duration = Duration::from_mins(50);

/// Millionths of a dollar per million tokens, read and written.
const RATES: [u64; 2] = [1_000_000, 5_000_000];

/// Tokens that a good answer says it took.
const TOKENS: [u64; 2] = [40, 7];

impl Wire {
    /// Its name in the table.
    pub(super) fn name(self) -> String {
        match self {
            Wire::Caption(provider) => provider.name().to_owned(),
            Wire::Vectors(provider, model) => format!("vectors of {} {model}", provider.name()),
            Wire::Judgement(provider, None) => format!("judgement of {}", provider.name()),
            Wire::Judgement(provider, Some(model)) => format!("judgement of {} {model}", provider.name()),
            Wire::Batch(step) => format!("batch {step:?}"),
        }
    }

    /// Whether an attempt is made again that the provider may have carried out: nobody waits for a search as long, and
    /// a batch that was handed in twice would be paid for twice.
    pub(super) fn is_careful(self) -> bool {
        matches!(self, Wire::Judgement(..) | Wire::Batch(Step::HandIn))
    }

    /// Whether a call is in the ledger. What a batch may take is reserved by whoever hands it in.
    pub(super) fn is_paid(self) -> bool {
        !matches!(self, Wire::Batch(_))
    }

    /// Whether the answer is a list of one item for each text.
    pub(super) fn has_items(self) -> bool {
        matches!(self, Wire::Vectors(..) | Wire::Judgement(..))
    }

    /// Millionths of a dollar that a good answer takes.
    pub(super) fn exact(self) -> u64 {
        match self {
            Wire::Caption(_) => TOKENS[0] + TOKENS[1] * 5,
            // It does not say what it took.
            Wire::Judgement(RerankProvider::Tei, None) => 0,
            Wire::Vectors(..) | Wire::Judgement(..) => TOKENS[0],
            Wire::Batch(_) => 0,
        }
    }

    /// Millionths of a dollar that an attempt may take: 50 tokens and 200 of a caption, of the others whatever is guessed.
    pub(super) fn most(self) -> Option<u64> {
        matches!(self, Wire::Caption(_)).then_some(50 + 200 * 5)
    }

    pub(super) fn good(self) -> Answer {
        let [read, written] = TOKENS;
        let caption = "A caption.";
        let vectors = [json!([0.6, 0.8]), json!([0.8, 0.6])];
        let [first, second] = &vectors;
        let items = json!([{ "index": 0, "embedding": first }, { "index": 1, "embedding": second }]);
        let judged = |name: &str| json!([{ "index": 0, name: 0.6 }, { "index": 1, name: 0.8 }]);
        let batch = |stage: &str| {
            json!({
                "id": "msgbatch_1", "type": "message_batch", "processing_status": stage,
                "request_counts": { "processing": 0, "succeeded": 2 }, "created_at": "2026-11-20T10:00:00Z",
                "results_url": "https://elsewhere.example/results",
            })
        };
        let message = json!({
            "type": "message", "role": "assistant", "model": "model-1", "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": caption }],
            "usage": { "input_tokens": read, "output_tokens": written },
        });
        let body = match self {
            Wire::Caption(Provider::OpenAi) => json!({
                "choices": [{ "message": { "role": "assistant", "content": caption }, "finish_reason": "stop" }],
                "usage": { "prompt_tokens": read, "completion_tokens": written },
            }),
            Wire::Caption(Provider::Ollama) => json!({
                "model": "model-1", "message": { "role": "assistant", "content": caption }, "done": true,
                "done_reason": "stop", "prompt_eval_count": read, "eval_count": written,
            }),
            Wire::Caption(_) => message,
            Wire::Vectors(EmbedProvider::Ollama, _) => json!({ "embeddings": vectors, "prompt_eval_count": read }),
            Wire::Vectors(EmbedProvider::Cohere, _) => json!({
                "embeddings": { "float": vectors }, "meta": { "billed_units": { "input_tokens": read } },
            }),
            Wire::Vectors(EmbedProvider::Voyage, "voyage-context-4") => {
                json!({ "data": [{ "index": 0, "data": items }], "usage": { "total_tokens": read } })
            }
            Wire::Vectors(..) => json!({ "data": items, "usage": { "total_tokens": read } }),
            Wire::Judgement(RerankProvider::Tei, None) => judged("score"),
            Wire::Judgement(RerankProvider::Cohere, _) => json!({
                "results": judged("relevance_score"), "meta": { "billed_units": { "input_tokens": read } },
            }),
            Wire::Judgement(RerankProvider::Voyage, _) => {
                json!({ "data": judged("relevance_score"), "usage": { "total_tokens": read } })
            }
            Wire::Judgement(..) => json!({ "results": judged("relevance_score"), "usage": { "total_tokens": read } }),
            Wire::Batch(Step::HandIn) => batch("in_progress"),
            Wire::Batch(Step::Poll) => batch("ended"),
            Wire::Batch(Step::Cancel) => batch("canceling"),
            Wire::Batch(Step::List) => json!({ "data": [batch("ended")], "has_more": false }),
            Wire::Batch(Step::Results) => {
                let line = |id| json!({ "custom_id": id, "result": { "type": "succeeded", "message": message } });
                return Answer::new(200, format!("{}\n{}\n", line("one"), line("two")));
            }
        };
        Answer::new(200, body.to_string())
    }

    /// A client that has a key; `quick` if nothing ever comes.
    pub(super) fn line(self, url: String, key: &Path, quick: bool) -> Line {
        let (key, timeout) =
            (KeyConfig { file: Some(key.to_owned()), ..KeyConfig::default() }, [SLOW, QUICK][usize::from(quick)]);
        let base_url = Some(url);
        let completions = |provider| {
            let config = ContextConfig {
                provider,
                base_url: base_url.clone(),
                key: key.clone(),
                timeout,
                deadline: WHOLE,
                ..ContextConfig::default()
            };
            let rates = Rates {
                as_of: "2026-11-12".to_owned(),
                input: RATES[0],
                output: RATES[1],
                cache_write: 0,
                cache_read: 0,
                batch_percent: 50,
                above: None,
            };
            CompletionClient::new(&config, &Model { price: Price::Tokens(rates), ..model(provider) }).unwrap()
        };
        match self {
            Wire::Caption(provider) => Line::Caption(completions(provider)),
            Wire::Vectors(provider, model) => {
                let (model, price_per_mtok) = (Some(model.to_owned()), Some(RATES[0]));
                // A call takes five times as long as an attempt.
                let timeout = timeout.min(WHOLE / 5);
                let rest = EmbedConfig::default();
                let config = EmbedConfig { provider, model, base_url, key, timeout, price_per_mtok, ..rest };
                Line::Vectors(Embeddings::new(&config).unwrap())
            }
            Wire::Judgement(provider, model) => {
                let (model, price_per_mtok) = (model.map(str::to_owned), Some(RATES[0]));
                let config = RerankConfig { provider, model, base_url, key, price_per_mtok, ..RerankConfig::default() };
                Line::Judgement(RerankClient::new(&config).unwrap(), timeout)
            }
            Wire::Batch(step) => {
                let client = completions(Provider::Anthropic);
                Line::Batch(Box::new(client.batches().unwrap()), client, step)
            }
        }
    }
}

/// A client on a wire.
#[derive(Clone)]
pub(super) enum Line {
    Caption(CompletionClient),
    Vectors(Embeddings),
    /// And how long is waited for its judgement.
    Judgement(RerankClient, Duration),
    Batch(Box<Batches>, CompletionClient, Step),
}

impl Line {
    /// Asks the wire's question, about a note.
    pub(super) async fn ask(&self, account: &Account) -> Result<(), Unanswered> {
        let texts = || vec![NOTE.to_owned(), "another".to_owned()];
        match self {
            Line::Caption(client) => {
                client.complete(&prompt(), account).await.map(|answer| assert_eq!(answer.text, "A caption."))
            }
            Line::Vectors(client) => {
                let groups: Vec<TextGroup> = vec![texts()];
                let embedded = client.embed(&groups, TextKind::Document, Some(2), false, account).await;
                embedded.map(|embedded| assert_eq!(embedded.vectors, [[0.6, 0.8], [0.8, 0.6]]))
            }
            Line::Judgement(client, within) => {
                let judged = client.judge("what?", &texts(), *within, account).await;
                judged.map(|judged| assert_eq!((judged.len(), judged[0]), (2, Some(0.6))))
            }
            Line::Batch(batches, _, step) => {
                let requests = ["one", "two"].map(|id| (id.to_owned(), prompt()));
                let id = "msgbatch_1";
                let done = match step {
                    Step::HandIn => batches.submit(&requests, async || true).await.map(|given| assert_eq!(given, id)),
                    Step::Poll => batches.poll(id).await.map(|state| assert_eq!(state, crate::BatchState::Ended)),
                    Step::Results => batches.results(id, &requests).await.map(|results| assert!(!results.is_empty())),
                    Step::List => batches.recent(0).await.map(|found| assert_eq!(found.len(), 1)),
                    Step::Cancel => batches.cancel(id).await,
                };
                done.map_err(Unanswered::Provider)
            }
        }
    }

    pub(super) fn resume(&self) {
        match self {
            Line::Caption(client) | Line::Batch(_, client, _) => client.resume(),
            Line::Vectors(client) => client.resume(),
            Line::Judgement(client, _) => client.resume(),
        }
    }
}

/// The same answer with other items; `None` if a wire's answers have nothing that this could be done to.
pub(super) fn spoiled(good: &Answer, how: &str) -> Option<Answer> {
    let text = String::from_utf8(good.body.clone()).unwrap();
    let with = |first: &str, second: &str| text.replace("0.6", first).replace("0.8", second);
    let body = match how {
        "numbers are NaN" => with("NaN", "NaN"),
        "numbers are infinite" => with("1e99", "-1e99"),
        "numbers are words" => with("\"0.6\"", "\"high\""),
        "numbers are missing" => with("null", "null"),
        "more numbers" => text.replace("[0.6,0.8]", "[0.6,0.8,0.1]").replace("[0.8,0.6]", "[0.8,0.6,0.1]"),
        "one index twice" => text.replace("\"index\":1", "\"index\":0"),
        "an index past the end" => text.replace("\"index\":1", "\"index\":18446744073709551615"),
        "an index below 0" => text.replace("\"index\":1", "\"index\":-1"),
        _ => {
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            relist(&mut value, how);
            value.to_string()
        }
    };
    (body != text).then(|| Answer::new(200, body))
}

/// Changes each list of two items.
fn relist(value: &mut serde_json::Value, how: &str) {
    if let Some(list) = value.as_array_mut().filter(|list| list.len() == 2 && !list[0].is_number()) {
        match how {
            "no items" => list.clear(),
            "too few items" => drop(list.pop()),
            "too many items" => {
                let mut more = list[1].clone();
                if let Some(index) = more.get_mut("index") {
                    *index = json!(2);
                }
                list.push(more);
            }
            "items of another kind" => *list = vec![json!("one"), json!(["two"])],
            other => panic!("nothing is called {other}"),
        }
        return;
    }
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| relist(item, how)),
        serde_json::Value::Object(items) => items.values_mut().for_each(|item| relist(item, how)),
        _ => {}
    }
}
