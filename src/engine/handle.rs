//! Cloneable access to the engine for servers and tests. Queries read the published snapshot on the caller's
//! thread; everything that changes state is an event for an indexer or the supervisor. All calls block: async callers
//! use `spawn_blocking`.

mod access;
mod ask;
mod contexts;
mod estimates;
mod generations;
mod graph;
mod grep;
mod names;
mod notes;
mod offers;
mod permission;
mod recent;
mod related;
mod resolve;
mod search;
mod status;
mod vectors;
mod work;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::broadcast;

pub use super::error::CallError;
pub use super::questions::OnText;
pub use index::Cancel;
pub(crate) use offers::Reckoned;
use protocol::ask::{AskAnswer, AskRequest};
use protocol::audience::Audience;
use protocol::contexts::{
    GenerateRequest, GeneratedContext, Offers, ReviewRequest, Reviewed, StartContextsRequest, Stats,
};
use protocol::cost::CostReport;
use protocol::daemon::{Problem, Problems, VaultInfo};
use protocol::decision::Decision;
use protocol::events::Notice;
use protocol::generations::GenerationInfo;
use protocol::graph::{GraphAnswer, GraphNote, GraphRequest, GraphTarget, Measure};
use protocol::grep::{GrepAnswer, GrepRequest};
use protocol::jobs::{Job, JobKind, RebuildRequest, Scope};
use protocol::names::{NamesAnswer, NamesRequest};
use protocol::note::{GetRequest, NoteText, RecentAnswer, RecentNote, RecentRequest};
use protocol::search::{Contextual, Expand, Group, RelatedRequest, SearchAnswer, SearchFilter, SearchRequest};
use protocol::status::Status;
use protocol::team::{
    TeamDifferences, TeamDropRequest, TeamInitRequest, TeamList, TeamPublishRequest, TeamStatusRequest,
    TeamVerifyRequest,
};

use super::indexer::Event;
use super::jobs::Ended;
use super::supervisor;
use super::throttle::now_ms;
use super::{NotTaken, Shared, VaultShared};
use access::not_found;

