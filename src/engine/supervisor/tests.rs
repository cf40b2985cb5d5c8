//! The engine with real vaults on a file system that hangs, fails or makes an indexer panic when a test says so.

use parking_lot::{Condvar, Mutex};
use std::path::{Path, PathBuf};

use super::*;
use crate::Engine;
use crate::handle::{Cancel, Handle};
use crate::indexer::scan::{Findings, Look};
use crate::testing::file_system;
use note::{FileStat, VaultPath};
use protocol::audience::Audience;
use protocol::grep::GrepRequest;
use protocol::jobs::{Job, JobState, Scope};
use protocol::note::GetRequest;
use protocol::search::{SearchAnswer, SearchRequest};
use vault::documents::FileText;
use vault::policy::Policy;
use vault::read::ReadError;
use vault::root::{RootId, VaultError};
use vault::settings::VaultConfig;

/// How long anything may take before a test gives up: long, for the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// What happens to whoever asks for something below a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It waits until the fault is lifted.
    Hangs,
    /// The same, of who reads a note.
    ReadsHang,
    /// Its thread panics, once.
    Panics,
    /// What is read gives an error of the system, once.
    ReadFails,
}

/// A file system with faults.
struct Faulty {
    real: Arc<dyn Disk>,
    fault: Mutex<Option<(PathBuf, Fault)>>,
    changed: Condvar,
    /// How many wait.
    hanging: Mutex<usize>,
}

impl Faulty {
    fn new() -> Arc<Self> {
        let hanging = Mutex::new(0);
        Arc::new(Faulty { real: file_system(), fault: Mutex::new(None), changed: Condvar::new(), hanging })
    }

    fn set(&self, fault: Option<(&Path, Fault)>) {
        let fault = fault.map(|(root, fault)| (root.to_owned(), fault));
        *self.fault.lock() = fault;
        self.changed.notify_all();
    }

    fn hangs(&self) -> bool {
        *self.hanging.lock() > 0
    }

    /// Waits for as long as this fault stands.
    fn wait(&self, root: &Path, hangs: Fault) {
        let mut fault = self.fault.lock();
        while *fault == Some((root.to_owned(), hangs)) {
            *self.hanging.lock() += 1;
            self.changed.wait(&mut fault);
            *self.hanging.lock() -= 1;
        }
    }

    fn pass(&self, root: &Path) {
        self.wait(root, Fault::Hangs);
        let mut fault = self.fault.lock();
        if *fault == Some((root.to_owned(), Fault::Panics)) {
            *fault = None;
            drop(fault);
            panic!("the test's file system makes this thread panic");
        }
    }
}

impl Disk for Faulty {
    fn policy(&self, vault: &VaultConfig) -> Result<Policy, VaultError> {
        self.pass(&vault.path);
        self.real.policy(vault)
    }

    fn root_id(&self, root: &Path) -> Result<RootId, VaultError> {
        self.pass(root);
        self.real.root_id(root)
    }

    fn git_locked(&self, root: &Path) -> bool {
        self.pass(root);
        self.real.git_locked(root)
    }

    fn needs_polling(&self, root: &Path) -> Option<&'static str> {
        self.pass(root);
        self.real.needs_polling(root)
    }

    fn scan(&self, look: &Look<'_>) -> Result<Findings, VaultError> {
        self.pass(look.root);
        self.real.scan(look)
    }

    fn read(&self, root: &Path, path: &VaultPath, max_bytes: u64) -> Result<FileText, ReadError> {
        self.pass(root);
        self.wait(root, Fault::ReadsHang);
        let mut fault = self.fault.lock();
        if *fault == Some((root.to_owned(), Fault::ReadFails)) {
            *fault = None;
            return Err(ReadError::Io("no descriptor is left".to_owned()));
        }
        drop(fault);
        self.real.read(root, path, max_bytes)
    }

    fn stat(&self, root: &Path, path: &VaultPath) -> Result<FileStat, ReadError> {
        self.pass(root);
        self.real.stat(root, path)
    }
}

/// An engine over vaults `a` and `b`.
struct World {
    dir: tempfile::TempDir,
    disk: Arc<Faulty>,
    engine: Option<Engine>,
}

impl World {
    /// With so many notes in each vault, and faults from the start.
    fn new(notes: usize, fault: Option<(&str, Fault)>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut world = World { dir, disk: Faulty::new(), engine: None };
        for vault in ["a", "b"] {
            std::fs::create_dir(world.root(vault)).unwrap();
            for n in 0..notes {
                world.write(vault, &format!("n{n}.md"), &format!("# Note {n}\n\nabout{vault}{n} and more words\n"));
            }
        }
        if let Some((vault, fault)) = fault {
            world.disk.set(Some((&world.root(vault), fault)));
        }
        world.start();
        world
    }

