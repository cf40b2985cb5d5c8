//! Turns facts into findings. Pure, so a table of facts is a test.

use super::super::print::{bytes, counted, millis, typed};
use super::daemon::Daemon;
use super::facts::{Facts, FormerFacts, Place, ProviderFacts};
use super::vaults::{UNREADABLE, VaultFacts};
use super::{Check, Level, redact};
use note::Format;
use protocol::contexts::OfferedWork;
use protocol::status::{Enforcement, RunState, Status, WarnedNote};

/// With fewer free bytes than this, indexing will soon stop.
const LEAST_FREE: u64 = 64 << 20;

/// With fewer free bytes than this, `doctor` warns.
const LITTLE_FREE: u64 = 1 << 30;

/// A clock before this (2026-01-01) is wrong.
const EARLIEST: i64 = 1_767_225_600;

/// A file may be newer than now by this many seconds.
const AHEAD: i64 = 300;

/// Where notes of which something is to be said are named.
const NAMED: &str = "`situated status --json` says which, and what";

/// Judges all facts; with `full`, findings name the first few notes.
pub(super) fn checks(facts: &Facts, full: bool) -> Vec<Check> {
    let mut found = vec![config(facts, full), daemon(facts)];
    found.extend(version(facts));
    found.push(data(facts));
    found.extend(facts.former.iter().map(|found| former(found, facts)));
    found.extend(lock_and_socket(facts));
    found.push(sandbox(facts));
    found.extend(namespaces(facts));
    found.push(disk(facts));
    found.push(clock(facts));
    found.push(model(facts));
    found.extend(table(facts));
    found.extend(cross_encoder(facts));
    found.extend(facts.providers.iter().filter_map(|provider| key(provider, facts.uid)));
    found.push(leaves(facts));
    found.extend(watches(facts));
    for vault in &facts.vaults {
        found.extend(vault_checks(vault, full, !matches!(facts.writable, Some(Err(_)))));
    }
    found.extend(facts.orphans.iter().map(orphan));
    found.extend(told(facts));
    found
}

fn config(facts: &Facts, full: bool) -> Check {
    let id = "config";
    match (facts.config_problems.as_slice(), &facts.config_file) {
        ([], Some(file)) => Check::ok(id, format!("{} says what to do", file.display())),
        ([], None) if facts.vaults.is_empty() && !matches!(facts.daemon, Daemon::Answers(..)) => {
            Check::warn(id, "there is no configuration, so nothing says which vault to index")
                .remedy("situated init ~/Notes")
        }
        ([], None) => Check::note(id, "there is no configuration; the defaults are in force"),
        ([first, rest @ ..], _) => {
            let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
            Check::fail(id, format!("the configuration is wrong{more}"))
                .because(if full { first.to_string() } else { redact::problem(first) })
                .remedy("situated config check")
        }
    }
}

fn daemon(facts: &Facts) -> Check {
    let id = "daemon";
    match &facts.daemon {
        Daemon::Answers(status, took) => {
            let by = match status.supervisor.as_str() {
                "none" => String::new(),
                by => format!(", kept by {by}"),
            };
            Check::ok(id, format!("it answers (process {}{by}) in {}", status.pid, millis(*took)))
        }
        Daemon::Silent(why, ended) => {
            Check::fail(id, "one holds the index and does not answer").because(why.clone()).remedy(ended.clone())
        }
        Daemon::Absent => Check::note(id, "none runs: what only it knows was not looked at").remedy("situated run"),
    }
}

fn version(facts: &Facts) -> Option<Check> {
    let Daemon::Answers(status, _) = &facts.daemon else { return None };
    let (id, ours, its) = ("version", &facts.version, &status.version);
    Some(if ours == its {
        Check::ok(id, format!("program and daemon are {ours}"))
    } else {
        Check::warn(id, format!("this program is {ours}, the daemon is {its}")).remedy(restarting(status))
    })
}

