//! Filters what a client writes before the protocol's library reads it. The library ends if anything except a request
//! comes first; here such lines are skipped, and a last line without a line feed counts as a line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, DuplexStream};

/// Bytes buffered between the client's input and the library.
const BUFFER: usize = 64 << 10;

/// The lines of `input` from the first request on. Longer lines than `most` are dropped. `left` is set at the end.
pub(super) fn requests(
    input: impl AsyncRead + Unpin + Send + 'static,
    most: usize,
    left: Arc<AtomicBool>,
) -> DuplexStream {
    let (inside, mut outside) = tokio::io::duplex(BUFFER);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        let mut began = false;
        // When either side ends, the client or the server has ended, so there is no one to report it to.
        while let Ok(Some(line)) = next_line(&mut input, most).await {
            began = began || is_request(&line);
            if !began {
                tracing::warn!("a line that is no request came before the first one, and is passed over");
                continue;
            }
            if outside.write_all(&line).await.is_err() {
                return;
            }
        }
        left.store(true, Ordering::Relaxed);
        let _ = outside.shutdown().await;
    });
    inside
}

fn is_request(line: &[u8]) -> bool {
    let Ok(serde_json::Value::Object(object)) = serde_json::from_slice(line) else { return false };
    object.contains_key("id") && object.get("method").is_some_and(serde_json::Value::is_string)
}

/// The next line, its end included; `None` at the end. A line that is too long is skipped.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), most: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut dropping = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            if line.is_empty() {
                return Ok(None);
            }
            line.push(b'\n');
            return Ok(Some(line));
        }
        let end = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let used = end.unwrap_or(available.len());
        dropping |= line.len() + used > most;
        if dropping {
            line.clear();
        } else {
            line.extend_from_slice(&available[..used]);
        }
        input.consume(used);
        if end.is_some() {
            if !dropping {
                return Ok(Some(line));
            }
            tracing::warn!(most, "a line was too long, and is passed over");
            dropping = false;
        }
    }
}

#[cfg(test)]
mod tests;
