//! The socket: bound outside, so that a service manager, a test or `situated run` can hand in a listener, and
//! [`super::serve`] only serves.
//!
//! The lock ([`super::lock`]) guards the data whatever the environment says; the socket cannot, because two
//! environments may choose two paths. Whoever holds the lock may remove a socket that a dead daemon has left.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;

use super::activation;
use super::local::Listener;
use super::lock::make_private;
use engine::host::sandbox::is_held;
use protocol::locate::{self, DAEMON, Surroundings};

pub use super::lock::{BindError, DataLock};

/// A listening socket, and the lock that permits it. Dropping it removes the socket, then frees the lock.
#[derive(Debug)]
pub struct Bound {
    listener: UnixListener,
    path: PathBuf,
    /// `None` once it is retired: then it must not be recreated.
    identity: Mutex<Option<(u64, u64)>>,
    /// Whether it is the service manager's: it outlives us.
    handed_over: bool,
    /// Whether it was there before this process restarted itself.
    inherited: bool,
    lock: DataLock,
}

impl Bound {
    /// Records which file the socket is, and announces its path.
    fn new(listener: UnixListener, path: PathBuf, handed_over: bool, lock: DataLock) -> Result<Bound, BindError> {
        let identity = Mutex::new(Some(identity(&path).map_err(BindError::create(&path))?));
        let bound = Bound { listener, path, identity, handed_over, inherited: false, lock };
        bound.lock.announce(&bound.path)?;
        Ok(bound)
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.path
    }

    /// A listener for [`super::serve`]; to be called within its runtime.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn listener(&self) -> io::Result<Listener> {
        Listener::from_std(self.duplicate()?)
    }

    fn duplicate(&self) -> io::Result<UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// The listener for this process once it has restarted itself, and the variable that tells it of the listener.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn bequeath(&self) -> io::Result<(OwnedFd, (&'static str, String))> {
        let listener = OwnedFd::from(self.duplicate()?);
        let told = activation::told(listener.as_fd(), self.handed_over);
        Ok((listener, (activation::LISTENER, told)))
    }

    /// Removes the socket, so that nobody connects any more: to be called first when the daemon stops. Clients that
    /// have connected by then are still served.
    pub fn retire(&self) {
        // Only if it is still ours: another may have been put in its place by hand.
        let was = self.identity.lock().take();
        if !self.handed_over && was.is_some() && identity(&self.path).ok() == was {
            let _ = fs::remove_file(&self.path);
        }
        let _ = fs::remove_file(self.lock.data_dir().join(DAEMON));
    }

    /// Whether it is the service manager's, which goes on listening while no daemon runs.
    pub fn is_handed_over(&self) -> bool {
        self.handed_over
    }

    /// Whether it was there before this process restarted itself: clients may wait at it.
    pub fn is_inherited(&self) -> bool {
        self.inherited
    }

    /// Whether clients that connect to the path reach us.
    pub fn is_there(&self) -> bool {
        identity(&self.path).ok() == *self.identity.lock()
    }

    /// Recreates the socket after another program has removed it.
    ///
    /// # Errors
    /// As when it was created first; also if it is not ours to create, or another daemon has taken its place.
    pub fn renew(&self) -> Result<UnixListener, BindError> {
        if self.handed_over {
            return Err(BindError::HandedOver("it is gone: start its unit anew (`situated.socket`)".to_owned()));
        }
        let mut known = self.identity.lock();
        if known.is_none() {
            return Err(BindError::HandedOver("the daemon is about to end".to_owned()));
        }
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        make_private(dir)?;
        remove_stale(&self.path)?;
        let listener = listen(&self.path).map_err(BindError::create(&self.path))?;
        listener.set_nonblocking(true).map_err(BindError::create(&self.path))?;
        *known = Some(identity(&self.path).map_err(BindError::create(&self.path))?);
        self.lock.announce(&self.path)?;
        Ok(listener)
    }

    /// Whether [`Bound::renew`] failed because the sandbox allows only folders that were there when it began, and the
    /// one above the socket was made anew: a new process may write there.
    pub fn is_kept_from(&self, error: &BindError) -> bool {
        use rustix::fs::{Access, access};
        let BindError::Create { why, .. } = error else { return false };
        let folder = self.path.ancestors().skip(1).find(|dir| dir.exists());
        why.kind() == io::ErrorKind::PermissionDenied
            && is_held()
            // By the folder's mode, which is all that this asks.
            && folder.is_some_and(|dir| access(dir, Access::WRITE_OK | Access::EXEC_OK).is_ok())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.retire();
    }
}

