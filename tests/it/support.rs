//! A real daemon on a real vault in a temporary folder, spoken to over its socket.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use protocol::decision::{Decision, ExplainRequest, Reason};
use protocol::envelope::{ErrorKind, RpcError};
use protocol::hit::Hit;
use protocol::jobs::{Job, JobsRequest};
use protocol::search::{Include, Mode, SearchRequest};
use protocol::status::{RunState, Status, StatusRequest, VaultStatus};
use protocol::table::Call;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take before a test gives up: long, for the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A wait for a condition that is looked at ever more seldom: what is waited for needs the processor, too.
struct Wait(Instant);

impl Wait {
    fn begin() -> Self {
        Wait(Instant::now())
    }

    fn is_over(&self) -> bool {
        self.0.elapsed() > PATIENCE
    }

    fn pause(&self) {
        std::thread::sleep((self.0.elapsed() / 16).clamp(Duration::from_millis(5), Duration::from_millis(40)));
    }
}

/// A temporary place with a vault in it, and everything a daemon of its own needs.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
    pub(crate) vault: PathBuf,
}

impl Place {
    /// With an empty vault.
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("situated-it-").tempdir().unwrap();
        let vault = dir.path().join("notes");
        std::fs::create_dir(&vault).unwrap();
        Place { dir, vault }
    }

    /// With these notes.
    pub(crate) fn with(notes: &[(&str, &str)]) -> Self {
        let place = Place::new();
        for (path, text) in notes {
            place.write(path, text);
        }
        place
    }

    /// With a copy of the sample vault.
    pub(crate) fn with_sample() -> Self {
        let place = Place::new();
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vault"), &place.vault);
        place
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.vault.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        // In a folder of its own, which the daemon makes: what else is here is not the socket's business.
        self.dir.path().join("run/s")
    }

    /// Where its socket would be, in a folder that is there: for whoever puts something in its place.
    pub(crate) fn socket_place(&self) -> PathBuf {
        std::fs::create_dir_all(self.dir.path().join("run")).unwrap();
        self.socket()
    }

    /// `situated` with this place's data and socket, and nothing of the user's.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_situated"));
        command
            .env_clear()
            .env("HOME", self.dir.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SITUATED_CONFIG", self.dir.path().join("config.toml"))
            .env("SITUATED_DATA_DIR", self.data())
            .env("SITUATED_SOCKET", self.socket())
            .stdin(Stdio::null());
        if !self.dir.path().join("config.toml").exists() {
            command.env_remove("SITUATED_CONFIG");
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// A daemon that is idle.
    pub(crate) fn start(&self) -> Daemon {
        let mut daemon = self.begin();
        daemon.wait_idle();
        daemon
    }

    /// A daemon for the vault as it starts.
    pub(crate) fn begin(&self) -> Daemon {
        self.spawn(&["run", self.vault.to_str().unwrap()])
    }

    /// The folder of the vault's store.
    pub(crate) fn store(&self) -> PathBuf {
        let found = self.store_path();
        assert!(found.is_dir(), "{} is no folder", found.display());
        found
    }

    /// Where that is to be.
    pub(crate) fn store_path(&self) -> PathBuf {
        engine::vault_dir(&self.data(), &self.vault.canonicalize().unwrap())
    }

    /// A daemon as it starts.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Daemon {
        let log = self.dir.path().join("log");
        let file = || std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = self.command().args(arguments).stdout(file()).stderr(file()).spawn().unwrap();
        Daemon { child, socket: self.socket(), log, client: None, next: 0 }
    }

    /// Hashes of everything in the vault, to see that nobody wrote to it.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut tree = BTreeMap::new();
        hash_tree(&self.vault, &self.vault, &mut tree);
        tree
    }
}

