//! Assistants ask the daemon: the Model Context Protocol on standard input and output, or over HTTP ([`http`]), translated
//! to the socket.
//!
//! Each client has its own process, without state: every call opens a connection, so if the daemon restarts in between,
//! or is not there yet, only that call fails. All requests say `audience: "assistant"`: private notes do not exist for
//! them, and what costs money needs `mcp.allow_spending`. The daemon enforces both. What comes back is text that
//! anybody may have written, so it is cleaned ([`clean`]), marked, and cut to a model's window ([`size`]).

mod answers;
mod caller;
mod clean;
mod daemon;
pub mod http;
mod lines;
mod params;
mod resources;
mod results;
mod schema;
mod server;
mod show;
mod size;
mod tools;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;

use daemon::Daemon;
use protocol::client::Discovery;
use server::Bridge;

/// The longest line of a client; longer ones are refused. The daemon takes a megabyte, which may be longer as JSON.
const MAX_LINE: usize = 4 << 20;

/// Serves one client on standard input and output, until its input ends.
///
/// # Errors
/// The runtime cannot be made, or the streams cannot be used.
pub fn serve(discovery: Discovery) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(async {
        let left = Arc::new(AtomicBool::new(false));
        let (requests, answers, written) =
            lines::between(tokio::io::stdin(), tokio::io::stdout(), MAX_LINE, left.clone());
        let transport = AsyncRwTransport::new(requests, answers).with_max_line_length(MAX_LINE);
        let served = match Bridge::new(Daemon::new(discovery), left).serve(transport).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(io::Error::other),
            // A client that connects and leaves without a word has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        };
        // The library has closed its end, and the last answers are on their way.
        let _ = written.await;
        served
    });
    // A thread may still sit in a read of standard input.
    runtime.shutdown_background();
    served
}
