//! Generations side by side: contexts of another model or prompt are written into an index of their own beside
//! the one that answers, compared with it, put in its place at once, and put back.
//!
//! Each generation is a [`Keeper`] of its own over the same vault, with a folder of its own. One that stands
//! beside follows every save with free contexts and what it has, and buys only while it is being built.

use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use super::keeper::{GENERATIONS, Keeper, generation_dir};
use super::rebuild::Run;
use super::report::{CallError, DEFAULT_GENERATION};
use super::scan::Extent;
use super::seat::shown;
use super::{Loop, VaultShared};
use crate::config::{Config, VaultConfig};
use crate::vault::RescanReason;

/// Names the generation that answers, in the vault's folder; absent for the plain one.
const ACTIVE: &str = "active";

/// What a user wants of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// That it is built beside the one that answers, under this job.
    Build(u64),
    /// That it answers.
    Use,
    /// That it goes; contexts that were paid for stay.
    Drop,
}

/// The generation that answers for a vault: the one that was chosen last, if the configuration still has it.
pub(super) fn active(config: &Config, vault: &VaultConfig) -> String {
    let path = generation_dir(&config.data_dir, &vault.path, "").join(ACTIVE);
    let name = std::fs::read_to_string(path).unwrap_or_default();
    let name = name.trim();
    if config.generations.contains_key(name) { name.to_owned() } else { String::new() }
}

/// Remembers which generation answers.
fn remember_active(dir: &Path, generation: &str) -> std::io::Result<()> {
    let path = dir.join(ACTIVE);
    let written = dir.join("active.new");
    let mut file = std::fs::File::create(&written)?;
    writeln!(file, "{generation}")?;
    file.sync_all()?;
    std::fs::rename(written, path)
}

impl Loop {
    /// Opens the generations of a vault that stand beside the one that answers.
    pub(super) fn open_others(&mut self, main: u64) {
        let config = self.shared.config.load_full();
        let Some(keeper) = self.keepers.get(&main).filter(|keeper| !keeper.beside) else { return };
        let (vault, answers) = (keeper.config.clone(), keeper.generation.clone());
        let plain = generation_dir(&config.data_dir, &vault.path, "");
        let built = |name: &&String| plain.join(GENERATIONS).join(name).is_dir();
        let mut names: Vec<String> = config.generations.keys().filter(built).cloned().collect();
        if plain.join("contexts.journal").exists() || plain.join("sled").exists() {
            names.push(String::new());
        }
        for name in names.into_iter().filter(|name| *name != answers) {
            if let Err(error) = self.open_beside(&vault, &name) {
                tracing::error!(%error, vault = vault.name, "generation {} cannot be opened", shown(&name));
            }
        }
    }

    /// Opens a generation of a vault beside the one that answers; returns its id.
    fn open_beside(&mut self, vault: &VaultConfig, name: &str) -> Result<u64, CallError> {
        let Some(seat) = self.seats.get(name) else { return Err(unknown(name)) };
        let shared = VaultShared::new(self.next_vault, vault, name);
        let id = shared.id;
        self.next_vault += 1;
        let (mut keeper, _) = Keeper::open(&seat.config.clone(), vault, shared, &self.shared)
            .map_err(|error| CallError::Storage(error.to_string()))?;
        keeper.beside = true;
        self.keepers.insert(id, keeper);
        self.watch(id);
        self.resume_run(id);
        self.scan(id, Extent::Everything, RescanReason::Start, Vec::new());
        self.publish_vaults();
        Ok(id)
    }