    fn start(&mut self) {
        let vaults = ["a", "b"].map(|name| VaultConfig::new(name, self.root(name)));
        let config = Settings::new(self.dir.path().join("data"), vaults.into());
        let again = config.clone();
        let socket = self.dir.path().join("s");
        self.engine =
            Some(Engine::start_on(config, socket, Box::new(move || Ok(again.clone())), self.disk.clone()).unwrap());
    }

    fn stop(&mut self) {
        let engine = self.engine.take().unwrap();
        engine.handle.shutdown();
        engine.join();
    }

    fn root(&self, vault: &str) -> PathBuf {
        self.dir.path().join(vault)
    }

    fn write(&self, vault: &str, note: &str, text: &str) {
        std::fs::write(self.root(vault).join(note), text).unwrap();
    }

    fn handle(&self) -> &Handle {
        &self.engine.as_ref().unwrap().handle
    }

    fn search(&self, vault: &str, word: &str) -> Result<SearchAnswer, CallError> {
        let request =
            SearchRequest { query: format!("\"{word}\""), vault: Some(vault.into()), ..SearchRequest::default() };
        self.handle().search(request, &Cancel::new())
    }

    fn finds(&self, vault: &str, word: &str) -> bool {
        self.search(vault, word).is_ok_and(|answer| !answer.hits.is_empty())
    }

    fn is_idle(&self) -> bool {
        self.handle().status(None).is_ok_and(|status| status.state == protocol::status::RunState::Idle)
    }

    fn sync(&self, vault: Option<&str>) -> u64 {
        self.handle().sync(Scope { vault: vault.map(str::to_owned), path: None }, false, None).unwrap()
    }

    fn ended(&self, job: u64) -> Job {
        eventually("the job ends", || self.handle().job(job).unwrap().state != JobState::Running);
        self.handle().job(job).unwrap()
    }

    fn problems(&self) -> Vec<String> {
        self.handle().status(None).map(|status| status.problems).unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.disk.set(None);
        if self.engine.is_some() {
            self.stop();
        }
    }
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_file_system_that_hangs_keeps_its_own_vault_alone() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    world.disk.set(Some((&world.root("a"), Fault::Hangs)));
    world.write("a", "n0.md", "# Saved\n\nwhile it hangs: zebra\n");
    eventually("the indexer of `a` hangs", || world.disk.hangs());

    world.write("b", "n0.md", "# Saved\n\nmeanwhile: quagga\n");
    eventually("the save in `b` is found", || world.finds("b", "quagga"));
    let answer = world.search("a", "abouta1").unwrap();
    assert!(!answer.hits.is_empty(), "what was indexed of `a` answers");
    assert!(answer.warnings.iter().any(|why| why.contains("vault `a` does not answer")), "{:?}", answer.warnings);
    let for_assistant =
        SearchRequest { query: "abouta1".into(), audience: Audience::Assistant, ..SearchRequest::default() };
    let shown = world.handle().search(for_assistant, &Cancel::new()).unwrap();
    assert!(
        shown.hits.iter().all(|hit| hit.vault == "b"),
        "what may have become private is not shown: {:?}",
        shown.hits
    );
    assert!(world.search("b", "quagga").unwrap().warnings.is_empty());
    let note = |vault: &str| {
        let request = GetRequest { path: "n1.md".to_owned(), vault: Some(vault.to_owned()), ..GetRequest::default() };
        world.handle().get(request)
    };
    let why = note("a").unwrap_err();
    assert!(matches!(&why, CallError::Storage(why) if why.contains("file system hangs")), "{why:?}");
    assert!(note("b").is_ok());
    let grep = |vault: Option<&str>| {
        let vault = vault.map(str::to_owned);
        let request = GrepRequest { pattern: "and more".to_owned(), vault, ..GrepRequest::default() };
        world.handle().grep(&request, &Cancel::new())
    };
    assert!(matches!(grep(Some("a")), Err(CallError::Storage(why)) if why.contains("file system hangs")));
    let of_both = grep(None).unwrap();
    assert_eq!(of_both.notes.iter().map(|note| &*note.vault).collect::<Vec<_>>(), ["b"]);
    assert!(of_both.warnings.concat().contains("vault `a` does not answer"), "{:?}", of_both.warnings);
    eventually("status says so", || world.problems().concat().contains("does its file system answer?"));
    let (stuck, free) = (world.sync(Some("a")), world.sync(Some("b")));
    assert_eq!(world.ended(free).state, JobState::Done);
    assert_eq!(world.handle().job(stuck).unwrap().state, JobState::Running);

