use super::*;

#[test]
fn identities_tell_apart_what_must_not_be_compared() {
    let plain = EmbedConfig { provider: EmbedProvider::OpenAi, ..EmbedConfig::default() };
    assert_eq!(plain.identity(1536), "openai text-embedding-3-small 1536");
    let others = [
        plain.identity(512),
        EmbedConfig { model: Some("m".to_owned()), ..plain.clone() }.identity(1536),
        EmbedConfig { query_prefix: Some("q: ".to_owned()), ..plain.clone() }.identity(1536),
        EmbedConfig { document_prefix: Some("q: ".to_owned()), ..plain.clone() }.identity(1536),
        EmbedConfig { provider: EmbedProvider::Ollama, model: Some("m".to_owned()), ..plain.clone() }.identity(1536),
    ];
    let mut names: Vec<&String> = others.iter().collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), others.len());
    assert!(!others.contains(&plain.identity(1536)));
    // Where it is asked says nothing about what comes back.
    let moved = EmbedConfig { base_url: Some("http://127.0.0.1:1".to_owned()), concurrency: 9, ..plain.clone() };
    assert_eq!(moved.identity(1536), plain.identity(1536));
}

#[test]
fn models_known_to_want_prefixes_get_them_unless_told_otherwise() {
    let ollama = EmbedConfig { provider: EmbedProvider::Ollama, ..EmbedConfig::default() };
    assert_eq!(ollama.prefixes(), ("search_query: ".to_owned(), "search_document: ".to_owned()));
    let none = EmbedConfig { query_prefix: Some(String::new()), ..ollama };
    assert_eq!(none.prefixes().0, "");
    let context = |model: &str| EmbedConfig {
        provider: EmbedProvider::Voyage,
        model: Some(model.to_owned()),
        ..EmbedConfig::default()
    };
    assert!(context("voyage-context-4").is_contextual() && !context("voyage-4").is_contextual());
}
