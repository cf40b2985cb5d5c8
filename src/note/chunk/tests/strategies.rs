//! Sentences, subjects, kinds of notes, and what holds for every strategy and any text.

use std::collections::HashSet;

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::super::Strategy;
use super::super::*;
use super::{body, cut, markdown, small, texts};

fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut at = 0;
    for end in sentence::ends(text, &(0..text.len())).into_iter().chain([text.len()]) {
        sentences.push(text[at..end].trim_end());
        at = end;
    }
    sentences
}

#[test]
fn sentences_end_where_a_reader_would_end_them() {
    for (text, expected) in [
        ("One. Two! Three? Four… Five", &["One.", "Two!", "Three?", "Four…", "Five"][..]),
        (
            "He said \"no.\" (Then he left.) **Why?** She knew.",
            &["He said \"no.\"", "(Then he left.)", "**Why?**", "She knew."],
        ),
        ("See Dr. Smith, e.g. J. R. Smith et al. Later.", &["See Dr. Smith, e.g. J. R. Smith et al. Later."]),
        (
            "Das ist z. B. gut, bzw. besser. Der Weg ist ca. 3 km.",
            &["Das ist z. B. gut, bzw. besser.", "Der Weg ist ca. 3 km."],
        ),
        (
            "Version 1.2.3 of a.b.c is out. See example.org/x.y now.",
            &["Version 1.2.3 of a.b.c is out.", "See example.org/x.y now."],
        ),
        ("12. An item. Another.", &["12. An item.", "Another."]),
        ("It was 1990. Then it ended.", &["It was 1990.", "Then it ended."]),
        ("A line that\ngoes on. And\nends.", &["A line that\ngoes on.", "And\nends."]),
        ("今日は晴れ。明日は「雨。」明後日？", &["今日は晴れ。", "明日は「雨。」", "明後日？"]),
        ("यह एक वाक्य है। यह दूसरा है।", &["यह एक वाक्य है।", "यह दूसरा है।"]),
        ("هل هذا؟ نعم.", &["هل هذا؟", "نعم."]),
        ("Wait... what? so it is... Yes.", &["Wait... what?", "so it is...", "Yes."]),
        ("", &[""]),
        ("  ", &[""]),
    ] {
        assert_eq!(sentences(text), expected, "{text:?}");
    }
}

#[test]
fn sentences_are_packed_up_to_the_target_and_overlap_whole() {
    let text: String = (0..12).map(|i| format!("This is sentence number {i}. ")).collect();
    let config = ChunkConfig { overlap_percent: 50, ..small(Strategy::Sentence) };
    let chunks = texts("n.md", &text, &config);
    assert_eq!(chunks[0], "This is sentence number 0. This is sentence number 1.");
    assert_eq!(chunks[1], "This is sentence number 1. This is sentence number 2. This is sentence number 3.");
    assert!(chunks.iter().all(|chunk| chunk.starts_with("This") && chunk.ends_with('.')), "{chunks:?}");
}

#[test]
fn a_heading_stays_with_its_text_and_begins_a_chunk_of_sentences() {
    let text = format!("# A\n\n{}.\n\n## B\n\n{}. Other words.\n\n## C\n\nfew\n", body(9), body(6));
    assert_eq!(
        texts("n.md", &text, &small(Strategy::Sentence)),
        [format!("# A\n\n{}.", body(9)), format!("## B\n\n{}. Other words.\n\n## C\n\nfew", body(6))]
    );
}

#[test]
fn a_section_is_cut_where_its_subject_changes() {
    let (cats, dogs) = ("Aabb aab abab bbaa abba a b ab baa b! ", "Yyzz zyzy yzyz zzyy yzzy y z yz zyy z! ");
    for (before, after) in [(3, 5), (4, 4), (5, 3)] {
        let text = format!("{}{}", cats.repeat(before), dogs.repeat(after));
        let config = ChunkConfig { target: 40, min: 20, max: 60, ..small(Strategy::Semantic) };
        let chunks = texts("n.md", &text, &config);
        assert_eq!(chunks, [cats.repeat(before).trim_end(), dogs.repeat(after).trim_end()]);
    }
}

