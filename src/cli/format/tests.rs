use super::super::search::tests::hit;
use super::*;

#[test]
fn formats() {
    let filled = |template: &str| Format::parse(template).map(|format| format.fill(&hit(), &Served::default()));
    assert_eq!(filled("{path}:{line}").unwrap(), "Projects/Very long folder/Plan.md:12");
    let lines = Format::parse("{line} {first_line} {end_line}").unwrap();
    assert_eq!(lines.fill(&Hit { match_line: 14, ..hit() }, &Served::default()), format!("14 12 {}", hit().end_line));
    assert_eq!(filled("{{{title}}}\\t{heading}").unwrap(), "{Plan}\tPlan › Risks › Money");
    assert_eq!(filled("{file}").unwrap(), "Projects/Very long folder/Plan.md");
    assert_eq!(filled("").unwrap(), "");
    let dated = Hit {
        kind: Some("daily".into()),
        tags: vec!["work".into(), "boat/red".into()],
        date: Some("2026-11-20".into()),
        modified: Some("2026-11-21".into()),
        ..hit()
    };
    let about = Format::parse("{kind}|{tags}|{date}|{created}|{modified}").unwrap();
    assert_eq!(about.fill(&dated, &Served::default()), "daily|work boat/red|2026-11-20||2026-11-21");
    assert!(!filled("{snippet}").unwrap().contains('\u{1b}'));
    for bad in ["{pth}", "{path", "{}"] {
        assert_eq!(filled(bad).unwrap_err().code(), 2, "{bad}");
    }
    let CliFailure::Said { message, .. } = filled("{pth}").unwrap_err() else { panic!("says nothing") };
    assert!(
        message.contains("`pth`") && message.contains("path, line, first_line, end_line") && message.contains("file")
    );
}
