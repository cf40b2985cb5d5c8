//! The built-in model in the form of model2vec, so that the two ways to the same table can be compared.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::tables::{self, StaticTable, Tensor};

static FILE: &[u8] = include_bytes!("../../src/index/embed/static-v1.safetensors");

/// Writes it: rows in half precision, each multiplied with its factor, and BERT's tokenizer with the same pieces.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let (length, rest) = FILE.split_first_chunk::<8>().context("the file has a length")?;
    let (header, body) = rest.split_at(usize::try_from(u64::from_le_bytes(*length))?);
    let header: Value = serde_json::from_slice(header)?;
    let tensor = |name: &str| {
        let place = |i: usize| header[name]["data_offsets"][i].as_u64().map(|n| n as usize);
        let bytes = place(0).zip(place(1)).and_then(|(start, end)| body.get(start..end));
        bytes.with_context(|| format!("no tensor `{name}`"))
    };
    let vocabulary: Vec<&str> = std::str::from_utf8(tensor("vocab")?)?.split('\n').collect();
    let (rows, scales) = (tensor("emb")?, tensor("scale")?.as_chunks().0);
    let width = rows.len() / vocabulary.len();
    let rows: Vec<Vec<f32>> = rows
        .chunks_exact(width)
        .zip(scales)
        .map(|(row, scale)| row.iter().map(|x| f32::from_le_bytes(*scale) * f32::from(x.cast_signed())).collect())
        .collect();
    let tokenizer = tables::word_piece(&vocabulary);
    StaticTable { tensors: vec![Tensor::rows(&rows, tables::Kind::F16)], tokenizer }.write(folder);
    println!("{}: {} tokens of {width} numbers", folder.display(), vocabulary.len());
    Ok(())
}
