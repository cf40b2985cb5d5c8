//! The user's consent: which models may be shown notes, and paid for it. The consent for a vault is in a file beside
//! its store, so that making the database anew loses neither a yes nor a refusal. The consent for the reranker, which
//! judges what all vaults answer, is in a file beside the vaults.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::now_s;
use context::models::{Model, Price};
use context::settings::{Consent, ContextConfig};
use index::embed::settings::EmbedConfig;
use protocol::contexts::{Estimate, Offer, OfferedWork};
use provider::Embeddings;

/// The file, in the folder of the vault's store or of all data.
const FILE: &str = "consent.json";

/// What a user agrees to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    provider: String,
    model: String,
    /// The host that notes are sent to; absent if they stay on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// What a user has agreed to, and when, seconds since 1970 (UTC).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Agreement {
    #[serde(flatten)]
    terms: Terms,
    at: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Agreements {
    agreed: Vec<Agreement>,
    /// What the user has taken back, or refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused: Vec<Terms>,
}

impl Terms {
    /// The terms that the user must agree to before a model may be asked. `None` if no consent is needed: the model is
    /// free and on this machine (no host `to`), or the configuration agrees to it.
    pub(crate) fn of(
        consent: Consent,
        (provider, model): (&str, &str),
        to: Option<String>,
        free: bool,
    ) -> Option<Terms> {
        let asks = consent == Consent::Ask && (to.is_some() || !free);
        asks.then(|| Terms { provider: provider.to_owned(), model: model.to_owned(), to })
    }

    /// The terms that the user must agree to before contexts are bought.
    pub(crate) fn of_contexts(config: &ContextConfig, model: &Model, to: Option<String>) -> Option<Terms> {
        Terms::of(config.consent, (model.provider.name(), &model.id), to, model.price == Price::Free)
    }

    /// The terms that the user must agree to before an embedder is shown notes. Opens no connection.
    pub(crate) fn of_embedder(config: &EmbedConfig) -> Option<Terms> {
        // A local embedder is not asked over HTTP, and one whose address is wrong cannot be asked at all.
        let client = Embeddings::new(config).ok()?;
        let free = client.price() == Some(0);
        Terms::of(config.consent, (config.provider.name(), config.model()), client.leaves_to(), free)
    }

    /// Whether the user has agreed.
    pub(crate) fn stand_in(&self, dir: &Path) -> bool {
        Agreements::read(dir).is_some_and(|agreements| agreements.hold(self))
    }

    /// Whether the user has taken a yes back.
    pub(crate) fn are_refused_in(&self, dir: &Path) -> bool {
        Agreements::read(dir).is_some_and(|agreements| agreements.refused.contains(self))
    }

    /// Whether the user has agreed to contexts. If contexts were bought before the user was ever asked, that counts as
    /// a yes: `bought` says so for a provider and a model, and is called once. A file that is lost agrees to nothing.
    pub(crate) fn are_agreed(&self, dir: &Path, bought: impl FnOnce(&str, &str) -> bool) -> bool {
        if let Some(agreements) = Agreements::read(dir) {
            return agreements.hold(self);
        }
        let agreed = bought(&self.provider, &self.model);
        let written = if agreed { self.set_agreed(dir, true) } else { Agreements::default().write(dir) };
        if let Err(error) = written {
            tracing::warn!(file = FILE, %error, "whether a model may be asked could not be written down");
        }
        agreed
    }

    /// The user says yes, or takes it back.
    ///
    /// # Errors
    /// The file cannot be written; then what was agreed before still holds.
    pub(crate) fn set_agreed(&self, dir: &Path, agreed: bool) -> std::io::Result<()> {
        let mut agreements = Agreements::read(dir).unwrap_or_default();
        agreements.agreed.retain(|agreement| agreement.terms != *self);
        agreements.refused.retain(|terms| terms != self);
        if agreed {
            agreements.agreed.push(Agreement { terms: self.clone(), at: now_s() });
        } else {
            agreements.refused.push(self.clone());
        }
        agreements.write(dir)
    }
}

/// Whether the user lets a model be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConsentState {
    /// What the user must agree to; `None` if no consent is needed.
    terms: Option<Terms>,
    agreed: bool,
}

impl ConsentState {
    /// Reads the file in `dir`.
    pub(crate) fn read(terms: Option<Terms>, dir: &Path) -> Self {
        ConsentState::read_or(terms, dir, |terms, dir| terms.stand_in(dir))
    }

    /// As [`ConsentState::read`]; but if consent is needed, `agreed` decides by the terms and the folder.
    pub(crate) fn read_or(terms: Option<Terms>, dir: &Path, agreed: impl FnOnce(&Terms, &Path) -> bool) -> Self {
        let agreed = terms.as_ref().is_none_or(|terms| agreed(terms, dir));
        ConsentState { terms, agreed }
    }

    /// Reads the file in `dir` again; tells whether the user has agreed, or need not.
    pub(crate) fn read_again(&mut self, dir: &Path) -> bool {
        self.agreed = self.terms.as_ref().is_none_or(|terms| terms.stand_in(dir));
        self.agreed
    }

    /// The offer of the model's work, if that needs consent; `vault` is empty if it is for all vaults.
    pub(crate) fn offer(&self, vault: &str, what: OfferedWork, estimate: Estimate) -> Option<Offer> {
        let Terms { provider, model, to } = self.terms.clone()?;
        let (vault, agreed) = (vault.to_owned(), self.is_agreed());
        Some(Offer { vault, what, provider, model, leaves_to: to, agreed, estimate, ..Offer::default() })
    }

    /// Whether the user has agreed, or need not.
    pub(crate) fn is_agreed(&self) -> bool {
        self.terms.is_none() || self.agreed
    }

    /// What the user must agree to; `None` if no consent is needed.
    pub(crate) fn terms(&self) -> Option<&Terms> {
        self.terms.as_ref()
    }

    /// Whether what the user confirmed under `confirmed` may go on. A former version did not write these terms down, and
    /// work that needed no consent had none: it goes on if the user has agreed to those in force.
    pub(crate) fn covers(&self, confirmed: Option<&Terms>) -> bool {
        self.terms.is_none() || confirmed.map_or(self.agreed, |terms| Some(terms) == self.terms.as_ref())
    }

    /// The user agrees, or takes it back; tells whether that changes anything.
    ///
    /// # Errors
    /// See [`Terms::set_agreed`].
    pub(crate) fn set_agreed(&mut self, dir: &Path, agreed: bool) -> std::io::Result<bool> {
        let Some(terms) = &self.terms else { return Ok(false) };
        terms.set_agreed(dir, agreed)?;
        Ok(std::mem::replace(&mut self.agreed, agreed) != agreed)
    }
}

impl Agreements {
    /// `None` if nobody was ever asked. A file that makes no sense agrees to nothing.
    fn read(dir: &Path) -> Option<Agreements> {
        let bytes = match std::fs::read(dir.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(file = FILE, %error, "it cannot be read: no model is asked before you agree again");
                return Some(Agreements::default());
            }
        };
        Some(serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            tracing::warn!(file = FILE, %error, "it makes no sense: no model is asked before you agree again");
            Agreements::default()
        }))
    }

    fn hold(&self, terms: &Terms) -> bool {
        self.agreed.iter().any(|agreement| agreement.terms == *terms)
    }

    fn write(&self, dir: &Path) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other)?;
        platform::files::replace(&dir.join(FILE), &text, 0o600)
    }
}

#[cfg(test)]
mod tests;
