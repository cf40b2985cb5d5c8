use super::*;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../tests/it/tables.rs"]
mod tables;

use proptest::prelude::*;
use serde_json::json;
use tables::{Form, Kind, StaticTable, Tensor};

const SUBJECTS: &[&[&str]] = &[&["bread", "flour", "brot", "мука"], &["sea", "tide", "meer", "潮"]];

fn written(form: Form) -> (tempfile::TempDir, StaticTable) {
    let folder = tempfile::tempdir().expect("a folder");
    let table = StaticTable::of(SUBJECTS, form, Kind::F16);
    table.write(&folder.path().join("tiny"));
    (folder, table)
}

fn opened(form: Form) -> StaticModel {
    let (folder, _) = written(form);
    StaticModel::open(&folder.path().join("tiny")).expect("a table")
}

fn near(a: &Vector, b: &Vector) -> f32 {
    let dot: i32 = a.values.iter().zip(&b.values).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    dot as f32 * a.scale * b.scale
}

#[test]
fn texts_of_one_subject_are_near_whatever_the_tokenizer_is() {
    for form in [Form::WordPiece, Form::Unigram] {
        let model = opened(form);
        assert_eq!((model.dimensions(), model.tokens()), (tables::WIDTH, 9));
        let query = model.embed("Bread");
        assert!(near(&query, &model.embed("FLOUR, brot")) > 0.9, "{form:?}");
        assert!(near(&query, &model.embed("мука")) > 0.9, "{form:?}");
        assert!(near(&query, &model.embed("the tide of the sea")) < 0.1, "{form:?}: what is unknown is left out");
        assert!((near(&query, &query) - 1.0).abs() < 0.01);
        assert!(near(&model.embed("潮"), &model.embed("sea")) > 0.9, "{form:?}");
        // Nothing is added at the ends of a text, and nothing is left of one without known tokens.
        assert_eq!(model.embed("bread bread"), query);
        for nothing in ["", " \n", "unknown words", "\u{10348}"] {
            assert!(model.embed(nothing).values.iter().all(|x| *x == 0), "{form:?} {nothing:?}");
        }
    }
}

#[test]
fn what_is_unknown_lowers_the_familiarity() {
    for form in [Form::WordPiece, Form::Unigram] {
        let model = opened(form);
        let of = |text: &str| (model.familiarity(text) * 100.0).round() as u32;
        assert_eq!([of("bread sea"), of("bread хлеб"), of("хлеб"), of("")], [100, 50, 0, 100], "{form:?}");
    }
}

#[test]
fn a_context_is_heard_beside_a_long_text() {
    let model = opened(Form::WordPiece);
    let text = "bread ".repeat(200);
    let beside = |context: &str| {
        let pieces = |text: &str| index::embed::builtin::model().token_starts(text);
        let input = index::embed::input::inputs(context, &text, &pieces).swap_remove(0);
        model.embed_inputs(&[&input]).swap_remove(0)
    };
    let with = beside("sea");
    assert!(near(&with, &model.embed("tide")) > 0.4 && near(&with, &model.embed("bread")) > 0.8);
    assert!(near(&beside(""), &model.embed("bread")) > 0.99);
}

#[test]
fn the_identity_is_that_of_the_files() {
    let (folder, table) = written(Form::WordPiece);
    let home = folder.path().join("tiny");
    let identity = || StaticModel::open(&home).expect("a table").identity().to_owned();
    let first = identity();
    assert!(first.starts_with("static tiny ") && first.len() == "static tiny ".len() + 16, "{first}");
    std::fs::write(home.join("config.json"), "{}").expect("a file");
    assert_eq!(identity(), first, "it says nothing that vectors depend on");
    let mut other = table.clone();
    other.tensors[0].bytes[2] ^= 1;
    other.write(&home);
    let second = identity();
    let mut lower = table.clone();
    lower.tokenizer["normalizer"]["lowercase"] = json!(false);
    lower.write(&home);
    assert_eq!(std::collections::BTreeSet::from([first.clone(), second, identity()]).len(), 3);
    table.write(&home);
    assert_eq!(identity(), first);
}

type Change<'a> = &'a dyn Fn(&Path, &mut StaticTable);

