//! BPE on bytes, against the crate `tokenizers`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokenizers::Tokenizer;

use super::{ModelTokenizer, TokenizerError};
use crate::embed::model_tokenizer::merges::bytes_as_characters;

const GPT_2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const LLAMA_3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN_2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Pairs of bytes and of what they become; several ways lead to some tokens.
const MERGES: [(&str, &str); 23] = [
    ("t", "h"),
    (" ", "t"),
    ("th", "e"),
    (" t", "h"),
    (" th", "e"),
    (" ", " "),
    ("  ", "  "),
    ("a", "a"),
    ("aa", "aa"),
    ("a", "b"),
    ("b", "c"),
    ("ab", "c"),
    ("a", "bc"),
    ("'", "s"),
    ("1", "2"),
    ("12", "3"),
    ("\n", "\n"),
    (" ", "\n"),
    ("e", "s"),
    ("s", "t"),
    ("t", "es"),
    ("t", "est"),
    ("es", "t"),
];

fn model(ignore_merges: bool, in_pairs: bool) -> Value {
    let bytes = (0..=255_u8)
        .map(|byte| bytes_as_characters(&char::from(byte).to_string()).chars().last().expect("one").to_string());
    // The characters of single bytes: of those from 128 on, the last of two bytes, and the first ones, which lead.
    let leads = ('\u{80}'..='\u{7ff}')
        .chain(['\u{900}', '\u{4e00}', '\u{1f600}'])
        .map(|c| bytes_as_characters(&c.to_string()).chars().next().expect("one").to_string());
    let mut names: BTreeSet<String> = bytes.chain(leads).collect();
    names.extend(
        [
            "\u{e3}", "\u{e4}", "\u{e5}", "\u{e6}", "\u{e7}", "\u{e8}", "\u{e9}", "\u{ea}", "\u{eb}", "\u{ec}",
            "\u{ed}", "\u{ee}", "\u{ef}", "\u{f0}", "\u{e1}", "\u{e2}",
        ]
        .map(str::to_owned),
    );
    names.extend(MERGES.iter().map(|(left, right)| bytes_as_characters(&format!("{left}{right}"))));
    names.insert(bytes_as_characters("test of"));
    names.insert(bytes_as_characters(" abcd"));
    let vocab: serde_json::Map<String, Value> =
        names.into_iter().zip(0..).map(|(name, id)| (name, json!(id))).collect();
    let merges: Vec<Value> = MERGES
        .iter()
        .map(|(left, right)| (bytes_as_characters(left), bytes_as_characters(right)))
        .map(|(left, right)| if in_pairs { json!([left, right]) } else { json!(format!("{left} {right}")) })
        .collect();
    json!({
        "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
        "fuse_unk": false, "byte_fallback": false, "ignore_merges": ignore_merges, "vocab": vocab, "merges": merges
    })
}

fn file(model: &Value, words: &Value) -> Value {
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": words, "post_processor": null, "decoder": null, "model": model
    })
}

fn byte_level(space: bool, regex: bool) -> Value {
    json!({ "type": "ByteLevel", "add_prefix_space": space, "trim_offsets": true, "use_regex": regex })
}