/// What starts a daemon that answers anew: no service manager knows one that was started by hand.
fn restarting(status: &Status) -> &'static str {
    if status.supervisor == "none" { "situated stop && situated run" } else { "situated service restart" }
}

fn data(facts: &Facts) -> Check {
    let (id, dir) = ("data", facts.data_dir.display());
    if let Some(Err(why)) = &facts.writable {
        let check = Check::fail(id, format!("nothing can be written in {dir}, where the index has to be"));
        let check = check.because(why.clone());
        // Another folder would have none of what was paid for.
        let is_closed =
            |place: &&Place| place.path == facts.data_dir && place.uid == facts.uid && place.mode & 0o200 == 0;
        return match facts.data.as_ref().filter(is_closed) {
            Some(_) => check.remedy(format!("chmod -R u+w {}", typed(&facts.data_dir))),
            None => check.remedy("set `data_dir` in the configuration to a folder that can be written"),
        };
    }
    match &facts.data {
        Some(place) if place.path == facts.data_dir && place.uid != facts.uid => Check::fail(
            id,
            format!("{dir} belongs to user {}, not to you ({})", place.uid, facts.uid),
        )
        .remedy(format!("sudo chown -R {} {}", facts.uid, typed(&facts.data_dir))),
        Some(place) if place.path == facts.data_dir && place.mode & 0o077 != 0 => {
            let open = format!("{dir} can be read by others (mode {:03o}), and holds the text of notes", place.mode);
            Check::warn(id, open).remedy(format!("chmod 700 {}", typed(&facts.data_dir)))
        }
        Some(place) if place.path == facts.data_dir => Check::ok(id, format!("{dir} is yours alone")),
        _ => match &facts.daemon {
            Daemon::Answers(status, _)
                if status.vaults.iter().any(|vault| vault.notes > 0 && vault.index_bytes == 0) =>
            {
                Check::fail(id, format!("{dir} was removed while the daemon uses it")).remedy(restarting(status))
            }
            _ => Check::note(id, format!("{dir} is not there yet: nothing was indexed")),
        },
    }
}

/// Judges a file or folder that an earlier version kept elsewhere.
fn former(found: &FormerFacts, facts: &Facts) -> Check {
    let (id, at, present) = ("folders", found.at.display(), found.present.display());
    if found.left_behind {
        let finding = format!("{present} is used, and {at}, which an earlier version used, is there too");
        let unread = if found.present == facts.data_dir {
            "nothing of it is read: `situated contexts export` and `import` carry over contexts that were paid for"
        } else {
            "nothing of it is read"
        };
        return Check::warn(id, finding).because(unread).remedy(format!("mv {0} {0}.old", typed(&found.at)));
    }
    let finding = format!("{at} is used, where an earlier version kept it; its place is {present}");
    let check = Check::note(id, finding);
    match facts.daemon {
        Daemon::Absent => check.because("the daemon moves it when it starts, where that can be done"),
        _ => check.because("the daemon moves it when it starts again, or says in its log why it cannot"),
    }
}

fn lock_and_socket(facts: &Facts) -> Vec<Check> {
    let id = "socket";
    let runs = !matches!(facts.daemon, Daemon::Absent);
    let socket = match &facts.socket {
        Some(Place { path, is_socket: false, .. }) => {
            let check = Check::fail(id, format!("{} is in the way and is no socket", path.display()));
            Some(check.remedy(format!("mv {0} {0}.old", typed(path))))
        }
        Some(Place { path, uid, .. }) if *uid != facts.uid => {
            let finding = format!("the socket {} belongs to user {uid}, not to you ({})", path.display(), facts.uid);
            Some(Check::fail(id, finding).remedy("set `serve.socket` to a path of your own"))
        }
        Some(Place { path, mode, .. }) if mode & 0o077 != 0 => {
            let finding = format!("the socket {} is open to others (mode {mode:03o})", path.display());
            Some(Check::fail(id, finding).remedy(format!("chmod 600 {}", typed(path))))
        }
        Some(Place { path, .. }) if !runs => {
            let finding = format!("{} was left by a daemon that is gone; the next one replaces it", path.display());
            Some(Check::note(id, finding))
        }
        Some(Place { path, .. }) => Some(Check::ok(id, format!("{} is yours alone", path.display()))),
        None => runs.then(|| {
            let check = Check::fail(id, "the daemon's socket was removed, so nobody reaches it");
            check.remedy("situated service restart")
        }),
    };
    let is_open = |dir: &&Place| dir.mode & 0o022 != 0 && dir.mode & 0o1000 == 0;
    let folder = facts.socket_dir.as_ref().filter(is_open).map(|Place { path, mode, .. }| {
        let finding = format!("others can put a socket of theirs into {} (mode {mode:03o})", path.display());
        Check::fail(id, finding).remedy(format!("chmod go-w {}", typed(path)))
    });
    socket.into_iter().chain(folder).collect()
}

