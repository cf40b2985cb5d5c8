//! Tiny models against what other implementations make of them, and folders that are no models.

use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::batch::BATCH_TOKENS;
use super::testing::{Tiny, embedder, reranker, tiny};
use super::*;

#[derive(Deserialize)]
struct Golden {
    text: String,
}

fn texts() -> Vec<String> {
    let golden: Vec<Golden> =
        serde_json::from_str(include_str!("../../../tests/transformer/minilm.json")).expect("the file is JSON");
    golden.into_iter().map(|golden| golden.text).collect()
}

fn written(tiny: &Tiny) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    tiny.write(folder.path());
    folder
}

fn opened(tiny: &Tiny) -> Transformer {
    Transformer::open(written(tiny).path()).expect("a model")
}

fn near(a: &[f32], b: &[f32], most: f32) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= most)
}

#[test]
fn vectors_are_those_of_other_implementations() {
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut models = 0;
    for tiny in tiny().iter().filter(|tiny| tiny.mode.is_some()) {
        let model = opened(tiny);
        let ours = model.embed(&texts, TextRole::Document).expect("vectors");
        let theirs: Vec<Vec<f32>> = serde_json::from_value(tiny.answers.clone()).expect("vectors");
        assert_eq!(ours.len(), theirs.len());
        for ((ours, theirs), text) in ours.iter().zip(theirs).zip(&texts) {
            let theirs: Vec<f32> = theirs.iter().map(|x| x / 1e6).collect();
            let kind = &tiny.config["model_type"];
            assert!(near(ours, &theirs, 1e-5), "{kind} {:?}: {text:?}\n{ours:?}\n{theirs:?}", tiny.mode);
            // Neither the neighbours in a batch nor the padding leave a trace.
            let alone = model.embed(&[text], TextRole::Document).expect("a vector");
            assert!(near(&alone[0], ours, 2e-6), "{kind}: {text:?}");
        }
        models += 1;
    }
    assert_eq!(models, 7);
}

#[test]
fn scores_are_those_of_other_implementations() {
    #[derive(Deserialize)]
    struct Pair {
        query: String,
        passages: Vec<String>,
    }
    let pairs: Vec<Pair> =
        serde_json::from_str(include_str!("../../../tests/transformer/pairs.json")).expect("the file is JSON");
    let mut models = 0;
    for tiny in tiny().iter().filter(|tiny| tiny.mode.is_none()) {
        let folder = written(tiny);
        let [model, rounded] =
            [CrossEncoder::open_exact, CrossEncoder::open].map(|open| open(folder.path()).expect("a model"));
        let theirs: Vec<Vec<f32>> = serde_json::from_value(tiny.answers.clone()).expect("scores");
        for (Pair { query, passages }, theirs) in pairs.iter().zip(theirs) {
            let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
            let ours = model.scores(query, &passages).expect("scores");
            let kind = &tiny.config["model_type"];
            assert!(near(&ours, &theirs, 2e-6), "{kind}: {query:?}\n{ours:?}\n{theirs:?}");
            let about = rounded.scores(query, &passages).expect("scores");
            assert!(near(&about, &theirs, 2e-3), "{kind}: {query:?}\n{about:?}\n{theirs:?}");
        }
        models += 1;
    }
    assert_eq!(models, 8);
}

/// What rounding does to a real network, of which there is an embedder at hand and no reranker.
#[test]
#[ignore = "needs all-MiniLM-L6-v2: SITUATED_TEST_MINILM names its folder"]
fn rounded_layers_hardly_change_vectors() {
    #[derive(Deserialize)]
    struct Golden {
        text: String,
        vector: Vec<f32>,
    }
    let folder = PathBuf::from(std::env::var_os("SITUATED_TEST_MINILM").expect("SITUATED_TEST_MINILM names a folder"));
    let golden: Vec<Golden> =
        serde_json::from_str(include_str!("../../../tests/transformer/minilm.json")).expect("the file is JSON");
    let texts: Vec<&str> = golden.iter().map(|golden| golden.text.as_str()).collect();
    let [exact, rounded] = [false, true].map(|rounds| {
        let model = Transformer::read(&folder, rounds).expect("the model");
        model.embed(&texts, TextRole::Document).expect("vectors")
    });
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let least = |one: &[Vec<f32>]| {
        let alike = one.iter().zip(&golden).map(|(one, golden)| cosine(one, &golden.vector));
        alike.fold(1.0, f32::min)
    };
    let mut apart = 0.0_f32;
    for (one, other) in exact.iter().zip(&rounded) {
        for (one_of, other_of) in exact.iter().zip(&rounded) {
            apart = apart.max((cosine(one, one_of) - cosine(other, other_of)).abs());
        }
    }
    let (as_is, rounded) = (least(&exact), least(&rounded));
    eprintln!(
        "least cosine with theirs: {as_is:.6}, rounded {rounded:.6}; two texts' cosine changes by {apart:.6} at most"
    );
    assert!(rounded >= 0.9998 && apart <= 0.005);
}

