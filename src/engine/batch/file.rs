//! What a batch is on disk while the provider has it: the questions, with all that judging the answers needs, and
//! how far each part of them is. Notes may change meanwhile and the daemon may die; nothing paid for is lost.
//!
//! `batch/<run>.jsonl` has a line per question and is written once. `batch/<run>.state` is replaced as things move
//! on, and is never half written. `batch/<run>.lock` is held by the process that works on it.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use platform::files::Private as _;
use serde::{Deserialize, Serialize};

use context::document::Document;
use context::prompt::Prompt;
use note::VaultPath;
use note::fingerprint::{ContextKey, Fields, Sketch};

/// Version of both files.
const VERSION: u32 = 1;

/// Bytes of questions in a part at most, as the provider's interface counts them. The provider takes more, but a part
/// is in memory as a whole while it is handed in, and the daemon is to stay small.
pub(super) const PART_BYTES: usize = 16 << 20;

/// A question, and what its answer is judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    /// What the provider knows it by.
    pub(super) id: String,
    pub(super) path: VaultPath,
    /// The note's number in the store, which it keeps when it moves; a former version did not say.
    #[serde(default)]
    pub(super) no: Option<u32>,
    /// [`context::prompt::Prompter::generation`] as it was asked.
    pub(super) generation: String,
    pub(super) prompt: Prompt,
    pub(super) document: Document,
    /// Of the raw text of the passages asked for.
    pub(super) sketches: Vec<(u32, Sketch)>,
    pub(super) keys: Vec<Wanted>,
}

/// A passage asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wanted {
    /// Its number in the prompt.
    pub(super) n: u32,
    /// The key that its context is kept under.
    pub(super) key: ContextKey,
    /// When it was asked for, seconds since 1970 (UTC).
    pub(super) since: i64,
}

/// How far a batch is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// Who was asked: answers are read, and cost, as that provider's and model's.
    pub(super) provider: String,
    pub(super) model: String,
    /// Where that provider is asked; a former version did not say.
    #[serde(default)]
    pub(super) host: Option<String>,
    /// When it began, seconds since 1970 (UTC).
    pub(super) began: i64,
    /// Whether it is to be given up.
    pub(super) cancelled: bool,
    pub(super) parts: Vec<Part>,
}

/// What is handed in at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    /// Where its lines begin, bytes.
    pub(super) offset: u64,
    /// Questions, one a line.
    pub(super) count: u64,
    /// The ids of those that are not handed in, because their notes have changed.
    #[serde(default, skip_serializing_if = "HashSet::is_empty")]
    pub(super) left_out: HashSet<String>,
    pub(super) stage: Stage,
    /// Whether a batch that was found in its place is gone: nobody knows whether that was it, so it is not handed in
    /// again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) gone: bool,
    /// How often it may have arrived and was not found, and counts as bought.
    #[serde(default)]
    pub(super) unfound: u32,
    /// Whether its answers were taken, by this process.
    #[serde(skip)]
    pub(super) taken: bool,
    /// Whether this process has asked the provider to give it up.
    #[serde(skip)]
    pub(super) given_up: bool,
}

impl Part {
    /// A part of one question, whose lines begin at `offset`.
    fn new(offset: u64) -> Self {
        let (gone, taken, given_up) = (false, false, false);
        Part { offset, count: 1, left_out: HashSet::new(), stage: Stage::Open, gone, unfound: 0, taken, given_up }
    }

    /// How many questions are handed in.
    pub(super) fn handed_in(&self) -> u64 {
        self.count.saturating_sub(self.left_out.len() as u64)
    }
}

/// How far a part is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// The provider does not have it.
    Open,
    /// The provider may have it: it was sent at this time (seconds since 1970, UTC). Batches with the ids in `not` have
    /// turned out not to be it, or are gone.
    Submitting { at: i64, not: Vec<String> },
    /// The provider has it. `found`: its size alone says that it is ours, and `not` is as before. `key` marks the key
    /// that it was handed in with, for another account does not know it.
    Submitted {
        id: String,
        found: bool,
        #[serde(default)]
        key: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not: Vec<String>,
    },
    /// It is not handed in: its notes are asked about one by one.
    Skipped,
}

impl State {
    pub(super) fn new((provider, host): (&str, &str), model: &str, began: i64, parts: Vec<Part>) -> Self {
        let (provider, host, model) = (provider.to_owned(), Some(host.to_owned()), model.to_owned());
        State { version: VERSION, provider, model, host, began, cancelled: false, parts }
    }

    /// Whether this provider at this host was asked.
    pub(super) fn is_with(&self, provider: &str, host: &str) -> bool {
        self.provider == provider && self.host.as_deref().is_none_or(|asked| asked == host)
    }

    /// The ids of the batches that the provider has.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match &part.stage {
            Stage::Submitted { id, .. } => Some(id.as_str()),
            Stage::Open | Stage::Submitting { .. } | Stage::Skipped => None,
        })
    }
}

/// The files of a rebuild's batch.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    dir: PathBuf,
    run: u64,
}

impl Files {
    /// `data` is the vault's folder among the daemon's data.
    pub(crate) fn new(data: &Path, run: u64) -> Self {
        Files { dir: data.join("batch"), run }
    }

