//! Blocking client of the daemon's socket, for the command line and for bridges. Every wait has an end: a daemon that
//! hangs must not make every command of its users hang.

mod reach;
mod reply;

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use platform::stream::{self, Stream};
use serde_json::{Value, json};

pub use self::reply::Reply;
use crate::daemon::{HelloRequest, PingRequest, Welcome};
use crate::envelope::{Id, Params};
use crate::frame::{Line, LineDecoder};
use crate::jobs::CancelRequest;
use crate::locate::{self, Surroundings};
use crate::notification::Text;
use crate::table::Call;

/// How long a connect may take. It is instant unless the daemon no longer accepts.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a daemon that holds its lock but has no socket yet is waited for.
const START_PATIENCE: Duration = Duration::from_secs(2);

/// How long a call may take unless the daemon's own deadline is later, or [`Client::set_timeout`] says otherwise.
const CALL_TIMEOUT: Duration = Duration::from_secs(11);

/// So much longer than the daemon's own deadline is waited, so that its answer comes first.
const LATER: Duration = Duration::from_secs(1);

/// How often a call that can be stopped looks whether to go on.
const LOOK: Duration = Duration::from_millis(100);

/// How long a daemon that was told to stop may take to say that it has.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens.
    #[error("no daemon is running: start it with `situated run` (`situated run VAULT` where no configuration names one), or as a service (looked at {})", .0.display())]
    NotRunning(PathBuf),
    /// The socket is there and cannot be used.
    #[error("cannot connect to {}: {source}", .socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What stands at the socket's path is none.
    #[error("{} is no socket, so no daemon is there; `--socket`, SITUATED_SOCKET or `serve.socket` in the configuration names it", .0.display())]
    NotASocket(PathBuf),
    /// Somebody else's socket, who is not to read what we ask.
    #[error("{} belongs to user {uid}, and what you ask is for your own daemon only; name another with `--socket`, SITUATED_SOCKET or `serve.socket`", .socket.display())]
    Foreign {
        /// The socket.
        socket: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// A daemon lives, and cannot be reached.
    #[error("a daemon runs (process {pid}, version {version}), but nobody answers at {}: {why}", .socket.display())]
    Deaf {
        /// Where it was looked for.
        socket: PathBuf,
        /// Its process.
        pid: u32,
        /// Its version.
        version: String,
        /// What may have happened, and what to do.
        why: String,
    },
    /// No answer came in time.
    #[error("the daemon{} did not answer within {:.1} s; {}", reach::process(*.pid), .after.as_secs_f64(), reach::ending(*.pid))]
    Timeout {
        /// How long it was waited for.
        after: Duration,
        /// The process of the daemon, if it is known.
        pid: Option<u32>,
    },
    /// The connection broke before the answer was there.
    #[error("the daemon ended the connection before it answered; see its log")]
    Closed,
    /// The daemon answered with an error.
    #[error("{0}")]
    Remote(Remote),
    /// What came is not this protocol.
    #[error("the daemon's answer makes no sense ({0}); client and daemon may be of different versions: {restart}", restart = reach::RESTART)]
    Protocol(String),
    /// Reading or writing failed.
    #[error("the connection to the daemon failed: {0}")]
    Io(#[from] io::Error),
}

/// An error that the daemon answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    /// `code` on the wire.
    pub code: i64,
    /// `data.kind` on the wire, e.g. `not_found`.
    pub kind: String,
    /// One sentence for a person.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// All of `data`.
    pub data: Params,
}