fn split(pattern: &Value, behavior: &str, invert: bool) -> Value {
    let split = json!({ "type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert });
    json!({ "type": "Sequence", "pretokenizers": [split, byte_level(false, false)] })
}

fn pairs() -> Vec<(String, ModelTokenizer, Tokenizer)> {
    let mut words = vec![byte_level(false, true), byte_level(true, true), byte_level(true, false)];
    words.extend([GPT_2, LLAMA_3, QWEN_2].map(|pattern| split(&json!({ "Regex": pattern }), "Isolated", false)));
    for behavior in ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"] {
        for invert in [false, true] {
            words.push(split(&json!({ "String": "a" }), behavior, invert));
            words.push(split(&json!({ "Regex": r"\s+|[0-9]" }), behavior, invert));
        }
    }
    let one = |(no, words): (usize, &Value)| {
        let json = file(&model(no % 2 == 1, no % 3 == 1), words).to_string();
        let ours = ModelTokenizer::read(json.as_bytes()).expect("a tokenizer");
        (words.to_string(), ours, Tokenizer::from_bytes(&json).expect("a tokenizer"))
    };
    words.iter().enumerate().map(one).collect()
}

fn differ(text: &str) -> Vec<String> {
    static PAIRS: LazyLock<Vec<(String, ModelTokenizer, Tokenizer)>> = LazyLock::new(pairs);
    let one = |(name, ours, theirs): &(String, ModelTokenizer, Tokenizer)| {
        let theirs = theirs.encode_fast(text, false).expect("tokens").get_ids().to_vec();
        let first = &theirs[..theirs.len().min(5)];
        let same = ours.ids(text, usize::MAX) == theirs && ours.ids(text, 5) == first && ours.cut(text) == theirs;
        (!same).then(|| format!("{name}: {text:?}: {:?}, not {theirs:?}", ours.ids(text, usize::MAX)))
    };
    PAIRS.iter().filter_map(one).collect()
}

#[test]
fn byte_level_bpe_gives_the_same_tokens() {
    for text in [
        "",
        " ",
        "  ",
        "   a",
        "the test of  the   tests",
        "it's IT'S we'll",
        "a\n\n b",
        "a \n \n  b",
        "\n\n\n",
        "x  \n",
        " \u{a0} a",
        "12345 123",
        "aaaaaaaaaaa",
        "abcabc abcd",
        "test of",
        "\u{1f600}\u{200d}\u{1f600}",
        "\u{4e2d}\u{6587} a\u{301}",
        "\u{3000}\u{3000}x",
        "!!! ...\r\n\r\nx",
    ] {
        assert_eq!(differ(text), Vec::<String>::new());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_text_gives_the_same_tokens_by_bpe(
        text in "[abcthes'T12345 \\n\\r\\t.!\u{e9}\u{301}\u{a0}\u{3000}\u{4e2d}\u{448}\u{1f600}\u{200d}]{0,40}",
        other in "[ -~\u{a0}-\u{24f}\u{391}-\u{3a1}\u{410}-\u{44f}\u{5d0}-\u{5ea}\u{905}-\u{939}\u{4e00}-\u{9fa5}\u{ac00}-\u{d7a3}\u{1f600}-\u{1f640}\u{2000}-\u{200f}]{0,30}",
    ) {
        prop_assert_eq!(differ(&text), Vec::<String>::new());
        prop_assert_eq!(differ(&other), Vec::<String>::new());
    }
}

#[test]
fn the_first_tokens_of_a_very_long_word_are_those_of_the_whole() {
    let json = file(&model(false, true), &byte_level(false, true)).to_string();
    let tokenizer = ModelTokenizer::read(json.as_bytes()).expect("a tokenizer");
    let text = "abcaabtestthe".repeat(8_000);
    let whole = tokenizer.ids(&text, usize::MAX);
    assert!(whole.len() > 10_000);
    for most in [0, 1, 7, 512] {
        assert_eq!(tokenizer.ids(&text, most), whole[..most]);
    }
}

#[test]
fn what_is_wrong_with_bpe_is_said() {
    let error = |change: &dyn Fn(&mut Value)| {
        let mut json = file(&model(false, false), &byte_level(false, true));
        change(&mut json);
        ModelTokenizer::read(json.to_string().as_bytes()).err().expect("an error")
    };
    let said = |change: &dyn Fn(&mut Value), word: &str| {
        let error = error(change);
        assert!(error.to_string().contains(word), "{word}: {error}");
        matches!(error, TokenizerError::Damaged(_))
    };
    assert!(said(&|json| json["model"]["merges"] = json!(["a nothing"]), "`nothing`, which is no token"));
    assert!(said(&|json| json["model"]["merges"] = json!(["abc"]), "`abc` is not of two tokens"));
    assert!(said(&|json| json["model"]["vocab"]["more"] = json!(0), "two of its tokens have the number 0"));
    assert!(said(&|json| json["model"]["unk_token"] = json!("<unk>"), "`<unk>` is no token"));
    assert!(!said(&|json| json["model"]["vocab"]["more"] = json!(4_294_967_296_u64), "4294967296"));
    assert!(said(&|json| json["model"]["vocab"]["more"] = json!(u32::MAX), "4294967295"));
    assert!(!said(&|json| json["model"]["byte_fallback"] = json!(true), "`byte_fallback`"));
    assert!(!said(&|json| json["model"]["end_of_word_suffix"] = json!("</w>"), "`end_of_word_suffix`"));
    for (expression, word) in [("(a", "does not compile"), ("a(?=b)", "looks around"), (r"\p{L}?+a", "possessive")] {
        let words = split(&json!({ "Regex": expression }), "Isolated", false);
        assert!(!said(&|json| json["pre_tokenizer"] = words.clone(), word));
    }
}
