//! Queries that name a time.

use super::*;

/// Daily notes, which do not say when they are, and a note that has the words of the queries.
fn diary() -> Vault {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open(dir.path(), builtin::DIMENSIONS).unwrap();
    put(
        &mut index,
        1,
        "Weekly review.md",
        &[],
        Some(date(2026, 9, 1)),
        &[],
        &["What I did last week, yesterday: a list.\n"],
    );
    for (no, day, text) in [
        (2, date(2026, 11, 19), "Bought bread; 東京都庁へ行きました。\n"),
        (3, date(2026, 11, 9), "The dentist has time in spring.\n"),
        (4, date(2026, 11, 12), "Rain; the roof leaks.\n"),
        (5, date(2026, 10, 3), "Soup with friends.\n"),
    ] {
        put(&mut index, no, &format!("Daily/{day}.md"), &[], Some(day), &[], &[text]);
    }
    Vault { snapshot: index.publish(1).unwrap(), _dir: dir }
}

fn asked_in(vault: &Vault, words: &str) -> Answer {
    let mut parsed = parse(words, TODAY).unwrap();
    let time = asked(&parsed.words, TODAY).unwrap();
    parsed.read_time(&time.words);
    let boosts = Boosts { asked: Some(time.when), today: Some(TODAY), ..Boosts::default() };
    let vector = builtin::model().embed(&parsed.text());
    let options = Options { boosts, ..Options::default() };
    search(&vault.snapshot, "v", &parsed, Some(&vector), &options).unwrap()
}

#[test]
fn a_query_of_a_time_alone_finds_its_notes_the_newest_first() {
    let vault = diary();
    for (query, expected) in [
        ("yesterday", &["Daily/2026-11-19.md"][..]),
        ("what did I do yesterday?", &["Daily/2026-11-19.md"]),
        ("2026-11-19", &["Daily/2026-11-19.md"]),
        ("am 19.11.2026", &["Daily/2026-11-19.md"]),
        ("last week", &["Daily/2026-11-12.md", "Daily/2026-11-09.md"]),
        ("2026-11-05 - 2026-11-12", &["Daily/2026-11-12.md", "Daily/2026-11-09.md"]),
        ("what happened last week", &["Daily/2026-11-12.md", "Daily/2026-11-09.md"]),
        ("上个月", &["Daily/2026-10-03.md"]),
        ("в прошлом месяце", &["Daily/2026-10-03.md"]),
    ] {
        let answer = asked_in(&vault, query);
        assert_eq!(paths(&answer)[..expected.len()], *expected, "{query}");
        assert_eq!(answer.warnings, Vec::<String>::new(), "{query}");
        assert!(answer.hits.is_sorted_by(|a, b| a.score >= b.score), "{query}");
    }
    // A number may be meant as it is.
    let mut number = parse("2026", TODAY).unwrap();
    number.read_time("2026");
    assert!(!number.asks_time_alone());
    // A condition holds.
    assert_eq!(paths(&asked_in(&vault, "last week path:Daily/2026-11-09.md")), ["Daily/2026-11-09.md"]);
}

#[test]
fn words_of_a_time_are_no_slips() {
    let vault = diary();
    let answer = asked_in(&vault, "soup il y a deux semaines");
    assert!(!answer.warnings.iter().any(|warning| warning.contains("is nowhere")), "{:?}", answer.warnings);
}
