//! A timeout that does not mistake a process that stood still for a server that is silent.

use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

/// A timer that is this late means that the process did not run: it was stopped, or its control group or its virtual
/// machine was frozen.
const LATE: Duration = Duration::from_secs(1);

/// Longest time that the process then has to read what came meanwhile.
const READING: Duration = Duration::from_secs(10);

/// As [`tokio::time::timeout`], but a process that stood still first reads what came meanwhile: an answer that was paid
/// for may be in the socket, and another task has to take it from there.
///
/// # Errors
/// Nothing came within `limit`, or within the time to read that follows if the process did not run.
pub(crate) async fn timeout<F: Future>(limit: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut until = Instant::now() + limit;
    let mut future = std::pin::pin!(future);
    loop {
        match timeout_at(until, &mut future).await {
            Err(_) if until.elapsed() > LATE => until = Instant::now() + READING.min(limit),
            came => return came,
        }
    }
}

#[cfg(test)]
mod tests;
