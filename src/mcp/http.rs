//! MCP over HTTP, for assistants that cannot start a program, as in containers. The SDK speaks the protocol
//! (Streamable HTTP, without sessions) and checks `Host` and `Origin`. This module adds access and limits: a client
//! without the token learns nothing, and one that sends slowly or without end loses its place after a while.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::daemon::Daemon;
use super::server::Bridge;
use super::{MAX_LINE, lines};
use protocol::client::Discovery;

/// Where the server answers.
pub const PATH: &str = "/mcp";

/// Connections at once. If there are more, those give way that have not shown the token; then they wait in the system's
/// queue.
const MOST_CONNECTIONS: usize = 64;

/// How long a client may take to send its headers.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// How long it may take to send the body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// Pause after the system refused a connection, for example because it has no file descriptors left.
const BREATH: Duration = Duration::from_millis(100);

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Bridge, NeverSessionManager>;

/// Where the server listens, and whom it lets in.
#[derive(Clone, Debug)]
pub struct Door {
    /// Address and port; port 0 is any that is free.
    pub address: SocketAddr,
    /// What a client must send as `Authorization: Bearer …`.
    pub token: String,
    /// Names that clients may use for this machine besides its addresses, for `Host` and `Origin`.
    pub names: Vec<String>,
}

/// Serves clients until the process ends; `ready` gets the address that was bound.
///
/// # Errors
/// The runtime cannot be made, or the address cannot be taken.
pub fn serve(discovery: Discovery, door: Door, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(door.address).await?;
        ready(listener.local_addr()?);
        let gate = Arc::new(Gate {
            token: blake3::hash(door.token.as_bytes()),
            every_address: door.address.ip().is_unspecified(),
            service: service(discovery, &door),
        });
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut guests = Guests::default();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    if places.available_permits() == 0 {
                        guests.dismiss_a_stranger();
                    }
                    let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
                    let (gate, is_known) = (gate.clone(), Arc::new(AtomicBool::new(false)));
                    let known = is_known.clone();
                    let task = tokio::spawn(async move {
                        connection(stream, gate, known).await;
                        drop(place);
                    });
                    guests.add(task.abort_handle(), is_known);
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    })
}

fn service(discovery: Discovery, door: &Door) -> Service {
    let daemon = Daemon::new(discovery);
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    if !door.address.ip().is_unspecified() {
        hosts.push(named(door.address.ip()));
    }
    hosts.extend(door.names.iter().cloned());
    let origins = hosts.iter().flat_map(|host| {
        let host = host.parse().map_or_else(|_| host.clone(), named);
        [format!("http://{host}:*"), format!("https://{host}:*")]
    });
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_LINE)
        .with_allowed_origins(origins.collect::<Vec<_>>())
        .with_allowed_hosts(hosts);
    let bridge = move || Ok(Bridge::new(daemon.clone(), Arc::new(AtomicBool::new(false))));
    StreamableHttpService::new(bridge, Arc::new(NeverSessionManager::default()), config)
}

/// An address as it stands in a URL.
fn named(address: IpAddr) -> String {
    if address.is_ipv6() { format!("[{address}]") } else { address.to_string() }
}

/// Open connections, the oldest first, each with whether it has shown the token.
#[derive(Default)]
struct Guests(VecDeque<(AbortHandle, Arc<AtomicBool>)>);

impl Guests {
    fn add(&mut self, task: AbortHandle, is_known: Arc<AtomicBool>) {
        self.0.retain(|(task, _)| !task.is_finished());
        self.0.push_back((task, is_known));
    }

    /// Ends the oldest connection that has not shown the token: whoever has none must not keep out those who have.
    fn dismiss_a_stranger(&mut self) {
        let stranger = |(task, is_known): &(AbortHandle, Arc<AtomicBool>)| {
            !task.is_finished() && !is_known.load(Ordering::Relaxed)
        };
        if let Some(at) = self.0.iter().position(stranger) {
            self.0.remove(at).into_iter().for_each(|(task, _)| task.abort());
        }
    }
}

async fn connection(stream: TcpStream, gate: Arc<Gate>, is_known: Arc<AtomicBool>) {
    let service = service_fn(move |request| {
        let (gate, is_known) = (gate.clone(), is_known.clone());
        async move { Ok::<_, Infallible>(gate.answer(request, &is_known).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Lets in clients that know the token.
struct Gate {
    /// The hash of the token: hashes are compared in constant time.
    token: blake3::Hash,
    /// Whether it listens at all addresses of the machine, which it cannot list: they come and go.
    every_address: bool,
    service: Service,
}

impl Gate {
    async fn answer(&self, request: Request<Incoming>, is_known: &AtomicBool) -> Answer {
        if !self.knows(&request) {
            let mut answer = refusal(
                StatusCode::UNAUTHORIZED,
                "send `Authorization: Bearer` with the token that `situated mcp --http` named",
            );
            answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return answer;
        }
        is_known.store(true, Ordering::Relaxed);
        if request.uri().path() != PATH {
            return refusal(StatusCode::NOT_FOUND, "MCP is spoken at /mcp");
        }
        let (mut head, body) = request.into_parts();
        // Whoever names an address has not been led here by a name that a stranger had made to mean this machine, which
        // is what the check of `Host` is against.
        if self.every_address && names_address(&head) {
            head.headers.insert(HOST, HeaderValue::from_static("localhost"));
        }
        match tokio::time::timeout(BODY_WITHIN, Limited::new(body, MAX_LINE).collect()).await {
            Ok(Ok(body)) => {
                let body = body.to_bytes();
                match misfit(&head, &body) {
                    Some(refused) => refused,
                    None => match self.service.handle(Request::from_parts(head, Full::new(body))).await {
                        answer if answer.status() == StatusCode::FORBIDDEN => refusal(
                            StatusCode::FORBIDDEN,
                            "the name in `Host` or `Origin` is not known to be this machine's: start `situated mcp \
                             --http` with `--host NAME` for each name that clients use",
                        ),
                        answer => answer,
                    },
                }
            }
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                refusal(StatusCode::PAYLOAD_TOO_LARGE, "a request has at most 4 MiB")
            }
            Ok(Err(_)) => refusal(StatusCode::BAD_REQUEST, "the request ended in the middle"),
            Err(_) => refusal(StatusCode::REQUEST_TIMEOUT, "the request did not come to an end in time"),
        }
    }

    fn knows(&self, request: &Request<Incoming>) -> bool {
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|given| {
            let (scheme, token) = given.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        token.is_some_and(|token| blake3::hash(token.as_bytes()) == self.token)
    }
}

/// Whether a request names an address of the machine it is for, and no name.
fn names_address(head: &Parts) -> bool {
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<SocketAddr>().is_ok() || address.parse::<IpAddr>().is_ok()
}

/// The answer to a body that the SDK cannot read: it would take the fault for one of the body's type.
fn misfit(head: &Parts, body: &Bytes) -> Option<Answer> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if head.method != Method::POST || !kind.starts_with("application/json") {
        return None;
    }
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Some(refusal(StatusCode::BAD_REQUEST, "the body is not JSON"));
    };
    let mut refused = lines::refusals(&message);
    let told = if message.is_array() { Value::Array(refused) } else { refused.pop()? };
    Some(answer(StatusCode::BAD_REQUEST, "application/json", told.to_string()))
}

fn refusal(status: StatusCode, why: &'static str) -> Answer {
    answer(status, "text/plain; charset=utf-8", why)
}

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
