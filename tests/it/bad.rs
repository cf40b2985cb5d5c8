//! Bad input: vaults, configurations and notes that are wrong in every way that happens. Each is told clearly,
//! nothing is lost, and the vault is left as it was.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use protocol::decision::{PlanRequest, Reason};
use protocol::status::{RunState, Status};

use crate::requests::get;
use crate::support::{Daemon, Place, eventually, make_fifo};

/// The user that `root` becomes where permissions must bind.
const NOBODY: u32 = 65534;

/// Exit code and what was said on standard error.
fn failed(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_vault_that_is_none_is_told_before_anything_is_done() {
    let place = Place::new();
    let missing = place.dir.path().join("nowhere");
    let file = place.dir.path().join("file.md");
    std::fs::write(&file, "# A note\n").unwrap();
    for (vault, what) in [(&missing, "there is no folder"), (&file, "is not a folder")] {
        let vault = vault.to_str().unwrap();
        let (code, said) = failed(place.command().args(["run", vault]));
        assert_eq!(code, 78, "{said}");
        assert!(said.contains(vault) && said.contains(what), "{said}");
    }
    let config = format!("[[vault]]\nname = \"notes\"\npath = {missing:?}\n");
    std::fs::write(place.dir.path().join("config.toml"), config).unwrap();
    let (code, said) = failed(place.command().arg("run"));
    assert_eq!(code, 78, "{said}");
    assert!(said.contains("config.toml:3:1") && said.contains("vault.notes.path"), "{said}");
    assert!(!place.data().exists() && !place.socket().exists());
}

#[test]
fn a_limit_of_open_files_is_raised_and_one_that_cannot_be_is_told() {
    let place = Place::with(&[("a.md", "# A\n\nA heron.\n")]);
    let limited = |limit: &str| {
        let mut command = place.command();
        let program = command.get_program().to_owned();
        let within = format!("ulimit {limit}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = shell;
        command.arg("-c").arg(within).arg(program).arg("run").arg(&place.vault);
        command
    };
    let (code, said) = failed(&mut limited("-n 24"));
    assert_eq!((code, said.lines().count()), (74, 1), "{said}");
    assert!(said.contains("24 files at once") && said.contains("ulimit -n"), "{said}");
    assert!(!place.data().exists(), "nothing is begun");
    let mut daemon = place.spawn_command(&mut limited("-S -n 24"));
    daemon.wait_idle();
    assert_eq!(daemon.holding("heron"), ["a.md"]);
}

#[test]
fn a_vault_inside_another_or_around_the_data_is_told() {
    let place = Place::with(&[("inner/a.md", "# A\n")]);
    place.configure(&format!("\n[[vault]]\nname = \"inner\"\npath = {:?}\n", place.vault.join("inner")));
    let (code, said) = failed(place.command().arg("run"));
    assert_eq!(code, 78, "{said}");
    assert!(said.contains("config.toml:") && said.contains("lies inside the vault `notes`"), "{said}");

    place.configure("");
    let (code, said) = failed(place.command().env("SITUATED_DATA_DIR", place.vault.join("data")).arg("run"));
    assert_eq!(code, 78, "{said}");
    assert!(said.contains("nothing is ever written there"), "{said}");
    assert!(!place.vault.join("data").exists());
}

/// Lets `nobody` have a place, for `root` is bound by no permission.
fn give_to_nobody(path: &Path) {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| give_to_nobody(&entry.unwrap().path()));
    }
}

/// A command that permissions bind.
pub(crate) fn bound(place: &Place) -> Command {
    let mut command = place.command();
    if rustix::process::geteuid().is_root() {
        give_to_nobody(place.dir.path());
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn permit(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
#[cfg_attr(
    not(is_bound_by_permissions),
    ignore = "root is bound by no permission, and nobody else may enter the build folder"
)]
fn a_vault_that_may_not_be_read_is_told() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut command = bound(&place);
    permit(&place.vault, 0o000);
    let (code, said) = failed(command.args(["run", place.vault.to_str().unwrap()]));
    permit(&place.vault, 0o755);
    assert_eq!(code, 78, "{said}");
    assert!(said.contains(place.vault.to_str().unwrap()) && said.contains("cannot be read"), "{said}");
}

