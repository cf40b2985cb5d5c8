//! A server as a child process.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use context::settings::KeyConfig;
use provider::rest::{Method, RestServer};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::common::{self, daemon::Usage};

/// How long a server may take to answer anything.
const PATIENCE: Duration = Duration::from_secs(600);

/// A server on the loopback. It ends with this.
pub(crate) struct Node {
    program: PathBuf,
    dir: PathBuf,
    settings: Vec<(String, String)>,
    arguments: Vec<String>,
    http: u16,
    child: Child,
}

/// How a node finds others.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    /// Its own port for them.
    pub(crate) port: u16,
    /// That of the first node; `None` for this one.
    pub(crate) first: Option<u16>,
}

impl Node {
    /// Starts one with its files in `dir`.
    pub(crate) async fn start(
        program: &Path,
        dir: &Path,
        settings: &[(&str, &str)],
        peer: Option<Peer>,
    ) -> Result<Node> {
        std::fs::create_dir_all(dir)?;
        let mut settings: Vec<(String, String)> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (http, grpc) = (free_port()?, free_port()?);
        let place = |name: &str| dir.join(name).to_string_lossy().into_owned();
        let mut set = |name: &str, value: String| settings.push((format!("QDRANT__{name}"), value));
        set("SERVICE__HOST", Ipv4Addr::LOCALHOST.to_string());
        set("SERVICE__HTTP_PORT", http.to_string());
        set("SERVICE__GRPC_PORT", grpc.to_string());
        set("STORAGE__STORAGE_PATH", place("storage"));
        set("STORAGE__SNAPSHOTS_PATH", place("snapshots"));
        set("TELEMETRY_DISABLED", "true".to_owned());
        set("LOG_LEVEL", "WARN".to_owned());
        let mut arguments = Vec::new();
        if let Some(Peer { port, first }) = peer {
            set("CLUSTER__ENABLED", "true".to_owned());
            set("CLUSTER__P2P__PORT", port.to_string());
            arguments.extend(["--uri".to_owned(), format!("http://127.0.0.1:{port}")]);
            arguments
                .extend(first.iter().flat_map(|first| ["--bootstrap".to_owned(), format!("http://127.0.0.1:{first}")]));
        }
        let child = spawn(program, dir, &settings, &arguments)?;
        let node = Node { program: program.to_owned(), dir: dir.to_owned(), settings, arguments, http, child };
        node.ready().await?;
        Ok(node)
    }

    /// Kills it without a word.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Holds it still: it is silent, and keeps its connections.
    pub(crate) fn hold(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on after that.
    pub(crate) async fn go_on(&self) -> Result<()> {
        self.signal(Signal::CONT)?;
        self.ready().await
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let process = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("no process")?;
        Ok(kill_process(process, signal)?)
    }

    /// Starts it again on the same files and ports.
    pub(crate) async fn start_again(&mut self) -> Result<()> {
        self.child = spawn(&self.program, &self.dir, &self.settings, &self.arguments)?;
        self.ready().await
    }

    async fn ready(&self) -> Result<()> {
        for _ in 0..1200 {
            if self.server()?.ask(Method::GET, "/readyz", Vec::new(), Duration::from_secs(5)).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("the server on port {} is not ready", self.http)
    }

    /// As our own code speaks with it.
    pub(crate) fn server(&self) -> Result<RestServer> {
        let url = format!("http://127.0.0.1:{}", self.http);
        RestServer::new(&url, "api-key", &KeyConfig::default(), None).map_err(anyhow::Error::msg)
    }

    /// What it answers to anything.
    pub(crate) async fn ask(&self, verb: Method, path: &str, body: Value) -> Result<Value> {
        let answer = self.server()?.ask(verb, path, body.to_string().into_bytes(), PATIENCE).await;
        let mut answer: Value = serde_json::from_slice(&answer.with_context(|| format!("{path} failed"))?)?;
        Ok(answer["result"].take())
    }

    /// Changes a setting of a collection, which our own code never does.
    pub(crate) fn patch(&self, path: &str, body: &Value) -> Result<()> {
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.http))?;
        let body = body.to_string();
        write!(
            server,
            "PATCH {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        server.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 200"), "the server refuses {body}: {answer}");
        Ok(())
    }

    /// Its memory and processor time.
    pub(crate) fn usage(&self) -> Result<Usage> {
        Usage::of(self.child.id()).context("there is no /proc")
    }

    /// Bytes of its files.
    pub(crate) fn disk(&self) -> Result<u64> {
        Ok(common::size(&self.dir)?)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have gone already.
        let _ = self.kill();
    }
}

fn spawn(program: &Path, dir: &Path, settings: &[(String, String)], arguments: &[String]) -> Result<Child> {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(dir.join("log"))?;
    Command::new(program)
        .current_dir(dir)
        .args(arguments)
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("{} does not start", program.display()))
}

/// A port that nobody listens at.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
