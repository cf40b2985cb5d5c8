//! Ways of writing contexts: `generations` and what is done with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::is_default;

/// What the plain generation, that of `[context]`, is called.
pub const DEFAULT_GENERATION: &str = "default";

/// Result of `generations`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerationList {
    /// By vault, the plain one first.
    pub generations: Vec<GenerationInfo>,
}

/// A generation of contexts, in the answer of `generations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GenerationInfo {
    /// Vault.
    pub vault: String,
    /// Its name; `default` is that of `[context]`.
    pub name: String,
    /// Who writes its contexts.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// Whether searches are answered from it.
    pub active: bool,
    /// Whether it has an index.
    pub built: bool,
    /// Notes in it.
    pub notes: u64,
    /// Chunks in it.
    pub chunks: u64,
    /// Chunks for which its model is still to be asked.
    pub waiting: u64,
    /// Chunks for which its model gave nothing usable.
    pub failed: u64,
}

/// Parameters of `generations`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GenerationsRequest {
    /// The vault by name; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub vault: Option<String>,
}

/// Parameters of `generations.build`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildGenerationRequest {
    /// Its name in the configuration; `default` is that of `[context]`.
    pub name: String,
    /// The vault by name; all if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
    /// Only say what building it would take.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dry_run: bool,
}

/// Parameters of `generations.use`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UseGenerationRequest {
    /// Its name in the configuration; `default` is that of `[context]`.
    pub name: String,
    /// The vault by name; all if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
}

/// Parameters of `generations.drop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DropGenerationRequest {
    /// Its name in the configuration.
    pub name: String,
    /// The vault by name; all if absent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vault: Option<String>,
}
