//! Plays a seed: the schedule, then a time of peace, then the checks of all invariants.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use note::VaultPath;
use vault::{Hint, RescanReason};

use super::dice::Dice;
use super::disk::{Disk, Loss};
use super::invariants::{self, Picture, Standing};
use super::model::{Call, Model, Mood};
use super::played::{Played, remove};
use super::process::{Process, Setup};
use super::schedule::{Action, Schedule, Step, Telling};
use super::vault::Vault;
use crate::indexer::Event;
use crate::indexer::rebuild::Covered;
use crate::throttle::Until;
use protocol::jobs::{JobKind, Scope};

/// How long everything may take to come to rest, once nothing happens any more.
const PEACE: Duration = Duration::from_hours(12);

/// A budget that is never used up.
const PLENTY: u64 = 1_000_000_000;

/// Everything that outlives a process.
pub(super) struct World {
    pub(super) machine: Rc<Played>,
    pub(super) model: Rc<Model>,
    pub(super) vault: Vault,
    setup: Setup,
    dice: Dice,
    pub(super) process: Option<Process>,
    /// Hints that are sent later.
    hints: Vec<(Instant, Hint)>,
    /// Calls that were under way when a process ended, and what was reserved then.
    pub(super) ends: Vec<(Vec<Call>, Standing)>,
    /// Captions that a process had received when a loss of power ended it. If it was writing one, the journal may have
    /// the text but not the note that holds it.
    pub(super) torn: HashSet<String>,
    dying: Option<Loss>,
    /// Old names of renamed notes, which other notes have now.
    replaced: Vec<VaultPath>,
    /// Those of them whose moves may be lost: with the power, and then two notes seem to be new; or by another branch.
    pub(super) lost_moves: Vec<VaultPath>,
    /// How many rebuilds were asked for.
    pub(super) rebuilds: usize,
    /// The index that was built from nothing, once one was.
    pub(super) fresh: Option<Picture>,
    /// What happened, for the report of a failure.
    pub(super) log: Vec<String>,
    dir: tempfile::TempDir,
}

/// Plays a seed; `Err` says what is not as it must be.
pub(super) fn play(seed: u64) -> Result<(), String> {
    let schedule = Schedule::of(seed);
    let mut world = World::new(seed, &schedule);
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.play(&schedule)));
    let failed = match played {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(why),
        Err(panic) => Some(format!("it panicked: {}", said(&*panic))),
    };
    let log = world.take_log();
    world.close();
    failed.map_or(Ok(()), |why| Err(format!("{why}\n{}", log.join("\n"))))
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

