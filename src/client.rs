//! STUB in this worktree: the real one is written beside `serve`.

use std::path::PathBuf;

/// Where to look for a daemon.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// The socket, if somebody said so.
    pub socket: Option<PathBuf>,
    /// The data folder, which knows the socket of its daemon.
    pub data_dir: PathBuf,
}

/// How far a call is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Notes done.
    pub done: u64,
    /// Notes in all, once known.
    pub total: Option<u64>,
    /// What is being done.
    pub phase: String,
    /// Anything else.
    pub message: Option<String>,
}

/// A call that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ClientError {
    message: String,
    code: u8,
}

impl ClientError {
    /// See OPS 6.2.
    pub fn exit_code(&self) -> u8 {
        self.code
    }
}

/// A connection.
#[derive(Debug)]
pub struct Client;

impl Client {
    /// Connects.
    pub fn connect(discovery: &Discovery) -> Result<Client, ClientError> {
        Err(ClientError { message: format!("no daemon answers for {}; start one with `situated run`", discovery.data_dir.display()), code: 69 })
    }

    /// Calls.
    pub fn call(&mut self, method: &str, _params: serde_json::Value) -> Result<serde_json::Value, ClientError> {
        Err(ClientError { message: method.to_owned(), code: 69 })
    }

    /// Calls, with progress.
    pub fn call_with_progress(
        &mut self,
        method: &str,
        params: serde_json::Value,
        _on_progress: &mut dyn FnMut(Progress),
    ) -> Result<serde_json::Value, ClientError> {
        self.call(method, params)
    }
}