#[test]
fn what_is_no_table_is_refused_in_words() {
    let remove = |home: &Path, name: &str| std::fs::remove_file(home.join(name)).expect("a file");
    let cut = |home: &Path, name: &str| {
        let bytes = std::fs::read(home.join(name)).expect("a file");
        std::fs::write(home.join(name), &bytes[..bytes.len() / 2]).expect("a file");
    };
    let again = |home: &Path, table: &StaticTable| table.write(home);
    let cases: [(&str, Change<'_>, &[&str]); 14] = [
        ("no folder", &|home, _| std::fs::remove_dir_all(home).unwrap(), &["tiny: it is not there", "in `embed.path`"]),
        (
            "a file",
            &|home, _| {
                std::fs::remove_dir_all(home).unwrap();
                std::fs::write(home, "x").unwrap();
            },
            &["tiny: this is no folder", "name the folder"],
        ),
        (
            "no rows",
            &|home, _| remove(home, "model.safetensors"),
            &["model.safetensors: it is not there", "as model2vec"],
        ),
        (
            "no tokenizer",
            &|home, _| remove(home, "tokenizer.json"),
            &["tokenizer.json: it is not there", "as model2vec"],
        ),
        (
            "half of the rows",
            &|home, _| cut(home, "model.safetensors"),
            &["model.safetensors: tensor `embeddings`: ", "outside"],
        ),
        (
            "half a tokenizer",
            &|home, _| cut(home, "tokenizer.json"),
            &["tokenizer.json: ", "download or copy the table again"],
        ),
        (
            "a page",
            &|home, _| std::fs::write(home.join("model.safetensors"), "<html>sign in</html>").unwrap(),
            &["model.safetensors: not a safetensors file", "download or copy"],
        ),
        (
            "another kind of network",
            &|home, table| {
                table.tensors[0].name = "encoder.layer.0.weight";
                again(home, table);
            },
            &["tensor `embeddings`: is not there", "choose another table"],
        ),
        (
            "NaN",
            &|home, table| {
                table.tensors[0].bytes[128 * 4..][..2].fill(0xff);
                again(home, table);
            },
            &["row 4 of 9 holds what is not a number", "save it anew"],
        ),
        (
            "a row too few",
            &|home, table| {
                table.tensors[0].shape[0] -= 1;
                table.tensors[0].bytes.truncate(8 * 128);
                again(home, table);
            },
            &[
                "tokenizer.json: it has 9 tokens, numbered up to 8",
                "vectors for 8, numbered up to 7",
                "take both files from one",
            ],
        ),
        (
            "a token too few",
            &|home, table| {
                table.tokenizer["model"]["vocab"].as_object_mut().unwrap().remove("flour");
                again(home, table);
            },
            &["it has 8 tokens, numbered up to 8", "vectors for 9"],
        ),
        (
            "another model's tokenizer",
            &|home, table| {
                table.tokenizer = tables::word_piece(&["[UNK]", "one", "two"]);
                again(home, table);
            },
            &["it has 3 tokens, numbered up to 2", "vectors for 9", "of different models"],
        ),
        (
            "a tokenizer of another kind",
            &|home, table| {
                table.tokenizer["model"]["type"] = json!("WordLevel");
                again(home, table);
            },
            &["tokenizer.json: it is no WordPiece, Unigram or BPE tokenizer", "`WordLevel`", "another tokenizer"],
        ),
        (
            "a mapping too short",
            &|home, table| {
                table.tensors.push(Tensor::mapping(&[0, 1]));
                again(home, table);
            },
            &["vectors for 2, numbered up to 1"],
        ),
    ];
    for (name, change, words) in cases {
        let (folder, mut table) = written(Form::WordPiece);
        let home = folder.path().join("tiny");
        change(&home, &mut table);
        let error = StaticModel::open(&home).expect_err(name).to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{name}: {error}");
        assert!(error.starts_with(home.to_str().unwrap()) && !error.contains('\n'), "{name}: {error}");
    }
}

#[test]
fn how_its_author_padded_and_cut_is_nothing_to_us() {
    let (folder, mut table) = written(Form::WordPiece);
    let home = folder.path().join("tiny");
    table.tokenizer["truncation"] =
        json!({ "direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0 });
    table.tokenizer["padding"] = json!({
        "strategy": { "Fixed": 8 }, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 5, "pad_type_id": 0,
        "pad_token": "sea"
    });
    table.write(&home);
    let model = StaticModel::open(&home).expect("a table");
    assert_eq!(model.embed("bread bread bread sea"), opened(Form::WordPiece).embed("bread bread bread sea"));
    assert_eq!(model.embed("bread"), opened(Form::WordPiece).embed("bread"));
}

#[test]
fn a_line_of_megabytes_is_cut() {
    for form in [Form::WordPiece, Form::Unigram] {
        let model = opened(form);
        let text = format!("bread {}", "\u{e4}".repeat(2 << 20));
        assert_eq!(model.embed(&text), model.embed("bread"), "{form:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_text_has_a_vector(text in any::<String>()) {
        use std::sync::LazyLock;
        static MODELS: LazyLock<[StaticModel; 2]> =
            LazyLock::new(|| [Form::WordPiece, Form::Unigram].map(opened));
        for model in MODELS.iter() {
            let vector = model.embed(&format!("bread {text}"));
            prop_assert!(near(&vector, &vector) > 0.9);
            prop_assert!((0.0..=1.0).contains(&model.familiarity(&text)));
        }
    }
}
