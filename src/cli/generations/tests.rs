use super::*;

#[test]
fn a_line_says_how_far_it_is() {
    let generation = GenerationInfo {
        vault: "notes".into(),
        name: "bo\u{1b}[2Jld".into(),
        provider: "anthropic".into(),
        model: "m".into(),
        active: false,
        built: true,
        notes: 3,
        chunks: 12,
        waiting: 4,
        failed: 0,
    };
    let said = anstream::adapter::strip_str(&line(&generation)).to_string();
    assert!(said.contains("built") && said.contains("12 chunks, 4 to be written"), "{said}");
    assert!(!said.contains('\u{1b}') && !said.contains("given up"), "{said}");
    assert!(line(&GenerationInfo { built: false, ..generation }).contains("not built"));
}
