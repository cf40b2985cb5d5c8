//! Servers that others wrote, each started for one test on a free port of this machine, and ended with it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a server may take to answer for the first time: `LiteLLM` reads half a Python distribution first.
const READY: Duration = Duration::from_mins(3);

/// Ports are free until somebody takes them: so often another one is tried.
const PORTS: usize = 5;

/// A program that `.ci/peers` installs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    Litellm,
    Aimock,
    Moto,
    Mitmproxy,
    Mcp,
    Inspector,
}

impl Peer {
    /// Where it is; it must be installed.
    pub(crate) fn program(self) -> PathBuf {
        let program = match self {
            Peer::Litellm => "litellm/bin/litellm",
            Peer::Aimock => "aimock/node_modules/@copilotkit/aimock/dist/cli.js",
            Peer::Moto => "moto/bin/moto_server",
            Peer::Mitmproxy => "mitmproxy/bin/mitmdump",
            Peer::Mcp => "mcp/bin/python",
            Peer::Inspector => "inspector/node_modules/.bin/mcp-inspector",
        };
        // Cargo names a folder inside its target folder.
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers").join(program);
        assert!(program.exists(), "{} is not there; .ci/peers installs it", program.display());
        program
    }
}

/// A running server. Ends with all its children when dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    log: PathBuf,
    /// Its configuration and its log.
    _dir: TempDir,
}

impl Server {
    /// Starts what `command` says for a port and a folder of its own, and waits until `ready` (a path) is answered.
    fn start(ready: &str, command: impl Fn(u16, &Path) -> Command) -> Self {
        let mut said = String::new();
        for _ in 0..PORTS {
            let dir = tempfile::Builder::new().prefix("situated-peer-").tempdir().unwrap();
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let log = dir.path().join("log");
            let file = File::create(&log).unwrap();
            let mut command = command(port, dir.path());
            command
                .env("HOME", dir.path())
                .stdin(Stdio::null())
                .stdout(file.try_clone().unwrap())
                .stderr(file)
                // So that what it starts can be ended with it.
                .process_group(0);
            let child = command.spawn().unwrap();
            let mut server = Server { child, port, log, _dir: dir };
            if server.wait_ready(ready) {
                return server;
            }
            said = server.log();
        }
        panic!("the server does not start: {said}");
    }

    /// Whether it answers; `false` if it ended.
    fn wait_ready(&mut self, path: &str) -> bool {
        let until = Instant::now() + READY;
        while self.child.try_wait().unwrap().is_none() {
            if self.http("GET", path, &[], "").is_ok_and(|(status, _)| status < 500) {
                return true;
            }
            assert!(Instant::now() < until, "not ready in time: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it printed.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Status and body of a request of the tests' own.
    pub(crate) fn http(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        // In this version of HTTP an answer ends with its connection, and comes in one piece.
        let mut request = format!("{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("\r\n{body}"));
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| std::io::Error::other("no status"))?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((status, body.to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            // It may have ended already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// `LiteLLM`'s proxy with the models of `litellm.yaml`.
pub(crate) fn litellm() -> Server {
    Server::start("/health/liveliness", |port, _| {
        let mut command = Command::new(Peer::Litellm.program());
        command
            .arg("--config")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/litellm.yaml"))
            .args(["--host", "127.0.0.1", "--telemetry", "False", "--port", &port.to_string()])
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env("LITELLM_TELEMETRY", "False")
            .env("DISABLE_ADMIN_UI", "True");
        command
    })
}

/// `aimock` with its fixtures: answers by what is asked.
pub(crate) struct Aimock(pub(crate) Server);

impl Aimock {
    /// With these fixtures; the first that matches answers.
    pub(crate) fn start(fixtures: &Value) -> Self {
        Aimock(Server::start("/health", |port, dir| {
            let file = dir.join("fixtures.json");
            std::fs::write(&file, json!({ "fixtures": fixtures }).to_string()).unwrap();
            let mut command = Command::new("node");
            command.arg(Peer::Aimock.program()).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-f"]).arg(file);
            command
        }))
    }

    /// The requests so far, oldest first: `path`, `headers`, `body` (in OpenAI's form, whatever came), `response`.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let (status, body) = self.0.http("GET", "/__aimock/journal", &[], "").unwrap();
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }
}

/// A user of `moto`'s own identity service, who may use Bedrock.
pub(crate) struct Moto {
    pub(crate) server: Server,
    pub(crate) access: String,
    pub(crate) secret: String,
}

impl Moto {
    /// Signatures are verified from the fourth request on; the first three make the user.
    pub(crate) fn start() -> Self {
        let server = Server::start("/moto-api/", |port, _| {
            let mut command = Command::new(Peer::Moto.program());
            command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).env("INITIAL_NO_AUTH_ACTION_COUNT", "3");
            command
        });
        let iam = |form: &str| {
            // Which service is meant stands in the signature, that is not looked at yet.
            let scope = "AWS4-HMAC-SHA256 Credential=nobody/20261120/us-east-1/iam/aws4_request, \
                         SignedHeaders=host, Signature=0";
            let headers = [
                ("host", "iam.amazonaws.com"),
                ("authorization", scope),
                ("content-type", "application/x-www-form-urlencoded"),
            ];
            let form = format!("{form}&UserName=situated&Version=2010-05-08");
            let (status, body) = server.http("POST", "/", &headers, &form).unwrap();
            assert_eq!(status, 200, "{form}: {body}");
            body
        };
        iam("Action=CreateUser");
        let made = iam("Action=CreateAccessKey");
        let policy = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C\
                      %22Action%22%3A%22bedrock%3A%2A%22%2C%22Resource%22%3A%22%2A%22%7D%5D%7D";
        iam(&format!("Action=PutUserPolicy&PolicyName=bedrock&PolicyDocument={policy}"));
        let part = |name: &str| {
            let (_, rest) = made.split_once(&format!("<{name}>")).unwrap();
            rest.split('<').next().unwrap().to_owned()
        };
        Moto { access: part("AccessKeyId"), secret: part("SecretAccessKey"), server }
    }
}

/// `mitmproxy` before another server, with faults from a script: see `faults.py`.
pub(crate) struct Faults(pub(crate) Server);

impl Faults {
    /// With these faults in turn; with `fill`, every success has that body.
    pub(crate) fn before(upstream: &Server, faults: &str, fill: Option<&str>) -> Self {
        Faults(Server::start("/faults", |port, dir| {
            let mut command = Command::new(Peer::Mitmproxy.program());
            command
                .args(["-q", "--listen-host", "127.0.0.1", "--listen-port", &port.to_string()])
                .arg("--mode")
                .arg(format!("reverse:{}", upstream.url()))
                // Signatures cover the host.
                .args(["--set", "keep_host_header=true", "--set"])
                .arg(format!("confdir={}", dir.display()))
                .arg("-s")
                .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/faults.py"))
                .env("FAULTS", faults);
            if let Some(fill) = fill {
                command.env("FILL", fill);
            }
            command
        }))
    }

    /// What was done to each request so far, in order of arrival.
    pub(crate) fn done(&self) -> Vec<String> {
        let (status, body) = self.0.http("GET", "/faults", &[], "").unwrap();
        assert_eq!(status, 200, "{body}");
        body.lines().map(str::to_owned).collect()
    }
}
