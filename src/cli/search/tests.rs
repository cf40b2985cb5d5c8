use std::io::Write;
use std::sync::{Arc, Mutex};

use super::*;
use protocol::hit::{LaneScore, Lanes};

/// A writer whose content a test can read.
#[derive(Clone, Default)]
pub(crate) struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A hit with a bit of everything.
pub(crate) fn hit() -> Hit {
    Hit {
        vault: "notes".into(),
        path: "Projects/Very long folder/Plan.md".into(),
        line: 12,
        end_line: 20,
        title: "Plan".into(),
        heading_path: vec!["Plan".into(), "Risks".into(), "Money".into()],
        score: 0.5,
        snippet: "The budget\u{1b}[31m is short of what the budget needs.".into(),
        highlights: vec![(4, 10)],
        text: "raw".into(),
        context: "From the note Plan.".into(),
        window: "raw".into(),
        window_lines: (12, 20),
        chunk: "abc".into(),
        stale: true,
        lanes: Some(Lanes {
            lexical: Some(LaneScore { rank: 1, score: 7.0 }),
            dense: None,
            fused: 0.5,
            ..Lanes::default()
        }),
        ..Hit::default()
    }
}

fn printed(hit: &Hit, width: usize) -> String {
    let page = Page::default();
    let look = Look { rank: 1, context: true, explain: true, now: 7200, ..Look::default() };
    print_hit(hit, &look, &mut Out::to(page.clone(), width)).unwrap();
    page.text()
}

#[test]
fn a_hit_of_a_team_names_its_vault() {
    let text = printed(&Hit { vault: "handbook/wiki".to_owned(), ..hit() }, 90);
    assert!(text.contains("    handbook/wiki: Projects/Very long folder/Plan.md:12"), "{text}");
}

#[test]
fn a_hit_on_a_wide_terminal() {
    let text = printed(&hit(), 80);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], " 1. Plan › Risks › Money");
    assert_eq!(lines[1], "    Projects/Very long folder/Plan.md:12  2 h  changed since");
    assert!(
        text.contains("│ From the note Plan.")
            && text.contains("words: no. 1 (BM25 7.00) · meaning: not among the best"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn no_line_of_a_hit_is_wider_than_twenty_columns() {
    let mut hit = hit();
    hit.stale = false;
    hit.title = "日本語のとても長い題名です".into();
    for line in printed(&hit, 20).lines() {
        assert!(columns(line) <= 20, "{line:?}");
    }
}

#[test]
fn another_program_gets_the_whole_place_of_a_hit() {
    let path = format!("{}Plan.md", "A long folder/".repeat(12));
    let page = Page::default();
    print_hit(&Hit { path: path.clone(), ..hit() }, &Look::default(), &mut Out::piped(page.clone())).unwrap();
    assert!(page.text().contains(&format!("    {path}:12  ")), "{}", page.text());
}
