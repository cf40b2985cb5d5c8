use super::*;
use note::NoteRules;

#[test]
fn links_are_names() {
    for (typed, name) in [
        ("Plan.md", "Plan.md"),
        (" Plan ", "Plan"),
        ("[[Plan]]", "Plan"),
        ("![[Plan]]", "Plan"),
        ("[[a/Plan|the plan]]", "a/Plan"),
        ("[[Plan#Next steps|later]]", "Plan#Next steps"),
        ("[[Plan\\|in a table]]", "Plan"),
        ("[Plan]", "[Plan]"),
        ("[[Plan", "[[Plan"),
        ("[[]]", ""),
    ] {
        assert_eq!(bare(typed), name, "{typed}");
    }
}

#[test]
fn headings_and_blocks_are_lines() {
    let text =
        "---\ntags: [a]\n---\n# Plan\n\nIntro. ^start\n\n## Next steps: now!\n\nOne.\n\n### Deep\n\nTwo.\n\n## Last\n";
    let path = VaultPath::parse("Plan.md").unwrap();
    let note = note::parse(&path, text.as_bytes(), &NoteRules::default());
    for (part, lines) in [
        ("Plan", Some((4, 16))),
        ("next steps: now!", Some((8, 15))),
        ("Next steps now", Some((8, 15))),
        ("Next steps now#Deep", Some((12, 15))),
        ("Last", Some((16, 16))),
        ("^start", Some((6, 6))),
        ("^nosuch", None),
        ("Nosuch", None),
    ] {
        assert_eq!(part_of(&note, part), lines, "{part}");
    }
}
