use super::*;
use std::fs;
#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(unix)]
use std::os::unix::fs::symlink;

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

#[cfg(unix)]
#[test]
fn only_regular_files_of_the_vault_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("vault");
    fs::create_dir_all(vault.join("folder")).unwrap();
    fs::write(dir.path().join("secret.md"), "secret").unwrap();
    fs::write(vault.join("folder/note.md"), "text").unwrap();
    symlink("../secret.md", vault.join("out.md")).unwrap();
    symlink("/etc/passwd", vault.join("absolute.md")).unwrap();
    symlink("folder/note.md", vault.join("inner.md")).unwrap();
    symlink("..", vault.join("up")).unwrap();
    symlink("/proc/self/root", vault.join("magic")).unwrap();
    fs::write(vault.join("large.md"), vec![b'x'; 101]).unwrap();
    crate::testing::make_fifo(&vault.join("fifo.md"));
    let _socket = std::os::unix::net::UnixListener::bind(vault.join("socket.md")).unwrap();

    let cases = [
        ("folder/note.md", None),
        ("none.md", Some(ReadError::Gone)),
        ("folder/note.md/x.md", Some(ReadError::Gone)),
        ("folder", Some(ReadError::NotAFile)),
        ("fifo.md", Some(ReadError::NotAFile)),
        ("socket.md", Some(ReadError::NotAFile)),
        ("out.md", Some(ReadError::Outside)),
        ("absolute.md", Some(ReadError::Outside)),
        ("inner.md", Some(ReadError::Outside)),
        ("up/secret.md", Some(ReadError::Outside)),
        ("magic/etc/passwd", Some(ReadError::Outside)),
        ("large.md", Some(ReadError::TooLarge(101))),
    ];
    for (name, expected) in cases {
        let got = read(&vault, &path(name), 100);
        assert_eq!(got.as_ref().err(), expected.as_ref(), "{name}");
        let reachable = matches!(expected, None | Some(ReadError::TooLarge(_)));
        assert_eq!(file_state(&vault, &path(name)).is_ok(), reachable, "{name}");
    }
    let (bytes, file) = read(&vault, &path("folder/note.md"), 4).unwrap();
    assert_eq!((bytes.as_slice(), Some(file)), (b"text".as_slice(), file_state(&vault, &path("folder/note.md")).ok()));
    assert_eq!(read(&dir.path().join("none"), &path("x.md"), 1), Err(ReadError::Gone));
}

#[cfg(unix)]
#[test]
fn names_of_any_bytes_are_read() {
    let dir = tempfile::tempdir().unwrap();
    for name in [b"\xff\xfe.md".as_slice(), "🦀\n.md".as_bytes(), "\u{F7A0}.md".as_bytes()] {
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        fs::write(dir.path().join(name), "text").unwrap();
        let path = VaultPath::from_relative(name).unwrap();
        assert_eq!(read(dir.path(), &path, 10).unwrap().0, b"text");
    }
}

#[test]
fn a_file_that_is_written_to_meanwhile_is_never_given_out_torn() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("note.md");
    fs::write(&file, vec![b'a'; 1 << 20]).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for byte in b"bcdefghijklmnopqrstuvwxyz".iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                // In place, in two writes and with another length, as a slow editor would.
                fs::write(&file, vec![*byte; (1 << 20) - usize::from(*byte)]).unwrap();
            }
        });
        for _ in 0..200 {
            match read(dir.path(), &path("note.md"), 2 << 20) {
                Ok((bytes, stat)) => {
                    assert_eq!(bytes.len() as u64, stat.size);
                    assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]), "of two versions");
                }
                Err(error) => assert_eq!(error, ReadError::ChangedWhileRead),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
