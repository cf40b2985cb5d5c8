//! A server on the loopback that fails in all the ways that servers and networks do, on demand.
//!
//! Needs nothing but the standard library and rustix. Threads and real time: whoever holds the clock of an async
//! runtime still does not hold the server.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::Failure;
use super::ledger::{BudgetLimits, Ledger, Purpose};
use super::spender::{Account, Spender, Unanswered};

/// On which everything can be paid for; written nowhere.
pub(super) fn account() -> Account {
    let limits = BudgetLimits { day: u64::MAX, day_tokens: u64::MAX };
    Account::of(&Spender::new(Ledger::in_memory(), limits), Purpose::Change)
}

/// A failure of the provider.
pub(super) fn provider(why: Unanswered) -> Failure {
    match why {
        Unanswered::Provider(failure) => failure,
        Unanswered::Budget(refused) => panic!("{refused}"),
    }
}

/// An answer to one request.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    pub(super) how: How,
}

/// How an answer is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// As it should be.
    Well,
    /// After so long.
    Late(Duration),
    /// So many bytes of the body, then the connection is reset.
    Reset(usize),
    /// So many bytes of the body, then the connection is closed in good order.
    Cut(usize),
    /// A byte at a time, with so long between them, until the client has enough of it.
    Drip(Duration),
    /// So many bytes of the body, then no more, though the connection stays open.
    Stall(usize),
    /// Not at all: the connection stays open.
    Never,
    /// Not at all: the connection is closed.
    Close,
}

impl Answer {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Answer { status, headers, body: body.into(), how: How::Well }
    }

    /// With another header, or another value of it.
    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.into()));
        self
    }

    /// Sent in another way.
    pub(super) fn how(self, how: How) -> Self {
        Answer { how, ..self }
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: String,
    /// With what follows a `?`.
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) at: Instant,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The server. Dropping it ends it, and all its connections.
#[derive(Debug)]
pub(super) struct FaultyServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

type Script = dyn Fn(usize, &Seen) -> Answer + Send + Sync;

struct Shared {
    script: Box<Script>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    seen: Vec<Seen>,
    connections: HashMap<SocketAddr, TcpStream>,
    under_way: usize,
    most_under_way: usize,
    ended: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl FaultyServer {
    /// Answers the first request with the first of these, and so on; all after the last with the last.
    pub(super) fn script(answers: Vec<Answer>) -> Self {
        FaultyServer::start(move |n, _| answers[n.min(answers.len() - 1)].clone())
    }

    /// Answers as a function of how many requests came before, and of the request.
    pub(super) fn start(script: impl Fn(usize, &Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared { script: Box::new(script), state: Mutex::default() });
        let thread = thread::spawn({
            let shared = shared.clone();
            move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let mut state = shared.state();
                    if state.ended {
                        return;
                    }
                    let (Ok(client), Ok(handle)) = (stream.peer_addr(), stream.try_clone()) else { continue };
                    state.connections.insert(client, handle);
                    drop(state);
                    let shared = shared.clone();
                    thread::spawn(move || {
                        // A client that goes away is not the server's concern.
                        let _ = serve(&shared, &stream);
                        shared.state().connections.remove(&client);
                    });
                }
            }
        });
        FaultyServer { address, shared, listener: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.shared.state().seen.clone()
    }

    /// How many requests there were so far.
    pub(super) fn count(&self) -> usize {
        self.shared.state().seen.len()
    }

    /// Requests that were under way together at most.
    pub(super) fn most_at_once(&self) -> usize {
        self.shared.state().most_under_way
    }
}

impl Drop for FaultyServer {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.ended = true;
        for (_, connection) in state.connections.drain() {
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(state);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

/// One connection, kept alive as long as answers are sent well.
fn serve(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream);
    while let Some(seen) = read(&mut input)? {
        let mut state = shared.state();
        let n = state.seen.len();
        // Under the lock, so that the times are in the order of the requests.
        let seen = Seen { at: Instant::now(), ..seen };
        state.seen.push(seen.clone());
        state.under_way += 1;
        state.most_under_way = state.most_under_way.max(state.under_way);
        drop(state);
        let sent = answer(stream, &(shared.script)(n, &seen), || shared.state().under_way -= 1);
        if !sent? {
            return Ok(());
        }
    }
    Ok(())
}

fn read(input: &mut BufReader<&TcpStream>) -> io::Result<Option<Seen>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    input.read_exact(&mut body)?;
    Ok(Some(Seen { method, path, headers, body, at: Instant::now() }))
}

/// Sends an answer; `false` if the connection cannot be used after it. `done` is called before its last byte is sent,
/// so that a client who has all of it never finds it under way.
fn answer(mut stream: &TcpStream, answer: &Answer, done: impl FnOnce()) -> io::Result<bool> {
    let Answer { status, headers, body, how } = answer;
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    head.push_str("\r\n");
    let whole = [head.as_bytes(), body].concat();
    let part = |bytes: usize| &whole[..head.len() + bytes.min(body.len())];
    match *how {
        How::Well => {
            done();
            stream.write_all(&whole)?;
            return Ok(true);
        }
        How::Late(wait) => {
            thread::sleep(wait);
            done();
            stream.write_all(&whole)?;
            return Ok(true);
        }
        How::Cut(bytes) => {
            done();
            stream.write_all(part(bytes))?;
            stream.shutdown(Shutdown::Both)?;
        }
        How::Reset(bytes) => {
            done();
            stream.write_all(part(bytes))?;
            // With no time to linger, the last handle that is dropped sends a reset.
            rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
        }
        How::Drip(pause) => {
            done();
            stream.write_all(part(0))?;
            for byte in body {
                stream.write_all(&[*byte])?;
                thread::sleep(pause);
            }
        }
        How::Stall(bytes) => {
            done();
            stream.write_all(part(bytes))?;
            while stream.read(&mut [0; 64])? > 0 {}
        }
        How::Close => {
            done();
            stream.shutdown(Shutdown::Both)?;
        }
        How::Never => {
            done();
            // Until the client has enough of it, or the server ends.
            while stream.read(&mut [0; 64])? > 0 {}
        }
    }
    Ok(false)
}
