//! The daemon itself: `hello`, its configuration, its end.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audience::Audience;
use crate::envelope::PROTOCOL;
use crate::events::MAX_WATCHES;
use crate::frame::{MAX_REPLY, MAX_REQUEST};
use crate::is_default;
use crate::search::MAX_HITS;

/// Nothing to tell: it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Nothing {}

/// What the daemon can do, as `hello` tells it: what was added to protocol 1 since. A client that needs one of these
/// looks for it first.
pub const FEATURES: &[&str] = &[
    "search",
    "related",
    "ask",
    "plan",
    "progress",
    "subscribe",
    "watch",
    "recent",
    "audience",
    "strict",
    "include",
    "names",
    "grep",
    "texts",
];

macro_rules! without_parameters {
    ($($name:ident $method:literal,)+) => {
        $(
            #[doc = concat!("Parameters of `", $method, "`: none.")]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
            #[serde(default)]
            pub struct $name {}
        )+
    };
}

without_parameters! {
    PingRequest "ping",
    CostRequest "cost",
    ResumeRequest "resume",
    CheckConfigRequest "config.check",
    ReloadRequest "reload",
    ShutdownRequest "shutdown",
}

/// Parameters of `hello`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HelloRequest {
    /// The version that the client would like; 1 if absent.
    #[serde(skip_serializing_if = "is_default")]
    pub protocol: Option<u32>,
    /// Name and version of the client.
    #[serde(skip_serializing_if = "is_default")]
    pub client: Option<String>,
    /// Who asks; changes nothing here.
    #[serde(skip_serializing_if = "is_default")]
    pub audience: Audience,
}

impl HelloRequest {
    /// Of a client of this version that calls itself so.
    pub fn of(client: &str) -> Self {
        HelloRequest { protocol: Some(PROTOCOL), client: Some(client.to_owned()), ..Self::default() }
    }
}

/// Result of `hello`. It can be read of any daemon, for it is what tells how old one is: what it does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Welcome {
    /// The version in force.
    pub protocol: u32,
    /// All versions that the daemon speaks.
    pub protocols: Vec<u32>,
    /// Who answers.
    pub server: ServerInfo,
    /// The vaults that can be named.
    pub vaults: Vec<VaultInfo>,
    /// What is refused beyond.
    pub limits: ServerLimits,
    /// What the daemon can do.
    pub features: Vec<String>,
    /// Whether assistants may have a model asked that costs (`mcp.allow_spending`).
    pub assistants_may_spend: bool,
}

impl Welcome {
    /// Whether the daemon can do this.
    pub fn knows(&self, feature: &str) -> bool {
        self.features.iter().any(|known| known == feature)
    }
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerInfo {
    /// `situated`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
}

/// What is refused beyond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerLimits {
    /// Bytes of a request line.
    pub request_bytes: usize,
    /// Bytes of a reply line.
    pub reply_bytes: usize,
    /// Hits of an answer.
    pub hits: usize,
    /// Watches of a connection; 0 if the daemon knows none.
    pub watches: usize,
}

impl ServerLimits {
    /// Those of this daemon.
    pub fn here() -> Self {
        ServerLimits { request_bytes: MAX_REQUEST, reply_bytes: MAX_REPLY, hits: MAX_HITS, watches: MAX_WATCHES }
    }
}

/// A vault that the daemon serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultInfo {
    /// Its name.
    pub name: String,
    /// Its root.
    pub path: PathBuf,
    /// Whether it is meant when a request names no vault.
    pub default: bool,
}

/// Result of `config.check` and `reload`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problems {
    /// What is wrong; empty if nothing is.
    pub problems: Vec<Problem>,
    /// Of `reload`: whether the daemon starts itself anew to put the configuration in force, for it may do only what it needed
    /// when it started. Connections end when they are answered; who connects then waits until it is back, a moment.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restarts: bool,
}

/// Something wrong in the configuration: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The file, unless the value came from the environment, a flag, or the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// 1-based line in `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based column in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The key with its section (`search.limit`, `vault.notes.path`), if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, ":{line}:{column}")?;
            }
            f.write_str(": ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}