impl ClientError {
    /// The program's exit code, after `sysexits.h` and `timeout(1)`.
    pub fn exit_code(&self) -> u8 {
        match self {
            ClientError::NotRunning(_) | ClientError::Closed => 69,
            ClientError::Connect { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => 77,
            ClientError::Connect { .. } => 69,
            ClientError::Foreign { .. } => 77,
            ClientError::NotASocket(_) => 78,
            ClientError::Deaf { .. } => 75,
            ClientError::Timeout { .. } => 124,
            ClientError::Remote(remote) => remote.exit_code(),
            ClientError::Protocol(_) => 70,
            ClientError::Io(_) => 74,
        }
    }

    fn timeout(after: Duration) -> ClientError {
        ClientError::Timeout { after, pid: None }
    }

    /// What to do next, if the daemon said so.
    pub fn hint(&self) -> Option<&str> {
        match self {
            ClientError::Remote(remote) => remote.hint.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) if self.message.contains(hint.as_str()) => Ok(()),
            // A question ends its sentence.
            Some(hint) if self.message.ends_with('?') => write!(f, " ({hint})"),
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl Remote {
    fn exit_code(&self) -> u8 {
        match self.kind.as_str() {
            "not_found" => 1,
            "invalid_params" | "unknown_method" | "invalid_request" | "parse_error" | "too_large" => 2,
            "not_ready" | "busy" | "conflict" | "paused" => 75,
            "timeout" => 124,
            "cancelled" => 130,
            "forbidden" => 77,
            "storage" => 74,
            "not_configured" => 78,
            "provider" => 69,
            _ => 70,
        }
    }

    fn from_wire(error: &Value) -> Remote {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let data = error["data"].as_object().cloned().unwrap_or_default();
        Remote {
            code: error["code"].as_i64().unwrap_or_default(),
            kind: data.get("kind").and_then(text).unwrap_or_default(),
            message: text(&error["message"]).unwrap_or_else(|| "the daemon reports an error without words".into()),
            hint: data.get("hint").and_then(text),
            data,
        }
    }
}

/// What a client knows about where the daemon is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The setting `serve.socket`.
    pub socket: Option<PathBuf>,
    /// Where the daemon keeps its data, and its lock.
    pub data_dir: PathBuf,
    /// Whether only a daemon over these data is meant: the folder was named, and no socket.
    pub is_named: bool,
}

impl Discovery {
    /// The socket at which to ask now.
    pub fn socket(&self) -> PathBuf {
        Surroundings::here().find(self.socket.as_deref(), &self.data_dir)
    }

    /// Whether a daemon that answers is over other data than those that are meant.
    fn is_missed(&self) -> bool {
        self.is_named && self.socket.is_none() && !locate::is_locked(&self.data_dir)
    }
}

/// A connection to the daemon. One call at a time.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    decoder: LineDecoder,
    /// Read and not yet decoded.
    pending: Vec<u8>,
    timeout: Option<Duration>,
    next_id: i64,
    /// Set when a call was given up: its answer may still come, and is skipped.
    stale: i64,
    /// How the daemon was found, to say who it is when it is not understood.
    discovery: Option<Discovery>,
}

impl Client {
    /// Connects to the daemon. One that is just starting is waited for, a moment only.
    pub fn connect(discovery: &Discovery) -> Result<Client, ClientError> {
        let start = Instant::now();
        let is_starting = || start.elapsed() < START_PATIENCE && locate::is_locked(&discovery.data_dir);
        loop {
            match Client::connect_to(&discovery.socket()) {
                Err(ClientError::NotRunning(_)) if is_starting() => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(ClientError::NotRunning(socket)) => {
                    return Err(reach::deaf(discovery, &socket).unwrap_or(ClientError::NotRunning(socket)));
                }
                Err(error) => return Err(reach::explain(error, Some(discovery))),
                Ok(client) => {
                    let its_own = locate::running(&discovery.data_dir).and_then(|daemon| daemon.answers_within_ms);
                    let timeout =
                        its_own.map_or(CALL_TIMEOUT, |ms| CALL_TIMEOUT.max(Duration::from_millis(ms) + LATER));
                    let mut client = Client { timeout: Some(timeout), discovery: Some(discovery.clone()), ..client };
                    if discovery.is_missed() {
                        // A service manager may have started the daemon just now: it holds its data before it answers.
                        client.call(&PingRequest {})?;
                    }
                    let missed = ClientError::NotRunning(discovery.data_dir.join(locate::DAEMON));
                    return if discovery.is_missed() { Err(missed) } else { Ok(client) };
                }
            }
        }
    }

