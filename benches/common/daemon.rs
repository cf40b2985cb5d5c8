//! The release binary as a child, and what its socket says.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A connection: one request at a time.
pub(crate) struct Client {
    reader: BufReader<UnixStream>,
    id: u64,
    line: String,
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        Ok(Client { reader: BufReader::new(stream), id: 0, line: String::new() })
    }

    /// Asks and waits for the answer.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.id += 1;
        let mut request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).to_string();
        request.push('\n');
        self.reader.get_mut().write_all(request.as_bytes())?;
        loop {
            self.line.clear();
            if self.reader.read_line(&mut self.line)? == 0 {
                bail!("the daemon closed the connection during `{method}`");
            }
            let mut answer: Value = serde_json::from_str(&self.line)?;
            if answer["id"] != json!(self.id) {
                continue;
            }
            if let Some(error) = answer.get("error") {
                bail!("`{method}`: {error}");
            }
            return Ok(answer["result"].take());
        }
    }

    /// Milliseconds that a call takes, and its answer.
    pub(crate) fn timed(&mut self, method: &str, params: &Value) -> Result<(f64, Value)> {
        let start = Instant::now();
        let answer = self.call(method, params)?;
        Ok((start.elapsed().as_secs_f64() * 1e3, answer))
    }
}

/// A daemon over one vault, stopped when dropped.
pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
    /// When the process was started.
    pub(crate) started: Instant,
}

impl Daemon {
    /// Starts the binary `exe` on `vault`; `home` takes its index, its socket and its log. Nothing of the
    /// user's own configuration is read.
    pub(crate) fn start(exe: &str, home: &Path, vault: &Path) -> Result<Self> {
        Self::spawn(exe, home, |command| {
            command.arg("run").arg(vault);
        })
    }

    /// The same with a configuration; `settings` follows the vault, which is called `notes`.
    pub(crate) fn configured(exe: &str, home: &Path, vault: &Path, settings: &str) -> Result<Self> {
        std::fs::create_dir_all(home)?;
        let file = home.join("config.toml");
        let path = toml::Value::from(vault.to_str().context("the vault's path is Unicode")?);
        std::fs::write(&file, format!("[[vault]]\nname = \"notes\"\npath = {path}\n\n{settings}"))?;
        Self::spawn(exe, home, |command| {
            // The server on loopback takes any key; a proxy of the machine would not reach it.
            command.env("SITUATED_CONFIG", file).env("ANTHROPIC_API_KEY", "a-key-for-loopback");
            command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1").arg("run");
        })
    }

    fn spawn(exe: &str, home: &Path, arguments: impl FnOnce(&mut Command)) -> Result<Self> {
        let config = home.join("config");
        std::fs::create_dir_all(&config)?;
        let log = std::fs::OpenOptions::new().create(true).append(true).open(home.join("log"))?;
        let socket = home.join("s");
        let mut command = Command::new(exe);
        for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("SITUATED_")) {
            command.env_remove(name);
        }
        command.env("XDG_CONFIG_HOME", config).arg("--data-dir").arg(home.join("data"));
        command.arg("--socket").arg(&socket);
        arguments(&mut command);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {exe}"))?;
        Ok(Daemon { child, socket, started })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A connection, as soon as the daemon takes one.
    pub(crate) fn client(&mut self) -> Result<Client> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Ok(mut client) = Client::connect(&self.socket)
                && client.call("ping", &json!({})).is_ok()
            {
                return Ok(client);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the daemon ended: {status}");
            }
            if Instant::now() > deadline {
                bail!("the daemon does not answer on its socket");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The status, once the daemon has nothing left to do.
    pub(crate) fn idle(&mut self, client: &mut Client) -> Result<Value> {
        let deadline = Instant::now() + Duration::from_secs(1800);
        loop {
            let status = client.call("status", &json!({}))?;
            // Problems are the reader's to judge; the figures stand beside them.
            let done = status["state"] == "idle" || status["state"] == "degraded";
            if done && status["vaults"][0]["pending"].as_u64().unwrap_or(0) == 0 {
                if status["problems"][0].is_string() {
                    eprintln!("problems: {}", status["problems"]);
                }
                return Ok(status);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the daemon ended: {status}");
            }
            if Instant::now() > deadline {
                bail!("the daemon is still {}", status["state"]);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The status, once the vault is indexed: idle before the first walk does not count.
    pub(crate) fn indexed(&mut self, client: &mut Client) -> Result<Value> {
        loop {
            let status = self.idle(client)?;
            if status["vaults"][0]["notes"].as_u64() > Some(0) {
                return Ok(status);
            }
            if self.started.elapsed() > Duration::from_secs(60) {
                bail!("idle without a single note: {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The status, once everything that was saved is indexed and nothing waits for the model any more.
    pub(crate) fn written(&mut self, client: &mut Client) -> Result<Value> {
        let mut status = Value::Null;
        // The first walk finds what was saved; the second begins after whatever that led to was put down.
        for _ in 0..2 {
            client.call("sync", &json!({"wait": true}))?;
            let (mut left, mut since) = (Value::Null, Instant::now());
            loop {
                status = client.call("status", &json!({}))?;
                let pending = status["vaults"][0]["pending"].as_u64().unwrap_or(0);
                if status["state"] == "idle" && pending == 0 && status["contexts"]["waiting"] == 0 {
                    break;
                }
                if status["problems"][0].is_string() || status["contexts"]["held"].is_string() {
                    bail!("contexts are not written: {} {}", status["problems"], status["contexts"]["held"]);
                }
                if let Some(status) = self.child.try_wait()? {
                    bail!("the daemon ended: {status}");
                }
                if status["contexts"]["waiting"] != left {
                    (left, since) = (status["contexts"]["waiting"].take(), Instant::now());
                }
                if since.elapsed() > Duration::from_secs(120) {
                    bail!("{left} contexts wait, and for two minutes nothing was written");
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(status)
    }

    /// Stops it in order and waits for its end.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.end()
    }

    /// kill -9.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// The exit code, if it has ended; that of a signal is -1.
    pub(crate) fn exited(&mut self) -> Result<Option<i32>> {
        Ok(self.child.try_wait()?.map(|status| status.code().unwrap_or(-1)))
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    fn end(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        if let Ok(mut client) = Client::connect(&self.socket) {
            // It may close before it answers.
            let _ = client.call("shutdown", &json!({}));
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                self.child.kill()?;
                self.child.wait()?;
                bail!("the daemon did not stop");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// What the kernel says about a process; `None` where there is no `/proc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Resident bytes.
    pub(crate) rss: u64,
    /// Resident bytes that no file backs.
    pub(crate) anonymous: u64,
    /// Processor time in seconds.
    pub(crate) cpu: f64,
    /// Times that its threads went to sleep of their own accord.
    pub(crate) switches: u64,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let status = std::fs::read_to_string(proc.join("status")).ok()?;
        let stat = std::fs::read_to_string(proc.join("stat")).ok()?;
        // The command's name may hold spaces: the fields are counted after its closing parenthesis.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        let tasks = std::fs::read_dir(proc.join("task")).ok()?.flatten();
        let switches = tasks
            .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
            .filter_map(|status| field(&status, "voluntary_ctxt_switches:"))
            .sum();
        Some(Usage {
            rss: 1024 * field(&status, "VmRSS:")?,
            anonymous: 1024 * field(&status, "RssAnon:")?,
            // The kernel shows times in hundredths of a second (USER_HZ) on every architecture in use.
            cpu: ticks / 100.0,
            switches,
        })
    }
}

fn field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}