#[test]
#[cfg_attr(
    not(is_bound_by_permissions),
    ignore = "root is bound by no permission, and nobody else may enter the build folder"
)]
fn notes_and_folders_that_may_not_be_read_are_reported_and_the_rest_is_served() {
    let place = Place::with(&[
        ("a.md", "# A\n\naardvark\n"),
        ("locked.md", "# Locked\n\nbadger\n"),
        ("shut/c.md", "# C\n\ncougar\n"),
    ]);
    let before = place.tree();
    let mut command = bound(&place);
    permit(&place.vault.join("locked.md"), 0o000);
    permit(&place.vault.join("shut"), 0o000);
    let mut daemon = place.spawn_command(command.args(["run", place.vault.to_str().unwrap()]));
    daemon.wait_vault("found", |vault| vault.notes == 1);
    daemon.wait_holding("aardvark", &["a.md"]);
    let status = daemon.wait_vault("reported", |vault| vault.skipped_total == 2);
    for path in ["locked.md", "shut"] {
        let why = why_skipped(&status, path).to_lowercase();
        assert!(why.contains("permission denied"), "{path}: {why}");
    }
    // Once it may be read it is.
    permit(&place.vault.join("locked.md"), 0o644);
    daemon.wait_holding("badger", &["locked.md"]);
    permit(&place.vault.join("shut"), 0o755);
    daemon.sync();
    daemon.wait_holding("cougar", &["shut/c.md"]);
    // What may no longer be read is not taken for gone.
    permit(&place.vault.join("shut"), 0o000);
    daemon.sync();
    assert_eq!(daemon.holding("cougar"), ["shut/c.md"]);
    permit(&place.vault.join("shut"), 0o755);
    assert_eq!(place.tree(), before);
}

#[test]
fn a_wrong_configuration_is_told_with_its_place_and_what_was_meant() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let cases: [(&str, &[&str]); 11] = [
        ("[search]\nlimmit = 5\n", &["config.toml:2:1: search.limmit", "did you mean `limit`?"]),
        ("[serach]\nlimit = 5\n", &["config.toml:1:2: serach", "did you mean `[search]`?"]),
        ("[search]\nlimit = \"many\"\n", &["config.toml:2:9: search.limit"]),
        ("[search]\nlimit = 0\n", &["config.toml:2:9: search.limit"]),
        ("[search]\nlimit = -5\n", &["config.toml:2:9: search.limit"]),
        ("[chunk]\nstrategy = \"obsidan\"\n", &["config.toml:2:12: chunk.strategy", "did you mean `obsidian`?"]),
        ("[chunk]\ntarget = 5000\n", &["config.toml:2:1: chunk.target", "chunk.max"]),
        ("[watch]\nquiet = \"soon\"\n", &["config.toml:2:9: watch.quiet"]),
        ("[search\nlimit = 5\n", &["config.toml:1:8", "not TOML"]),
        ("limit = 5\n", &["config.toml:1:1: limit", "belongs in `[search]`"]),
        ("[[vault]]\npth = \"/tmp\"\n", &["config.toml:2:1: vault.pth", "did you mean `path`?"]),
    ];
    for (text, expected) in cases {
        std::fs::write(place.dir.path().join("config.toml"), text).unwrap();
        let (code, said) = failed(place.command().args(["run", place.vault.to_str().unwrap()]));
        assert_eq!(code, 78, "{text}: {said}");
        let output = place.run(&["config", "check"]);
        assert_eq!(output.status.code(), Some(1), "{text}");
        let checked = String::from_utf8(output.stdout).unwrap();
        for expected in expected {
            assert!(
                said.contains(expected) && checked.contains(expected),
                "{text}: no {expected:?} in\n{said}{checked}"
            );
        }
    }
    // All that is wrong is told at once.
    place.configure("poll = 7\n[search]\nlimmit = 5\nper_note = \"x\"\n");
    let (_, said) = failed(place.command().arg("run"));
    for expected in ["config.toml:4:8", "config.toml:6:1", "config.toml:7:12"] {
        assert!(said.contains(expected), "no {expected:?} in\n{said}");
    }
    // Not text at all, and no file at all.
    std::fs::write(place.dir.path().join("config.toml"), b"\xff\xfe\0").unwrap();
    assert_eq!(failed(place.command().arg("run")).0, 78);
    let (code, said) = failed(place.command().args(["--config", "/nonexistent/c.toml", "run"]));
    assert!(code == 78 && said.contains("/nonexistent/c.toml") && said.contains("situated init"), "{said}");
    let (code, said) = failed(place.command().env("SITUATED_CONFIG", "/dev/zero").arg("run"));
    assert!(code == 78 && said.contains("/dev/zero"), "{said}");
}

