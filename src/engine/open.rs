//! Opening, closing and reloading: which vaults are served, and who writes their contexts.

use std::sync::Arc;
use std::time::Instant;

use super::beside::active;
use super::brake::Brakes;
use super::embedding::switch::Switch;
use super::keeper::{Keeper, TRY_AGAIN};
use super::report;
use super::rerank::Reranker;
use super::scan::Extent;
use super::seat::{Seat, config_of};
use super::writer::{DRAIN, Writer};
use super::{Event, Loop, Unopened, VaultShared, timing};
use crate::config::{Config, VaultConfig};
use crate::vault::RescanReason;

impl Loop {
    pub(super) fn open(&mut self, config: &Config) {
        for (vault, shared) in config.vaults.iter().zip(self.listed.values().cloned().collect::<Vec<_>>()) {
            self.open_vault(config, vault, shared);
        }
    }

    pub(super) fn open_vault(&mut self, config: &Config, vault: &VaultConfig, shared: Arc<VaultShared>) {
        let id = shared.id;
        let settings = config_of(config, &shared.generation).unwrap_or_else(|| config.clone());
        match Keeper::open(&settings, vault, shared, &self.shared) {
            Ok((keeper, opened)) => {
                if let Some((moved_to, why)) = &opened.quarantined {
                    self.notes_of_trouble.push(format!(
                        "the store of vault `{}` was damaged ({why}); it was moved to {} and the index is rebuilt; {} contexts came back from the journal",
                        vault.name, moved_to.display(), opened.contexts_recovered
                    ));
                }
                self.unopened.remove(&id);
                self.shared.grapher.changed(&keeper.shared);
                self.keepers.insert(id, keeper);
                self.watch(id);
                self.open_others(id);
                let scope = report::Scope { vault: Some(vault.name.clone()), path: None };
                self.next_sync = None;
                self.resume_run(id);
                let job = self.shared.jobs.begin("index", scope, 1);
                self.scan(id, Extent::Everything, RescanReason::Start, vec![job]);
            }
            Err(error) => {
                let why = format!("vault `{}` cannot be served: {error}", vault.name);
                let again_at = Instant::now() + TRY_AGAIN;
                let before = self.unopened.insert(id, Unopened { config: vault.clone(), why, again_at });
                if before.is_none() {
                    tracing::error!(%error, vault = vault.name, "this vault cannot be served; it is tried again");
                }
            }
        }
    }

    /// Opens what could not be opened, and what could not be written to, once there is room again.
    pub(super) fn open_again(&mut self) {
        let now = Instant::now();
        let due = |(id, keeper): (&u64, &Keeper)| {
            let is_due = keeper.trouble.as_ref().is_some_and(|trouble| trouble.reopen_at <= now);
            (is_due && !keeper.is_at_work()).then_some(*id)
        };
        for id in self.keepers.iter().filter_map(due).collect::<Vec<_>>() {
            let Some(mut keeper) = self.keepers.remove(&id) else { continue };
            if let Err(error) = keeper.desk.store.probe() {
                keeper.trouble = None;
                keeper.be_troubled(&error.into());
                self.keepers.insert(id, keeper);
                continue;
            }
            // The store is broken off, not closed: what it could not write is found by the look that follows.
            let (config, why) = (keeper.config.clone(), String::new());
            keeper.let_go();
            self.unopened.insert(id, Unopened { config, why, again_at: now });
        }
        let due: Vec<u64> = self.unopened.iter().filter(|(_, u)| u.again_at <= now).map(|(id, _)| *id).collect();
        let config = self.shared.config.load_full();
        for id in due {
            if let (Some(unopened), Some(shared)) = (self.unopened.get(&id), self.listed.get(&id).cloned()) {
                let vault = unopened.config.clone();
                self.open_vault(&config, &vault, shared);
            }
        }
    }

