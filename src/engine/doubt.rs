//! How far a look at the disk is believed: a vault that is gone or emptied is a doubt, a note that is missing
//! may be back, and what could not be written is tried again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::keeper::{Doubt, Keeper};
use super::scan::Findings;
use crate::sandbox::landlock;
use crate::vault::VaultPath;
use crate::vault::policy::Verdict;
use crate::vault::read::stat;
use crate::vault::root::{RootId, VaultError, git_locked, root_id};
use crate::vault::walk;

/// How often a vault that is gone is asked for again.
pub(super) const RETURN_EVERY: Duration = Duration::from_secs(2);

impl Keeper {
    /// When the loop has to look at this vault again, without any event.
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let locked = !self.pending.is_empty() && git_locked(&self.config.path);
        let deadlines = [
            self.pending.deadline(locked),
            (!self.scanning).then_some(self.next_walk),
            self.doubt.as_ref().filter(|_| !self.scanning).map(|doubt| doubt.look_at),
            self.emptied.values().min().copied(),
            self.trouble.as_ref().filter(|_| !self.is_at_work()).map(|trouble| trouble.reopen_at),
            self.switch.as_ref().and_then(|switch| switch.next_wake(self.looked && !self.is_at_work())),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Whether anybody may still come back with something that was found out for this keeper.
    pub(super) fn is_at_work(&self) -> bool {
        self.scanning || !self.batches.is_empty() || !self.in_flight.is_empty()
    }

    /// Whether anything is being worked on.
    pub(super) fn is_busy(&self) -> bool {
        // Until the first look at the disk nobody knows whether what is stored is current.
        !self.batches.is_empty() || !self.in_flight.is_empty() || !self.looked
    }

    /// A look takes a while, and saves are decided about meanwhile: what it says to be gone may be back, and
    /// what it says to have moved may be known where it is now.
    pub(super) fn check_again(&mut self, mut findings: Findings) -> Findings {
        for touched in &mut findings.touched {
            if self.known.contains_key(&touched.path) {
                findings.gone.extend(touched.moved_from.take());
            }
            if let Some(old) = &touched.moved_from {
                self.in_flight.remove(old);
            }
        }
        let now = Instant::now();
        let Keeper { policy, config, pending, in_flight, .. } = self;
        findings.gone.retain(|path| {
            in_flight.remove(path);
            let is_back = policy.verdict(path, false) == Verdict::Note
                && stat(&config.path, path).is_some_and(|stat| stat.size <= config.max_note_bytes);
            if is_back {
                pending.mark(now, path.clone());
            }
            !is_back
        });
        findings
    }

    /// The ignore files changed.
    pub(super) fn renew_policy(&mut self) {
        match crate::vault::policy::Policy::new(&self.config.path, &self.config) {
            Ok(policy) => {
                self.policy = Arc::new(policy);
                self.shared.policy.store(Some(self.policy.clone()));
                if let Some(watcher) = &self.watcher {
                    watcher.set_policy(self.policy.clone());
                }
            }
            Err(error) => tracing::warn!(%error, "the ignore files cannot be read; the old rules stay"),
        }
    }

    /// Whether it is what holds this process ([`crate::sandbox`]) that keeps it from reading the vault: its rules are
    /// about the folder that was there at the start.
    pub(super) fn is_kept_from(&self, error: &VaultError) -> bool {
        let VaultError::Unreadable { error, .. } = error else { return false };
        error.kind() == std::io::ErrorKind::PermissionDenied
            && landlock::is_held()
            && root_id(&self.config.path).is_ok_and(|root| Some(root) != self.root_id)
    }

    /// The root cannot be read: a doubt, not an empty vault.
    pub(super) fn doubt_gone(&mut self, error: &VaultError) {
        let why = if self.is_kept_from(error) {
            format!(
                "another folder is in the place of vault `{}`, and the kernel lets this process read only the one that \
                 was there when it started; its index is kept as it was: start the daemon again, `situated service \
                 restart`, or `situated stop` and `situated run`",
                self.config.name
            )
        } else {
            format!(
                "vault `{}` cannot be read ({error}); its index is kept as it was and goes on when the vault is back",
                self.config.name
            )
        };
        if self.doubt.is_none() {
            tracing::warn!(vault = self.config.name, "{why}");
        }
        self.doubt = Some(Doubt { why, look_at: Instant::now() + RETURN_EVERY, second_look: false });
    }

    /// Which of the notes that seem gone may be dropped now.
    ///
    /// More than 30 % gone in one look at everything, or all of them, is a doubt (a mount that is missing,
    /// permissions): a second look has to agree, in the same folder; in another one only the user can.
    pub(super) fn believe(&mut self, findings: &Findings, second_look_after: Duration) -> Vec<VaultPath> {
        let Some(seen) = findings.seen else { return findings.gone.clone() };
        let (gone, known) = (findings.gone.len(), self.known.len());
        let doubtful = gone > 0 && (seen == 0 || (gone * 10 > known * 3 && gone >= 10));
        let other_root = other_root(self.root_id, findings.root);
        let now = Instant::now();
        let agreed = self.doubt.as_ref().is_some_and(|d| d.second_look && d.look_at <= now) && !other_root;
        if !doubtful || agreed || std::mem::take(&mut self.accept_deletes) {
            if let Some(doubt) = self.doubt.take() {
                tracing::info!(vault = self.config.name, "no longer in doubt: {}", doubt.why);
            }
            return findings.gone.clone();
        }
        let what_then = if other_root {
            "another folder is in its place, so they are kept until `situated sync --accept-deletes`".to_owned()
        } else {
            let seconds = second_look_after.as_secs();
            format!("they are kept until a second look in {seconds} s agrees, or `situated sync --accept-deletes`")
        };
        let why = format!("{gone} of {known} notes of vault `{}` seem gone; {what_then}", self.config.name);
        if self.doubt.is_none() {
            tracing::warn!(vault = self.config.name, "{why}");
        }
        let look_at = match &self.doubt {
            Some(doubt) if doubt.second_look && doubt.look_at > now => doubt.look_at,
            _ => now + second_look_after,
        };
        self.doubt = Some(Doubt { why, look_at, second_look: !other_root });
        Vec::new()
    }

    pub(super) fn note_skipped(&self, findings: &Findings) {
        let mut status = self.shared.status();
        status.skipped_total = findings.skipped.len() as u64;
        let file = |(path, why): &(VaultPath, walk::Skip)| super::report::SkippedFile {
            path: path.to_string(),
            why: why.to_string(),
        };
        status.skipped = findings.skipped.iter().take(100).map(file).collect();
    }
}

/// Whether a folder was known and another one is in its place.
fn other_root(known: Option<RootId>, now: Option<RootId>) -> bool {
    matches!((known, now), (Some(known), Some(now)) if known != now)
}
