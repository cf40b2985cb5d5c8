use std::path::PathBuf;

use super::super::Level::{Fail, Note, Ok, Warn};
use super::*;
use crate::cli::doctor::host::Host;
use protocol::daemon::Problem;
use protocol::status::{Enforcement, RunState, Sandbox};
use provider::KeyPlace;
use store::Looked;

fn status() -> Status {
    serde_json::from_value(serde_json::json!({
        "state": "idle",
        "vaults": [{
            "name": "n", "path": "/home/a/Notes", "notes": 300, "chunks": 900, "seq": 1, "last_change": null,
            "pending": 0, "skipped": [], "skipped_total": 0, "conflicts": [], "warned": 0, "watch": "inotify",
            "watch_problem": null, "doubt": null, "index_bytes": 0, "decisions": []
        }],
        "problems": [], "leaves_machine": [], "contextualizer": "", "embedder": "",
        "uptime_s": 0, "rss_bytes": 0, "version": "1.0.0", "pid": 7, "supervisor": "systemd", "socket": "/run/s",
        "sandbox": {"landlock": "full", "abi": 7, "network": false}
    }))
    .unwrap()
}

fn place(path: &str, mode: u32) -> Place {
    Place { path: path.into(), uid: 1000, mode, is_socket: path.ends_with("/s") }
}

fn vault() -> VaultFacts {
    VaultFacts {
        name: "n".into(),
        path: "/home/a/Notes".into(),
        file_system: Some(("ext4".into(), false)),
        folders: 40,
        notes: 300,
        index: "/data/vaults/n".into(),
        indexed: true,
        words: true,
        store: Looked { journal: Some(Result::Ok((5, 0))), bytes: 1 << 20, ..Looked::default() },
        ..VaultFacts::default()
    }
}

/// Everything as it should be.
fn healthy() -> Facts {
    Facts {
        version: "1.0.0".into(),
        uid: 1000,
        config_file: Some("/home/a/.config/situated/config.toml".into()),
        daemon: Daemon::Answers(Box::new(status()), 0.4),
        data_dir: "/data".into(),
        data: Some(place("/data", 0o700)),
        writable: Some(Result::Ok(())),
        socket: Some(place("/run/s", 0o600)),
        socket_dir: Some(place("/run", 0o700)),
        host: Host {
            landlock: Some(7),
            namespaces: Some(true),
            proc: true,
            watches: Some((8192, 1000)),
            instances: Some((128, 20)),
        },
        vaults: vec![vault()],
        free: Some(50 << 30),
        now: 1_795_000_000,
        newest: Some(1_794_999_000),
        ..Facts::default()
    }
}

#[test]
fn nothing_is_wrong_with_a_healthy_one() {
    let found = checks(&healthy(), false);
    let bad: Vec<&Check> = found.iter().filter(|check| check.level != Ok).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    for id in [
        "config", "daemon", "version", "data", "socket", "landlock", "disk", "clock", "model", "privacy", "watches",
        "vault", "store", "journal",
    ] {
        assert!(found.iter().any(|check| check.id == id), "{id}");
    }
}

fn problem(message: &str) -> Problem {
    Problem { file: None, line: None, column: None, key: None, message: message.to_owned() }
}

