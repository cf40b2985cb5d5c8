//! How the states of a text's tokens become one vector.

use std::collections::BTreeMap;

use super::TransformerError;
use super::folder::{Folder, MOST_TEXT};

/// How the states of a text's tokens become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The mean of all, those that begin and end the text included.
    Mean,
    /// The state of the first token.
    First,
    /// Of each component the largest.
    Max,
    /// The state of the last token: if each token sees those before it, the last one has seen all.
    Last,
}

impl Pooling {
    /// One vector from the states of one text: rows of `width` values, at least one.
    pub(super) fn pool(self, states: &[f32], width: usize) -> Vec<f32> {
        let first = if self == Pooling::Last { states.len().saturating_sub(width) } else { 0 };
        let mut rows = states[first..].chunks_exact(width);
        let mut vector = rows.next().map_or_else(|| vec![0.0; width], <[f32]>::to_vec);
        match self {
            Pooling::First | Pooling::Last => {}
            Pooling::Mean => {
                rows.for_each(|row| vector.iter_mut().zip(row).for_each(|(sum, x)| *sum += x));
                let count = (states.len() / width).max(1) as f32;
                vector.iter_mut().for_each(|x| *x /= count);
            }
            Pooling::Max => rows.for_each(|row| vector.iter_mut().zip(row).for_each(|(most, x)| *most = most.max(*x))),
        }
        vector
    }

    /// What `file` says.
    pub(super) fn read(folder: &Folder, file: &str, width: usize) -> Result<Self, TransformerError> {
        let hint = "choose a model that takes the mean, the maximum, the first token or the last";
        let bytes = folder.must_read(file, "download the model again, with its folders", MOST_TEXT)?;
        let bad = |error: serde_json::Error| folder.damaged(file, error.to_string());
        let fields: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&bytes).map_err(bad)?;
        let size = fields.get("word_embedding_dimension").or_else(|| fields.get("embedding_dimension"));
        if let Some(size) = size.and_then(|size| size.as_u64()).filter(|size| *size != width as u64) {
            let problem = format!("it is for vectors of {size} values, and config.json says {width}");
            return Err(folder.mismatch(file, problem));
        }
        // Older files have a field for each mode, newer ones may name it.
        let named = fields.get("pooling_mode").and_then(|mode| mode.as_str()).map(str::to_owned);
        let ticked = fields.iter().filter(|(_, value)| value.as_bool() == Some(true));
        let ticked = ticked.filter_map(|(name, _)| Some(name.strip_prefix("pooling_mode_")?.to_owned()));
        let modes: Vec<String> = named.into_iter().chain(ticked).collect();
        let modes: Vec<&str> = modes.iter().map(|mode| mode.trim_end_matches("_tokens")).collect();
        match modes[..] {
            ["mean"] => Ok(Pooling::Mean),
            ["cls" | "cls_token"] => Ok(Pooling::First),
            ["max"] => Ok(Pooling::Max),
            ["lasttoken"] => Ok(Pooling::Last),
            [] => Err(folder.damaged(file, "it says no way of pooling")),
            _ => Err(folder.unsupported(file, format!("pooling by {} is not supported", modes.join(" and ")), hint)),
        }
    }
}
