//! What lies outside of a vault, and who is not its owner: neither is reached through the socket.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::requests::get;
use crate::support::{Place, eventually};

/// A vault with everything beside it and in it that must not be read.
fn besieged() -> Place {
    let place = Place::with(&[("inside.md", "# Inside\n\nthe note\n"), ("folder/deep.md", "# Deep\n\nthe note\n")]);
    std::fs::create_dir(place.dir.path().join("ssh")).unwrap();
    for name in ["secret.md", "ssh/id.md", "ssh/id"] {
        std::fs::write(place.dir.path().join(name), "the canary in the mine\n").unwrap();
    }
    for (target, link) in [
        ("../secret.md", "link.md"),
        ("../ssh", "ssh"),
        ("..", "up"),
        ("/", "root"),
        ("/proc/self/root", "magic"),
        ("inside.md", "inner.md"),
        ("loop.md", "loop.md"),
    ] {
        symlink(target, place.vault.join(link)).unwrap();
    }
    place
}

#[test]
fn get_reads_nothing_but_the_vault() {
    let place = besieged();
    let mut daemon = place.start();
    let before = place.tree();
    let secret = place.dir.path().join("secret.md");
    let absolute = secret.to_str().unwrap();
    let through = format!("{}/../secret.md", place.vault.display());
    let root = format!("root{absolute}");
    let magic = format!("magic{absolute}");
    let paths = [
        "../secret.md",
        "./../secret.md",
        "folder/../../secret.md",
        "folder/../inside.md",
        "../notes/inside.md",
        absolute,
        &through,
        &root,
        &magic,
        "link.md",
        "ssh/id.md",
        "ssh/id",
        "up/secret.md",
        "loop.md",
        "/etc/passwd",
        "//etc/passwd",
        "~/.ssh/id_rsa",
        "/proc/self/environ",
        "inside.md\0",
        "\0",
        "inside.md/",
        "inside.md/..",
        "folder",
        "",
        ".",
        "..",
        "/",
        "%2e%2e/secret.md",
        "..\\secret.md",
        "file:///etc/passwd",
    ];
    for method in ["get", "plan", "explain", "related"] {
        for path in paths {
            for vault in [json!(null), json!("notes")] {
                match daemon.try_call(method, json!({"path": path, "vault": vault})) {
                    Ok(answer) => panic!("{method} {path:?}: {answer}"),
                    Err(error) => {
                        let kind = error["data"]["kind"].as_str().unwrap();
                        assert!(["not_found", "invalid_params", "forbidden"].contains(&kind), "{path:?}: {error}");
                        assert!(!error.to_string().contains("canary"), "{path:?}: {error}");
                    }
                }
            }
        }
    }
    assert!(daemon.holding("canary").is_empty());
    let inside = place.vault.join("inside.md");
    for path in ["inside.md", inside.to_str().unwrap()] {
        assert_eq!(daemon.ask(&get(path)).text, "# Inside\n\nthe note\n");
    }
    assert_eq!(place.tree(), before);
}

#[test]
fn a_link_that_is_swapped_in_while_it_is_read_reads_nothing_outside() {
    let place = besieged();
    let mut daemon = place.start();
    let stop = AtomicBool::new(false);
    let (note, folder) = (place.vault.join("swap.md"), place.vault.join("swapped"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = std::fs::remove_file(&note);
                std::fs::write(&note, "# Harmless\n").unwrap();
                let _ = std::fs::remove_file(&folder);
                let _ = std::fs::create_dir(&folder);
                let _ = std::fs::write(folder.join("id.md"), "# Harmless\n");
                let _ = std::fs::remove_file(&note);
                symlink("../secret.md", &note).unwrap();
                let _ = std::fs::remove_dir_all(&folder);
                symlink("../ssh", &folder).unwrap();
            }
        });
        let mut read = 0;
        for _ in 0..1500 {
            for path in ["swap.md", "swapped/id.md"] {
                if let Ok(answer) = daemon.try_ask(&get(path)) {
                    read += 1;
                    assert!(!format!("{answer:?}").contains("canary"), "{answer:?}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(read > 0, "nothing was ever read: the test shows nothing");
    });
    daemon.sync();
    daemon.wait_idle();
    assert!(daemon.holding("canary").is_empty());
}

#[test]
#[cfg_attr(not(has_other_users), ignore = "needs root, and a build folder that others may enter")]
fn another_user_is_not_answered() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    let place = Place::with(&[("b.md", "# B\n\na badger\n")]);
    let mut daemon = place.start();
    // Somebody has opened all doors by hand.
    for dir in [place.dir.path(), place.socket().parent().unwrap()] {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(place.socket(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = place.command();
    command.args(["--json", "search", "badger"]).uid(65534).gid(65534);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("b.md") && !said.contains("\"hits\""), "{said}");
    eventually("it is told", || daemon.log().contains("another user"));
    assert_eq!(daemon.holding("badger"), ["b.md"]);
}
