use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use super::*;
use vault::settings::VaultConfig;

/// The variable that makes [`restricted_child`] do something.
const PLACE: &str = "SITUATED_TEST_LANDLOCK";

fn rules(config: &Config) -> Rules {
    Rules::of(config, Path::new("/home/me/.config/situated/config.toml"), Path::new("/run/user/9/situated/sock"))
}

#[test]
fn what_is_needed_and_no_more() {
    let mut config = Config::new("/data/situated", vec![VaultConfig::new("n", "/home/me/Notes")]);
    let plain = rules(&config);
    assert!(
        plain.reads.contains(Path::new("/home/me/Notes"))
            && plain.reads.contains(Path::new("/home/me/.config/situated"))
    );
    assert!(plain.writes.contains(Path::new("/data/situated")) && !plain.writes.contains(Path::new("/home/me/Notes")));
    assert!(!plain.connects && !plain.commands);
    for above in ["/", "/home", "/home/me", "/tmp", "/run", "/var"] {
        assert!(!plain.reads.contains(Path::new(above)), "{above}");
    }
    config.engine.context.provider = context::settings::Provider::Ollama;
    config.engine.context.key.file = Some("/home/me/.keys/ollama".into());
    config.engine.embed.key.command = Some("pass show x".into());
    let more = rules(&config);
    assert!(more.connects && more.commands);
    assert_eq!(more.reads, plain.reads, "keys are read by another thread");
    assert_eq!(plain.lacks(&more).as_deref(), Some("open network connections"));
    assert_eq!(more.lacks(&plain), None);

    config.engine.context = context::settings::ContextConfig::default();
    config.engine.embed.provider = EmbedProvider::Transformer;
    config.engine.embed.model = Some("/models/minilm".into());
    let folder = rules(&config);
    assert!(!folder.connects && folder.reads.contains(Path::new("/models/minilm")));
    config.engine.embed.model = Some("org/minilm".into());
    assert!(rules(&config).connects, "a model of a hub has to come from there");

    let dir = tempfile::tempdir().unwrap();
    let [table, blobs] = ["table", "blobs"].map(|name| dir.path().join(name));
    for folder in [&table, &blobs] {
        std::fs::create_dir(folder).unwrap();
    }
    for name in ["rows", "other"] {
        std::fs::write(blobs.join(name), "x").unwrap();
    }
    std::os::unix::fs::symlink("../blobs/rows", table.join("model.safetensors")).unwrap();
    std::os::unix::fs::symlink("..", table.join("up")).unwrap();
    config.engine.embed = index::embed::settings::EmbedConfig {
        provider: EmbedProvider::Static,
        path: Some(table.clone()),
        ..Default::default()
    };
    let more = rules(&config);
    let read: Vec<&PathBuf> = more.reads.iter().filter(|path| path.starts_with(dir.path())).collect();
    assert_eq!(read, [&blobs.join("rows"), &table], "the folder, and what its files are links to");
    assert!(!more.connects);
}

#[test]
fn a_table_that_serves_is_read_whatever_the_configuration_names_by_now() {
    let dir = tempfile::tempdir().unwrap();
    let [table, elsewhere] = ["table", "elsewhere"].map(|name| dir.path().join(name));
    let config = Config::new(dir.path().join("data"), vec![VaultConfig::new("n", dir.path().join("notes"))]);
    let store = engine::vault_dir(&config.engine.data_dir, &config.engine.vaults[0].path);
    for folder in [&table, &elsewhere, &store] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let serving = |folder: &Path| {
        let (identity, path) = ("static table 0123456789abcdef", folder.to_str().unwrap());
        let text = format!(
            "{{\"schema\":1,\"identity\":\"{identity}\",\"dimensions\":64,\"provider\":\"static\",\"path\":\"{path}\"}}"
        );
        std::fs::write(store.join("embedder.json"), text).unwrap();
        rules(&config).reads.into_iter().filter(|path| path.starts_with(dir.path())).collect::<Vec<_>>()
    };
    for name in ["model.safetensors", "tokenizer.json", "secret"] {
        std::fs::write(table.join(name), "x").unwrap();
    }
    let notes = dir.path().join("notes");
    let files = ["model.safetensors", "tokenizer.json"].map(|name| table.join(name));
    assert_eq!(serving(&table), [&[notes.clone()][..], &files].concat(), "the two files and no other");
    std::os::unix::fs::symlink(table.join("secret"), elsewhere.join("tokenizer.json")).unwrap();
    assert_eq!(serving(&elsewhere), [notes], "no link");
}

