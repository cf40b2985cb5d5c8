//! Ctrl-C and SIGTERM as a flag: commands that started something must end it before they go.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use crate::daemon::signals::Signals;

/// Whether the user wants the command to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from the moment that it returns. A second signal ends the process, in case the first got stuck, once `last`
    /// has cleaned up: nothing is dropped then.
    pub(super) fn listen(last: impl FnOnce() + Send + 'static) -> Self {
        let flag = Interrupt::default();
        let raised = flag.clone();
        let (listening, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name("signals".to_owned());
        // Without the thread Ctrl-C ends the process as it always does, which is no worse than not listening.
        drop(thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(wait(&raised, listening, last));
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

    /// Asks the user something. Nobody looks at the flag meanwhile, so the first signal ends the process as a second does.
    pub(super) fn while_asking<T>(&self, ask: impl FnOnce() -> T) -> T {
        let raised = self.0.swap(true, Ordering::Relaxed);
        let answer = ask();
        self.0.store(raised, Ordering::Relaxed);
        answer
    }

    /// Whether a signal came.
    pub(super) fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

async fn wait(flag: &Interrupt, listening: mpsc::Sender<()>, last: impl FnOnce()) {
    let mut signals = Signals::to_end();
    let _ = listening.send(());
    signals.next().await;
    while !flag.0.swap(true, Ordering::Relaxed) {
        signals.next().await;
    }
    last();
    std::process::exit(i32::from(super::exit::INTERRUPTED));
}
