//! The lock of a data folder: the process that holds it is the only one that may change what is in there. Also the
//! reasons why a daemon cannot have it, or a socket.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::daemon::strange::Strange;
use platform::files::{FileId, Private as _};
use protocol::locate::{self, DAEMON, LOCK, MAX_SOCKET_PATH, Running};

/// How long a lock that is held is tried again: clients hold it for microseconds to see whether a daemon does.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);

/// How many times to try to take the lock, if the folder is moved or removed meanwhile.
const TRIES: u32 = 3;

/// Why the daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another daemon works on the same data.
    #[error(
        "another situated is running{}{}: it holds {}; `situated vault add FOLDER` has it search another folder too, `situated stop` ends it, and another `--data-dir` with a `--socket` of its own lets both run",
        .running.as_ref().map(|r| format!(" (pid {})", r.pid)).unwrap_or_default(),
        .running.as_ref().and_then(|r| r.socket.as_ref()).map(|s| format!(" at {}", s.display())).unwrap_or_default(),
        .data_dir.display()
    )]
    AlreadyRunning {
        /// Who it is, as far as it has written that down.
        running: Option<Running>,
        /// The data folder.
        data_dir: PathBuf,
    },
    /// A daemon over other data answers at the socket.
    #[error(
        "another situated, over other data, serves {}; give this one its own with `serve.socket` (`--socket`, SITUATED_SOCKET)",
        .0.display()
    )]
    SocketInUse(PathBuf),
    /// The path does not fit into a socket address.
    #[error(
        "the socket path {} has {length} bytes, and at most {MAX_SOCKET_PATH} fit: set `serve.socket` (`--socket`, SITUATED_SOCKET) to a shorter one",
        .path.display()
    )]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its bytes.
        length: usize,
    },
    /// Something else is where the socket should be.
    #[error("{} is in the way and is no socket: move it, or set `serve.socket` to another path", .0.display())]
    NotASocket(PathBuf),
    /// Others may write where the socket or the data should be.
    #[error("{} {why}", .path.display())]
    Permission {
        /// What.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// The service manager handed over what cannot be served.
    #[error("the socket that was handed over (LISTEN_FDS) cannot be served: {0}")]
    HandedOver(String),
    /// The lock is no file.
    #[error(transparent)]
    Strange(#[from] Strange),
    /// The system refused.
    #[error("cannot create {}: {why}{}", .path.display(), remedy(.why))]
    Create {
        /// What.
        path: PathBuf,
        /// Why. Not a source, for what prints an error with its sources would say it twice.
        why: io::Error,
    },
}

/// What to do about a refusal, as the end of a sentence, if the system's words do not say it.
fn remedy(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::StorageFull => "; make room on that disk, then start the daemon again",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; copy the data folder to a disk that can be written, and name the copy with `--data-dir`"
        }
        _ => "",
    }
}

impl BindError {
    /// The program's exit code, after `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            BindError::AlreadyRunning { .. } | BindError::SocketInUse(_) => 75,
            BindError::PathTooLong { .. } | BindError::NotASocket(_) | BindError::Strange(_) => 73,
            BindError::Permission { .. } => 77,
            // It would fail again in the same way, so it must not be restarted.
            BindError::HandedOver(_) => 78,
            BindError::Create { why, .. } if why.kind() == io::ErrorKind::PermissionDenied => 77,
            BindError::Create { .. } => 73,
        }
    }

    pub(super) fn create(path: &Path) -> impl FnOnce(io::Error) -> BindError {
        let path = path.to_owned();
        move |why| BindError::Create { path, why }
    }
}

/// The exclusive right to a data folder, for as long as it lives. The system ends it with the process, however that
/// dies; the file stays.
#[derive(Debug)]
pub struct DataLock {
    file: File,
    data_dir: PathBuf,
    /// After how long the daemon gives a query up, as it tells clients, which wait a little longer.
    pub(in crate::daemon) answers_within: Option<Duration>,
}

impl DataLock {
    /// Takes the lock, making the folder if need be.
    pub fn acquire(data_dir: &Path) -> Result<DataLock, BindError> {
        for _ in 0..TRIES {
            make_private(data_dir)?;
            if let Some(lock) = DataLock::in_place(data_dir)? {
                return Ok(lock);
            }
        }
        let why = io::Error::other("the folder is moved or removed again and again");
        Err(BindError::Create { path: data_dir.to_owned(), why })
    }

    /// Takes the lock of a folder that is there; `None` if it is not, or was moved away while we waited.
    pub fn in_place(data_dir: &Path) -> Result<Option<DataLock>, BindError> {
        let path = data_dir.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).private();
        let file = match options.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
                return Ok(None);
            }
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                let why = io::Error::other("a folder stands there: move it away and start again");
                return Err(BindError::Create { path, why });
            }
            Err(why) => return Err(Strange::at(&path).map_or(BindError::Create { path, why }, BindError::Strange)),
        };
        if !file.metadata().is_ok_and(|meta| meta.is_file()) {
            return Err(Strange::NoFile(path).into());
        }
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    let running = locate::read_running(&path);
                    return Err(BindError::AlreadyRunning { running, data_dir: data_dir.to_owned() });
                }
                Err(TryLockError::Error(why)) => return Err(BindError::Create { path, why }),
            }
        }
        // The lock belongs to the file, wherever that is now; our file has to be the one that others find here.
        if !is_at(&file, &path) {
            return Ok(None);
        }
        let lock = DataLock { file, data_dir: data_dir.to_owned(), answers_within: None };
        lock.write(&Running::this(None)).map_err(BindError::create(&path))?;
        Ok(Some(lock))
    }

    /// The folder that it guards.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The same lock, after its folder was moved to `data_dir`: it belongs to the file and moved with it.
    #[must_use]
    pub fn moved_to(self, data_dir: PathBuf) -> DataLock {
        DataLock { data_dir, ..self }
    }

    /// Writes down who listens at `socket`, in the lock and where clients in other environments find it.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn announce(&self, socket: &Path) -> Result<(), BindError> {
        let answers_within_ms = self.answers_within.map(|within| within.as_millis() as u64);
        let running = Running { answers_within_ms, ..Running::this(Some(socket.to_owned())) };
        let path = self.data_dir.join(DAEMON);
        self.write(&running).map_err(BindError::create(&path))?;
        let temporary = path.with_extension("json.new");
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).private().open(&temporary)?;
            file.write_all(&serde_json::to_vec(&running)?)?;
            // Windows renames no file that is open.
            drop(file);
            fs::rename(&temporary, &path)
        };
        write().map_err(BindError::create(&path))
    }

    /// Says in the lock who holds it.
    fn write(&self, running: &Running) -> io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(&serde_json::to_vec(running)?)
    }
}

/// Whether `path` leads to the open file.
fn is_at(file: &File, path: &Path) -> bool {
    FileId::of(file).ok() == FileId::at(path).ok()
}

/// Makes a folder, and those above it that are missing, for this user alone.
pub fn make_private(dir: &Path) -> Result<(), BindError> {
    DirBuilder::new().recursive(true).private().create(dir).map_err(BindError::create(dir))
}
