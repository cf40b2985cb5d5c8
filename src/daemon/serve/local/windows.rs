//! A named pipe. Its access list lets nobody in but this user and the system, so nobody else is seen.

use std::io;
use std::path::PathBuf;

use tokio::net::windows::named_pipe::NamedPipeServer;
use tokio::sync::Mutex;
use windows_sys::Win32::Foundation::{ERROR_NO_SYSTEM_RESOURCES, ERROR_NOT_ENOUGH_MEMORY};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;

pub use tokio::net::windows::named_pipe::NamedPipeServer as Stream;

/// A pipe with one end that waits for a client.
#[derive(Debug)]
pub struct Listener {
    path: PathBuf,
    waiting: Mutex<NamedPipeServer>,
}

impl Listener {
    /// Makes the pipe for `path`, whose first end it must be. To be called within a runtime.
    ///
    /// # Errors
    /// What the system says; also if another process has a pipe of that name.
    pub fn bind(path: PathBuf) -> io::Result<Listener> {
        let waiting = Mutex::new(platform::stream::listen(&path, true)?);
        Ok(Listener { path, waiting })
    }
}

/// The next client.
pub(in super::super) async fn accept(listener: &Listener) -> io::Result<Stream> {
    let mut waiting = listener.waiting.lock().await;
    waiting.connect().await?;
    // From here on nothing is awaited, so no client is lost if the caller drops this future.
    let next = platform::stream::listen(&listener.path, false)?;
    Ok(std::mem::replace(&mut waiting, next))
}

/// Nobody else can open the pipe.
pub(in super::super) fn is_own(_stream: &Stream) -> bool {
    true
}

/// Whether an error of [`accept`] is a lack of something that others will give back.
pub(in super::super) fn is_passing(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(|code| code as u32);
    matches!(code, Some(ERROR_NO_SYSTEM_RESOURCES | ERROR_NOT_ENOUGH_MEMORY))
}

/// A pipe has no sides: what was written is read by the client before it sees the end.
pub(in super::super) fn shut_down(_stream: &Stream) {}

/// Whether the client has closed the pipe. To tell, it is asked for what there is to read, which fails then.
pub(in super::super) async fn has_hung_up(stream: &Stream) -> bool {
    use std::os::windows::io::AsRawHandle as _;
    let none = std::ptr::null_mut();
    // SAFETY: the handle is open; all outputs of the call may be left out.
    #[allow(unsafe_code)]
    let asked = unsafe { PeekNamedPipe(stream.as_raw_handle(), none, 0, none.cast(), none.cast(), none.cast()) };
    asked == 0
}
