//! Telling a damaged store from one that merely cannot be used right now, and moving it aside.
//!
//! sled answers damage with errors, panics, or both, on our thread and on its own. A panic is caught and
//! becomes a [`Fault`]; only [`Fault::Damaged`] ever moves a store aside. A full disk, missing rights or
//! another process's lock must not: the store behind them is whole.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::StoreError;

/// Why sled failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The file's lock is held.
    Locked,
    /// The machine said no (rights, space, limits): the data may be whole.
    Environment(String),
    /// There is no memory for it ([`super::Store::open_within`]).
    NoRoom,
    /// A newer version of the program wrote records of this version: nothing is to be moved or made anew.
    Newer(u8),
    /// The data do not make sense.
    Damaged(String),
}

impl Fault {
    /// As an error about `path`, for when the store is in use and nothing can be moved aside.
    pub(super) fn at(self, path: &Path) -> StoreError {
        let path = path.to_path_buf();
        match self {
            Fault::Locked => StoreError::Locked(path),
            Fault::Environment(message) => StoreError::Io { path, message },
            Fault::NoRoom => StoreError::NoRoom,
            Fault::Newer(records) => {
                let who = super::version::written_by(&path).map_or_else(
                    || "a newer version of situated wrote it".to_owned(),
                    |version| {
                        format!("a newer version of situated wrote it ({version}; this is {})", super::version::PROGRAM)
                    },
                );
                let message = format!(
                    "{who}, with records of version {records} that are not known here: run that version again, or move this \
                     folder away to have it made anew; contexts that were paid for come back from the journal beside it"
                );
                StoreError::Io { path, message }
            }
            Fault::Damaged(why) => {
                StoreError::Io { path, message: format!("damaged ({why}); it is moved aside at the next start") }
            }
        }
    }

    /// As an error about `path`, for when the database was opened without a scan.
    pub(super) fn unscanned(self, path: &Path) -> StoreError {
        match self {
            Fault::Damaged(why) => StoreError::Damaged(path.to_path_buf(), why),
            fault => fault.at(path),
        }
    }
}

impl From<sled::Error> for Fault {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => from_io(&error),
            sled::Error::Corruption { .. } => Fault::Damaged("sled read corrupted data".into()),
            other => Fault::Damaged(other.to_string()),
        }
    }
}

impl From<super::damage::Damage> for Fault {
    fn from(damage: super::damage::Damage) -> Self {
        match damage {
            // The checksum is right, so a newer program wrote the record.
            super::damage::Damage::Version(version) => Fault::Newer(version),
            damage => Fault::Damaged(damage.to_string()),
        }
    }
}

/// Sorts an I/O error of sled. Errors of short, missing or nonsensical files are damage. sled also wraps its own errors
/// in `Other`, that of its lock among them; only their text tells them apart (the version is pinned, and a test holds
/// the lock).
fn from_io(error: &io::Error) -> Fault {
    use io::ErrorKind as Kind;
    let text = error.to_string();
    match error.kind() {
        _ if text.contains("could not acquire lock") => Fault::Locked,
        _ if names_environment(&text) => Fault::Environment(text),
        Kind::UnexpectedEof | Kind::InvalidData | Kind::InvalidInput | Kind::Other | Kind::NotFound => {
            Fault::Damaged(text)
        }
        // A file where a folder should be, or the other way round; our own folder was opened before.
        Kind::NotADirectory | Kind::IsADirectory | Kind::AlreadyExists => Fault::Damaged(text),
        _ => Fault::Environment(text),
    }
}