    /// Does what a user wants of a generation of the vault that `main` answers for.
    pub(super) fn generation(&mut self, main: u64, name: &str, wish: Wish) -> Result<(), CallError> {
        let Some(keeper) = self.keepers.get(&main) else { return Err(CallError::NotReady) };
        let vault = keeper.config.clone();
        if keeper.generation == name {
            let message = format!("`{}` is the generation that answers", shown(name));
            return if wish == Wish::Use { Ok(()) } else { Err(CallError::Invalid(message)) };
        }
        let is_it = |keeper: &Keeper| keeper.beside && keeper.config.name == vault.name && keeper.generation == name;
        let open = self.keepers.iter().find(|(_, keeper)| is_it(keeper)).map(|(id, _)| *id);
        match (wish, open) {
            (Wish::Build(job), open) => {
                let id = open.map_or_else(|| self.open_beside(&vault, name), Ok)?;
                let Some(keeper) = self.keepers.get_mut(&id) else { return Err(CallError::NotReady) };
                keeper.begin_run(Run::new(job, None, false)).map_err(|error| CallError::Storage(error.to_string()))
            }
            (Wish::Use, Some(other)) => self.swap(main, other),
            (Wish::Drop, Some(other)) => self.drop_generation(main, other),
            (Wish::Use | Wish::Drop, None) => Err(CallError::NotFound {
                what: "generation",
                name: shown(name).to_owned(),
                hint: "it is not built for this vault; `situated generations build` does".to_owned(),
            }),
        }
    }

    /// Has the other generation answer from here on.
    fn swap(&mut self, main: u64, other: u64) -> Result<(), CallError> {
        let storage = |error: std::io::Error| CallError::Storage(format!("the choice cannot be kept: {error}"));
        let config = self.shared.config.load_full();
        if let Some(chosen) = self.keepers.get(&other) {
            let plain = generation_dir(&config.data_dir, &chosen.config.path, "");
            std::fs::create_dir_all(&plain)
                .and_then(|()| remember_active(&plain, &chosen.generation))
                .map_err(storage)?;
        }
        for (id, beside) in [(main, true), (other, false)] {
            if let Some(keeper) = self.keepers.get_mut(&id) {
                keeper.beside = beside;
            }
        }
        self.listed.remove(&main);
        if let Some(chosen) = self.keepers.get(&other) {
            self.listed.insert(other, chosen.shared.clone());
            // What is told of it, `settle` tells.
            chosen.shared.mark_untold();
        }
        self.publish_vaults();
        Ok(())
    }

    /// Takes a generation away; its paid contexts go to the archive of the one that answers.
    fn drop_generation(&mut self, main: u64, other: u64) -> Result<(), CallError> {
        let storage = |error: String| CallError::Storage(format!("the generation stays: {error}"));
        let (Some(from), Some(to)) = (self.keepers.get(&other), self.keepers.get(&main)) else {
            return Err(CallError::NotReady);
        };
        if from.generation.is_empty() {
            let message = format!("`{DEFAULT_GENERATION}` cannot be dropped: it is what `[context]` says");
            return Err(CallError::Invalid(message));
        }
        if from.contexts.run.is_some() {
            return Err(CallError::Invalid("it is being built; cancel that job first".to_owned()));
        }
        let path = from.dir.join("contexts.jsonl");
        let written = std::fs::File::create(&path).map_err(|error| storage(error.to_string()))?;
        from.desk.store.export(BufWriter::new(written), false).map_err(|error| storage(error.to_string()))?;
        let file = std::fs::File::open(&path).map_err(|error| storage(error.to_string()))?;
        let report = to.desk.store.import(BufReader::new(file)).map_err(|error| storage(error.to_string()))?;
        if let Some((line, why)) = report.bad.first() {
            return Err(storage(format!("line {line} of its contexts: {why}")));
        }
        let Some(keeper) = self.keepers.remove(&other) else { return Ok(()) };
        let dir = keeper.dir.clone();
        self.publish_vaults();
        keeper.let_go();
        std::fs::remove_dir_all(dir).map_err(|error| storage(error.to_string()))
    }
}

fn unknown(name: &str) -> CallError {
    CallError::NotFound {
        what: "generation",
        name: shown(name).to_owned(),
        hint: "the configuration has none of that name: write `[generation.NAME]` and reload".to_owned(),
    }
}

/// Whether this vault's generation is the one asked for.
pub(super) fn is_of(vault: &Arc<VaultShared>, name: &str, generation: &str) -> bool {
    vault.name == name && vault.generation == generation
}
