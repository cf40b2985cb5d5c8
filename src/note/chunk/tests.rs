//! Cuts of real notes: what stays together, what is split, and that no byte is lost.

mod lead;
mod strategies;

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::Strategy;
use super::*;
use crate::VaultPath;
use crate::{NoteRules, parse};

/// One token per word: close enough to the tokenizer, and easy to count by eye.
fn words(text: &str) -> Vec<u32> {
    let mut starts = Vec::new();
    let mut inside = false;
    for (i, c) in text.char_indices() {
        if !c.is_whitespace() && !inside {
            starts.push(i as u32);
        }
        inside = !c.is_whitespace();
    }
    starts
}

/// How often each letter stands in a text: like enough to meaning to tell subjects apart.
fn letters(text: &str) -> Vec<f32> {
    let mut counts = vec![0.0; 26];
    text.bytes().filter(u8::is_ascii_lowercase).for_each(|b| counts[usize::from(b - b'a')] += 1.0);
    counts
}

pub(super) fn cut(path: &str, text: &str, config: &ChunkConfig) -> (Note, Vec<Chunk>) {
    let note = parse(&VaultPath::parse(path).unwrap(), text.as_bytes(), &NoteRules::default());
    let chunks = chunk(&note, config, &Tools { token_starts: &words(&note.text), embed: &letters });
    (note, chunks)
}

pub(super) fn texts(path: &str, text: &str, config: &ChunkConfig) -> Vec<String> {
    let (note, chunks) = cut(path, text, config);
    chunks.iter().map(|c| note.text[c.span.clone()].to_owned()).collect()
}

pub(super) fn small(strategy: Strategy) -> ChunkConfig {
    ChunkConfig { strategy, target: 12, min: 5, max: 18, overlap_percent: 0 }
}

