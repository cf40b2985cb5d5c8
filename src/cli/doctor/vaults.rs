//! What is gathered about each vault: its folder, its file system, what is left out, its store.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::daemon::Daemon;
use crate::daemon::config::Config;
use store::Looked;
use vault::policy::{Policy, is_conflict};
use vault::root::{self, needs_polling};
use vault::settings::VaultConfig;
use vault::walk::{self, Skip};

/// Databases up to this size are copied to see whether they open.
const MOST_TO_COPY: u64 = 512 << 20;

/// A file that each index of words has.
const WORDS: &str = "lexical/words/meta.json";

/// Most paths that are named of each kind.
const NAMED: usize = 3;

/// What is known of one vault.
#[derive(Clone, Debug, Default)]
pub(super) struct VaultFacts {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// Why it cannot be read.
    pub(super) unreadable: Option<String>,
    /// Its file system, and whether the system may miss changes there.
    pub(super) file_system: Option<(String, bool)>,
    /// What the configuration sets: `true` polls the vault, `false` listens for events.
    pub(super) poll: Option<bool>,
    pub(super) folders: u64,
    pub(super) notes: u64,
    /// Notes in the index, if the daemon doubts what the folder shows.
    pub(super) doubted: Option<u64>,
    /// What is left out, by reason: how many, and the first few.
    pub(super) skipped: BTreeMap<&'static str, (u64, Vec<String>)>,
    /// Copies that a sync left: how many, and the first few.
    pub(super) conflicts: (u64, Vec<String>),
    /// Where its index is.
    pub(super) index: PathBuf,
    pub(super) indexed: bool,
    /// Why it cannot be told whether there is one.
    pub(super) index_unreadable: Option<String>,
    pub(super) store: Looked,
    /// Notes in the database, or what is wrong with it; only where no daemon has it open.
    pub(super) database: Option<Result<u64, String>>,
    /// Whether the index of words is there.
    pub(super) words: bool,
    /// Why it cannot be told whether it is.
    pub(super) words_unreadable: Option<String>,
}

/// Looks at the vaults of the configuration, and at others that the daemon serves.
pub(super) fn look(config: Option<&Config>, data_dir: &Path, daemon: &Daemon) -> Vec<VaultFacts> {
    let mut vaults = config.map(|config| config.engine.vaults.clone()).unwrap_or_default();
    if let Daemon::Answers(status, _) = daemon {
        for served in &status.vaults {
            if !vaults.iter().any(|vault| vault.path == served.path) {
                vaults.push(VaultConfig::new(&served.name, &served.path));
            }
        }
    }
    vaults.iter().map(|vault| look_at(vault, data_dir, daemon)).collect()
}

/// Indexes with what was paid for that belong to none of these vaults.
pub(super) fn orphans(vaults: &[VaultFacts], data_dir: &Path) -> Vec<engine::Orphan> {
    let known: Vec<VaultConfig> = vaults.iter().map(|vault| VaultConfig::new(&vault.name, &vault.path)).collect();
    let mut found = engine::orphans(data_dir, &known);
    found.retain(engine::Orphan::has_paid);
    found
}

fn look_at(vault: &VaultConfig, data_dir: &Path, daemon: &Daemon) -> VaultFacts {
    let index = engine::vault_dir(data_dir, &vault.path);
    let free = matches!(daemon, Daemon::Absent);
    let served = match daemon {
        Daemon::Answers(status, _) => status.vaults.iter().find(|served| served.path == vault.path),
        _ => None,
    };
    let mut facts = VaultFacts {
        name: vault.name.clone(),
        path: vault.path.clone(),
        doubted: served.filter(|served| served.doubt.is_some()).map(|served| served.notes),
        file_system: root::look_at(&vault.path, |path| Ok(file_system(path))).ok().flatten(),
        poll: vault.poll,
        indexed: index.is_dir(),
        index_unreadable: index.try_exists().err().map(|error| error.to_string()),
        store: store::look(&index),
        database: if free { store::rehearse(&index, MOST_TO_COPY) } else { None },
        words: index.join(WORDS).is_file(),
        words_unreadable: index.join(WORDS).try_exists().err().map(|error| error.to_string()),
        index,
        ..VaultFacts::default()
    };
    let hangs = root::look_at(&vault.path, |path| path.read_dir().map(drop)).err();
    if let Some(hangs) = hangs.filter(|error| error.kind() == io::ErrorKind::TimedOut) {
        facts.unreadable = Some(hangs.to_string());
        return facts;
    }
    let walked = Policy::new(&vault.path, vault)
        .and_then(|policy| walk::walk(&vault.path, &policy, None, &AtomicBool::new(false)));
    let walk = match walked {
        Ok(walk) => walk,
        Err(error) => {
            facts.unreadable = Some(error.to_string());
            return facts;
        }
    };
    (facts.folders, facts.notes) = (walk.folders.len() as u64 + 1, walk.files.len() as u64);
    for (path, why) in &walk.skipped {
        let (count, first) = facts.skipped.entry(reason(why)).or_default();
        *count += 1;
        if first.len() < NAMED {
            first.push(path.to_string());
        }
    }
    for (path, _) in walk.files.iter().filter(|(path, _)| is_conflict(path.file_name())) {
        facts.conflicts.0 += 1;
        if facts.conflicts.1.len() < NAMED {
            facts.conflicts.1.push(path.to_string());
        }
    }
    facts
}

/// The reason, without what concerns only the one file.
fn reason(why: &Skip) -> &'static str {
    match why {
        Skip::TooLarge(_) => "larger than `max_note_bytes`, or documents of over 128 MiB",
        Skip::LinkInside => "a link into the vault",
        Skip::LinkOutside => "a link that leaves the vault",
        Skip::LinkBroken => "a link to nothing",
        Skip::NotAFile => "no file",
        Skip::Unreadable(_) => UNREADABLE,
        Skip::IgnoreFile(_) => "an ignore file that cannot be read",
    }
}

/// What the system does not let us read.
pub(super) const UNREADABLE: &str = "unreadable";

/// The name of a folder's file system, and whether changes by others go unnoticed there.
fn file_system(path: &Path) -> Option<(String, bool)> {
    if let Some(name) = needs_polling(path) {
        return Some((name.to_owned(), true));
    }
    #[cfg(target_os = "linux")]
    {
        let magic = rustix::fs::statfs(path).ok()?.f_type as u32;
        let name = match magic {
            0xEF53 => "ext4",
            0x9123_683E => "btrfs",
            0x5846_5342 => "xfs",
            0x0102_1994 => "tmpfs",
            0x2FC1_2FC1 => "zfs",
            0x794C_7630 => "overlayfs",
            0xF2F5_2010 => "f2fs",
            0xCA45_1A4E => "bcachefs",
            0x4D44 => "FAT",
            0x2011_BAB0 => "exFAT",
            other => return Some((format!("kind {other:#x}"), false)),
        };
        Some((name.to_owned(), false))
    }
    #[cfg(not(target_os = "linux"))]
    None
}