fn sandbox(facts: &Facts) -> Check {
    let id = "landlock";
    let kernel = match facts.host.landlock {
        Some(abi) => format!("the kernel has version {abi}"),
        None => "the kernel has none".to_owned(),
    };
    let Daemon::Answers(status, _) = &facts.daemon else {
        return match facts.host.landlock {
            Some(_) => Check::ok(id, format!("{kernel}: a daemon will be held to its files")),
            None => {
                Check::note(id, "the kernel has no Landlock, so nothing but the daemon itself keeps it to its files")
            }
        };
    };
    let sandbox = &status.sandbox;
    let network = if sandbox.network { "it can open connections" } else { "it can open no connection" };
    let why = sandbox.why.clone().unwrap_or_default();
    let check = match (sandbox.landlock, facts.host.landlock) {
        (Enforcement::Full, _) => Check::ok(
            id,
            format!("the kernel lets the daemon read the vaults and write to its own folders only; {network}"),
        ),
        (Enforcement::Partial, _) => {
            Check::note(id, format!("the kernel holds the daemon to its files in part; {network}")).because(why)
        }
        (Enforcement::None, None) => {
            Check::note(id, "nothing but the daemon itself keeps it to its files").because(kernel)
        }
        // The kernel could, so the configuration or the unit's filter of system calls prevents it.
        (Enforcement::None, Some(_)) => {
            Check::warn(id, "nothing but the daemon itself keeps it to its files, and the kernel could")
                .because(format!("{kernel}; {why}"))
                .remedy("set `host.sandbox = \"auto\"`, or install the unit again: situated service install")
        }
    };
    if sandbox.landlock != Enforcement::None && sandbox.network && status.leaves_machine.is_empty() && sandbox.abi < 4 {
        return check.because("versions before 4 know no rules for the network");
    }
    check
}

fn namespaces(facts: &Facts) -> Option<Check> {
    let id = "namespaces";
    let allowed = facts.host.namespaces?;
    Some(if allowed {
        Check::ok(id, "users may make namespaces: the unit's strict part can hold")
    } else {
        let finding = "users may make no namespaces: the unit's strict part does nothing, Landlock does the work";
        Check::note(id, finding)
    })
}

fn disk(facts: &Facts) -> Check {
    let id = "disk";
    let store: u64 = facts.vaults.iter().map(|vault| vault.store.bytes).sum();
    match facts.free {
        None => Check::note(id, "how much room there is cannot be told"),
        Some(free) => {
            let finding = if facts.vaults.is_empty() && !facts.config_problems.is_empty() {
                // Which indexes there are is not known.
                format!("{} are free", bytes(free))
            } else {
                format!("{} are free, the indexes take {}", bytes(free), bytes(store))
            };
            match free {
                _ if free < LEAST_FREE => Check::fail(id, finding)
                    .because("what cannot be written is tried again when there is room; what was indexed is found")
                    .remedy(format!("make room on the disk of {}", facts.data_dir.display())),
                // A compaction, or a rebuild beside the old index, needs as much again as the store.
                _ if free < LITTLE_FREE.max(store) => {
                    Check::warn(id, finding).remedy("situated stop && situated compact")
                }
                _ => Check::ok(id, finding),
            }
        }
    }
}