    /// Connects to the daemon at `socket`.
    pub fn connect_to(socket: &Path) -> Result<Client, ClientError> {
        reach::look(socket)?;
        let stream = connect_in_time(socket)?;
        Ok(Client {
            stream,
            decoder: LineDecoder::replies(),
            pending: Vec::new(),
            timeout: Some(CALL_TIMEOUT),
            next_id: 1,
            stale: 0,
            discovery: None,
        })
    }

    /// How long a call may take; `None` for as long as it takes, which is for jobs that are waited for.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// Also if the answer is not understood, which is the case where client and daemon are too far apart.
    pub fn call<C: Call>(&mut self, call: &C) -> Result<C::Answer, ClientError> {
        self.ask(call)?.read()
    }

    /// Asks, and waits for the answer, which is kept as it came.
    pub fn ask<C: Call>(&mut self, call: &C) -> Result<Reply<C>, ClientError> {
        self.call_raw(C::METHOD.name(), params(call)?).map(Reply::of)
    }

    /// As [`Client::ask`], with the text of the answer as it comes. The timeout holds from one piece to the next.
    /// Once `go_on` says no the request is cancelled: then the error is of kind `cancelled`, unless the answer was on
    /// its way already.
    pub fn ask_with_text<C: Call>(
        &mut self,
        call: &C,
        on_text: &mut dyn FnMut(&str),
        go_on: &dyn Fn() -> bool,
    ) -> Result<Reply<C>, ClientError> {
        self.exchange(C::METHOD.name(), params(call)?, on_text, Some(go_on)).map(Reply::of)
    }

    /// Asks by the name of a method, which need be none that this client knows. `params` is an object, or `null` for none.
    pub fn call_raw(&mut self, method: &str, params: Value) -> Result<Value, ClientError> {
        let answer = self.exchange(method, params, &mut |_| {}, None);
        answer.map_err(|error| reach::explain(error, self.discovery.as_ref()))
    }

    /// Waits for the next event, after a call of `subscribe`, for as long as it takes. It is as it came: an
    /// [`Event`](crate::events::Event), unless a newer daemon tells of something new.
    pub fn next_event(&mut self) -> Result<Value, ClientError> {
        loop {
            let mut message = self.receive(None)?;
            if message["method"] == "event" {
                return Ok(message["params"].take());
            }
        }
    }

    /// Agrees on the protocol; fails with `unsupported_protocol` if daemon and client have none in common.
    pub fn hello(&mut self) -> Result<Welcome, ClientError> {
        self.call(&HelloRequest::of(concat!("situated/", env!("CARGO_PKG_VERSION"))))
    }

    /// Sends a request and waits for its answer. Text of it that comes before goes to `on_text`; once `go_on` says no,
    /// the request is cancelled.
    fn exchange(
        &mut self,
        method: &str,
        params: Value,
        on_text: &mut dyn FnMut(&str),
        go_on: Option<&dyn Fn() -> bool>,
    ) -> Result<Value, ClientError> {
        let id = self.next_id;
        self.next_id += 1;
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            request["params"] = params;
        }
        self.stream.set_write_timeout(self.timeout)?;
        // A daemon that refuses us may close before it has read; what it said first is there all the same.
        let sent = self.write(&request);
        let mut deadline = self.deadline();
        let mut stopped = false;
        loop {
            if !stopped && go_on.is_some_and(|go_on| !go_on()) {
                stopped = true;
                let cancel = CancelRequest { id: Some(Id::Number(id)), ..CancelRequest::default() };
                self.write(&json!({ "jsonrpc": "2.0", "method": CancelRequest::METHOD.name(), "params": cancel }))?;
                deadline = Some(Instant::now() + STOP_PATIENCE);
            }
            let look = go_on.map(|_| Instant::now() + LOOK);
            let mut message = match self.receive(look.into_iter().chain(deadline).min()) {
                Ok(message) => message,
                Err(ClientError::Timeout { .. }) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {
                    continue;
                }
                Err(timeout @ ClientError::Timeout { .. }) => {
                    self.stale = id;
                    return Err(timeout);
                }
                Err(error) => return Err(sent.err().unwrap_or(error)),
            };
            if message["method"].is_string() {
                if stopped {
                    continue;
                }
                if message["method"] == "text"
                    && let Ok(Text { id: of, text }) = serde_json::from_value(message["params"].take())
                    && of == Id::Number(id)
                {
                    on_text(&text);
                }
                // What still tells of progress is not given up.
                deadline = self.deadline();
                continue;
            }
            match message.get("id") {
                Some(Value::Null) => {}
                Some(answered) if *answered == json!(id) => {}
                Some(Value::Number(old)) if old.as_i64().is_some_and(|old| old <= self.stale) => continue,
                _ => return Err(ClientError::Protocol("it answers a request that was not made".into())),
            }
            return outcome(message);
        }
    }

