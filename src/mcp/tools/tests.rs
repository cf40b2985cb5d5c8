use super::*;

#[test]
fn every_tool_is_described_whole() {
    let tools = all();
    assert_eq!(tools.len(), 11);
    for tool in &tools {
        assert!(named(&tool.name).is_some() && definition(&tool.name).is_some());
        let output = tool.output_schema.as_ref().unwrap();
        assert_eq!(
            (&tool.input_schema["type"], &output["type"]),
            (&"object".into(), &"object".into()),
            "{}",
            tool.name
        );
        for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}: {name} says nothing: {property}", tool.name);
        }
        assert!(!serde_json::to_string(output).unwrap().contains("\"description\""), "{}", tool.name);
        let annotations = tool.annotations.as_ref().unwrap();
        assert_eq!(annotations.destructive_hint, Some(false));
        assert!(annotations.read_only_hint.is_some() && annotations.open_world_hint.is_some());
    }
    assert!(named("search").is_none());
    let size: usize = tools.iter().map(|tool| serde_json::to_string(tool).unwrap().len()).sum();
    assert!(size < 18_500, "{size} bytes of definitions in every window");
}
