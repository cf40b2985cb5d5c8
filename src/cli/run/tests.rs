use super::super::search::tests::Page;
use super::*;
use protocol::decision::Reason;
use protocol::events::Event;

fn decision(path: &str) -> Decision {
    Decision {
        vault: "notes".into(),
        path: path.into(),
        reason: Reason::BodyChanged,
        kept: 7,
        reembedded: 1,
        regenerated: 0,
        removed: 0,
        steps: Vec::new(),
        seq: 1,
        took_ms: 4.2,
        at: 1_700_000_000,
    }
}

fn status() -> Status {
    serde_json::from_value(serde_json::json!({
        "state": "idle", "vaults": [], "problems": [], "leaves_machine": [], "contextualizer": "", "embedder": "",
        "uptime_s": 0, "rss_bytes": 0, "version": "", "pid": 1, "supervisor": "none", "socket": "/s"
    }))
    .unwrap()
}

#[test]
fn quiet_until_ready_then_a_line_for_each_decision() {
    let page = Page::default();
    let mut reporter = Reporter::new(Out::to(page.clone(), 90), true);
    report(&Notice::Decision(decision("a.md")), &mut reporter);
    assert_eq!(page.text(), "");
    reporter.ready(&status());
    report(&Notice::Decision(decision("Projects/Pl\u{1b}[2Jan.md")), &mut reporter);
    report(&Notice::Decision(decision("b.md")), &mut reporter);
    let text = page.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("ready  0 notes, 0 chunks") && lines[0].ends_with("/s"), "{text}");
    assert!(lines[1].contains("BodyChanged") && lines[1].ends_with("kept 7, re-embedded 1  4.2 ms"), "{text}");
    assert_eq!(lines[1].find("BodyChanged"), lines[2].find("BodyChanged"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_daemon_with_a_problem_is_ready_and_says_what_it_decides() {
    let page = Page::default();
    let mut reporter = Reporter::new(Out::to(page.clone(), 90), true);
    reporter.start(&Status { state: RunState::Degraded, problems: vec!["the store was damaged".into()], ..status() });
    report(&Notice::Decision(decision("a.md")), &mut reporter);
    let text = page.text();
    let told = ["ready  0 notes", "the store was damaged", "BodyChanged"];
    assert!(told.iter().all(|told| text.contains(told)), "{text}");
}

#[test]
fn a_daemon_that_is_ready_says_what_waits_for_its_user() {
    let page = Page::default();
    let vault = serde_json::json!({
        "name": "Wrong", "path": "/w", "notes": 0, "chunks": 0, "seq": 1, "last_change": null, "pending": 0,
        "skipped": [], "skipped_total": 0, "conflicts": [], "warned": 0, "watch": "inotify", "watch_problem": null,
        "doubt": null, "index_bytes": 0, "decisions": [],
    });
    let mut told = Status { vaults: vec![serde_json::from_value(vault).unwrap()], ..status() };
    told.contexts.offers = vec![protocol::contexts::Offer::default()];
    Reporter::new(Out::to(page.clone(), 90), true).ready(&told);
    let text = page.text();
    for said in ["Wrong: no note in it", "waits for your yes: `situated contexts start`"] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn what_is_typed_is_wrong_and_not_the_configuration() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("My Vault")).unwrap();
    let said = |vaults: &[std::path::PathBuf]| {
        let overrides =
            Overrides { vaults: vaults.to_vec(), data_dir: Some(dir.path().join("data")), ..Overrides::default() };
        let errors = Config::load(&overrides).expect_err("there is no such folder");
        let CliFailure::Said { message, .. } = refused(errors, &overrides) else { panic!("nothing is said") };
        message
    };
    let parts = said(&[dir.path().join("My"), "Vault".into()]);
    assert!(parts.contains("stands in quotes: `situated run '") && parts.contains("My Vault'`"), "{parts}");
    let around = said(&[dir.path().to_owned()]);
    assert!(around.contains("nothing is ever written there") && !around.contains("configuration"), "{around}");
}

#[test]
fn what_is_told_is_understood() {
    let job = protocol::jobs::Job::dry_run(protocol::jobs::JobKind::Sync, protocol::jobs::Scope::default(), None, None);
    for told in [
        Notice::Decision(decision("a.md")),
        Notice::Index { vault: "v".into(), seq: 1, notes: 2, chunks: 3 },
        Notice::State { state: RunState::Idle },
        Notice::Job { job: Box::new(job) },
    ] {
        let event = serde_json::json!(told);
        assert_eq!(event["kind"], told.kind(), "{event}");
        let read: Event = serde_json::from_value(event).unwrap();
        assert!(matches!(&read, Event::Notice(notice) if *notice == told), "{read:?}");
    }
    assert!(serde_json::from_value::<Event>(serde_json::json!({ "kind": "weather" })).is_err());
}

#[test]
fn a_reader_that_went_away_silences_the_report() {
    struct Closed;
    impl io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut reporter = Reporter::new(Out::to(Closed, 80), true);
    reporter.ready(&status());
    assert!(reporter.silent());
}

#[test]
fn long_paths_keep_their_end() {
    let line = decision_line(&decision("A very deep/folder of/projects/with a long name/Plan.md"), false, 80);
    assert!(line.contains("…") && line.contains("Plan.md"), "{line}");
}

#[test]
fn a_decision_has_one_line_however_narrow_the_terminal() {
    let decision = decision("A very deep/folder of/projects/with a long name/Plan.md");
    for width in [53, 56, 60, 64, 72, 80, 120] {
        let line = decision_line(&decision, false, width);
        let plain = anstream::adapter::strip_str(&line).to_string();
        assert!(columns(&plain) <= width && plain.contains("Plan.md"), "{width}: {plain}");
        assert_eq!(plain.contains(" ms"), width >= 72, "{width}: {plain}");
    }
}
