use super::*;

#[test]
fn a_folder_that_no_daemon_has_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let log = LogFile::in_data(&dir.path().join("data"));
    writeln!(&log, "one").unwrap();
    assert!(!dir.path().join("data").exists());
    let log = LogFile::in_data(dir.path());
    writeln!(&log, "one").unwrap();
    assert!(!path(dir.path()).exists());
    fs::write(dir.path().join("lock"), "").unwrap();
    writeln!(&log, "two").unwrap();
    assert_eq!(fs::read_to_string(path(dir.path())).unwrap(), "two\n");
}

#[test]
fn a_log_goes_along_with_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    let (late, early) = (LogFile::in_data(&old), LogFile::in_data(&old));
    let named = LogFile::open(&dir.path().join("named.log")).unwrap();
    fs::create_dir(&old).unwrap();
    fs::write(old.join("lock"), "").unwrap();
    writeln!(&early, "before").unwrap();
    fs::rename(&old, &new).unwrap();
    for log in [&late, &early, &named] {
        log.data_are_in(&new);
    }
    writeln!(&late, "late").unwrap();
    writeln!(&early, "early").unwrap();
    writeln!(&named, "named").unwrap();
    assert_eq!(fs::read_to_string(path(&new)).unwrap(), "before\nlate\nearly\n");
    assert!(!old.exists() && fs::read_to_string(dir.path().join("named.log")).unwrap() == "named\n");
}

#[test]
fn two_files_at_most_and_nobody_else_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made/daemon.log");
    let log = LogFile::bounded(&path, 100).unwrap();
    for i in 0..50 {
        writeln!(&log, "line {i:02} of the log").unwrap();
    }
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let (now, before) = (read(&path), read(&aside(&path)));
    assert!(now.len() <= 100 && before.len() <= 100 && before.len() > 60, "{} {}", now.len(), before.len());
    assert!(now.ends_with("line 49 of the log\n"), "{now}");
    assert!(format!("{before}{now}").matches("line").count() >= 5);
    for file in [&path, &aside(&path)] {
        assert_eq!(platform::files::mode(&fs::metadata(file).unwrap()), 0o600);
    }
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
    // It goes on where it was, and a line longer than all of it is still written.
    drop(log);
    let log = LogFile::bounded(&path, 100).unwrap();
    (&log).write_all(&[b'x'; 300]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 300);
}
