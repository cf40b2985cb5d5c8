//! Walks of real folders.

use std::fs;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(unix)]
use std::os::unix::fs::symlink;

use super::*;
#[cfg(unix)]
use crate::read::{file_state, read};
use crate::settings::VaultConfig;
#[cfg(unix)]
use crate::testing::make_fifo;

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

fn write(root: &Path, name: &str, text: &str) {
    let file = root.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn policy(root: &Path) -> Policy {
    Policy::new(root, &VaultConfig { max_note_bytes: 100, ..VaultConfig::new("test", root) }).unwrap()
}

fn walk_all(root: &Path) -> Walk {
    walk(root, &policy(root), None, &AtomicBool::new(false)).unwrap()
}

fn names(walk: &Walk) -> Vec<&str> {
    walk.files.iter().map(|(path, _)| path.as_str()).collect()
}

#[cfg(unix)]
#[test]
fn what_is_found_and_what_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("vault");
    write(dir.path(), "secret/id.md", "secret");
    write(&root, "b.md", "text");
    write(&root, "a b/x.txt", "");
    write(&root, "a/b/c.md", "text");
    write(&root, "a/picture.png", "");
    write(&root, ".obsidian/x.md", "");
    write(&root, "exact.md", &"x".repeat(100));
    write(&root, "large.md", &"x".repeat(101));
    symlink("b.md", root.join("inside.md")).unwrap();
    symlink("../secret/id.md", root.join("outside.md")).unwrap();
    symlink("nothing", root.join("broken.md")).unwrap();
    symlink("../secret", root.join("linked")).unwrap();
    symlink(".", root.join("loop")).unwrap();
    symlink("../secret/id.md", root.join("picture.png")).unwrap();
    make_fifo(&root.join("fifo.md"));

    let found = walk_all(&root);
    assert_eq!(names(&found), ["a b/x.txt", "a/b/c.md", "b.md", "exact.md"]);
    assert_eq!(found.folders, ["a", "a b", "a/b"].map(path));
    let skipped: Vec<(&str, &Skip)> = found.skipped.iter().map(|(path, skip)| (path.as_str(), skip)).collect();
    let expected = [
        ("broken.md", &Skip::LinkBroken),
        ("fifo.md", &Skip::NotAFile),
        ("inside.md", &Skip::LinkInside),
        ("large.md", &Skip::TooLarge(101)),
        ("linked", &Skip::LinkOutside),
        ("loop", &Skip::LinkInside),
        ("outside.md", &Skip::LinkOutside),
    ];
    assert_eq!(skipped, expected);
    assert!(found.complete);
    assert_eq!(found.root, root_id(&root).unwrap());
    for (path, file) in &found.files {
        assert_eq!(file_state(&root, path).ok(), Some(*file));
    }
    for (path, _) in &found.skipped {
        assert!(read(&root, path, 100).is_err(), "{path}");
    }
}

#[test]
fn a_part_of_a_vault() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a/x.md", "a/b/y.md", "ab/z.md", ".git/w.md"] {
        write(dir.path(), name, "");
    }
    #[cfg(unix)]
    symlink("a", dir.path().join("link")).unwrap();
    let cases: [(&str, &[&str], &[&str]); 9] = [
        ("a", &["a/b/y.md", "a/x.md"], &["a", "a/b"]),
        ("a/b", &["a/b/y.md"], &["a/b"]),
        ("a/x.md", &["a/x.md"], &[]),
        ("none", &[], &[]),
        ("a/x.md/none", &[], &[]),
        (".git", &[], &[]),
        (".git/w.md", &[], &[]),
        ("link", &[], &[]),
        ("link/x.md", &[], &[]),
    ];
    for (under, files, folders) in cases {
        let found = walk(dir.path(), &policy(dir.path()), Some(&path(under)), &AtomicBool::new(false)).unwrap();
        assert_eq!(names(&found), files, "{under}");
        assert_eq!(found.folders.iter().map(VaultPath::as_str).collect::<Vec<_>>(), folders, "{under}");
        assert!(found.complete, "{under}");
    }
}