/// Binds the socket that `configured` (the setting `serve.socket`) or the surroundings give, and writes it down. A
/// socket that the service manager hands over is taken as it is.
pub fn bind(configured: Option<&Path>, lock: DataLock) -> Result<Bound, BindError> {
    if let Some((listener, path, handed_over)) = activation::inherited().map_err(BindError::HandedOver)? {
        // If it was removed, nobody reaches it.
        let is_wanted = configured.is_none_or(|configured| configured == path) && identity(&path).is_ok();
        if handed_over || is_wanted {
            let mut bound = Bound::new(listener, path, handed_over, lock)?;
            bound.inherited = true;
            return Ok(bound);
        }
        // It was our socket, but its path is another now, or leads to it no more.
        drop(listener);
        let _ = fs::remove_file(path);
        return bind_in(&Surroundings::here(), configured, lock);
    }
    if let Some((listener, path)) = activation::handed_over().map_err(BindError::HandedOver)? {
        if configured.is_some_and(|configured| configured != path) {
            tracing::warn!(socket = %path.display(), "the socket that was handed over is served, not the configured one");
        }
        return Bound::new(listener, path, true, lock);
    }
    bind_in(&Surroundings::here(), configured, lock)
}

fn bind_in(around: &Surroundings, configured: Option<&Path>, lock: DataLock) -> Result<Bound, BindError> {
    let (path, named) = around.choose(configured);
    let path = std::path::absolute(&path).map_err(BindError::create(&path))?;
    if let Some(length) = locate::too_long(&path) {
        return Err(BindError::PathTooLong { path, length });
    }
    let dir = path.parent().unwrap_or(Path::new("/"));
    if named && dir.exists() {
        check_shared(dir, around.uid)?;
    } else {
        make_private(dir)?;
        check_private(dir, around.uid)?;
    }
    remove_stale(&path)?;
    let listener = listen(&path).map_err(BindError::create(&path))?;
    Bound::new(listener, path, false, lock)
}

/// Removes what a dead daemon has left at `path`. The lock says that no daemon lives over our data; a daemon over other
/// data that was given the same path still answers, and keeps it.
fn remove_stale(path: &Path) -> Result<(), BindError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(BindError::Create { path: path.to_owned(), why }),
        Ok(meta) if !meta.file_type().is_socket() => Err(BindError::NotASocket(path.to_owned())),
        Ok(_) => {
            if answers(path) {
                return Err(BindError::SocketInUse(path.to_owned()));
            }
            fs::remove_file(path).map_err(BindError::create(path))
        }
    }
}

/// Whether a process listens: a connect fails at once if none does. A full backlog blocks the connect, which is an
/// answer, too.
fn answers(path: &Path) -> bool {
    let (sender, receiver) = std::sync::mpsc::channel();
    let to = path.to_owned();
    let spawned = std::thread::Builder::new().spawn(move || {
        // The daemon would not even log a connection that says nothing; end it politely all the same.
        let connected = UnixStream::connect(to).map(|mut stream| {
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
            let _ = stream.read(&mut [0]);
        });
        let _ = sender.send(connected.is_ok());
    });
    spawned.is_ok() && receiver.recv_timeout(Duration::from_secs(1)).unwrap_or(true)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let meta = fs::symlink_metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}

/// A listener whose socket is 0600 from its first moment, without touching the umask: that belongs to the whole
/// process, and with it changed, nobody could enter a folder that another thread makes meanwhile.
#[cfg(target_os = "linux")]
fn listen(path: &Path) -> io::Result<UnixListener> {
    use rustix::fs::{Mode, fchmod};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};

    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // Linux gives the socket's file the mode of the unbound socket.
    fchmod(&fd, Mode::from_raw_mode(0o600))?;
    bind(&fd, &SocketAddrUnix::new(path)?)?;
    listen(&fd, 128)?;
    Ok(UnixListener::from(fd))
}

/// Elsewhere the folder (0700) and the peer's uid keep others out until the mode is set.
#[cfg(not(target_os = "linux"))]
fn listen(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;

    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// A folder of our own choice must be ours alone: in a shared `/tmp` somebody may have made it before us.
fn check_private(dir: &Path, uid: u32) -> Result<(), BindError> {
    let meta = fs::symlink_metadata(dir).map_err(BindError::create(dir))?;
    let why = if !meta.is_dir() {
        "is no folder: remove it, or set `serve.socket`".to_owned()
    } else if meta.uid() != uid {
        format!("belongs to user {}, not to you: remove it, or set `serve.socket`", meta.uid())
    } else if meta.mode() & 0o077 != 0 {
        format!("is open to others (mode {:03o}): run `chmod 700` on it", meta.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(BindError::Permission { path: dir.to_owned(), why })
}

/// In a folder that the user named, nobody else may be able to replace our socket.
fn check_shared(dir: &Path, uid: u32) -> Result<(), BindError> {
    let meta = fs::metadata(dir).map_err(BindError::create(dir))?;
    let sticky = meta.mode() & 0o1000 != 0;
    let why = if !meta.is_dir() {
        "is no folder: set `serve.socket` to a path in one".to_owned()
    } else if meta.uid() != uid && meta.uid() != 0 {
        format!("belongs to user {}: set `serve.socket` to a path in a folder of yours", meta.uid())
    } else if meta.mode() & 0o022 != 0 && !sticky {
        format!("can be written by others (mode {:03o}): run `chmod go-w` on it", meta.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(BindError::Permission { path: dir.to_owned(), why })
}

#[cfg(test)]
mod tests;
