//! A Unix socket.

use std::io;
use std::time::Duration;

use tokio::io::Interest;

pub use tokio::net::{UnixListener as Listener, UnixStream as Stream};

/// The next client.
pub(in super::super) async fn accept(listener: &Listener) -> io::Result<Stream> {
    listener.accept().await.map(|(stream, _)| stream)
}

/// Whether the other end is us, or root. Nobody else is answered, not even with an error.
pub(in super::super) fn is_own(stream: &Stream) -> bool {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == platform::user::id() || peer.uid() == 0 => true,
        Ok(peer) => {
            tracing::warn!(uid = peer.uid(), "a client of another user is refused");
            false
        }
        Err(error) => {
            tracing::warn!(%error, "a client that cannot be told who it is is refused");
            false
        }
    }
}

/// Whether an error of [`accept`] is a lack of something that others will give back.
pub(in super::super) fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let lacking = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    lacking.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Ends our side.
pub(in super::super) fn shut_down(stream: &Stream) {
    let _ = rustix::net::shutdown(stream, rustix::net::Shutdown::Write);
}

/// Whether the client has closed both directions. One that has only stopped writing has not.
pub(in super::super) async fn has_hung_up(stream: &Stream) -> bool {
    match tokio::time::timeout(Duration::ZERO, stream.ready(Interest::WRITABLE)).await {
        Ok(Ok(ready)) => ready.is_write_closed(),
        Ok(Err(_)) => true,
        Err(_) => false,
    }
}
