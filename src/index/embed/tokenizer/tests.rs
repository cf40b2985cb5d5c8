use std::collections::HashMap;

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::*;

const VOCAB: &str = "[UNK]\n!\n\"\n#\n'\n,\n.\n-\na\nb\nab\nabc\ncafe\nun\n##a\n##b\n##c\n##bc\n##able\naff\n##ord\n日\n本\n“\n##ς\n##σ\nσ\nα\n1\n##1\n;\n##;\nno\n##de\nstraße\n##é\nй\nи\n가\nᄀ\n##ᅡ\n##.\n##\n豈";

fn tokenizer() -> Tokenizer<'static> {
    Tokenizer::new(VOCAB.as_bytes()).expect("a good vocabulary")
}

fn ids(tokenizer: &Tokenizer<'_>, text: &str) -> Vec<u16> {
    let mut ids: Vec<u16> = Vec::new();
    tokenizer.run(text, None, &mut ids);
    ids
}

fn pieces(text: &str) -> Vec<&'static str> {
    let vocab: Vec<&'static str> = VOCAB.split('\n').collect();
    ids(&tokenizer(), text).into_iter().map(|id| vocab[usize::from(id)]).collect()
}

#[test]
fn cuts_words_and_pieces() {
    let long = "a".repeat(100);
    let mut covered = vec!["a"];
    covered.extend(vec!["##a"; 99]);
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        (" \t\r\n", &[]),
        ("abc AB ABC", &["abc", "ab", "abc"]),
        ("abbc", &["ab", "##bc"]),
        ("unaffordable", &["[UNK]"]),
        ("affordable", &["aff", "##ord", "##able"]),
        ("abz", &["[UNK]"]),
        ("a'b.", &["a", "'", "b", "."]),
        ("##", &["#", "#"]),
        ("a\u{0}b\u{1b}c", &["abc"]),
        ("a\u{b}b\u{200b}c\u{feff}", &["abc"]),
        ("a\u{fffd}b", &["ab"]),
        ("Café cafe\u{301} CAFÉ", &["cafe", "cafe", "cafe"]),
        ("日本a", &["日", "本", "a"]),
        ("a日b", &["a", "日", "b"]),
        ("“a”", &["“", "a", "[UNK]"]),
        ("a\u{a0}b\u{2028}b\u{3000}a", &["a", "b", "b", "a"]),
        ("ΑΣ ΣΑΣ σ", &["α", "##ς", "[UNK]", "σ"]),
        ("a\u{37e}b", &["a", ";", "b"]),
        ("Й", &["и"]),
        ("가", &["ᄀ", "##ᅡ"]),
        ("\u{f900}", &["豈"]),
        ("😀 a😀", &["[UNK]", "[UNK]"]),
        (&long, &covered),
    ];
    for (text, expected) in cases {
        assert_eq!(pieces(text), *expected, "{text:?}");
    }
    assert_eq!(pieces(&"a".repeat(101)), ["[UNK]"]);
    assert_eq!(pieces(&"é".repeat(101)), ["[UNK]"]);
    assert_eq!(pieces(&format!("{}\u{301}", "a".repeat(100))).len(), 100, "marks do not count");
}

#[test]
fn starts_point_into_the_text() {
    let starts = |text: &str| {
        let mut starts: Vec<u32> = Vec::new();
        tokenizer().run(text, None, &mut starts);
        starts
    };
    assert_eq!(starts("  abbc, ab"), [2, 4, 6, 8]);
    assert_eq!(starts("Ca\u{301}fé a"), [0, 8]);
    assert_eq!(starts("é 日本 ab"), [0, 3, 6, 10]);
    assert_eq!(starts("ab\u{200b}bc"), [0, 5]);
    assert_eq!(starts("zz é"), [0, 3]);
}

#[test]
fn bad_vocabularies_are_refused() {
    assert!(Tokenizer::new(&[0xff]).is_err());
    assert!(Tokenizer::new("x".repeat(LONGEST_PIECE + 1).as_bytes()).is_err());
    assert!(Tokenizer::new("\n".repeat(70_000).as_bytes()).is_err());
    assert_eq!(ids(&Tokenizer::new(b"").expect("one piece"), "a b"), [0, 0]);
}

/// The plain way: normalise the whole text, then look pieces up in a map.
fn plainly(text: &str) -> Vec<u16> {
    use GeneralCategory as G;
    let mut cleaned = String::new();
    for c in text.chars() {
        match get_general_category(c) {
            _ if matches!(c, '\t' | '\n' | '\r') => cleaned.push(' '),
            G::SpaceSeparator => cleaned.push(' '),
            G::Control | G::Format | G::Unassigned | G::PrivateUse => {}
            _ if c == '\u{fffd}' => {}
            _ if is_ideograph(c) => cleaned.extend([' ', c, ' ']),
            _ => cleaned.push(c),
        }
    }
    let lower: String = cleaned.nfd().filter(|c| get_general_category(*c) != G::NonspacingMark).collect();
    let mut words = vec![String::new()];
    for c in lower.chars() {
        let punctuation = c.is_ascii_punctuation() || get_general_category(c).abbreviation().starts_with('P');
        if c.is_whitespace() {
            words.push(String::new());
        } else if punctuation {
            words.extend([c.to_string(), String::new()]);
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let vocab: HashMap<&str, u16> = VOCAB.split('\n').zip(0..).collect();
    let mut ids = Vec::new();
    for word in words.iter().filter(|w| !w.is_empty()).map(|w| w.to_lowercase()) {
        ids.extend(plain_word(&vocab, &word).unwrap_or(vec![0]));
    }
    ids
}

fn plain_word(vocab: &HashMap<&str, u16>, word: &str) -> Option<Vec<u16>> {
    if word.chars().count() > 100 {
        return None;
    }
    let (mut ids, mut rest) = (Vec::new(), word);
    while !rest.is_empty() {
        let prefix = if ids.is_empty() { "" } else { "##" };
        let ends = rest.char_indices().map(|(i, c)| i + c.len_utf8()).rev();
        let (id, end) = ends.into_iter().find_map(|end| {
            let piece = format!("{prefix}{}", &rest[..end]);
            Some((*vocab.get(piece.as_str())?, end))
        })?;
        ids.push(id);
        rest = &rest[end..];
    }
    Some(ids)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn both_ways_agree(text in "([abcABCéÉ#.,' 日Σσα1\u{301}\u{0}\u{200b}\u{a0}가Йи“;\u{37e}]|cafe|abc|un|able|no|de|\\PC){0,40}") {
        prop_assert_eq!(ids(&tokenizer(), &text), plainly(&text));
        // What is known of words that came before says the same of those that come again.
        let (mut known, mut again): (_, Vec<u16>) = (KnownWords::default(), Vec::new());
        for _ in 0..2 {
            tokenizer().run(&text, Some(&mut known), &mut again);
        }
        prop_assert_eq!(again, plainly(&text).repeat(2));
    }

    #[test]
    fn any_text_has_one_start_per_piece(text in any::<String>()) {
        let tokenizer = tokenizer();
        let (mut starts, mut count): (Vec<u32>, usize) = (Vec::new(), 0);
        let mut known = KnownWords::default();
        tokenizer.run(&text, Some(&mut known), &mut starts);
        tokenizer.run(&text, Some(&mut known), &mut count);
        prop_assert_eq!(starts.len(), count);
        prop_assert_eq!(ids(&tokenizer, &text).len(), count);
        prop_assert!(starts.is_sorted());
        prop_assert!(starts.iter().all(|s| text.is_char_boundary(*s as usize) && (*s as usize) < text.len()));
    }
}
