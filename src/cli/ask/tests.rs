use super::*;

#[test]
fn places_fit_their_line_and_keep_what_tells() {
    let cited = |vault: &str, path: &str, line: u32, title: &str, headings: &[&str]| {
        let json = json!({
            "n": 1, "vault": vault, "path": path, "line": line, "end_line": line, "title": title,
            "heading_path": headings, "quote": "",
        });
        serde_json::from_value::<Citation>(json).unwrap()
    };
    let strip = |text: String| anstream::adapter::strip_str(&text).to_string();
    let long = cited("work", "Projects/A very long folder/Plan.md", 12, "Plan", &["Plan", "Risks\u{1b}[2J"]);
    let line = |width| strip(source(&long, true, false, width));
    assert_eq!(line(80), "[1] Projects/A very long folder/Plan.md:12  Plan › Risks");
    for width in [20, 30, 50] {
        assert!(columns(&line(width)) <= width && line(width).contains("Plan.md:12"), "{:?}", line(width));
    }
    assert_eq!(strip(source(&cited("work", "a.md", 1, "A", &[]), false, true, 80)), "work: a.md:1  A");
}
