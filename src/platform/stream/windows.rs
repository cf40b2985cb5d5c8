//! A named pipe, which this user alone may open.

use std::cell::Cell;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};
use tokio::runtime::Runtime;
use windows_sys::Win32::Foundation::{ERROR_PIPE_BUSY, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo, SDDL_REVISION_1, SE_KERNEL_OBJECT,
};
use windows_sys::Win32::Security::{OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES};

use crate::user;

/// Where all pipes are.
const PIPES: &str = r"\\.\pipe\";

/// Time between two tries to open a pipe while all of its ends are taken.
const AGAIN: Duration = Duration::from_millis(20);

/// A connection.
pub struct Stream {
    runtime: Runtime,
    pipe: NamedPipeClient,
    reads_within: Cell<Option<Duration>>,
    writes_within: Cell<Option<Duration>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(&self.pipe).finish()
    }
}

/// The name of the pipe that stands for the socket at `path`. A path that is a pipe's name stays as it is; any other
/// becomes part of one, so that what is said of sockets and their folders holds here too.
pub fn address(path: &Path) -> OsString {
    pipe(path).into()
}

fn pipe(path: &Path) -> String {
    let path = path.to_string_lossy();
    match path.get(..PIPES.len()) {
        Some(start) if start.eq_ignore_ascii_case(PIPES) => path.into_owned(),
        _ => format!("{PIPES}situated-{}", path.replace(['\\', '/', ':'], "_").to_lowercase()),
    }
}

/// Connects to the pipe for `path`. This blocks while all of its ends are taken.
///
/// # Errors
/// What the system says; also if the pipe belongs to another user, who must not read our requests.
pub fn connect(path: &Path) -> io::Result<Stream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let name = pipe(path);
    let pipe = {
        let _within = runtime.enter();
        loop {
            match ClientOptions::new().open(&name) {
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY as i32) => std::thread::sleep(AGAIN),
                opened => break opened?,
            }
        }
    };
    if !is_trusted(&owner(&pipe)?, &user::sid()?) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the pipe belongs to another user"));
    }
    Ok(Stream { runtime, pipe, reads_within: Cell::new(None), writes_within: Cell::new(None) })
}

impl Stream {
    /// How long a read may wait; `None` for as long as it takes.
    ///
    /// # Errors
    /// None here.
    pub fn set_read_timeout(&self, within: Option<Duration>) -> io::Result<()> {
        self.reads_within.set(within);
        Ok(())
    }

    /// How long a write may wait; `None` for as long as it takes.
    ///
    /// # Errors
    /// None here.
    pub fn set_write_timeout(&self, within: Option<Duration>) -> io::Result<()> {
        self.writes_within.set(within);
        Ok(())
    }
}

/// What `work` gives, if it ends in time.
async fn in_time<T>(within: Option<Duration>, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match within {
        None => work.await,
        Some(within) => {
            tokio::time::timeout(within, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Stream { runtime, pipe, reads_within, .. } = self;
        match runtime.block_on(in_time(reads_within.get(), pipe.read(into))) {
            // The other end has closed, which a socket reports as the end of the data.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            read => read,
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Stream { runtime, pipe, writes_within, .. } = self;
        runtime.block_on(in_time(writes_within.get(), pipe.write(bytes)))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One end of a pipe that waits for a client. Only this user and the system may open it. With `first` it fails if
/// anybody has a pipe of that name already.
///
/// # Errors
/// What the system says. To be called within a runtime.
pub fn listen(path: &Path, first: bool) -> io::Result<NamedPipeServer> {
    let sid = user::sid()?;
    // Owner: the user. Nobody inherits a right; all rights for the user and for the system.
    let rules = format!("O:{sid}D:P(A;;GA;;;{sid})(A;;GA;;;SY)");
    let rules: Vec<u16> = rules.encode_utf16().chain([0]).collect();
    let mut descriptor: PSECURITY_DESCRIPTOR = std::ptr::null_mut();
    // SAFETY: the text ends with a zero; the descriptor is freed below, once.
    #[allow(unsafe_code)]
    let made = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            rules.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            std::ptr::null_mut(),
        )
    };
    if made == 0 {
        return Err(io::Error::last_os_error());
    }
    let mut attributes = SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: descriptor,
        bInheritHandle: 0,
    };
    let mut options = ServerOptions::new();
    options.first_pipe_instance(first).reject_remote_clients(true);
    // SAFETY: the attributes are of the kind that is asked for, and outlive the call with what they point to.
    #[allow(unsafe_code)]
    unsafe {
        let server = options.create_with_security_attributes_raw(pipe(path), (&raw mut attributes).cast());
        LocalFree(descriptor);
        server
    }
}

/// The owner of a pipe.
fn owner(pipe: &NamedPipeClient) -> io::Result<user::Sid> {
    let mut sid: PSID = std::ptr::null_mut();
    let mut descriptor: PSECURITY_DESCRIPTOR = std::ptr::null_mut();
    let none = std::ptr::null_mut();
    // SAFETY: the handle is open; the identifier lies in the descriptor, which is freed after its use.
    #[allow(unsafe_code)]
    unsafe {
        let (handle, wanted) = (pipe.as_raw_handle(), OWNER_SECURITY_INFORMATION);
        let (at, whole) = (&raw mut sid, &raw mut descriptor);
        let failed = GetSecurityInfo(handle, SE_KERNEL_OBJECT, wanted, at, none, none.cast(), none.cast(), whole);
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed as i32));
        }
        let owner = user::text_of(sid);
        LocalFree(descriptor);
        owner
    }
}

/// Whether we may send requests to a pipe of `owner`: our own, the system's, or an administrator's.
fn is_trusted(owner: &str, own: &str) -> bool {
    const SYSTEM: &str = "S-1-5-18";
    const ADMINISTRATORS: &str = "S-1-5-32-544";
    [own, SYSTEM, ADMINISTRATORS].contains(&owner)
}

#[cfg(test)]
mod tests;
