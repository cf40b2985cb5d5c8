use super::*;

#[test]
fn text_cannot_become_markup() {
    assert_eq!(clean("a\u{1b}[31m\u{202e}b\n"), "a\u{FFFD}[31m\u{FFFD}b\n");
    let svg = columns("\"><script>", &["<i>"], &[1], "\" onload=\"x").into_string();
    assert!(!svg.contains("<script>") && !svg.contains("<i>") && !svg.contains("onload=\"x"), "{svg}");
}

#[test]
fn a_bar_is_as_long_as_its_value() {
    let bar = |mean| Bar { name: "<x>".into(), class: "dense", value: Interval { mean, low: mean, high: mean } };
    let svg = bars("t", &[bar(0.0), bar(0.5), bar(7.0)]).into_string();
    assert!(
        svg.contains("width=\"0.0\"") && svg.contains("width=\"200.0\"") && svg.contains("width=\"400.0\""),
        "{svg}"
    );
    assert!(!svg.contains("whisker") && !svg.contains("<x>"), "{svg}");
    let sure = Bar { name: "y".into(), class: "dense", value: Interval { mean: 0.5, low: 0.25, high: 0.75 } };
    assert!(bars("t", &[sure]).into_string().contains("M250.0 11.0H450.0"));
    assert!(columns("t", &["1", "none"], &[4, 2], "hybrid").into_string().contains("height=\"53.0\""));
    assert!(columns("t", &[], &[], "hybrid").into_string().ends_with("</svg>"));
}
