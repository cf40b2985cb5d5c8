//! Where the index of a vault is, and what becomes of it when the vault's path is written anew.
//!
//! An index is in the folder that is named after its vault's path, as the configuration spells that. If there is none,
//! a start of the daemon takes over, before it opens anything, an index that no vault of the configuration has: that of
//! the same path in another spelling, or else that of the same folder, which was renamed. A path that leads nowhere,
//! such as that of a disk that is not mounted, takes over nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::embedding::served_table;
use note::fingerprint::Fields;
use provider::Embedder;
use store::{ReadInputs, Store, StoreError};
use vault::root::{RootId, look_at, root_id};
use vault::settings::VaultConfig;

#[cfg(test)]
mod tests;

/// The file, in the folder of a vault's index, that holds the real path of the vault's folder.
const FOLDER: &str = "folder";

/// The file that holds the identity of the vault's folder.
const ROOT: &str = "root";

/// The folder of a vault's index. Its name is made of the vault folder's name and a hash of the whole path.
pub fn vault_dir(data_dir: &Path, vault: &Path) -> PathBuf {
    let name = vault.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let slug: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(32).collect();
    let hash = Fields::new("vault-dir/1").bytes(vault.as_os_str().as_encoded_bytes()).finish();
    let short: String = hash[..4].iter().map(|b| format!("{b:02x}")).collect();
    data_dir.join(VAULTS).join(format!("{slug}-{short}"))
}

/// The folder of a generation's index; for the plain one, which has no name, the vault's own.
pub(crate) fn generation_dir(data_dir: &Path, vault: &Path, generation: &str) -> PathBuf {
    let dir = vault_dir(data_dir, vault);
    if generation.is_empty() { dir } else { dir.join(GENERATIONS).join(generation) }
}

/// The folder, in the data folder, of the indexes of all vaults.
const VAULTS: &str = "vaults";

/// The folder of the generations beside the plain one.
pub(crate) const GENERATIONS: &str = "generations";

/// Folders of the static tables that made the vectors in use for a vault. They keep serving until another embedder
/// takes over, even if the configuration does not name them any more.
pub fn served_tables(data_dir: &Path, vault: &Path) -> Vec<PathBuf> {
    let plain = vault_dir(data_dir, vault);
    let beside = std::fs::read_dir(plain.join(GENERATIONS)).into_iter().flatten().flatten().map(|entry| entry.path());
    beside.chain([plain.clone()]).filter_map(|dir| served_table(&dir)).collect()
}

pub(super) fn read_root_id(dir: &Path) -> Option<RootId> {
    let text = std::fs::read_to_string(dir.join(ROOT)).ok()?;
    let (dev, ino) = text.trim().split_once(' ')?;
    Some(RootId { dev: dev.parse().ok()?, ino: ino.parse().ok()? })
}

/// Remembers which folder the vault is, to notice another one mounted in its place, and to know it when its path is
/// written anew. `dir` is the folder of a generation's index, `plain` that of the vault's.
pub(super) fn write_root_id((dir, plain): (&Path, &Path), root: RootId, vault: &Path) {
    let text = format!("{} {}\n", root.dev, root.ino);
    if let Err(error) = std::fs::write(dir.join(ROOT), text) {
        tracing::warn!(%error, "the vault's identity could not be remembered");
    }
    remember(plain, vault);
}

fn remember(dir: &Path, vault: &Path) {
    let real = look_at(vault, Path::canonicalize).ok();
    let Some(real) = real.filter(|real| dir.is_dir() && remembered(dir).as_ref() != Some(real)) else {
        return;
    };
    if let Err(error) = std::fs::write(dir.join(FOLDER), real.as_os_str().as_encoded_bytes()) {
        tracing::warn!(%error, "the vault's path could not be remembered");
    }
}

/// The real path that the vault of an index had last, if that was text.
fn remembered(dir: &Path) -> Option<PathBuf> {
    std::fs::read_to_string(dir.join(FOLDER)).ok().map(PathBuf::from)
}

/// The folder of an index that no vault of the configuration has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The folder.
    pub dir: PathBuf,
    /// Where its vault was last, if that was remembered.
    pub vault: Option<PathBuf>,
}

impl Orphan {
    /// Whether anything in it was paid for.
    pub fn has_paid(&self) -> bool {
        store::look(&self.dir).journal.is_some_and(|journal| journal.map_or(true, |(entries, _)| entries > 0))
    }

