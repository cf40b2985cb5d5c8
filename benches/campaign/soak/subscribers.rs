//! Who listens: subscriptions that come and go, some of which are never read, and connections that are dropped in the
//! middle of a request.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::{Soak, queries};
use crate::common::rng::Rng;

/// Subscriptions at the same time at most; a daemon takes 64 connections unless it is configured.
const MOST: usize = 12;

struct Subscriber {
    stream: UnixStream,
    /// The daemon closes one who does not read, which is no failure.
    reads: bool,
}

impl Subscriber {
    fn new(soak: &Soak, rng: &mut Rng) -> Result<Subscriber> {
        let (path, text) = soak.notes.lock().expect("no holder panics").any(rng);
        let mut watch = Vec::new();
        for token in 0..rng.below(4) {
            watch.push(if rng.chance(0.5) {
                json!({"token": token, "query": queries::words(&text, rng), "limit": 10})
            } else {
                json!({"token": token, "path": path, "group": "note", "limit": 10})
            });
        }
        let params = match watch.len() {
            0 => json!({}),
            _ if rng.chance(0.5) => json!({"watch": watch}),
            _ => json!({"watch": watch, "events": ["decision", "index", "job"]}),
        };
        let mut stream = UnixStream::connect(&soak.socket)?;
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(request("subscribe", &params).as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(Subscriber { stream, reads: rng.chance(0.8) })
    }

    /// Lines that have come, whatever they say.
    fn lines(&mut self) -> Result<u64> {
        let (mut buffer, mut lines) = (vec![0; 1 << 16], 0);
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => bail!("the daemon closed it"),
                Ok(read) => lines += buffer[..read].iter().filter(|byte| **byte == b'\n').count() as u64,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(lines),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Subscribes, reads and drops until the soak is over.
pub(super) fn come_and_go(soak: &Soak, mut rng: Rng) {
    let mut open: Vec<Subscriber> = Vec::new();
    let mut lines = 0;
    while !soak.is_over() {
        if open.len() < MOST && rng.chance(0.2) {
            match Subscriber::new(soak, &mut rng) {
                Ok(subscriber) => open.push(subscriber),
                Err(_) => soak.count("subscribe", "failed"),
            }
        }
        if !open.is_empty() && rng.chance(0.15) {
            let gone = open.swap_remove(rng.below(open.len()));
            soak.count("subscribe", if gone.reads { "left" } else { "left without a look" });
        }
        open.retain_mut(|subscriber| match subscriber.reads.then(|| subscriber.lines()) {
            None => true,
            Some(Ok(more)) => {
                lines += more;
                true
            }
            Some(Err(_)) => {
                soak.count("subscribe", "closed by the daemon");
                false
            }
        });
        if rng.chance(0.2) {
            let end = if drop_in_the_middle(soak, &mut rng).is_ok() { "done" } else { "failed" };
            soak.count("dropped in the middle", end);
        }
        soak.rest(&mut rng);
    }
    soak.count("subscribe", format!("lines heard: {lines}; open at the end"));
}

fn request(method: &str, params: &Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// A connection that ends before its answers come.
fn drop_in_the_middle(soak: &Soak, rng: &mut Rng) -> Result<()> {
    let (path, text) = soak.notes.lock().expect("no holder panics").any(rng);
    let words = queries::words(&text, rng);
    let search = request("search", &json!({"query": words}));
    let sent = match rng.below(6) {
        0 => String::new(),
        1 => search[..search.len() / 2].to_owned(),
        2 => search.repeat(20),
        3 => request("ask", &json!({"question": words})),
        4 => request("search", &json!({"query": words, "fresh": true})) + &request("related", &json!({"path": path})),
        _ => search,
    };
    let mut stream = UnixStream::connect(&soak.socket)?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(sent.as_bytes())?;
    if rng.chance(0.5) {
        std::thread::sleep(Duration::from_millis(rng.below(60) as u64));
    }
    if rng.chance(0.3) {
        stream.shutdown(Shutdown::Write)?;
    }
    Ok(())
}
