//! The keeper of a vault: carries out what the [`Publisher`] plans.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use note::Private;
use serde_json::{Value, json};

use crate::collection::{Described, VaultState, WHAT};
use crate::failure::{Failure, Kind};
use crate::point::{Document, points};
use crate::publish::{Effect, Event, Publisher};
use crate::server::{Collection, is};
use crate::verify::{Comparison, amiss, shortened};
use protocol::team::VaultDifferences;

/// Points of one request: about two megabytes.
const POINTS: usize = 256;

/// Notes that one request deletes.
const PATHS: usize = 64;

/// The notes of a vault as its store has them. Its functions block.
pub trait Source: Send + Sync + 'static {
    /// Path and state of each note that may be published.
    ///
    /// # Errors
    /// Why they are not known at present.
    fn wanted(&self) -> Result<BTreeMap<String, String>, String>;

    /// A note in the state that the store knows; `None` if its file has changed since, for another state will follow.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn document(&self, path: &str) -> Result<Option<Document>, String>;

    /// Which notes are private.
    fn private(&self) -> Arc<Private>;
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// Everything is published, until the store changes.
    Rests,
    /// Something failed; it is tried again after so long.
    Waits(Duration, Failure),
}

/// Who keeps a vault, and what it is called.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The vault's name in the collection.
    pub vault: String,
    /// A word that no other keeper has.
    pub keeper: String,
    /// Where it is, for people.
    pub host: String,
    /// Who makes its vectors.
    pub embedder: String,
}

/// The keeper of one vault.
pub struct Keeper {
    collection: Collection,
    who: Identity,
    source: Arc<dyn Source>,
    plan: Publisher,
    described: Option<Described>,
    take_over: bool,
}

impl Keeper {
    /// A keeper that has done nothing yet.
    pub fn new(collection: Collection, who: Identity, source: Arc<dyn Source>) -> Self {
        Keeper { collection, who, source, plan: Publisher::default(), described: None, take_over: false }
    }

    /// Who makes its vectors.
    pub fn embedder(&self) -> &str {
        &self.who.embedder
    }

    /// Forgets what it knows of the collection and begins anew: the collection was created or deleted.
    pub fn begin_anew(&mut self) {
        self.plan = Publisher::default();
    }

    /// Takes the vault from whoever keeps it when it is claimed next.
    pub fn take_over(&mut self) {
        self.take_over = true;
    }

    /// Notes that are published, and notes that are still to be written or deleted.
    pub fn progress(&self) -> (usize, usize) {
        (self.plan.notes(), self.plan.left())
    }

    /// Whether the vault is there, and its own.
    pub async fn has_vault(&self) -> bool {
        self.claimed().await.is_ok()
    }

    /// Works until everything that the store has is there, or something fails.
    pub async fn turn(&mut self) -> Done {
        let source = self.source.clone();
        let wanted = match local(move || source.wanted()).await {
            Ok(wanted) => wanted,
            Err(failure) => return self.failed(failure),
        };
        let began = self.plan.on(Event::Wanted(wanted));
        let mut effect = began.or_else(|| self.plan.on(Event::Again)).unwrap_or(Effect::Claim);
        loop {
            let event = match self.carry_out(effect).await {
                Ok(Ok(event)) => event,
                Ok(Err(done)) => return done,
                Err(failure) => Event::Failed(failure),
            };
            match self.plan.on(event) {
                Some(next) => effect = next,
                None => return Done::Rests,
            }
        }
    }

