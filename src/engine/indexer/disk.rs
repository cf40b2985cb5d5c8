//! How an indexer accesses its vault: a trait, so that a test can supply a file system that hangs or fails. Every call
//! may block for as long as the file system does, so it is made on threads that serve this vault alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::deletion_guard::is_much;
use super::scan::{Findings, Look, scan};
use note::{FileStat, VaultPath};
use vault::documents::{Convert, Documents, FileText};
use vault::policy::Policy;
use vault::read;
use vault::read::ReadError;
use vault::root;
use vault::root::{RootId, VaultError};
use vault::settings::VaultConfig;

/// The file system of a vault.
pub(crate) trait Disk: Send + Sync {
    /// The rules for what in the vault is a note; reads its ignore files.
    fn policy(&self, vault: &VaultConfig) -> Result<Policy, VaultError>;

    /// Which folder the root is.
    fn root_id(&self, root: &Path) -> Result<RootId, VaultError>;

    /// Whether git is at work in it.
    fn git_locked(&self, root: &Path) -> bool;

    /// The kind of file system, if events cannot be relied on there.
    fn needs_polling(&self, root: &Path) -> Option<&'static str>;

    /// What differs from what is known.
    fn scan(&self, look: &Look<'_>) -> Result<Findings, VaultError>;

    /// A note, or a document's text.
    fn read(&self, root: &Path, path: &VaultPath, max_bytes: u64) -> Result<FileText, ReadError>;

    /// Has a document that was not read whole be converted again when it is read.
    fn forget(&self, _root: &Path, _path: &VaultPath) {}

    /// A note's state.
    fn stat(&self, root: &Path, path: &VaultPath) -> Result<FileStat, ReadError>;
}

/// The real file system.
struct FileSystem {
    documents: Documents,
}

/// How long the watcher may take to tell of what it has seen.
const EVENTS_WITHIN: Duration = Duration::from_millis(300);

/// The folder, in a vault's index folder, that holds the texts of its documents.
const DOCUMENTS: &str = "documents";

/// The file system of this machine, for vaults whose indexes live in `data_dir`.
pub(crate) fn file_system(data_dir: &Path, convert: Option<Arc<dyn Convert>>) -> Arc<dyn Disk> {
    let data_dir = data_dir.to_owned();
    let folder_of = move |root: &Path| super::vault_dir(&data_dir, root).join(DOCUMENTS);
    Arc::new(FileSystem { documents: Documents::new(Box::new(folder_of), convert) })
}

impl Disk for FileSystem {
    fn policy(&self, vault: &VaultConfig) -> Result<Policy, VaultError> {
        Policy::new(&vault.path, vault)
    }

    fn root_id(&self, root: &Path) -> Result<RootId, VaultError> {
        root::root_id(root)
    }

    fn git_locked(&self, root: &Path) -> bool {
        root::git_locked(root)
    }

    fn needs_polling(&self, root: &Path) -> Option<&'static str> {
        root::needs_polling(root)
    }

    fn scan(&self, look: &Look<'_>) -> Result<Findings, VaultError> {
        let found = scan(look, &self.documents, &AtomicBool::new(false))?;
        if found.seen.is_some_and(|seen| is_much(found.gone.len(), seen, look.known.len())) {
            // The watcher may still have to tell that it has seen them go, and what was found may be past by then.
            std::thread::sleep(EVENTS_WITHIN);
            return scan(look, &self.documents, &AtomicBool::new(false));
        }
        Ok(found)
    }

    fn read(&self, root: &Path, path: &VaultPath, max_bytes: u64) -> Result<FileText, ReadError> {
        self.documents.read(root, path, max_bytes)
    }

    fn forget(&self, root: &Path, path: &VaultPath) {
        self.documents.forget(root, path);
    }

    fn stat(&self, root: &Path, path: &VaultPath) -> Result<FileStat, ReadError> {
        read::file_state(root, path)
    }
}
