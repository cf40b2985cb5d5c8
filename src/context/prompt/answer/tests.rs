//! Answers as models give them: good, nearly good, and not at all.

use proptest::prelude::*;

use super::*;

fn asked(wanted: &[u32]) -> Prompt {
    Prompt {
        form: Form::Note,
        wanted: wanted.to_vec(),
        json: true,
        max_tokens: answer_tokens(Form::Note, wanted.len()),
        ..Prompt::default()
    }
}

/// The texts of [`captions`].
fn captions_of(prompt: &Prompt, answer: &str) -> Vec<(u32, Result<String, Unread>)> {
    captions(prompt, answer).into_iter().map(|(n, caption)| (n, caption.map(|caption| caption.text))).collect()
}

fn plain() -> Prompt {
    Prompt { form: Form::Chunk, json: false, max_tokens: 200, ..asked(&[7]) }
}

/// What was read for passages 1 and 2: `Ok` as itself, errors by name.
fn read_for(wanted: &[u32], answer: &str) -> Vec<String> {
    let read = captions_of(&asked(wanted), answer);
    assert_eq!(read.iter().map(|(n, _)| *n).collect::<Vec<_>>(), wanted);
    read.into_iter().map(|(_, caption)| caption.unwrap_or_else(|unread| format!("{unread:?}"))).collect()
}

/// What stands beside the captions of passages 1 and 2, questions and terms.
fn beside(wanted: &[u32], answer: &str) -> Vec<Option<(Vec<String>, Vec<String>)>> {
    let prompt = Prompt { expansion: true, ..asked(wanted) };
    let read = captions(&prompt, answer).into_iter();
    read.map(|(_, caption)| caption.ok().map(|c| (c.expansion.questions, c.expansion.terms))).collect()
}

