//! How a daemon that the kernel holds to its folders starts itself anew to be held to others: the same process goes on
//! with another image of the program, so that a service manager, a shell and clients that wait see no end of it.
//!
//! What Landlock has taken from a thread stays taken when the thread becomes a new program. One thread is therefore kept
//! from before; it checks a configuration before, and begins the successor, and does nothing else. A fault that could have any thread run any code could have that
//! one run it too: what is held against is what notes, links and parsers make the program's own code do.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use rustix::io::FdFlags;

/// A socket that clients wait at, which stays open, and the variable that tells the next daemon of it.
pub type Bequest = (OwnedFd, (&'static str, String));

type Errand = Box<dyn FnOnce() + Send>;

/// What goes on in this process.
#[derive(Debug)]
struct Successor {
    /// Its arguments, without the name of the program.
    arguments: Vec<OsString>,
    /// The socket that clients wait at, which stays open.
    listener: OwnedFd,
    /// The variable that tells it of the socket.
    told: (&'static str, String),
}

/// The thread that can begin a successor.
#[derive(Debug)]
pub struct Keeper {
    program: PathBuf,
    errands: mpsc::Sender<Errand>,
}

impl Keeper {
    /// Starts the thread: before this process gives up its rights. `None` if there is no way to do it.
    pub fn start() -> Option<Keeper> {
        // Where it lies now: what an update puts there later is what is started then.
        let program = std::env::current_exe().ok()?;
        let (errands, inbox) = mpsc::channel::<Errand>();
        let run = move || {
            // This much it needs no right for either.
            if let Err(error) = super::gain_no_rights() {
                tracing::warn!(%error, "the thread that starts the daemon anew may gain rights");
            }
            inbox.into_iter().for_each(|errand| errand());
        };
        thread::Builder::new().name("successor".to_owned()).spawn(run).ok().map(|_| Keeper { program, errands })
    }

    /// Does something with the rights that a successor would have. `None` if the thread has ended.
    pub fn with_all_rights<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, told) = mpsc::channel();
        // Whoever asked waits.
        let errand = move || drop(done.send(work()));
        self.errands.send(Box::new(errand)).ok()?;
        told.recv().ok()
    }

    /// Begins a successor with these arguments, without the name of the program, which keeps the socket that clients wait at.
    /// Returns only if that fails, and says why.
    pub fn begin(&self, arguments: Vec<OsString>, (listener, told): Bequest) -> io::Error {
        let successor = Successor { arguments, listener, told };
        let program = self.program.clone();
        let failed = self.with_all_rights(move || successor.begin(&program));
        failed.unwrap_or_else(|| io::Error::other("the thread that starts the daemon anew has ended"))
    }
}

impl Successor {
    fn begin(self, program: &PathBuf) -> io::Error {
        if let Err(error) = rustix::io::fcntl_setfd(&self.listener, FdFlags::empty()) {
            return error.into();
        }
        let (variable, value) = &self.told;
        Command::new(program).args(&self.arguments).env(variable, value).exec()
    }
}
