use std::fs;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn step_by_step_is_as_strict() {
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("vault");
    fs::create_dir_all(vault.join("folder")).unwrap();
    fs::write(dir.path().join("secret.md"), "secret").unwrap();
    fs::write(vault.join("folder/note.md"), "text").unwrap();
    symlink("../secret.md", vault.join("out.md")).unwrap();
    symlink("..", vault.join("up")).unwrap();
    let open = |name: &str| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&vault, flags | OFlags::DIRECTORY, Mode::empty()).unwrap();
        open_step_by_step(root, Path::new(name), flags, flags | OFlags::DIRECTORY).map(drop)
    };
    assert_eq!(open("folder/note.md"), Ok(()));
    assert_eq!(open("none/note.md"), Err(Errno::NOENT));
    assert_eq!(open("out.md"), Err(Errno::LOOP));
    assert_eq!(open("up/secret.md"), Err(Errno::LOOP));
    assert_eq!(open("folder/note.md/x.md"), Err(Errno::NOTDIR));
}
