//! What a part of a long block is searched under.

use super::super::*;
use super::{cut, small};

/// The searchable texts of a note's chunks, and the raw ones.
fn both(text: &str, strategy: Strategy) -> (Vec<String>, Vec<String>) {
    let (note, chunks) = cut("n.md", text, &small(strategy));
    let raw = chunks.iter().map(|c| note.text[c.span.clone()].to_owned()).collect();
    (chunks.iter().map(|c| c.searchable(&note)).collect(), raw)
}

#[test]
fn every_part_of_a_long_block_knows_its_head() {
    let rows: String = (0..12).map(|i| format!("| person {i} | role {i} |\n")).collect();
    let table = format!("| Name | Role |\n|---|---|\n{rows}");
    let fence = format!("```rust title\n{}```\n", "let a = b ;\n".repeat(12));
    let tildes = fence.replace("```", "~~~");
    let callout = format!("> [!warning] Mind the gap\n{}", "> some more words here\n".repeat(9));
    let list = format!("What to buy:\n\n{}", "- some item of food\n".repeat(9));
    for (text, head) in [
        (&table, "| Name | Role |\n|---|---|\n"),
        (&fence, "```rust title\n"),
        (&tildes, "~~~rust title\n"),
        (&callout, "> [!warning] Mind the gap\n"),
        (&list, "What to buy:\n"),
        // The list right below its line, with another paragraph before.
        (&format!("Other words.\n\n{}", list.replace("\n\n", "\n")), "What to buy:\n"),
    ] {
        for &strategy in Strategy::ALL {
            let (shown, raw) = both(text, strategy);
            assert!(shown.len() > 1, "{strategy:?} {text}");
            for (shown, raw) in shown.iter().zip(&raw) {
                assert!(text.contains(raw.as_str()), "{raw:?}");
                let expected = if raw.contains(head.trim_end()) { raw.clone() } else { format!("{head}{raw}") };
                // Windows of a fixed size may begin within the head.
                if strategy != Strategy::Fixed || text.find(raw.as_str()) > text.find(head).map(|at| at + head.len()) {
                    assert_eq!(*shown, expected, "{strategy:?}");
                }
            }
        }
    }
}

#[test]
fn what_has_no_head_or_one_too_long_stands_alone() {
    let wide = format!("| {} |\n|---|\n{}", "word ".repeat(200), "| some words are here |\n".repeat(9));
    let odd = format!("| {} |\n|---|\n{}", "w".repeat(3000), "| some words are here |\n".repeat(9));
    let quote = "> some more words are quoted here\n".repeat(9);
    let list = format!("No colon here.\n\n{}", "- some item of food\n".repeat(9));
    let apart = format!("A colon:\n\n# Heading\n\n{}", "- some item of food\n".repeat(9));
    let indented = "    let a = b ;\n".repeat(12);
    let prose = "Some words that go on and on and end.\n".repeat(9);
    for text in [wide, odd, quote, list, apart, indented, prose] {
        let (note, chunks) = cut("n.md", &text, &small(Strategy::Obsidian));
        assert!(chunks.len() > 1);
        assert!(chunks.iter().all(|c| c.lead.is_none() && c.searchable(&note) == searchable(&note, &c.span)), "{text}");
    }
}

#[test]
fn comments_are_not_put_before_anything() {
    let text = format!("%%secret:%%\n\n{}", "- some item of food\n".repeat(9));
    let (shown, _) = both(&text, Strategy::Obsidian);
    assert!(shown.iter().all(|text| !text.contains("secret")), "{shown:?}");
}

#[test]
fn under_another_head_every_part_reads_differently() {
    let rows: String = (0..12).map(|i| format!("| person {i} | role {i} |\n")).collect();
    let hashes = |head: &str| {
        let (_, chunks) = cut("n.md", &format!("{head}\n|---|---|\n{rows}"), &small(Strategy::Obsidian));
        assert!(chunks.len() > 2, "{}", chunks.len());
        chunks.into_iter().map(|chunk| chunk.hash).collect::<Vec<_>>()
    };
    let (before, after) = (hashes("| Name | Role |"), hashes("| Name | Task |"));
    assert_eq!(before.len(), after.len());
    assert!(before.iter().zip(&after).all(|(before, after)| before != after));
}
