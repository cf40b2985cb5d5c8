use super::*;

fn places() -> Places {
    Places {
        home: "/Users/me".into(),
        config: "/Users/me/.config".into(),
        runtime: None,
        search: "/nowhere".into(),
        uid: 501,
    }
}

#[test]
fn the_commands_in_order() {
    let lines: Vec<String> = commands(&places()).iter().map(|words| words.join(" ")).collect();
    assert_eq!(
        lines,
        [
            "bootout gui/501/dev.situated.daemon",
            "enable gui/501/dev.situated.daemon",
            "bootstrap gui/501 /Users/me/Library/LaunchAgents/dev.situated.daemon.plist",
            "kickstart gui/501/dev.situated.daemon",
        ]
    );
    assert_eq!(stderr(&places()), std::path::Path::new("/Users/me/Library/Logs/situated/stderr.log"));
}

#[test]
fn what_launchd_prints_is_read() {
    let text = "gui/501/dev.situated.daemon = {\n\tstate = running\n\n\tprogram = /opt/s\n\tpid = 812\n\tlast exit code = 0\n}\n";
    assert_eq!(printed(text), State { loaded: true, pid: Some(812), last_exit: Some(0) });
    let failed = printed("\tstate = spawn scheduled\n\tlast exit code = 78\n");
    assert_eq!((failed.pid, failed.failure().unwrap().contains("config check")), (None, true));
    assert_eq!(printed("\tlast exit code = (never exited)\n").last_exit, None);
}

#[test]
fn failures_are_told_in_words() {
    assert!(meaning(Some(5), "Bootstrap failed: 5: Input/output error").contains("desktop session"));
    assert!(meaning(Some(125), "x").contains("sudo"));
    assert_eq!(meaning(Some(3), "no such process"), "no such process");
}