fn clock(facts: &Facts) -> Check {
    let id = "clock";
    match facts.newest {
        _ if facts.now < EARLIEST => Check::warn(id, "the clock is years behind: ages and budgets will be wrong")
            .remedy("timedatectl set-ntp true"),
        Some(newest) if newest > facts.now + AHEAD => {
            let ahead = millis((newest - facts.now) as f64 * 1000.0);
            Check::warn(id, format!("files of the index are {ahead} from now: the clock was set back"))
                .remedy("timedatectl set-ntp true")
        }
        _ => Check::ok(id, "it is plausible"),
    }
}

fn model(facts: &Facts) -> Check {
    let id = "model";
    if facts.model_error < 1e-4 {
        Check::ok(id, "the built-in one gives the vector that it should")
    } else {
        Check::fail(id, "the built-in one gives another vector than it should: this program is damaged, or miscompiled")
            .because(format!("off by {}", facts.model_error))
            .remedy("cargo install situated --force")
    }
}

fn key(provider: &ProviderFacts, uid: u32) -> Option<Check> {
    let ProviderFacts { section, name, key, file, elsewhere } = provider;
    let id = "key";
    let whose = format!("the key of {name} (`{section}`)");
    let setting = format!("{section}.key_file");
    if let Some(file) = file {
        return Some(match file {
            Err(why) => Check::fail(id, format!("{whose} cannot be read"))
                .because(why.clone())
                .remedy(format!("put it into a file with mode 0600, and name that in `{setting}`")),
            Ok(place) if place.uid != uid => {
                Check::fail(id, format!("{whose} belongs to user {}, so it is not taken", place.uid))
                    .remedy(format!("sudo chown {uid} {}", typed(&place.path)))
            }
            Ok(place) if place.mode & 0o077 != 0 => {
                Check::fail(id, format!("{whose} can be read by others (mode {:04o}), so it is not taken", place.mode))
                    .remedy(format!("chmod 600 {}", typed(&place.path)))
            }
            Ok(place) => Check::ok(id, format!("{whose} is in {}, for you alone", place.path.display())),
        });
    }
    let key = key.as_ref()?;
    let (ask, tells) = match section.as_str() {
        "embed" | "rerank" => ("situated search WORDS", "whether it works a search tells"),
        _ => ("situated doctor --provider", "whether it works only asking tells"),
    };
    Some(match key.found {
        Some(true) if key.place.starts_with("the variable") => {
            Check::note(id, format!("{whose} is in {} here; a service does not see what a shell sets", key.place))
                .remedy(format!("put it into a file with mode 0600, and name that in `{setting}`"))
        }
        Some(true) => Check::ok(id, format!("{whose} is in {}", key.place)),
        Some(false) => {
            let then = if *elsewhere {
                "a server of this machine may need none"
            } else {
                "unless the daemon has one, nothing is asked"
            };
            Check::warn(id, format!("{whose} is not in {}; {then}", key.place))
                .remedy(format!("put it into a file with mode 0600, and name that in `{setting}`"))
        }
        None => Check::note(id, format!("{whose} comes from {}; {tells}", key.place)).remedy(ask),
    })
}

/// The cross-encoder that the configuration names.
fn cross_encoder(facts: &Facts) -> Option<Check> {
    let id = "reranker";
    Some(match facts.cross_encoder.as_ref()? {
        Ok(folder) => Check::ok(id, format!("the cross-encoder lies in {}", folder.display())),
        Err(why) => Check::fail(id, "the cross-encoder of `rerank.model` is not here, so nothing is reranked")
            .remedy(why.clone()),
    })
}

