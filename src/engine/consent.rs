//! The user's consent: which models may be shown a vault's notes, and paid for it. It stands in a file beside the
//! vault's store, so that a database that is made anew forgets no refusal and no yes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::now_s;
use crate::writer::Writer;
use context::models::Price;
use context::settings::{Consent, ContextConfig};

/// The file, in the folder of the vault's store.
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
}

impl Terms {
    /// What is to be agreed to before a writer may be asked; `None` if nobody has to: what is free and stays on this
    /// machine needs no consent, nor does what the configuration agrees to.
    pub(crate) fn of(writer: &Writer, config: &ContextConfig) -> Option<Terms> {
        let (model, to) = (&writer.author.model, writer.author.client.leaves_to());
        let asks = config.consent == Consent::Ask && (to.is_some() || model.price != Price::Free);
        let terms = Terms { provider: model.provider.name().to_owned(), model: model.id.clone(), to };
        asks.then_some(terms)
    }

    /// Whether the user has agreed. What was bought before anybody was asked counts as a yes: `bought` says of a
    /// provider and a model whether that was so, and is asked once.
    pub(crate) fn are_agreed(&self, dir: &Path, bought: impl FnOnce(&str, &str) -> bool) -> bool {
        if let Some(agreements) = Agreements::read(dir) {
            return agreements.agreed.iter().any(|agreement| agreement.terms == *self);
        }
        let agreed = bought(&self.provider, &self.model);
        if let Err(error) = self.set_agreed(dir, agreed) {
            tracing::warn!(file = FILE, %error, "whether contexts may be bought could not be written down");
        }
        agreed
    }

    /// The user says yes, or takes it back.
    ///
    /// # Errors
    /// The file cannot be written; then what was agreed before still is.
    pub(crate) fn set_agreed(&self, dir: &Path, agreed: bool) -> std::io::Result<()> {
        let mut agreements = Agreements::read(dir).unwrap_or_default();
        agreements.agreed.retain(|agreement| agreement.terms != *self);
        if agreed {
            agreements.agreed.push(Agreement { terms: self.clone(), at: now_s() });
        }
        agreements.write(dir)
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

    fn write(&self, dir: &Path) -> std::io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(std::io::Error::other)?;
        crate::host::replace(dir, FILE, &text)
    }
}

#[cfg(test)]
mod tests;
