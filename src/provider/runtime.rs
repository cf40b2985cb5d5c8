//! The runtime of all calls to providers: for contexts, embeddings, questions and reranking.
//!
//! It has two threads, each started when it is first needed. One, at low priority, runs what nobody waits for. The
//! other runs what somebody waits for, which so never queues behind the first.

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The runtime. Calls under way end with it.
#[derive(Debug)]
pub struct ProviderRuntime {
    background: Mutex<Option<Lane>>,
    urgent: Mutex<Option<Lane>>,
    lower_priority: fn(),
}

/// A thread that drives calls.
#[derive(Debug)]
struct Lane {
    handle: Handle,
    /// Ends the thread when it is dropped.
    _stop: oneshot::Sender<()>,
}

impl ProviderRuntime {
    /// Starts no thread yet. `lower_priority` is called on each thread whose work nobody waits for.
    pub fn new(lower_priority: fn()) -> Self {
        ProviderRuntime { background: Mutex::default(), urgent: Mutex::default(), lower_priority }
    }

    /// A runtime whose work somebody else drives, on one handle for both threads.
    #[cfg(feature = "simulation")]
    pub fn driven(handle: &Handle) -> Self {
        let lane = || Mutex::new(Some(Lane { handle: handle.clone(), _stop: oneshot::channel().0 }));
        ProviderRuntime { background: lane(), urgent: lane(), lower_priority: || {} }
    }

    /// For what nobody waits for: contexts, batches, vectors of notes.
    ///
    /// # Errors
    /// The system cannot start a thread or its runtime.
    pub fn background(&self) -> Result<Handle, String> {
        handle(&self.background, "provider", self.lower_priority)
    }

    /// For what somebody waits for: questions, reranking, vectors of queries.
    ///
    /// # Errors
    /// As [`ProviderRuntime::background`].
    pub fn urgent(&self) -> Result<Handle, String> {
        handle(&self.urgent, "provider-query", || {})
    }
}

fn handle(lane: &Mutex<Option<Lane>>, name: &str, on_start: fn()) -> Result<Handle, String> {
    let mut lane = lane.lock();
    if let Some(lane) = lane.as_ref() {
        return Ok(lane.handle.clone());
    }
    let started = start(name, on_start)?;
    let handle = started.handle.clone();
    *lane = Some(started);
    Ok(handle)
}

fn start(name: &str, on_start: fn()) -> Result<Lane, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .thread_name(name)
        .on_thread_start(on_start)
        .thread_keep_alive(machine::THREAD_KEEP_ALIVE)
        .build()
        .map_err(|error| format!("no runtime for asking providers: {error}"))?;
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            on_start();
            // Ends when the sender is dropped.
            let _ = runtime.block_on(stopped);
            // A thread that waits for the disk or a command must not hold up whoever drops this.
            runtime.shutdown_background();
        })
        .map_err(|error| format!("no thread for asking providers: {error}"))?;
    Ok(Lane { handle, _stop: stop })
}
