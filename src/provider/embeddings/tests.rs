use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::Failure;
use crate::testing::{Answer, FaultyServer, Seen, account, provider};
use index::embed::settings::EmbedProvider;

/// Vectors that tell which text they are of: its length, and 1.
fn vector(text: &Value) -> Value {
    json!([text.as_str().unwrap().len(), 1.0])
}

/// Answers as each provider does, with vectors out of order where there is an index.
fn answer(seen: &Seen) -> Value {
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    let list = |key: &str| body[key].as_array().unwrap().clone();
    match seen.path.as_str() {
        "/api/embed" => {
            json!({"embeddings": list("input").iter().map(vector).collect::<Vec<_>>(), "prompt_eval_count": 7})
        }
        "/v2/embed" => json!({
            "id": "1", "texts": [], "embeddings": {"float": list("texts").iter().map(vector).collect::<Vec<_>>()},
            "meta": {"billed_units": {"input_tokens": 7}},
        }),
        "/v1/contextualizedembeddings" => {
            let chunks = |document: &Value| {
                let chunks = document.as_array().unwrap().iter().enumerate();
                chunks.map(|(i, text)| json!({"index": i, "embedding": vector(text)})).rev().collect::<Vec<_>>()
            };
            let documents = list("inputs");
            let data = documents.iter().enumerate().map(|(i, d)| json!({"index": i, "data": chunks(d)}));
            json!({"data": data.rev().collect::<Vec<_>>(), "usage": {"total_tokens": 7}})
        }
        _ => {
            let data = list("input");
            let data = data.iter().enumerate().map(|(i, t)| json!({"index": i, "embedding": vector(t)}));
            json!({"data": data.rev().collect::<Vec<_>>(), "usage": {"prompt_tokens": 7, "total_tokens": 7}})
        }
    }
}

fn config(provider: EmbedProvider, model: &str, url: &str) -> EmbedConfig {
    EmbedConfig {
        provider,
        model: Some(model.to_owned()),
        base_url: Some(url.to_owned()),
        timeout: Duration::from_secs(20),
        ..EmbedConfig::default()
    }
}

fn documents(texts: &[&[&str]]) -> Vec<TextGroup> {
    texts.iter().map(|document| document.iter().map(|text| (*text).to_owned()).collect()).collect()
}

#[tokio::test]
async fn every_provider_is_asked_in_its_own_form() {
    let server = FaultyServer::start(|_, seen| Answer::new(200, answer(seen).to_string()));
    let cases = [
        (EmbedProvider::OpenAi, "m", "/v1", "/v1/embeddings", None, None),
        (EmbedProvider::Ollama, "m", "", "/api/embed", None, None),
        (EmbedProvider::Voyage, "voyage-4", "", "/v1/embeddings", Some(["document", "query"]), None),
        (EmbedProvider::Cohere, "m", "/v2", "/v2/embed", Some(["search_document", "search_query"]), None),
        (
            EmbedProvider::Voyage,
            "voyage-context-4",
            "/v1",
            "/v1/contextualizedembeddings",
            Some(["document", "query"]),
            Some(json!([["a", "bb"], ["ccc"]])),
        ),
    ];
    for (provider, model, end, path, types, inputs) in cases {
        let client = Embeddings::new(&config(provider, model, &format!("{}{end}", server.url()))).unwrap();
        let texts = documents(&[&["a", "bb"], &["ccc"]]);
        let embedded = client.embed(&texts, TextKind::Document, Some(2), false, &account()).await.unwrap();
        let lengths: Vec<f32> = embedded.vectors.iter().map(|vector| vector[0]).collect();
        assert_eq!(
            (lengths.as_slice(), embedded.tokens, embedded.estimated),
            (&[1.0, 2.0, 3.0][..], 7, false),
            "{path}"
        );
        let document: Value = serde_json::from_slice(&server.seen().last().unwrap().body).unwrap();
        client.embed(&documents(&[&["q"]]), TextKind::Query, None, true, &account()).await.unwrap();
        let seen = server.seen();
        let query: Value = serde_json::from_slice(&seen.last().unwrap().body).unwrap();
        assert_eq!((seen.last().unwrap().path.as_str(), &document["model"]), (path, &json!(model)));
        if let Some(types) = types {
            assert_eq!([&document["input_type"], &query["input_type"]], types, "{path}");
        }
        if let Some(inputs) = inputs {
            assert_eq!(document["inputs"], inputs);
        }
        // Nobody is told a number of dimensions who was not asked for one.
        assert!(document.get("dimensions").is_none() && document.get("output_dimension").is_none());
    }
}

