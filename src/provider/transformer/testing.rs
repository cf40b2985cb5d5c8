//! Tiny models, written to a folder. Their weights come from a formula, and what other implementations make of them
//! stands in `tests/transformer/`, with the programs that wrote it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

/// A model and what it answers.
#[derive(Debug, Deserialize)]
pub(crate) struct Tiny {
    /// `tokenizer.json`, if absent.
    tokenizer: Option<String>,
    /// Of pooling; `None` for a reranker.
    pub(crate) mode: Option<String>,
    pub(crate) config: Value,
    /// Shapes.
    tensors: BTreeMap<String, Vec<usize>>,
    pub(crate) answers: Value,
}

/// All tiny models.
pub(crate) fn tiny() -> Vec<Tiny> {
    let read = |text| serde_json::from_str::<Vec<Tiny>>(text).expect("the file is JSON");
    let mut all = read(include_str!("../../../tests/transformer/tiny.json"));
    all.extend(read(include_str!("../../../tests/transformer/tiny_torch.json")));
    all
}

/// The first tiny embedder, of the kind bert: 16 values, 48 tokens.
pub(crate) fn embedder() -> Tiny {
    tiny().into_iter().find(|tiny| tiny.mode.is_some()).expect("an embedder")
}

/// The first tiny reranker.
pub(crate) fn reranker() -> Tiny {
    tiny().into_iter().find(|tiny| tiny.mode.is_none()).expect("a reranker")
}

impl Tiny {
    /// Writes the files of the model.
    pub(crate) fn write(&self, folder: &Path) {
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
        write("config.json", &self.config.to_string());
        let tokenizer = match self.tokenizer.as_deref() {
            Some("chat.json") => include_str!("../../../tests/transformer/chat.json"),
            _ => include_str!("../../../tests/transformer/tokenizer.json"),
        };
        write("tokenizer.json", tokenizer);
        if let Some(mode) = &self.mode {
            let step = |kind: &str, path: &str| json!({ "type": format!("sentence_transformers.models.{kind}"), "path": path });
            let steps = [step("Transformer", ""), step("Pooling", "1_Pooling"), step("Normalize", "2_Normalize")];
            write("modules.json", &json!(steps).to_string());
            std::fs::create_dir_all(folder.join("1_Pooling")).expect("a folder");
            let modes = ["cls_token", "mean_tokens", "max_tokens", "lasttoken"];
            let modes = modes.map(|name| (format!("pooling_mode_{name}"), json!(name.starts_with(mode.as_str()))));
            let mut pooling: serde_json::Map<String, Value> = modes.into_iter().collect();
            pooling.insert("word_embedding_dimension".to_owned(), json!(16));
            write("1_Pooling/config.json", &Value::from(pooling).to_string());
        }
        let (mut header, mut body) = (serde_json::Map::new(), Vec::new());
        for (name, shape) in &self.tensors {
            let start = body.len();
            body.extend(tensor(name, shape.iter().product()).iter().flat_map(|x| x.to_le_bytes()));
            header.insert(name.clone(), json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, body.len()] }));
        }
        let header = Value::from(header).to_string();
        let length = (header.len() as u64).to_le_bytes();
        let file = [&length[..], header.as_bytes(), &body].concat();
        std::fs::write(folder.join("model.safetensors"), file).expect("weights");
    }
}

/// Numbers from -0.25 to 0.25, about 1 for the scales of norms: a linear congruential generator, seeded by FNV-1a.
fn tensor(name: &str, count: usize) -> Vec<f32> {
    let seed = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let middle = if name.ends_with("orm.weight") { 1.0 } else { 0.0 };
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.5 + middle
        })
        .collect()
}
