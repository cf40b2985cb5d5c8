//! Keys in files, from commands, from systemd and from the environment.

use std::fs;
use std::path::PathBuf;

use secrecy::ExposeSecret as _;
use tempfile::TempDir;

use super::*;

/// Long enough for a loaded machine; commands that hang are given less.
const PATIENT: Duration = Duration::from_secs(60);

fn look(provider: Provider, config: &KeyConfig, env: &[(&str, &str)]) -> Result<Option<Key>, String> {
    let find = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
    find_in(provider, config, PATIENT, &find)
}

fn file(dir: &TempDir, text: &[u8], mode: u32) -> PathBuf {
    let path = dir.path().join("key");
    // The old one may not be writable.
    let _ = fs::remove_file(&path);
    fs::write(&path, text).unwrap();
    platform::files::set_mode(&path, mode).unwrap();
    path
}

fn by_file(path: PathBuf) -> KeyConfig {
    KeyConfig { file: Some(path), ..KeyConfig::default() }
}

fn by_command(command: &str) -> KeyConfig {
    KeyConfig { command: Some(command.to_owned()), ..KeyConfig::default() }
}

/// A key as `bearer`, or `access:secret:session`.
fn shown(key: Option<Key>) -> Option<String> {
    key.map(|key| match key {
        Key::Bearer(word) => word.expose_secret().to_owned(),
        Key::Aws { access, secret, session } => {
            let session = session.map_or(String::new(), |s| format!(":{}", s.expose_secret()));
            format!("{}:{}{session}", access.expose_secret(), secret.expose_secret())
        }
    })
}

#[test]
fn files_that_only_we_can_read_are_taken() {
    let dir = TempDir::new().unwrap();
    for mode in [0o600, 0o400, 0o700] {
        let path = file(&dir, b"  sk-one\n", mode);
        assert_eq!(shown(look(Provider::Anthropic, &by_file(path), &[]).unwrap()).as_deref(), Some("sk-one"));
    }
}