#[test]
fn questions_and_terms_are_read_beside_captions() {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let some = |questions: &[&str], terms: &[&str]| Some((owned(questions), owned(terms)));
    for (answer, expected) in [
        (
            r#"{"captions":[{"n":1,"text":"One.","questions":["A?","**B**?"],"terms":["c"]},{"n":2,"text":"Two."}]}"#,
            [some(&["A?", "B?"], &["c"]), some(&[], &[])],
        ),
        // A list as one string, values of other types, and texts in several lines.
        (
            r#"{"1":{"text":"One.","questions":"A?\nB?","terms":[1,null,"c\nd"]},"2":{"text":"Two.","terms":7}}"#,
            [some(&["A?", "B?"], &["c d"]), some(&[], &[])],
        ),
        // Questions are never taken for captions.
        (r#"{"captions":[{"questions":["A?","B?"],"terms":[]}]}"#, [None, None]),
        (r#"{"captions":[{"n":1,"text":"One.","questions":["A?","B?"],"terms":["c"#, [None, None]),
        (r#"["A?","B?"]"#, [None, None]),
        // A caption that is missing takes its questions along; one that comes twice has those of the first.
        (
            r#"[{"n":1,"text":"","questions":["A?"]},{"n":2,"text":"Two.","questions":["B?"]},{"n":2,"text":"Two."}]"#,
            [None, some(&["B?"], &[])],
        ),
    ] {
        assert_eq!(beside(&[1, 2], answer), expected, "{answer}");
    }
    let unasked = captions(&asked(&[1]), r#"[{"n":1,"text":"One.","questions":["A?"],"terms":["b"]}]"#);
    assert!(unasked[0].1.as_ref().is_ok_and(|caption| caption.expansion.is_empty()), "{unasked:?}");
    let flood = format!(r#"[{{"n":1,"text":"One.","questions":[{}"B?"]}}]"#, r#""A?","#.repeat(5_000));
    assert_eq!(beside(&[1], &flood)[0].as_ref().map(|(questions, _)| questions.len()), Some(READ * QUESTIONS.1));
    let long = format!(r#"[{{"n":1,"text":"One.","questions":["{}?"],"terms":["a"]}}]"#, "word ".repeat(80));
    assert_eq!(beside(&[1], &long), [some(&[], &["a"])]);
}

#[test]
fn a_single_passage_needs_neither_number_nor_json() {
    let prompt = Prompt { form: Form::Chunk, expansion: true, max_tokens: 370, ..asked(&[7]) };
    let read = |answer: &str| {
        let [(7, caption)] = &captions(&prompt, answer)[..] else { panic!("{answer}") };
        caption.clone().map(|c| (c.text, c.expansion.questions.len(), c.closed))
    };
    for (answer, expected) in [
        (r#"{"captions":[{"n":7,"text":"One.","questions":["A?"],"terms":[]}]}"#, Ok(("One.".to_owned(), 1, true))),
        (r#"{"text":"One.","questions":["A?","B?"],"terms":[]}"#, Ok(("One.".to_owned(), 2, true))),
        (r#"{"captions":[{"text":"One.","questions":["A?"]}]}"#, Ok(("One.".to_owned(), 1, true))),
        (r#"{"captions":[{"n":1,"text":"One.","questions":["A?"]}]}"#, Ok(("One.".to_owned(), 1, true))),
        // What a model writes that was asked for plain text, or that cannot write JSON.
        ("Caption: One.", Ok(("One.".to_owned(), 0, false))),
        (r#"{"captions":[{"n":7,"text":"One"#, Err(Unread::NotJson)),
        (r#"{"questions":["A?"]}"#, Err(Unread::NotJson)),
        ("", Err(Unread::Empty)),
    ] {
        assert_eq!(read(answer), expected, "{answer}");
    }
}

#[test]
fn json_is_found_in_many_shapes() {
    let cases = [
        (r#"{"captions":[{"n":1,"text":"One."},{"n":2,"text":"Two."}]}"#, ["One.", "Two."]),
        (r#"{"captions":[{"n":2,"text":"Two."},{"n":1,"text":"One."}]}"#, ["One.", "Two."]),
        (
            "```json\n{\"captions\":[{\"n\":\"1\",\"text\":\"One.\"},{\"n\":2.0,\"text\":\"Two.\"}]}\n```",
            ["One.", "Two."],
        ),
        (r#"Here you go [1]: {"1":"One.","2":"Two."} Hope it helps!"#, ["One.", "Two."]),
        (r##"[{"passage":"⟦1⟧","caption":"One."},{"id":"#2","context":"Two."}]"##, ["One.", "Two."]),
        (r#"["One.","Two."]"#, ["One.", "Two."]),
        (r#"{"captions":{"1":"One.","2":{"text":"Two."}}}"#, ["One.", "Two."]),
        (r#"{"result":{"captions":[{"n":1,"text":"One."},{"n":2,"text":"Two."}]},"v1":"x"}"#, ["One.", "Two."]),
        ("{\"captions\":[{\"n\":1,\"text\":\"One\nline.\"},{\"n\":2,\"text\":\"**Two.**\"}]}", ["One line.", "Two."]),
        (r#"{"captions":[{"n":1,"text":"One."},{"n":3,"text":"Not asked for."}]}"#, ["One.", "Missing"]),
        (r#"{"captions":[{"n":1,"text":"A."},{"n":1,"text":"B."},{"n":2,"text":"Two."}]}"#, ["Doubled", "Two."]),
        (r#"{"captions":[{"n":1,"text":"A."},{"n":1,"text":"A."},{"n":2,"text":" "}]}"#, ["A.", "Empty"]),
        (r#"{"captions":[{"n":1,"text":"One."},{"n":2,"text":"Tw"#, ["One.", "Missing"]),
        (r#"{"captions":[{"n":1,"text":"One."},{"n":2,"text":"Two."},]}"#, ["One.", "Two."]),
        (r#"{"captions":[]}"#, ["Missing", "Missing"]),
        (
            r#"{"captions":[{"n":1,"text":"…"}]} so: {"captions":[{"n":1,"text":"One."},{"n":2,"text":"Two."}]}"#,
            ["One.", "Two."],
        ),
        (r#"<think>{"1":"x","2":"y"}</think>{"1":"One.","2":"Two."}"#, ["One.", "Two."]),
        (r#"["Only one."]"#, ["NotJson", "NotJson"]),
        ("I cannot help with that.", ["NotJson", "NotJson"]),
        (r#"{"error":"no"}"#, ["NotJson", "NotJson"]),
        ("<think>for ever", ["NotJson", "NotJson"]),
        ("", ["NotJson", "NotJson"]),
        ("{\"1\":\"a\u{1}b\",\"2\":\"\u{fffd}\"}", ["a\u{fffd}b", "\u{fffd}"]),
    ];
    for (answer, expected) in cases {
        assert_eq!(read_for(&[1, 2], answer), expected, "{answer}");
    }
}

#[test]
fn plain_answers_are_taken_whole() {
    let cases = [
        ("The Atlas rollout waits for Northwind.", Ok("The Atlas rollout waits for Northwind.")),
        ("<think>\nhm {\"7\":\"x\"}\n</think>\n\n\"The Atlas rollout.\"", Ok("The Atlas rollout.")),
        ("thoughts</think>The Atlas rollout.", Ok("The Atlas rollout.")),
        ("{\"captions\":[{\"n\":7,\"text\":\"The Atlas rollout.\"}]}", Ok("The Atlas rollout.")),
        ("```json\n{\"n\":1,\"text\":\"The Atlas rollout.\"}\n```", Ok("The Atlas rollout.")),
        ("{\"odd\":true}", Ok("{\"odd\":true}")),
        (" \n ", Err(Unread::Empty)),
        ("<think>never done", Err(Unread::Empty)),
    ];
    for (answer, expected) in cases {
        assert_eq!(captions_of(&plain(), answer), [(7, expected.map(str::to_owned))], "{answer}");
    }
    let several = Prompt { wanted: vec![7, 8], ..plain() };
    assert_eq!(captions_of(&several, "A."), [(7, Ok("A.".to_owned())), (8, Err(Unread::Missing))]);
}

#[test]
fn floods_are_cut() {
    let flood = format!("{{\"1\":\"{}\"}}", "word ".repeat(400_000));
    let read = captions_of(&asked(&[1]), &flood);
    assert_eq!(read[0].1.as_ref().map(|text| text.split(' ').count()), Ok(300));
    let wide = Prompt { max_tokens: 2 * answer_tokens(Form::Note, 1), ..asked(&[1]) };
    assert_eq!(captions_of(&wide, &flood)[0].1.as_ref().map(|text| text.split(' ').count()), Ok(600));
    for hostile in ["[", "{", "{\"a\":", "[[],", "[\"", "{\"n\":1,", "\\", "</think>", "```"] {
        assert_eq!(captions_of(&asked(&[1]), &hostile.repeat(300_000)), [(1, Err(Unread::NotJson))], "{hostile}");
        assert_eq!(captions_of(&plain(), &hostile.repeat(300_000)).len(), 1);
    }
}

#[test]
fn the_schema_is_strict_everywhere() {
    fn check(schema: &Value) {
        if schema["type"] == "object" {
            let names: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            let required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            assert_eq!(names, required);
            assert_eq!(schema["additionalProperties"], false);
            schema["properties"].as_object().unwrap().values().for_each(check);
        }
        if schema["type"] == "array" {
            check(&schema["items"]);
        }
    }
    check(&schema(false));
    check(&schema(true));
    let expanded = &schema(true)["properties"]["captions"]["items"]["properties"];
    assert!(expanded["questions"]["type"] == "array" && expanded["terms"]["items"]["type"] == "string");
    assert_eq!(schema(false)["properties"]["captions"]["items"]["properties"]["n"]["type"], "integer");
}

/// An answer as it should be.
fn good() -> impl Strategy<Value = (Vec<u32>, Vec<String>)> {
    prop::collection::btree_set(1u32..200, 1..24).prop_flat_map(|numbers| {
        let count = numbers.len();
        (
            Just(numbers.into_iter().collect::<Vec<_>>()),
            prop::collection::vec("[a-zé{}\\[\\]\":,]{0,8}[a-z日]{1,8}( [a-z{}\"]{1,6})?[a-z]", count),
        )
    })
}

fn written(numbers: &[u32], texts: &[String]) -> String {
    let entry = |(n, text): (&u32, &String)| json!({ "n": n, "text": text });
    json!({ "captions": numbers.iter().zip(texts).map(entry).collect::<Vec<_>>() }).to_string()
}

proptest! {
    #[test]
    fn a_good_answer_gives_exactly_what_was_asked_for((numbers, texts) in good(), before in "[a-zA-Z .:\n]{0,20}", after in "[a-zA-Z .:\n]{0,20}") {
        let answer = format!("{before}{}{after}", written(&numbers, &texts));
        let expected: Vec<_> = numbers.iter().zip(&texts).map(|(n, text)| {
            let text = clean(text, 300);
            (*n, if text.is_empty() { Err(Unread::Empty) } else { Ok(text) })
        }).collect();
        prop_assert_eq!(captions_of(&asked(&numbers), &answer), expected);
    }

    #[test]
    fn a_spoilt_answer_invents_nothing((numbers, texts) in good(), at in any::<prop::sample::Index>(), with in "[\\PC]{0,3}", cut in any::<bool>()) {
        let mut answer = written(&numbers, &texts);
        let place = answer.floor_char_boundary(at.index(answer.len()));
        if cut { answer.truncate(place) } else { answer.insert_str(place, &with) }
        let read = captions_of(&asked(&numbers), &answer);
        prop_assert_eq!(read.iter().map(|(n, _)| *n).collect::<Vec<_>>(), numbers);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), json in any::<bool>()) {
        let prompt = Prompt { json, ..asked(&[1, 2]) };
        prop_assert_eq!(captions_of(&prompt, &String::from_utf8_lossy(&bytes)).len(), 2);
    }

    #[test]
    fn any_brackets(answer in "([{}\\[\\]\",:0-9a \n\\\\]|\"n\":1|\"text\":\"x\"|captions|</?think>|```){0,80}", json in any::<bool>()) {
        let prompt = Prompt { json, ..asked(&[1, 2]) };
        prop_assert_eq!(captions_of(&prompt, &answer).len(), 2);
    }
}

#[test]
fn passages_that_the_model_counts_from_0_get_no_neighbours_caption() {
    let from_0 = r#"{"captions":[{"n":0,"text":"One."},{"n":1,"text":"Two."},{"n":2,"text":"Three."}]}"#;
    assert_eq!(read_for(&[1, 2, 3], from_0), ["One.", "Two.", "Three."]);
    // It may have counted the passages of the note, or those that were asked for.
    assert_eq!(read_for(&[1, 2, 4], from_0), ["Missing", "Missing", "Missing"]);
    assert_eq!(read_for(&[2, 3], from_0), ["Missing", "Missing"]);
    // Something for the whole note besides.
    assert_eq!(read_for(&[1, 2], from_0), ["Two.", "Three."]);
}