#[test]
fn a_second_daemon_is_refused_and_names_the_first() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let mut first = place.start();
    let vault = place.vault.to_str().unwrap();
    let (code, said) = failed(place.command().args(["run", vault]));
    assert_eq!(code, 75, "{said}");
    assert!(said.contains(&first.pid().to_string()) && said.contains("situated stop"), "{said}");
    // Another socket does not make it another daemon, and other data not another socket.
    let (code, said) = failed(place.command().env("SITUATED_SOCKET", place.dir.path().join("t")).args(["run", vault]));
    assert_eq!(code, 75, "{said}");
    let other = place.dir.path().join("other");
    let (code, said) = failed(place.command().env("SITUATED_DATA_DIR", &other).args(["run", vault]));
    assert_eq!(code, 75, "{said}");
    assert!(said.contains("serve.socket"), "{said}");
    assert_eq!(first.holding("aardvark"), ["a.md"]);
}

#[test]
fn of_many_that_start_at_once_one_serves() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    let arguments = ["run", place.vault.to_str().unwrap()];
    let mut daemons: Vec<Daemon> = (0..6).map(|_| place.spawn(&arguments)).collect();
    let mut running = Vec::new();
    let until = Instant::now() + Duration::from_secs(30);
    while daemons.len() + running.len() > 1 && Instant::now() < until {
        for mut daemon in std::mem::take(&mut daemons) {
            match daemon.exited() {
                Some(code) => assert_eq!(code, 75, "{}", daemon.log()),
                None => running.push(daemon),
            }
        }
        daemons.append(&mut running);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(daemons.len(), 1);
    let mut daemon = daemons.remove(0);
    daemon.wait_idle();
    daemon.wait_holding("aardvark", &["a.md"]);
}

#[test]
fn a_socket_path_that_is_too_long_names_the_setting() {
    let place = Place::with(&[("a.md", "# A\n")]);
    let long = place.dir.path().join("s".repeat(120));
    let vault = place.vault.to_str().unwrap();
    let (code, said) = failed(place.command().env("SITUATED_SOCKET", &long).args(["run", vault]));
    assert_eq!(code, 78, "{said}");
    assert!(said.contains("serve.socket") && said.contains("103"), "{said}");
    place.configure(&format!("[serve]\nsocket = {long:?}\n"));
    let (code, said) = failed(place.command().env_remove("SITUATED_SOCKET").arg("run"));
    assert_eq!(code, 78, "{said}");
    assert!(said.contains("config.toml:5:1: serve.socket") && said.contains("103"), "{said}");
}

#[test]
fn a_socket_of_a_killed_daemon_is_in_nobodys_way() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n")]);
    for _ in 0..3 {
        let mut daemon = place.start();
        daemon.wait_holding("aardvark", &["a.md"]);
        daemon.kill();
        assert!(place.socket().exists(), "nothing was left behind: the test shows nothing");
        let output = place.run(&["status"]);
        assert_eq!(output.status.code(), Some(3));
    }
    let mut daemon = place.start();
    daemon.wait_holding("aardvark", &["a.md"]);
    // What is no socket is left alone.
    assert_eq!(daemon.stop(), Some(0));
    std::fs::write(place.socket(), "mine").unwrap();
    let (code, said) = failed(place.command().args(["run", place.vault.to_str().unwrap()]));
    assert_eq!(code, 73, "{said}");
    assert_eq!(std::fs::read_to_string(place.socket()).unwrap(), "mine");
}

