//! The graph of links: parameters and answer of `graph`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::is_default;

/// By what notes are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// All of the others in one, 0..=1.
    #[default]
    Score,
    /// Where a reader who follows links at random comes by.
    Pagerank,
    /// On how many shortest paths between other notes it lies.
    Betweenness,
    /// How many notes link to it.
    In,
    /// How many notes it links to.
    Out,
    /// How many of its neighbours are linked with each other.
    Clustering,
}

/// Parameters of `graph`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GraphRequest {
    /// The vault by name; the default one if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// By what notes are ranked.
    #[serde(skip_serializing_if = "is_default")]
    pub by: Measure,
    /// Notes, orphans and unresolved targets at most, of each; 20 if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub limit: Option<usize>,
    /// Whether `edges` are wanted.
    #[serde(skip_serializing_if = "is_default")]
    pub edges: bool,
}

/// Answer of `graph`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphAnswer {
    /// The vault.
    pub vault: String,
    /// Sequence number of the snapshot that it is of.
    pub seq: u64,
    /// Whether that is still the one that answers searches.
    pub current: bool,
    /// Notes in all.
    pub note_count: u64,
    /// Pairs of notes of which one links to the other.
    pub link_count: u64,
    /// If betweenness is an estimate: from how many notes paths were followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<u64>,
    /// Then the standard error of the note whose betweenness is known least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Notes, those with most of the measure first.
    pub notes: Vec<GraphNote>,
    /// Links between the notes listed, as positions in `notes`; if they were wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<Vec<(u32, u32)>>,
    /// Notes without any link, in all.
    pub orphan_count: u64,
    /// The first of them, by path.
    pub orphans: Vec<String>,
    /// Targets that name no note, in all.
    pub unresolved_count: u64,
    /// Those that most notes link to.
    pub unresolved: Vec<GraphTarget>,
}

/// A note in the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphNote {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// 0..=1: 0.4 links to notes of high betweenness + 0.3 PageRank + 0.2 betweenness + 0.1 clustering, by rank.
    pub score: f32,
    /// PageRank; that of all notes adds up to 1.
    pub pagerank: f32,
    /// Betweenness, 0..=1.
    pub betweenness: f32,
    /// Local clustering coefficient, 0..=1.
    pub clustering: f32,
    /// Notes that it links to.
    pub links: u32,
    /// Notes that link to it.
    pub backlinks: u32,
}

/// A target that names no note.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphTarget {
    /// As one of the links writes it.
    pub target: String,
    /// Notes that link to it, in all.
    pub count: u64,
    /// The first ten of them.
    pub notes: Vec<String>,
}