    /// Compares all that is there with the store, and mends what differs.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn verify(&mut self) -> Result<VaultDifferences, Failure> {
        self.settle().await?;
        let source = self.source.clone();
        let wanted = local(move || source.wanted()).await?;
        let of_vault = json!({"must": [is("vault", &self.who.vault), is(WHAT, "chunk")]});
        let mut comparison = Comparison::default();
        self.collection.look_at_each(&of_vault, json!(true), |read| comparison.look(read)).await?;
        let known = self.claimed().await?;
        let (mut differences, strays) = comparison.with(&wanted, known.revision);
        let foreign = json!({"must": [{"is_empty": {"key": WHAT}}]});
        differences.foreign = self.collection.count(&foreign).await? as usize;
        for some in strays.chunks(POINTS) {
            self.collection.delete_ids(some).await?;
        }
        if let Some(mut effect) = self.plan.on(Event::Amiss(amiss(&differences))) {
            // As in a turn, which would begin with this effect.
            while let Ok(event) = self.carry_out(effect).await? {
                match self.plan.on(event) {
                    Some(next) => effect = next,
                    None => break,
                }
            }
        }
        differences.vault.clone_from(&self.who.vault);
        Ok(shortened(differences))
    }

    /// A turn whose failure is an error.
    async fn settle(&mut self) -> Result<(), Failure> {
        match self.turn().await {
            Done::Rests => Ok(()),
            Done::Waits(_, failure) => Err(failure),
        }
    }

    fn failed(&mut self, failure: Failure) -> Done {
        match self.plan.on(Event::Failed(failure)) {
            Some(Effect::Wait(wait, failure)) => Done::Waits(wait, failure),
            _ => Done::Rests,
        }
    }

    /// Does one thing; the inner error ends the turn.
    async fn carry_out(&mut self, effect: Effect) -> Result<Result<Event, Done>, Failure> {
        let vault = is("vault", &self.who.vault);
        Ok(Ok(match effect {
            Effect::Rest => return Ok(Err(Done::Rests)),
            Effect::Wait(wait, failure) => return Ok(Err(Done::Waits(wait, failure))),
            Effect::Claim => Event::Claimed(self.claim().await?),
            Effect::Clean(above) => {
                let unseen = json!({"must": [vault, {"key": "revision", "range": {"gt": above}}, is(WHAT, "chunk")]});
                self.collection.delete(&unseen).await?;
                Event::Cleaned
            }
            Effect::List => Event::Listed(self.list().await?),
            Effect::Write(revision, paths) => {
                self.claimed().await?;
                Event::Written(self.write(revision, paths).await?)
            }
            Effect::Raise(revision) => {
                self.collection.raise(&self.who.vault, &self.who.keeper, revision).await?;
                self.claimed().await?;
                Event::Raised
            }
            Effect::Sweep(old) => {
                let below = |(path, revision): &(String, u64)| json!({"must": [vault, is("path", path), {"key": "revision", "range": {"lt": revision}}]});
                let any: Vec<Value> = old.iter().map(below).collect();
                self.collection.delete(&json!({"must": [is(WHAT, "chunk")], "should": any})).await?;
                Event::Swept
            }
        }))
    }

    /// Claims the vault; returns the number up to which its points are visible.
    async fn claim(&mut self) -> Result<u64, Failure> {
        let name = self.collection.name();
        let Some(described) = self.collection.described().await? else {
            self.collection.own().await?;
            let message =
                format!("the collection `{name}` at {} is not made yet: `situated team init`", self.collection.host());
            return Err(Failure::new(Kind::Missing, message));
        };
        if let Err(unfit) = described.check(Some(&self.who.embedder), name) {
            self.take_back().await?;
            return Err(unfit);
        }
        self.described = Some(described);
        let Identity { vault, keeper, host, .. } = self.who.clone();
        let ours = |revision| VaultState { vault: vault.clone(), revision, keeper: keeper.clone(), host };
        let known = self.collection.vault(&self.who.vault).await?;
        let revision = known.as_ref().map_or(0, |known| known.revision);
        match known {
            Some(known) if known.keeper == self.who.keeper => return Ok(known.revision),
            Some(known) if !self.take_over => return Err(known.kept()),
            _ => self.collection.put_vault(&ours(revision)).await?,
        }
        self.take_over = false;
        // If two keepers took it at the same moment, only one of them has it.
        self.claimed().await.map(|known| known.revision)
    }

    /// Takes away the notes that are gone or private by now, though none can be written: that needs no vectors.
    async fn take_back(&self) -> Result<(), Failure> {
        if self.collection.vault(&self.who.vault).await?.is_none_or(|known| known.keeper != self.who.keeper) {
            return Ok(());
        }
        let there = self.list().await?.into_iter().map(|(path, ..)| path);
        for some in self.plan.unwanted(there).chunks(PATHS) {
            let any: Vec<Value> = some.iter().map(|path| is("path", path)).collect();
            let gone = json!({"must": [is("vault", &self.who.vault), is(WHAT, "chunk")], "should": any});
            self.collection.delete(&gone).await?;
        }
        Ok(())
    }

    /// The vault's state; an error if the vault is no longer ours.
    async fn claimed(&self) -> Result<VaultState, Failure> {
        let gone = || {
            let message = format!("`{}` was taken away from `{}` meanwhile", self.who.vault, self.collection.name());
            Failure::new(Kind::Unavailable, message)
        };
        let known = self.collection.vault(&self.who.vault).await?.ok_or_else(gone)?;
        if known.keeper == self.who.keeper { Ok(known) } else { Err(known.kept()) }
    }

    /// The notes in the collection, by their first chunks.
    async fn list(&self) -> Result<Vec<(String, u64, String)>, Failure> {
        let first = json!({"must": [
            is("vault", &self.who.vault), is(WHAT, "chunk"), {"key": "position", "match": {"value": 0}},
        ]});
        let found = self.collection.look_through(&first, json!(["path", "revision", "state"])).await?;
        let read = |payload: Value| {
            let text = |field: &str| payload[field].as_str().unwrap_or_default().to_owned();
            (text("path"), payload["revision"].as_u64().unwrap_or(0), text("state"))
        };
        Ok(found.into_iter().map(|found| read(found.payload)).collect())
    }

    async fn write(&self, revision: u64, paths: Vec<String>) -> Result<BTreeMap<String, String>, Failure> {
        let mean = self.described.as_ref().map(Described::mean).unwrap_or_default();
        let mut written = BTreeMap::new();
        let mut ready: Vec<Value> = Vec::new();
        for path in paths {
            let (source, vault) = (self.source.clone(), self.who.vault.clone());
            let made = local(move || {
                let document = source.document(&path)?;
                Ok(document.map(|document| {
                    (path, points(&document, &vault, revision, mean, &source.private()), document.state)
                }))
            });
            let Some((path, points, state)) = made.await?.filter(|(_, points, _)| !points.is_empty()) else { continue };
            written.insert(path, state);
            ready.extend(points);
            while ready.len() >= POINTS {
                let rest = ready.split_off(POINTS);
                self.collection.put(std::mem::replace(&mut ready, rest)).await?;
            }
        }
        if !ready.is_empty() {
            self.collection.put(ready).await?;
        }
        Ok(written)
    }
}

/// Runs blocking work where blocking is allowed.
async fn local<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, Failure> {
    let ended = |_| Failure::new(Kind::Local, "the notes were not read to the end");
    machine::blocking(work).await.map_err(ended)?.map_err(|why| Failure::new(Kind::Local, why))
}