fn why_skipped<'a>(status: &'a Status, path: &str) -> &'a str {
    let skipped = &status.vaults[0].skipped;
    let entry = skipped.iter().find(|file| file.path == path);
    &entry.unwrap_or_else(|| panic!("{path} is not among {skipped:?}")).why
}

/// Aliases that would unfold to 9^9 words.
fn alias_bomb() -> String {
    use std::fmt::Write as _;
    let mut text = "---\na: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for (name, of) in ('b'..='j').zip('a'..='i') {
        let _ = writeln!(text, "{name}: &{name} [{}]", vec![format!("*{of}"); 9].join(", "));
    }
    text + "---\n# Bomb\n\nthe bombword\n"
}

fn write_monsters(place: &Place) {
    let megabytes = |word: &str, n: usize| format!("{word} {}", "lorem ipsum ".repeat((n << 20) / 12));
    let headings: String = (0..100_000).map(|i| format!("# heading{i}\n")).collect();
    let list: String = (0..10_000).map(|i| format!("{}- item\n", " ".repeat(2 * (i % 400)))).collect();
    let tags: Vec<String> = (0..5000).map(|i| format!("tag{i}")).collect();
    let inline: Vec<String> = (0..5000).map(|i| format!("#inline{i}")).collect();
    let utf16: Vec<u8> = "\u{feff}# Sixteen\n\nthe sixteenword\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("good.md", "# Good\n\nthe goodword\n");
    place.write("huge.md", megabytes("hugeword", 50));
    place.write("line10.md", megabytes("tenword", 10));
    place.write("line6.md", megabytes("sixword", 6));
    place.write("headings.md", headings + "\nthe headingword\n");
    place.write("quotes.md", "> ".repeat(10_000) + "the quoteword\n");
    place.write("bullets.md", "- ".repeat(10_000) + "the bulletword\n");
    place.write("list.md", list + "\nthe listword\n");
    place.write("emphasis.md", "*_".repeat(50_000) + "the emphasisword " + &"_*".repeat(50_000) + "\n");
    place.write("brackets.md", "[".repeat(50_000) + "the bracketword " + &"](".repeat(50_000) + "\n");
    place.write("fences.md", "```\n".repeat(20_001) + "the fenceword\n");
    place.write("table.md", "|a".repeat(20_000) + "|\n" + &"|-".repeat(20_000) + "|\nthe tableword\n");
    place.write("nul.md", b"# Nul\n\nthe nulword \0\0\0 and after\n");
    place.write("latin.md", b"# Latin\n\nthe latinword caf\xe9 \xff\xfe\n");
    place.write("utf16.md", utf16);
    place.write("yaml.md", "---\ntitle: [broken\ntags: {a\n---\n# Yaml\n\nthe yamlword\n");
    place.write("unclosed.md", "---\ntitle: never ends\n\nthe unclosedword\n");
    place.write("tags.md", format!("---\ntags: [{}]\n---\n\nthe tagsword {}\n", tags.join(", "), inline.join(" ")));
    place.write("bomb.md", alias_bomb());
    place.write("deep.md", format!("---\na: {}x{}\n---\n\nthe deepword\n", "[".repeat(9000), "]".repeat(9000)));
    place.write("empty.md", "");
    place.write("blank.md", "\n".repeat(100_000));
    place.write("noise.md", (0..200_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect::<Vec<_>>());
}

#[test]
fn one_vault_of_monsters_is_indexed_and_its_good_note_found() {
    let place = Place::new();
    write_monsters(&place);
    let before = place.tree();
    let mut daemon = place.start();
    daemon.wait_holding("goodword", &["good.md"]);
    for name in [
        "six", "quote", "bullet", "list", "emphasis", "bracket", "fence", "table", "nul", "latin", "sixteen", "yaml",
        "unclosed", "tags", "bomb", "deep", "heading",
    ] {
        let file = match name {
            "six" => "line6.md".to_owned(),
            "sixteen" => "utf16.md".to_owned(),
            "quote" | "bullet" | "bracket" | "fence" | "heading" => format!("{name}s.md"),
            name => format!("{name}.md"),
        };
        assert_eq!(daemon.holding(&format!("{name}word")), [file], "{name}");
    }
    assert_eq!(daemon.holding("heading77777"), ["headings.md"]);
    let status = daemon.wait_for("idle", |status| status.state == RunState::Idle);
    assert_eq!(status.vaults[0].skipped_total, 2, "{:?}", status.vaults[0].skipped);
    for (path, bytes) in [("huge.md", "52428"), ("line10.md", "10485")] {
        let why = why_skipped(&status, path);
        assert!(why.contains(bytes) && why.contains("max_note_bytes"), "{path}: {why}");
        assert!(daemon.holding(if path == "huge.md" { "hugeword" } else { "tenword" }).is_empty());
        let error = daemon.refused(&get(path));
        assert!(error.message.contains("max_note_bytes"), "{error:?}");
    }
    for (path, expected) in [("latin.md", "not UTF-8"), ("yaml.md", "not valid YAML"), ("bomb.md", "not valid YAML")] {
        let warnings = daemon.ask(&get(path)).warnings.concat();
        assert!(warnings.contains(expected) && warnings.contains("line "), "{path}: {warnings}");
    }
    assert_eq!(daemon.ask(&get("good.md")).warnings, [""; 0]);
    // An edit of each is nothing special.
    for (path, word) in [("headings.md", "headingword"), ("line6.md", "sixword"), ("bomb.md", "bombword")] {
        let text = std::fs::read_to_string(place.vault.join(path)).unwrap();
        place.write(path, text.replace(word, "editedword"));
        daemon.wait_holding("editedword", &[path]);
        place.write(path, text);
        daemon.wait_holding("editedword", &[]);
    }
    assert_eq!(place.tree(), before);
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.start();
    assert_eq!(daemon.holding("bombword"), ["bomb.md"]);
}

#[test]
fn status_counts_the_notes_with_warnings() {
    let place = Place::with(&[("good.md", "# Good\n"), ("yaml.md", "---\na: [b\n---\n# Yaml\n")]);
    place.write("latin.md", b"# Latin\n\ncaf\xe9\n");
    let mut daemon = place.start();
    daemon.wait_vault("counted", |vault| vault.warned == 2);
    assert_eq!(daemon.stop(), Some(0));
    let mut daemon = place.start();
    daemon.wait_vault("still counted", |vault| vault.warned == 2);
    place.write("latin.md", "# Latin\n\ncafé\n");
    daemon.wait_vault("mended", |vault| vault.warned == 1);
    std::fs::rename(place.vault.join("yaml.md"), place.vault.join("moved.md")).unwrap();
    daemon.wait_holding("Yaml", &["moved.md"]);
    daemon.wait_vault("moved", |vault| vault.warned == 1);
    std::fs::remove_file(place.vault.join("moved.md")).unwrap();
    daemon.wait_vault("gone", |vault| vault.warned == 0);
}

#[test]
fn a_note_that_outgrows_the_limit_is_reported_once_and_comes_back() {
    let place = Place::with(&[("a.md", "# A\n\naardvark\n"), ("b.md", "# B\n\nbadger\n")]);
    let mut daemon = place.start();
    place.write("a.md", format!("# A\n\nplatypus {}\n", "x ".repeat(5 << 20)));
    daemon.wait_vault("reported", |vault| vault.skipped_total == 1);
    place.write("a.md", format!("# A\n\nplatypus {}\n", "y ".repeat(6 << 20)));
    daemon.sync();
    let status = daemon.wait_vault("reported once", |vault| vault.skipped_total == 1);
    assert!(why_skipped(&status, "a.md").contains("max_note_bytes"));
    place.write("a.md", "# A\n\nwombat\n");
    daemon.wait_holding("wombat", &["a.md"]);
    daemon.wait_vault("no longer reported", |vault| vault.skipped_total == 0);
    // Nor with a folder that says nothing of the files in it.
    place.write("sub/c.md", "x ".repeat(6 << 20));
    daemon.wait_vault("reported in a folder", |vault| vault.skipped_total == 1);
    std::fs::rename(place.vault.join("sub"), place.dir.path().join("outside")).unwrap();
    daemon.wait_vault("gone with its folder", |vault| vault.skipped_total == 0);
}

#[test]
fn what_is_no_note_of_the_vault_is_skipped_and_told() {
    let place = Place::with(&[("good.md", "# Good\n\nthe goodword\n"), ("sub/inner.md", "# Inner\n\nthe innerword\n")]);
    let outside = place.dir.path().join("ssh");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("id.md"), "the canary in the mine\n").unwrap();
    let mkfifo = |path: &str| make_fifo(&place.vault.join(path));
    mkfifo("fifo.md");
    mkfifo("sub/fifo.txt");
    let socket = std::os::unix::net::UnixListener::bind(place.vault.join("socket.md")).unwrap();
    let mut expected = vec![
        ("fifo.md", "FIFO"),
        ("sub/fifo.txt", "FIFO"),
        ("socket.md", "socket"),
        ("out.md", "leaves the vault"),
        ("ssh", "leaves the vault"),
        ("up", "leaves the vault"),
        ("broken.md", "link to nothing"),
        ("inside.md", "into the vault"),
        ("again", "into the vault"),
    ];
    symlink("../ssh/id.md", place.vault.join("out.md")).unwrap();
    symlink("../ssh", place.vault.join("ssh")).unwrap();
    symlink("..", place.vault.join("up")).unwrap();
    symlink("nothing", place.vault.join("broken.md")).unwrap();
    symlink("good.md", place.vault.join("inside.md")).unwrap();
    symlink("sub", place.vault.join("again")).unwrap();
    #[cfg(all(has_devices, target_os = "linux"))]
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.vault.join("zero.md"),
        rustix::fs::FileType::CharacterDevice,
        0o600.into(),
        rustix::fs::makedev(1, 5),
    )
    .map(|()| expected.push(("zero.md", "device")))
    .unwrap();
    let before = place.tree();
    let mut daemon = place.start();
    daemon.wait_holding("goodword", &["good.md"]);
    assert_eq!(daemon.holding("innerword"), ["sub/inner.md"]);
    let status = daemon.status();
    for (path, why) in &expected {
        assert!(why_skipped(&status, path).contains(why), "{path}: {}", why_skipped(&status, path));
    }
    let vault = &status.vaults[0];
    assert_eq!(vault.skipped_total as usize, expected.len(), "{:?}", vault.skipped);
    // Nothing of it comes in by the side door of events either.
    std::fs::write(outside.join("id.md"), "the canary sings\n").unwrap();
    std::fs::write(outside.join("new.md"), "another canary\n").unwrap();
    std::fs::remove_file(place.vault.join("good.md")).unwrap();
    symlink("../ssh/id.md", place.vault.join("good.md")).unwrap();
    daemon.wait_holding("goodword", &[]);
    daemon.sync();
    assert!(daemon.holding("canary").is_empty());
    std::fs::remove_file(place.vault.join("good.md")).unwrap();
    place.write("good.md", "# Good\n\nthe goodword\n");
    daemon.wait_holding("goodword", &["good.md"]);
    assert_eq!(place.tree(), before);
    drop(socket);
}

