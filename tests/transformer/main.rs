//! A real model against what another implementation of it gives (`minilm.json`, written by `reference.py`). The model,
//! all-MiniLM-L6-v2, is not here: `SITUATED_TEST_MINILM` names its folder.

use std::path::PathBuf;

use provider::transformer::{TextRole, Transformer};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    text: String,
    /// With those that begin and end it.
    ids: Vec<u32>,
    /// Ten thousandths.
    vector: Vec<f32>,
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
#[ignore = "needs all-MiniLM-L6-v2, which .ci/peers installs"]
fn vectors_are_those_of_another_implementation() {
    let folder = std::env::var_os("SITUATED_TEST_MINILM").expect("SITUATED_TEST_MINILM names a folder");
    let folder = PathBuf::from(folder);
    let model = Transformer::open(&folder).expect("the model");
    assert_eq!((model.dimensions(), model.max_tokens()), (384, 256));
    let golden: Vec<Golden> = serde_json::from_str(include_str!("minilm.json")).expect("the file is JSON");
    let texts: Vec<&str> = golden.iter().map(|golden| golden.text.as_str()).collect();
    let ours = model.embed(&texts, TextRole::Document).expect("vectors");
    let mut worst = 1.0_f32;
    for (Golden { text, ids, vector }, ours) in golden.iter().zip(&ours) {
        assert_eq!((model.count(text) + 2).min(256), ids.len(), "{text:?}");
        let alike = cosine(ours, vector);
        assert!(alike >= 0.9999, "{text:?}: {alike}");
        worst = worst.min(alike);
    }
    assert_eq!(ours.len(), 22);
    eprintln!("{}: the least cosine of {} texts is {worst:.7}", model.identity(), ours.len());
}