#[test]
fn sections_up_to_the_target_are_not_looked_into() {
    let text = format!("# A\n\n{}\n\n# B\n\n{}\n", body(10), body(30));
    let (note, chunks) = cut("n.md", &text, &small(Strategy::Semantic));
    assert_eq!(note.text[chunks[0].span.clone()], *text.split("\n\n# B").next().unwrap_or_default());
    assert!(chunks.len() > 2);
}

#[test]
fn kinds_of_notes_are_cut_as_their_tables_say() {
    let mut rules = ChunkRules::default();
    assert_eq!(rules.identity(), "obsidian/2 500 100 800 15", "or every vault would be embedded anew");
    let own = ChunkConfig::of(Strategy::Sentence);
    rules.types.insert("Meeting".to_owned(), own);
    assert_eq!(rules.of(Some("meeting")), &own);
    assert_eq!((rules.of(Some("daily")), rules.of(None)), (&rules.plain, &rules.plain));
    let identity = rules.identity();
    assert!(identity.starts_with("obsidian/2 500 100 800 15, \"Meeting\" sentence/1 "), "{identity}");
    rules.types.insert("a\" b".to_owned(), own);
    assert_ne!(rules.identity(), identity);
    let identities: HashSet<String> = Strategy::ALL.iter().map(|s| ChunkConfig::of(*s).identity()).collect();
    assert_eq!(identities.len(), 5);
}

fn any_config() -> impl proptest::strategy::Strategy<Value = ChunkConfig> {
    let strategy = proptest::sample::select(Strategy::ALL);
    (strategy, 0u32..30, 0u32..30, 0u32..30, 0u32..=50).prop_map(|(strategy, min, more, most, overlap_percent)| {
        ChunkConfig { strategy, min, target: min + more, max: min + more + most, overlap_percent }
    })
}

proptest! {
    #[test]
    fn whatever_the_strategy_no_word_is_lost(text in markdown(), config in any_config(), daily: bool) {
        let path = if daily { "2026-11-20.md" } else { "n.md" };
        let (note, chunks) = cut(path, &text, &config);
        prop_assert_eq!(&chunks, &cut(path, &text, &config).1);
        let mut covered = note.body;
        let mut start = note.body;
        for c in &chunks {
            prop_assert!(note.text.get(c.span.clone()).is_some(), "{:?} is not on characters", c.span);
            prop_assert!(c.span.start >= start, "out of order");
            start = c.span.start;
            if c.span.start > covered {
                prop_assert!(note.text[covered..c.span.start].trim().is_empty(), "lost {:?}", &note.text[covered..c.span.start]);
            }
            covered = covered.max(c.span.end);
            // Each unit is cut to `max`; what is repeated before it comes on top.
            let most = config.max.max(1).max(config.target) + config.target * config.overlap_percent / 100;
            prop_assert!(c.tokens <= most, "{} tokens, {:?}", c.tokens, config);
            prop_assert_eq!(c.keys.len(), c.sections.len());
            prop_assert!(!c.keys.is_empty());
            if let Some(lead) = &c.lead {
                prop_assert!(lead.end <= c.span.start && !note.text[lead.clone()].trim().is_empty());
            }
            let shown = c.searchable(&note);
            prop_assert!(shown.ends_with(&searchable(&note, &c.span)));
        }
        prop_assert!(note.text[covered..].trim().is_empty(), "lost {:?}", &note.text[covered..]);
        let ids: HashSet<_> = chunks.iter().map(|c| c.id).collect();
        prop_assert_eq!(ids.len(), chunks.len());
    }

    #[test]
    fn ends_of_sentences_rise_within_the_text(text in "([a-zA-Z0-9]{0,3}|[.!?…。！？ \n\")*]| Dr\\.|日本|é){0,40}", skip in 0usize..9) {
        let start = text.floor_char_boundary(skip.min(text.len()));
        let mut before = start;
        for end in sentence::ends(&text, &(start..text.len())) {
            prop_assert!(end > before && end < text.len() && text.is_char_boundary(end));
            before = end;
        }
    }
}
