//! Collections that are shared with a team: which there are, who keeps vaults in them, and what searches ask.
//!
//! The crate `team` defines what is written there and how. A vault that is published has a task that follows its
//! snapshots ([`keeping`]); its notes come from store and disk ([`source`]). None of this is on the path of a save.

mod asking;
mod getting;
mod keeping;
mod offering;
mod source;
mod turns;
mod withdrawing;
mod word;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;

use crate::Shared;
use crate::handle::CallError;
use crate::settings::{Settings, TeamConfig};
use ::team::{Collection, Described, Failure, Kind, Quantisation, Reader, VaultState};

use asking::Question;
use index::embed::Vector;
use index::search::filter::is_vault;
use index::search::{Options, Parsed};
use keeping::Kept;
use protocol::cost::TeamSaving;
use protocol::note::{GetRequest, NoteText};
use protocol::team::{TeamDifferences, TeamInfo, TeamList, TeamVault, VaultDifferences};
use provider::Spender;
use provider::rest::RestServer;
use turns::Turns;
use withdrawing::Former;

/// The header that Qdrant takes keys in.
const HEADER: &str = "api-key";

/// The collections of a configuration.
#[derive(Default)]
pub(super) struct Teams {
    open: ArcSwap<BTreeMap<String, Arc<Team>>>,
    /// The settings that they were opened from.
    made_of: Mutex<Option<(BTreeMap<String, TeamConfig>, Published)>>,
    turns: Mutex<Arc<Turns>>,
}

/// Vaults and the teams that they are published for.
type Published = Vec<(String, Option<String>)>;

/// A collection.
struct Team {
    name: String,
    config: TeamConfig,
    /// The collection as keepers and commands use it.
    collection: Result<Collection, String>,
    /// The collection as searches use it; `None` if they do not.
    reader: Option<Reader>,
    kept: Vec<Arc<Kept>>,
    /// What was published from here before; `None` if nothing was.
    former: Option<Arc<Former>>,
    /// Until then the team is not asked for contexts, because it did not answer.
    away_until: Mutex<Option<Instant>>,
    /// Its ledger records what the team saved.
    spender: Weak<Spender>,
    background: Runtime,
    urgent: Runtime,
}

impl Teams {
    /// Opens the collections of a configuration, and starts to keep the vaults that are published.
    pub(super) fn configure(&self, shared: &Arc<Shared>, settings: &Settings) {
        let published: Published =
            settings.vaults.iter().map(|vault| (vault.name.clone(), vault.publish.clone())).collect();
        let mut made_of = self.made_of.lock();
        if made_of.as_ref() == Some(&(settings.teams.clone(), published.clone())) {
            // What was refused may be allowed by now.
            self.open.load().values().flat_map(|team| &team.kept).for_each(|kept| kept.wake());
            return;
        }
        // The new keepers begin again what the previous ones have under way.
        let turns = self.turns.lock().next();
        *self.turns.lock() = turns.clone();
        self.open.load().values().for_each(|team| team.end());
        let open = |name: &String| match Team::open(shared, name, settings, &published, &turns) {
            Ok(team) => Some((name.clone(), Arc::new(team))),
            Err(why) => {
                tracing::error!(team = name, "a team is not served: {why}");
                None
            }
        };
        self.open.store(Arc::new(settings.teams.keys().filter_map(open).collect()));
        *made_of = Some((settings.teams.clone(), published));
    }

    /// Begins to ask the teams what the vaults are asked; `vector` is the query's, with the identity of its embedder.
    pub(super) fn ask(&self, query: &Parsed, options: &Options, vector: Option<(String, Vector)>) -> Question {
        asking::begin(&self.open.load(), query, options, vector)
    }

    /// The lines of a team's note; `None` if the request names no team's vault.
    pub(super) fn note(&self, request: &GetRequest) -> Result<Option<NoteText>, CallError> {
        getting::get(&self.open.load(), request)
    }

    /// What leaves this machine, and where it goes.
    pub(super) fn leave(&self) -> Vec<String> {
        let mut said = Vec::new();
        for team in self.open.load().values() {
            let Some(host) = team.collection.as_ref().ok().and_then(Collection::leaves_to) else { continue };
            let name = &team.name;
            said.extend(
                team.reader.is_some().then(|| format!("queries, to {host}, where the team `{name}` is searched")),
            );
            said.push(format!(
                "hashes of sections that are not private and that a model is to write contexts for, to {host}, where \
                 the team `{name}` may have them"
            ));
            said.extend(team.kept.iter().map(|kept| {
                let vault = &kept.vault;
                format!("notes of `{vault}` that are not private, to {host}, where the team `{name}` reads them")
            }));
        }
        said
    }

    /// Whether this is the name of a team, or of a team's vault: `TEAM/VAULT`.
    pub(super) fn has_vault(&self, name: &str) -> bool {
        self.open.load().keys().any(|team| is_vault(team, name))
    }