    world.disk.set(None);
    eventually("the save in `a` is found, too", || world.finds("a", "zebra"));
    assert_eq!(world.ended(stuck).state, JobState::Done);
}

#[test]
fn notes_that_cannot_be_read_take_no_worker_from_another_vault() {
    let world = World::new(40, Some(("a", Fault::ReadsHang)));
    eventually("who reads `a` hangs", || world.disk.hangs());
    eventually("all of `b` is indexed", || world.finds("b", "aboutb39"));
    assert!(!world.finds("a", "abouta0"));
    world.disk.set(None);
    eventually("`a` follows", || world.finds("a", "abouta39"));
}

#[test]
fn an_answer_says_that_notes_may_be_missing_while_they_are_indexed_and_in_a_pause() {
    let world = World::new(2, None);
    let first = |word: &str| world.search("a", word).unwrap().warnings.first().cloned().unwrap_or_default();
    eventually("both are indexed", || world.is_idle());
    world.disk.set(Some((&world.root("a"), Fault::ReadsHang)));
    for n in 0..40 {
        world.write("a", &format!("new{n}.md"), &format!("# New {n}\n\nfreshly{n} written\n"));
    }
    eventually("who reads `a` hangs", || world.disk.hangs());
    eventually("it is said", || first("freshly1").starts_with("vault `a` is being indexed, "));
    let asked = SearchRequest { query: "freshly1".into(), audience: Audience::Assistant, ..SearchRequest::default() };
    let told = world.handle().search(asked, &Cancel::new()).unwrap().warnings.remove(0);
    assert_eq!(told, "the index of vault `a` is not complete at present: notes may be missing here");
    assert!(!world.search("b", "freshly1").unwrap().warnings.concat().contains("being indexed"));
    world.disk.set(None);
    eventually("they are indexed", || world.finds("a", "freshly39") && world.is_idle());
    assert_eq!(first("freshly1"), "");

    world.handle().pause(None).unwrap();
    eventually("it is paused", || world.handle().check_pause().is_err());
    assert_eq!(first("freshly1"), "", "nothing has changed since");
    world.write("a", "n1.md", "# Saved\n\nin the pause: zebra\n");
    eventually("it is said", || first("zebra").starts_with("vault `a` has changed, and the answer may be older"));
    world.handle().resume().unwrap();
    eventually("it is found", || world.finds("a", "zebra"));
}

#[test]
fn an_indexer_that_dies_is_opened_again_and_its_jobs_fail() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    world.disk.set(Some((&world.root("a"), Fault::Panics)));
    world.write("a", "n0.md", "# Saved\n\nas it dies: zebra\n");
    eventually("it is said", || world.problems().iter().any(|why| why.contains("failed inside the program")));
    assert!(world.finds("b", "aboutb0"), "the other vault answers");
    let job = world.ended(world.sync(None));
    let states: Vec<JobState> = job.parts.iter().map(|part| part.state).collect();
    assert_eq!((job.state, states), (JobState::Failed, vec![JobState::Failed, JobState::Done]), "{job:?}");
    eventually("what was saved is found", || world.finds("a", "zebra"));
    eventually("nothing is wrong any more", || world.problems().is_empty() && world.is_idle());
}

#[test]
fn when_the_supervisor_dies_the_engine_ends_and_says_so() {
    let mut world = World::new(1, None);
    eventually("both are indexed", || world.is_idle());
    let engine = world.engine.take().unwrap();
    assert!(!engine.handle.has_failed());
    engine.handle.supervisor_panics();
    let handle = engine.handle.clone();
    engine.join();
    assert!(handle.has_failed());
    assert!(handle.pause(None).is_err(), "nobody is there to be told");
}

#[test]
fn a_reload_is_told_though_the_state_is_the_same() {
    let world = World::new(1, None);
    eventually("both are indexed", || world.is_idle());
    let mut notices = world.handle().subscribe();
    world.handle().reload_to((*world.handle().config()).clone());
    let is_state = |notice: &Notice| matches!(notice, Notice::State { state: RunState::Idle });
    eventually("it is told", || notices.try_recv().is_ok_and(|notice| is_state(&notice)));
}

#[test]
fn an_answer_says_that_there_is_no_note_to_be_found() {
    let world = World::new(0, None);
    world.write("b", "n.md", "# Note\n");
    eventually("both are looked at", || world.is_idle() && world.finds("b", "note"));
    let says = |vault: &str| world.search(vault, "zebra").unwrap().warnings.iter().any(|w| w.contains("no note in it"));
    assert!(says("a") && !says("b"));
}

