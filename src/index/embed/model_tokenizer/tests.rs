use serde_json::{Value, json};

use super::super::tests::tables;
use super::*;

mod bpe;
mod frames;
mod reference;

/// The pieces of a text, with a question mark for what is unknown.
fn cut(json: &Value, names: &[&str], text: &str) -> String {
    let tokenizer = ModelTokenizer::read(json.to_string().as_bytes()).expect("a tokenizer");
    let name = |token: u32| if token == UNKNOWN { "?" } else { names[token as usize] };
    tokenizer.cut(text).into_iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn word_pieces_are_the_longest_from_the_left() {
    let names = ["[UNK]", "a", "ab", "##c", "##bc", "##b", "##", "!", "\u{4e2d}", "e"];
    let json = tables::word_piece(&names);
    let of = |text: &str| cut(&json, &names, text);
    assert_eq!(of("abc ABC"), "ab ##c ab ##c");
    assert_eq!(of("abcbc"), "ab ##c ##bc");
    assert_eq!(of("abx a"), "? a", "a word with a part that is unknown is unknown");
    assert_eq!(of("a!!a"), "a ! ! a");
    assert_eq!(of("a\u{4e2d}\u{4e2d}"), "a \u{4e2d} \u{4e2d}");
    assert_eq!(of("\u{c9}\u{ad} a\u{301}"), "e a", "accents and invisible characters are dropped");
    assert_eq!(of(&format!("{} a", "a".repeat(101))), "? a");
    assert_eq!(of(" \n"), "");
}

#[test]
fn unigram_pieces_are_the_most_likely_ones() {
    let names = ["<unk>", "\u{2581}", "\u{2581}new", "\u{2581}york", "\u{2581}new\u{2581}york", "s", "fi"];
    let scores = [0.0, -9.0, -4.0, -5.0, -8.0, -2.0, -3.0];
    let vocab: Vec<Value> = names.iter().zip(scores).map(|(name, score)| json!([name, score])).collect();
    let json = |words: Value| {
        let characters =
            tables::characters(&[("\u{fb01}", "fi"), ("\u{2026}", ""), ("e\u{301}", "s"), ("\u{e9}", "s")]);
        json!({
            "normalizer": {
                "type": "Sequence", "normalizers": [
                    { "type": "Precompiled", "precompiled_charsmap": characters },
                    { "type": "Lowercase" },
                    { "type": "Replace", "pattern": { "String": "," }, "content": " , " },
                    { "type": "Replace", "pattern": { "Regex": "\\s+" }, "content": " " },
                    { "type": "Strip", "strip_left": false, "strip_right": true }
                ]
            },
            "pre_tokenizer": words, "added_tokens": [{ "id": 0 }],
            "model": { "type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false }
        })
    };
    let meta = |split: bool| json!({ "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": split });
    let of = |text: &str| cut(&json(meta(true)), &names, text);
    assert_eq!(of("New  York"), "\u{2581}new \u{2581}york");
    assert_eq!(cut(&json(meta(false)), &names, "New \tYork"), "\u{2581}new\u{2581}york", "eight is less than nine");
    assert_eq!(of("news,new "), "\u{2581}new s \u{2581} ? \u{2581}new");
    assert_eq!(of("newxyzs"), "\u{2581}new ? s", "what is unknown in one stretch is unknown once");
    assert_eq!(of("s\u{fb01}\u{2026}"), "\u{2581} s fi");
    assert_eq!(of("\u{e9}e\u{301}"), "\u{2581} s s");
    assert_eq!(of("<unk>"), "\u{2581} ?", "its name in a text is no token");
    assert_eq!(of(""), "");
}

#[test]
fn its_numbers_are_counted_with_those_that_were_added() {
    let mut json = tables::word_piece(&["[UNK]", "a"]);
    json["added_tokens"] = json!([{ "id": 0, "content": "[UNK]" }, { "id": 4, "content": "[MASK]" }]);
    let tokenizer = ModelTokenizer::read(json.to_string().as_bytes()).expect("a tokenizer");
    assert_eq!((tokenizer.tokens(), tokenizer.largest()), (3, 4));
    assert!((tokenizer.familiarity("a b a b") - 0.5).abs() < 1e-6 && (tokenizer.familiarity("") - 1.0).abs() < 1e-6);
}

#[test]
fn what_cannot_be_read_is_told_from_what_is_damaged() {
    let with = |key: &str, value: Value| {
        let mut json = tables::word_piece(&["[UNK]", "a"]);
        json[key] = value;
        ModelTokenizer::read(json.to_string().as_bytes()).err().expect("an error")
    };
    for (key, value, word) in [
        ("model", json!({ "type": "WordLevel", "vocab": {} }), "`WordLevel`"),
        ("pre_tokenizer", json!({ "type": "UnicodeScripts" }), "`UnicodeScripts`"),
        ("normalizer", json!({ "type": "Replace", "pattern": { "Regex": "x|y" }, "content": "" }), "`x|y`"),
        ("normalizer", json!({ "type": "Precompiled", "precompiled_charsmap": "AAA" }), "table of characters"),
        ("normalizer", json!({ "type": "Precompiled", "precompiled_charsmap": "/v//fw==" }), "table of characters"),
    ] {
        let error = with(key, value);
        assert!(matches!(&error, TokenizerError::Unsupported(said) if said.contains(word)), "{key}: {error}");
    }
    let empty = with("model", json!({ "type": "WordPiece", "vocab": {} }));
    assert_eq!(empty, TokenizerError::Damaged("it has no tokens".to_owned()));
    for bad in [&b""[..], b"{", b"<html>", b"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": "] {
        assert!(matches!(ModelTokenizer::read(bad), Err(TokenizerError::Damaged(_))), "{bad:?}");
    }
}
