use super::*;
use proptest::prelude::*;

#[test]
fn json_stays_the_same_value() {
    let wild = "a\u{9b}31m\u{202e}\u{200b}\u{7f}\u{e0041}\u{2028}\u{85}\u{1b}\n\u{200d}ü";
    let json = serde_json::to_string(wild).unwrap();
    let shown = printable_json(&json);
    assert!(shown.chars().all(|c| !is_hidden(c) && !is_space(c)), "{shown}");
    assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), wild);
    assert!(matches!(printable_json("{\"a\": \"ü\"}\n"), Cow::Borrowed(_)));
}

#[test]
fn table() {
    let cases = [
        ("plain", "plain"),
        ("Grüße, 日本語, хай", "Grüße, 日本語, хай"),
        ("a\tb\nc\r\nd\re", "a b c d e"),
        ("\u{1B}[31mred\u{1B}[0m", "red"),
        ("\u{1B}[2J\u{1B}[Hgone", "gone"),
        ("\u{1B}]0;title\u{7}text", "text"),
        ("\u{1B}]8;;http://evil\u{1B}\\link\u{1B}]8;;\u{1B}\\", "link"),
        ("\u{1B}]52;c;aGk=\u{9C}x", "x"),
        ("\u{1B}]0;never ends", "]0;never ends"),
        ("\u{1B}P1$r0m\u{1B}\\x", "x"),
        ("\u{9B}31mred", "red"),
        ("\u{1B}(Bx", "x"),
        ("\u{1B}cx", "cx"),
        ("\u{1B}word", "word"),
        ("a\u{1B}", "a"),
        ("a\0b\u{7}c\u{7F}d\u{9F}e", "abcde"),
        ("user\u{202E}fdp.exe", "userfdp.exe"),
        ("a\u{200B}b\u{FEFF}c\u{2066}d", "abcd"),
        ("\u{E0041}\u{E0042}x", "x"),
        ("a\u{200D}b", "ab"),
        ("👩\u{200D}💻", "👩\u{200D}💻"),
        ("می\u{200C}خواهم", "می\u{200C}خواهم"),
    ];
    for (text, want) in cases {
        assert_eq!(printable(text), want, "{text:?}");
    }
    assert_eq!(printable_lines("a\r\n\tb\u{1B}[1m\rc"), "a\n\tb c");
    assert_eq!(printable_lines("a\u{2028}b\u{2029}c\u{85}d\re\n"), "a b c d e\n", "lines keep their numbers");
    assert!(matches!(printable("as it is"), Cow::Borrowed(_)));
}

fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        "[\\x00-\\x1F\\x7F-\\x9F]{1,3}",
        "[\\u{200B}-\\u{200F}\\u{202A}-\\u{202E}\\u{2066}-\\u{2069}]{1,3}",
        "\\x1B[\\[\\]P(c][0-9;]{0,3}[a-z\\x07\n]?",
        "[a-zé👩می]{1,3}",
    ];
    proptest::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_forbidden_comes_out(text in nasty()) {
        let line = printable(&text);
        prop_assert!(!line.chars().any(|c| c.is_control() || is_hidden(c) || is_space(c)), "{:?}", line);
        let lines = printable_lines(&text);
        let bad = |c: char| is_hidden(c) || (is_space(c) && c != '\n' && c != '\t');
        prop_assert!(!lines.chars().any(bad), "{:?}", lines);
    }

    #[test]
    fn joiners_only_between_letters(text in nasty()) {
        let chars: Vec<char> = printable(&text).chars().collect();
        for (i, c) in chars.iter().enumerate() {
            if is_joiner(*c) {
                prop_assert!(i > 0 && !chars[i - 1].is_ascii() && chars.get(i + 1).is_some_and(|c| !c.is_ascii()));
            }
        }
    }

    #[test]
    fn idempotent(text in nasty()) {
        let once = printable(&text).into_owned();
        prop_assert_eq!(printable(&once), once.as_str());
        let once = printable_lines(&text).into_owned();
        prop_assert_eq!(printable_lines(&once), once.as_str());
    }

    #[test]
    fn visible_text_is_left_alone(text in "[a-zA-Z0-9 .,;:äöüßéñ日本語привет<>\\[\\]{}*_#`~-]{0,60}") {
        prop_assert_eq!(printable(&text), text.as_str());
    }
}
