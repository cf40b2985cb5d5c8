//! How notes are to be cut: strategies, sizes, and what differs between kinds of notes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// How notes are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Strategy {
    /// Sections by heading, small neighbours under one parent merged, daily notes whole.
    Obsidian,
    /// Sections by heading, never merged.
    Markdown,
    /// As `Obsidian`, but sections above `target` are cut where neighbouring sentences are least alike.
    Semantic,
    /// Whole sentences up to `target`; a heading begins a new chunk once `min` is reached.
    Sentence,
    /// Windows of `target` tokens with overlap, headings ignored.
    Fixed,
}

impl Strategy {
    /// All of them, in the order in which messages list them.
    pub const ALL: &[Strategy] = Self::VARIANTS;

    /// As it is written in the configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One way of cutting; sizes in tokens of the built-in tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkConfig {
    /// The strategy.
    pub strategy: Strategy,
    /// The size that a chunk should reach before the next one begins.
    pub target: u32,
    /// Below this a chunk is merged with a neighbour where the strategy allows.
    pub min: u32,
    /// No chunk is longer, not counting what it repeats of the one before: even a line is cut.
    pub max: u32,
    /// Share of `target` repeated where a section has to be split, in percent.
    pub overlap_percent: u32,
}

impl Default for ChunkConfig {
    fn default() -> Self {
        ChunkConfig { strategy: Strategy::Obsidian, target: 500, min: 100, max: 800, overlap_percent: 15 }
    }
}

impl ChunkConfig {
    /// A strategy with the sizes that suit it, found with `benches/chunking.rs`.
    pub fn of(strategy: Strategy) -> Self {
        let (target, min, max, overlap_percent) = match strategy {
            Strategy::Obsidian | Strategy::Markdown | Strategy::Fixed => {
                return ChunkConfig { strategy, ..Self::default() };
            }
            Strategy::Semantic => (250, 60, 500, 0),
            Strategy::Sentence => (250, 60, 500, 15),
        };
        ChunkConfig { strategy, target, min, max, overlap_percent }
    }

    /// The most tokens that a part of a split section repeats of the part before.
    pub(super) fn overlap_tokens(&self) -> u32 {
        self.target * self.overlap_percent / 100
    }

    /// Names everything that decides how a note is cut.
    pub fn identity(&self) -> String {
        let ChunkConfig { strategy, target, min, max, overlap_percent } = self;
        // The version rises when the same sizes cut differently: with 2, parts of a section overlap by sentences too.
        let version = if matches!(strategy, Strategy::Obsidian | Strategy::Markdown) { 2 } else { 1 };
        format!("{}/{version} {target} {min} {max} {overlap_percent}", strategy.name())
    }
}

/// How the notes of a vault are cut: one way for all, and others for the notes of some kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkRules {
    /// For notes of no kind, and of all kinds that are not in `types`.
    pub plain: ChunkConfig,
    /// By [kind](crate::Note::kind), in whatever case it is written.
    pub types: BTreeMap<String, ChunkConfig>,
}

impl ChunkRules {
    /// How notes of a kind are cut.
    pub fn of(&self, kind: Option<&str>) -> &ChunkConfig {
        let of = |kind: &str| self.types.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind));
        kind.and_then(of).map_or(&self.plain, |(_, config)| config)
    }

    /// Names everything that decides how any note is cut: part of the generation.
    pub fn identity(&self) -> String {
        let mut identity = self.plain.identity();
        for (kind, config) in &self.types {
            let _ = write!(identity, ", {kind:?} {}", config.identity());
        }
        identity
    }
}

impl From<ChunkConfig> for ChunkRules {
    fn from(plain: ChunkConfig) -> Self {
        ChunkRules { plain, types: BTreeMap::new() }
    }
}