#[test]
fn a_file_that_changes_while_it_is_read_ends_as_it_ended() {
    let place = Place::with(&[("calm.md", "# Calm\n\nthe calmword\n")]);
    let mut daemon = place.start();
    let path = place.vault.join("storm.md");
    let filler = "lorem ipsum dolor sit amet\n".repeat((2 << 20) / 27);
    let until = Instant::now() + Duration::from_secs(1);
    let mut round = 0;
    while Instant::now() < until {
        round += 1;
        // In place and in pieces, as a slow editor would.
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(format!("# Storm\n\nbegin{round}\n\n").as_bytes()).unwrap();
        file.write_all(filler.as_bytes()).unwrap();
        file.write_all(format!("\nend{round}\n").as_bytes()).unwrap();
    }
    assert!(round > 3);
    daemon.wait_holding(&format!("begin{round}"), &["storm.md"]);
    assert_eq!(daemon.holding(&format!("end{round}")), ["storm.md"]);
    for old in 1..round {
        assert!(daemon.holding(&format!("begin{old}")).is_empty() && daemon.holding(&format!("end{old}")).is_empty());
    }
    assert_eq!(daemon.holding("calmword"), ["calm.md"]);
    daemon.wait_for("idle", |status| status.state == RunState::Idle && status.vaults[0].pending == 0);
}

