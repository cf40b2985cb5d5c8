//! What the tests' servers share: a listener at a free port of loopback, and requests as they come in.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

/// Takes connections until it is dropped, each on a thread of its own.
pub(crate) struct Listener {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Listener {
    /// `serve` has a connection until it returns.
    pub(crate) fn start(serve: impl Fn(&TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, serve) = (Arc::new(AtomicBool::new(false)), Arc::new(serve));
        let stopped = stop.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), serve) = (stream, serve.clone()) else { continue };
                std::thread::spawn(move || serve(&stream));
            }
        });
        Listener { address, stop }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes it, so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

/// A request that was read to its end.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The header `Authorization`.
    pub(crate) key: Option<String>,
    /// JSON; null if it is none.
    pub(crate) body: Value,
}

/// The next request of a connection; `None` when there is no other, or none that can be read.
pub(crate) fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let (method, path) = (line.split(' ').next()?.to_owned(), line.split(' ').nth(1)?.to_owned());
    let (mut length, mut key) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim();
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => key = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, key, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}
