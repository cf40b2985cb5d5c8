//! Real folders and the system's real watcher; conditions are polled for, with a deadline.

// Much is left out on Windows; what that alone uses would be warned of.
#![cfg_attr(windows, allow(dead_code))]

#[cfg(unix)]
use std::ffi::OsStr;
use std::fs;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;
use crate::RescanReason;
use crate::settings::VaultConfig;
#[cfg(unix)]
use crate::walk::walk;

struct Fixture {
    // Dropped first: Windows keeps a folder that is watched.
    watcher: Watcher,
    dir: tempfile::TempDir,
    root: PathBuf,
    hints: Arc<Mutex<Vec<Hint>>>,
}

impl Fixture {
    /// A watched vault with these notes; paths are relative to the vault, and `../` is beside it.
    fn new(notes: &[&str]) -> Self {
        Self::within(LIMITS, notes)
    }

    fn within(limits: Limits, notes: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("vault");
        fs::create_dir(&root).unwrap();
        for note in notes {
            write(&root.join(note), "text");
        }
        let hints: Arc<Mutex<Vec<Hint>>> = Arc::default();
        let sink = Arc::clone(&hints);
        let sink = Box::new(move |hint| sink.lock().push(hint));
        let watcher = Watcher::start_within(limits, &root, policy(&root), Some(false), sink).unwrap();
        Fixture { watcher, dir, root, hints }
    }

    /// What was hinted at; whether a file was complete then is another question.
    fn seen(&self) -> Vec<Hint> {
        let plain = |hint: &Hint| match hint {
            Hint::Saved(path) => Hint::Path(path.clone()),
            hint => hint.clone(),
        };
        self.hints.lock().iter().map(plain).collect()
    }

    fn clear(&self) {
        self.hints.lock().clear();
    }

