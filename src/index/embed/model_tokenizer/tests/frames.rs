//! Frames, against the crate `tokenizers`.

use serde_json::{Value, json};
use tokenizers::Tokenizer;

use super::{ModelTokenizer, tables};
use crate::embed::model_tokenizer::Part;

fn file(frame: Value) -> Value {
    let mut json = tables::word_piece(&["[UNK]", "[CLS]", "[SEP]", "a", "b", "[", "]", "cls"]);
    json["added_tokens"] = json!([{
        "id": 2, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true
    }]);
    json["post_processor"] = frame;
    json
}

fn template() -> Value {
    let special = |id: &str, side: u32| json!({ "SpecialToken": { "id": id, "type_id": side } });
    let text = |id: &str, side: u32| json!({ "Sequence": { "id": id, "type_id": side } });
    json!({
        "type": "TemplateProcessing",
        "single": [special("[CLS]", 0), text("A", 0), special("two", 2)],
        "pair": [special("[CLS]", 0), text("B", 1), special("[SEP]", 3), text("A", 0), special("two", 1)],
        "special_tokens": {
            "[CLS]": { "id": "[CLS]", "ids": [1], "tokens": ["[CLS]"] }, "[SEP]": { "id": "[SEP]", "ids": [2], "tokens": ["[SEP]"] },
            "two": { "id": "two", "ids": [2, 3], "tokens": ["[SEP]", "a"] }
        }
    })
}

fn framed(parts: &[Part], first: &[u32], second: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut ids, mut sides) = (Vec::new(), Vec::new());
    for part in parts {
        let (tokens, side) = match part {
            Part::Token { id, side } => (&[*id][..], side),
            Part::First { side } => (first, side),
            Part::Second { side } => (second, side),
        };
        ids.extend(tokens);
        sides.extend(tokens.iter().map(|_| *side));
    }
    (ids, sides)
}

#[test]
fn every_kind_of_frame_gives_the_same_tokens_and_types() {
    let byte_level = json!({ "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true });
    // BERT's has no more than this; with more in it, the crate takes it for RoBERTa's.
    let bert = json!({ "type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1] });
    let mut roberta = bert.clone();
    roberta["type"] = json!("RobertaProcessing");
    (roberta["trim_offsets"], roberta["add_prefix_space"]) = (json!(true), json!(false));
    for frame in [
        json!(null),
        byte_level.clone(),
        bert,
        roberta,
        template(),
        json!({ "type": "Sequence", "processors": [byte_level, template()] }),
    ] {
        let json = file(frame.clone()).to_string();
        let ours = ModelTokenizer::read(json.as_bytes()).expect("a tokenizer");
        let theirs = Tokenizer::from_bytes(&json).expect("a tokenizer");
        for (first, second) in [("a b x", "b"), ("", "a"), ("a", ""), ("b b", "x a b")] {
            let (a, b) = (ours.ids(first, 9), ours.ids(second, 9));
            let single = theirs.encode(first, true).expect("tokens");
            assert_eq!(
                framed(&ours.frame().single, &a, &[]),
                (single.get_ids().to_vec(), single.get_type_ids().to_vec()),
                "{frame}"
            );
            let pair = theirs.encode((first, second), true).expect("tokens");
            assert_eq!(
                framed(&ours.frame().pair, &a, &b),
                (pair.get_ids().to_vec(), pair.get_type_ids().to_vec()),
                "{frame}"
            );
        }
    }
}

#[test]
fn a_special_token_named_in_a_text_is_read_letter_by_letter() {
    let tokenizer = ModelTokenizer::read(file(template()).to_string().as_bytes()).expect("a tokenizer");
    assert_eq!(tokenizer.id("[SEP]"), Some(2));
    assert_eq!((tokenizer.id("a"), tokenizer.id("c"), tokenizer.id("")), (Some(3), None, None));
    assert_eq!(tokenizer.ids("a [SEP] b [CLS]", 99), [3, 5, 0, 6, 4, 5, 7, 6]);
}

#[test]
fn what_is_wrong_with_a_frame_is_said_but_not_for_a_table() {
    let mut unknown = template();
    unknown["special_tokens"] = json!({});
    let mut without = template();
    without["pair"] = without["single"].clone();
    let twice = json!({ "type": "Sequence", "processors": [template(), template()] });
    for (frame, word) in [
        (unknown, "`[CLS]`"),
        (without, "each of its texts once"),
        (twice, "more than once"),
        (json!({ "type": "Other" }), "`Other`"),
    ] {
        let json = file(frame).to_string();
        let error = ModelTokenizer::read(json.as_bytes()).err().expect("an error");
        assert!(error.to_string().contains(word), "{word}: {error}");
        let table = ModelTokenizer::read_unframed(json.as_bytes()).expect("a tokenizer");
        assert_eq!(table.frame().single, [Part::First { side: 0 }]);
    }
}
