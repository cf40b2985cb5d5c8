use std::fs;

use super::*;
use crate::read::{file_state, read};

fn path(text: &str) -> VaultPath {
    VaultPath::parse(text).unwrap()
}

#[test]
fn only_regular_files_of_the_vault_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("vault");
    fs::create_dir_all(vault.join("folder")).unwrap();
    fs::write(vault.join("folder/note.md"), "text").unwrap();
    fs::write(vault.join("large.md"), [b'x'; 101]).unwrap();
    for (name, expected) in [
        ("none.md", ReadError::Gone),
        ("folder/note.md/x.md", ReadError::Gone),
        ("folder", ReadError::NotAFile),
        ("large.md", ReadError::TooLarge(101)),
    ] {
        assert_eq!(read(&vault, &path(name), 100).err(), Some(expected), "{name}");
    }
    let (bytes, file) = read(&vault, &path("folder/note.md"), 4).unwrap();
    assert_eq!((bytes.as_slice(), Some(file)), (b"text".as_slice(), file_state(&vault, &path("folder/note.md")).ok()));
}