/// The static table that the configuration names.
fn table(facts: &Facts) -> Option<Check> {
    let id = "table";
    Some(match facts.table.as_ref()? {
        Ok(what) => Check::ok(id, what.clone()),
        Err(why) => Check::fail(id, "the static table of `embed.path` cannot be used, so it makes no vectors")
            .because(why.clone())
            .remedy("put the right files there, or take `provider = \"static\"` out of [embed]"),
    })
}

fn leaves(facts: &Facts) -> Check {
    let id = "privacy";
    match &facts.daemon {
        Daemon::Answers(status, _) if status.leaves_machine.is_empty() => Check::ok(id, "nothing leaves this machine"),
        Daemon::Answers(status, _) => {
            Check::note(id, "text leaves this machine").because(status.leaves_machine.join("; "))
        }
        _ if !facts.config_problems.is_empty() => {
            Check::note(id, "what would leave this machine is not known: the configuration is wrong")
        }
        _ if facts.providers.is_empty() => Check::ok(id, "no provider is configured: nothing will leave this machine"),
        _ => {
            let names: Vec<&str> = facts.providers.iter().map(|provider| provider.name).collect();
            Check::note(id, format!("texts go to {}", names.join(", ")))
        }
    }
}

/// Watches that the vaults need, against those that are left.
fn watches(facts: &Facts) -> Vec<Check> {
    let id = "watches";
    let polled =
        |vault: &&VaultFacts| vault.poll.unwrap_or_else(|| vault.file_system.as_ref().is_some_and(|found| found.1));
    let needed: u64 = facts.vaults.iter().filter(|vault| !polled(vault)).map(|vault| vault.folders).sum();
    let sysctl = |key: &str, value: u64| {
        format!("echo fs.inotify.{key}={value} | sudo tee /etc/sysctl.d/60-situated.conf && sudo sysctl --system")
    };
    let mut found = Vec::new();
    if let Some((most, used)) = facts.host.watches.filter(|_| needed > 0) {
        let left = most.saturating_sub(used);
        let finding = format!("{} needed, {left} of {most} left", counted(needed, "watch"));
        let enough = (2 * (used + needed)).next_power_of_two().max(524_288);
        found.push(match needed {
            _ if needed > left => Check::warn(id, finding)
                .because("what goes without is looked at every 30 seconds instead of at once")
                .remedy(sysctl("max_user_watches", enough)),
            _ if needed * 5 > left * 4 => Check::note(id, finding).remedy(sysctl("max_user_watches", enough)),
            _ => Check::ok(id, finding),
        });
    }
    if let Some((most, used)) = facts.host.instances.filter(|(most, used)| needed > 0 && used + 2 > *most) {
        let finding = format!("{used} of {most} instances of inotify are taken: vaults cannot be listened to");
        found.push(Check::warn(id, finding).remedy(sysctl("max_user_instances", 512.max(most * 2))));
    }
    if !facts.host.proc {
        found.push(Check::note(id, "there is no /proc, so limits and memory cannot be told"));
    }
    found
}

