//! How an indexer observes its vault: the file system, the rules for what is a note, and the watcher.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::disk::Disk;
use super::{Event, Place};
use note::VaultPath;
use vault::policy::Policy;
use vault::settings::VaultConfig;
use vault::watch::Watcher;

/// How a vault is observed.
pub(super) struct VaultWatch {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) policy: Arc<Policy>,
    watcher: Option<Watcher>,
    /// Why it is polled instead of watched.
    polled: Option<String>,
    /// Whether it is polled only because it could not be watched.
    failed: bool,
}

impl VaultWatch {
    pub(super) fn new(disk: Arc<dyn Disk>, policy: Arc<Policy>) -> Self {
        VaultWatch { disk, policy, watcher: None, polled: None, failed: false }
    }

    /// Begins to watch a vault, or notes that it must be polled.
    pub(super) fn begin(&mut self, place: &Place, inbox: &Sender<Event>) {
        let vault = &place.vault;
        let inbox = inbox.clone();
        let sink = move |hint| {
            // The indexer may have ended; then the hint is of no use to anyone.
            let _ = inbox.send(Event::Hint(hint));
        };
        let remote = self.disk.needs_polling(&vault.path);
        let poll = vault.poll.unwrap_or(remote.is_some());
        self.polled = poll.then(|| remote.unwrap_or("as configured").to_owned());
        (self.watcher, self.failed) = (None, false);
        if poll {
            return;
        }
        match Watcher::start(&vault.path, self.policy.clone(), vault.poll, sink) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                tracing::warn!(%error, vault = vault.name, "this vault is polled instead of watched");
                (self.polled, self.failed) = (Some(error.to_string()), true);
            }
        }
    }

    /// The ignore files changed; returns the new rules, unless they cannot be read.
    pub(super) fn renew_policy(&mut self, vault: &VaultConfig) -> Option<Arc<Policy>> {
        match self.disk.policy(vault) {
            Ok(policy) => {
                self.policy = Arc::new(policy);
                if let Some(watcher) = &self.watcher {
                    watcher.set_policy(self.policy.clone());
                }
                Some(self.policy.clone())
            }
            Err(error) => {
                tracing::warn!(%error, "the ignore files cannot be read; the old rules stay");
                None
            }
        }
    }

    /// A walk saw these folders: watches that were lost, or could not be placed before, are placed now.
    pub(super) fn reconcile(&self, folders: Vec<VaultPath>) {
        if let Some(watcher) = &self.watcher {
            watcher.reconcile(folders);
        }
    }

    /// Whether the vault is polled and not watched.
    pub(super) fn is_polled(&self) -> bool {
        self.polled.is_some()
    }

    /// Whether the vault, or a part of it, must be walked at the polling interval.
    pub(super) fn needs_poll(&self) -> bool {
        self.is_polled() || self.watcher.as_ref().is_some_and(Watcher::needs_poll)
    }

    /// How changes are noticed, for `status`.
    pub(super) fn mode(&self) -> &'static str {
        match (&self.polled, &self.watcher) {
            (None, Some(watcher)) => watcher.mode(),
            (Some(_), _) | (None, None) => "poll",
        }
    }

    /// What keeps the vault from being watched as it should.
    pub(super) fn problem(&self) -> Option<String> {
        match &self.watcher {
            Some(watcher) => watcher.problem(),
            None => self.polled.clone().filter(|_| self.failed),
        }
    }
}
