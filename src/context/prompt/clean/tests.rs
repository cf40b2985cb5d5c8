use proptest::prelude::*;

use super::*;

#[test]
fn markup_goes_and_words_stay() {
    let cases = [
        ("Plain words, 5 * 3 of them.", "Plain words, 5 * 3 of them."),
        ("  two\n\n lines\t", "two lines"),
        ("\"The Atlas rollout.\"", "The Atlas rollout."),
        ("„Die Einführung.“", "Die Einführung."),
        ("\"Atlas\" and \"Vega\"", "\"Atlas\" and \"Vega\""),
        ("**Atlas** is *late*, `v2` ~~not~~ ==yes==", "Atlas is late, v2 not yes"),
        ("_Atlas_ in snake_case and __x__", "Atlas in snake_case and x"),
        ("## Heading\n- one\n- two", "Heading one two"),
        ("1. FC Köln in 2024", "1. FC Köln in 2024"),
        ("See [the plan](https://example.org/a_b) and ![x](y.png).", "See the plan and x."),
        ("[[Mira Chen|Mira]] of [[Northwind]]", "Mira of Northwind"),
        ("At https://example.org/x?y=1, (www.example.org) it ends.", "At it ends."),
        ("<https://example.org>", ""),
        ("ht**tps://example.org** gone", "gone"),
        ("Caption: The Atlas rollout", "The Atlas rollout"),
        ("**Caption:** \"The Atlas rollout\"", "The Atlas rollout"),
        ("Budget: 40 people", "Budget: 40 people"),
        ("```\nThe Atlas rollout\n```", "The Atlas rollout"),
        ("⟦3⟧ The Atlas rollout ⟦/3⟧", "The Atlas rollout"),
        ("a\u{202e}b\u{200f}c\u{ad}d", "abcd"),
        ("a\u{1b}[31mb", "a\u{fffd}[31mb"),
        ("a\u{fffd}b\0", "a\u{fffd}b\u{fffd}"),
        ("<b>left for the gate</b>", "<b>left for the gate</b>"),
        ("C# and F# 7", "C# and F# 7"),
        ("Teil » eins « zwei", "Teil » eins « zwei"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(clean(text, 300), expected, "{text:?}");
    }
}

#[test]
fn floods_are_capped() {
    assert_eq!(clean(&"word ".repeat(1_000_000), 5), "word word word word word");
    assert_eq!(clean(&"日".repeat(1_000_000), 5).chars().count(), 50);
    for hostile in ["[", "[[", "](", "![", "*", "`", "⟦", "http://", "[a](", "\"", "> ", "```\n"] {
        assert!(clean(&hostile.repeat(200_000), 300).chars().count() <= 3_000);
    }
}

proptest! {
    #[test]
    fn cleaning_again_changes_nothing(text in "([a-z]{1,5}|[ \n]|\\[\\[?|\\]\\]?|\\(|\\)|\\||\\*\\*?|_|`{1,3}|~~|==|#|>|-|\"|https://|www\\.|Caption:|⟦1⟧|\u{202e}|\u{7}|é|日){0,40}") {
        let once = clean(&text, 60);
        prop_assert_eq!(&clean(&once, 60), &once);
        let gone = ["https://", "\n", "\u{202e}", "⟦1⟧"];
        prop_assert!(gone.iter().all(|gone| !once.contains(gone)), "{:?}", once);
        prop_assert!(once.split_whitespace().count() <= 60);
    }

    #[test]
    fn any_text(text in any::<String>(), most in 0usize..400) {
        let once = clean(&text, most);
        prop_assert!(once.chars().all(|c| !c.is_control()));
        prop_assert_eq!(&clean(&once, most), &once);
    }
}
