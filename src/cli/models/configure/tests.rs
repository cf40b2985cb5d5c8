use super::*;

fn setting(kind: ModelKind) -> Setting {
    let id = ModelId::parse("org/name").expect("a name");
    Setting::of(kind, &id, &Shelf::of("/data".as_ref()))
}

fn named(text: &str, kind: ModelKind) -> Option<Named> {
    named_in(text, &setting(kind)).expect("it is TOML")
}

#[test]
fn comments_and_order_stay() {
    let text = "# mine\ndata_dir = \"/d\" # here\n\n[rerank]\n# who judges\n# provider = \"none\"\n\n# The rest.\n[ask]\npassages = 3\n";
    let found = named(text, ModelKind::CrossEncoder).expect("a change");
    assert_eq!(
        found.new,
        "# mine\ndata_dir = \"/d\" # here\n\n[rerank]\nprovider = \"transformer\"\nmodel = \"org/name\"\n# who judges\n\
         # provider = \"none\"\n\n# The rest.\n[ask]\npassages = 3\n"
    );
    assert_eq!(found.changes, ["provider = \"transformer\"", "model = \"org/name\""]);
    assert_eq!(named(&found.new, ModelKind::CrossEncoder), None, "it stands there");
}

#[test]
fn another_provider_is_shown_and_replaced() {
    let text = "\u{FEFF}[rerank]\r\nprovider = \"cohere\" # paid\r\ntop = 50\r\nmodel = \"rerank-v3.5\"\r\n";
    let found = named(text, ModelKind::CrossEncoder).expect("a change");
    assert!(
        found.new.starts_with('\u{FEFF}') && found.new.contains("provider = \"transformer\" # paid"),
        "{}",
        found.new
    );
    assert!(found.new.contains("top = 50") && !found.new.contains("rerank-v3.5"), "{}", found.new);
    assert_eq!(
        found.changes,
        ["provider = \"transformer\"   (now \"cohere\")", "model = \"org/name\"   (now \"rerank-v3.5\")"]
            .map(|line| line.to_owned())
    );
}

#[cfg(unix)]
#[test]
fn what_was_said_of_another_embedder_goes() {
    let text = "[embed]\nprovider = \"ollama\"\nmodel = \"nomic\"\nquery_prefix = \"search: \"\nconcurrency = 3\n";
    let found = named(text, ModelKind::Static).expect("a change");
    assert_eq!(found.new, "[embed]\nprovider = \"static\"\nconcurrency = 3\npath = \"/data/models/org--name\"\n");
    assert!(found.changes.iter().any(|line| line.starts_with("query_prefix goes")), "{:?}", found.changes);
    let found = named(text, ModelKind::Embedder).expect("a change");
    assert_eq!(found.new, "[embed]\nprovider = \"transformer\"\nmodel = \"org/name\"\nconcurrency = 3\n");
}

#[test]
fn a_section_that_is_not_there_or_is_written_otherwise() {
    let found = named("[[vault]]\npath = \"/n\"\n", ModelKind::CrossEncoder).expect("a change").new;
    assert_eq!(found, "[[vault]]\npath = \"/n\"\n\n[rerank]\nprovider = \"transformer\"\nmodel = \"org/name\"\n");
    let inline = named("rerank = { provider = \"none\" }\n", ModelKind::CrossEncoder).expect("a change").new;
    assert_eq!(inline, "rerank = { provider = \"transformer\", model = \"org/name\" }\n");
    assert_eq!(named_in("rerank = 3", &setting(ModelKind::CrossEncoder)), Err("`rerank` in it is no table".to_owned()));
    let wrong = named_in("a = 1\nb = [\n", &setting(ModelKind::CrossEncoder)).expect_err("no TOML");
    assert!(wrong.contains("line 2") || wrong.contains("line 3"), "{wrong}");
    assert_eq!(
        setting(ModelKind::CrossEncoder).lines(),
        "[rerank]\nprovider = \"transformer\"\nmodel = \"org/name\"\n"
    );
}