fn vault_checks(vault: &VaultFacts, full: bool, writable: bool) -> Vec<Check> {
    let name = format!("`{}`", vault.name);
    if let Some(why) = &vault.unreadable {
        return vec![Check::fail("vault", format!("{name} cannot be read")).because(why.clone())];
    }
    let on = vault.file_system.as_ref().map_or(String::new(), |(kind, _)| format!(" on {kind}"));
    let notes = counted(vault.notes, "note");
    let mut found = vec![match (&vault.file_system, vault.poll) {
        (Some((kind, true)), None) => Check::note(
            "vault",
            format!("{name} lies on {kind}, where changes by others go unheard: it is looked at every 30 seconds"),
        ),
        (Some((kind, true)), Some(false)) => Check::warn(
            "vault",
            format!("{name} lies on {kind}, where changes by others go unheard, and is not polled"),
        )
        .remedy(format!("take `poll = false` out of the vault {name}")),
        _ => match vault.doubted {
            // The daemon's problem says what to do.
            Some(indexed) => Check::warn("vault", format!("{name}: {notes}{on} now, and {indexed} in its index")),
            None => Check::ok("vault", format!("{name}: {notes}{on}")).because(vault.path.display().to_string()),
        },
    }];
    let named = |paths: &[String]| if full { paths.join(", ") } else { String::new() };
    for (reason, (count, paths)) in &vault.skipped {
        let level = if *reason == UNREADABLE { Level::Warn } else { Level::Note };
        let finding = format!("{name}: {} left out, {reason}", counted(*count, "file"));
        found.push(Check::new("skipped", level, finding).because(named(paths)));
    }
    if vault.conflicts.0 > 0 {
        let finding =
            format!("{name}: {} that a sync left when two sides had changed", counted(vault.conflicts.0, "copy"));
        found.push(
            Check::note("conflicts", finding)
                .because(named(&vault.conflicts.1))
                .remedy("situated --json status | jq '.vaults[].conflicts'"),
        );
    }
    found.extend(index_checks(vault, &name, writable));
    found
}

fn index_checks(vault: &VaultFacts, name: &str, writable: bool) -> Vec<Check> {
    if let Some(why) = &vault.index_unreadable {
        return vec![Check::warn("store", format!("{name}: its index cannot be read")).because(why.clone())];
    }
    if !vault.indexed {
        return vec![Check::note("store", format!("{name} has no index"))];
    }
    let mut found = Vec::new();
    let size = bytes(vault.store.bytes);
    found.push(match &vault.database {
        // The daemon does not start, so it moves nothing aside.
        Some(Err(why)) if !writable => {
            let finding = format!("{name}: the database does not open, perhaps for nothing can be written there");
            Check::warn("store", finding).because(why.clone())
        }
        Some(Err(why)) => {
            let finding = format!(
                "{name}: the database does not open; the next daemon moves it aside and makes it anew from the notes"
            );
            Check::warn("store", finding).because(why.clone()).remedy("situated run")
        }
        Some(Ok(notes)) => Check::ok("store", format!("{name}: it opens, with {} in {size}", counted(*notes, "note"))),
        None => Check::ok("store", format!("{name}: {size}")),
    });
    if let Some(newest) = vault.store.moved_aside.last() {
        let finding =
            format!("{name}: {} moved aside", counted(vault.store.moved_aside.len() as u64, "damaged database"));
        found.push(
            Check::note("store", finding)
                .because("what a model had written came back as far as it could be read; they are kept for whoever wants to know")
                .remedy(format!("rm -r {}", typed(newest))),
        );
    }
    found.extend(vault.store.journal.as_ref().map(|journal| {
        match journal {
            Err(why) => Check::fail("journal", format!("{name}: the contexts that were paid for cannot be read"))
                .because(why.clone())
                .remedy(format!("chmod u+rw {}/contexts.journal", typed(&vault.index))),
            Ok((entries, 0)) => Check::ok("journal", format!("{name}: {entries} entries of contexts can be read")),
            Ok((entries, damaged)) => {
                let stretches = counted(*damaged, "stretch");
                let finding = format!("{name}: {entries} entries of contexts can be read, {stretches} cannot");
                let vault = typed(&vault.path);
                Check::warn("journal", finding)
                    .because("a context that was lost is bought again when it is due; compacting leaves the damage out")
                    .remedy(format!(
                        "situated stop && situated contexts export --vault {vault} backup.jsonl && situated compact {vault}"
                    ))
            }
        }
    }));
    if let Some(why) = &vault.words_unreadable {
        found.push(
            Check::warn("words", format!("{name}: the index of words cannot be read, so nothing is found by words"))
                .because(why.clone())
                .remedy(format!("chmod -R u+rwX {}/lexical", typed(&vault.index))),
        );
    } else if !vault.words {
        found.push(Check::note("words", format!("{name}: the index of words is not there; the next daemon makes it")));
    }
    found
}

