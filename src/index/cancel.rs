//! The flag that stops a search whose answer nobody waits for any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::LexicalError;

/// A flag that tells a running call to stop. Cheap to clone; clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    raised: AtomicBool,
    #[cfg(test)]
    looks: std::sync::atomic::AtomicUsize,
    /// The look at which the flag raises itself; 0 for never.
    #[cfg(test)]
    last_look: usize,
}

impl Cancel {
    /// A flag that nobody has raised.
    pub fn new() -> Self {
        Cancel::default()
    }

    /// Asks every holder of a clone to stop.
    pub fn cancel(&self) {
        self.0.raised.store(true, Ordering::Relaxed);
    }

    /// Whether the call should stop.
    pub fn is_cancelled(&self) -> bool {
        #[cfg(test)]
        if self.0.looks.fetch_add(1, Ordering::Relaxed) + 1 == self.0.last_look {
            self.cancel();
        }
        self.0.raised.load(Ordering::Relaxed)
    }

    /// Ends a call that should stop.
    ///
    /// # Errors
    /// [`LexicalError::Cancelled`] if the flag is raised.
    pub fn check(&self) -> Result<(), LexicalError> {
        if self.is_cancelled() { Err(LexicalError::Cancelled) } else { Ok(()) }
    }
}

/// Two flags are equal if both are raised, or neither is.
impl PartialEq for Cancel {
    fn eq(&self, other: &Self) -> bool {
        self.0.raised.load(Ordering::Relaxed) == other.0.raised.load(Ordering::Relaxed)
    }
}

impl Eq for Cancel {}

#[cfg(test)]
impl Cancel {
    /// A flag that raises itself when it is looked at for the `look`th time.
    pub(crate) fn at_look(look: usize) -> Self {
        Cancel(Arc::new(Flag { last_look: look, ..Flag::default() }))
    }

    /// How often it was looked at.
    pub(crate) fn looks(&self) -> usize {
        self.0.looks.load(Ordering::Relaxed)
    }
}