    /// The vault and the path of a team's note that is named as hits are shown: `TEAM/VAULT: NOTE`.
    pub(super) fn note_named<'a>(&self, typed: &'a str) -> Option<(&'a str, &'a str)> {
        getting::shown(typed).filter(|(vault, _)| vault.contains('/') && self.has_vault(vault))
    }

    /// The names of the teams whose vaults are searched.
    pub(super) fn names(&self) -> Vec<String> {
        let open = self.open.load();
        open.values().filter(|team| team.reader.is_some()).map(|team| team.name.clone()).collect()
    }

    /// What is published from here and is not as it should be.
    pub(super) fn problems(&self) -> Vec<String> {
        self.open.load().values().flat_map(|team| team.problems()).collect()
    }

    /// The team of this name, or all.
    fn chosen(&self, name: Option<&str>) -> Result<Vec<Arc<Team>>, CallError> {
        let open = self.open.load();
        let Some(name) = name else {
            if open.is_empty() {
                let message = "there is no team; `[team.NAME]` in the configuration names its server and collection";
                return Err(CallError::NotConfigured(message.to_owned()));
            }
            return Ok(open.values().cloned().collect());
        };
        open.get(name).map(|team| vec![team.clone()]).ok_or_else(|| {
            let names: Vec<&str> = open.keys().map(String::as_str).collect();
            let hint =
                if names.is_empty() { "there are none".to_owned() } else { format!("there are: {}", names.join(", ")) };
            CallError::NotFound { what: "team", name: name.to_owned(), hint }
        })
    }

    /// The state of the team of this name, or of all.
    pub(super) fn status(&self, name: Option<&str>) -> Result<TeamList, CallError> {
        let teams = self.chosen(name)?;
        let spender = teams.first().and_then(|team| team.spender.upgrade());
        let saved = spender.map(|spender| spender.ledger().report(machine::zoned()).by_team).unwrap_or_default();
        Ok(TeamList { teams: teams.iter().map(|team| team.info(&saved)).collect() })
    }

    /// Makes a collection for the vaults that are published there.
    pub(super) fn init(&self, name: &str, bits: bool) -> Result<TeamList, CallError> {
        let teams = self.chosen(Some(name))?;
        for team in &teams {
            team.init(bits)?;
            team.kept.iter().for_each(|kept| kept.wake());
        }
        self.status(Some(name))
    }

    /// Publishes what differs, and waits for it.
    pub(super) fn publish(&self, name: Option<&str>, take_over: bool) -> Result<TeamList, CallError> {
        for team in self.chosen(name)? {
            team.withdraw()?;
            for kept in &team.kept {
                team.background.block_on(kept.publish(take_over)).map_err(failed)?;
            }
        }
        self.status(name)
    }

    /// Compares and mends.
    pub(super) fn verify(&self, name: Option<&str>) -> Result<TeamDifferences, CallError> {
        let mut vaults = Vec::new();
        for team in self.chosen(name)? {
            team.withdraw()?;
            for kept in &team.kept {
                let found = team.background.block_on(kept.verify()).map_err(failed)?;
                vaults.push(VaultDifferences { team: team.name.clone(), ..found });
            }
        }
        Ok(TeamDifferences { vaults })
    }

    /// Deletes a collection.
    pub(super) fn take_away(&self, name: &str) -> Result<(), CallError> {
        for team in self.chosen(Some(name))? {
            let collection = team.collection.clone().map_err(CallError::Invalid)?;
            let dropping = async {
                collection.own().await?;
                collection.drop_all().await
            };
            team.background.block_on(dropping).map_err(failed)?;
            team.kept.iter().for_each(|kept| kept.wake());
        }
        Ok(())
    }
}

fn failed(failure: Failure) -> CallError {
    match failure.kind {
        Kind::Local => CallError::Storage(failure.message),
        _ => CallError::Provider(failure.message),
    }
}

impl Team {
    fn open(
        shared: &Arc<Shared>,
        name: &str,
        settings: &Settings,
        published: &Published,
        turns: &Arc<Turns>,
    ) -> Result<Self, String> {
        let config = settings.teams.get(name).ok_or("it is not configured")?;
        let node = |url: &String| {
            let server = RestServer::new(url, HEADER, &config.key, config.ca_file.as_deref())?;
            Ok::<_, String>(server.passing_on(config.passes_on))
        };
        let collection = || -> Result<Collection, String> {
            let others = config.replicas.iter().map(node).collect::<Result<_, String>>()?;
            Ok(Collection::replicated(node(&config.url)?, others, &config.collection))
        };
        let (background, urgent) = (shared.provider.background()?, shared.provider.urgent()?);
        // Connections belong to the runtime that opened them, so searches have their own.
        let reader = config.search.then(|| collection().ok().map(Reader::new)).flatten();
        let collection = collection();
        let kept = collection.iter().flat_map(|collection| {
            let own = published.iter().filter(|(_, team)| team.as_deref() == Some(name));
            own.map(|(vault, _)| Kept::start(shared, &background, (collection.clone(), turns.clone()), vault))
        });
        let kept = kept.collect();
        let former = collection.as_ref().ok().zip(word::known(&settings.data_dir)).map(|(collection, word)| {
            // Two teams may share a collection.
            let is_there = |team: &String| settings.teams.get(team).is_some_and(|of| of.is_collection_of(config));
            let kept = published.iter().filter(|(_, team)| team.as_ref().is_some_and(is_there));
            let kept = kept.map(|(vault, _)| vault.clone()).collect();
            Former::start(name, (collection.clone(), turns.clone()), word, kept, &background)
        });
        Ok(Team {
            name: name.to_owned(),
            config: config.clone(),
            collection,
            reader,
            kept,
            former,
            away_until: Mutex::default(),
            spender: Arc::downgrade(&shared.spender),
            background,
            urgent,
        })
    }