/// An index with what was paid for, of a vault that is not configured (any more).
fn orphan(found: &engine::Orphan) -> Check {
    let (dir, folder) = (found.dir.display(), found.vault.as_deref());
    let of = folder.map_or_else(|| "a folder that is not known".to_owned(), |folder| folder.display().to_string());
    let given = folder.map_or_else(|| "ITS_PATH".to_owned(), typed);
    Check::note(
        "index",
        format!("{dir} has contexts that were paid for, of {of}, which is no vault of the configuration"),
    )
    .because(
        "a vault that is renamed keeps its index; if it has come from another disk, export and import carry them over",
    )
    .remedy(format!(
        "situated stop && situated contexts export --vault {given} moved.jsonl && situated contexts import --vault NAME moved.jsonl"
    ))
}

/// What the daemon itself reports.
fn told(facts: &Facts) -> Vec<Check> {
    let Daemon::Answers(status, _) = &facts.daemon else { return Vec::new() };
    let Status { problems, held, vaults, state, contexts, config, .. } = &**status;
    // A vault that cannot be read has its own finding, so the daemon's problem is left out.
    let unreadable = |problem: &str| {
        facts.vaults.iter().any(|vault| vault.unreadable.as_ref().is_some_and(|why| problem.contains(why)))
    };
    let of_daemon = problems.iter().filter(|problem| !unreadable(problem));
    let check = |problem: &String| {
        // A vault that is not served answers no search.
        let is_fatal = problem.contains("` cannot be served: ");
        let level = if is_fatal { Level::Fail } else { Level::Warn };
        Check::new("status", level, problem.clone())
    };
    let mut found: Vec<Check> = of_daemon.map(check).collect();
    found.extend(held.iter().map(|held| Check::note("status", held.clone())));
    let waiting = contexts.offers.iter().map(|offer| {
        let by = format!("by {} {}", offer.provider, offer.model);
        let finding = match offer.what {
            OfferedWork::Contexts => format!("`{}`: contexts {by} wait for your yes", offer.vault),
            OfferedWork::Vectors => format!("`{}`: vectors {by} wait for your yes", offer.vault),
            OfferedWork::Reranking => format!("reranking {by} waits for your yes"),
        };
        Check::note("status", finding).remedy("situated contexts start")
    });
    found.extend(waiting);
    if *state == RunState::Paused && held.is_empty() {
        found.push(
            Check::note("status", "work is paused: what is saved meanwhile is not found").remedy("situated resume"),
        );
    }
    if config.changed {
        let finding = format!("{}, so it is not in force", super::super::config::CHANGED);
        found.push(Check::warn("config", finding).remedy("situated config reload"));
    }
    if !config.awaits_start.is_empty() {
        let finding = super::super::config::awaits_start(config);
        found.push(Check::note("config", finding).remedy(restarting(status)));
    }
    for vault in facts.vaults.iter().filter(|vault| !vaults.iter().any(|served| served.path == vault.path)) {
        let finding = format!("the daemon does not serve `{}`, which the configuration names", vault.name);
        found.push(Check::warn("status", finding).remedy(restarting(status)));
    }
    for vault in vaults {
        let is_document = |note: &&WarnedNote| Format::is_converted(&note.path);
        let documents: Vec<&WarnedNote> = vault.warned_notes.iter().filter(is_document).collect();
        if let Some(first) = documents.first() {
            let count = counted(documents.len() as u64, "document");
            found.push(
                Check::warn("notes", format!("`{}`: {count} whose text is not searched, or not all of it", vault.name))
                    .because(format!("{}; {NAMED}", first.message)),
            );
        }
        let odd = vault.warned.saturating_sub(documents.len() as u64);
        if odd > 0 {
            let finding = format!("`{}`: {} with something odd, mostly front matter", vault.name, counted(odd, "note"));
            found.push(Check::note("notes", finding).because(format!("they are indexed all the same; {NAMED}")));
        }
    }
    found
}

#[cfg(test)]
mod tests;
