use super::*;

#[test]
fn the_longest_beginning_wins_and_nothing_is_guessed_about_money() {
    let of = |provider, model| KnownModel::of(provider, model);
    assert_eq!(of(EmbedProvider::Voyage, "voyage-4-lite").price, Some(20_000));
    assert_eq!(of(EmbedProvider::Voyage, "voyage-4").price, Some(60_000));
    assert_eq!(of(EmbedProvider::Voyage, "voyage-9").price, None);
    assert_eq!(of(EmbedProvider::OpenAi, "openai/text-embedding-3-large").price, Some(130_000));
    assert_eq!(of(EmbedProvider::Ollama, "all-minilm:33m").max_tokens, 256);
    assert_eq!(of(EmbedProvider::OpenAi, "intfloat/e5-base").prefixes.0, "query: ");
    assert_eq!(of(EmbedProvider::OpenAi, "unheard-of"), known(USUAL_TOKENS, "", "", None));
    assert!(TABLE.iter().all(|(_, known)| known.price != Some(0)));
}
