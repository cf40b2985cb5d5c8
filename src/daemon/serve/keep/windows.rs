//! A pipe that listens cannot be removed by another program, so nothing is kept.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::bind::Bound;
use super::local::Listener;
use engine::handle::Handle;

/// Waits for ever.
pub async fn keep(_bound: Arc<Bound>, _renewed: mpsc::Sender<Listener>, _restarts: Option<Handle>) {
    std::future::pending::<()>().await;
}
