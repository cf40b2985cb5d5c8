use super::*;

fn wire(provider: RerankProvider, base_url: Option<&str>, model: Option<&str>) -> Rerank {
    let (base_url, model) = (base_url.map(str::to_owned), model.map(str::to_owned));
    Rerank::new(&RerankConfig { provider, model, base_url, ..RerankConfig::default() }).unwrap()
}

fn asked(wire: &Rerank) -> (String, Value) {
    let key = Key::Bearer("k".into());
    let request = wire.request("q", &["a".to_owned(), "b".to_owned()], Some(&key)).unwrap();
    assert!(request.headers.iter().any(|(name, _)| *name == "authorization"));
    (request.url, serde_json::from_slice(&request.body).unwrap())
}

#[test]
fn every_provider_has_its_request() {
    let documents = json!(["a", "b"]);
    let local = Some("http://127.0.0.1:8080/v1");
    let cases = [
        (
            wire(RerankProvider::Cohere, None, None),
            "https://api.cohere.com/v2/rerank",
            json!({ "model": "rerank-v5.0-fast", "query": "q", "documents": documents }),
        ),
        (
            wire(RerankProvider::Voyage, None, Some("rerank-3")),
            "https://api.voyageai.com/v1/rerank",
            json!({ "model": "rerank-3", "query": "q", "documents": documents, "truncation": true }),
        ),
        (
            wire(RerankProvider::Jina, Some("https://api.jina.ai/v1/rerank"), None),
            "https://api.jina.ai/v1/rerank",
            json!({ "model": "jina-reranker-v3", "query": "q", "documents": documents, "return_documents": false }),
        ),
        (
            wire(RerankProvider::Tei, local, None),
            "http://127.0.0.1:8080/v1/rerank",
            json!({ "query": "q", "texts": documents, "truncate": true, "raw_scores": false }),
        ),
        (
            wire(RerankProvider::Tei, local, Some("bge")),
            "http://127.0.0.1:8080/v1/rerank",
            json!({ "model": "bge", "query": "q", "documents": documents }),
        ),
    ];
    for (wire, url, body) in cases {
        assert_eq!(asked(&wire), (url.to_owned(), body));
    }
    assert_eq!(wire(RerankProvider::Tei, local, None).batch(), 32);
    assert_eq!(wire(RerankProvider::Tei, local, Some("bge")).batch(), usize::MAX);
    assert!(Rerank::new(&RerankConfig { provider: RerankProvider::Tei, ..RerankConfig::default() }).is_err());
}

#[test]
fn a_key_is_wanted_where_one_is_needed() {
    let ask = |wire: &Rerank| wire.request("q", &[], None).map(|_| ()).map_err(|failure| failure.message);
    let refused = ask(&wire(RerankProvider::Cohere, None, None)).unwrap_err();
    assert!(refused.contains("rerank.key_file") && refused.contains("COHERE_API_KEY"), "{refused}");
    assert_eq!(ask(&wire(RerankProvider::Cohere, Some("http://localhost:1"), None)), Ok(()));
    assert_eq!(ask(&wire(RerankProvider::Tei, Some("https://tei.example.org"), None)), Ok(()));
}

#[test]
fn all_shapes_of_answers_are_read() {
    let read = |body: &str, n: usize| Rerank::read(body.as_bytes(), n);
    let two = [Some(0.25), Some(0.75)];
    let cases = [
        r#"{"id":"x","results":[{"index":1,"relevance_score":0.75},{"index":0,"relevance_score":0.25}]}"#,
        r#"{"object":"list","data":[{"index":0,"relevance_score":0.25},{"index":1,"relevance_score":0.75}]}"#,
        r#"[{"index":1,"score":0.75,"text":null},{"index":0,"score":0.25}]"#,
        r#"{"results":[{"index":0,"relevance_score":0.25,"document":null},{"index":1,"score":0.75},{"index":1,"score":9}]}"#,
    ];
    for body in cases {
        assert_eq!(read(body, 2).unwrap().scores, two, "{body}");
    }
    let short = read(r#"{"results":[{"index":2,"relevance_score":-4.5},{"index":1,"relevance_score":null}]}"#, 3);
    assert_eq!(short.unwrap().scores, [None, None, Some(-4.5)]);
    let billed = |body: &str| read(body, 0).map(|j| (j.tokens, j.searches)).unwrap();
    assert_eq!(billed(r#"{"results":[],"meta":{"billed_units":{"search_units":2}}}"#), (None, Some(2)));
    assert_eq!(billed(r#"{"data":[],"usage":{"total_tokens":77}}"#), (Some(77), None));
    for garbage in [
        "",
        "{}",
        "[",
        "null",
        "<html>",
        r#"{"results":7}"#,
        r#"{"results":[]}"#,
        r#"{"results":[{"score":1}]}"#,
        r#"{"results":[{"index":2,"score":1}]}"#,
        r#"{"results":[{"index":-1,"score":1}]}"#,
        r#"{"results":[{"index":0,"score":"high"}]}"#,
        r#"{"error":"busy"}"#,
    ] {
        assert!(read(garbage, 2).is_err(), "{garbage}");
    }
}
