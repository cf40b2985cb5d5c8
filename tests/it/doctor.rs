//! `situated doctor` with a healthy daemon, without one, and with what is wrong on the disk.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::Place;

fn doctor(place: &Place, more: &[&str], code: i32) -> (Value, String) {
    let output = place.run(&[&["--json", "doctor"], more].concat());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["ok"], code == 0, "{text}");
    (report, text)
}

/// The checks of an id as `level: finding`.
fn of(report: &Value, id: &str) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["id"] == id);
    checks
        .map(|check| format!("{}: {}", check["level"].as_str().unwrap(), check["finding"].as_str().unwrap()))
        .collect()
}

fn place() -> Place {
    let place =
        Place::with(&[("Secret plan.md", "# Plan\n\nwords\n"), ("b.sync-conflict-20260101-000000-ABCDEFG.md", "x")]);
    std::os::unix::fs::symlink("nowhere.md", place.vault.join("Hidden thing.md")).unwrap();
    place.configure("");
    place
}

#[test]
fn a_healthy_daemon() {
    let place = place();
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let (report, text) = doctor(&place, &[], 0);
    for (id, expected) in [
        ("daemon", "ok: it answers"),
        ("version", "ok: "),
        ("config", "ok: "),
        ("data", "ok: "),
        ("socket", "ok: "),
        ("model", "ok: "),
        ("privacy", "ok: nothing leaves this machine"),
        ("vault", "ok: <vault 1>: 2 notes"),
        ("store", "ok: "),
        ("conflicts", "note: <vault 1>: 1 copy"),
        ("skipped", "note: <vault 1>: 1 file left out, a link to nothing"),
    ] {
        let found = of(&report, id);
        assert!(found.iter().any(|check| check.starts_with(expected)), "{id}: {found:?}");
    }
    for name in [
        "Secret",
        "Hidden",
        "`notes`",
        "status notes",
        place.vault.to_str().unwrap(),
        place.dir.path().to_str().unwrap(),
    ] {
        assert!(!text.contains(name), "{name} is told: {text}");
    }
    let (_, full) = doctor(&place, &["--full"], 0);
    assert!(full.contains("Hidden thing.md") && full.contains(place.vault.to_str().unwrap()), "{full}");
    let shown = place.run(&["doctor"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("nothing is wrong") || shown.contains("to look at"), "{shown}");

    // The socket is opened to others behind the daemon's back.
    std::fs::set_permissions(place.socket(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let (report, _) = doctor(&place, &[], 1);
    assert!(of(&report, "socket")[0].starts_with("fail: "), "{report}");
}

#[test]
fn without_a_daemon_what_can_be_looked_at_is() {
    let place = place();
    let (report, _) = doctor(&place, &[], 0);
    assert!(of(&report, "daemon")[0].starts_with("note: none runs"), "{report}");
    assert!(of(&report, "store")[0].contains("has no index"), "{report}");
    assert!(!place.data().exists(), "looking makes nothing");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert_eq!(daemon.stop(), Some(0));
    let (report, _) = doctor(&place, &[], 0);
    assert!(of(&report, "store")[0].starts_with("ok: <vault 1>: it opens, with 2 notes"), "{report}");
    // A database that was cut short is told of, and left for the daemon to move aside.
    let store = std::fs::read_dir(place.data().join("vaults")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(store.join("sled/db"), "").unwrap();
    let (report, _) = doctor(&place, &[], 0);
    assert!(of(&report, "store")[0].starts_with("warn: "), "{report}");
    assert_eq!(std::fs::read(store.join("sled/db")).unwrap(), b"");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    assert_eq!(daemon.stop(), Some(0));
    let (report, _) = doctor(&place, &[], 0);
    assert!(of(&report, "store").iter().any(|check| check.contains("1 damaged database moved aside")), "{report}");
}

#[test]
fn what_is_wrong_with_the_configuration_and_the_key() {
    let place = place();
    let key = place.dir.path().join("key");
    std::fs::write(&key, "sk-secret-key").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    place.configure(&format!("[context]\nprovider = \"anthropic\"\nkey_file = {key:?}\n"));
    let (report, text) = doctor(&place, &[], 1);
    assert!(of(&report, "key")[0].contains("mode 0644") && text.contains("chmod 600 ~/key"), "{text}");
    assert!(!text.contains("sk-secret"), "{text}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (report, _) = doctor(&place, &[], 0);
    assert!(of(&report, "key")[0].starts_with("ok: ") && of(&report, "privacy")[0].contains("anthropic"), "{report}");
    // As the daemon reads it: behind a link, and nothing but one word.
    let link = place.dir.path().join("link");
    std::os::unix::fs::symlink(&key, &link).unwrap();
    place.configure(&format!("[context]\nprovider = \"anthropic\"\nkey_file = {link:?}\n"));
    let (report, _) = doctor(&place, &[], 0);
    assert!(of(&report, "key")[0].starts_with("ok: "), "{report}");
    for (held, why) in
        [("", "is empty"), ("sk-secret-key\nand another", "one word"), ("\u{feff}sk-secret-key", "one word")]
    {
        std::fs::write(&key, held).unwrap();
        let (report, text) = doctor(&place, &[], 1);
        assert!(of(&report, "key")[0].starts_with("fail: ") && text.contains(why), "{report}{text}");
        assert!(!text.contains("sk-secret"), "{text}");
    }
    place.configure("[serve]\nmax_connections = 0\n");
    let (report, _) = doctor(&place, &[], 1);
    assert!(of(&report, "config")[0].starts_with("fail: "), "{report}");
}
