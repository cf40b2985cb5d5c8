//! The key in use: looked up when it is first needed, and again when the provider refuses it.

use std::sync::Arc;

use secrecy::ExposeSecret as _;
use tokio::sync::Mutex;

use super::key::{self, Key, Whose};
use super::{Failure, FailureKind};
use context::settings::KeyConfig;

/// The key that was found; `None` if none is needed.
pub(super) type Found = Option<Arc<Key>>;

/// Where the key comes from, and the one that was found last.
pub(super) struct Keyring {
    whose: Whose,
    config: KeyConfig,
    /// Held while looking, so that calls that need a key at the same time run a password manager once.
    found: Mutex<Option<Found>>,
}

impl Keyring {
    pub(super) fn new(whose: impl Into<Whose>, config: KeyConfig) -> Self {
        Keyring { whose: whose.into(), config, found: Mutex::new(None) }
    }

    /// The key in use.
    pub(super) async fn get(&self) -> Result<Found, Failure> {
        let mut found = self.found.lock().await;
        if let Some(found) = &*found {
            return Ok(found.clone());
        }
        let key = self.look().await?;
        *found = Some(key.clone());
        Ok(key)
    }

    /// A key other than the one that was refused, if there is one by now.
    pub(super) async fn another(&self, refused: &Found) -> Result<Option<Found>, Failure> {
        let mut found = self.found.lock().await;
        // Another call may have found it meanwhile.
        if let Some(found) = &*found
            && !is_same(found.as_deref(), refused.as_deref())
        {
            return Ok(Some(found.clone()));
        }
        let key = self.look().await?;
        *found = Some(key.clone());
        Ok(Some(key).filter(|key| !is_same(key.as_deref(), refused.as_deref())))
    }

    /// Forgets the key in use, so that the next call looks it up.
    pub(super) fn forget(&self) {
        // If it is locked, a call is looking up the key right now.
        if let Ok(mut found) = self.found.try_lock() {
            *found = None;
        }
    }

    async fn look(&self) -> Result<Found, Failure> {
        let (whose, config) = (self.whose, self.config.clone());
        // The file may be on a network, and a command may be slow.
        match machine::blocking(move || key::find(whose, &config)).await {
            Ok(Ok(key)) => Ok(key.map(Arc::new)),
            Ok(Err(message)) => Err(Failure::new(FailureKind::Unauthorized, message)),
            // The runtime is ending.
            Err(_) => Err(Failure::new(FailureKind::Cancelled, "the key was not looked up to the end")),
        }
    }
}

fn is_same(one: Option<&Key>, other: Option<&Key>) -> bool {
    fn words(key: &Key) -> Vec<&str> {
        key.secrets().into_iter().map(|secret| secret.expose_secret()).collect()
    }
    one.map(words) == other.map(words)
}
