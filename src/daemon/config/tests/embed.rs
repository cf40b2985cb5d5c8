//! Who makes vectors, and what is wrong with what somebody wrote about it.

use super::*;
use ::context::settings::{Consent, KeyConfig};
use index::embed::settings::{EmbedConfig, EmbedProvider};

const ALL: &str = r#"
[embed]
provider = "voyage"
model = "voyage-4"
path = "DIR/table"
base_url = "https://proxy.example.org/v1"
passes_on = true
consent = "given"
key_file = "DIR/key"
key_credential = "my-key"
dimensions = 512
query_prefix = "query: "
document_prefix = ""
text_vectors = true
max_tokens = 4000
concurrency = 2
timeout = "20s"
query_timeout = "500ms"
price_per_mtok = 0.06
"#;

#[test]
fn every_value_arrives_and_is_shown_so_that_it_arrives_again() {
    let bench = Bench::new();
    let loaded = bench.load(ALL, &[]).unwrap_or_else(|e| panic!("{e}"));
    let expected = EmbedConfig {
        provider: EmbedProvider::Voyage,
        model: Some("voyage-4".to_owned()),
        path: Some(bench.path("table")),
        base_url: Some("https://proxy.example.org/v1".to_owned()),
        passes_on: true,
        consent: Consent::Given,
        key: KeyConfig { file: Some(bench.path("key")), command: None, credential: Some("my-key".to_owned()) },
        dimensions: Some(512),
        // White space at the end is part of it.
        query_prefix: Some("query: ".to_owned()),
        document_prefix: Some(String::new()),
        text_vectors: true,
        max_tokens: Some(4000),
        concurrency: 2,
        timeout: Duration::from_secs(20),
        query_timeout: Duration::from_millis(500),
        price_per_mtok: Some(60_000),
    };
    assert_eq!(loaded.config.engine.embed, expected);
    let again = bench.load(&loaded.show(false), &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.config.engine.embed, expected);
}

#[test]
fn what_is_wrong_is_told() {
    let bench = Bench::new();
    let cases = [
        ("provider = \"olama\"", "did you mean `ollama`?"),
        (
            "provider = \"openai\"\nbase_url = \"http://192.168.1.4/v1\"",
            "would send the key and your notes in the clear",
        ),
        (
            "provider = \"openai\"\nkey_file = \"DIR/a\"\nkey_command = \"b\"",
            "embed.key_file and embed.key_command are both set",
        ),
        ("api_key = \"x\"", "no key stands in this file"),
        ("dimensions = 1", "write a whole number from 2 to 8192"),
        ("query_prefix = 3", "expected a string in quotes"),
        ("provider = \"static\"", "add `path`, the folder with its model.safetensors and tokenizer.json"),
        ("path = \"models/table\"", "is relative, and to what would depend"),
        ("provider = \"static\"\npath = \"DIR/t\"\nquery_prefix = \"q: \"", "a prefix would be the same part of every"),
        ("provider = \"static\"\npath = \"DIR/t\"\ndocument_prefix = \"d: \"", "tell nothing; leave it out"),
        ("price_per_mtok = -1", "not an amount in dollars"),
    ];
    for (text, expected) in cases {
        let error = bench.load(&format!("[embed]\n{text}"), &[]).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("embed"), "{text}: {error}");
    }
    assert!(bench.load("[embed]\nprovider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"", &[]).is_ok());
    // Whether the folder is there is seen when it is opened: a daemon must start without it.
    assert!(bench.load("[embed]\nprovider = \"static\"\npath = \"DIR/none\"\nquery_prefix = \"\"", &[]).is_ok());
}
