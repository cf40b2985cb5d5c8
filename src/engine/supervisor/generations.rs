//! Generations side by side: contexts of another model or prompt are written into a separate index beside the one that
//! answers. The user can compare the two, switch to the other at once, and switch back.
//!
//! Each generation has its own indexer and folder for the same vault. An inactive one follows every save with free
//! contexts and those it has, and buys contexts only while it is being built.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use super::{Child, Event, Places, Reply, Supervisor};
use crate::VaultShared;
use crate::batch::Files;
use crate::error::CallError;
use crate::indexer::{self, GENERATIONS, generation_dir};
use crate::runtime::shown;
use crate::settings::Settings;
use context::ContextRecord;
use protocol::generations::DEFAULT_GENERATION;
use store::Store;
use vault::settings::VaultConfig;

/// The file in the vault's folder that names the generation that answers; absent for the plain one.
const ACTIVE: &str = "active";

/// A user's request about a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GenerationRequest {
    /// Builds it beside the one that answers, under this job.
    Build(u64),
    /// Makes it answer.
    Use,
    /// Removes it; contexts that were paid for stay.
    Drop,
}

/// The generation that answers for a vault: the one that was chosen last, if the configuration still has it.
pub(super) fn active(config: &Settings, vault: &VaultConfig) -> String {
    let path = generation_dir(&config.data_dir, &vault.path, "").join(ACTIVE);
    let name = std::fs::read_to_string(path).unwrap_or_default();
    let name = name.trim();
    if config.generations.contains_key(name) { name.to_owned() } else { String::new() }
}

/// The generations of a vault that have an index, except the one that answers.
pub(super) fn built(config: &Settings, vault: &VaultConfig, answering: &str) -> Vec<String> {
    let plain = generation_dir(&config.data_dir, &vault.path, "");
    let is_built = |name: &&String| plain.join(GENERATIONS).join(name).is_dir();
    let mut names: Vec<String> = config.generations.keys().filter(is_built).cloned().collect();
    if plain.join("contexts.journal").exists() || plain.join("sled").exists() {
        names.push(String::new());
    }
    names.retain(|name| name != answering);
    names
}

/// Remembers which generation answers.
fn remember_active(dir: &Path, generation: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    platform::files::replace(&dir.join(ACTIVE), format!("{generation}\n").as_bytes(), 0o600)
}

/// The refusal to build or remove the generation that answers.
pub(crate) fn answers_already(name: &str) -> CallError {
    CallError::Invalid(format!("`{}` is the generation that answers", shown(name)))
}

/// The refusal to use a generation that the configuration has, but that has no index.
pub(crate) fn not_built(name: &str, vault: &str) -> CallError {
    let name = shown(name);
    CallError::NotBuilt {
        name: name.to_owned(),
        message: format!(
            "generation `{name}` is not built for vault `{vault}`; `situated generations build {name}` builds it"
        ),
    }
}

impl Supervisor {
    /// Carries out a user's request about a generation of the vault that `main` answers for, and replies.
    pub(super) fn generation(&mut self, main: u64, name: &str, request: GenerationRequest, reply: Reply) {
        let refused = match self.find(main, name, request) {
            Ok(Found::Already) => Ok(()),
            Ok(Found::Other(vault, other)) => return self.carry_out(main, &vault, name, other, request, reply),
            Err(error) => Err(error),
        };
        // The caller may have stopped waiting.
        let _ = reply.send(refused);
    }

    fn find(&self, main: u64, name: &str, request: GenerationRequest) -> Result<Found, CallError> {
        let Some(child) = self.children.get(&main) else { return Err(CallError::NotReady) };
        if child.shared.generation == name {
            return if request == GenerationRequest::Use { Ok(Found::Already) } else { Err(answers_already(name)) };
        }
        let vault = child.vault.clone();
        let is_it = |other: &Child| other.shared.is_inactive() && is_of(&other.shared, &vault.name, name);
        let other = self.children.iter().find(|(_, other)| is_it(other)).map(|(id, _)| *id);
        Ok(Found::Other(Box::new(vault), other))
    }

    fn carry_out(
        &mut self,
        main: u64,
        vault: &VaultConfig,
        name: &str,
        other: Option<u64>,
        request: GenerationRequest,
        reply: Reply,
    ) {
        let done = match (request, other) {
            (GenerationRequest::Build(job), other) => {
                if self.shared.config.load().context_of(name).is_none() {
                    let _ = reply.send(Err(unknown(name)));
                    return;
                }
                let id = other.unwrap_or_else(|| self.start(vault, name, true, &mut Places::new()));
                self.publish_vaults();
                self.shared.jobs.hand_over(job, main, id);
                // The indexer replies when it is open.
                self.shared.indexers.send(id, indexer::Event::Build { job, reply });
                return;
            }
            (GenerationRequest::Use, Some(other)) => self.swap(main, other),
            (GenerationRequest::Drop, Some(other)) => return self.drop_generation(main, other, reply),
            (GenerationRequest::Use | GenerationRequest::Drop, None) => Err(not_built(name, &vault.name)),
        };
        let _ = reply.send(done);
    }