#[cfg(unix)]
#[test]
fn names_of_any_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(std::ffi::OsStr::from_bytes(b"\xC3\x28"));
    fs::create_dir(&folder).unwrap();
    for name in [b"\xff.md".as_slice(), "🦀.md".as_bytes(), b"new\nline.md", "\u{F7A0}.md".as_bytes()] {
        fs::write(folder.join(std::ffi::OsStr::from_bytes(name)), "text").unwrap();
    }
    let found = walk_all(dir.path());
    assert_eq!(found.files.len(), 4);
    for (path, _) in &found.files {
        assert_eq!(read(dir.path(), path, 10).unwrap().0, b"text", "{path:?}");
    }
}

#[test]
fn a_cancelled_walk_gives_nothing_and_a_missing_root_is_no_empty_vault() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("vault");
    let missing = walk(&root, &policy(&root), None, &AtomicBool::new(false));
    assert!(matches!(missing, Err(VaultError::Missing(_))), "{missing:?}");
    let missing = walk(&root, &policy(&root), Some(&path("a")), &AtomicBool::new(false));
    assert!(matches!(missing, Err(VaultError::Missing(_))), "{missing:?}");
    write(&root, "a.md", "");
    let cancelled = walk(&root, &policy(&root), None, &AtomicBool::new(true));
    assert!(matches!(cancelled, Err(VaultError::Cancelled)), "{cancelled:?}");
}

/// Runs `test` on a thread that is not root's, which may read everything.
#[cfg(unix)]
fn as_a_user<R: Send>(test: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // Only there has each thread a user of its own.
            #[cfg(target_os = "linux")]
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            test()
        });
        thread.join().unwrap()
    })
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_not_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |name: &str, mode| {
        platform::files::set_mode(&dir.path().join(name), mode).unwrap();
    };
    for name in ["open/a.md", "shut/b.md", "listed/c.md", "secret.md"] {
        write(dir.path(), name, "text");
    }
    mode("", 0o755);
    mode("shut", 0o000);
    mode("listed", 0o444);
    mode("secret.md", 0o000);
    let (found, part, denied) = as_a_user(|| {
        let part = walk(dir.path(), &policy(dir.path()), Some(&path("shut/b.md")), &AtomicBool::new(false)).unwrap();
        (walk_all(dir.path()), part, read(dir.path(), &path("secret.md"), 100))
    });
    assert_eq!(names(&found), ["open/a.md", "secret.md"]);
    assert!(!found.complete && !part.complete);
    let skipped: Vec<&str> = found.skipped.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(skipped, ["listed/c.md", "shut"]);
    assert!(found.skipped.iter().all(|(_, skip)| matches!(skip, Skip::Unreadable(_))));
    assert_eq!(denied, Err(crate::read::ReadError::Denied));

    mode("", 0o000);
    let refused = as_a_user(|| walk(dir.path(), &policy(dir.path()), None, &AtomicBool::new(false)));
    assert!(matches!(refused, Err(VaultError::Unreadable { .. })), "{refused:?}");
    mode("", 0o755);
    mode("shut", 0o755);
    mode("listed", 0o755);
}

#[test]
fn a_vault_nested_deeply_takes_no_stack() {
    let dir = tempfile::tempdir().unwrap();
    let deep: String = vec!["d"; if cfg!(windows) { 100 } else { 1500 }].join("/");
    fs::create_dir_all(dir.path().join(&deep)).unwrap();
    write(dir.path(), &format!("{deep}/a.md"), "");
    assert_eq!(walk_all(dir.path()).files.len(), 1);
}

#[cfg(unix)]
#[test]
fn ignore_files_are_read_as_notes_are_or_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("vault");
    write(&root, "Private/b.md", "text");
    write(&root, "sub/Private/b.md", "text");
    let utf_16: Vec<u8> = "\u{FEFF}Private/\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(root.join("sub/.situatedignore"), utf_16).unwrap();
    write(dir.path(), "rules", "Private/");
    symlink(dir.path().join("rules"), root.join(".gitignore")).unwrap();
    let found = walk_all(&root);
    assert_eq!(names(&found), ["Private/b.md"]);
    let [(file, Skip::IgnoreFile(_))] = &found.skipped[..] else { panic!("{:?}", found.skipped) };
    assert_eq!((file.as_str(), found.complete), (".gitignore", true));
}
