//! Decides how far to believe a look at the disk: a vault that is gone or emptied raises a doubt, and nothing is
//! dropped while the doubt stands. Pure: the time is an argument.

use std::time::{Duration, Instant};

use vault::root::RootId;

#[cfg(test)]
mod tests;

/// How often a vault that is gone is checked again.
pub(crate) const RETURN_EVERY: Duration = Duration::from_secs(2);

/// Fewer missing notes than this never raise a doubt, unless all are missing.
const LEAST: usize = 10;

/// A vault that seems gone or emptied: nothing is dropped until a second look agrees.
#[derive(Debug)]
struct Doubt {
    why: String,
    look_at: Instant,
    /// Whether a second look can end it, or only the user can.
    second_look: bool,
}

/// What a look at the whole vault found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Known notes that are not there, and that nobody has seen go.
    pub(crate) gone: usize,
    /// Notes that are there.
    pub(crate) notes: usize,
    /// Notes that were known before.
    pub(crate) known: usize,
    /// Which folder it was.
    pub(crate) root: Option<RootId>,
}

/// Decides whether notes that seem gone are dropped.
#[derive(Debug)]
pub(crate) struct DeletionGuard {
    vault: String,
    doubt: Option<Doubt>,
    /// The user says that what seems gone is gone: the next look is believed.
    accept: bool,
    /// Which folder the vault was when it was last believed.
    root: Option<RootId>,
}

impl DeletionGuard {
    pub(crate) fn new(vault: &str, root: Option<RootId>) -> Self {
        DeletionGuard { vault: vault.to_owned(), doubt: None, accept: false, root }
    }

    /// The user accepts what the next look at the whole vault finds.
    pub(crate) fn accept(&mut self) {
        self.accept = true;
    }

    /// The vault cannot be read. It may come back, so the guard only waits for that.
    pub(crate) fn unreadable(&mut self, why: String, now: Instant) {
        if self.doubt.is_none() {
            tracing::warn!(vault = self.vault, "{why}");
        }
        self.accept = false;
        self.doubt = Some(Doubt { why, look_at: now + RETURN_EVERY, second_look: false });
    }

    /// Whether the notes that a look did not find may be dropped now.
    ///
    /// If one look at everything finds more than 30 % gone, or all of them, that is a doubt (a missing mount,
    /// permissions). A second look in the same folder has to agree; if another folder is in its place, only the user
    /// can.
    pub(crate) fn believes(&mut self, seen: Seen, now: Instant, second_look_after: Duration) -> bool {
        let Seen { gone, notes, known, root } = seen;
        let doubtful = is_much(gone, notes, known);
        let other_root = is_other(self.root, root);
        let agreed = self.doubt.as_ref().is_some_and(|d| d.second_look && d.look_at <= now) && !other_root;
        // The user's word is about what is there now, not about a doubt weeks later.
        let accepted = std::mem::take(&mut self.accept);
        if !doubtful || agreed || accepted {
            if let Some(doubt) = self.doubt.take() {
                tracing::info!(vault = self.vault, "no longer in doubt: {}", doubt.why);
            }
            return true;
        }
        let what_then = if other_root {
            "another folder is in its place, so they are kept until `situated sync --accept-deletes`".to_owned()
        } else {
            let seconds = second_look_after.as_secs();
            format!("they are kept until a second look in {seconds} s agrees, or `situated sync --accept-deletes`")
        };
        let why = format!("{gone} of {known} notes of vault `{}` seem gone; {what_then}", self.vault);
        if self.doubt.is_none() {
            tracing::warn!(vault = self.vault, "{why}");
        }
        let look_at = match &self.doubt {
            Some(doubt) if doubt.second_look && doubt.look_at > now => doubt.look_at,
            _ => now + second_look_after,
        };
        self.doubt = Some(Doubt { why, look_at, second_look: !other_root });
        false
    }

    /// Takes the folder that was looked at for the vault's unless there is a doubt; `true` if it is new and has to be
    /// stored.
    pub(crate) fn adopt(&mut self, root: RootId) -> bool {
        let is_new = self.doubt.is_none() && self.root != Some(root);
        if is_new {
            self.root = Some(root);
        }
        is_new
    }

    /// Which folder the vault was when it was last believed.
    pub(crate) fn root(&self) -> Option<RootId> {
        self.root
    }

    /// Why the vault is doubted.
    pub(crate) fn doubt(&self) -> Option<&str> {
        self.doubt.as_ref().map(|doubt| doubt.why.as_str())
    }

    /// Whether no second look can end the doubt: the vault could not be read, or another folder is in its place.
    pub(crate) fn waits_for_return(&self) -> bool {
        self.doubt.as_ref().is_some_and(|doubt| !doubt.second_look)
    }

    /// When the vault is to be looked at again because of a doubt.
    pub(crate) fn look_at(&self) -> Option<Instant> {
        self.doubt.as_ref().map(|doubt| doubt.look_at)
    }
}

/// Whether so many of the `known` notes are gone, and so few left, that the vault may not be what it was.
pub(crate) fn is_much(gone: usize, notes: usize, known: usize) -> bool {
    gone > 0 && (notes == 0 || (gone * 10 > known * 3 && gone >= LEAST))
}

/// Whether a folder was known and another one is in its place.
fn is_other(known: Option<RootId>, now: Option<RootId>) -> bool {
    matches!((known, now), (Some(known), Some(now)) if known != now)
}
