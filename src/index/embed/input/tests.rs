use proptest::prelude::*;

use super::*;
use crate::embed::builtin::model;

const WINDOW: usize = InputLimits::BUILTIN.window;
const ONE_WINDOW: usize = InputLimits::BUILTIN.one_window;

fn pieces(text: &str) -> Vec<u32> {
    model().token_starts(text)
}

fn texts(context: &str, raw: &str) -> Vec<String> {
    inputs(context, raw, &pieces).into_iter().map(|i| i.text).collect()
}

#[test]
fn noise_is_left_out() {
    let cases = [
        ("plain text, 100 % of it < all", "plain text, 100 % of it < all"),
        ("a <!-- secret --> b", "a   b"),
        ("a <!-- two\nlines --> b", "a   b"),
        ("a <!-- open", "a <!-- open"),
        ("a %%hidden%% b %% open", "a   b %% open"),
        ("one<br/>two <span class=\"x\">three</span>", "one two  three "),
        ("H<SUB>2</SUB>O", "H 2 O"),
        ("Vec<String>, <placeholder>, <https://example.org/a>", "Vec<String>, <placeholder>, <https://example.org/a>"),
        ("<p", "<p"),
        ("<a-b> <p<b>", "<a-b> <p "),
        ("`<br>` and ``a ` <b> `` <b>", "`<br>` and ``a ` <b> ``  "),
        ("` <b>", "`  "),
        ("```\n<br>\n---\n```\n<br>", "```\n<br>\n---\n```\n "),
        ("````\n```\n<b>\n````\n<b>", "````\n```\n<b>\n````\n "),
        ("~~~\n<b>", "~~~\n<b>"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "| a | b |\n \n| 1 | 2 |"),
        ("Title\n=====\n\n---\n* * *\n- a", "Title\n \n\n \n \n- a"),
        ("see https://example.org/p?utm_source=x&y=1#part.", "see https://example.org/p #part."),
        ("[x](https://example.org/?q=1) y?", "[x](https://example.org/ ) y?"),
        ("https://example.org/why? yes", "https://example.org/why? yes"),
    ];
    for (raw, expected) in cases {
        assert_eq!(embeddable(raw), expected, "{raw:?}");
    }
    assert!(matches!(embeddable("nothing to remove"), Cow::Borrowed(_)));
}

#[test]
fn hostile_text_is_scanned_once() {
    // Each of these would take minutes if every mark looked through all the rest.
    for mark in ["<!--", "%%%", "%% <!--", "<", "`` ` ", "<p ", "http://", "http://?", "`` `", "```\n"] {
        let text = mark.repeat((4 << 20) / mark.len());
        assert!(embeddable(&text).len() <= text.len());
    }
}

#[test]
fn a_text_can_be_had_without_its_context() {
    let alone = |context: &str, raw: &str| {
        let with = inputs(context, raw, &pieces);
        with.iter().map(|input| without_context(input, context).map(|alone| alone.text)).collect::<Vec<_>>()
    };
    assert_eq!(alone("From: a note", "Some words."), [Some("Some words.".to_owned())]);
    // Without a context the input is the text already; without words there is nothing to find.
    assert_eq!(alone("", "Some words."), [None]);
    assert_eq!(alone("From: a note", "<!-- nothing -->"), [Some(String::new())]);
    let (one, other) = (&inputs("A", "Some words.", &pieces)[0], &inputs("B", "Some words.", &pieces)[0]);
    assert_ne!(hash_without_context(one.hash), one.hash);
    assert_ne!(hash_without_context(one.hash), hash_without_context(other.hash));
    let text = without_context(one, "A").unwrap();
    assert_eq!(model().embed_input(&text), model().embed("Some words."));
}

#[test]
fn context_and_text_make_the_input() {
    assert_eq!(texts("From: a note", "Some words."), ["From: a note\n\nSome words."]);
    assert_eq!(texts("", " Some words.\n"), ["Some words."]);
    assert_eq!(texts("From: a note", "<!-- nothing -->"), ["From: a note"]);
    assert_eq!(texts("", ""), [""]);
    for input in inputs("c", "t", &pieces) {
        assert_eq!((input.context, &input.text[..input.context]), (1, "c"));
    }
    // Where the context ends is part of what is embedded.
    let hash = |context, raw| inputs(context, raw, &pieces)[0].hash;
    assert_ne!(hash("a\n\nb", "c"), hash("a", "b\n\nc"));
    assert_eq!((hash("", "c"), hash("c", "")), (input_hash("c"), input_hash("c")));
}