/// What a change of the healthy facts must be told as: id, level, words of the finding, words of the remedy.
type Row = (&'static str, Level, &'static str, &'static str, fn(&mut Facts));

fn with_status(facts: &mut Facts, change: impl FnOnce(&mut Status)) {
    if let Daemon::Answers(status, _) = &mut facts.daemon {
        change(status);
    }
}

#[test]
fn each_fault_is_told_with_what_to_do() {
    let rows: &[Row] = &[
        ("config", Fail, "wrong (and 1 more)", "config check", |f| {
            f.config_problems = vec![problem("a"), problem("b")];
        }),
        ("config", Warn, "no configuration", "situated init", |f| {
            (f.config_file, f.daemon) = (None, Daemon::Absent);
            f.vaults.clear();
        }),
        ("daemon", Fail, "does not answer", "kill 7", |f| {
            f.daemon = Daemon::Silent("no answer in 2 s".into(), "kill 7".into());
        }),
        ("config", Warn, "changed since the daemon read it", "config reload", |f| {
            with_status(f, |s| s.config.changed = true);
        }),
        ("config", Note, "starts again: serve.socket", "service restart", |f| {
            with_status(f, |s| s.config.awaits_start = vec!["serve.socket".into()]);
        }),
        ("config", Note, "starts again: serve.socket", "situated stop && situated run", |f| {
            with_status(f, |s| {
                s.supervisor = "none".into();
                s.config.awaits_start = vec!["serve.socket".into()];
            });
        }),
        ("status", Fail, "cannot be served: no such key", "", |f| {
            with_status(f, |s| s.problems = vec!["vault `n` cannot be served: no such key".into()]);
        }),
        ("daemon", Note, "none runs", "situated run", |f| f.daemon = Daemon::Absent),
        ("version", Warn, "the daemon is 1.0.0", "restart", |f| f.version = "1.1.0".into()),
        ("data", Fail, "nothing can be written", "data_dir", |f| {
            f.writable = Some(Err("Read-only file system".into()));
        }),
        ("data", Fail, "belongs to user 1000", "chown", |f| f.uid = 1001),
        ("folders", Warn, "/old, which an earlier version used", "mv /old /old.old", |f| {
            f.former = vec![FormerFacts { at: "/old".into(), present: "/data".into(), left_behind: true }];
        }),
        ("folders", Note, "its place is /new", "", |f| {
            f.former = vec![FormerFacts { at: "/data".into(), present: "/new".into(), left_behind: false }];
        }),
        ("data", Fail, "was removed", "service restart", |f| f.data = Some(place("/", 0o755))),
        ("data", Warn, "mode 755", "chmod 700 /data", |f| f.data = Some(place("/data", 0o755))),
        ("socket", Fail, "no socket", "mv ", |f| f.socket = Some(place("/run/x", 0o600))),
        ("socket", Fail, "mode 666", "chmod 600 /run/s", |f| f.socket = Some(place("/run/s", 0o666))),
        ("socket", Fail, "was removed", "restart", |f| f.socket = None),
        ("socket", Fail, "put a socket of theirs", "chmod go-w /run", |f| f.socket_dir = Some(place("/run", 0o777))),
        ("socket", Note, "was left by a daemon", "", |f| f.daemon = Daemon::Absent),
        ("landlock", Warn, "and the kernel could", "host.sandbox", |f| {
            with_status(f, |s| s.sandbox = Sandbox { network: true, why: Some("off".into()), ..Sandbox::default() });
        }),
        ("landlock", Note, "nothing but the daemon itself", "", |f| {
            f.host.landlock = None;
            with_status(f, |s| s.sandbox = Sandbox { network: true, ..Sandbox::default() });
        }),
        ("landlock", Note, "in part", "", |f| {
            with_status(f, |s| {
                s.sandbox = Sandbox { landlock: Enforcement::Partial, abi: 2, network: true, why: Some("old".into()) }
            });
        }),
        ("namespaces", Note, "make no namespaces", "", |f| f.host.namespaces = Some(false)),
        ("disk", Fail, "are free", "make room", |f| f.free = Some(1 << 20)),
        ("disk", Warn, "are free", "compact", |f| f.free = Some(500 << 20)),
        ("clock", Warn, "years behind", "timedatectl", |f| f.now = 1_000_000),
        ("clock", Warn, "set back", "timedatectl", |f| f.newest = Some(f.now + 86_400)),
        ("model", Fail, "another vector", "cargo install", |f| f.model_error = 0.3),
        ("key", Fail, "mode 0644", "chmod 600 /home/a/key", |f| {
            let file = Some(Result::Ok(place("/home/a/key", 0o644)));
            f.providers =
                vec![ProviderFacts { section: "context".into(), name: "anthropic", key: None, file, elsewhere: false }];
        }),
        ("key", Fail, "cannot be read", "context.key_file", |f| {
            let file = Some(Err("No such file".into()));
            f.providers =
                vec![ProviderFacts { section: "context".into(), name: "anthropic", key: None, file, elsewhere: false }];
        }),
        ("key", Warn, "VOYAGE_API_KEY; unless the daemon has one, nothing is asked", "embed.key_file", |f| {
            let key = Some(KeyPlace { place: "the variable VOYAGE_API_KEY".into(), found: Some(false) });
            f.providers =
                vec![ProviderFacts { section: "embed".into(), name: "voyage", key, file: None, elsewhere: false }];
        }),
        ("key", Note, "a service does not see", "rerank.key_file", |f| {
            let key = Some(KeyPlace { place: "the variable CO_API_KEY".into(), found: Some(true) });
            f.providers =
                vec![ProviderFacts { section: "rerank".into(), name: "cohere", key, file: None, elsewhere: false }];
        }),
        ("key", Note, "a search tells", "situated search", |f| {
            let key = Some(KeyPlace { place: "the command of `embed.key_command`".into(), found: None });
            f.providers =
                vec![ProviderFacts { section: "embed".into(), name: "openai", key, file: None, elsewhere: false }];
        }),
        ("table", Fail, "of `embed.path` cannot be used", "out of [embed]", |f| {
            f.table = Some(Err("/home/a/table: it is not there; name the folder".into()));
        }),
        ("table", Ok, "64 numbers", "", |f| {
            f.table = Some(Result::Ok("/home/a/table has vectors of 64 numbers".into()));
        }),
        ("reranker", Fail, "`rerank.model` is not here", "situated models add cross-encoder org/name", |f| {
            f.cross_encoder = Some(Err("to download it: situated models add cross-encoder org/name".into()));
        }),
        ("privacy", Note, "leaves this machine", "", |f| {
            with_status(f, |s| s.leaves_machine = vec!["text of notes, to api.example.org".into()]);
        }),
        (
            "watches",
            Warn,
            "40 watches needed, 20 of 8192 left",
            "echo fs.inotify.max_user_watches=524288 | sudo tee",
            |f| {
                f.host.watches = Some((8192, 8172));
            },
        ),
        ("watches", Note, "40 watches needed, 45 of", "max_user_watches", |f| f.host.watches = Some((1045, 1000))),
        ("watches", Warn, "127 of 128 instances", "max_user_instances=512", |f| f.host.instances = Some((128, 127))),
        ("watches", Note, "no /proc", "", |f| f.host = Host { landlock: Some(7), ..Host::default() }),
        ("vault", Fail, "cannot be read", "", |f| f.vaults[0].unreadable = Some("Permission denied".into())),
        ("vault", Warn, "0 notes on ext4 now, and 80 in its index", "", |f| {
            (f.vaults[0].notes, f.vaults[0].doubted) = (0, Some(80));
        }),
        ("vault", Note, "lies on NFS", "", |f| f.vaults[0].file_system = Some(("NFS".into(), true))),
        ("vault", Warn, "and is not polled", "poll = false", |f| {
            (f.vaults[0].file_system, f.vaults[0].poll) = (Some(("FUSE".into(), true)), Some(false));
        }),
        ("skipped", Warn, "2 files left out, unreadable", "", |f| {
            f.vaults[0].skipped.insert(UNREADABLE, (2, vec!["a.md".into(), "b.md".into()]));
        }),
        ("conflicts", Note, "1 copy that a sync left", "jq", |f| {
            f.vaults[0].conflicts = (1, vec!["a.sync-conflict-1.md".into()]);
        }),
        ("store", Warn, "its index cannot be read", "", |f| {
            (f.vaults[0].indexed, f.vaults[0].index_unreadable) = (false, Some("Permission denied".into()));
        }),
        ("store", Note, "has no index", "", |f| f.vaults[0].indexed = false),
        ("store", Warn, "does not open", "situated run", |f| f.vaults[0].database = Some(Err("torn".into()))),
        ("store", Note, "1 damaged database moved aside", "rm -r /data/vaults/n/sled.damaged-1", |f| {
            f.vaults[0].store.moved_aside = vec![PathBuf::from("/data/vaults/n/sled.damaged-1")];
        }),
        ("journal", Fail, "cannot be read", "chmod u+rw", |f| {
            f.vaults[0].store.journal = Some(Err("Permission denied".into()));
        }),
        ("journal", Warn, "2 stretches cannot", "export", |f| f.vaults[0].store.journal = Some(Result::Ok((5, 2)))),
        ("journal", Warn, "1 stretch cannot", "compact /home/a/Notes", |f| {
            f.vaults[0].store.journal = Some(Result::Ok((5, 1)));
        }),
        ("index", Note, "of /home/a/Old, which is no vault", "export --vault /home/a/Old", |f| {
            f.orphans = vec![engine::Orphan { dir: "/data/vaults/old-1".into(), vault: Some("/home/a/Old".into()) }];
        }),
        ("words", Note, "not there", "", |f| f.vaults[0].words = false),
        ("words", Warn, "cannot be read", "chmod -R u+rwX /data/vaults/n/lexical", |f| {
            f.vaults[0].words = false;
            f.vaults[0].words_unreadable = Some("Permission denied".into());
        }),
        ("privacy", Note, "is not known", "", |f| {
            f.daemon = Daemon::Absent;
            f.config_problems = vec![problem("wrong")];
        }),
        ("data", Fail, "nothing can be written", "chmod -R u+w /data", |f| {
            f.data = Some(place("/data", 0o500));
            f.writable = Some(Err("Permission denied".into()));
        }),
        ("store", Warn, "does not open, perhaps for nothing can be written", "", |f| {
            f.daemon = Daemon::Absent;
            f.writable = Some(Err("Permission denied".into()));
            f.vaults[0].database = Some(Err("Permission denied".into()));
        }),
        ("status", Warn, "is the disk full?", "", |f| {
            with_status(f, |s| s.problems = vec!["is the disk full?".into()]);
        }),
        ("status", Warn, "does not serve `n`", "restart", |f| with_status(f, |s| s.vaults.clear())),
        ("notes", Note, "2 notes with something odd", "", |f| with_status(f, |s| s.vaults[0].warned = 2)),
        ("notes", Warn, "1 document whose text is not searched", "", |f| {
            let message = "it is no canvas that can be read: expected value".to_owned();
            let document = WarnedNote { path: "a.canvas".to_owned(), line: 1, message };
            with_status(f, |s| (s.vaults[0].warned, s.vaults[0].warned_notes) = (1, vec![document]));
        }),
        ("status", Note, "paused: battery", "", |f| {
            with_status(f, |s| s.held = vec!["paused: battery at 31 %".into()]);
        }),
        ("status", Note, "work is paused", "situated resume", |f| with_status(f, |s| s.state = RunState::Paused)),
    ];
    for (id, level, finding, remedy, change) in rows {
        let mut facts = healthy();
        change(&mut facts);
        let found = checks(&facts, false);
        let hit = found.iter().find(|c| c.id == *id && c.level == *level && c.finding.contains(finding));
        let hit = hit.unwrap_or_else(|| panic!("{id} {level:?} {finding}: {found:#?}"));
        assert!(hit.remedy.as_deref().unwrap_or_default().contains(remedy), "{hit:?}");
    }
}

#[test]
fn contexts_are_carried_over_from_data_and_not_from_a_configuration() {
    let mut facts = healthy();
    let left = |at: &str, present: &str| FormerFacts { at: at.into(), present: present.into(), left_behind: true };
    facts.former = vec![left("/old data", "/data"), left("/old.toml", "/new.toml")];
    let found = checks(&facts, false);
    let found: Vec<_> = found.iter().filter(|check| check.id == "folders").collect();
    assert!(found[0].evidence.as_deref().is_some_and(|why| why.contains("contexts export")), "{found:?}");
    assert_eq!(found[0].remedy.as_deref(), Some("mv /old\\ data /old\\ data.old"));
    assert_eq!(found[1].evidence.as_deref(), Some("nothing of it is read"));
}

#[test]
fn polled_vaults_need_no_watches() {
    let mut facts = healthy();
    facts.host.watches = Some((10, 10));
    facts.vaults[0].poll = Some(true);
    assert!(!checks(&facts, false).iter().any(|check| check.id == "watches"));
}

#[test]
fn notes_are_named_only_when_asked_for() {
    let mut facts = healthy();
    facts.vaults[0].skipped.insert("a link to nothing", (1, vec!["Secret plan.md".into()]));
    facts.vaults[0].conflicts = (1, vec!["Secret plan.sync-conflict-1.md".into()]);
    let named = |full| checks(&facts, full).iter().any(|check| format!("{check:?}").contains("Secret plan"));
    assert!(!named(false) && named(true));
}
