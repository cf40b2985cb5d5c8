use super::*;
use std::fs;
use std::time::SystemTime;

#[test]
fn a_root_that_is_none_is_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    // Windows knows no difference between what is not there and what is below a file.
    let below = if cfg!(windows) { "does not exist" } else { "is not a folder" };
    let cases = [("none", "does not exist"), ("file", "is not a folder"), ("file/x", below)];
    for (name, message) in cases {
        let error = root_id(&dir.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains(name), "{name}: {error}");
    }
    assert_eq!(root_id(dir.path()).unwrap(), root_id(dir.path()).unwrap());
}

#[test]
fn a_file_system_that_hangs_is_waited_for_once() {
    let place = Path::new("hangs");
    let (lift, hangs) = mpsc::channel::<()>();
    assert_eq!(look_at(place, |_| Ok(1)).unwrap(), 1);
    let kind = |found: io::Result<()>| found.unwrap_err().kind();
    assert_eq!(kind(look_at(place, move |_| hangs.recv().map_err(io::Error::other))), io::ErrorKind::TimedOut);
    assert_eq!(kind(look_at(place, |_| unreachable!("it would hang, too"))), io::ErrorKind::TimedOut);
    drop(lift);
    while HANGING.lock().contains(place) {
        std::thread::yield_now();
    }
    assert_eq!(look_at(place, |_| Ok(2)).unwrap(), 2);
}

#[test]
fn the_lock_of_git_is_seen_in_the_vault_around_it_and_in_a_worktree() {
    let dir = tempfile::tempdir().unwrap();
    let [repository, vault, tree] = ["repo", "repo/vault", "tree"].map(|name| dir.path().join(name));
    fs::create_dir_all(repository.join(".git/worktrees/tree")).unwrap();
    fs::create_dir_all(&vault).unwrap();
    fs::create_dir_all(&tree).unwrap();
    fs::write(tree.join(".git"), "gitdir: ../repo/.git/worktrees/tree\n").unwrap();
    assert!(!git_locked(&repository) && !git_locked(&vault) && !git_locked(&tree));

    fs::write(repository.join(".git/index.lock"), "").unwrap();
    assert!(git_locked(&repository) && git_locked(&vault) && !git_locked(&tree));
    fs::write(repository.join(".git/worktrees/tree/index.lock"), "").unwrap();
    assert!(git_locked(&tree));
    // One that a killed git has left behind is no lock.
    let lock = fs::File::options().write(true).open(repository.join(".git/index.lock")).unwrap();
    lock.set_modified(SystemTime::now() - LONGEST_LOCK).unwrap();
    assert!(!git_locked(&repository) && git_locked(&tree));
}

#[test]
#[cfg(target_os = "linux")]
fn kinds_of_file_systems() {
    let cases = [(0x6969, Some("NFS")), (0xFF53_4D42, Some("SMB")), (0x6573_5546, Some("FUSE"))];
    for (magic, kind) in cases.into_iter().chain([(0xEF53, None), (0x0102_1994, None)]) {
        assert_eq!(blind_kind(magic), kind, "{magic:x}");
    }
    // procfs answers statfs on every Linux, and is none of these.
    assert_eq!(needs_polling(Path::new("/proc")), None);
}