    fn path(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{}.{what}", self.run))
    }

    /// Locks the batch until the file is dropped; `None` if somebody else holds the lock.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        DirBuilder::new().recursive(true).private().create(&self.dir)?;
        let file = OpenOptions::new().write(true).create(true).truncate(false).private().open(self.path("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether a batch is under way.
    pub(crate) fn exist(&self) -> bool {
        self.path("state").exists()
    }

    /// How far it is; `None` if nothing was handed in.
    pub(super) fn load(&self) -> io::Result<Option<State>> {
        let bytes = match fs::read(self.path("state")) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // The state is never half written, so this is another version's or damaged: no guess is made.
        let wrong = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
        let state: State = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        if state.version == VERSION { Ok(Some(state)) } else { Err(wrong("of another version".to_owned())) }
    }

    /// Moves a state that makes no sense out of the way. The questions stay beside it.
    pub(super) fn set_aside(&self) -> io::Result<()> {
        fs::rename(self.path("state"), self.path("state.damaged"))?;
        fs::rename(self.path("jsonl"), self.path("jsonl.damaged"))?;
        self.sync()
    }

    /// Writes how far it is; on the disk when this returns.
    pub(super) fn save(&self, state: &State) -> io::Result<()> {
        let (path, new) = (self.path("state"), self.path("state.new"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).private().open(&new)?;
        file.write_all(&serde_json::to_vec(state).map_err(io::Error::other)?)?;
        machine::wrote(&new);
        file.sync_all()?;
        machine::synced(&new);
        fs::rename(&new, &path)?;
        machine::wrote(&self.dir);
        self.sync()
    }

    /// Forgets the batch. The state goes after the questions, so that no questions stay behind that no state names.
    pub(super) fn remove(&self) -> io::Result<()> {
        for what in ["jsonl", "state.new", "state", "lock"] {
            match fs::remove_file(self.path(what)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => machine::wrote(&self.dir),
            }
        }
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        platform::files::sync_folder(&self.dir)?;
        machine::synced(&self.dir);
        Ok(())
    }

    /// The runs of a vault that have a batch under way.
    pub(crate) fn runs(data: &Path) -> Vec<u64> {
        let entries = fs::read_dir(data.join("batch")).into_iter().flatten().flatten();
        let run = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".state")?.parse().ok();
        entries.filter_map(run).collect()
    }

    /// Batches at the provider that belong to other runs of the vault.
    pub(super) fn named_by_others(&self) -> Vec<String> {
        let data = self.dir.parent().unwrap_or(&self.dir);
        let others = Files::runs(data).into_iter().filter(|run| *run != self.run);
        let states = others.filter_map(|run| Files { run, ..self.clone() }.load().ok().flatten());
        states.flat_map(|state| state.ids().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// The questions of a part that are handed in. Lines that cannot be read are left out.
    pub(super) fn read(&self, part: &Part) -> io::Result<Vec<Item>> {
        let mut file = File::open(self.path("jsonl"))?;
        file.seek(SeekFrom::Start(part.offset))?;
        let mut items = Vec::new();
        for line in BufReader::new(file).split(b'\n').take(usize::try_from(part.count).unwrap_or(usize::MAX)) {
            let item = serde_json::from_slice::<Item>(&line?).ok();
            items.extend(item.filter(|item| !part.left_out.contains(&item.id)));
        }
        Ok(items)
    }

    /// The id of a question at the provider.
    pub(super) fn id(&self, path: &VaultPath, index: u64) -> String {
        let fields = Fields::new("batch-item/1").number(self.run).bytes(path.as_str().as_bytes()).number(index);
        fields.finish().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Writes the questions one by one, and deals them out into parts.
pub(super) struct Draft {
    path: PathBuf,
    out: BufWriter<File>,
    at: u64,
    bytes: usize,
    /// Questions and bytes of a part at most.
    most: (u64, usize),
    parts: Vec<Part>,
}

impl Draft {
    /// Begins anew; what an interrupted attempt left is gone.
    pub(super) fn begin(files: &Files, most: (u64, usize)) -> io::Result<Self> {
        let path = files.path("jsonl");
        let file = OpenOptions::new().write(true).create(true).truncate(true).private().open(&path)?;
        machine::wrote(&path);
        Ok(Draft { path, out: BufWriter::new(file), at: 0, bytes: 0, most, parts: Vec::new() })
    }

    /// Adds a question that takes `bytes` of what is handed in.
    pub(super) fn add(&mut self, item: &Item, bytes: usize) -> io::Result<()> {
        let mut line = serde_json::to_vec(item).map_err(io::Error::other)?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        let (count, most) = self.most;
        match self.parts.last_mut() {
            Some(part) if part.count < count && self.bytes.saturating_add(bytes) <= most => part.count += 1,
            _ => {
                self.bytes = 0;
                self.parts.push(Part::new(self.at));
            }
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.at += line.len() as u64;
        Ok(())
    }

    /// The parts; the questions are on the disk when this returns.
    pub(super) fn end(self) -> io::Result<Vec<Part>> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        machine::wrote(&self.path);
        file.sync_all()?;
        machine::synced(&self.path);
        Ok(self.parts)
    }
}

#[cfg(test)]
mod tests;
