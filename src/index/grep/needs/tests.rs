use proptest::prelude::*;

use super::Needs;
use crate::grep::signature::Signature;
use crate::grep::{Case, Pattern, Rules};

/// A formula as a reader would write it.
fn written(needs: &Needs) -> String {
    let several = |several: &[Needs], with: &str| several.iter().map(written).collect::<Vec<_>>().join(with);
    match needs {
        Needs::Trigram(trigram) => String::from_utf8_lossy(&trigram.to_be_bytes()[1..]).into_owned(),
        Needs::All(all) => several(all, " "),
        Needs::Any(any) if any.len() == 1 => written(&any[0]),
        Needs::Any(any) => format!("({})", several(any, "|")),
    }
}

#[test]
fn a_pattern_needs_the_trigrams_of_what_it_matches() {
    for (pattern, needs) in [
        ("hello", "ell hel llo"),
        ("HELLO", "ell hel llo"),
        ("hello|world", "ell hel llo orl rld wor"),
        ("foo.*bar", "bar foo"),
        ("fo+bar", "bar"),
        ("(foo)+bar", "bar foo"),
        ("(foo)?bar", "bar foo oob oba"),
        ("a[bc]d", "abd acd"),
        (r"\d{4}-\d{2}", ""),
        ("ab", ""),
        ("abc|d", ""),
        (".*", ""),
        (r"\bword\b", "ord wor"),
        ("^# heading", "ead ing"),
        ("(unclosed", ""),
    ] {
        let got = written(&Needs::of_pattern(pattern));
        let expected: Vec<&str> = needs.split_whitespace().collect();
        for part in &expected {
            assert!(got.contains(part), "{pattern}: {part} is not in {got}");
        }
        assert_eq!(got.is_empty(), needs.is_empty(), "{pattern}: {got}");
    }
    assert_eq!(written(&Needs::of_text("a.c")), "a.c");
}

#[test]
fn a_signature_keeps_out_what_cannot_match() {
    let signature = Signature::of("The quick brown fox jumps over the lazy dog.");
    let may = |pattern: &str| Pattern::new(pattern, Rules::default()).unwrap().may_match(&signature);
    for pattern in ["quick", "QUICK", "qu.ck b", "fox|wolf", "(?i)LAZY dog", ".", "x", "do[gt]"] {
        assert!(may(pattern), "{pattern}");
    }
    for pattern in ["slow", "wolf|bear", "quick.*wolf", "do[nt]t", "catapult"] {
        assert!(!may(pattern), "{pattern}");
    }
}

#[test]
fn a_signature_lets_through_a_text_with_letters_in_another_case() {
    let signature = Signature::of("Der Ärger war groß.\nThe ÉCOLE closed.");
    for case in [Case::Smart, Case::Insensitive] {
        let may = |pattern: &str| {
            Pattern::new(pattern, Rules { case, fixed: true, ..Rules::default() }).unwrap().may_match(&signature)
        };
        assert!(may("ärger") && may("école") && may("nowhere\nder ärger"), "{case:?}");
        assert!(!may("catapult"), "{case:?}");
    }
}

/// Patterns of which many match in texts of few letters.
fn pattern() -> impl Strategy<Value = String> {
    let leaf =
        prop_oneof!["[abK ]{1,4}", "\\[abs\\]", Just(".".to_owned()), Just("\\w".to_owned()), Just("\\b".to_owned())];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
            (inner, prop_oneof![Just("?"), Just("*"), Just("+"), Just("{2}"), Just("{0,2}"), Just("{1,3}")])
                .prop_map(|(part, times)| format!("({part}){times}")),
        ]
    })
}

proptest! {
    /// No text that matches is kept out.
    #[test]
    fn whatever_matches_is_let_through(pattern in pattern(), text in "[abskABSK\u{212a}\u{17f} \n]{0,40}", fold: bool) {
        let case = if fold { Case::Insensitive } else { Case::Smart };
        let pattern = Pattern::new(&pattern, Rules { case, ..Rules::default() }).unwrap();
        let mut matches = false;
        let searched = pattern.search(&text, &|| true, &mut |_| { matches = true; false });
        prop_assert_eq!(searched, Ok(()));
        prop_assert!(!matches || pattern.may_match(&Signature::of(&text)));
    }
}