/// Two texts' vectors from a server that answers with this.
async fn answered_with(body: String, dimensions: Option<usize>) -> Result<Embedded, Failure> {
    let server = FaultyServer::script(vec![Answer::new(200, body)]);
    let client = Embeddings::new(&config(EmbedProvider::OpenAi, "m", &server.url())).unwrap();
    let texts = documents(&[&["a"], &["b"]]);
    client.embed(&texts, TextKind::Document, dimensions, false, &account()).await.map_err(provider)
}

#[tokio::test]
async fn more_tokens_than_bytes_are_not_believed() {
    let vectors = json!([{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [0, 0]}]);
    let body = json!({"data": vectors, "usage": {"total_tokens": 10_000_000_000_000_u64}}).to_string();
    let embedded = answered_with(body, None).await.unwrap();
    assert_eq!((embedded.tokens, embedded.estimated), (4 + ADDED, false));
}

#[tokio::test]
async fn what_is_no_answer_is_told() {
    let item = |index: u32, vector: &str| format!("{{\"index\":{index},\"embedding\":{vector}}}");
    let data = |items: &[String]| format!("{{\"data\":[{}]}}", items.join(","));
    let cases = [
        (data(&[item(0, "[1,2]")]), "texts sent: 2, vectors that came: 1"),
        (data(&[item(0, "[1,2]"), item(0, "[1,2]")]), "which vector is whose"),
        (data(&[item(0, "[1,2]"), item(1, "[1]")]), "differ in their dimensions"),
        (data(&[item(0, "[1,2]"), item(1, "[1,1e99]")]), "no number"),
        (data(&[item(0, "[1,2]"), item(1, "[1,NaN]")]), "holds no vectors"),
        (data(&[item(0, "\"AAAAAA\""), item(1, "\"AA!\"")]), "base64"),
        (data(&[item(0, "[0,0]"), item(1, "[0.0,-0.0]")]), "all zeros"),
        ("{\"data\":[".to_owned(), "breaks off"),
        ("[[1]]".to_owned(), "holds no vectors"),
        ("{\"error\":{\"message\":\"x\"}}".to_owned(), "in spite of its status"),
        (String::new(), "is empty"),
    ];
    // Side by side: each is asked again after two seconds.
    let asked = cases.map(|(body, expected)| (tokio::spawn(answered_with(body.clone(), None)), body, expected));
    for (asked, body, expected) in asked {
        let failure = asked.await.unwrap().unwrap_err();
        assert!(failure.message.contains(expected) && failure.kind == FailureKind::Unavailable, "{body}: {failure}");
    }
    let failure = answered_with(data(&[item(0, "[1,2]"), item(1, "[1,2]")]), Some(3)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::UnknownModel);
    assert!(failure.message.contains("of 2 dimensions, not of 3; set `embed.dimensions` to 2"), "{failure}");
    // As an infinity server sends it when asked for nothing else.
    let exact = data(&[item(1, "\"AACAPwAAAEA=\""), item(0, "\"AABAQAAAgEA=\"")]);
    let whole = answered_with(exact, Some(2)).await.unwrap();
    assert_eq!(whole.vectors, [[3.0, 4.0], [1.0, 2.0]]);
    assert!(whole.estimated && whole.tokens > 0);
}

