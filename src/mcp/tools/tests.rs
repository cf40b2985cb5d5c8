use super::*;

/// What all definitions may take of every conversation: under 3,000 tokens. Counted with two vocabularies, JSON of this
/// kind has a token in 4.1 bytes (`o200k_base`) and in 4.4 (`cl100k_base`); another may have one in 3.8.
const MOST_BYTES: usize = 11_400;

#[test]
fn every_tool_is_described_whole_and_all_of_them_in_few_words() {
    let tools = all();
    assert_eq!(tools.len(), 12);
    for tool in &tools {
        assert!(named(&tool.name).is_some() && definition(&tool.name).is_some());
        assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}: {name} says nothing: {property}", tool.name);
        }
        if let Some(output) = &tool.output_schema {
            assert_eq!(output["type"], "object", "{}", tool.name);
            assert!(!serde_json::to_string(output).unwrap().contains("\"description\""), "{}", tool.name);
        }
        let annotations = tool.annotations.as_ref().unwrap();
        assert_eq!(annotations.destructive_hint, Some(false));
        assert!(annotations.read_only_hint.is_some() && annotations.open_world_hint.is_some());
    }
    assert!(named("search").is_none());
    let size = serde_json::to_string(&tools).unwrap().len();
    assert!(size <= MOST_BYTES, "{size} bytes of definitions in every window");
}

#[test]
fn one_tool_searches_and_has_another_name_that_is_not_listed() {
    let listed: Vec<_> = all().into_iter().map(|tool| tool.name).collect();
    assert!(listed.iter().any(|name| name == "search_with_contextual_retrieval"), "{listed:?}");
    assert!(listed.iter().all(|name| name != "search_notes"), "{listed:?}");
    let (one, other) = (definition("search_with_contextual_retrieval").unwrap(), definition("search_notes").unwrap());
    assert_eq!((one.input_schema, one.output_schema), (other.input_schema, other.output_schema));
    assert!(!names().contains("search_notes") && !INSTRUCTIONS.contains("search_notes"));
}