    /// Whether it is the index of the folder with this identity, wherever that is now, and at least half of its notes are
    /// there: the system gives the number of a folder that was deleted to another one.
    fn is_of(&self, root: RootId, folder: &Path) -> bool {
        let beside = std::fs::read_dir(self.dir.join(GENERATIONS)).into_iter().flatten().flatten();
        let mut indexes = beside.map(|entry| entry.path()).chain([self.dir.clone()]);
        let Some(dir) = indexes.find(|dir| read_root_id(dir) == Some(root)) else { return false };
        let (identity, dimensions) = (Embedder::Builtin.identity(), Embedder::Builtin.dimensions());
        let opened = Store::open_unscanned(&dir, identity, dimensions, &|| true, ReadInputs::Later, || ());
        match opened.and_then(|(store, ())| store.notes()) {
            Ok(notes) => {
                let there = notes.iter().filter(|note| folder.join(note.path.to_relative()).exists()).count();
                there > 0 && there * 2 >= notes.len()
            }
            // The daemon that runs has it open; the next one will look.
            Err(StoreError::Locked(_)) => true,
            Err(error) => {
                tracing::warn!(%error, "an index that may be that of a renamed vault cannot be read");
                false
            }
        }
    }
}

/// The indexes that no vault of the configuration has, in order of their folders' names.
pub fn orphans(data_dir: &Path, vaults: &[VaultConfig]) -> Vec<Orphan> {
    let known: Vec<PathBuf> = vaults.iter().map(|vault| vault_dir(data_dir, &vault.path)).collect();
    let entries = std::fs::read_dir(data_dir.join(VAULTS)).into_iter().flatten().flatten();
    let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|dir| dir.is_dir()).collect();
    dirs.retain(|dir| !known.contains(dir));
    dirs.sort();
    dirs.into_iter().map(|dir| Orphan { vault: remembered(&dir), dir }).collect()
}

/// The index that a vault takes over at the next start.
fn elsewhere(data_dir: &Path, vault: &VaultConfig, orphans: &[Orphan]) -> Option<Orphan> {
    if vault_dir(data_dir, &vault.path).try_exists().unwrap_or(true) {
        return None;
    }
    let real = vault.path.canonicalize().ok()?;
    let of_path = vault_dir(data_dir, &real);
    let same = |orphan: &&Orphan| orphan.dir == of_path || orphan.vault.as_ref() == Some(&real);
    if let Some(found) = orphans.iter().find(same) {
        return Some(found.clone());
    }
    let root = root_id(&real).ok()?;
    let mut renamed = orphans.iter().filter(|orphan| orphan.is_of(root, &real));
    renamed.next().filter(|_| renamed.next().is_none()).cloned()
}

/// The name of a vault whose index is elsewhere: only a start of the daemon takes it over, for one that runs has it open.
pub fn awaits_start<'a>(data_dir: &Path, vaults: &'a [VaultConfig]) -> Option<&'a str> {
    let orphans = orphans(data_dir, vaults);
    vaults.iter().find(|vault| elsewhere(data_dir, vault, &orphans).is_some()).map(|vault| vault.name.as_str())
}

/// Gives vaults whose paths were written anew the indexes that they had, while nobody has them open. Returns what the
/// user is to know of, by the vault's name.
pub fn take_over(data_dir: &Path, vaults: &[VaultConfig]) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    for vault in vaults {
        let (own, orphans) = (vault_dir(data_dir, &vault.path), orphans(data_dir, vaults));
        if let Some(found) = elsewhere(data_dir, vault, &orphans) {
            let whence = found.vault.as_ref().unwrap_or(&found.dir).display();
            match std::fs::rename(&found.dir, &own) {
                // There is nothing that the user has to do.
                Ok(()) => tracing::info!("vault `{}` goes on with the index of {whence}: the same folder", vault.name),
                Err(error) => {
                    told.insert(
                        vault.name.clone(),
                        format!("vault `{}` cannot have the index of {whence}: {error}", vault.name),
                    );
                }
            }
        } else if !own.exists() {
            told.extend(left_behind(vault, &orphans).map(|what| (vault.name.clone(), what)));
        }
        remember(&own, &vault.path);
    }
    told
}

/// What was paid for and may belong to a vault that has no index: its folder may have come from another disk.
fn left_behind(vault: &VaultConfig, orphans: &[Orphan]) -> Option<String> {
    let is_gone = |folder: &PathBuf| !folder.exists();
    let gone = orphans.iter().find(|orphan| orphan.vault.as_ref().is_some_and(is_gone) && orphan.has_paid())?;
    let folder = gone.vault.as_ref()?;
    Some(format!(
        "vault `{}` begins without an index, and contexts that were paid for are in that of {}, which is gone: if these are \
         the same notes, `situated doctor` says how to bring them over",
        vault.name,
        folder.display(),
    ))
}
