use super::*;

#[test]
fn places_fit_their_line_and_keep_what_tells() {
    let place = Place { vault: None, path: "Projects/A very long folder/Plan.md", line: 12 };
    let headings = ["Plan".to_owned(), "Risks\u{1b}[2J".to_owned()];
    let strip = |text: String| anstream::adapter::strip_str(&text).to_string();
    let line = |width| strip(place.shown(Some(1), "Plan", &headings, width));
    assert_eq!(line(80), "[1] Projects/A very long folder/Plan.md:12  Plan › Risks");
    for width in [20, 30, 50] {
        assert!(columns(&line(width)) <= width && line(width).contains("Plan.md:12"), "{:?}", line(width));
    }
    let vault = "work".to_owned();
    let named = Place { vault: Some(&vault), path: "a.md", line: 1 };
    assert_eq!(strip(named.shown(None, "A", &[], 80)), "work: a.md:1  A");
}