pub(super) fn body(n: usize) -> String {
    (0..n).map(|i| format!("w{i}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn small_neighbours_under_one_parent_are_merged() {
    let text = "# A\n\none two\n\n## B\n\nthree\n\n## C\n\nfour\n";
    assert_eq!(texts("n.md", text, &small(Strategy::Obsidian)), [text.trim_end()]);
}

#[test]
fn a_long_line_is_cut_between_words_or_clauses() {
    let of = |text: &str| text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>();
    for (word, mark) in [("Kowalczyk", " "), ("wörterbuch", " "), ("{\"name\":\"x\"}", ","), ("我们明天再去码头", "，")]
    {
        let text = vec![word; 60].join(mark);
        let note = parse(&VaultPath::parse("n.md").unwrap(), text.as_bytes(), &NoteRules::default());
        let pieces: Vec<u32> = text.char_indices().step_by(2).map(|(at, _)| at as u32).collect();
        let chunks = chunk(&note, &small(Strategy::Obsidian), &Tools { token_starts: &pieces, embed: &letters });
        assert!(chunks.len() > 5, "{}", chunks.len());
        for chunk in &chunks {
            let text = &note.text[chunk.span.clone()];
            assert!(of(text).iter().all(|found| found.is_empty() || of(word).contains(found)), "{text}");
        }
    }
}

#[test]
fn sections_of_different_parents_are_not_merged() {
    let text = format!("# A\n\n{}\n\n## B\n\nthree\n\n# C\n\n{}\n\n## D\n\nfive\n", body(10), body(10));
    let chunks = texts("n.md", &text, &small(Strategy::Obsidian));
    assert!(chunks.iter().all(|c| !(c.contains("three") && c.contains("# C"))), "{chunks:?}");
}

#[test]
fn the_markdown_strategy_never_merges_but_headings_without_text() {
    let text = "# A\n\n## B\n\none\n\n## C\n\ntwo\n";
    assert_eq!(texts("n.md", text, &small(Strategy::Markdown)), ["# A\n\n## B\n\none", "## C\n\ntwo"]);
}

#[test]
fn a_daily_note_is_whole_unless_it_is_too_long() {
    let text = format!("## Log\n\n{}\n\n## Ideas\n\n{}\n", body(7), body(7));
    assert_eq!(texts("2026-11-20.md", &text, &small(Strategy::Obsidian)).len(), 1);
    assert_eq!(texts("plan.md", &text, &small(Strategy::Obsidian)).len(), 2);
    let long = format!("## Log\n\n{}\n\n## Ideas\n\n{}\n", body(14), body(14));
    assert_eq!(texts("2026-11-20.md", &long, &small(Strategy::Obsidian)).len(), 2);
}

#[test]
fn blocks_that_fit_are_never_cut() {
    let table = "| a | b |\n|---|---|\n| 1 | 2 |\n";
    let fence = "```\none two three\nfour five\n```\n";
    let text = format!("# A\n\n{}\n\n{table}\n{}\n\n{fence}\n", body(9), body(9));
    let chunks = texts("n.md", &text, &small(Strategy::Obsidian));
    assert!(chunks.len() > 1);
    for block in [table.trim_end(), fence.trim_end()] {
        assert!(chunks.iter().any(|c| c.contains(block)), "{block:?} was cut: {chunks:?}");
    }
}

#[test]
fn a_long_list_is_cut_between_items() {
    let items: String = (0..10).map(|i| format!("- item {i} has words\n")).collect();
    for part in texts("n.md", &items, &small(Strategy::Obsidian)) {
        assert!(part.lines().all(|line| line.starts_with("- item ") && line.ends_with(" has words")), "{part:?}");
    }
}

#[test]
fn a_split_section_overlaps_by_whole_lines() {
    let lines: String = (0..20).map(|i| format!("- line {i} with five words\n")).collect();
    let config = ChunkConfig { overlap_percent: 50, ..small(Strategy::Obsidian) };
    let (note, chunks) = cut("n.md", &lines, &config);
    assert!(chunks.len() > 2);
    for pair in chunks.windows(2) {
        assert!(pair[1].span.start < pair[0].span.end, "no overlap");
        assert!(note.text[pair[1].span.clone()].starts_with("- line"));
    }
}

#[test]
fn ids_do_not_change_with_content() {
    let config = small(Strategy::Obsidian);
    let ids = |text: &str| cut("n.md", text, &config).1.iter().map(|c| c.id).collect::<Vec<_>>();
    let before = ids(&format!("# A\n\n{}\n\n# B\n\n{}\n", body(10), body(10)));
    let after = ids(&format!("# A\n\nother {}\n\n# B\n\n{} more\n", body(10), body(10)));
    assert_eq!(before, after);
    assert_eq!(before.len(), 2);
}

#[test]
fn a_split_paragraph_overlaps_by_whole_sentences() {
    let sentences: Vec<String> = (0..12).map(|n| format!("Sentence {n} has e.g. six words.")).collect();
    // One line, as editors that wrap save it.
    let text = format!("{}\n", sentences.join(" "));
    let config = ChunkConfig { target: 40, min: 5, max: 50, overlap_percent: 50, strategy: Strategy::Obsidian };
    let (note, chunks) = cut("n.md", &text, &config);
    assert!(chunks.len() > 1, "{chunks:?}");
    for pair in chunks.windows(2) {
        assert!(pair[1].span.start < pair[0].span.end, "no overlap");
        assert!(note.text[pair[1].span.clone()].starts_with("Sentence "), "{:?}", &note.text[pair[1].span.clone()]);
    }
}

#[test]
fn an_empty_note_is_one_chunk_without_words() {
    for text in ["", "\n\n", "---\ntitle: T\n---\n", "# Only a heading\n"] {
        let (_, chunks) = cut("n.md", text, &ChunkConfig::default());
        assert_eq!(chunks.len(), 1, "{text:?}");
        assert!(!chunks[0].has_words, "{text:?}");
    }
}

#[test]
fn one_endless_line_is_cut_between_tokens() {
    let (note, chunks) = cut("n.md", &body(1000), &small(Strategy::Obsidian));
    assert!(chunks.iter().all(|c| c.tokens <= 18));
    assert_eq!(chunks.iter().map(|c| note.text[c.span.clone()].split(' ').count()).sum::<usize>(), 1000);
}

#[test]
fn searchable_text_has_no_comments_and_shows_links_as_read() {
    let (note, _) =
        cut("n.md", "see [[Plan#Next|the plan]] %%secret%% and [site](docs/a%20b.md) now\n", &ChunkConfig::default());
    let shown = searchable(&note, &(0..note.text.len()));
    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("the plan (Plan)") && shown.contains("site"), "{shown}");
    assert!(!shown.contains("[["), "{shown}");
    let (note, _) = cut("n.md", "[[alice]][[bob]]%%x%%[c](c.md)s [[d]]s\n", &ChunkConfig::default());
    assert_eq!(searchable(&note, &(0..note.text.len())), "alice bob cs ds\n");
}

#[test]
fn front_matter_that_cannot_be_read_is_found_by_its_words_but_not_embedded() {
    for text in ["---\ntoken: geheim\n\nWords.\n", "+++\ntoken = geheim\n+++\nWords.\n", "---\ntoken: geheim\n"] {
        let (note, chunks) = cut("n.md", text, &ChunkConfig::default());
        let words: String = chunks.iter().map(|chunk| chunk.with_marked_words(&note)).collect();
        let embedded: String = chunks.iter().map(|chunk| chunk.searchable(&note)).collect();
        assert!(words.contains("geheim"), "{text}");
        assert_eq!(embedded.trim_matches(['+', '\n']), if text.contains("Words") { "Words." } else { "" }, "{text}");
    }
}

#[test]
fn words_with_marks_within_them_are_found_as_they_are_read() {
    let text = "Stra&szlig;e in K&ouml;ln, un**believ**able *plain* a_b_c AT&T\n";
    let (note, chunks) = cut("n.md", text, &ChunkConfig::default());
    assert_eq!(chunks[0].with_marked_words(&note), format!("{}\nStraße Köln, unbelievable", text.trim_end()));
    for (path, text) in [("n.md", "*all* **plain**"), ("n.org", "K&ouml;ln")] {
        let (note, chunks) = cut(path, text, &ChunkConfig::default());
        assert_eq!(chunks[0].with_marked_words(&note), text, "{path}");
    }
}

#[test]
fn a_sentence_has_its_words_in_a_row_as_they_are_read() {
    let text = "The [[Speed|quick]]<br>brown[^n] fox, <mark class=\"x\">jum</mark>ps %%never%% <!-- no -->over <img \
                src=\"data:image/png;base64,iVBORw0KGgo=\">it. [<b>site</b>](a.md) [[Dog|<i>dog</i>]]\n\n[^n]: Red.";
    let read = "The quick brown fox, jumps  over it. site <i>dog</i>\n\n[^n]: Red.";
    let between = "Speed\n<br>\n[^n]\n<mark class=\"x\">\n</mark>\n<img src=\"data:\">\nDog";
    let (note, chunks) = cut("n.md", text, &ChunkConfig::default());
    assert_eq!(chunks[0].with_marked_words(&note), format!("{read}\n{between}"));
    let (note, chunks) = cut("n.txt", "a[^1] <b>c</b>", &ChunkConfig::default());
    assert_eq!(chunks[0].with_marked_words(&note), "a[^1] <b>c</b>");
}

#[test]
fn visible_text_has_no_comments_and_all_lines() {
    let text = "one %%a%% two\n<!-- b\r\nc --> three\n%%\nd\n%%\nfour\n";
    let (note, _) = cut("n.md", text, &ChunkConfig::default());
    let whole = visible(&note, &(0..text.len()));
    assert_eq!(whole, "one  two\n\r\n three\n\n\n\nfour\n");
    assert_eq!(whole.lines().count(), text.lines().count());
    // Any cut of it shows the same, also within a comment.
    for at in 0..=text.len() {
        let parts = [visible(&note, &(0..at)), visible(&note, &(at..text.len()))].concat();
        assert_eq!(parts, whole, "cut at {at}");
    }
    assert!(matches!(visible(&note, &(0..3)), Cow::Borrowed("one")));
}

#[test]
fn a_comment_that_is_never_closed_is_not_seen() {
    let seen = |text: &str| seen(&cut("n.md", text, &ChunkConfig::default()).0).into_owned();
    assert_eq!(seen("one\n\n<!-- two\n\nthree %%a%%\n"), "one\n\n\n\n\n");
    assert_eq!(seen("one %%a%%\n\n> <!-- two\n\nthree\n"), "one \n\n> \n\nthree\n", "it ends with its block");
    for text in ["Write `<!--` to begin\n\none\n", "a <!-- b\n\nc\n", "```html\n<!-- x -->\n<!--\n```\n\none\n"] {
        assert_eq!(seen(text), text);
    }
}

pub(super) fn markdown() -> impl proptest::strategy::Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zé日]{1,8}( [a-zé日]{1,8}){0,12}\n\n",
        "#{1,4} [A-Z][a-z]{1,6}\n\n",
        "(- [a-z ]{1,20}\n){1,8}\n",
        "```\n([a-z ]{1,20}\n){1,6}```\n\n",
        "> [a-z ]{1,30}\n\n",
        "\\| a \\| b \\|\n\\|---\\|---\\|\n(\\| [a-z]{1,5} \\| [a-z]{1,5} \\|\n){1,6}\n",
        "%%[a-z ]{1,10}%%\n\n",
        "[^\0]{0,20}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunks_cover_every_word_once_in_order_and_within_limits(text in markdown(), obsidian: bool) {
        let strategy = if obsidian { Strategy::Obsidian } else { Strategy::Markdown };
        let config = ChunkConfig { target: 20, min: 6, max: 30, overlap_percent: 0, strategy };
        let (note, chunks) = cut("n.md", &text, &config);
        prop_assert!(!chunks.is_empty());
        let mut at = note.body;
        for c in &chunks {
            prop_assert!(c.span.start >= at && c.span.end >= c.span.start);
            prop_assert!(note.text[at..c.span.start].trim().is_empty(), "lost {:?}", &note.text[at..c.span.start]);
            if c.lead.is_none() {
                prop_assert_eq!(c.hash, text_hash(note.text[c.span.clone()].as_bytes()));
            }
            prop_assert_eq!(c.keys.len(), c.sections.len());
            prop_assert!(c.tokens <= config.max, "{} tokens", c.tokens);
            at = c.span.end;
        }
        prop_assert!(note.text[at..].trim().is_empty(), "lost {:?}", &note.text[at..]);
        let ids: std::collections::HashSet<_> = chunks.iter().map(|c| c.id).collect();
        prop_assert_eq!(ids.len(), chunks.len());
    }

    #[test]
    fn overlap_and_fixed_windows_stay_within_the_note(text in markdown(), fixed: bool) {
        let strategy = if fixed { Strategy::Fixed } else { Strategy::Obsidian };
        let config = ChunkConfig { target: 10, min: 3, max: 14, overlap_percent: 30, strategy };
        let (note, chunks) = cut("n.md", &text, &config);
        let ids: std::collections::HashSet<_> = chunks.iter().map(|c| c.id).collect();
        prop_assert_eq!(ids.len(), chunks.len());
        for c in &chunks {
            prop_assert!(note.text.get(c.span.clone()).is_some());
            let _ = searchable(&note, &c.span);
            let ends = |text: &str| text.matches('\n').count();
            prop_assert_eq!(ends(&visible(&note, &c.span)), ends(&note.text[c.span.clone()]));
        }
    }
}

#[test]
fn a_picture_in_an_address_takes_no_room() {
    let held = "iVBORw0KGgo+/A9".repeat(5_000);
    let text = format!("# Trip\n\nWe saw an okapi.\n\n![p](data:image/png;base64,{held})\n\nThen a bongo.\n");
    let (note, chunks) = cut("Trip.md", &text, &ChunkConfig::default());
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].searchable(&note), "# Trip\n\nWe saw an okapi.\n\np\n\nThen a bongo.");
    assert!(chunks[0].tokens < 50, "{}", chunks[0].tokens);
}