#[test]
fn paths_of_any_bytes_are_indexed_found_and_got_back() {
    let place = Place::new();
    let names: [&[u8]; 12] = [
        b"new\nline.md",
        "emoji 😀🦀 👩‍👩‍👧.md".as_bytes(),
        b"raw \xff\xfe\x80.md",
        b"\xe9t\xe9/latin.md",
        "\u{202e}dm.lived.md".as_bytes(),
        b"esc\x1b[31m.md",
        b"tab\tquote\"back\\slash.md",
        "private \u{f7a0}.md".as_bytes(),
        "e\u{301} decomposed.md".as_bytes(),
        b" space .md",
        b"-rf.md",
        "長い名前".as_bytes(),
    ];
    let mut words = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let mut path = place.vault.join(OsStr::from_bytes(name));
        if i == 11 {
            path = place.vault.join(format!("{}.md", "長".repeat(80)));
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("# Odd\n\noddword{i} is here\n")).unwrap();
        words.push((format!("oddword{i}"), path));
    }
    let before = place.tree();
    let mut daemon = place.start();
    daemon.wait_vault("all", |vault| vault.notes == 12);
    for (word, on_disk) in &words {
        let paths = daemon.holding(word);
        assert_eq!(paths.len(), 1, "{word} {on_disk:?}");
        let got = daemon.ask(&get(&paths[0]));
        assert_eq!(got.path, paths[0]);
        assert!(got.text.contains(word), "{on_disk:?}: {got:?}");
        let planned = daemon.ask(&PlanRequest { path: paths[0].clone(), ..PlanRequest::default() });
        assert_eq!(planned.reason, Reason::Unchanged);
        assert_eq!(daemon.decision(&paths[0]).unwrap().reason, Reason::NewNote);
        // As a user types what was printed, or lets the shell complete it.
        for path in [OsStr::new(&paths[0]), on_disk.as_os_str()] {
            let output = place.command().args(["get", "--"]).arg(path).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{path:?}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(String::from_utf8_lossy(&output.stdout).contains(word));
        }
        std::fs::write(on_disk, format!("# Odd\n\n{word} edited\n")).unwrap();
        let edited = format!("{word} edited");
        eventually("the edit is found", || daemon.holding(&edited).len() == 1);
    }
    for (i, (_, on_disk)) in words.iter().enumerate() {
        std::fs::write(on_disk, format!("# Odd\n\noddword{i} is here\n")).unwrap();
    }
    assert_eq!(place.tree(), before);
    for (word, on_disk) in &words {
        std::fs::remove_file(on_disk).unwrap();
        eventually("a removed note is gone", || daemon.holding(word).is_empty());
    }
}

#[test]
fn the_mark_of_an_encoding_is_no_text_of_the_note() {
    let text = "# Marked\n\na badger\n";
    let place = Place::new();
    place.write("8.md", format!("\u{feff}{text}"));
    place.write("16.md", format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let mut daemon = place.start();
    for path in ["8.md", "16.md"] {
        assert_eq!(daemon.ask(&get(path)).text, text, "{path}");
    }
}