#[test]
fn a_note_that_is_left_out_is_not_taken_for_a_wrong_name() {
    let world = World::new(2, None);
    world.write("a", ".gitignore", "draft*\n");
    world.write("a", "draft.md", "# Draft\n");
    eventually("both are indexed", || world.is_idle());
    let said = |typed: &str, audience: Audience| {
        let request = GetRequest { path: typed.to_owned(), audience, ..GetRequest::default() };
        world.handle().get(request).unwrap_err().to_string()
    };
    let absolute = world.root("a").join("draft.md").display().to_string();
    for typed in ["draft.md", absolute.as_str()] {
        assert!(said(typed, Audience::Owner).contains("left out: a .gitignore"), "{}", said(typed, Audience::Owner));
        let explained = world.handle().explain(None, typed).unwrap_err().to_string();
        assert!(explained.contains("left out: a .gitignore"), "{explained}");
    }
    let plain = said("drafts.md", Audience::Owner);
    assert!(!plain.contains("left out"), "{plain}");
    let hidden = said("draft.md", Audience::Assistant);
    assert!(!hidden.contains("left out"), "{hidden}");
}

#[test]
fn a_job_over_a_vault_that_is_gone_fails_and_says_which() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    std::fs::rename(world.root("a"), world.dir.path().join("elsewhere")).unwrap();
    let job = world.ended(world.sync(None));
    assert_eq!(job.state, JobState::Failed);
    assert!(job.problem.as_ref().is_some_and(|why| why.contains("vault `a` cannot be read")), "{job:?}");
    assert_eq!((job.parts[1].state, job.parts[1].done, job.parts[1].total), (JobState::Done, 2, Some(2)));
    assert!(world.finds("a", "abouta0"), "its index is kept");
    std::fs::rename(world.dir.path().join("elsewhere"), world.root("a")).unwrap();
    eventually("it is back", || world.problems().is_empty());
    assert_eq!(world.ended(world.sync(None)).state, JobState::Done);
}

#[test]
fn an_answer_that_should_be_fresh_says_where_nobody_could_look() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    let fresh = |vault: Option<&str>| {
        let vault = vault.map(str::to_owned);
        let request = SearchRequest { query: "abouta0".to_owned(), vault, fresh: true, ..SearchRequest::default() };
        world.handle().search(request, &Cancel::new()).unwrap()
    };
    assert_eq!(fresh(None).warnings, Vec::<String>::new());
    std::fs::rename(world.root("a"), world.dir.path().join("elsewhere")).unwrap();
    let stale = |answer: &SearchAnswer| answer.warnings.iter().any(|why| why.contains("vault `a` cannot be read"));
    assert!(stale(&fresh(None)) && stale(&fresh(Some("a"))), "{:?}", fresh(None).warnings);
    assert!(!stale(&fresh(Some("b"))), "{:?}", fresh(Some("b")).warnings);
    // Whoever does not ask for it must know, too.
    assert!(stale(&world.search("a", "abouta0").unwrap()));
}

#[test]
fn a_note_that_could_not_be_read_for_a_moment_is_read_again() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    world.disk.set(Some((&world.root("a"), Fault::ReadFails)));
    world.write("a", "n0.md", "# Saved\n\nwithout a descriptor: zebra\n");
    eventually("it is found without another save", || world.finds("a", "zebra"));
    assert!(world.finds("a", "abouta1"), "and nothing was dropped");
}

#[test]
fn a_restart_is_no_change() {
    let mut world = World::new(1, None);
    eventually("both are indexed", || world.is_idle());
    let changed = |world: &World| world.handle().status(Some("a")).unwrap().vaults[0].last_change;
    let before = changed(&world);
    assert!(before.is_some());
    world.stop();
    eventually("the clock moves on", || Some(crate::now_s()) > before);
    world.start();
    eventually("both are open", || world.is_idle());
    assert_eq!(changed(&world), before);
}

#[test]
fn a_reload_that_moves_a_vault_waits_for_the_store_and_loses_nothing() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    let mut config = (*world.handle().config()).clone();
    config.vaults[0].max_note_bytes += 1;
    world.handle().reload_to(config);
    world.write("a", "n0.md", "# Saved\n\nafter the reload: zebra\n");
    eventually("what was saved is found", || world.finds("a", "zebra"));
    eventually("nothing is wrong", || world.is_idle());
}

