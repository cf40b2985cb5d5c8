use super::*;
use context::plan::Reason;
use note::fingerprint::{StructureHash, TextHash};
use note::{FileStat, VaultPath};
use store::NoteWrite;
use store::record::NoteRecord;
use tempfile::TempDir;

fn note(name: &str) -> NoteRecord {
    NoteRecord {
        path: VaultPath::parse(name).unwrap(),
        no: 0,
        seq: 0,
        stat: FileStat::default(),
        hash: TextHash([0; 16]),
        structure: StructureHash([0; 16]),
        contextualizer: String::new(),
        embedder: String::new(),
        chunker: String::new(),
        title: String::new(),
        aliases: Vec::new(),
        tags: Vec::new(),
        kind: None,
        date: None,
        properties: String::new(),
        links: Vec::new(),
        conflict: false,
        warnings: Vec::new(),
        decided: (Reason::NewNote, 0),
        chunks: Vec::new(),
    }
}

/// A vault of two notes at `vault`, and its index in `data`.
fn indexed() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("vault");
    std::fs::create_dir(&vault).unwrap();
    index(&dir, &vault, &["a.md", "b.md"]);
    dir
}

/// Makes the notes of a vault and its index, as a daemon does.
fn index(dir: &TempDir, vault: &Path, notes: &[&str]) {
    let index = vault_dir(&dir.path().join("data"), vault);
    std::fs::create_dir_all(&index).unwrap();
    let (identity, dimensions) = (Embedder::Builtin.identity(), Embedder::Builtin.dimensions());
    let (store, _) = Store::open(&index, identity, dimensions).unwrap();
    let put = |name: &&str| {
        std::fs::write(vault.join(name), "# A note\n").unwrap();
        (note(name).path, NoteWrite { put: Some((note(name), Vec::new())), ..NoteWrite::default() })
    };
    store.apply_many(notes.iter().map(put).collect()).unwrap();
    store.flush(true).unwrap();
    write_root_id((&index, &index), root_id(vault).unwrap(), vault);
}

/// Whether a vault whose path is spelled so has an index when the daemon has started.
fn has_index(dir: &TempDir, path: &Path, others: &[&Path]) -> bool {
    let data = dir.path().join("data");
    let vaults: Vec<VaultConfig> = [path].iter().chain(others).map(|path| VaultConfig::new("v", path)).collect();
    let waits = awaits_start(&data, &vaults).is_some();
    let told = take_over(&data, &vaults);
    let has = vault_dir(&data, path).join("contexts.journal").exists();
    assert!(has || !waits, "{told:?}");
    has
}

#[test]
fn a_path_in_another_spelling_has_the_same_index() {
    let dir = indexed();
    let at = |spelled: &str| PathBuf::from(format!("{}/{spelled}", dir.path().display()));
    #[cfg(unix)]
    std::os::unix::fs::symlink(at("vault"), at("link")).unwrap();
    for spelled in [
        "vault/",
        "/vault",
        "./vault",
        "data/../vault",
        #[cfg(unix)]
        "link",
        "vault",
    ] {
        assert!(has_index(&dir, &at(spelled), &[]), "{spelled}");
        assert_eq!(std::fs::read_dir(at("data/vaults")).unwrap().count(), 1, "{spelled}");
    }
    // Not while a vault of the configuration has it, and not a path that leads nowhere.
    assert!(!has_index(&dir, &at("vault/"), &[&at("vault")]));
    assert!(!has_index(&dir, &at("gone"), &[]));
}

#[test]
fn a_folder_that_was_renamed_keeps_its_index_and_another_that_has_its_number_does_not_get_it() {
    let dir = indexed();
    let (vault, renamed, other) = (dir.path().join("vault"), dir.path().join("Notes"), dir.path().join("other"));
    std::fs::rename(&vault, &renamed).unwrap();
    assert!(has_index(&dir, &renamed, &[]));
    assert!(vault_dir(&dir.path().join("data"), &renamed).join(FOLDER).exists());
    // One note of two is gone: it is still the same vault.
    std::fs::remove_file(renamed.join("a.md")).unwrap();
    std::fs::rename(&renamed, &vault).unwrap();
    assert!(has_index(&dir, &vault, &[]));
    // The number alone proves nothing.
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("c.md"), "# Another\n").unwrap();
    let root = root_id(&other).unwrap();
    std::fs::write(vault_dir(&dir.path().join("data"), &vault).join(ROOT), format!("{} {}\n", root.dev, root.ino))
        .unwrap();
    assert!(!has_index(&dir, &other, &[]));
    assert_eq!(orphans(&dir.path().join("data"), &[])[0].vault, Some(vault.canonicalize().unwrap()));
}

#[test]
fn of_two_indexes_of_one_folder_none_is_taken_over() {
    let dir = indexed();
    let (vault, second, renamed) = (dir.path().join("vault"), dir.path().join("second"), dir.path().join("Notes"));
    std::fs::rename(&vault, &second).unwrap();
    index(&dir, &second, &["a.md"]);
    std::fs::rename(&second, &renamed).unwrap();
    assert!(!has_index(&dir, &renamed, &[]));
}