    /// Starts asking the models that a configuration names, of every generation, or stops asking.
    pub(super) fn start_writers(&mut self, config: &Config) {
        // The old ones first: their threads end with the last handle, and what they hold is let go.
        self.seats.clear();
        self.shared.writers.store(Arc::default());
        self.keepers.values_mut().for_each(Keeper::forget_writer);
        let names = std::iter::once("").chain(config.generations.keys().map(String::as_str));
        for name in names {
            let Some(config) = config_of(config, name) else { continue };
            let events = self.shared.events.clone();
            let tell = move |vault, path, told| {
                // The engine may have ended; what was told is in the journal.
                let _ = events.send(Event::Told { vault, path, told });
            };
            let (writer, no_writer) = match Writer::start(&config, &self.shared.provider, &self.shared.spender, tell) {
                Ok(writer) => (writer, None),
                Err(why) => {
                    tracing::error!("contexts cannot be asked for: {why}");
                    (None, Some(why))
                }
            };
            let seat = Seat { config: Arc::new(config), writer, no_writer, hold: None, hold_told: false };
            self.seats.insert(name.to_owned(), seat);
        }
        let writers = self.seats.iter().filter_map(|(name, seat)| Some((name.clone(), Arc::new(seat.writer.clone()?))));
        self.shared.writers.store(Arc::new(writers.collect()));
    }

    /// Waits for the answers to what was asked about notes.
    pub(super) fn drain_writers(&self) {
        let until = Instant::now() + DRAIN;
        self.seats.values().filter_map(|seat| seat.writer.as_ref()).for_each(|writer| writer.drain(until));
    }

    /// Other limits are in force, and nothing else: what is being asked goes on, and what a budget held is asked.
    fn take_limits(&mut self, config: &Config) {
        for (name, seat) in &mut self.seats {
            seat.config = config_of(config, name).map_or_else(|| seat.config.clone(), Arc::new);
            seat.hold = None;
        }
    }

    /// Starts whoever judges what searches find, if somebody is configured to.
    pub(super) fn start_reranker(&mut self, config: &Config) {
        let reranker = Reranker::start(config, &self.shared.provider, &self.shared.spender).unwrap_or_else(|why| {
            tracing::error!("searches are not reranked: {why}");
            self.notes_of_trouble.push(format!("searches are not reranked: {why}"));
            None
        });
        self.shared.reranker.store(reranker);
    }

    pub(super) fn publish_vaults(&self) {
        // In the order of the configuration: the first is the one that is meant when none is named.
        let order = self.shared.config.load_full();
        let place = |vault: &Arc<VaultShared>| order.vaults.iter().position(|other| other.name == vault.name);
        let mut vaults: Vec<Arc<VaultShared>> = self.listed.values().cloned().collect();
        vaults.sort_by_key(place);
        self.shared.vaults.store(Arc::new(vaults));
        let beside = self.keepers.values().filter(|keeper| keeper.beside).map(|keeper| keeper.shared.clone());
        self.shared.beside.store(Arc::new(beside.collect()));
    }

    pub(super) fn reload(&mut self, config: &Config) {
        let before = self.shared.config.load_full();
        let same = config.context == before.context && config.generations == before.generations;
        self.shared.spender.set_limits(super::limits(config));
        if !same {
            // What was asked is paid for, so its answers are waited for; what takes too long is asked again.
            self.drain_writers();
            self.start_writers(config);
        } else if config.budget != before.budget {
            self.take_limits(config);
        }
        let kept = |keeper: &Keeper, config: &Config| {
            config.vaults.contains(&keeper.config) && config.chunk == keeper.desk.chunk && same
        };
        let old: Vec<u64> = self.keepers.iter().filter(|(_, k)| !kept(k, config)).map(|(id, _)| *id).collect();
        for id in old {
            self.listed.remove(&id);
            self.publish_vaults();
            if let Some(mut keeper) = self.keepers.remove(&id) {
                if let Err(error) = keeper.close() {
                    tracing::error!(%error, vault = keeper.config.name, "closing");
                }
                keeper.let_go();
            }
        }
        for id in std::mem::take(&mut self.unopened).into_keys() {
            self.listed.remove(&id);
        }
        self.notes_of_trouble.clear();
        if config.rerank != before.rerank {
            self.start_reranker(config);
        }
        self.shared.config.store(Arc::new(config.clone()));
        self.brakes = Brakes::new(&config.host);
        for keeper in self.keepers.values_mut() {
            keeper.pending.set_timing(timing(&config.watch));
            keeper.switch.iter_mut().for_each(Switch::try_again);
            if config.embed != before.embed
                && let Err(error) = keeper.take_embedder(config, &self.shared)
            {
                keeper.be_troubled(&error);
            }
        }
        let served: Vec<_> = self.keepers.values().map(|k| k.config.clone()).collect();
        for vault in config.vaults.iter().filter(|v| !served.contains(v)) {
            let shared = VaultShared::new(self.next_vault, vault, &active(config, vault));
            self.next_vault += 1;
            self.listed.insert(shared.id, shared.clone());
            self.open_vault(config, vault, shared);
        }
        self.publish_vaults();
    }
}