#[test]
fn batches_are_small_and_their_results_in_order() {
    let lengths = [3, 700, 1, 400, 400, 2, 2000, 300, 1, 1024];
    let texts: Vec<Tokens> = lengths.iter().map(|n| Tokens { ids: vec![0; *n], types: vec![0; *n] }).collect();
    let seen = in_batches(&texts, |batch| {
        assert!(batch.lengths.len() == 1 || batch.ids.len() <= BATCH_TOKENS);
        Ok(batch.lengths.clone())
    });
    assert_eq!(seen.expect("results"), lengths);
    assert_eq!(in_batches(&[], |_| Ok(vec![0])), Ok(vec![]));
    let failed =
        in_batches::<u8>(&texts, |_| Err(TransformerError::Compute { folder: "x".into(), problem: "y".into() }));
    assert!(failed.is_err());
}

#[test]
fn models_are_for_many_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Transformer>();
    shared::<CrossEncoder>();
}

#[test]
fn fewer_threads_give_the_same() {
    let model = opened(&embedder());
    let texts = ["the shed needs a new roof", "who paints the boards"];
    let before = model.embed(&texts, TextRole::Query).expect("vectors");
    let model = model.with_threads(0).expect("one thread");
    assert!(before.iter().zip(model.embed(&texts, TextRole::Query).expect("vectors")).all(|(a, b)| near(a, &b, 2e-6)));
}

#[test]
fn identity_is_of_all_that_makes_vectors() {
    let identity = |change: &dyn Fn(&Path)| {
        let folder = written(&embedder());
        let home = folder.path().join("models--org--tiny/snapshots/0123");
        std::fs::create_dir_all(&home).expect("folders");
        embedder().write(&home);
        change(&home);
        Transformer::open(&home).expect("a model").identity()
    };
    let same = identity(&|_| {});
    assert!(same.starts_with("transformer org/tiny "), "{same}");
    assert_eq!(identity(&|_| {}), same);
    let put = |name: &'static str, value: Value| {
        move |home: &Path| std::fs::write(home.join(name), value.to_string()).expect("a file")
    };
    let other = tiny().into_iter().find(|tiny| tiny.mode.as_deref() == Some("max")).expect("another pooling");
    assert_ne!(identity(&|home| other.write(home)), same);
    assert_ne!(identity(&put("sentence_bert_config.json", json!({ "max_seq_length": 20 }))), same);
    assert_ne!(identity(&put("config_sentence_transformers.json", json!({ "prompts": { "passage": "the " } }))), same);
    assert_eq!(identity(&put("config_sentence_transformers.json", json!({ "prompts": { "query": "the " } }))), same);
    let weights = |home: &Path| {
        let file = home.join("model.safetensors");
        let mut bytes = std::fs::read(&file).expect("weights");
        // Of the last number the bit that counts least.
        let at = bytes.len() - 4;
        bytes[at] ^= 1;
        std::fs::write(file, bytes).expect("weights");
    };
    assert_ne!(identity(&weights), same);
}