#[tokio::test]
async fn refusals_mean_what_they_mean_for_completions() {
    let ask = async |answer: Answer| {
        let server = FaultyServer::script(vec![answer]);
        let client = Embeddings::new(&config(EmbedProvider::OpenAi, "m", &server.url())).unwrap();
        let embedded = client.embed(&documents(&[&["a"]]), TextKind::Document, None, false, &account()).await;
        (provider(embedded.unwrap_err()), server.count())
    };
    let too_large = "{\"error\":{\"code\":500,\"message\":\"input (2002 tokens) is too large to process. increase the \
                     physical batch size\",\"type\":\"server_error\"}}";
    // Permanent in spite of its status: asked once.
    assert!(matches!(ask(Answer::new(500, too_large)).await, (Failure { kind: FailureKind::TooLong, .. }, 1)));
    let batch = "{\"error\":\"batch size 40 > maximum allowed batch size 32\",\"error_type\":\"Validation\"}";
    assert_eq!(ask(Answer::new(413, batch)).await.0.kind, FailureKind::TooLong);
    let (unknown, _) = ask(Answer::new(404, "{\"error\":{\"code\":\"model_not_found\"}}")).await;
    assert_eq!(unknown.kind, FailureKind::UnknownModel);
    let (redirect, _) = ask(Answer::new(301, "").header("location", "https://elsewhere.example/")).await;
    assert!(redirect.message.contains("is `embed.base_url` right?"), "{redirect}");
}

#[tokio::test]
async fn a_key_is_wanted_where_text_leaves_the_machine() {
    let there = EmbedConfig { provider: EmbedProvider::Voyage, ..EmbedConfig::default() };
    let client = Embeddings::new(&there).unwrap();
    assert_eq!(client.leaves_to().as_deref(), Some("api.voyageai.com"));
    let wire = EmbedWire::new(&there).unwrap();
    let failure = wire.request(&documents(&[&["a"]]), TextKind::Query, None).unwrap_err();
    assert!(failure.message.contains("`embed.key_file`"), "{failure}");
    let here = Embeddings::new(&config(EmbedProvider::OpenAi, "m", "http://127.0.0.1:9")).unwrap();
    assert_eq!(here.leaves_to(), None);
    assert!(Embeddings::new(&EmbedConfig::default()).is_err());
}

#[test]
fn money_is_rounded_up_and_an_unknown_price_stays_unknown() {
    assert_eq!(cost_of(Some(20_000), 1), Some(1));
    assert_eq!(cost_of(Some(20_000), 1_000_000), Some(20_000));
    assert_eq!(cost_of(Some(0), 1_000_000), Some(0));
    assert_eq!(cost_of(None, 1), None);
    assert_eq!(cost_of(Some(u64::MAX), u64::MAX), Some(u64::MAX));
}

#[test]
fn what_is_asked_here_is_free_and_an_unknown_price_is_unknown() {
    let config = |provider, model: &str, url: Option<&str>, said| EmbedConfig {
        provider,
        model: Some(model.to_owned()),
        base_url: url.map(str::to_owned),
        price_per_mtok: said,
        ..EmbedConfig::default()
    };
    let price_of =
        |provider, model: &str, url, said| Embeddings::new(&config(provider, model, url, said)).unwrap().price();
    let here = Some("http://127.0.0.1:1");
    assert_eq!(price_of(EmbedProvider::OpenAi, "m", here, None), Some(0));
    assert_eq!(price_of(EmbedProvider::OpenAi, "m", None, None), None);
    assert_eq!(price_of(EmbedProvider::OpenAi, "m", None, Some(5)), Some(5));
    // A proxy on this machine passes the bill on.
    assert_eq!(price_of(EmbedProvider::OpenAi, "text-embedding-3-small", here, None), Some(20_000));
    assert_eq!(price_of(EmbedProvider::Voyage, "voyage-4-lite", None, None), Some(20_000));
    assert_eq!(price_of(EmbedProvider::Cohere, "embed-v4.0", None, None), None);
    for provider in [EmbedProvider::OpenAi, EmbedProvider::Ollama] {
        let gateway = EmbedConfig { passes_on: true, ..config(provider, "m", here, None) };
        assert_eq!(Embeddings::new(&gateway).unwrap().price(), None, "{provider:?}");
    }
}