    /// Ends its tasks: there is another configuration.
    fn end(&self) {
        self.kept.iter().for_each(|kept| kept.wake());
        self.former.iter().for_each(|former| former.end());
    }

    /// Takes away what is not published from here any more.
    fn withdraw(&self) -> Result<(), CallError> {
        let Some(former) = &self.former else { return Ok(()) };
        self.background.block_on(former.withdraw()).map_err(failed)
    }

    /// What is not as it should be, of what is published from here.
    fn problems(&self) -> impl Iterator<Item = String> {
        let kept = self.kept.iter().filter_map(|kept| Some((&kept.vault, kept.problem()?)));
        let kept = kept.map(|(vault, why)| format!("`{vault}` is not published as it is, for `{}`: {why}", self.name));
        kept.chain(self.former.as_ref().and_then(|former| former.problem()))
    }

    fn info(&self, saved: &[TeamSaving]) -> TeamInfo {
        let mut info = TeamInfo {
            name: self.name.clone(),
            collection: self.config.collection.clone(),
            searched: self.reader.is_some(),
            saved: saved.iter().find(|saving| saving.team == self.name).cloned(),
            ..TeamInfo::default()
        };
        match &self.collection {
            Err(why) => info.problem = Some(why.clone()),
            Ok(collection) => {
                let collection = collection.within(crate::disk_access::TEXT_WITHIN.max(self.config.timeout));
                let asked = self.background.block_on(ask(&collection, &mut info));
                match &asked {
                    Ok(states) => self.kept.iter().for_each(|kept| kept.compare(Some(states))),
                    Err(failure) if failure.kind == Kind::Missing => {
                        self.kept.iter().for_each(|kept| kept.compare(None));
                    }
                    Err(_) => {}
                }
                info.problem = asked.err().map(|failure| failure.message);
                // Of several nodes, the host is the one that answered.
                collection.host().clone_into(&mut info.host);
            }
        }
        info.problem = info.problem.or_else(|| self.former.as_ref()?.problem());
        for kept in &self.kept {
            let known = info.vaults.iter_mut().find(|vault| vault.name == kept.vault);
            if let Some(vault) = known {
                kept.tell(vault);
            } else {
                let mut vault = TeamVault { name: kept.vault.clone(), ..TeamVault::default() };
                kept.tell(&mut vault);
                info.vaults.push(vault);
            }
        }
        info
    }

    fn init(&self, bits: bool) -> Result<(), CallError> {
        let collection = self.collection.clone().map_err(CallError::Invalid)?;
        let kept = self.kept.first().ok_or_else(|| {
            let message = format!(
                "no vault here is published for `{}`; write `publish = \"{}\"` into the `[[vault]]` that is to be",
                self.name, self.name
            );
            CallError::NotConfigured(message)
        })?;
        let described = Described { bits, ..source::describe(&kept.source).map_err(CallError::Storage)? };
        let quantisation = if bits { Quantisation::Bit } else { Quantisation::Byte };
        let make = async {
            collection.version().await?;
            collection.ensure(described.dimensions, quantisation).await?;
            match collection.described().await? {
                Some(known) => known.check(Some(&described.embedder), collection.name()),
                None => collection.describe(&described).await,
            }
        };
        self.background.block_on(make).map_err(failed)
    }
}

/// Asks a collection for its state; returns that of each of its vaults.
async fn ask(collection: &Collection, info: &mut TeamInfo) -> Result<Vec<VaultState>, Failure> {
    info.server = collection.version().await?;
    let found = collection.own().await?;
    let missing = || {
        let (name, host) = (collection.name(), collection.host());
        let message = format!("there is no collection `{name}` at {host} yet; `situated team init` makes it");
        Failure::new(Kind::Missing, message)
    };
    info.points = found.ok_or_else(missing)?.points;
    let described = collection.described().await?.ok_or_else(missing)?;
    described.check(None, collection.name())?;
    info.embedder = described.embedder;
    let states = collection.vaults().await?;
    let vault = |state: &VaultState| TeamVault {
        name: state.vault.clone(),
        keeper: state.host.clone(),
        revision: state.revision,
        ..TeamVault::default()
    };
    info.vaults = states.iter().map(vault).collect();
    Ok(states)
}
