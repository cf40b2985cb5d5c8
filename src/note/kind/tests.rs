use super::*;

fn kind(rules: &[(&str, &str)], path: &str) -> Option<String> {
    let folders = rules.iter().map(|(pattern, kind)| ((*pattern).to_owned(), (*kind).to_owned())).collect();
    let (path, rules) = (VaultPath::parse(path).unwrap(), NoteRules { folders, ..NoteRules::default() });
    by_place(&path, &rules, named(&path, &rules))
}

#[test]
fn patterns() {
    for (pattern, path, fitting) in [
        ("Projects", "Projects/a.md", true),
        ("Projects/", "Projects/x/a.md", true),
        ("Projects", "Projects2/a.md", false),
        ("Projects", "x/Projects/a.md", false),
        ("Areas/*/Meetings", "Areas/Work/Meetings/a.md", true),
        ("Areas/*/Meetings", "Areas/Work/Old/Meetings/a.md", false),
        ("Areas/**/Meetings", "Areas/Work/Old/Meetings/a.md", true),
        ("**/Meetings", "Meetings/a.md", true),
        ("Projects/*", "Projects/a.md", true),
        ("Projects/*.md", "Projects/x/a.md", false),
        ("Meeting *", "x/y/Meeting with A.md", true),
        ("Meeting*/**", "x/Meeting with A.md", false),
        ("Meeting ?.md", "x/Meeting 1.md", true),
        ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false),
    ] {
        assert_eq!(kind(&[(pattern, "k")], path).as_deref() == Some("k"), fitting, "{pattern} {path}");
    }
}

#[test]
fn the_first_rule_wins_and_dates_are_daily() {
    let rules = [("Work/Daily", "log"), ("Work", "work")];
    assert_eq!(kind(&rules, "Work/Daily/2026-11-20.md").as_deref(), Some("log"));
    assert_eq!(kind(&rules, "Work/2026-11-20.md").as_deref(), Some("work"));
    assert_eq!(kind(&rules, "journals/2026_11_20.md").as_deref(), Some("daily"));
    assert_eq!(kind(&rules, "2026-11-20 x.md"), None);
    assert_eq!(kind(&rules, "October 23, 2025.md").as_deref(), Some("daily"));
    assert_eq!(kind(&rules, "2026-W47.md").as_deref(), Some("weekly"));
}
