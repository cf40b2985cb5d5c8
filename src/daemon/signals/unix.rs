//! SIGINT, SIGTERM, SIGHUP.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Told;

/// The signals that are listened to; one that cannot be listened to does what it always does.
pub(crate) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    /// All of them; to be called within a runtime.
    pub(crate) fn listen() -> Signals {
        Signals { hang_up: signal(SignalKind::hangup()).ok(), ..Signals::to_end() }
    }

    /// Those that ask a process to end.
    pub(crate) fn to_end() -> Signals {
        let listen = |kind| signal(kind).ok();
        Signals {
            interrupt: listen(SignalKind::interrupt()),
            terminate: listen(SignalKind::terminate()),
            hang_up: None,
        }
    }

    /// Waits for the next.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            () = received(&mut self.terminate) => Told::Terminate,
            () = received(&mut self.interrupt) => Told::Interrupt,
            () = received(&mut self.hang_up) => Told::HangUp,
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