fn hash_tree(root: &Path, dir: &Path, tree: &mut BTreeMap<PathBuf, String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.symlink_metadata().unwrap().file_type();
        let name = path.strip_prefix(root).unwrap().to_owned();
        if kind.is_dir() {
            hash_tree(root, &path, tree);
            tree.insert(name, "folder".to_owned());
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).unwrap_or_default();
            tree.insert(name, blake3::hash(&bytes).to_string());
        } else {
            tree.insert(name, format!("{kind:?}"));
        }
    }
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// A running daemon; killed when dropped.
pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
    client: Option<BufReader<UnixStream>>,
    next: u64,
}

impl Daemon {
    /// The result of a call; panics on an error. One that comes too early (a store is being opened again) is
    /// repeated, as the error asks for.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.try_call(method, params.clone()) {
                Ok(result) => return result,
                Err(error) if error["data"]["kind"] == "not_ready" && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(error["data"]["retry_after_ms"].as_u64().unwrap_or(50)));
                }
                Err(error) => panic!("{method}: {error}\n{}", self.log()),
            }
        }
    }

    /// The result of a call, read by the types of the protocol. Tests of the wire itself (`protocol.rs`, `hostile.rs`,
    /// `table.rs`, the clients) speak JSON with [`Daemon::call`] and [`Daemon::try_call`] instead.
    pub(crate) fn ask<C: Call>(&mut self, call: &C) -> C::Answer {
        read::<C>(self.call(C::METHOD.name(), json!(call)))
    }

    /// The result of a call that may fail, or its error.
    pub(crate) fn try_ask<C: Call>(&mut self, call: &C) -> Result<C::Answer, RpcError> {
        self.try_call(C::METHOD.name(), json!(call)).map(read::<C>).map_err(|error| read_error(&error))
    }

    /// The error of a call that must fail.
    pub(crate) fn refused<C: Call>(&mut self, call: &C) -> RpcError {
        match self.try_call(C::METHOD.name(), json!(call)) {
            Ok(answer) => panic!("{} is answered: {answer}", C::METHOD.name()),
            Err(error) => read_error(&error),
        }
    }

    /// The result of a call, or its error.
    pub(crate) fn try_call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.next += 1;
        let id = self.next;
        let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let client = self.client();
        client.get_mut().write_all(line.as_bytes()).unwrap();
        loop {
            let mut reply = String::new();
            assert_ne!(client.read_line(&mut reply).unwrap(), 0, "the daemon hung up on {method}");
            let reply: Value = serde_json::from_str(&reply).unwrap();
            if reply["id"] == json!(id) {
                return match reply.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(reply["result"].clone()),
                };
            }
        }
    }

    /// Asks on another connection from now on: the daemon has ended this one.
    pub(crate) fn connect_anew(&mut self) {
        self.client = None;
    }

    fn client(&mut self) -> &mut BufReader<UnixStream> {
        self.client.get_or_insert_with(|| {
            let stream = UnixStream::connect(&self.socket).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            BufReader::new(stream)
        })
    }

    /// Waits until a condition on the status holds; returns the status.
    pub(crate) fn wait_for(&mut self, what: &str, holds: impl Fn(&Status) -> bool) -> Status {
        let wait = Wait::begin();
        let mut last = None;
        loop {
            assert!(self.child.try_wait().unwrap().is_none(), "the daemon ended: {}", self.log());
            if (self.client.is_some() || UnixStream::connect(&self.socket).is_ok())
                && let Ok(status) = self.try_ask(&StatusRequest::default())
            {
                if holds(&status) {
                    return status;
                }
                last = Some((status.state, status.problems, status.contexts));
            }
            assert!(!wait.is_over(), "not {what} in time: {last:?}\n{}", self.log());
            wait.pause();
        }
    }

    /// Waits until a condition on the first vault holds; returns the status of all.
    pub(crate) fn wait_vault(&mut self, what: &str, holds: impl Fn(&VaultStatus) -> bool) -> Status {
        self.wait_for(what, |status| status.vaults.first().is_some_and(&holds))
    }

    /// Waits until there is nothing to do and a vault is served.
    pub(crate) fn wait_idle(&mut self) -> Status {
        self.wait_for("idle", |status| {
            matches!(status.state, RunState::Idle | RunState::Degraded) && !status.vaults.is_empty()
        })
    }

    /// Paths of the hits of a query, best first.
    pub(crate) fn search(&mut self, query: &str) -> Vec<String> {
        let found = self.ask(&SearchRequest { query: query.to_owned(), limit: Some(50), ..SearchRequest::default() });
        found.hits.into_iter().map(|hit| hit.path).collect()
    }

    /// Paths of the notes that hold a word, by words alone.
    pub(crate) fn holding(&mut self, word: &str) -> Vec<String> {
        let found = self.ask(&SearchRequest {
            query: format!("\"{word}\""),
            mode: Some(Mode::Lexical),
            limit: Some(200),
            per_note: Some(1),
            ..SearchRequest::default()
        });
        let mut paths: Vec<String> = found.hits.into_iter().map(|hit| hit.path).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Waits until exactly these notes hold a word.
    pub(crate) fn wait_holding(&mut self, word: &str, paths: &[&str]) {
        let wait = Wait::begin();
        loop {
            let found = self.holding(word);
            if found == paths {
                return;
            }
            assert!(!wait.is_over(), "`{word}` is in {found:?}, not in {paths:?}: {}", self.log());
            wait.pause();
        }
    }

    /// Jobs that run and the last ones that ended, newest first.
    pub(crate) fn jobs(&mut self) -> Vec<Job> {
        self.ask(&JobsRequest::default()).jobs
    }

    /// A job by its number, as the daemon tells of it now.
    pub(crate) fn job(&mut self, number: u64) -> Job {
        self.jobs().into_iter().find(|job| job.job == number).unwrap_or_else(|| panic!("there is no job {number}"))
    }

    /// The newest decision about a note.
    pub(crate) fn decision(&mut self, path: &str) -> Option<Decision> {
        let explained = self.ask(&ExplainRequest { path: path.to_owned(), ..ExplainRequest::default() });
        explained.decisions.into_iter().next()
    }

    /// The newest decision about a note, once it has this reason: what is found is announced a moment later.
    pub(crate) fn decided(&mut self, path: &str, reason: Reason) -> Decision {
        let mut newest = None;
        eventually(&format!("{path} is decided as {reason:?}"), || {
            newest = self.decision(path);
            newest.as_ref().is_some_and(|decision| decision.reason == reason)
        });
        newest.unwrap()
    }

    /// How it is now.
    pub(crate) fn status(&mut self) -> Status {
        self.ask(&StatusRequest::default())
    }

    /// What the daemon printed.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// kill -9.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM; returns the exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.wait_exit()
    }

    /// Waits for the end; returns the exit code.
    pub(crate) fn wait_exit(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "the daemon does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The result of a call.
fn read<C: Call>(answer: Value) -> C::Answer {
    serde_json::from_value(answer.clone()).unwrap_or_else(|error| panic!("{}: {error}: {answer}", C::METHOD.name()))
}

/// An error as it stands on the wire.
fn read_error(error: &Value) -> RpcError {
    let data = error["data"].as_object().unwrap_or_else(|| panic!("an error without data: {error}"));
    let kind = ErrorKind::ALL.iter().find(|kind| data["kind"] == kind.name());
    RpcError {
        kind: *kind.unwrap_or_else(|| panic!("an error of an unknown kind: {error}")),
        message: error["message"].as_str().unwrap().to_owned(),
        hint: data.get("hint").map(|hint| hint.as_str().unwrap().to_owned()),
        retry_after_ms: data.get("retry_after_ms").map(|ms| ms.as_u64().unwrap()),
        data: data.clone(),
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a named pipe, by a program that every Unix has.
pub(crate) fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Waits for a condition.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let wait = Wait::begin();
    while !holds() {
        assert!(!wait.is_over(), "not in time: {what}");
        wait.pause();
    }
}

/// A daemon over the sample vault, under a name of one's own.
pub(crate) struct SampleDaemon {
    daemon: Daemon,
    _place: Place,
}

impl SampleDaemon {
    pub(crate) fn socket(&self) -> &Path {
        &self.daemon.socket
    }
}

/// Starts a daemon over a copy of the sample vault named `name`; `prepare` may change the copy first.
pub(crate) fn sample_daemon(name: &str, prepare: impl FnOnce(&Path)) -> SampleDaemon {
    let mut place = Place::new();
    place.vault = place.dir.path().join(name);
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vault"), &place.vault);
    prepare(&place.vault);
    let daemon = place.start();
    SampleDaemon { daemon, _place: place }
}

impl Place {
    /// A configuration file that names the vault `notes`; `more` follows.
    pub(crate) fn configure(&self, more: &str) {
        let path = toml::Value::from(self.vault.to_str().unwrap());
        let text = format!("[[vault]]\nname = \"notes\"\npath = {path}\n{more}");
        std::fs::write(self.dir.path().join("config.toml"), text).unwrap();
    }

    /// A daemon as it starts, from a command of one's own.
    pub(crate) fn spawn_command(&self, command: &mut Command) -> Daemon {
        let log = self.dir.path().join("log");
        let file = || std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let child = command.stdout(file()).stderr(file()).spawn().unwrap();
        Daemon { child, socket: self.socket(), log, client: None, next: 0 }
    }
}

impl Daemon {
    /// Sends a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Resident memory in bytes.
    pub(crate) fn resident(&mut self) -> u64 {
        self.status().rss_bytes
    }
}

impl Daemon {
    /// The exit code, if it has ended.
    pub(crate) fn exited(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().map(|status| status.code().expect("ended by a signal"))
    }
}

/// What a daemon can be asked about its index that does not depend on how the index came about: how much
/// there is, and what `queries` find, by words and by meaning. Order among equals may differ, so it is a set.
pub(crate) fn view(daemon: &mut Daemon, queries: &[&str]) -> BTreeSet<String> {
    let status = daemon.status();
    let vault = &status.vaults[0];
    let mut view = BTreeSet::from([format!("{} notes, {} chunks", vault.notes, vault.chunks)]);
    for query in queries {
        for mode in [Mode::Lexical, Mode::Dense] {
            let found = daemon.ask(&SearchRequest {
                query: (*query).to_owned(),
                mode: Some(mode),
                limit: Some(200),
                per_note: Some(200),
                merge: Some(false),
                include: Include::TEXTS.to_vec(),
                ..SearchRequest::default()
            });
            if found.truncated {
                // Beyond the limit it is near-equal scores that decide which hits are left out.
                view.insert(format!("{query} ({mode:?}): more than can be compared"));
                continue;
            }
            for Hit { path, line, end_line, text, context, stale, .. } in found.hits {
                view.insert(format!("{query} ({mode:?}): {path}:{line}-{end_line} {text} in {context}, stale {stale}"));
            }
        }
    }
    view
}

/// Waits until a daemon's index is what one that never saw anything but the vault as it is now has.
pub(crate) fn assert_like_fresh(place: &Place, daemon: &mut Daemon, queries: &[&str]) {
    let fresh = Place { dir: tempfile::tempdir().unwrap(), vault: place.vault.clone() };
    let config = place.dir.path().join("config.toml");
    if config.exists() {
        std::fs::copy(&config, fresh.dir.path().join("config.toml")).unwrap();
    }
    let expected = view(&mut fresh.start(), queries);
    assert!(expected.len() > 1, "the queries find nothing, so nothing would be compared");
    let wait = Wait::begin();
    loop {
        let found = view(daemon, queries);
        if found == expected {
            return;
        }
        if wait.is_over() {
            let lost: Vec<_> = expected.difference(&found).take(5).collect();
            let more: Vec<_> = found.difference(&expected).take(5).collect();
            panic!("not like a fresh index: missing {lost:#?}, too many {more:#?}\n{}", daemon.log());
        }
        wait.pause();
    }
}