    /// Makes the other generation answer from now on.
    fn swap(&mut self, main: u64, other: u64) -> Result<(), CallError> {
        let (Some(answering), Some(chosen)) = (self.children.get(&main), self.children.get(&other)) else {
            return Err(CallError::NotReady);
        };
        if chosen.shared.snapshot().is_none() {
            return Err(CallError::NotReady);
        }
        let config = self.shared.config.load_full();
        let plain = generation_dir(&config.data_dir, &chosen.vault.path, "");
        remember_active(&plain, &chosen.shared.generation)
            .map_err(|error| CallError::Storage(format!("the choice cannot be kept: {error}")))?;
        answering.shared.set_inactive(true);
        chosen.shared.set_inactive(false);
        // Its indexer announces that it answers now.
        chosen.shared.mark_unannounced();
        self.publish_vaults();
        for id in [main, other] {
            self.shared.indexers.send(id, indexer::Event::Wake);
        }
        Ok(())
    }

    /// Drops a generation. Its indexer ends first, with what the model still owes. Then a thread puts its contexts into
    /// the archive of the one that answers, and removes its folder.
    fn drop_generation(&mut self, main: u64, other: u64, reply: Reply) {
        let (to, (identity, dimensions), dir) = match self.droppable(main, other) {
            Ok(droppable) => droppable,
            Err(error) => return drop(reply.send(Err(error))),
        };
        let engine = self.shared.clone();
        let (stopped, child) = mpsc::channel::<Child>();
        let work = move || {
            let Ok(child) = child.recv() else { return drop(reply.send(Err(CallError::NotReady))) };
            let hand_down = || {
                let to = to.pipeline().ok_or("the vault is not open")?;
                let (from, _) = Store::open(&dir, &identity, dimensions).map_err(|error| error.to_string())?;
                to.take_from(&from, &dir, &ContextRecord::is_paid)
            };
            let remove = || std::fs::remove_dir_all(&dir).map_err(|error| error.to_string());
            let work = || child.wait_closed().and_then(|()| hand_down()).and_then(|()| remove());
            let result = catch_unwind(AssertUnwindSafe(work))
                .unwrap_or_else(|_| Err("dropping it failed inside the program (a bug; please report it)".to_owned()));
            engine.control.send(Event::Dropped { child: Box::new(child), result, reply });
        };
        // The thread comes first: if there is none, the generation goes on.
        if let Err(error) = std::thread::Builder::new().name("drop-generation".to_owned()).spawn(work) {
            return tracing::error!(%error, "a generation that was to be dropped stays");
        }
        if let Some(child) = self.stop(other, "the generation was dropped") {
            // The thread waits for it.
            let _ = stopped.send(child);
        }
        self.publish_vaults();
    }

    /// What takes the contexts of a generation that may be dropped, its embedder, and its folder.
    fn droppable(&self, main: u64, other: u64) -> Result<(Arc<VaultShared>, (String, usize), PathBuf), CallError> {
        let (Some(to), Some(from)) = (self.children.get(&main), self.children.get(&other)) else {
            return Err(CallError::NotReady);
        };
        if from.shared.generation.is_empty() {
            let message = format!("`{DEFAULT_GENERATION}` cannot be dropped: it is what `[context]` says");
            return Err(CallError::Invalid(message));
        }
        if self.shared.jobs.is_built(other) {
            return Err(CallError::Invalid("it is being built; cancel that job first".to_owned()));
        }
        let dir = generation_dir(&self.shared.config.load().data_dir, &from.vault.path, &from.shared.generation);
        if !Files::runs(&dir).is_empty() {
            let message =
                "a batch of it is with the provider, and its answers are paid for; drop it once they have come";
            return Err(CallError::Invalid(message.to_owned()));
        }
        let Some(pipeline) = from.shared.pipeline().filter(|_| to.shared.pipeline().is_some()) else {
            return Err(CallError::NotReady);
        };
        let embedder = &pipeline.service.embedder;
        Ok((to.shared.clone(), (embedder.identity().to_owned(), embedder.dimensions()), dir))
    }

    /// A generation was dropped, or it goes on.
    pub(super) fn dropped(&mut self, child: Child, result: Result<(), String>, reply: &Reply) {
        if result.is_err() {
            let (vault, generation) = (child.vault.clone(), child.shared.generation.clone());
            let mut places = Places::from([((vault.path.clone(), generation.clone()), child)]);
            self.start(&vault, &generation, true, &mut places);
            self.publish_vaults();
        }
        // The caller may have stopped waiting.
        let _ = reply.send(result.map_err(|why| CallError::Storage(format!("the generation stays: {why}"))));
    }
}

enum Found {
    /// The generation answers already: nothing is to be done.
    Already,
    /// The vault, and the indexer of the generation if it has one.
    Other(Box<VaultConfig>, Option<u64>),
}

fn unknown(name: &str) -> CallError {
    CallError::NotFound {
        what: "generation",
        name: shown(name).to_owned(),
        hint: "the configuration has none of that name: write `[generation.NAME]` and reload".to_owned(),
    }
}

/// Whether this vault's generation is the one asked for.
pub(crate) fn is_of(vault: &Arc<VaultShared>, name: &str, generation: &str) -> bool {
    vault.name == name && vault.generation == generation
}