#[test]
fn a_socket_among_other_things_gives_no_right_to_remove_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let (vault, own) = (dir.path().join("notes"), dir.path().join("run"));
    for folder in [&vault, &own] {
        std::fs::create_dir(folder).unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let config = Config::new(dir.path().join("data"), vec![VaultConfig::new("n", &vault)]);
    let clears = |socket: &Path| Rules::of(&config, Path::new("/none/config.toml"), socket).clears;
    assert_eq!(clears(&own.join("sock")), BTreeSet::from([own.clone()]));
    assert_eq!(clears(&dir.path().join("sock")), BTreeSet::new(), "the vault is below it");
    assert_eq!(clears(Path::new("/tmp/sock")), BTreeSet::new(), "others use it too");
}

#[test]
fn what_a_configuration_lacks_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| dir.path().join(name));
    for vault in [&one, &two] {
        std::fs::create_dir(vault).unwrap();
    }
    let config = |vaults: &[&PathBuf]| {
        Config::new(dir.path().join("data"), vaults.iter().map(|path| VaultConfig::new("n", *path)).collect())
    };
    let held = rules(&config(&[&one]));
    assert_eq!(held.lacks(&rules(&config(&[&one]))), None);
    assert_eq!(held.lacks(&rules(&config(&[&one, &two]))), Some(format!("read {}", two.display())));
    // The same folder by another name.
    std::os::unix::fs::symlink(&one, dir.path().join("link")).unwrap();
    assert_eq!(held.lacks(&rules(&config(&[&dir.path().join("link")]))), None);
    assert_eq!(rules(&config(&[&one, &two])).lacks(&held), None, "less needs no restart");
    // What was named before it was there.
    let three = dir.path().join("three");
    let both = config(&[&one, &three]);
    let held = rules(&both).granted();
    assert_eq!(held.lacks(&rules(&both)), None, "it is not there");
    std::fs::create_dir(&three).unwrap();
    assert_eq!(held.lacks(&rules(&both)), Some(format!("read {}", three.display())));
}

/// A child of this very program restricts itself and tries what it must not be able to do.
#[test]
#[cfg_attr(not(has_landlock), ignore = "needs Landlock in the kernel")]
#[cfg(target_os = "linux")]
fn the_kernel_refuses_what_is_not_needed() {
    let abi = kernel_abi().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for folder in ["notes", "data", "data/sub", ".ssh", "config"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
    }
    std::fs::write(dir.path().join("notes/a.md"), "a note").unwrap();
    std::fs::write(dir.path().join(".ssh/id"), "sk-1").unwrap();
    platform::files::set_mode(&dir.path().join(".ssh/id"), 0o600).unwrap();
    std::os::unix::fs::symlink(dir.path().join(".ssh/id"), dir.path().join("notes/leak.md")).unwrap();
    let child = |connects: &str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tried = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "daemon::sandbox::landlock::tests::restricted_child", "--nocapture", "--test-threads=1"])
            .env(PLACE, dir.path())
            .env("SITUATED_TEST_CONNECTS", connects)
            .env("SITUATED_TEST_PORT", listener.local_addr().unwrap().port().to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&tried.stdout).into_owned();
        assert!(tried.status.success(), "{said}\n{}", String::from_utf8_lossy(&tried.stderr));
        said
    };
    let said = child("");
    assert!(said.contains("restricted as it should be"), "{said}");
    assert!(abi < 4 || said.contains("no connection"), "{said}");
    let said = child("yes");
    assert!(said.contains("connected"), "with a provider connections are opened: {said}");
    assert_eq!(std::fs::read_to_string(dir.path().join("notes/a.md")).unwrap(), "a note");
}

