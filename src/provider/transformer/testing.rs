//! Tiny models, written to a folder. Their weights come from a formula, and what other implementations make of them
//! stands in `tests/transformer/`, with the program that wrote it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use candle_core::{Device, Tensor};
use serde::Deserialize;
use serde_json::{Value, json};

/// A model and what it answers.
#[derive(Debug, Deserialize)]
pub(crate) struct Tiny {
    /// Of pooling; `None` for a reranker.
    pub(crate) mode: Option<String>,
    pub(crate) config: Value,
    /// Shapes.
    tensors: BTreeMap<String, Vec<usize>>,
    pub(crate) answers: Value,
}

/// All tiny models.
pub(crate) fn tiny() -> Vec<Tiny> {
    serde_json::from_str(include_str!("../../../tests/transformer/tiny.json")).expect("the file is JSON")
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
        write("tokenizer.json", include_str!("../../../tests/transformer/tokenizer.json"));
        if let Some(mode) = &self.mode {
            let step = |kind: &str, path: &str| json!({ "type": format!("sentence_transformers.models.{kind}"), "path": path });
            let steps = [step("Transformer", ""), step("Pooling", "1_Pooling"), step("Normalize", "2_Normalize")];
            write("modules.json", &json!(steps).to_string());
            std::fs::create_dir_all(folder.join("1_Pooling")).expect("a folder");
            let modes = ["cls_token", "mean_tokens", "max_tokens"];
            let modes = modes.map(|name| (format!("pooling_mode_{name}"), json!(name.starts_with(mode.as_str()))));
            let mut pooling: serde_json::Map<String, Value> = modes.into_iter().collect();
            pooling.insert("word_embedding_dimension".to_owned(), json!(16));
            write("1_Pooling/config.json", &Value::from(pooling).to_string());
        }
        let tensors = self.tensors.iter().map(|(name, shape)| (name.clone(), tensor(name, shape)));
        let tensors: HashMap<String, Tensor> = tensors.collect();
        candle_core::safetensors::save(&tensors, folder.join("model.safetensors")).expect("weights");
    }
}

/// Numbers from -0.25 to 0.25, about 1 for the scales of norms: a linear congruential generator, seeded by FNV-1a.
fn tensor(name: &str, shape: &[usize]) -> Tensor {
    let seed = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let middle = if name.ends_with("orm.weight") { 1.0 } else { 0.0 };
    let mut state = seed;
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.5 + middle
        })
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu).expect("a tensor")
}