#[test]
fn prefixes_are_those_of_the_folder_or_of_the_user() {
    let folder = written(&embedder());
    let model = || Transformer::open(folder.path()).expect("a model");
    let vector = |model: &Transformer, text: &str, kind| model.embed(&[text], kind).expect("a vector").remove(0);
    let plain = vector(&model(), "where the shed is", TextRole::Query);
    assert_eq!(vector(&model(), "where the shed is", TextRole::Document), plain);
    let say = |value: Value| {
        std::fs::write(folder.path().join("config_sentence_transformers.json"), value.to_string()).expect("a file");
    };
    say(json!({ "prompts": { "query": "where ", "document": "who ", "other": "ada " }, "default_prompt_name": null }));
    assert!(near(&vector(&model(), "the shed is", TextRole::Query), &plain, 2e-6));
    assert!(!near(&vector(&model(), "the shed is", TextRole::Document), &plain, 1e-3));
    say(json!({ "prompts": { "other": "where " }, "default_prompt_name": "other" }));
    assert!(near(&vector(&model(), "the shed is", TextRole::Document), &plain, 2e-6));
    let named = model().with_prefixes(None, Some(String::new()));
    assert!(near(&vector(&named, "where the shed is", TextRole::Document), &plain, 2e-6));
    assert!(near(&vector(&named, "the shed is", TextRole::Query), &plain, 2e-6));
}

#[test]
fn texts_are_cut_where_the_folder_says() {
    let folder = written(&embedder());
    let model = Transformer::open(folder.path()).expect("a model");
    assert_eq!((model.max_tokens(), model.dimensions()), (48, 16));
    assert_eq!(model.count("the shed needs a roofs"), 6);
    let write = |name: &str, value: Value| std::fs::write(folder.path().join(name), value.to_string()).expect("a file");
    write("tokenizer_config.json", json!({ "model_max_length": 1e30 }));
    assert_eq!(Transformer::open(folder.path()).expect("a model").max_tokens(), 48);
    write("tokenizer_config.json", json!({ "model_max_length": 20 }));
    assert_eq!(Transformer::open(folder.path()).expect("a model").max_tokens(), 20);
    write("sentence_bert_config.json", json!({ "max_seq_length": 10, "do_lower_case": true }));
    let model = Transformer::open(folder.path()).expect("a model");
    assert_eq!(model.max_tokens(), 10);
    let both = model.embed(&["a a a a a a a a", "a a a a a a a a the shed"], TextRole::Query).expect("vectors");
    assert!(near(&both[0], &both[1], 2e-6));
}

/// What is done to a good folder, and words that the error has.
type Case = (&'static str, &'static dyn Fn(&Path), &'static [&'static str]);

/// Changes a field of a JSON file; in a list, fields are places.
fn set(home: &Path, file: &str, field: &str, value: Value) {
    let file = home.join(file);
    let mut json: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    match field.parse::<usize>() {
        Ok(place) => json[place] = value,
        Err(_) => json[field] = value,
    }
    std::fs::write(file, json.to_string()).expect("a file");
}

fn remove(home: &Path, file: &str) {
    std::fs::remove_file(home.join(file)).expect("a file");
}

fn cut(home: &Path, file: &str) {
    let bytes = std::fs::read(home.join(file)).expect("a file");
    std::fs::write(home.join(file), &bytes[..bytes.len() / 2]).expect("a file");
}

