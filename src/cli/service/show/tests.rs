use super::super::super::search::tests::Page;
use super::*;

fn shown_as(found: &Inspection, daemon: Option<&(u32, String)>) -> String {
    shown_with(&[], found, daemon)
}

fn shown_with(providers: &[String], found: &Inspection, daemon: Option<&(u32, String)>) -> String {
    let page = Page::default();
    let log = LogPlace::File("/data/daemon.log".into());
    print(found, providers, daemon, Some(&log), 1_700_007_200, &mut Out::to(page.clone(), 90)).unwrap();
    page.text()
}

fn running() -> Inspection {
    Inspection {
        keeper: "systemd",
        reachable: true,
        unit: Some("/home/me/.config/systemd/user/situated.service".into()),
        ours: true,
        enabled: true,
        running: true,
        pid: Some(12),
        since: Some(1_700_000_000),
        program: Some("/usr/bin/situated".into()),
        program_exists: true,
        program_is_this: true,
        linger: Some(false),
        strict: true,
        ..Inspection::default()
    }
}

#[test]
fn it_says_how_the_service_stands() {
    let this = (12, env!("CARGO_PKG_VERSION").to_owned());
    let text = shown_as(&running(), Some(&this));
    for expected in
        ["● running since 2 h ago (pid 12)\n", "at login  starts", "at logout ends", "no network", "/data/daemon.log"]
    {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(text.lines().count() <= 9, "{text}");
    let older = Inspection { older: true, version: Some("0.0.9".into()), program_exists: false, ..running() };
    let text = shown_as(&older, Some(&(12, "0.0.9\u{1b}[2J".into())));
    for expected in ["is gone", "its unit is of 0.0.9", "the daemon is 0.0.9"] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_unit_that_forbids_what_a_provider_needs_is_told() {
    let providers = ["[context] openai".to_owned()];
    let said =
        |found: &Inspection| shown_with(&providers, found, None).split_whitespace().collect::<Vec<_>>().join(" ");
    let told = said(&running());
    assert!(
        told.contains("may not use the network, which [context] openai needs: `situated service install`"),
        "{told}"
    );
    let told = said(&Inspection { network: true, ..running() });
    assert!(!told.contains("may not use"), "{told}");
}

#[test]
fn what_is_wrong_comes_first() {
    let down = Inspection { running: false, pid: None, since: None, ..running() };
    let table = [
        (Inspection::default(), "not installed"),
        (Inspection { masked: true, ..down.clone() }, "masked"),
        (Inspection { failed: Some("exit code 70".into()), ..down.clone() }, "failed: exit code 70"),
        (Inspection { reachable: false, keeper_says: "no bus".into(), ..down.clone() }, "cannot be asked: no bus"),
        (down, "installed, not running"),
    ];
    for (found, expected) in table {
        let text = shown_as(&found, None);
        assert!(text.lines().next().unwrap().contains(expected), "{text}");
    }
    assert!(shown_as(&running(), None).contains("does not answer yet"));
    assert!(
        shown_as(&Inspection::default(), Some(&(9, "1".into()))).contains("pid 9 of version 1 was started by hand")
    );
}
