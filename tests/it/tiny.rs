//! Tiny networks in the form of sentence-transformers, as tests write them: `tests/transformer/tiny.json` has what they are,
//! and their weights come from a formula. As `src/provider/transformer/testing.rs`, but without anything of the program.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

const MODELS: &str = include_str!("../transformer/tiny.json");
const TOKENIZER: &str = include_str!("../transformer/tokenizer.json");

/// A network.
#[derive(Debug, Deserialize)]
pub(crate) struct Network {
    /// Of pooling; `None` for a reranker.
    mode: Option<String>,
    config: Value,
    /// Shapes.
    tensors: BTreeMap<String, Vec<usize>>,
}

impl Network {
    /// The first that judges pairs.
    pub(crate) fn reranker() -> Self {
        Network::first(|network| network.mode.is_none())
    }

    /// The first that gives vectors: 16 numbers.
    pub(crate) fn embedder() -> Self {
        Network::first(|network| network.mode.is_some())
    }

    fn first(fits: impl Fn(&Network) -> bool) -> Self {
        let all: Vec<Network> = serde_json::from_str(MODELS).expect("the file is JSON");
        all.into_iter().find(fits).expect("a network")
    }

    /// Its files.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::from([
            ("config.json".to_owned(), self.config.to_string().into_bytes()),
            ("tokenizer.json".to_owned(), TOKENIZER.as_bytes().to_vec()),
            ("model.safetensors".to_owned(), self.weights()),
        ]);
        if let Some(mode) = &self.mode {
            let step = |kind: &str, path: &str| json!({ "type": format!("sentence_transformers.models.{kind}"), "path": path });
            let steps = [step("Transformer", ""), step("Pooling", "1_Pooling"), step("Normalize", "2_Normalize")];
            files.insert("modules.json".to_owned(), json!(steps).to_string().into_bytes());
            let modes = ["cls_token", "mean_tokens", "max_tokens"];
            let modes = modes.map(|name| (format!("pooling_mode_{name}"), json!(name.starts_with(mode.as_str()))));
            let mut pooling: Map<String, Value> = modes.into_iter().collect();
            pooling.insert("word_embedding_dimension".to_owned(), json!(16));
            files.insert("1_Pooling/config.json".to_owned(), Value::from(pooling).to_string().into_bytes());
        }
        files
    }

    /// Writes them to a folder.
    pub(crate) fn write(&self, folder: &Path) {
        for (name, bytes) in self.files() {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
        }
    }

    /// `model.safetensors`: the length of a header, the header, and all numbers.
    fn weights(&self) -> Vec<u8> {
        let (mut header, mut body) = (Map::new(), Vec::new());
        for (name, shape) in &self.tensors {
            let begin = body.len();
            body.extend(numbers(name, shape.iter().product()).flat_map(f32::to_le_bytes));
            let entry = json!({ "dtype": "F32", "shape": shape, "data_offsets": [begin, body.len()] });
            header.insert(name.clone(), entry);
        }
        let mut header = Value::from(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        [&(header.len() as u64).to_le_bytes()[..], &header, &body].concat()
    }
}

/// Numbers from -0.25 to 0.25, about 1 for the scales of norms: a linear congruential generator, seeded by FNV-1a.
fn numbers(name: &str, count: usize) -> impl Iterator<Item = f32> {
    let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    let middle = if name.ends_with("orm.weight") { 1.0 } else { 0.0 };
    (0..count).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.5 + middle
    })
}
