//! A vault whose contexts were paid for, and the daemon over it.

use std::collections::HashMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Asked;
use crate::common::daemon::{Client, Daemon};
use crate::model::Model;

/// The user that `root` becomes where permissions must bind.
const NOBODY: u32 = 65534;

/// How long a daemon may take to serve, or to say why it does not.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A word that stands in every note.
pub(crate) const WORD: &str = "rollout";

/// Runs this program again as a user whom permissions bind, if it is `root`'s; its exit code.
pub(crate) fn as_nobody() -> Result<Option<i32>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).uid(NOBODY).gid(NOBODY);
    let status = command.status().context("running as nobody")?;
    Ok(Some(status.code().unwrap_or(1)))
}

/// The text of note number `n`, in its `edit`th form: three sections, each a chunk of its own.
pub(crate) fn note(n: usize, edit: usize) -> String {
    format!(
        "# Project {n}\n\nThe {WORD} of project{n} begins in Lisbon with Mira Chen as its owner.\n\n## Risks {n} of {edit}\n\n\
         It slipped because the vendor contract with Northwind was late, and she renegotiates every clause of it with \
         their lawyers before anything else is signed by anybody.\n\n## Budget {n}\n\nWe \
         approved the money for a pilot, and the finance department wants a monthly report about everything that was \
         spent on travel, licences and consultants.\n"
    )
}

/// A place with notes, and a model on loopback that writes their contexts.
pub(crate) struct Lab {
    dir: TempDir,
    pub(crate) vault: PathBuf,
    pub(crate) model: Model,
    /// What is started as the daemon.
    pub(crate) program: String,
    settings: String,
}

impl Lab {
    /// With so many notes.
    pub(crate) fn new(asked: &Asked, notes: usize) -> Result<Lab> {
        let dir = tempfile::Builder::new().prefix("situated-campaign").tempdir()?;
        let (vault, model) = (dir.path().join("vault"), Model::start());
        std::fs::create_dir(&vault)?;
        let settings = format!(
            "{}\n[chunk]\nmin = 1\ntarget = 20\nmax = 200\n\n[budget]\nday = 1000.0\n",
            model.config("anthropic", "")
        );
        let lab = Lab { dir, vault, model, program: asked.program(), settings };
        (0..notes).try_for_each(|n| lab.save(n, 0))?;
        Ok(lab)
    }

    /// Saves a note.
    pub(crate) fn save(&self, n: usize, edit: usize) -> Result<()> {
        Ok(std::fs::write(self.vault.join(format!("note {n}.md")), note(n, edit))?)
    }

    /// A folder of this place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A daemon that keeps its data in `home`.
    pub(crate) fn start(&self, home: &Path) -> Result<Daemon> {
        self.start_as(&self.program, home)
    }

    /// The same, once all notes are indexed and have their contexts.
    pub(crate) fn start_whole(&self, home: &Path) -> Result<(Daemon, Client)> {
        let mut daemon = self.start(home)?;
        let mut client = daemon.client()?;
        daemon.indexed(&mut client)?;
        daemon.written(&mut client)?;
        Ok((daemon, client))
    }

    /// A daemon by a program that becomes it.
    pub(crate) fn start_as(&self, program: &str, home: &Path) -> Result<Daemon> {
        Daemon::configured(program, home, &self.vault, &self.settings)
    }

    /// Questions that the model was asked more often than once: each time but the first.
    pub(crate) fn asked_again(&self) -> usize {
        let mut questions: HashMap<(String, Vec<u32>), usize> = HashMap::new();
        for question in self.model.asked() {
            *questions.entry((question.document, question.wanted)).or_default() += 1;
        }
        questions.values().map(|times| times - 1).sum()
    }
}

/// How a start ended.
pub(crate) enum Start {
    /// It serves; this is its status once it is at rest.
    Serves(Client, Value),
    /// It ended with this code.
    Ended(i32),
    /// It neither serves nor ended in time.
    Hangs,
}

/// Waits until a daemon is at rest, or has ended.
pub(crate) fn await_start(daemon: &mut Daemon) -> Result<Start> {
    await_start_for(daemon, PATIENCE)
}

/// The same for as long as that: a daemon that has contexts to write is at rest once they are.
pub(crate) fn await_start_for(daemon: &mut Daemon, patience: Duration) -> Result<Start> {
    let until = Instant::now() + patience;
    let mut client = None;
    while Instant::now() < until {
        if let Some(code) = daemon.exited()? {
            return Ok(Start::Ended(code));
        }
        if client.is_none() {
            client = Client::connect(daemon.socket()).ok();
        }
        let status = client.as_mut().and_then(|client| client.call("status", &json!({})).ok());
        match (status, client.take()) {
            (Some(status), Some(connected)) if at_rest(&status) => return Ok(Start::Serves(connected, status)),
            (Some(_), connected) => client = connected,
            (None, _) => {}
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(Start::Hangs)
}

fn at_rest(status: &Value) -> bool {
    let state = status["state"].as_str().unwrap_or_default();
    let is_served = status["vaults"][0]["notes"].as_u64() > Some(0);
    let nothing_waits = status["contexts"]["waiting"].as_u64().unwrap_or(0) == 0;
    // A vault whose store cannot be opened has no notes, and the status says why.
    (matches!(state, "idle" | "degraded") && nothing_waits && is_served) || (state == "degraded" && !is_served)
}

/// How many chunks have a context that a model wrote.
pub(crate) fn contexts(client: &mut Client) -> Result<u64> {
    let stats = client.call("stats", &json!({}))?;
    stats["contextualized"].as_u64().context("`stats` says how many chunks are contextualized")
}

/// Whether as many notes are found by a word as there are.
pub(crate) fn all_found(client: &mut Client, notes: usize) -> Result<()> {
    let asked = json!({"query": format!("\"{WORD}\""), "mode": "lexical", "limit": 200, "per_note": 1});
    let found = client.call("search", &asked)?;
    let hits = found["hits"].as_array().map_or(0, Vec::len);
    if hits == notes { Ok(()) } else { bail!("{hits} of {notes} notes are found") }
}
