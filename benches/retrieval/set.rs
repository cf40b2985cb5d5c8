//! A set on the disk, its vault laid out for a daemon, and how a hit of the daemon becomes ids of the set.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use index::eval::set::{HitPlace, Query};
use serde::Deserialize;
use serde_json::Value;

use crate::common;
use crate::common::rng::Rng;
use crate::typos;

/// A set to be asked.
pub(crate) struct Set {
    /// Name of its folder.
    pub(crate) name: String,
    /// Whether it comes with a vault.
    pub(crate) has_vault: bool,
    inner: index::eval::Set,
}

impl Set {
    /// Reads the set in `dir` and puts its vault into `vault`: a copy of its own, or else one note per document.
    pub(crate) fn load(dir: &Path, vault: &Path) -> Result<Self> {
        let name = dir.file_name().map(|n| n.to_string_lossy().into_owned()).context("a folder has a name")?;
        let text = |name: &str| {
            std::fs::read_to_string(dir.join(name)).with_context(|| format!("cannot read {}", dir.join(name).display()))
        };
        let own = dir.join("vault");
        let has_vault = own.is_dir();
        let mut texts = BTreeMap::new();
        if has_vault {
            common::copy(&own, vault)?;
            for file in common::notes(vault)? {
                let path = file.strip_prefix(vault).unwrap_or(&file).to_string_lossy().into_owned();
                texts.insert(path, String::from_utf8_lossy(&std::fs::read(&file)?).into_owned());
            }
        }
        let own = has_vault.then_some(&texts);
        let set = index::eval::Set::read(&text("corpus.jsonl")?, &text("queries.jsonl")?, &text("qrels.tsv")?, own)?;
        if !has_vault {
            std::fs::create_dir_all(vault)?;
            for (path, text) in set.notes() {
                std::fs::write(vault.join(path), text)?;
            }
        }
        Ok(Set { name, has_vault, inner: set })
    }

    /// Queries that something is relevant to.
    pub(crate) fn queries(&self) -> &[Query] {
        &self.inner.queries
    }

    /// Misspells one word of each query.
    pub(crate) fn misspell(&mut self, seed: u64) {
        let mut rng = Rng::new(seed);
        for query in &mut self.inner.queries {
            query.text = typos::misspelt(&query.text, &mut rng);
        }
    }

    /// Documents that could not be found in the vault.
    pub(crate) fn lost(&self) -> usize {
        self.inner.missing.len()
    }

    /// How many hits of one note to ask for.
    pub(crate) fn per_note(&self) -> usize {
        self.inner.per_note()
    }

    /// The ids that the hits stand for, best first, each once.
    pub(crate) fn rank(&self, hits: &[Value]) -> Vec<String> {
        let line = |hit: &Value, field: &str| hit[field].as_u64().unwrap_or(0) as u32;
        self.inner.rank(hits.iter().map(|hit| HitPlace {
            path: hit["path"].as_str().unwrap_or_default(),
            line: line(hit, "line"),
            end_line: line(hit, "end_line"),
        }))
    }
}

/// What the lines of a file of JSON Lines are.
pub(crate) fn json_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    lines.map(|l| serde_json::from_str(l).with_context(|| path.display().to_string())).collect()
}
