//! Who judges what a search finds.

use super::*;
use index::search::rerank::{RerankConfig, RerankProvider};

#[test]
fn every_key_arrives() {
    let bench = Bench::new();
    let loaded = bench
        .load(
            "[[vault]]\npath = \"NOTES\"\n[rerank]\nprovider = \"tei\"\nmodel = \"bge\"\nbase_url = \"http://127.0.0.1:8080\"\n\
             key_file = \"DIR/key\"\nkey_credential = \"mine\"\ntop = 50\ndeadline = \"800ms\"\nprice_per_1k = 2.5",
            &[("SITUATED_RERANK_TOP", "40")],
        )
        .unwrap();
    let rerank = &loaded.config.engine.rerank;
    assert_eq!((rerank.provider, rerank.model(), rerank.top()), (RerankProvider::Tei, "bge", 40));
    assert_eq!(
        (rerank.deadline(), rerank.price_per_1k, rerank.price_per_mtok),
        (Duration::from_millis(800), Some(2_500_000), None)
    );
    assert!(rerank.key.file.is_some() && rerank.key.credential.as_deref() == Some("mine"));
    assert!(loaded.show(false).contains("price_per_1k = 2.50"));
    let none = bench.load("[[vault]]\npath = \"NOTES\"", &[]).unwrap().config.engine.rerank;
    assert_eq!((none.clone(), none.provider), (RerankConfig::default(), RerankProvider::None));
}

#[test]
fn problems_say_what_to_do() {
    let bench = Bench::new();
    let table = [
        ("provider = \"coher\"", "2:12 rerank.provider `coher` is not known; did you mean `cohere`?"),
        ("provider = \"tei\"", "2:1 rerank.provider where \"tei\" is has to be said; add `base_url`"),
        ("provider = \"transformer\"", "-:- rerank.model name the cross-encoder: `situated models add"),
        ("base_url = \"http://10.0.0.2\"", "2:12 rerank.base_url http:// to `10.0.0.2` would send"),
        ("top = 0", "2:7 rerank.top `0` is out of range"),
        (
            "provider = \"jina\"\ndeadline = \"20s\"",
            "3:1 rerank.deadline rerank.deadline 20s leaves nothing of serve.query_timeout 10s",
        ),
        (
            "price_per_1k = 1\nprice_per_mtok = 1",
            "2:1 rerank.price_per_1k rerank.price_per_mtok and rerank.price_per_1k are both set",
        ),
        (
            "key_file = \"/k\"\nkey_command = \"x\"",
            "3:1 rerank.key_command rerank.key_file and rerank.key_command are both set",
        ),
        (
            "api_key = \"sk-x\"",
            "2:1 rerank.api_key no key stands in this file; put the key into a file that only you can read (mode 0600) and name the file in `rerank.key_file`",
        ),
    ];
    for (text, expected) in table {
        let problems = bench.problems(&format!("[rerank]\n{text}\n[[vault]]\npath = \"NOTES\""), &[]);
        assert!(problems[0].starts_with(expected), "{text}: {problems:?}");
        assert!(!problems[0].contains("sk-x"));
    }
}
