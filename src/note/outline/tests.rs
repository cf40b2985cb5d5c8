use super::*;

#[test]
fn heading_texts() {
    for (shown, text) in [
        ("  Plan \t for\u{a0}2026 ", "Plan for 2026"),
        ("Cafe\u{301}", "Café"),
        ("Goals ^goal-1", "Goals"),
        ("Goals {#goals .wide}", "Goals"),
        ("Goals {#goals} ^g", "Goals"),
        ("x^2", "x^2"),
        ("Sets {a, b}", "Sets {a, b}"),
        ("{{date}}", "{{date}}"),
        ("Log %%draft%% of May", "Log of May"),
        ("100%% sure", "100%% sure"),
        ("", ""),
    ] {
        assert_eq!(heading_text(shown), text, "{shown}");
    }
    let long = heading_text(&"ü".repeat(5000));
    assert!(long.len() <= LONGEST_HEADING && long.len() > LONGEST_HEADING - 4);
}
