//! How a daemon that the kernel restricts to its folders restarts itself with other restrictions: the same process goes
//! on with another image of the program, so that a service manager, a shell and clients that wait do not see it end.
//!
//! What Landlock has taken from a thread stays taken when the thread becomes a new program. So one thread is kept from
//! before the restriction. It checks configurations in advance and starts the successor, and does nothing else. A fault
//! that can make any thread run any code can use that thread, too: the restrictions guard against what notes, links and
//! parsers make the program's own code do.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use rustix::io::FdFlags;

/// A socket that clients wait at, which stays open, and the variable that tells the next daemon of it.
pub type Bequest = (OwnedFd, (&'static str, String));

type Errand = Box<dyn FnOnce() + Send>;

/// The daemon that continues in this process.
#[derive(Debug)]
struct Successor {
    /// Its arguments, without the name of the program.
    arguments: Vec<OsString>,
    /// The socket that clients wait at, which stays open.
    listener: OwnedFd,
    /// The variable that tells it of the socket.
    told: (&'static str, String),
}

/// The thread that can start a successor.
#[derive(Debug)]
pub struct Keeper {
    program: PathBuf,
    errands: mpsc::Sender<Errand>,
}

impl Keeper {
    /// Starts the thread. To be called before this process gives up its rights. `None` if that is not possible.
    pub fn start() -> Option<Keeper> {
        // The program's path now: if an update puts another program there later, that one is started.
        let program = std::env::current_exe().ok()?;
        let (errands, inbox) = mpsc::channel::<Errand>();
        let run = move || {
            // This thread need not gain rights either.
            if let Err(error) = super::gain_no_rights() {
                tracing::warn!(%error, "the thread that starts the daemon anew may gain rights");
            }
            inbox.into_iter().for_each(|errand| errand());
        };
        thread::Builder::new().name("successor".to_owned()).spawn(run).ok().map(|_| Keeper { program, errands })
    }

    /// Runs `work` with the rights that a successor would have. `None` if the thread has ended.
    pub fn with_all_rights<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, told) = mpsc::channel();
        // The caller waits for the result.
        let errand = move || drop(done.send(work()));
        self.errands.send(Box::new(errand)).ok()?;
        told.recv().ok()
    }

    /// Starts a successor with these arguments, which do not include the name of the program. It keeps the socket that
    /// clients wait at. Returns only if that fails, and says why.
    pub fn begin(&self, arguments: Vec<OsString>, (listener, told): Bequest) -> io::Error {
        let successor = Successor { arguments, listener, told };
        let program = self.program.clone();
        let failed = self.with_all_rights(move || successor.begin(&program));
        failed.unwrap_or_else(|| io::Error::other("the thread that starts the daemon anew has ended"))
    }
}

impl Successor {
    fn begin(self, program: &Path) -> io::Error {
        if let Err(error) = rustix::io::fcntl_setfd(&self.listener, FdFlags::empty()) {
            return error.into();
        }
        ignore_hang_ups();
        // A program that was removed goes on as long as it runs.
        let running = Path::new("/proc/self/exe");
        let image = if program.exists() { program } else { running };
        let (variable, value) = &self.told;
        Command::new(image).arg0(program).args(&self.arguments).env(variable, value).exec()
    }
}

/// Until the next daemon listens to them, they would end it. It reads the configuration anyway.
fn ignore_hang_ups() {
    // SAFETY: no handler of ours is called.
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGHUP, libc::SIG_IGN);
    }
}