    fn wait(&self, what: &str, condition: impl Fn(&[Hint]) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !condition(&self.seen()) {
            assert!(Instant::now() < deadline, "waiting for {what}; seen: {:?}", self.seen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn wait_covered(&self, name: &str) {
        self.wait(name, |hints| covered(hints, &path(name)));
    }

    /// Changes a file and waits for its hint, so that all earlier events have been dealt with.
    fn fence(&self, name: &str) -> Vec<Hint> {
        write(&self.root.join(name), "fence");
        self.wait(name, |hints| hints.contains(&Hint::Path(path(name))));
        self.seen()
    }
}

fn policy(root: &Path) -> Arc<Policy> {
    Arc::new(Policy::new(root, &VaultConfig::new("test", root)).unwrap())
}

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Whether the path will be looked at.
fn covered(hints: &[Hint], path: &VaultPath) -> bool {
    hints.iter().any(|hint| match hint {
        Hint::Path(hinted) | Hint::Saved(hinted) => hinted == path,
        Hint::Folder(folder) => path.is_under(folder),
        Hint::Rescan(_) => true,
    })
}

fn has_rescan(hints: &[Hint], reason: RescanReason) -> bool {
    hints.contains(&Hint::Rescan(reason))
}

#[cfg(unix)]
fn shell(folder: &Path, command: &str) {
    let status = Command::new("sh").args(["-ec", command]).current_dir(folder).status().unwrap();
    assert!(status.success(), "{command}");
}

#[cfg(unix)]
#[test]
fn every_way_to_save_a_file_is_one_hint_for_its_path() {
    // As editors and tools save: what they do, by what they are known for.
    let savers = [
        ("truncate and write", "echo new > note.md"),
        ("append", "echo more >> note.md"),
        (
            "new file and rename, as sed -i, rsync, Syncthing and os.replace",
            "echo new > .note.md.tmp; mv .note.md.tmp note.md",
        ),
        ("a temporary of a plain name", "echo new > sedA1b2C3; mv sedA1b2C3 note.md"),
        ("backup by renaming, as vim", "echo > 4913; rm 4913; mv note.md note.md~; echo new > note.md; rm note.md~"),
        (
            "swap and lock files",
            "echo > .note.md.swp; ln -s user@host.1 '.#note.md'; echo new > note.md; rm .note.md.swp '.#note.md'",
        ),
        ("delete and create, as git checkout", "rm note.md; echo new > note.md"),
        ("touch", "touch note.md"),
        ("an older file with its time", "touch -d '2001-01-01' ../old.md; cp -p ../old.md note.md"),
        ("an older file moved here", "touch -d '2001-01-01' ../old.md; mv ../old.md note.md"),
        ("delete", "rm note.md"),
        ("a hard link", "rm note.md; ln ../beside.md note.md"),
    ];
    for (saver, command) in savers {
        let vault = Fixture::new(&["note.md", "../beside.md"]);
        shell(&vault.root, command);
        vault.wait_covered("note.md");
        let hints = vault.fence("fence.md");
        let others: Vec<&Hint> = hints
            .iter()
            .filter(|hint| ![Hint::Path(path("note.md")), Hint::Path(path("fence.md"))].contains(hint))
            .collect();
        // Nothing else, or a lone save would wait as long as a burst.
        assert!(others.is_empty(), "{saver}: {others:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_closed_or_put_in_its_place_is_complete() {
    let vault = Fixture::new(&["note.md", "other.md", "../beside.md"]);
    let last = |name: &str| {
        let about = |hint: &&Hint| matches!(hint, Hint::Path(known) | Hint::Saved(known) if *known == path(name));
        vault.hints.lock().iter().rfind(about).cloned()
    };
    for command in
        ["echo new > note.md", "echo more >> note.md", "echo new > .tmp; mv .tmp note.md", "cp ../beside.md note.md"]
    {
        vault.clear();
        shell(&vault.root, command);
        vault.wait("the end", |_| last("note.md") == Some(Hint::Saved(path("note.md"))));
    }
    vault.clear();
    let mut open = fs::File::options().append(true).open(vault.root.join("note.md")).unwrap();
    std::io::Write::write_all(&mut open, b"half").unwrap();
    vault.wait_covered("note.md");
    vault.fence("other.md");
    assert_eq!(last("note.md"), Some(Hint::Path(path("note.md"))), "it is still being written to");
    drop(open);
    vault.wait("its end", |_| last("note.md") == Some(Hint::Saved(path("note.md"))));
}

#[test]
fn reading_is_no_event() {
    let vault = Fixture::new(&["note.md"]);
    for _ in 0..10 {
        fs::read(vault.root.join("note.md")).unwrap();
        fs::read_dir(&vault.root).unwrap().count();
    }
    assert_eq!(vault.fence("fence.md").iter().filter(|hint| **hint != Hint::Path(path("fence.md"))).count(), 0);
}

#[cfg(unix)]
#[test]
fn a_tree_copied_in_is_covered_file_by_file() {
    let vault = Fixture::new(&["note.md"]);
    let names: Vec<String> = (0..250).map(|i| format!("new/f{}/g{}/n{i}.md", i % 5, i % 50)).collect();
    for name in &names {
        write(&vault.dir.path().join(name), "text");
    }
    shell(vault.dir.path(), "cp -r new vault/new");
    for name in &names {
        vault.wait_covered(name);
    }
    // And the watches stand: a change anywhere in it is seen by itself.
    vault.fence("fence.md");
    vault.clear();
    for name in &names {
        write(&vault.root.join(name), "changed");
    }
    for name in &names {
        vault.wait(name, |hints| hints.contains(&Hint::Path(path(name))));
    }
}

#[cfg(unix)]
#[test]
fn a_note_written_at_once_into_new_nested_folders_is_found() {
    let vault = Fixture::new(&[]);
    for i in 0..20 {
        shell(&vault.root, &format!("mkdir -p n{i}/a/b/c; echo text > n{i}/a/b/c/note.md"));
        // What counts is that a walk begun at the hint, as the engine's is, finds the note or a later
        // event tells of it.
        vault.wait_covered(&format!("n{i}/a/b/c/note.md"));
        // A name of its own: a second event of the last fence may still come.
        vault.fence(&format!("fence{i}.md"));
        vault.clear();
        write(&vault.root.join(format!("n{i}/a/b/c/note.md")), "again");
        vault.wait("the watch", |hints| hints.contains(&Hint::Path(path(&format!("n{i}/a/b/c/note.md")))));
    }
}

#[cfg(unix)]
#[test]
fn folders_that_move() {
    let vault = Fixture::new(&["a/b/note.md", "../elsewhere/sub/note.md", "keep.md"]);
    let rename = |from: &str, to: &str| fs::rename(vault.root.join(from), vault.root.join(to)).unwrap();
    let steps = [
        // From, to, what must be looked at, a note that must be watched afterwards.
        ("a", "z", vec!["a/b/note.md", "z/b/note.md"], Some("z/b/note.md")),
        ("z", "a", vec!["a/b/note.md", "z/b/note.md"], Some("a/b/note.md")),
        ("../elsewhere", "in", vec!["in/sub/note.md"], Some("in/sub/note.md")),
        ("in", "../out", vec!["in/sub/note.md"], None),
        ("a", ".hidden", vec!["a/b/note.md"], None),
        (".hidden", "shown", vec!["shown/b/note.md"], Some("shown/b/note.md")),
    ];
    for (from, to, looked_at, watched) in steps {
        rename(from, to);
        for name in looked_at {
            vault.wait_covered(name);
        }
        vault.fence("keep.md");
        vault.clear();
        if let Some(name) = watched {
            write(&vault.root.join(name), "changed");
            vault.wait(name, |hints| hints.contains(&Hint::Path(path(name))));
        }
        vault.clear();
    }
    fs::write(vault.dir.path().join("out/sub/note.md"), "of no interest").unwrap();
    fs::remove_dir_all(vault.root.join("shown")).unwrap();
    vault.wait_covered("shown/b/note.md");
    let hints = vault.fence("keep.md");
    assert!(!hints.iter().any(|hint| matches!(hint, Hint::Rescan(_))), "{hints:?}");
    assert!(!covered(&hints, &path("in/sub/note.md")), "{hints:?}");
}

#[cfg(unix)]
#[test]
fn a_folder_made_again_under_its_name_is_watched() {
    let vault = Fixture::new(&["a/b/note.md", "keep.md"]);
    for _ in 0..20 {
        shell(&vault.root, "rm -r a; mkdir -p a/b; echo new > a/b/note.md");
        vault.wait_covered("a/b/note.md");
    }
    vault.fence("keep.md");
    vault.clear();
    write(&vault.root.join("a/b/note.md"), "changed");
    vault.wait("the note", |hints| hints.contains(&Hint::Path(path("a/b/note.md"))));
}

#[cfg(unix)]
#[test]
fn a_vault_that_goes_and_comes_back() {
    for made_again_at_once in [true, false] {
        let vault = Fixture::new(&["a/note.md"]);
        fs::remove_dir_all(&vault.root).unwrap();
        if !made_again_at_once {
            vault.wait("its going", |hints| has_rescan(hints, RescanReason::RootChanged));
            let deadline = Instant::now() + Duration::from_secs(20);
            while vault.watcher.problem().is_none() {
                assert!(Instant::now() < deadline);
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(vault.watcher.problem().unwrap().contains("does not exist") && vault.watcher.needs_poll());
            vault.clear();
        }
        write(&vault.root.join("a/note.md"), "back");
        vault.wait("its return", |hints| has_rescan(hints, RescanReason::RootChanged));
        let deadline = Instant::now() + Duration::from_secs(20);
        while vault.watcher.problem().is_some() {
            assert!(Instant::now() < deadline, "{:?}", vault.watcher.problem());
            std::thread::sleep(Duration::from_millis(5));
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        // Its hints may be those of the return, so changes are made until one is seen by itself.
        while !vault.seen().contains(&Hint::Path(path("a/note.md"))) {
            assert!(Instant::now() < deadline, "{:?}", vault.seen());
            write(&vault.root.join("a/note.md"), "changed");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[cfg(unix)]
#[test]
fn a_vault_renamed_away_is_gone_and_its_new_place_is_not_ours() {
    let vault = Fixture::new(&["note.md"]);
    let elsewhere = vault.dir.path().join("elsewhere");
    fs::rename(&vault.root, &elsewhere).unwrap();
    vault.wait("its going", |hints| has_rescan(hints, RescanReason::RootChanged));
    write(&elsewhere.join("note.md"), "elsewhere");
    fs::rename(&elsewhere, &vault.root).unwrap();
    vault.wait("its return", |hints| {
        hints.iter().filter(|hint| **hint == Hint::Rescan(RescanReason::RootChanged)).count() == 2
    });
    vault.fence("fence.md");
    assert_eq!(vault.watcher.problem(), None);
}

#[cfg(unix)]
#[test]
fn a_root_with_other_rights_is_looked_at_and_one_with_another_time_is_not() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(&["a.md"]);
    fixture.fence("b.md");
    fixture.clear();
    shell(&fixture.root, "touch .");
    assert!(!has_rescan(&fixture.fence("b.md"), RescanReason::RootChanged));
    fs::set_permissions(&fixture.root, fs::Permissions::from_mode(0o700)).unwrap();
    fixture.wait("a look", |hints| has_rescan(hints, RescanReason::RootChanged));
    fixture.clear();
    fs::set_permissions(&fixture.root, fs::Permissions::from_mode(0o755)).unwrap();
    fixture.wait("another look", |hints| has_rescan(hints, RescanReason::RootChanged));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_odd_files_do_no_harm() {
    let vault = Fixture::new(&["note.md", "../outside/note.md"]);
    symlink("../outside", vault.root.join("linked")).unwrap();
    symlink(".", vault.root.join("loop")).unwrap();
    symlink("../outside/note.md", vault.root.join("link.md")).unwrap();
    shell(&vault.root, "mkfifo fifo.md");
    vault.wait_covered("link.md");
    vault.wait_covered("fifo.md");
    let refused = |name| crate::read::read(&vault.root, &path(name), 100).unwrap_err();
    assert_eq!(refused("fifo.md"), crate::read::ReadError::NotAFile);
    assert_eq!(refused("link.md"), crate::read::ReadError::Outside);
    fs::write(vault.dir.path().join("outside/note.md"), "changed").unwrap();
    let hints = vault.fence("fence.md");
    assert!(!covered(&hints, &path("linked/note.md")), "{hints:?}");
    assert!(!covered(&hints, &path("loop/note.md")), "{hints:?}");
}

#[cfg(unix)]
#[test]
fn names_of_any_bytes() {
    let vault = Fixture::new(&[]);
    let names = [b"\xff\xfe.md".as_slice(), "🦀.md".as_bytes(), b"new\nline.md", b"folder \xC3\x28/note.md"];
    for name in names {
        let name = Path::new(OsStr::from_bytes(name));
        write(&vault.root.join(name), "text");
        vault.wait_covered(VaultPath::from_relative(name).unwrap().as_str());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_ignored_costs_no_watch_until_the_policy_changes() {
    let vault = Fixture::new(&[".git/a/x.md", "drafts/b/x.md", "kept/x.md"]);
    write(&vault.root.join(".gitignore"), "drafts/\n");
    vault.wait("the ignore file", |hints| hints.contains(&Hint::Path(path(".gitignore"))));
    vault.watcher.set_policy(policy(&vault.root));
    let wait_folders = |count: usize| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while vault.watcher.state.troubles(|troubles| troubles.folders) != count {
            assert!(Instant::now() < deadline, "{}", vault.watcher.state.troubles(|troubles| troubles.folders));
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_folders(1);
    vault.clear();
    write(&vault.root.join("drafts/b/x.md"), "changed");
    write(&vault.root.join(".git/a/x.md"), "changed");
    assert_eq!(vault.fence("fence.md").iter().filter(|hint| **hint != Hint::Path(path("fence.md"))).count(), 0);

    fs::remove_file(vault.root.join(".gitignore")).unwrap();
    vault.watcher.set_policy(policy(&vault.root));
    vault.wait_covered("drafts/b/x.md");
    wait_folders(3);
    vault.clear();
    write(&vault.root.join("drafts/b/x.md"), "changed again");
    vault.wait_covered("drafts/b/x.md");
}

#[cfg(unix)]
#[test]
fn a_limit_of_watches_is_told_and_mends_itself() {
    let notes: Vec<String> = (0..100).map(|i| format!("f{i}/note.md")).collect();
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    let vault = Fixture::within(Limits { watches: 20, ..LIMITS }, &notes);
    assert!(has_rescan(&vault.seen(), RescanReason::WatchLost));
    let problem = vault.watcher.problem().unwrap();
    assert!(problem.starts_with("81 of 101 folders are not watched but polled"), "{problem}");
    assert!(problem.contains("sudo sysctl fs.inotify.max_user_watches="), "{problem}");
    assert!(vault.watcher.needs_poll());

    // Room appears when watched folders go, and the next walk's folders take it.
    fs::remove_dir_all(vault.root.join("f0")).unwrap();
    (1..90).for_each(|i| fs::remove_dir_all(vault.root.join(format!("f{i}"))).unwrap());
    let deadline = Instant::now() + Duration::from_secs(20);
    while vault.watcher.problem().is_some() {
        assert!(Instant::now() < deadline, "{:?}", vault.watcher.problem());
        let found = walk(&vault.root, &policy(&vault.root), None, &AtomicBool::new(false)).unwrap();
        vault.watcher.reconcile(found.folders);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!vault.watcher.needs_poll());
    vault.clear();
    write(&vault.root.join("f99/note.md"), "changed");
    vault.wait_covered("f99/note.md");
}

#[cfg(unix)]
#[test]
fn an_overflow_is_a_rescan_and_leaves_no_folder_unwatched() {
    let vault = Fixture::within(Limits { queue: 0, ..LIMITS }, &["note.md"]);
    // No event finds room in the queue, so that each is lost.
    shell(&vault.root, "for i in $(seq 100); do mkdir d$i; echo text > d$i/note.md; done");
    vault.wait("the overflow", |hints| has_rescan(hints, RescanReason::Overflow));
    let deadline = Instant::now() + Duration::from_secs(20);
    while vault.watcher.state.troubles(|troubles| troubles.folders) != 100 {
        assert!(Instant::now() < deadline, "{}", vault.watcher.state.troubles(|troubles| troubles.folders));
        std::thread::sleep(Duration::from_millis(5));
    }
    for i in [1, 50, 100] {
        vault.clear();
        write(&vault.root.join(format!("d{i}/note.md")), "changed");
        vault.wait_covered(&format!("d{i}/note.md"));
    }
}

#[test]
fn rescans_have_no_paths_and_are_seen_all_the_same() {
    let state = Arc::new(State::default());
    let (sender, inbox) = channel();
    let mut handler = queue(10, sender, Arc::clone(&state));
    handler(Ok(notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan)));
    let Ok(Message::Event(event)) = inbox.try_recv() else { panic!("not queued") };
    assert!(event.need_rescan());
    handler(Ok(notify::Event::new(EventKind::Access(notify::event::AccessKind::Any))));
    assert!(inbox.try_recv().is_err());
}

#[test]
fn how_a_vault_is_watched() {
    let dir = tempfile::tempdir().unwrap();
    let start = |root: &Path, poll| Watcher::start(root, policy(root), poll, |_| {});
    let polled = start(dir.path(), Some(true)).unwrap();
    assert_eq!((polled.mode(), polled.needs_poll(), polled.problem()), ("poll", true, None));
    let watched = start(dir.path(), Some(false)).unwrap();
    assert_eq!((watched.mode(), watched.needs_poll(), watched.problem()), (SYSTEM, false, None));
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(matches!(start(&dir.path().join("none"), None), Err(VaultError::Missing(_))));
    assert!(matches!(start(&dir.path().join("file"), None), Err(VaultError::NotAFolder(_))));
}
