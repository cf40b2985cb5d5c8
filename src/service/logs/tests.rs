use super::*;

#[test]
fn entries_of_the_journal_are_lines() {
    let said = |json: &str| entry(json).map(|line| line[20..].to_owned());
    for (json, line) in [
        (r#"{"__REALTIME_TIMESTAMP":"1700000000000000","PRIORITY":"6","MESSAGE":"Started x"}"#, "Started x"),
        (
            r#"{"__REALTIME_TIMESTAMP":"1700000000000000","PRIORITY":"3","MESSAGE":"no","SITUATED_ERROR":"full","_PID":"1"}"#,
            "ERROR no error=full",
        ),
        (
            r#"{"__REALTIME_TIMESTAMP":"1700000000000000","PRIORITY":"4","MESSAGE":[104,105,255],"SITUATED_A":"1"}"#,
            "WARN hi\u{fffd} a=1",
        ),
        (r#"{"__REALTIME_TIMESTAMP":"1700000000000000","MESSAGE":null}"#, ""),
    ] {
        assert_eq!(said(json).as_deref(), Some(line));
    }
    assert_eq!((entry("-- No entries --"), entry("{}")), (None, None));
}

#[test]
fn the_end_of_a_file_and_of_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = logfile::path(dir.path());
    std::fs::write(&path, "3\n4\n").unwrap();
    std::fs::write(logfile::aside(&path), "1\n2\n").unwrap();
    let places = Places { home: "/".into(), config: "/".into(), runtime: None, search: "/nowhere".into(), uid: 0 };
    assert_eq!(find(&places, dir.path()), Some(LogPlace::File(path.clone())));
    assert_eq!(find(&places, Path::new("/nowhere")), None);
    let place = LogPlace::File(path.clone());
    assert_eq!(last(&places, &place, 3).unwrap(), ["2", "3", "4"]);
    assert_eq!(last(&places, &place, 1).unwrap(), ["4"]);
    std::fs::write(&path, "2026-11-21T10:00:00.5Z old\n2026-11-21T12:00:00.5Z new\nmore\n").unwrap();
    let noon = "2026-11-21T12:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second();
    assert_eq!(since(&places, dir.path(), noon, 9), ["2026-11-21T12:00:00.5Z new", "more"]);
}

#[test]
fn a_file_is_followed_over_its_end() {
    use std::io::Write as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("daemon.log");
    std::fs::write(&path, "old\n").unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let to = path.clone();
    let thread = std::thread::spawn(move || {
        follow_file(&to, &mut |line| {
            sender.send(line.to_owned()).unwrap();
            line != "end"
        })
    });
    let mut heard = Vec::new();
    // Until it follows, what is written is old to it.
    while heard.is_empty() {
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"more\n").unwrap();
        heard.extend(receiver.recv_timeout(Duration::from_millis(100)).ok());
    }
    // It pauses now, and hears of all this at once.
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"last\nhalf a line").unwrap();
    std::fs::rename(&path, logfile::aside(&path)).unwrap();
    std::fs::write(&path, "fresh\nend\n").unwrap();
    thread.join().unwrap().unwrap();
    let rest: Vec<String> = receiver.iter().filter(|line| line != "more").collect();
    assert_eq!((heard[0].as_str(), rest.join("|").as_str()), ("more", "last|half a line|fresh|end"));
}

#[test]
#[cfg(unix)]
fn the_newest_entries_of_a_long_journal_are_shown() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("journalctl");
    let script = "#!/bin/sh\nfor n in $(seq 1 3000); do\n\
        echo '{\"__REALTIME_TIMESTAMP\":\"1700000000000000\",\"_X\":\"'$(printf %0900d 0)'\",\"MESSAGE\":\"'$n'\"}'\ndone\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = Command::new(&program);
    let mut found = Vec::new();
    entries(&mut command, &mut |line| {
        found.push(line.to_owned());
        true
    })
    .unwrap();
    assert_eq!(found.len(), 3000);
    assert!(found[2999].ends_with(" 3000"), "{}", found[2999]);
}