impl World {
    fn new(seed: u64, schedule: &Schedule) -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let key = dir.path().join("key");
        fs::write(&key, "sk-played").unwrap();
        platform::files::set_mode(&key, 0o600).unwrap();
        let mut dice = Dice::new(seed ^ 0x5eed);
        let machine = Played::new(Disk::new(dir.path()), dice.split(), schedule.wall);
        let model = Model::new(dice.split(), &dir.path().join("vault"), schedule.most);
        let vault = Vault::new(&dir.path().join("vault"), dice.split(), schedule.notes);
        machine::simulation::play(Some(machine.clone()));
        provider::simulation::play(Some(model.clone()));
        let Schedule { costs, batches, concurrency, .. } = *schedule;
        let setup = Setup { costs, concurrency, budget: PLENTY, rebuild: PLENTY, batches, remote: false };
        let (hints, ends, log) = (Vec::new(), Vec::new(), Vec::new());
        World {
            machine,
            model,
            vault,
            setup,
            dice,
            process: None,
            hints,
            ends,
            torn: HashSet::new(),
            dying: None,
            replaced: Vec::new(),
            lost_moves: Vec::new(),
            rebuilds: 0,
            fresh: None,
            log,
            dir,
        }
    }

    fn play(&mut self, schedule: &Schedule) -> Result<(), String> {
        self.start();
        for step in &schedule.steps {
            self.log.push(format!("step {step}"));
            self.wait(step.after);
            self.act(step);
        }
        self.come_to_rest(schedule.batches)?;
        invariants::check(self)?;
        // A restart must find nothing to do.
        let calls = self.model.calls().len();
        self.log.push("restart at rest".to_owned());
        self.restart();
        self.come_to_rest(schedule.batches)?;
        if self.model.calls().len() != calls {
            return Err("a restart at rest bought something".to_owned());
        }
        invariants::check(self)
    }

    pub(super) fn process(&mut self) -> &mut Process {
        self.process.as_mut().unwrap()
    }

    fn start(&mut self) {
        let data = self.machine.disk.borrow().data();
        self.process = Some(Process::start(&self.machine, self.setup, &self.vault.root, &data));
    }

    /// Another process takes the place of one that died.
    fn bury(&mut self) {
        self.log.push(format!("died by {:?}", self.dying));
        if let Some(process) = self.process.take() {
            self.log.extend(process.log.iter().map(|line| format!("    {line}")));
            process.end();
        }
        self.take_over(true);
        let damaged = self.dying == Some(Loss::Kill) && self.process().is_damaged();
        assert!(!damaged, "a process that was killed left a damaged store");
    }

    fn restart(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        self.log.extend(std::mem::take(&mut process.log).into_iter().map(|line| format!("    {line}")));
        let mut dice = self.dice.split();
        let died = process.stop(&mut dice);
        self.take_over(died);
    }

    /// Starts another process where the last one has ended. If that one died, answers that had come and are not in the
    /// journal are lost with it.
    fn take_over(&mut self, died: bool) {
        let data = self.machine.disk.borrow().data();
        let kept = invariants::journaled(&data);
        let mut calls = self.model.thaw();
        if died && self.dying == Some(Loss::Power) {
            self.lost_moves.append(&mut self.replaced);
            self.torn.extend(calls.iter().flat_map(|call| call.captions.iter().cloned()));
        }
        calls.retain(|call| !call.delivered || (died && call.captions.iter().any(|name| !kept.contains(name))));
        self.ends.push((calls, invariants::standing(&data)));
        self.hints.clear();
        self.start();
    }

    /// Lets so much time pass.
    fn wait(&mut self, time: Duration) {
        let mut left = time;
        loop {
            let began = self.machine.wall_ms();
            let until = machine::now() + left;
            let next = self.hints.iter().map(|(at, _)| *at).min().map_or(until, |at| at.min(until));
            let model = self.model.clone();
            let mut dice = self.dice.split();
            self.process().run_until(next, &mut dice, &|| model.under_way());
            let passed = self.machine.wall_ms() - began;
            left = left.saturating_sub(Duration::from_millis(passed.unsigned_abs()));
            if self.machine.corpse().is_some() {
                self.bury();
            }
            self.tell_what_is_due();
            if left.is_zero() {
                return;
            }
        }
    }

    fn tell_what_is_due(&mut self) {
        let now = machine::now();
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.hints).into_iter().partition(|(at, _)| *at <= now);
        self.hints = later;
        for (_, hint) in due {
            self.process().send(Event::Hint(hint));
        }
    }

    fn tell(&mut self, changed: Vec<VaultPath>, telling: Telling) {
        let now = machine::now();
        let mut at = |after: u64, hint: Hint| self.hints.push((now + Duration::from_millis(after), hint));
        for path in changed {
            match telling {
                Telling::AtOnce => at(0, Hint::Path(path)),
                Telling::Late(after) => at(after, Hint::Path(path)),
                Telling::Twice => {
                    at(0, Hint::Path(path.clone()));
                    at(180, Hint::Path(path));
                }
                Telling::Lost => {}
            }
        }
        if telling == Telling::Lost {
            at(4_000, Hint::Rescan(RescanReason::Overflow));
        }
        self.tell_what_is_due();
    }

    fn act(&mut self, step: &Step) {
        let changed = match step.action {
            Action::Create => self.vault.create(),
            Action::Edit => self.vault.edit(),
            Action::Rename => self.vault.rename(),
            Action::Replace => return self.replace(step.telling),
            Action::Delete => self.vault.delete(),
            Action::Switch => self.switch(),
            Action::Touch => self.vault.touch(),
            Action::ChangePrivacy => self.vault.change_privacy(),
            Action::Truncate => return self.truncate(step.telling),
            Action::Mood(mood) => return self.model.set(mood),
            Action::Budget(day) => {
                self.setup.budget = day;
                return self.reload();
            }
            Action::Die(loss, after) => return self.die(loss, after),
            Action::Restart => return self.restart(),
            Action::HandOver => return self.hand_over(),
            Action::Sync => return self.sync(),
            Action::Jump(seconds) => return self.machine.jump(seconds * 1000),
            Action::Pause => return self.pause(Some(None)),
            Action::Resume => return self.resume(),
            Action::Rebuild => return self.rebuild(false),
            Action::RebuildByBatch => return self.rebuild(true),
            Action::RebuildBudget(rebuild) => {
                self.setup.rebuild = rebuild;
                return self.reload();
            }
            Action::Cancel => return self.cancel(),
            Action::Provider => return self.change_provider(),
            Action::Refresh => return self.refresh(),
            Action::Embedder(remote) => {
                self.setup.remote = remote;
                return self.reload();
            }
        };
        self.log.push(format!("    changed {changed:?}"));
        self.tell(changed, step.telling);
    }

    /// An editor truncates a note, and writes it a moment later.
    fn truncate(&mut self, telling: Telling) {
        let Some(name) = self.vault.truncate() else { return };
        self.tell(VaultPath::parse(&name).into_iter().collect(), Telling::AtOnce);
        self.wait(Duration::from_millis(200));
        let changed = self.vault.restore(&name);
        self.tell(changed, telling);
    }

    /// A note has another name, and once that is known another note has the one that it had.
    fn replace(&mut self, telling: Telling) {
        let renamed = self.vault.rename();
        let old = renamed[0].clone();
        self.tell(renamed, Telling::AtOnce);
        self.wait(Duration::from_millis(600));
        let known = self.process().vault.snapshot();
        if known.is_some_and(|known| known.notes().all(|note| note.path != old)) {
            let changed = self.vault.create_at(&old);
            self.replaced.push(old);
            self.log.push(format!("    and {changed:?}"));
            self.tell(changed, telling);
        }
    }

    /// Another branch is checked out. Its move and the other text at the old name come in one look, as those of a copy
    /// would: the note at the old name keeps what was bought for the text that it had.
    fn switch(&mut self) -> Vec<VaultPath> {
        self.lost_moves.extend_from_slice(&self.replaced);
        self.vault.switch()
    }

    fn die(&mut self, loss: Loss, after: u32) {
        self.dying = Some(loss);
        let model = self.model.clone();
        self.machine.die_after(after, loss, Rc::new(move || model.freeze()));
        if self.machine.corpse().is_some() {
            self.bury();
        }
    }

    /// Another indexer takes the vault over.
    fn hand_over(&mut self) {
        let mut dice = self.dice.split();
        self.process().hand_over(&mut dice);
        if self.machine.corpse().is_some() {
            self.bury();
        }
    }

    /// What a batch asks the one provider for may be bought from the other one.
    fn change_provider(&mut self) {
        self.rebuilds += 1;
        // What the last writer could not keep is lost with it.
        let kept = invariants::journaled(&self.machine.disk.borrow().data());
        let is_kept = |call: &Call| call.captions.iter().all(|name| kept.contains(name));
        let lost = self.model.calls().into_iter().filter(|call| !is_kept(call));
        self.ends.push((lost.collect(), 0));
        self.setup.batches ^= true;
        let (setup, mut dice) = (self.setup, self.dice.split());
        self.process().change_provider(setup, &mut dice);
        if self.machine.corpse().is_some() {
            self.bury();
        }
    }

    fn reload(&mut self) {
        let setup = self.setup;
        self.process().reload(setup);
    }

    /// Everything is made anew: each context may be bought once more.
    fn rebuild(&mut self, batch: bool) {
        self.rebuilds += usize::from(self.setup.costs);
        let (scope, vault) = (Scope { vault: None, path: None }, self.process().vault.id);
        let job = self.process().shared.jobs.begin(JobKind::Rebuild, scope, [(vault, "v".to_owned())]);
        self.process().send(Event::Rebuild { job, covered: Covered::default(), batch, agreed: true });
    }

    /// Somebody cancels the rebuilds that go on.
    fn cancel(&mut self) {
        let jobs = &self.process().shared.jobs;
        let rebuilds = jobs.all().into_iter().filter(|job| job.kind == JobKind::Rebuild && job.is_running());
        rebuilds.for_each(|job| jobs.cancel(job.job).unwrap());
        self.process().send(Event::Wake);
    }

    /// Has contexts made anew whose text has changed.
    fn refresh(&mut self) {
        self.process().send(Event::Refresh { since: None });
    }

    fn sync(&mut self) {
        let (scope, vault) = (Scope { vault: None, path: None }, self.process().vault.id);
        let job = self.process().shared.jobs.begin(JobKind::Sync, scope, [(vault, "v".to_owned())]);
        self.process().send(Event::Sync { job, accept_deletes: false });
    }

    fn pause(&mut self, until: Option<Until>) {
        self.process().shared.throttle.pause(until);
        self.process().send(Event::Wake);
    }

    fn resume(&mut self) {
        self.pause(None);
        self.process().send(Event::Resume);
    }

    /// Nothing happens any more, and nothing stands in the way.
    fn come_to_rest(&mut self, batches: bool) -> Result<(), String> {
        self.machine.no_death();
        if self.setup.batches != batches {
            self.change_provider();
        }
        self.model.set(Mood::Well);
        (self.setup.budget, self.setup.rebuild) = (PLENTY, PLENTY);
        self.reload();
        self.resume();
        self.process().send(Event::Hint(Hint::Rescan(RescanReason::Asked)));
        let mut left = PEACE;
        while !left.is_zero() {
            // A rest that lasts for a while.
            let pause = Duration::from_secs(45);
            self.wait(pause);
            left = left.saturating_sub(pause);
            if self.process().is_at_rest() && self.model.under_way() == 0 {
                return Ok(());
            }
        }
        let left = self.process().left();
        Err(format!("it does not come to rest: {left}, {} calls", self.model.under_way()))
    }

    pub(super) fn costs(&self) -> bool {
        self.setup.costs
    }

    pub(super) fn is_remote(&self) -> bool {
        self.setup.remote
    }

    /// A folder beside the data.
    pub(super) fn beside(&self) -> std::path::PathBuf {
        self.dir.path().join("beside")
    }

    /// Captions that may be lost: they were on their way when a process ended.
    pub(super) fn lost_captions(&self) -> HashSet<String> {
        self.ends.iter().flat_map(|(calls, _)| calls).flat_map(|call| call.captions.clone()).collect()
    }

    fn take_log(&mut self) -> Vec<String> {
        let mut log = std::mem::take(&mut self.log);
        if let Some(process) = &self.process {
            log.extend(process.log.iter().map(|line| format!("    {line}")));
            log.push(process.outcomes());
        }
        log.extend(self.model.log());
        log
    }

    fn close(mut self) {
        if let Some(process) = self.process.take() {
            process.end();
        }
        machine::simulation::play(None);
        provider::simulation::play(None);
        remove(self.dir.path());
    }
}
