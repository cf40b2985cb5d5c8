//! The thread on which calls for vectors are under way.

use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A thread that drives asynchronous work. What is under way is dropped with it.
#[derive(Debug)]
pub struct Runner {
    handle: Handle,
    /// Ends the thread when it is dropped.
    _stop: oneshot::Sender<()>,
}

impl Runner {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has none to give.
    pub fn start() -> Result<Self, String> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no runtime for asking embedders: {error}"))?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("embed".to_owned())
            .spawn(move || {
                // Ends by the sender being dropped.
                let _ = runtime.block_on(stopped);
                // A thread that waits for the disk or a command must not hold up whoever drops this.
                runtime.shutdown_background();
            })
            .map_err(|error| format!("no thread for asking embedders: {error}"))?;
        Ok(Runner { handle, _stop: stop })
    }

    /// Has the thread do something.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }

    /// Has something computed on another thread.
    pub fn compute(&self, work: impl FnOnce() + Send + 'static) {
        self.handle.spawn_blocking(work);
    }

    /// Has the thread do something, and waits for it; `None` if that takes longer than `within`. Not to be called
    /// from asynchronous code.
    pub fn wait_for<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.spawn(async move {
            // Whoever waited may have given up.
            let _ = sender.send(work.await);
        });
        receiver.recv_timeout(within).ok()
    }
}
