use std::fs;
use std::path::Path;

use super::*;

fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::copy(from.join(WORD), to.join(WORD)).unwrap();
}

#[test]
fn a_copy_has_its_own_word_and_what_was_moved_or_restored_keeps_it() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir(at("first")).unwrap();
    assert_eq!(known(&at("first")), None, "only a keeper has one");
    let first = word(&at("first")).unwrap();
    assert_eq!((word(&at("first")).unwrap(), known(&at("first"))), (first.clone(), Some(first.clone())));

    copied(&at("first"), &at("copy"));
    assert_eq!(known(&at("copy")), None);
    let copy = word(&at("copy")).unwrap();
    assert_ne!(copy, first);
    assert_eq!(word(&at("copy")).unwrap(), copy);

    fs::rename(at("first"), at("moved")).unwrap();
    assert_eq!(word(&at("moved")).unwrap(), first);

    copied(&at("moved"), &at("backup"));
    fs::remove_dir_all(at("moved")).unwrap();
    copied(&at("backup"), &at("moved"));
    assert_eq!(word(&at("moved")).unwrap(), first);

    // The same path on another machine.
    let here = Place::of(&at("moved"));
    let told = format!("{first}\n{}\n{}\n{}\n", "0".repeat(32), here.path, here.inode);
    fs::write(at("moved").join(WORD), told).unwrap();
    assert_eq!(word(&at("moved")).unwrap() == first, here.machine.is_empty());
    // As an earlier version wrote it.
    fs::write(at("moved").join(WORD), &first).unwrap();
    assert_eq!(word(&at("moved")).unwrap(), first);
}
