use super::super::search::tests::Page;
use super::*;

fn reviewed() -> Reviewed {
    Reviewed {
        vault: "notes".into(),
        path: "Projects/Atl\u{1b}[2Jas.md".into(),
        heading_path: vec!["Atlas".into(), "Risks".into()],
        lines: (7, 9),
        chunk: "## Risks\n\nIt slipped because the contract was late.\n\t- and\u{9b}31m more\n".into(),
        context: "Atlas rollout: the contract with Northwind was late, so the rollout of Atlas slipped.".into(),
        questions: vec!["Why did the rollout sl\u{1b}[2Jip?".into()],
        terms: vec!["Northwind".into(), "delay".into()],
        generation: "anthropic/m/p1".into(),
        quality: 0.861,
        scores: Some(Scores { length: 1.0, grounding: 0.9, ..Scores::default() }),
        drifted: true,
    }
}

fn shown(width: usize) -> String {
    let page = Page::default();
    print_reviewed(1, &reviewed(), true, &mut Out::to(page.clone(), width)).unwrap();
    page.text()
}

#[test]
fn side_by_side_where_there_is_room() {
    let text = shown(110);
    let line = text.lines().find(|line| line.contains("## Risks")).unwrap();
    assert!(line.contains("│ Atlas rollout:"), "{text}");
    let bars: Vec<_> = text.lines().filter_map(|line| Some(columns(line.split_once('│')?.0))).collect();
    assert!(bars.len() > 4 && bars.iter().all(|bar| *bar == bars[0]), "{text}");
}

#[test]
fn one_under_the_other_where_there_is_not() {
    for width in [20, 40, 99] {
        let text = shown(width);
        assert!(!text.contains("## Risks │"), "{text}");
        assert!(text.find("slipped because").is_none_or(|at| at < text.find('│').unwrap()), "{text}");
        assert!(text.lines().all(|line| columns(&line.replace('\t', " ")) <= width), "{text}");
    }
}

#[test]
fn everything_is_told_and_nothing_touches_the_terminal() {
    for width in [80, 120] {
        let text = shown(width);
        for expected in [
            "notes: Projects/Atlas.md:7-9",
            "Atlas › Risks",
            "quality 0.86",
            "grounding 0.90",
            "another since",
            "beside it the model wrote",
            "- Why did the rollout slip?",
            "terms: Northwind, delay",
        ] {
            assert!(text.replace("│ ", "").contains(expected), "{expected}\n{text}");
        }
        assert!(!text.contains(['\u{1b}', '\u{9b}']), "{text:?}");
    }
}
