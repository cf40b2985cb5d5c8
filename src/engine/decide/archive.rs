//! The archive of contexts, as a plan looks into it.

use super::Desk;
use crate::fingerprint::ContextKey;
use crate::plan::Archived;
use crate::store::StoreError;

/// The store's archive as the plan asks for it; the first error is kept, for the plan cannot fail.
pub(super) struct Archive<'a> {
    desk: &'a Desk,
    contextualizer: &'a str,
    error: std::cell::RefCell<Option<StoreError>>,
}

impl<'a> Archive<'a> {
    pub(super) fn new(desk: &'a Desk, contextualizer: &'a str) -> Self {
        Archive { desk, contextualizer, error: std::cell::RefCell::new(None) }
    }

    pub(super) fn look_up(&self, key: ContextKey) -> Option<Archived> {
        match self.desk.archived(key, self.contextualizer) {
            Ok(found) => {
                found.map(|c| Archived { contextualizer: c.generation, sketch: c.sketch, written_at: c.written_at })
            }
            Err(error) => {
                self.error.borrow_mut().get_or_insert(error);
                None
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.error.borrow_mut().take().map_or(Ok(()), Err)
    }
}
