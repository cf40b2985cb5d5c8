use std::os::unix::fs::symlink;

use super::*;

fn mode(path: &Path) -> u32 {
    files::mode(&fs::symlink_metadata(path).unwrap()) & 0o777
}

fn open(path: &Path, mode: u32) {
    files::set_mode(path, mode).unwrap();
}

#[test]
fn what_is_ours_is_closed_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let deep = data.join("vaults/notes-1/sled/blobs");
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir(data.join("photos")).unwrap();
    let files = [data.join("vaults/notes-1/contexts.journal"), deep.join("1"), data.join("daemon.json")];
    let others = [data.join("photos/a.jpg"), place.path().join("outside")];
    for file in files.iter().chain(&others) {
        fs::write(file, "x").unwrap();
        open(file, 0o644);
    }
    let folders = [data.clone(), data.join("vaults"), data.join("vaults/notes-1"), deep.clone()];
    folders.iter().for_each(|folder| open(folder, 0o755));
    open(&data.join("photos"), 0o755);
    symlink(place.path().join("outside"), deep.join("link")).unwrap();
    symlink(data.join("photos"), data.join("models")).unwrap();

    let closed = close_to_others(&data, false);
    assert!(files.iter().all(|file| mode(file) == 0o600), "{closed:?}");
    assert!(folders.iter().chain([&data.join("vaults/notes-1/sled")]).all(|folder| mode(folder) == 0o700));
    assert!(others.iter().all(|file| mode(file) == 0o644) && mode(&data.join("photos")) == 0o755);
    assert_eq!((closed.failed.len(), closed.closed >= 7), (0, true), "{closed:?}");
    assert_eq!(close_to_others(&data, false), Closed::default(), "once");

    open(&data, 0o755);
    open(&files[0], 0o640);
    assert_eq!((close_to_others(&data, true).closed, mode(&data), mode(&files[0])), (1, 0o755, 0o600));
}
