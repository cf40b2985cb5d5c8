//! The server of a test.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use context::settings::KeyConfig;
use provider::rest::{Method, RestServer};
use team::Collection;
use tempfile::TempDir;

/// The setting of who vouches for a server; with it, it encrypts.
pub const CA_CERT: &str = "QDRANT__TLS__CA_CERT";

/// A server; its own is ended with it.
pub struct Server {
    pub url: String,
    own: Option<(Child, PathBuf, Vec<(String, String)>)>,
    /// Who vouches for it, if it encrypts.
    pub ca: Option<PathBuf>,
    /// Its files, and keys of the test.
    pub dir: TempDir,
}

impl Server {
    /// The server of this run.
    pub async fn start() -> Server {
        Server::start_with(&[]).await
    }

    /// The same, with settings of its environment.
    pub async fn start_with(settings: &[(&str, &str)]) -> Server {
        let dir = TempDir::new().unwrap();
        if let (Ok(url), true) = (std::env::var("SITUATED_QDRANT_URL"), settings.is_empty()) {
            return Server { url, own: None, ca: None, dir };
        }
        let program = std::env::var_os("SITUATED_QDRANT").expect("SITUATED_QDRANT names the program of Qdrant");
        let settings: Vec<(String, String)> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (child, port) = spawn(&PathBuf::from(&program), &dir, &settings, None);
        let ca = settings.iter().find(|(name, _)| name == CA_CERT).map(|(_, file)| PathBuf::from(file));
        let url = if ca.is_some() { format!("https://localhost:{port}") } else { format!("http://127.0.0.1:{port}") };
        let server = Server { url, own: Some((child, program.into(), settings)), ca, dir };
        server.ready().await;
        server
    }

    /// Kills it.
    pub fn kill(&mut self) {
        let (child, ..) = self.own.as_mut().expect("a server of the test's own");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts it again on the same files and the same port.
    pub async fn start_again(&mut self) {
        let port = self.url.rsplit(':').next().unwrap().parse().unwrap();
        let (child, program, settings) = self.own.as_mut().expect("a server of the test's own");
        *child = spawn(program, &self.dir, settings, Some(port)).0;
        self.ready().await;
    }

    async fn ready(&self) {
        let server = self.rest(&KeyConfig::default());
        for _ in 0..600 {
            if server.ask(Method::GET, "/readyz", Vec::new(), Duration::from_secs(5)).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the server is not ready");
    }

    /// A collection that no other test has.
    pub fn collection(&self) -> Collection {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        self.collection_with(&name, &KeyConfig::default())
    }

    /// A collection by name, with a key.
    pub fn collection_with(&self, name: &str, key: &KeyConfig) -> Collection {
        Collection::new(self.rest(key), name)
    }

    /// As our own code speaks with it, with a key.
    pub fn rest(&self, key: &KeyConfig) -> RestServer {
        RestServer::new(&self.url, "api-key", key, self.ca.as_deref()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some((child, ..)) = &mut self.own {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn spawn(program: &PathBuf, dir: &TempDir, settings: &[(String, String)], port: Option<u16>) -> (Child, u16) {
    let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let port = port.unwrap_or_else(free);
    let child = Command::new(program)
        .current_dir(dir.path())
        .env("QDRANT__SERVICE__HOST", "127.0.0.1")
        .env("QDRANT__SERVICE__HTTP_PORT", port.to_string())
        .env("QDRANT__SERVICE__GRPC_PORT", free().to_string())
        .env("QDRANT__STORAGE__STORAGE_PATH", dir.path().join("storage"))
        .env("QDRANT__STORAGE__SNAPSHOTS_PATH", dir.path().join("snapshots"))
        .env("QDRANT__TELEMETRY_DISABLED", "true")
        .env("QDRANT__LOG_LEVEL", "ERROR")
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (child, port)
}
