//! Waits for an answer that another thread gives, no longer than its caller waits.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::error::CallError;
use index::Cancel;

/// How often a caller that waits looks whether its client has gone.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// The answer; `None` if there is none by `until`, or nobody is left to give one.
///
/// # Errors
/// `cancel` is raised.
pub(super) fn wait_for<T>(answer: &Receiver<T>, until: Instant, cancel: &Cancel) -> Result<Option<T>, CallError> {
    loop {
        cancel.check()?;
        let left = until.saturating_duration_since(Instant::now());
        match answer.recv_timeout(left.min(LOOK)) {
            Ok(answer) => return Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(_) => return Ok(None),
        }
    }
}
