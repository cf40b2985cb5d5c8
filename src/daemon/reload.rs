//! How the configuration is read while the daemon runs: on a thread of its own, because a look at a vault whose file
//! system hangs does not end.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use engine::settings::Settings;
use engine::{NotTaken, Reload};
use protocol::daemon::Problem;

/// How long a reading may take: less than a request may, so that who asks for one hears why there is none.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(8);

/// Has `read` read the configuration, and waits for it no longer than `within`. A reading that comes later than that is
/// not used. Readings take turns, so that however many are asked for, one thread hangs.
pub(super) fn in_time(
    read: impl Fn() -> Result<Settings, NotTaken> + Send + Sync + 'static,
    within: Duration,
) -> Reload {
    let read = Arc::new(read);
    let last = Mutex::new(None::<Receiver<Result<Settings, NotTaken>>>);
    Box::new(move || {
        let until = Instant::now() + within;
        let left = || until.saturating_duration_since(Instant::now());
        let late = || not_taken(format!("it could not be read within {} s: {HANGS}", within.as_secs_f32()));
        let mut last = last.try_lock_until(until).ok_or_else(late)?;
        if let Some(before) = &*last
            && matches!(before.recv_timeout(left()), Err(RecvTimeoutError::Timeout))
        {
            return Err(late());
        }
        let (done, read) = {
            let (sender, receiver) = mpsc::channel();
            let read = Arc::clone(&read);
            // Nobody may wait any more.
            (receiver, move || drop(sender.send(read())))
        };
        let thread = thread::Builder::new().name("reload".to_owned()).spawn(read);
        thread.map_err(|error| not_taken(format!("it cannot be read now: {error}")))?;
        let outcome = done.recv_timeout(left());
        *last = outcome.is_err().then_some(done);
        outcome.unwrap_or_else(|_| Err(late()))
    })
}

/// What may have happened, and what to do.
const HANGS: &str = "the file system of a vault, or of the file itself, does not answer; `situated call reload` reads it \
    again once that does";

fn not_taken(message: String) -> NotTaken {
    NotTaken::Wrong(vec![Problem { file: None, line: None, column: None, key: None, message }])
}

#[cfg(test)]
mod tests;