/// Whether the text of an error, as sled repeats it in panics and in errors that it wraps again, names a cause in the
/// machine and not in the data: ENOSPC, EACCES, EPERM, EROFS, EDQUOT, EMFILE, ENFILE, EFBIG, EIO, ENOMEM, and EAGAIN
/// for a thread that cannot be started, with the numbers of Linux and macOS.
fn names_environment(text: &str) -> bool {
    [
        "StorageFull",
        "PermissionDenied",
        "ReadOnlyFilesystem",
        "QuotaExceeded",
        "FileTooLarge",
        "OutOfMemory",
        "WouldBlock",
    ]
    .iter()
    .any(|kind| text.contains(kind))
        || [28, 13, 1, 30, 122, 69, 24, 23, 27, 5, 12, 11, 35]
            .iter()
            .any(|code| text.contains(&format!("os error {code})")) || text.contains(&format!("code: {code},")))
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static PANICKED_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work` on sled; a panic becomes a fault and prints nothing.
///
/// The panic hook is global, so it is replaced once in the life of the process and never put back: the
/// new one is silent for threads that are inside this function and for sled's own threads, whose panics
/// surface here as errors, and hands every other panic to the hook it found. No two threads can race for
/// it, and a hook that someone installs later merely makes these panics visible. What sled says in a
/// panic may quote stored bytes; only the place in its source is repeated.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                let place = info.location().map(ToString::to_string);
                PANICKED_AT.with_borrow_mut(|at| *at = place);
            } else if !on_a_thread_of_sled() {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(outer);
    result.unwrap_or_else(|payload| Err(from_panic(&*payload)))
}

fn on_a_thread_of_sled() -> bool {
    thread::current().name().is_some_and(|name| name.starts_with("sled-io-") || name == "log flusher")
}

fn from_panic(payload: &(dyn Any + Send)) -> Fault {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("");
    let place = PANICKED_AT.take().unwrap_or_default();
    // Only the last two parts of the path: the rest is where the crate was compiled.
    let mut parts: Vec<&str> = place.rsplit('/').take(2).collect();
    parts.reverse();
    let message = format!("sled panicked at {}", parts.join("/"));
    if names_environment(text) { Fault::Environment(message) } else { Fault::Damaged(message) }
}

/// Drops a value of sled's that may panic or hang when it is dropped (it waits for threads that may no longer exist).
pub(super) fn drop_damaged<T: Send + 'static>(value: T) {
    let (done, wait) = mpsc::channel();
    let spawned = thread::Builder::new().name("sled-io-drop".into()).spawn(move || {
        let _ = guarded(|| {
            drop(value);
            Ok(())
        });
        let _ = done.send(());
    });
    if spawned.is_ok() {
        let _ = wait.recv_timeout(Duration::from_secs(10));
    }
}

/// A file that is written to see whether there is room for it.
const PROBE: &str = "probe.tmp";

/// Checks that a megabyte can be written to `dir`, and reaches the disk. sled does not report a full disk clearly, and
/// that must not make a store count as damaged.
pub(super) fn probe(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(PROBE);
    write_probe(&path, File::sync_data).map_err(|error| StoreError::io(&path, &error))
}

/// The same without the wait for the disk, before sled opens a database in `dir`: where it finds no room, it leaves a
/// segment half written over, and the database is damaged.
///
/// # Errors
/// What the system says.
pub fn has_room(dir: &Path) -> io::Result<()> {
    write_probe(&dir.join(PROBE), |_| Ok(()))
}

fn write_probe(path: &Path, then: fn(&File) -> io::Result<()>) -> io::Result<()> {
    /// A segment, and what sled writes beside it when it opens a database.
    const NEEDED: usize = 1 << 20;
    let written = File::create(path).and_then(|mut file| {
        file.write_all(&vec![0x5A; NEEDED])?;
        then(&file)
    });
    let removed = fs::remove_file(path);
    written.and(removed)
}

/// `<path>.damaged-<seconds since 1970>`, with a number behind it if that is taken.
pub(super) fn aside(path: &Path) -> PathBuf {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let name = |suffix: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let mut target = name(format!(".damaged-{seconds}"));
    let mut tries = 1;
    while target.symlink_metadata().is_ok() {
        tries += 1;
        target = name(format!(".damaged-{seconds}-{tries}"));
    }
    target
}

/// Renames `path` to what [`aside`] says. Nothing is ever deleted.
pub(super) fn move_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let target = aside(path);
    fs::rename(path, &target).map_err(|error| StoreError::io(path, &error))?;
    Ok(target)
}

/// Fsyncs `dir`, so that renames, creations and removals in it last.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    platform::files::sync_folder(dir).map_err(|error| StoreError::io(dir, &error))
}

#[cfg(test)]
mod tests;
