use super::*;
use proptest::prelude::*;

fn names(text: &str) -> Vec<NoteNo> {
    let known = [
        ("lr agent", 1),
        ("agent", 2),
        ("status", 3),
        ("lr-agent-notes", 4),
        ("c++", 5),
        ("index", 6),
        ("計画", 7),
        ("ab", 8),
        ("two words", 9),
    ];
    let bearing = |name: &str| {
        let name = name.to_lowercase();
        let bearers = known.iter().filter(|(known, _)| *known == name).map(|(_, no)| *no);
        bearers.flat_map(|no| if no == 6 { (60..70).collect() } else { vec![no] }).collect()
    };
    let mut named: Vec<NoteNo> = named(text, bearing, |_| Vec::new()).into_iter().map(|(no, _)| no).collect();
    named.sort_unstable();
    named
}

#[test]
fn a_query_names_notes_by_the_beginning_of_their_names() {
    let known = [("lr home", 1), ("lr agent plan", 2), ("query understanding", 3), ("how to bake", 4)];
    let bearing = |name: &str| {
        known.iter().filter(|(known, _)| *known == name.to_lowercase()).map(|(_, no)| *no).collect::<Vec<NoteNo>>()
    };
    let beginning = |word: &str| {
        let begins = |known: &str| known.starts_with(&format!("{} ", word.to_lowercase()));
        known.iter().filter(|(known, _)| begins(known)).map(|(name, no)| (*no, (*name).into())).collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("What is the status of Lr?", &[(1, PARTLY), (2, PARTLY)][..]),
        ("status of Lr Agent", &[(2, PARTLY)]),
        ("Lr Home and lr agent", &[(1, 1.0), (2, PARTLY)]),
        ("how do I bake", &[]),
        ("how to", &[(4, PARTLY)]),
        ("understanding", &[]),
    ] {
        let mut named = named(text, bearing, beginning);
        named.sort_by_key(|(no, _)| *no);
        assert_eq!(named, expected, "{text}");
    }
}

#[test]
fn a_query_names_notes() {
    for (text, expected) in [
        ("What is the status of Lr Agent?", &[1, 3][..]),
        ("the agent", &[2]),
        ("lr-agent", &[1]),
        ("Lr Agent's plans", &[1]),
        ("(lr agent notes)", &[4]),
        ("C++", &[5]),
        ("index", &[]),
        ("計画", &[7]),
        ("ab", &[]),
        ("“Two  Words”", &[9]),
        ("two other words", &[]),
        ("", &[]),
        ("?! - ...", &[]),
    ] {
        assert_eq!(names(text), expected, "{text}");
    }
}

#[test]
fn a_flood_of_words_is_bounded() {
    let asked = std::cell::Cell::new(0);
    let count = || asked.set(asked.get() + 1);
    let bearing = |_: &str| {
        count();
        Vec::new()
    };
    let beginning = |_: &str| {
        count();
        Vec::new()
    };
    named(&"word ".repeat(100_000), bearing, beginning);
    assert!(asked.get() <= QUERY_WORDS * NAME_WORDS * 4, "{}", asked.get());
}

proptest! {
    #[test]
    fn boosts_are_bounded_and_keep_the_order(a in 0f32..=1.0, b in 0f32..=1.0, x in 0f32..9.0, y in 0f32..9.0) {
        let boosts = |links| sum(Boosted { links, ..Boosted::default() });
        let (low, high) = (a.min(b), a.max(b));
        let score = boosted(low, boosts(x));
        prop_assert!(score >= low - 1e-6 && score <= 1.0 && score <= low * (1.0 + MOST) + 1e-5, "{}", score);
        prop_assert!(boosted(high, boosts(x)) >= score);
        prop_assert!(boosted(low, boosts(x.max(y))) >= score);
    }

    #[test]
    fn any_text_names_something_or_nothing(text in any::<String>()) {
        let some = |name: &str| if name.len().is_multiple_of(3) { vec![1] } else { Vec::new() };
        named(&text, some, |word| some(word).into_iter().map(|no| (no, word.into())).collect());
    }
}
