use super::*;
use proptest::prelude::*;

/// Letters of few kinds, so that words are near to each other.
fn word() -> impl Strategy<Value = String> {
    "[abceéжз]{0,12}"
}

proptest! {
    #[test]
    fn what_is_near_is_never_passed_over(words in proptest::collection::btree_set(word(), 0..200), asked in word()) {
        let (letters, lengths) = words.iter().map(|word| Outline::of(word)).map(|o| (o.letters, o.length)).unzip();
        let outlines = Outlines { letters, lengths };
        for slips in 1..=2u8 {
            let near = outlines.near(&asked, slips);
            prop_assert!(near.is_sorted());
            for (place, word) in (0..).zip(&words) {
                let differs = strsim::osa_distance(&asked, word) > usize::from(slips);
                prop_assert!(differs || near.contains(&place), "{asked} {word} {slips}");
            }
        }
    }
}

#[test]
fn most_words_are_passed_over() {
    let near = |word: &str, other: &str| {
        let other = Outline::of(other);
        Outline::of(word).is_near(other.letters, other.length, 1)
    };
    assert!(near("calendar", "calender") && near("calendar", "claendar") && near("calendar", "alendar"));
    assert!(!near("calendar", "colonies") && !near("calendar", "calendars2") && !near("aaa", "abb"));
}