const CASES: &[Case] = &[
    ("no folder", &|home| std::fs::remove_dir_all(home).expect("a folder"), &["is not there", "name the folder"]),
    ("no config", &|home| remove(home, "config.json"), &["config.json is not there"]),
    ("no weights", &|home| remove(home, "model.safetensors"), &["model.safetensors is not there", "saved anew"]),
    ("no tokenizer", &|home| remove(home, "tokenizer.json"), &["tokenizer.json is not there", "saved anew"]),
    ("no pooling", &|home| remove(home, "1_Pooling/config.json"), &["1_Pooling/config.json is not there"]),
    ("half a config", &|home| cut(home, "config.json"), &["config.json: ", "download the model again"]),
    ("half of the weights", &|home| cut(home, "model.safetensors"), &["model.safetensors: not a safetensors file"]),
    ("half a tokenizer", &|home| cut(home, "tokenizer.json"), &["tokenizer.json: ", "download the model again"]),
    ("half of the modules", &|home| cut(home, "modules.json"), &["modules.json: "]),
    ("another kind", &|home| set(home, "config.json", "model_type", json!("gpt2")), &["`gpt2`", "xlm-roberta"]),
    ("no kind", &|home| set(home, "config.json", "model_type", json!(null)), &["`model_type`"]),
    ("no heads", &|home| set(home, "config.json", "num_attention_heads", json!(0)), &["`num_attention_heads` is 0"]),
    ("odd heads", &|home| set(home, "config.json", "num_attention_heads", json!(3)), &["3 heads", "16"]),
    (
        "too many layers",
        &|home| set(home, "config.json", "num_hidden_layers", json!(1_u64 << 40)),
        &["encoder.layer.2."],
    ),
    ("another size", &|home| set(home, "config.json", "intermediate_size", json!(25)), &["[24, 16]", "[25, 16]"]),
    ("positions", &|home| set(home, "config.json", "max_position_embeddings", json!(3)), &["too few for a text"]),
    ("relative", &|home| set(home, "config.json", "position_embedding_type", json!("relative_key")), &["relative_key"]),
    ("activation", &|home| set(home, "config.json", "hidden_act", json!("mish")), &["`mish`"]),
    (
        "a reranker",
        &|home| set(home, "config.json", "architectures", json!(["BertForSequenceClassification"])),
        &["gives no vectors"],
    ),
    (
        "two poolings",
        &|home| set(home, "1_Pooling/config.json", "pooling_mode_cls_token", json!(true)),
        &["1_Pooling/config.json: pooling by cls_token and mean"],
    ),
    (
        "another width",
        &|home| set(home, "1_Pooling/config.json", "word_embedding_dimension", json!(17)),
        &["1_Pooling/config.json: ", "17", "16"],
    ),
    (
        "a dense step",
        &|home| set(home, "modules.json", "2", json!({ "type": "x.models.Dense", "path": "2_Dense" })),
        &["modules.json: ", "`Dense`"],
    ),
    (
        "a step outside",
        &|home| set(home, "modules.json", "1", json!({ "type": "x.models.Pooling", "path": "../x" })),
        &["modules.json: ", "`../x`"],
    ),
    (
        "another tokenizer",
        &|home| {
            let file = home.join("tokenizer.json");
            let text = std::fs::read_to_string(&file).expect("a file").replace("\"the\":5,", "\"the\":5,\"more\":60,");
            std::fs::write(file, text).expect("a file");
        },
        &["tokenizer.json: ", "60"],
    ),
    (
        "no numbers",
        &|home| {
            let file = home.join("model.safetensors");
            let mut bytes = std::fs::read(&file).expect("weights");
            let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
            bytes[8 + length..].fill(0xff);
            std::fs::write(file, bytes).expect("weights");
        },
        &["not a number"],
    ),
];

#[test]
fn what_is_no_model_is_refused_in_words() {
    for (name, change, words) in CASES {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("tiny");
        std::fs::create_dir(&home).expect("a folder");
        embedder().write(&home);
        change(&home);
        let error = Transformer::open(&home).and_then(|model| model.embed(&["the secret shed"], TextRole::Document));
        let error = error.expect_err(name).to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{name}: {error}");
        assert!(error.contains("tiny") && !error.contains("secret"), "{name}: {error}");
    }
}

#[test]
fn what_is_no_reranker_is_refused_in_words() {
    let folder = written(&embedder());
    let error = CrossEncoder::open(folder.path()).expect_err("an embedder").to_string();
    assert!(error.contains("no reranker"), "{error}");
    let folder = written(&reranker());
    let error = Transformer::open(folder.path()).expect_err("a reranker").to_string();
    assert!(error.contains("gives no vectors"), "{error}");
    let model = CrossEncoder::open(folder.path()).expect("a model").with_threads(1).expect("a thread");
    assert_eq!(model.max_tokens(), 48);
    assert!(model.identity().starts_with("reranker "));
    assert_eq!(model.scores("a", &[]), Ok(vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_has_a_vector_and_a_score(text in any::<String>(), other in any::<String>()) {
        use std::sync::LazyLock;
        static EMBEDDER: LazyLock<Transformer> = LazyLock::new(|| opened(&embedder()));
        static RERANKER: LazyLock<CrossEncoder> =
            LazyLock::new(|| CrossEncoder::open(written(&reranker()).path()).expect("a model"));
        let vectors = EMBEDDER.embed(&[&text, &other], TextRole::Document).expect("vectors");
        for vector in &vectors {
            prop_assert!((vector.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
        }
        let scores = RERANKER.scores(&text, &[&other, &text]).expect("scores");
        prop_assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
    }
}
