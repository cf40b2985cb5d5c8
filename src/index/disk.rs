//! The lexical index's folder: written without waiting for the disk, and thrown away if a power cut may have damaged
//! it.
//!
//! The index is a cache of the store, so nothing here needs to survive a power cut; but what a power cut leaves behind
//! must be recognised. Data that was written but not synced survives a crash of the process, but not of the machine. So
//! the folder remembers in which boot it was opened last, and [`Folder::sync`] writes a mark that names the exact state
//! that is safe. A folder is emptied if it was last opened in another boot and its state is not the marked one; also if
//! it has another format, does not open, or has a bad checksum.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use platform::files;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

/// Version of schema and analyzer: an index of another version is built anew.
const FORMAT: &str = "situated words 10";

/// The folder of one lexical index.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// What the file `format` says.
    format: String,
}

impl Folder {
    /// Opens or makes the folder. If what is in it cannot be trusted, empties it and says why. Besides the version,
    /// `rules` decides how texts become words.
    pub(super) fn open(path: &Path, rules: &str) -> io::Result<(Self, Option<String>)> {
        fs::create_dir_all(path)?;
        let folder = Folder { path: path.to_owned(), format: format!("{FORMAT}, {rules}\n") };
        let reason = folder.doubt();
        if reason.is_some() {
            folder.empty()?;
        }
        fs::write(folder.path.join("format"), &folder.format)?;
        fs::write(folder.path.join("boot"), boot().unwrap_or_default())?;
        Ok((folder, reason))
    }

    fn doubt(&self) -> Option<String> {
        let state = match fs::read(self.state_file()) {
            Ok(state) => state,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                // Without a state there should be no files; leftovers would be in the way.
                let left = fs::read_dir(&self.path).is_ok_and(|mut files| files.next().is_some());
                return left.then(|| "it was left unfinished".to_owned());
            }
            Err(e) => return Some(format!("it cannot be read: {e}")),
        };
        if fs::read(self.path.join("format")).ok().as_deref() != Some(self.format.as_bytes()) {
            return Some("it is of another version".to_owned());
        }
        let clean = fs::read(self.path.join("clean")).is_ok_and(|mark| mark == fingerprint(&state));
        let same_boot = boot().is_some_and(|now| fs::read_to_string(self.path.join("boot")).is_ok_and(|b| b == now));
        (!clean && !same_boot).then(|| "the machine stopped before it was safe on the disk".to_owned())
    }

    /// Throws everything away.
    pub(super) fn empty(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)?;
        fs::create_dir_all(&self.path)?;
        fs::write(self.path.join("format"), &self.format)?;
        fs::write(self.path.join("boot"), boot().unwrap_or_default())
    }

    /// The view that tantivy writes through.
    pub(super) fn directory(&self) -> Result<Unsynced, tantivy::TantivyError> {
        let inner = MmapDirectory::open(&self.path)?;
        Ok(Unsynced { inner, path: Arc::from(&*self.path), opened: Arc::default() })
    }

    /// Waits until everything is on the disk, and marks this state as safe.
    pub(super) fn sync(&self) -> io::Result<()> {
        let state = fs::read(self.state_file())?;
        for entry in fs::read_dir(&self.path)? {
            // A background merge may delete files meanwhile; `sync_file` skips those.
            files::sync_file(&entry?.path())?;
        }
        let mark = self.path.join("clean");
        fs::write(&mark, fingerprint(&state))?;
        files::sync_file(&mark)?;
        files::sync_folder(&self.path)
    }

    fn state_file(&self) -> PathBuf {
        self.path.join("meta.json")
    }
}

/// Puts the new file in the old one's place. Where the system can, it swaps the two and then deletes the old one: a
/// plain rename over a file makes ext4 write the new one out at once, and a save would wait for that.
fn replace(new: &Path, old: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).is_ok() {
            return fs::remove_file(new);
        }
    }
    fs::rename(new, old)
}

/// The content of the mark; it changes with every commit and every merge.
fn fingerprint(state: &[u8]) -> Vec<u8> {
    blake3::hash(state).to_hex().as_bytes().to_vec()
}

/// Names this boot of the machine; `None` where the system does not tell, which counts as another boot.
fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().filter(|id| !id.trim().is_empty())
}

/// tantivy's memory-mapped folder, without its syncs: those cost a hundred milliseconds per save on a busy
/// disk, and protect what can be rebuilt.
#[derive(Clone, Debug)]
pub(super) struct Unsynced {
    inner: MmapDirectory,
    path: Arc<Path>,
    /// How many files were opened.
    opened: Arc<AtomicUsize>,
}

/// How many files are opened between two sweeps of tantivy's table of mapped files. Without sweeps the table keeps an
/// entry for every file that ever existed, .3 MB of them in a minute of 180 saves.
const SWEEP_EVERY: usize = 256;

struct Plain(File);

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for Plain {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}

impl Directory for Unsynced {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        if self.opened.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            // Asking what is mapped is the only way to make it forget files that are no longer mapped.
            self.inner.get_cache_info();
        }
        self.inner.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        match OpenOptions::new().write(true).create_new(true).open(self.path.join(path)) {
            Ok(file) => Ok(BufWriter::new(Box::new(Plain(file)))),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(OpenWriteError::FileAlreadyExists(path.into())),
            Err(e) => Err(OpenWriteError::wrap_io_error(e, path.into())),
        }
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        // Several threads write, so each temporary file needs a unique name.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let temporary = self.path.join(format!(".new-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        fs::write(&temporary, data)?;
        replace(&temporary, &self.path.join(path))
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.inner.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(callback)
    }
}