#[test]
fn a_vault_answers_while_its_indexer_is_replaced_unless_other_notes_are_private_now() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    world.disk.set(Some((&world.root("a"), Fault::Hangs)));
    world.write("a", "n0.md", "# Saved\n\nwhile it hangs: zebra\n");
    eventually("the indexer of `a` hangs", || world.disk.hangs());
    let mut config = (*world.handle().config()).clone();
    config.vaults[0].max_note_bytes += 1;
    world.handle().reload_to(config.clone());
    assert!(world.finds("a", "abouta1"), "the next indexer waits for the one that hangs");
    config.vaults[0].private.push("n0.md".to_owned());
    world.handle().reload_to(config);
    assert!(matches!(world.search("a", "abouta1"), Err(CallError::NotReady)));
    world.disk.set(None);
    eventually("it goes on", || world.finds("a", "zebra") && world.is_idle());
}

/// Windows takes no folder away that is watched.
#[cfg(unix)]
#[test]
fn a_rebuild_drops_no_note_while_the_vault_is_in_doubt() {
    let world = World::new(20, None);
    eventually("both are indexed", || world.is_idle());
    let rebuild = |path: Option<&str>| {
        let (vault, path) = (Some("a".to_owned()), path.map(str::to_owned));
        let asked = protocol::jobs::RebuildRequest { vault, path, ..Default::default() };
        world.ended(world.handle().rebuild(asked).unwrap().job)
    };
    let away = world.dir.path().join("elsewhere");
    std::fs::rename(world.root("a"), &away).unwrap();
    for (path, in_its_place, why) in
        [(None, false, "cannot be read"), (Some("n3.md"), false, "cannot be read"), (None, true, "seem gone")]
    {
        if in_its_place {
            std::fs::create_dir(world.root("a")).unwrap();
        }
        let job = rebuild(path);
        assert_eq!(job.state, JobState::Failed, "{path:?} {job:?}");
        assert!(job.problem.as_ref().is_some_and(|problem| problem.contains(why)), "{path:?} {job:?}");
        assert!(world.finds("a", "abouta0") && world.finds("a", "abouta3"), "its index is kept");
    }
    std::fs::remove_dir(world.root("a")).unwrap();
    std::fs::rename(&away, world.root("a")).unwrap();
    let job = rebuild(None);
    assert_eq!((job.state, job.changed), (JobState::Done, 20), "{job:?}");
    std::fs::remove_file(world.root("a").join("n3.md")).unwrap();
    let job = rebuild(None);
    assert_eq!(job.state, JobState::Done, "{job:?}");
    assert!(!world.finds("a", "abouta3") && world.finds("a", "abouta4"), "one note that is gone is believed");
}

#[test]
fn a_vault_that_is_removed_while_it_opens_leaves_no_job_running() {
    let world = World::new(1, Some(("a", Fault::Hangs)));
    eventually("`a` is being opened", || world.disk.hangs());
    let mut config = (*world.handle().config()).clone();
    config.vaults.remove(0);
    world.handle().reload_to(config);
    world.disk.set(None);
    let of_a = |world: &World| {
        world.handle().jobs(Audience::Owner).into_iter().find(|job| job.scope.vault.as_deref() == Some("a"))
    };
    eventually("it has begun its job", || of_a(&world).is_some());
    eventually("and ended it", || of_a(&world).is_some_and(|job| job.state == JobState::Cancelled));
}

/// Windows removes no folder whose files are open.
#[cfg(unix)]
#[test]
fn a_data_folder_that_is_gone_is_told_of_once_and_waited_for() {
    let world = World::new(2, None);
    eventually("both are indexed", || world.is_idle());
    std::fs::remove_dir_all(world.dir.path().join("data")).unwrap();
    world.write("a", "n0.md", "# Saved\n\nwithout a data folder: zebra\n");
    let told = || world.problems().into_iter().find(|why| why.contains("cannot be written"));
    eventually("it is told of", || told().is_some());
    let why = told().unwrap();
    assert_eq!(world.search("a", "zebra").unwrap().warnings.first(), Some(&why), "an answer that lacks it says why");
    assert!(world.search("b", "zebra").unwrap().warnings.iter().all(|warning| *warning != why));
    assert!(why.contains("start the daemon again") && !why.contains("full?"), "{why}");
    let job = world.ended(world.sync(Some("a")));
    assert_eq!((job.state, job.problem), (JobState::Failed, Some(why)), "what was saved cannot be found");
    // Nobody is busy with trying it again and again.
    let state = || world.handle().status(None).unwrap().state;
    eventually("it rests", || state() == protocol::status::RunState::Degraded);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(state(), protocol::status::RunState::Degraded);
    assert!(world.finds("a", "abouta1"), "and answers");
}
