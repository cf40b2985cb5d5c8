//! Cutting as it is done for real: with the built-in model's pieces, and what the template says of the parts.

use context::Template;
use note::chunk::{Chunk, ChunkConfig, Strategy, Tools, chunk};
use note::{Note, NoteRules, VaultPath, parse};

use super::cut;
use crate::embed::builtin;

fn cut_at(path: &str, text: &str, config: &ChunkConfig) -> (Note, Vec<Chunk>) {
    let note = parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default());
    let chunks = cut(&note, config);
    (note, chunks)
}

fn small(strategy: Strategy) -> ChunkConfig {
    ChunkConfig { strategy, target: 12, min: 5, max: 18, overlap_percent: 0 }
}

#[test]
fn a_ruler_of_any_width_counts_for_nothing() {
    let rows = "| some words are here |\n".repeat(9);
    let text = format!("| Name |\n|{}|\n{rows}", "-".repeat(900));
    let note = parse(&VaultPath::parse("n.md").unwrap(), text.as_bytes(), &NoteRules::default());
    let chunks = cut(&note, &ChunkConfig { target: 40, min: 10, max: 60, ..ChunkConfig::default() });
    assert!(chunks.last().unwrap().searchable(&note).starts_with("| Name |\n"));
}

#[test]
fn the_template_names_the_headings_above_a_continued_part() {
    let text = format!("# Plan\n\n## Harbour\n\n### Works\n\n{}", "- line of words that goes on\n".repeat(20));
    for strategy in [Strategy::Obsidian, Strategy::Markdown, Strategy::Semantic, Strategy::Sentence, Strategy::Fixed] {
        let (note, chunks) = cut_at("Note.md", &text, &small(strategy));
        let continued: Vec<&Chunk> = chunks.iter().filter(|c| note.text[c.span.clone()].starts_with("- ")).collect();
        assert!(continued.len() > 2 || strategy == Strategy::Fixed);
        for part in continued {
            let context = Template::new(&note).context(part);
            assert!(context.contains("Harbour › Works"), "{strategy:?} {context}");
        }
    }
}

/// Texts that take for ever if anything is looked at again and again.
fn hostile() -> Vec<(&'static str, String)> {
    const MEGABYTE: usize = 1 << 20;
    let filled = |unit: &str| unit.repeat(MEGABYTE / unit.len());
    vec![
        ("no blank", filled("x")),
        ("no blank, many pieces", filled("日本")),
        ("ends without blanks", filled("a.")),
        ("ends alone", filled(". ")),
        ("closing marks", format!("a.{}", filled(")"))),
        ("short words", filled("J. ")),
        ("numbers after blanks", format!("x {} {}", " ".repeat(MEGABYTE / 2), "1. ".repeat(MEGABYTE / 6))),
        ("one-letter sentences", filled("A! ")),
        ("wide ends", filled("。")),
        ("rows", format!("| a | b |\n|---|---|\n{}", "| 1 | 2 |\n".repeat(100_000))),
        ("a wide header", format!("| {} |\n|---|\n{}", "w".repeat(MEGABYTE / 2), "| 1 |\n".repeat(50_000))),
        ("headings", (0..50_000).map(|i| format!("{} h{i}\n", "#".repeat(1 + i % 6))).collect()),
        ("headings with text", "# h\n\nword.\n\n".repeat(30_000)),
        ("items", format!("To do:\n\n{}", "- a\n".repeat(200_000))),
        ("code", format!("```x\n{}", "a\n".repeat(300_000))),
        ("callout", format!("> [!note] T\n{}", "> a\n".repeat(200_000))),
        ("lists led to", "a:\n\n- b\n\n".repeat(80_000)),
        ("blank lines", filled("\n \n")),
    ]
}

#[test]
fn hostile_notes_take_time_in_proportion() {
    for (what, text) in hostile() {
        let note = parse(&VaultPath::parse("n.md").unwrap(), text.as_bytes(), &NoteRules::default());
        let token_starts = builtin::model().token_starts(&note.text);
        let embed = |text: &str| vec![text.len() as f32, 1.0];
        for &strategy in Strategy::ALL {
            let config = ChunkConfig::of(strategy);
            let chunks = chunk(&note, &config, &Tools { token_starts: &token_starts, embed: &embed });
            let shown: usize = chunks.iter().map(|c| c.searchable(&note).len()).sum();
            assert!(shown < 3 * text.len() + 100, "{what}, {strategy:?}: {shown}");
            assert!(chunks.iter().all(|c| c.tokens <= config.max.max(config.target)), "{what}, {strategy:?}");
        }
    }
}
