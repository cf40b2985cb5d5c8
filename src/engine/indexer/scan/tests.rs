use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use index::NoteEntry;
use note::Format;
use vault::documents::Convert;
use vault::settings::VaultConfig;

#[test]
fn what_the_system_cannot_look_at_is_not_gone() {
    let dir = tempfile::tempdir().unwrap();
    let vault = VaultConfig::new("v", dir.path());
    let policy = Policy::new(dir.path(), &vault).unwrap();
    let path = |name: &str| VaultPath::parse(name).unwrap();
    // No file system takes a name so long: as good as an error of the system that has nothing to do with the note.
    let [out_of_reach, gone] = [path(&format!("{}.md", "n".repeat(300))), path("gone.md")];
    let known: NoteTable =
        [(1, &out_of_reach), (2, &gone)].into_iter().map(|(no, path)| NoteEntry::new(no, 1, path.clone())).collect();
    let extent = Extent::Some { paths: known.iter().map(|note| note.path.clone()).collect(), folders: BTreeSet::new() };
    let documents = Documents::new(Box::new(|_| "no documents".into()), None);
    let look = Look { root: dir.path(), policy: &policy, known: &known, extent: &extent, max_bytes: 1000 };
    let found = scan(&look, &documents, &AtomicBool::new(false)).unwrap();
    assert_eq!((found.gone, found.unread), (vec![gone], vec![out_of_reach]));
    assert!(found.touched.is_empty() && found.skipped.len() == 1);
    let folder = Extent::Some { paths: BTreeSet::new(), folders: BTreeSet::from([path("folder")]) };
    let away = dir.path().join("away");
    let look = Look { root: &away, extent: &folder, ..look };
    assert!(scan(&look, &documents, &AtomicBool::new(false)).is_err(), "the root is no folder");
}

#[test]
fn what_is_no_file_is_skipped_by_its_own_event_as_by_a_look_at_everything() {
    let dir = tempfile::tempdir().unwrap();
    let vault = VaultConfig::new("v", dir.path());
    let policy = Policy::new(dir.path(), &vault).unwrap();
    std::fs::write(dir.path().join("n.md"), "# N\n").unwrap();
    std::os::unix::fs::symlink("n.md", dir.path().join("inside.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", dir.path().join("outside.md")).unwrap();
    std::os::unix::fs::symlink("nothing.md", dir.path().join("broken.md")).unwrap();
    std::os::unix::net::UnixListener::bind(dir.path().join("socket.md")).unwrap();
    let paths = ["gone.md", "broken.md", "inside.md", "outside.md", "socket.md"]
        .into_iter()
        .filter_map(VaultPath::parse)
        .collect();
    let skipped = |extent: Extent| {
        let known = NoteTable::default();
        let documents = Documents::new(Box::new(|_| "no documents".into()), None);
        let look = Look { root: dir.path(), policy: &policy, known: &known, extent: &extent, max_bytes: 1000 };
        scan(&look, &documents, &AtomicBool::new(false)).unwrap().skipped
    };
    let named = skipped(Extent::Some { paths, folders: BTreeSet::new() });
    assert_eq!((named.len(), &named), (4, &skipped(Extent::Everything)));
}

#[test]
fn a_renamed_note_is_known_by_its_inode_and_a_new_one_with_a_deleted_ones_inode_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let vault = VaultConfig::new("v", dir.path());
    let policy = Policy::new(dir.path(), &vault).unwrap();
    let path = |name: &str| VaultPath::parse(name).unwrap();
    let [old, new] = [path("old.md"), path("new.md")];
    std::fs::write(dir.path().join("old.md"), "# Old\n\nBefore.\n").unwrap();
    let stat = file_state(dir.path(), &old).unwrap();
    assert!(born_ns(dir.path(), &old).is_none_or(|born| born <= stat.ctime_ns), "it was made before it was seen");
    std::fs::rename(dir.path().join("old.md"), dir.path().join("new.md")).unwrap();
    std::fs::write(dir.path().join("new.md"), "# New\n\nAfter.\n").unwrap();
    let moved_from = |stat: FileStat| {
        let known: NoteTable = [NoteEntry { stat, ..NoteEntry::new(1, 1, old.clone()) }].into_iter().collect();
        let extent = Extent::Some { paths: BTreeSet::from([old.clone(), new.clone()]), folders: BTreeSet::new() };
        let documents = Documents::new(Box::new(|_| "no documents".into()), None);
        let look = Look { root: dir.path(), policy: &policy, known: &known, extent: &extent, max_bytes: 1000 };
        let found = scan(&look, &documents, &AtomicBool::new(false)).unwrap();
        assert_eq!((found.touched.len(), &found.touched[0].path), (1, &new));
        (found.touched[0].moved_from.clone(), found.gone)
    };
    assert_eq!(moved_from(stat), (Some(old.clone()), vec![]));
    // As if the note had been seen for the last time before this file was made.
    let Some(born) = born_ns(dir.path(), &new) else { return };
    assert_eq!(moved_from(FileStat { ctime_ns: born - 1, ..stat }), (None, vec![old.clone()]));
}

#[test]
fn a_look_converts_no_document_unless_a_missing_one_has_its_size() {
    /// Counts what it is asked to convert.
    #[derive(Default)]
    struct Counting(AtomicUsize);
    impl Convert for Counting {
        fn convert(&self, _: Format, _: std::fs::File, _: u64) -> std::io::Result<(Vec<u8>, Option<String>)> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok((b"# Book\n".to_vec(), None))
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let vault = VaultConfig::new("v", dir.path());
    let policy = Policy::new(dir.path(), &vault).unwrap();
    let path = |name: &str| VaultPath::parse(name).unwrap();
    for (name, bytes) in
        [("moved.md", "# Note\n"), ("new.md", "# Another\n"), ("new.pdf", "twelve bytes"), ("copy.pdf", "nine byte")]
    {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let note = |no, name, size, text: &[u8]| NoteEntry {
        stat: FileStat { size, ..FileStat::default() },
        hash: text_hash(text),
        ..NoteEntry::new(no, 1, path(name))
    };
    let converter = Arc::new(Counting::default());
    let kept = dir.path().join("kept");
    let documents = Documents::new(Box::new(move |_| kept.clone()), Some(converter.clone()));
    let moves = |known: NoteTable| {
        let look =
            Look { root: dir.path(), policy: &policy, known: &known, extent: &Extent::Everything, max_bytes: 1000 };
        let found = scan(&look, &documents, &AtomicBool::new(false)).unwrap();
        let moved = found
            .touched
            .into_iter()
            .filter_map(|touched| Some((touched.moved_from?.to_string(), touched.path.to_string())));
        (moved.collect::<Vec<_>>(), converter.0.load(Ordering::Relaxed))
    };
    // A note whose text nobody knows is not taken for a file that nobody has read.
    let unknown = NoteEntry { hash: TextHash::UNKNOWN, ..note(2, "unknown.md", 77, b"") };
    let known = [note(1, "old.md", 7, b"# Note\n"), unknown].into_iter().collect();
    assert_eq!(moves(known), (vec![("old.md".to_owned(), "moved.md".to_owned())], 0));
    let known = [note(1, "old.pdf", 9, b"# Book\n")].into_iter().collect();
    assert_eq!(moves(known), (vec![("old.pdf".to_owned(), "copy.pdf".to_owned())], 1));
}
