use std::io::Write as _;
use std::sync::Arc;

use super::*;

#[test]
fn bytes_are_read_and_written_at_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let file = OpenOptions::new().read(true).write(true).create_new(true).private().open(&path).unwrap();
    write_all_at(&file, b"hello world", 0).unwrap();
    write_all_at(&file, b"W", 6).unwrap();
    let mut read = [0; 5];
    read_exact_at(&file, &mut read, 6).unwrap();
    assert_eq!(&read, b"World");
    assert_eq!(read_exact_at(&file, &mut read, 7).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert!(!is_open_to_others(&file.metadata().unwrap()));
}

#[test]
fn a_mapped_file_grows_and_says_when_it_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    let file = Arc::new(file);
    assert!(Mapped::of(&file, 1).is_err(), "there is nothing yet");
    write_all_at(&file, b"one", 0).unwrap();
    let one = Mapped::of(&file, 3).unwrap();
    assert!(one.grown(4).is_err());
    let long = vec![b'x'; 3 << 20];
    write_all_at(&file, &long, 3).unwrap();
    let (two, three) = (one.grown(4).unwrap(), one.grown(3 + long.len()).unwrap());
    assert_eq!((&*one, &*two, three.len()), (&b"one"[..], &b"onex"[..], 3 + long.len()));
    assert!(three[3..] == long[..] && three.is_whole());
    drop((one, two));
    if cfg!(unix) {
        file.set_len(4).unwrap();
        assert!(!three.is_whole());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_let_go_is_no_memory_and_is_there_again_when_it_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, vec![b'x'; 3 << 20]).unwrap();
    let mapped = Mapped::of(&Arc::new(File::open(&path).unwrap()), 3 << 20).unwrap();
    let resident = || {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let of_file = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
        let kilobytes = of_file.skip(1).find_map(|line| line.strip_prefix("Rss:")).unwrap();
        kilobytes.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    assert!(mapped.iter().all(|byte| *byte == b'x') && resident() >= 3 << 10);
    mapped.let_go();
    assert_eq!(resident(), 0);
    assert!(mapped.iter().all(|byte| *byte == b'x') && resident() >= 3 << 10);
}

#[test]
fn a_file_is_known_under_another_name() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    File::create(&one).unwrap().write_all(b"x").unwrap();
    let id = FileId::at(&one).unwrap();
    assert_eq!(FileId::of(&File::open(&one).unwrap()).unwrap(), id);
    std::fs::rename(&one, &two).unwrap();
    assert_eq!(FileId::at(&two).unwrap(), id);
    File::create(&one).unwrap();
    assert_ne!(FileId::at(&one).unwrap(), id);
    assert_ne!(FileId::at(dir.path()).unwrap(), id);
}

#[test]
fn times_are_those_of_now() {
    let dir = tempfile::tempdir().unwrap();
    let (modified, changed) = times(&std::fs::metadata(dir.path()).unwrap());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    for time in [modified, changed] {
        assert!((now - time).abs() < 60_000_000_000, "{time} is not {now}");
    }
}

#[test]
fn there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let Room { free, total } = Room::at(dir.path()).unwrap();
    assert!(0 < free && free <= total);
    is_writable(dir.path()).unwrap();
    sync_folder(dir.path()).unwrap();
    assert!(Room::at(&dir.path().join("nosuch")).is_err());
}

#[cfg(unix)]
#[test]
fn rights_of_others_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    File::create(&path).unwrap();
    set_mode(&path, 0o644).unwrap();
    let close = || close_to_others(&path, &std::fs::metadata(&path).unwrap()).unwrap();
    assert_eq!((close(), close()), (true, false));
    assert_eq!(mode(&std::fs::metadata(&path).unwrap()), 0o600);
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    // What an earlier process left is written over.
    std::fs::write(dir.path().join("file.new"), "longer than the text").unwrap();
    for (text, wanted) in [("one", 0o600), ("two", 0o644)] {
        replace(&path, text.as_bytes(), wanted).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert!(cfg!(windows) || mode(&path.metadata().unwrap()) & 0o777 == wanted);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    let folder = dir.path().join("folder");
    std::fs::create_dir_all(folder.join("full")).unwrap();
    assert!(replace(&folder, b"a file cannot take its place", 0o600).is_err());
    assert!(folder.join("full").is_dir() && !dir.path().join("folder.new").exists());
}