#[test]
fn inputs_of_other_models_keep_within_what_they_take() {
    let words = |n: usize| vec!["word"; n].join(" ");
    let limits = InputLimits::of_model(256, 4, false);
    for (context, raw) in [(30, 150), (30, 1000), (900, 1000), (900, 3), (0, 5000)] {
        let inputs = inputs_within(&limits, &words(context), &words(raw), &pieces);
        let covered: usize = inputs.iter().map(|i| model().count(&i.text)).sum();
        assert!(inputs.iter().all(|i| model().count(&i.text) <= 201), "{context} {raw}");
        assert!(covered >= raw, "{context} {raw}");
    }
    assert_eq!(inputs_within(&InputLimits::of_model(8192, 0, false), "c", &words(800), &pieces).len(), 1);
    assert!(!inputs_within(&InputLimits::of_model(0, 9, false), &words(9), &words(99), &pieces).is_empty());
}

#[test]
fn a_note_that_is_embedded_together_is_one_input() {
    let words = |n: usize| vec!["word"; n].join(" ");
    let limits = InputLimits::of_model(32_000, 0, true);
    let of = |texts: &[&str]| inputs_together(&limits, texts, &pieces);
    let (one, other) = (of(&["first", "second <b>"]), of(&["first", "third"]));
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].iter().map(|i| i.text.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    // The neighbour changed, and with it the vector of a text that did not.
    assert!(one[0][0].hash != other[0][0].hash && one[0][0].hash != one[0][1].hash);
    assert_eq!(of(&["first", "second <b>"]), one);
    let (long, endless) = (words(20_000), words(50_000));
    let parts = of(&[&long, "short", &long, &endless]);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
    assert!(parts.iter().flatten().all(|i| model().count(&i.text) <= MOST_TOGETHER));
}

#[test]
fn long_chunks_become_equal_windows() {
    let words = |n: usize| vec!["word"; n].join(" ");
    let lengths = |raw: &str| -> Vec<usize> { texts("", raw).iter().map(|t| model().count(t)).collect() };
    assert_eq!(lengths(&words(240)), [240]);
    assert_eq!(lengths(&words(241)), [120, 121]);
    assert_eq!(lengths(&words(400)), [200, 200]);
    assert_eq!(lengths(&words(401)), [133, 134, 134]);
    assert_eq!(lengths(&words(2000)), [200; 10]);
    // A word of several pieces is never torn.
    for text in texts("", &vec!["supercalifragilistic"; 100].join(" ")) {
        assert!(text.split(' ').all(|w| w == "supercalifragilistic"), "{text}");
    }
    // Without spaces a character is the place to cut; its pieces stay together.
    assert_eq!(texts("", &"日本語".repeat(100)).len(), 2);
    assert!(lengths(&"한국어".repeat(200)).iter().all(|n| *n <= WINDOW));
    let context = texts("About tests.", &words(500));
    assert!(context.iter().all(|t| t.starts_with("About tests.\n\nword")));
    // A line of megabytes whose words are half a window long.
    let line = format!("{} ", "日".repeat(99)).repeat(20_000);
    assert!(lengths(&line).iter().all(|n| *n <= WINDOW));
}

proptest! {
    #[test]
    fn windows_cover_everything(raw in "([a-z]{1,12}[ .,-]|supercalifragilistic|[日本語한가é ]|```\n|<b>|%%|\n){0,900}") {
        let texts = texts("", &raw);
        let solid = |text: &str| text.split_whitespace().collect::<String>();
        prop_assert_eq!(solid(&texts.concat()), solid(&embeddable(&raw)));
        let most = if texts.len() == 1 { ONE_WINDOW } else { WINDOW };
        prop_assert!(texts.iter().all(|t| model().count(t) <= most));
        prop_assert_eq!(&texts, &super::tests::texts("", &raw));
    }

    #[test]
    fn any_text_and_any_pieces(context in any::<String>(), raw in any::<String>(), mut foreign in prop::collection::vec(any::<u32>(), 0..900)) {
        prop_assert!(!inputs(&context, &raw, &pieces).is_empty());
        foreign.sort_unstable();
        prop_assert!(!inputs(&context, &raw, &|_| foreign.clone()).is_empty());
    }

    #[test]
    fn marks_in_any_order(raw in "(<!--|-->|%%|<b>|</|>|`|```|\n|http://|\\?|#|[|]|---|é| ){0,60}") {
        prop_assert!(embeddable(&raw).len() <= raw.len() + 1);
    }
}