/// Access to a running engine.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Handle(shared)
    }

    /// The vaults that are served, the default one first.
    pub fn vaults(&self) -> Vec<VaultInfo> {
        let vaults = self.0.vaults.load();
        let info = |(i, v): (usize, &Arc<VaultShared>)| VaultInfo {
            name: v.name.clone(),
            path: v.path.clone(),
            default: i == 0,
        };
        vaults.iter().enumerate().map(info).collect()
    }

    /// Is it healthy, is it current, what is it doing.
    pub fn status(&self, vault: Option<&str>) -> Result<Status, CallError> {
        status::status(self, vault, Audience::default())
    }

    /// As [`Handle::status`]; to an assistant as if there were no private notes.
    pub fn status_for(&self, vault: Option<&str>, audience: Audience) -> Result<Status, CallError> {
        status::status(self, vault, audience)
    }

    /// The text of a note as it is on disk now.
    pub fn get(&self, request: GetRequest) -> Result<NoteText, CallError> {
        notes::get(self, request)
    }

    /// Records that the user lets a model see a vault and be paid for its contexts; returns what that takes.
    pub fn start_contexts(&self, request: &StartContextsRequest) -> Result<Offers, CallError> {
        offers::start(self, request)
    }

    /// Takes back what [`Handle::start_contexts`] records.
    pub fn stop_contexts(&self, vault: Option<&str>) -> Result<Offers, CallError> {
        offers::stop(self, vault)
    }

    /// What would be decided about a note now: as it is on disk, or as a draft reads. Changes nothing.
    pub fn plan(&self, vault: Option<&str>, path: &str, text: Option<&str>) -> Result<Decision, CallError> {
        notes::plan(self, vault, path, text)
    }

    /// The last decisions about a note, newest first.
    pub fn explain(&self, vault: Option<&str>, path: &str) -> Result<Vec<Decision>, CallError> {
        notes::explain(self, vault, path)
    }

    /// Whether a job that is begun now goes on at once.
    ///
    /// # Errors
    /// [`CallError::Paused`].
    pub fn check_pause(&self) -> Result<(), CallError> {
        self.0.throttle.paused_until().map_or(Ok(()), |until| Err(CallError::Paused(until)))
    }

    /// Begins a look at the disk; returns its job. With `accept_deletes` notes that seem to be gone count as gone. With
    /// `since`, contexts that are in use but should be better are made anew, for notes that changed in so many seconds;
    /// for all notes with 0.
    pub fn sync(&self, scope: Scope, accept_deletes: bool, since: Option<u64>) -> Result<u64, CallError> {
        work::sync(self, scope, accept_deletes, since)
    }

    /// Answers a question from the notes, with the model of `[context]`. `on_text` gets each piece of the answer that
    /// can be shown as it comes; all pieces together are the answer. Blocks for as long as the model takes.
    ///
    /// # Errors
    /// No model is configured, the budget does not allow it, the model fails before it has said anything, or `cancel`.
    pub fn ask(&self, request: AskRequest, cancel: &Cancel, on_text: OnText) -> Result<AskAnswer, CallError> {
        ask::ask(self, request, cancel, on_text)
    }

    /// Whether searches ask a model for other words unless they say otherwise.
    pub fn expands(&self) -> bool {
        let config = self.0.config.load();
        config.search.expand != Expand::Off && config.context.costs()
    }

    /// What was spent: today, this month, on what.
    ///
    /// # Errors
    /// The ledger cannot be read: sums without what it says would be too low.
    pub fn cost(&self) -> Result<CostReport, CallError> {
        let ledger = self.0.spender.ledger();
        match ledger.unread() {
            Some(why) => Err(CallError::Storage(why)),
            None => Ok(ledger.report(jiff::Zoned::now())),
        }
    }

    /// Statistics of the contexts, counted from the store: a few milliseconds per thousand notes.
    pub fn stats(&self, vault: Option<&str>, audience: Audience) -> Result<Stats, CallError> {
        contexts::stats(self, vault, audience)
    }

    /// A context for a chunk of a text that is in no vault, from the model in force and within the day's budget. Blocks
    /// until the model has answered, or `cancel` is raised: then the model's answer is paid for and dropped.
    pub fn generate_context(&self, request: GenerateRequest, cancel: &Cancel) -> Result<GeneratedContext, CallError> {
        contexts::generate_context(self, request, cancel)
    }

    /// Contexts beside their chunks, for a person to judge: an even sample of those that a model wrote.
    pub fn review(&self, request: &ReviewRequest) -> Result<Vec<Reviewed>, CallError> {
        contexts::review(self, request)
    }

    /// The generations that the configuration has, per vault, and how far they are.
    pub fn generations(&self, vault: Option<&str>) -> Result<Vec<GenerationInfo>, CallError> {
        generations::generations(self, vault)
    }

    /// Begins to build a generation beside the one that answers; with `dry_run` only says what it would take.
    pub fn build_generation(&self, vault: Option<&str>, name: &str, dry_run: bool) -> Result<Job, CallError> {
        generations::build_generation(self, vault, name, dry_run)
    }

    /// Has a generation answer from now on.
    pub fn use_generation(&self, vault: Option<&str>, name: &str) -> Result<(), CallError> {
        generations::use_generation(self, vault, name)
    }

    /// Removes a generation; contexts that were paid for stay in the archive.
    pub fn drop_generation(&self, vault: Option<&str>, name: &str) -> Result<(), CallError> {
        generations::drop_generation(self, vault, name)
    }

    /// The notes of a vault by their centrality among the links, notes without links, and links that lead nowhere.
    pub fn graph(&self, request: &GraphRequest, cancel: &Cancel) -> Result<GraphAnswer, CallError> {
        graph::graph(self, request, cancel)
    }

    /// The names of one kind that vaults have: what a query can ask for.
    ///
    /// # Errors
    /// There is no such vault, or `cancel` is raised.
    pub fn names(&self, request: &NamesRequest, cancel: &Cancel) -> Result<NamesAnswer, CallError> {
        names::names(self, request, cancel)
    }

    /// The notes that were changed last, a page of them.
    pub fn recent(&self, request: &RecentRequest) -> Result<RecentAnswer, CallError> {
        recent::recent(self, request)
    }

    /// Whether assistants may use a model that costs money.
    pub fn assistants_may_spend(&self) -> bool {
        self.0.config.load().assistants_may_spend
    }

    /// The chunks near a note, near lines of a note, near a chunk or near a text.
    pub fn related(&self, request: RelatedRequest, cancel: &Cancel) -> Result<SearchAnswer, CallError> {
        related::related(self, request, cancel)
    }

    /// Answers a query from the published snapshots.
    pub fn search(&self, request: SearchRequest, cancel: &Cancel) -> Result<SearchAnswer, CallError> {
        search::search(self, request, cancel)
    }

    /// The lines of notes that match a regular expression, as the notes are on disk now.
    ///
    /// # Errors
    /// The pattern or a condition is wrong, a vault's file system hangs, or `cancel` is raised.
    pub fn grep(&self, request: &GrepRequest, cancel: &Cancel) -> Result<GrepAnswer, CallError> {
        grep::grep(self, request, cancel)
    }

    /// Whether searches are reranked unless they say otherwise.
    pub fn reranks(&self) -> bool {
        self.0.reranker.load().as_ref().is_some_and(|reranker| reranker.is_always_asked())
    }

    /// Begins to rebuild what is asked for; with `dry_run` only says how much that is.
    pub fn rebuild(&self, asked: RebuildRequest) -> Result<Job, CallError> {
        work::rebuild(self, asked)
    }

    /// The state of teams' collections.
    ///
    /// # Errors
    /// There is no such team.
    pub fn team_status(&self, request: &TeamStatusRequest) -> Result<TeamList, CallError> {
        self.0.teams.status(request.team.as_deref())
    }

    /// Makes a team's collection.
    ///
    /// # Errors
    /// There is no such team, or its server refuses or is down.
    pub fn team_init(&self, request: &TeamInitRequest) -> Result<TeamList, CallError> {
        self.0.teams.init(&request.team, request.bits)
    }

    /// Publishes what differs; blocks until all is there.
    ///
    /// # Errors
    /// As [`Handle::team_init`].
    pub fn team_publish(&self, request: &TeamPublishRequest) -> Result<TeamList, CallError> {
        self.0.teams.publish(request.team.as_deref(), request.take_over)
    }

    /// Compares all that is published with the vaults, and mends what differs.
    ///
    /// # Errors
    /// As [`Handle::team_init`].
    pub fn team_verify(&self, request: &TeamVerifyRequest) -> Result<TeamDifferences, CallError> {
        self.0.teams.verify(request.team.as_deref())
    }

    /// Deletes a team's collection.
    ///
    /// # Errors
    /// As [`Handle::team_init`].
    pub fn team_drop(&self, request: &TeamDropRequest) -> Result<(), CallError> {
        self.0.teams.take_away(&request.team)
    }

    /// Whether searches ask a team's collection.
    pub fn asks_teams(&self) -> bool {
        !self.0.teams.names().is_empty()
    }

    /// All jobs, newest first; an assistant's name no note that is hidden from it.
    pub fn jobs(&self, audience: Audience) -> Vec<Job> {
        work::jobs(self, audience)
    }

    /// One job.
    pub fn job(&self, id: u64) -> Result<Job, CallError> {
        self.0.jobs.get(id)
    }

    /// Waits until a job has made progress or ended, at most for `timeout`; returns the job.
    pub fn wait_job(&self, id: u64, timeout: Duration) -> Result<Job, CallError> {
        self.0.jobs.wait(id, timeout)
    }

    /// Cancels a job: what it has done stays, the rest is left as it was.
    pub fn cancel(&self, job: u64) -> Result<(), CallError> {
        self.0.jobs.cancel(job)?;
        self.0.indexers.send_all(|| Event::Wake);
        Ok(())
    }

    /// Stops working, for a time or until [`Handle::resume`]; queries are still answered.
    pub fn pause(&self, seconds: Option<u64>) -> Result<(), CallError> {
        let until = |seconds: u64| now_ms().saturating_add(seconds.min(1 << 30) as i64 * 1000);
        self.send(supervisor::Event::Pause(seconds.map(until)))
    }

    /// Works again.
    pub fn resume(&self) -> Result<(), CallError> {
        self.0.questions.resume();
        self.send(supervisor::Event::Resume)
    }

    /// What is wrong with the configuration as it is on disk now; empty if nothing is.
    pub fn check_config(&self) -> Result<Vec<Problem>, CallError> {
        Ok(match (self.0.control.reload)() {
            Err(NotTaken::Wrong(problems)) => problems,
            Ok(_) | Err(NotTaken::NeedsRestart) => Vec::new(),
        })
    }

    /// Puts the configuration on disk in force, or says what is wrong with it and keeps the old one. If it needs rights
    /// that this process lacks, the process stops, to be started anew.
    pub fn reload(&self) -> Result<Problems, CallError> {
        match (self.0.control.reload)() {
            Ok(config) => work::put_in_force(self, config).map(|()| Problems::default()),
            Err(NotTaken::Wrong(problems)) => Ok(Problems { problems, restarts: false }),
            Err(NotTaken::NeedsRestart) => Ok(match self.start_anew() {
                Ok(()) => Problems { problems: Vec::new(), restarts: true },
                Err(error) => {
                    let message = format!("the daemon has to start itself anew for it, and cannot now: {error}");
                    let problem = Problem { file: None, line: None, column: None, key: None, message };
                    Problems { problems: vec![problem], restarts: false }
                }
            }),
        }
    }

    /// What happens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.0.feed.subscribe()
    }

    /// Resolves when [`Handle::shutdown`] was called.
    pub async fn stopping(&self) {
        let mut stopping = self.0.control.stopping.subscribe();
        // The sender lives as long as this handle.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    }

    /// Stops the process, to be started anew: it lacks rights that a new one has.
    ///
    /// # Errors
    /// There is no room on the disk for a start.
    pub fn start_anew(&self) -> std::io::Result<()> {
        self.0.control.ask_for_restart(&self.0.config.load().data_dir)
    }

    /// Whether the process stops in order to be started again, by itself or by its service manager: only a new process
    /// can have the rights that it needs.
    pub fn wants_restart(&self) -> bool {
        self.0.control.wants_restart.load(Ordering::Relaxed)
    }

    /// Makes the engine put everything on the disk and end.
    pub fn shutdown(&self) {
        self.0.control.stopping.send_replace(true);
        // The supervisor may have ended already.
        self.0.control.send(supervisor::Event::Stop);
    }

    /// Whether the supervisor died: the process must then end with a failure.
    pub fn has_failed(&self) -> bool {
        self.0.control.failed.load(Ordering::Relaxed)
    }

    /// A counter for watchdogs: it grows while the supervisor's loop turns.
    pub fn beat(&self) -> u64 {
        self.0.control.send(supervisor::Event::Beat);
        self.0.control.beat.load(Ordering::Relaxed)
    }

    /// Makes the supervisor panic.
    #[cfg(test)]
    pub(super) fn supervisor_panics(&self) {
        self.0.control.send(supervisor::Event::Panic);
    }

    /// The configuration in force.
    #[cfg(test)]
    pub(super) fn config(&self) -> Arc<crate::settings::Settings> {
        self.0.config.load_full()
    }

    /// Puts a configuration in force that is not on disk.
    #[cfg(test)]
    pub(super) fn reload_to(&self, config: crate::settings::Settings) {
        work::put_in_force(self, config).unwrap();
    }

    fn send(&self, event: supervisor::Event) -> Result<(), CallError> {
        if self.0.control.send(event) { Ok(()) } else { Err(CallError::Stopping) }
    }

    /// Begins a job with a part for each of these vaults.
    fn begin(&self, kind: JobKind, scope: Scope, vaults: &[Arc<VaultShared>]) -> u64 {
        self.0.jobs.begin(kind, scope, vaults.iter().map(|vault| (vault.id, vault.name.clone())))
    }

    /// Has a vault begin its part of a job; the part fails at once if the vault has no indexer.
    fn send_part(&self, vault: &VaultShared, job: u64, event: Event) {
        if !self.0.indexers.send(vault.id, event) {
            let why = format!("vault `{}` is not served at present; see `situated status`", vault.name);
            self.0.tell_job(self.0.jobs.end_part(job, vault.id, Ended::Failed, Some(why)));
        }
    }

    /// As [`Handle::choose`], for reading, once the vaults have been opened. If no vault is named, those that cannot be
    /// opened are left out as long as there are others; the second list says why.
    fn served(&self, name: Option<&str>) -> Result<(Vec<Arc<VaultShared>>, Vec<String>), CallError> {
        let vaults = self.choose(name)?;
        let (mut served, mut left_out) = (Vec::new(), Vec::new());
        for vault in &vaults {
            match vault.wait_opened() {
                None => served.push(vault.clone()),
                Some(why) => left_out.push(why),
            }
        }
        let asked_for = name.is_some() || served.is_empty();
        Ok(if asked_for { (vaults, Vec::new()) } else { (served, left_out) })
    }

    /// Whether this is the name of a team, or of a team's vault, and not of a vault here.
    fn names_team(&self, name: &str) -> bool {
        let vaults = self.0.vaults.load();
        let is_here = |vault: &Arc<VaultShared>| index::search::filter::is_vault(name, &vault.name);
        self.0.teams.has_vault(name) && !vaults.iter().any(is_here)
    }

    /// The error for what needs the notes themselves, if `typed` names a team's note as hits are shown.
    fn refuse_team(&self, typed: &str) -> Result<(), CallError> {
        self.0.teams.note_named(typed).map_or(Ok(()), |_| {
            let hint = "it is a team's and not on this machine: `search` finds it and `get` shows it";
            Err(not_found("note", typed, hint))
        })
    }

    fn choose(&self, name: Option<&str>) -> Result<Vec<Arc<VaultShared>>, CallError> {
        let vaults = self.0.vaults.load();
        let Some(name) = name else {
            if vaults.is_empty() {
                return Err(CallError::NotReady);
            }
            return Ok(vaults.to_vec());
        };
        let called = |is_it: &dyn Fn(&str) -> bool| vaults.iter().find(|vault| is_it(&vault.name)).cloned();
        let by_folder = || vaults.iter().find(|vault| vault.path == Path::new(name)).cloned();
        let found = called(&|vault| vault == name)
            .or_else(|| called(&|vault| index::search::filter::is_vault(name, vault)))
            .or_else(by_folder);
        found.map(|v| vec![v]).ok_or_else(|| {
            if self.0.teams.has_vault(name) {
                let hint = "its notes are a team's and not on this machine: `search` finds them and `get` shows them";
                return not_found("vault", name, hint);
            }
            let names: Vec<&str> = vaults.iter().map(|v| v.name.as_str()).collect();
            not_found("vault", name, &format!("there are: {}", names.join(", ")))
        })
    }
}
