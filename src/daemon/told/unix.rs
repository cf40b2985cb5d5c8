//! systemd's protocol.

use std::time::Duration;

use sd_notify::NotifyState;

use super::Tell;

/// Tells systemd.
pub(in super::super) fn tell(what: Tell<'_>) {
    let states = match what {
        Tell::Ready => vec![NotifyState::Ready],
        Tell::Reloading => [NotifyState::Reloading].into_iter().chain(NotifyState::monotonic_usec_now().ok()).collect(),
        Tell::Stopping => vec![NotifyState::Stopping],
        Tell::Alive => vec![NotifyState::Watchdog],
        Tell::Doing(text) => vec![NotifyState::Status(text)],
    };
    let _ = sd_notify::notify(&states);
}

/// The longest time that systemd accepts between two [`Tell::Alive`], if it wants them.
pub(in super::super) fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|within| !within.is_zero())
}