    fn write(&mut self, message: &Value) -> Result<(), ClientError> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.stream.write_all(&line).map_err(broken)
    }

    fn deadline(&self) -> Option<Instant> {
        self.timeout.map(|timeout| Instant::now() + timeout)
    }

    /// The next message; at `deadline` at the latest.
    fn receive(&mut self, deadline: Option<Instant>) -> Result<Value, ClientError> {
        let mut buffer = [0; 16 << 10];
        loop {
            let mut input = self.pending.as_slice();
            let line = self.decoder.next_line(&mut input);
            let used = self.pending.len() - input.len();
            self.pending.drain(..used);
            if let Some(line) = line {
                return decode(line);
            }
            let patience = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if patience.is_some_and(|patience| patience.is_zero()) {
                return Err(ClientError::timeout(self.timeout.unwrap_or_default()));
            }
            self.stream.set_read_timeout(patience)?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(count) => self.pending.extend_from_slice(&buffer[..count]),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(error)),
            }
        }
    }
}

/// The parameters of a call, as they are sent.
fn params(call: &impl Call) -> Result<Value, ClientError> {
    serde_json::to_value(call).map_err(|error| ClientError::Protocol(error.to_string()))
}

/// What an answer says.
fn outcome(mut answer: Value) -> Result<Value, ClientError> {
    match answer.get("error") {
        Some(error) => Err(ClientError::Remote(Remote::from_wire(error))),
        None if answer.get("result").is_some() => Ok(answer["result"].take()),
        None => Err(ClientError::Protocol("neither a result nor an error".into())),
    }
}

fn decode(line: Line) -> Result<Value, ClientError> {
    let Line::Text(text) = line else {
        return Err(ClientError::Protocol("it is too long".into()));
    };
    match serde_json::from_slice(&text) {
        Ok(message @ Value::Object(_)) => Ok(message),
        Ok(_) => Err(ClientError::Protocol("it is no object".into())),
        Err(error) => Err(ClientError::Protocol(error.to_string())),
    }
}

fn broken(error: io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => ClientError::Closed,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::timeout(CALL_TIMEOUT),
        _ => ClientError::Io(error),
    }
}

/// A connect blocks while the listener's backlog is full, and has no timeout of its own.
fn connect_in_time(socket: &Path) -> Result<Stream, ClientError> {
    let (sender, receiver) = mpsc::channel();
    let to = socket.to_owned();
    thread::Builder::new().name("connect".into()).spawn(move || {
        let _ = sender.send(stream::connect(&to));
    })?;
    match receiver.recv_timeout(CONNECT_TIMEOUT) {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Err(ClientError::NotRunning(socket.to_owned()))
        }
        Ok(Err(source)) => Err(ClientError::Connect { socket: socket.to_owned(), source }),
        Err(_) => Err(ClientError::timeout(CONNECT_TIMEOUT)),
    }
}

#[cfg(all(test, unix))]
mod tests;
