use super::super::search::tests::Page;
use super::*;
use protocol::graph::GraphTarget;

fn answer() -> GraphAnswer {
    let note = |title: &str, score: f32| GraphNote {
        path: format!("Notes/{title}.md"),
        title: title.to_owned(),
        score,
        pagerank: score / 10.0,
        links: 1234,
        ..GraphNote::default()
    };
    GraphAnswer {
        current: true,
        note_count: 1002,
        link_count: 1,
        sources: Some(500),
        error: Some(0.00123),
        notes: vec![note("Hub\u{1b}[2J", 0.9), note("a \"b\" \\n", 0.25)],
        edges: Some(vec![(1, 0)]),
        orphan_count: 7,
        orphans: (0..7).map(|n| format!("o{n}.md")).collect(),
        unresolved_count: 1,
        unresolved: vec![GraphTarget { target: "Later\n".into(), count: 3, notes: vec!["x.md".into()] }],
        ..GraphAnswer::default()
    }
}

fn page(print: impl Fn(&mut Out) -> std::io::Result<()>) -> String {
    let page = Page::default();
    print(&mut Out::to(page.clone(), 80)).unwrap();
    assert!(!page.text().contains('\u{1b}'), "{:?}", page.text());
    page.text()
}

#[test]
fn an_overview() {
    let text = page(|out| overview(&answer(), Measure::Score, out));
    for expected in [
        "1,002 notes, 1 link between them",
        "betweenness estimated from 500 notes, standard error 0.00123 at most",
        "0.900      Hub  Notes/Hub.md",
        "7: o0.md, o1.md, o2.md, o3.md, o4.md, …",
        "1: Later  (3)",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(page(|out| overview(&answer(), Measure::Out, out)).contains("1,234      Hub"));
    assert!(page(|out| unresolved(&answer(), out)).ends_with("    x.md\n    …\n"));
    assert!(page(|out| overview(&GraphAnswer::default(), Measure::Score, out)).starts_with("0 notes, 0 links"));
}

#[test]
fn labels_of_a_picture_cannot_break_out() {
    let dot = dot(&answer());
    assert!(dot.contains(r#"n1 [label="a \"b\" \\n", tooltip="Notes/a \"b\" \\n.md""#), "{dot}");
    assert!(dot.contains("  n1 -> n0;\n") && !dot.contains('\u{1b}'), "{dot}");
}

#[test]
fn the_command_for_the_picture_of_a_vault_can_be_typed() {
    assert_eq!(picture_of("work"), "situated graph --dot work");
    assert_eq!(picture_of("-my notes"), "situated graph --dot -- -my\\ notes");
}
