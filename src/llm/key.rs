//! Stand-in until the real module is merged: a bearer key from a file.

use secrecy::SecretString;

use crate::context::settings::{KeyConfig, Provider};

pub(super) enum Key {
    Bearer(SecretString),
    Aws { access: SecretString, secret: SecretString, session: Option<SecretString> },
}

pub(super) fn find(_provider: Provider, config: &KeyConfig) -> Result<Option<Key>, String> {
    let Some(file) = &config.file else { return Ok(None) };
    let key = std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(Some(Key::Bearer(key.trim().to_owned().into())))
}