#[cfg(unix)]
#[test]
fn files_that_will_not_do_are_refused_with_a_reason() {
    let dir = TempDir::new().unwrap();
    for (text, mode, reason) in [
        (&b"sk-hunter2"[..], 0o644, "chmod 600"),
        (b"sk-hunter2", 0o640, "mode 0640"),
        (b"sk-hunter2", 0o602, "can be read by others"),
        (b"", 0o600, "is empty"),
        (b" \n", 0o600, "is empty"),
        (b"two hunter2", 0o600, "one word"),
        (b"sk-hunter2\nsk-hunter2", 0o600, "one word"),
        (b"hunter2\xff", 0o600, "is not text"),
        ("hunter2é".as_bytes(), 0o600, "one word"),
        (&b"x".repeat(20_000), 0o600, "too long"),
    ] {
        let path = file(&dir, text, mode);
        let error = look(Provider::Anthropic, &by_file(path.clone()), &[]).unwrap_err();
        assert!(error.contains(reason) && error.contains(path.to_str().unwrap()), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    let missing = look(Provider::OpenAi, &by_file(dir.path().join("none")), &[("OPENAI_API_KEY", "k")]).unwrap_err();
    assert!(missing.contains("cannot be read"), "a configured file is not passed over: {missing}");
    assert!(look(Provider::OpenAi, &by_file(dir.path().to_owned()), &[]).unwrap_err().contains("is not a file"));
    if rustix::process::geteuid().is_root() {
        let path = file(&dir, b"sk-hunter2", 0o600);
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        assert!(look(Provider::OpenAi, &by_file(path), &[]).unwrap_err().contains("another user (uid 12345"));
    }
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(look(Provider::OpenAi, &by_file(pipe), &[]).unwrap_err().contains("is not a file"));
}

#[cfg(unix)]
#[test]
fn the_first_line_of_a_command_is_taken() {
    for (command, key) in [
        ("printf 'sk-one'", "sk-one"),
        ("echo sk-one; echo 'a comment'; echo noise >&2", "sk-one"),
        ("echo ' sk-one '; head -c 300000 /dev/zero", "sk-one"),
    ] {
        assert_eq!(
            shown(look(Provider::OpenAi, &by_command(command), &[]).unwrap()).as_deref(),
            Some(key),
            "{command}"
        );
    }
}

#[cfg(unix)]
#[test]
fn commands_that_fail_are_not_repeated() {
    for (command, reason) in [
        ("echo hunter2 >&2; exit 3", "exit status: 3"),
        ("echo hunter2; false", "exit status: 1"),
        ("true hunter2", "is empty"),
        ("echo; echo hunter2", "is empty"),
        ("printf 'hunter2\\377'", "prints no text"),
        ("echo two hunter2", "one word"),
        ("kill -9 $$ # hunter2", "signal"),
    ] {
        let error = look(Provider::OpenAi, &by_command(command), &[]).unwrap_err();
        assert!(error.contains(reason) && error.contains("context.key_command"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let dir = TempDir::new().unwrap();
    let pid = dir.path().join("pid");
    // The child of the shell holds the pipe open; the second closes it and goes on.
    for command in ["sleep 600 & echo $! > PID; wait", "exec >&-; sleep 600 & echo $! > PID; wait"] {
        let command = by_command(&command.replace("PID", pid.to_str().unwrap()));
        let begun = Instant::now();
        let error = find_in(Provider::OpenAi, &command, Duration::from_secs(2), &|_| None).unwrap_err();
        assert!(error.contains("did not end within 2 s"), "{error}");
        assert!(begun.elapsed() < PATIENT);
        let child = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        let child = rustix::process::Pid::from_raw(child).unwrap();
        let deadline = Instant::now() + PATIENT;
        while !is_gone(child) {
            assert!(Instant::now() < deadline, "what the command started lives on");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Gone, or dead and not yet buried by whoever inherited it.
#[cfg(unix)]
fn is_gone(pid: rustix::process::Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    rustix::process::test_kill_process(pid).is_err() || stat.contains(") Z ")
}

#[test]
fn systemd_hands_credentials_over() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().to_str().unwrap();
    fs::write(dir.path().join("situated-key"), "sk-default\n").unwrap();
    fs::write(dir.path().join("other"), "sk-other").unwrap();
    let named = |name: &str| KeyConfig { credential: Some(name.to_owned()), ..KeyConfig::default() };
    let env = [("CREDENTIALS_DIRECTORY", folder), ("OPENAI_API_KEY", "sk-env")];
    for (config, env, expected) in [
        (KeyConfig::default(), &env[..], "sk-default"),
        (named("other"), &env, "sk-other"),
        (KeyConfig::default(), &env[1..], "sk-env"),
        (KeyConfig::default(), &[("CREDENTIALS_DIRECTORY", "/nowhere"), ("OPENAI_API_KEY", "sk-env")], "sk-env"),
    ] {
        assert_eq!(shown(look(Provider::OpenAi, &config, env).unwrap()).as_deref(), Some(expected), "{config:?}");
    }
    assert!(look(Provider::OpenAi, &named("none"), &env).unwrap_err().contains("cannot be read"));
    assert!(look(Provider::OpenAi, &named("other"), &env[1..]).unwrap_err().contains("LoadCredential=other"));
    for name in ["", "../key", "a/b", "."] {
        assert!(look(Provider::OpenAi, &named(name), &env).is_err(), "{name}");
    }
}

#[test]
fn the_first_place_that_is_configured_counts() {
    let dir = TempDir::new().unwrap();
    let all = KeyConfig {
        file: Some(file(&dir, b"sk-file", 0o600)),
        command: Some("echo sk-cmd".to_owned()),
        ..by_command("")
    };
    let env = [("ANTHROPIC_API_KEY", "sk-env")];
    assert_eq!(shown(look(Provider::Anthropic, &all, &env).unwrap()).as_deref(), Some("sk-file"));
    let command = KeyConfig { file: None, ..all };
    assert_eq!(shown(look(Provider::Anthropic, &command, &env).unwrap()).as_deref(), Some("sk-cmd"));
}

#[test]
fn the_environment_comes_last() {
    let none = KeyConfig::default();
    let aws = [("AWS_ACCESS_KEY_ID", "AK"), ("AWS_SECRET_ACCESS_KEY", "SK"), ("AWS_SESSION_TOKEN", "ST")];
    for (provider, env, expected) in [
        (Provider::Anthropic, &[("ANTHROPIC_API_KEY", " sk-a\n"), ("OPENAI_API_KEY", "sk-o")][..], Some("sk-a")),
        (Provider::OpenAi, &[("ANTHROPIC_API_KEY", "sk-a"), ("OPENAI_API_KEY", "sk-o")], Some("sk-o")),
        (Provider::OpenAi, &[("OPENAI_API_KEY", "")], None),
        (Provider::Ollama, &[("OPENAI_API_KEY", "sk-o")], None),
        (Provider::Template, &[("OPENAI_API_KEY", "sk-o")], None),
        (Provider::Bedrock, &[("AWS_BEARER_TOKEN_BEDROCK", "ABSKx"), aws[0], aws[1]], Some("ABSKx")),
        (Provider::Bedrock, &aws, Some("AK:SK:ST")),
        (Provider::Bedrock, &aws[..2], Some("AK:SK")),
        (Provider::Bedrock, &[], None),
        (Provider::Anthropic, &aws, None),
    ] {
        assert_eq!(shown(look(provider, &none, env).unwrap()).as_deref(), expected, "{provider:?} {env:?}");
    }
    for half in [&aws[..1], &aws[1..2]] {
        assert!(look(Provider::Bedrock, &none, half).unwrap_err().contains("is not"));
    }
    let blank = look(Provider::OpenAi, &none, &[("OPENAI_API_KEY", "  ")]).unwrap_err();
    assert!(blank.contains("OPENAI_API_KEY is empty"), "{blank}");
}

#[test]
fn keys_of_bedrock_have_one_part_or_three() {
    let dir = TempDir::new().unwrap();
    let read = |provider, text: &str| look(provider, &by_file(file(&dir, text.as_bytes(), 0o600)), &[]);
    for (text, expected) in
        [("ABSKx==\n", "ABSKx=="), ("AKIA:S/K+\n", "AKIA:S/K+"), ("ASIA:SK:FwoG//:x==", "ASIA:SK:FwoG//:x==")]
    {
        assert_eq!(shown(read(Provider::Bedrock, text).unwrap()).as_deref(), Some(expected));
        assert!(matches!(read(Provider::Anthropic, text).unwrap(), Some(Key::Bearer(_))));
    }
    for text in [":SK", "AK:", "AK::ST", "AK:SK:", "AK:S K"] {
        assert!(read(Provider::Bedrock, text).is_err(), "{text}");
    }
}

#[test]
fn keys_print_as_nothing() {
    let parts = || SecretString::from("hunter2");
    for key in [Key::Bearer(parts()), Key::Aws { access: parts(), secret: parts(), session: Some(parts()) }] {
        let printed = format!("{key:?} {key:#?}");
        assert!(printed.contains("REDACTED") && !printed.contains("hunter2"), "{printed}");
    }
}

#[test]
fn a_key_of_another_section_is_its_own() {
    let dir = TempDir::new().unwrap();
    // What systemd hands over unasked is for whoever writes contexts.
    fs::write(dir.path().join(CREDENTIAL), "for-contexts").unwrap();
    fs::write(dir.path().join("mine"), "for-me").unwrap();
    let look = |config: &KeyConfig, env: &[(&str, &str)]| {
        let folder = dir.path().to_str().unwrap();
        let find = |name: &str| {
            let value = env.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
            value.or((name == "CREDENTIALS_DIRECTORY").then_some(folder)).map(OsString::from)
        };
        find_in(RerankProvider::Cohere, config, PATIENT, &find).map(shown)
    };
    let none = KeyConfig::default();
    assert_eq!(look(&none, &[]), Ok(None));
    let folder = |name: &str| (name == "CREDENTIALS_DIRECTORY").then(|| OsString::from(dir.path()));
    assert_eq!(find_in(EmbedProvider::Voyage, &none, PATIENT, &folder).map(shown), Ok(None));
    assert_eq!(
        look(&none, &[("COHERE_API_KEY", "by-env"), ("ANTHROPIC_API_KEY", "no")]),
        Ok(Some("by-env".to_owned()))
    );
    let named = KeyConfig { credential: Some("mine".to_owned()), ..KeyConfig::default() };
    assert_eq!(look(&named, &[("COHERE_API_KEY", "by-env")]), Ok(Some("for-me".to_owned())));
    let path = file(&dir, b"by-file", 0o600);
    assert_eq!(look(&by_file(path), &[("COHERE_API_KEY", "by-env")]), Ok(Some("by-file".to_owned())));
    assert_eq!(look(&by_command("echo one two"), &[]).unwrap_err().matches("rerank.key_command").count(), 1);
    assert_eq!(look(&by_command("echo by-command"), &[]), Ok(Some("by-command".to_owned())));
}

#[test]
fn the_place_of_a_key_is_said_and_never_the_key() {
    let dir = TempDir::new().unwrap();
    let by_credential = || KeyConfig { credential: Some("mine".to_owned()), ..KeyConfig::default() };
    fs::write(dir.path().join("mine"), "sk-secret").unwrap();
    let handed = [("CREDENTIALS_DIRECTORY", dir.path().to_str().unwrap())];
    let aws = [("AWS_ACCESS_KEY_ID", "sk-secret"), ("AWS_SECRET_ACCESS_KEY", "sk-secret")];
    let none = KeyConfig::default;
    let both = KeyConfig { command: Some("pass x".to_owned()), ..by_file(file(&dir, b"sk-secret", 0o600)) };
    let (context, bedrock): (Whose, Whose) = (Provider::Anthropic.into(), Provider::Bedrock.into());
    let embed: Whose = EmbedProvider::Cohere.into();
    type Case<'a> = (Whose, KeyConfig, &'a [(&'a str, &'a str)], Option<bool>, &'a str);
    let table: [Case; 12] = [
        (context, both, &[], Some(true), "the file "),
        (Provider::OpenAi.into(), by_file(dir.path().join("none")), &[], Some(false), "none"),
        (context, by_command("echo sk-secret"), &[], None, "context.key_command"),
        (embed, by_command("echo sk-secret"), &[], None, "embed.key_command"),
        (context, by_credential(), &[], None, "the systemd credential `mine`"),
        (context, by_credential(), &handed, Some(true), "the systemd credential `mine`"),
        (embed, none(), &[("CO_API_KEY", ""), ("COHERE_API_KEY", "sk-secret")], Some(true), "COHERE_API_KEY"),
        (embed, none(), &[], Some(false), "the variable CO_API_KEY"),
        (bedrock, none(), &[], Some(false), "AWS_BEARER_TOKEN_BEDROCK"),
        (bedrock, none(), &aws, Some(true), "the variable AWS_ACCESS_KEY_ID"),
        (bedrock, none(), &aws[..1], Some(false), "AWS_BEARER_TOKEN_BEDROCK"),
        (context, none(), &handed, Some(false), "ANTHROPIC_API_KEY"),
    ];
    for (whose, config, env, found, place) in table {
        let find = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value));
        let at = place_in(whose, &config, &find).unwrap();
        assert!(at.found == found && at.place.contains(place) && !at.place.contains("sk-secret"), "{at:?}");
    }
    assert_eq!(place_in(Provider::Ollama.into(), &none(), &|_| None), None);
    // The default credential is the key for contexts alone.
    fs::write(dir.path().join(CREDENTIAL), "sk-secret").unwrap();
    let find = |name: &str| (name == "CREDENTIALS_DIRECTORY").then(|| dir.path().as_os_str().to_owned());
    assert_eq!(place_in(context, &none(), &find).unwrap().place, "the systemd credential `situated-key`");
    assert_eq!(place_in(embed, &none(), &find).unwrap().place, "the variable CO_API_KEY");
}

#[test]
fn a_key_is_kept_from_what_is_said() {
    let key = Key::Bearer("sk-äöü-0123456789".to_owned().into());
    for (said, kept) in [
        ("the key sk-äöü-0123456789 is no good", "the key … is no good"),
        ("\"the key sk-äöü-0123…", "\"the key …"),
        ("\"the key sk-ä…", "\"the key …"),
        ("sk-… and sk-äöü-0123456789, sk-äöü-01…", "sk-… and …, …"),
        ("no key", "no key"),
    ] {
        assert_eq!(key.kept_from(said), kept, "{said}");
    }
}
