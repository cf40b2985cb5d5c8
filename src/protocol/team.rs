//! A team's vaults: what is published and read, and how that stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::TeamSaving;
use crate::is_default;

/// Parameters of `team.status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamStatusRequest {
    /// The team by its name in the configuration; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub team: Option<String>,
}

/// Parameters of `team.init`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamInitRequest {
    /// The team by its name in the configuration.
    pub team: String,
    /// Whether vectors are first looked at by one bit per value instead of one byte: for tens of millions of chunks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bits: bool,
}

/// Parameters of `team.publish`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamPublishRequest {
    /// The team by its name in the configuration; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub team: Option<String>,
    /// Whether vaults are taken over from another keeper.
    #[serde(skip_serializing_if = "is_default")]
    pub take_over: bool,
}

/// Parameters of `team.verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TeamVerifyRequest {
    /// The team by its name in the configuration; all if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub team: Option<String>,
}

/// Parameters of `team.drop`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamDropRequest {
    /// The team by its name in the configuration: its collection goes with all vaults of all keepers.
    pub team: String,
}

/// Answer of `team.status`, `team.init` and `team.publish`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamList {
    /// In order of name.
    pub teams: Vec<TeamInfo>,
}

/// How a team's collection stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamInfo {
    /// The name in the configuration.
    pub name: String,
    /// Host, and port, of its server.
    pub host: String,
    /// The collection there.
    pub collection: String,
    /// Whether searches ask it.
    pub searched: bool,
    /// Version of the server.
    #[serde(default, skip_serializing_if = "is_default")]
    pub server: String,
    /// Who made its vectors.
    #[serde(default, skip_serializing_if = "is_default")]
    pub embedder: String,
    /// Points in it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub points: u64,
    /// Its vaults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vaults: Vec<TeamVault>,
    /// What was not bought this month, for it had it; absent if it had nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub saved: Option<TeamSaving>,
    /// What keeps it from being read or written, with what to do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub problem: Option<String>,
}

/// A vault of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamVault {
    /// Its name.
    pub name: String,
    /// Where its keeper is.
    pub keeper: String,
    /// Number of its last revision.
    pub revision: u64,
    /// Whether it is published from here.
    pub own: bool,
    /// Of one that is published from here: notes that are there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notes: u64,
    /// Of one that is published from here: notes that are still to be written or taken away.
    #[serde(default, skip_serializing_if = "is_default")]
    pub left: u64,
    /// Of one that is published from here: why it is not up to date, with what to do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub problem: Option<String>,
}

/// Answer of `team.verify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TeamDifferences {
    /// The vaults that are published from here.
    pub vaults: Vec<VaultDifferences>,
}

/// What differed between a vault here and its notes in a collection, and was mended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultDifferences {
    /// The team.
    pub team: String,
    /// The vault.
    pub vault: String,
    /// Notes that were compared.
    pub notes: usize,
    /// Points that were looked at.
    pub points: usize,
    /// How many differences there were.
    pub differences: usize,
    /// Notes that were not there; the first of them.
    pub missing: Vec<String>,
    /// Notes that were there in another state; the first of them.
    pub outdated: Vec<String>,
    /// Notes that were not there as they were written; the first of them.
    pub damaged: Vec<String>,
    /// Notes that are not to be there; the first of them.
    pub extra: Vec<String>,
    /// Points that nobody could see.
    pub left_over: usize,
    /// Points that are not situated's; they were left alone.
    pub foreign: usize,
}
