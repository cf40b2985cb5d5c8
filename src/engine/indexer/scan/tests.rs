use super::*;
use vault::settings::VaultConfig;

#[test]
fn what_the_system_cannot_look_at_is_not_gone() {
    let dir = tempfile::tempdir().unwrap();
    let vault = VaultConfig::new("v", dir.path());
    let policy = Policy::new(dir.path(), &vault).unwrap();
    let path = |name: &str| VaultPath::parse(name).unwrap();
    // No file system takes a name so long: as good as an error of the system that has nothing to do with the note.
    let [out_of_reach, gone] = [path(&format!("{}.md", "n".repeat(300))), path("gone.md")];
    let note = NoteTraits { hash: TextHash([1; 16]), stat: FileStat::default() };
    let known = KnownNotes::from([(out_of_reach.clone(), note), (gone.clone(), note)]);
    let extent = Extent::Some { paths: known.keys().cloned().collect(), folders: BTreeSet::new() };
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
