//! Ctrl-C and SIGTERM as a flag: commands that started something must end it before they go.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use crate::daemon::signals::Signals;

/// Whether the user wants the command to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from the moment that it returns. A second signal ends the process at once, in case the first got stuck.
    pub(super) fn listen() -> Self {
        let flag = Interrupt::default();
        let raised = flag.clone();
        let (listening, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name("signals".to_owned());
        // Without the thread Ctrl-C ends the process as it always does, which is no worse than not listening.
        drop(thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(wait(&raised, listening));
            }
        }));
        // An error means that no thread will listen, so there is nothing to wait for.
        let _ = told.recv();
        flag
    }

    /// Forgets a signal that was obeyed: the next one counts as the first again.
    pub(super) fn lower(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether a signal came.
    pub(super) fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

async fn wait(flag: &Interrupt, listening: mpsc::Sender<()>) {
    let mut signals = Signals::to_end();
    let _ = listening.send(());
    loop {
        signals.next().await;
        if flag.0.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(super::exit::INTERRUPTED));
        }
    }
}