#[test]
fn restricted_child() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let [vault, data, secret] = ["notes", "data", ".ssh/id"].map(|name| place.join(name));
    let config = Config::new(&data, vec![VaultConfig::new("n", &vault)]);
    let mut rules = Rules::of(&config, &place.join("config/config.toml"), &data.join("sub/sock"));
    rules.connects = std::env::var("SITUATED_TEST_CONNECTS").is_ok_and(|connects| !connects.is_empty());
    provider::keep_key_reader(|| ());
    let sandbox = restrict(&rules).unwrap();
    assert_ne!(sandbox.landlock, Enforcement::None, "{sandbox:?}");
    // All of what follows runs in a thread that was started afterwards: restrictions are inherited.
    std::thread::spawn(move || {
        let denied = |what: &str, result: std::io::Result<()>| {
            assert_eq!(result.expect_err(what).kind(), ErrorKind::PermissionDenied, "{what}");
        };
        use std::fs;
        assert_eq!(fs::read_to_string(vault.join("a.md")).unwrap(), "a note");
        assert_eq!(fs::read_dir(&vault).unwrap().count(), 2);
        denied("write a note", fs::write(vault.join("a.md"), "x"));
        denied("append to a note", fs::OpenOptions::new().append(true).open(vault.join("a.md")).map(drop));
        denied("make a note", fs::write(vault.join("b.md"), "x"));
        denied("remove a note", fs::remove_file(vault.join("a.md")));
        denied("rename a note", fs::rename(vault.join("a.md"), vault.join("c.md")));
        denied(
            "move a note out",
            fs::rename(vault.join("a.md"), data.join("a.md")).map_err(|error| {
                // Before version 2 nothing can be moved between folders at all, which is another error.
                if error.kind() == ErrorKind::CrossesDevices { ErrorKind::PermissionDenied.into() } else { error }
            }),
        );
        denied("make a folder", fs::create_dir(vault.join("d")));
        denied("read a key", fs::read(&secret).map(drop));
        let read_for_us = provider::check_key_file(&secret, context::settings::Provider::Anthropic.into());
        assert_eq!(read_for_us, Ok(()), "whichever file has the name by now");
        denied("read a key by a link", fs::read(vault.join("leak.md")).map(drop));
        denied("list its folder", fs::read_dir(secret.parent().unwrap()).map(drop));
        denied("write outside", fs::write(place.join("x"), "x"));
        denied("start a program", Command::new("/bin/sh").arg("-c").arg("true").status().map(drop));
        fs::write(data.join("x"), "x").unwrap();
        fs::rename(data.join("x"), data.join("sub/y")).unwrap();
        fs::remove_file(data.join("sub/y")).unwrap();
        fs::write("/dev/null", "x").unwrap();
        assert!(!fs::read("/proc/self/statm").unwrap().is_empty() && fs::read("/etc/passwd").is_ok());
        if sandbox.abi >= 4 {
            denied("listen", TcpListener::bind("127.0.0.1:0").map(drop));
        }
        let port: u16 = std::env::var("SITUATED_TEST_PORT").unwrap().parse().unwrap();
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(_) => println!("connected"),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => println!("no connection"),
            Err(error) => panic!("{error}"),
        }
    })
    .join()
    .unwrap();
    println!("restricted as it should be");
}

#[test]
fn a_removed_socket_can_be_made_anew_but_nothing_where_notes_are() {
    let dir = tempfile::tempdir().unwrap();
    let vault = dir.path().join("notes");
    std::fs::create_dir(&vault).unwrap();
    let config = Config::new(dir.path().join("data"), vec![VaultConfig::new("n", &vault)]);
    let makes = |socket: &str| Rules::of(&config, Path::new("/none/config.toml"), Path::new(socket)).makes;
    let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
    assert_eq!(makes("/run/user/7/situated/sock"), paths(&["/run/user/7/situated", "/run/user/7"]));
    let beside = dir.path().join("run/sock");
    assert_eq!(makes(beside.to_str().unwrap()), paths(&[beside.parent().unwrap().to_str().unwrap()]));
    assert_eq!(makes(dir.path().join("sock").to_str().unwrap()), BTreeSet::new(), "the vault is below it");
}
