//! How a daemon that the kernel restricts to its folders restarts itself with other restrictions: the same process goes
//! on with another image of the program, so that a service manager, a shell and clients that wait do not see it end.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::FdFlags;

use super::errands::Errands;

/// A socket that clients wait at, which stays open, and the variable that tells the next daemon of it.
pub type Bequest = (OwnedFd, (&'static str, String));

/// The thread that checks configurations in advance and can start the daemon that continues in this process.
#[derive(Debug)]
pub struct Keeper {
    program: PathBuf,
    errands: Errands,
}

impl Keeper {
    /// Starts the thread. To be called before this process gives up its rights. `None` if that is not possible.
    pub fn start() -> Option<Keeper> {
        // The program's path now: if an update puts another program there later, that one is started.
        let program = std::env::current_exe().ok()?;
        Some(Keeper { program, errands: Errands::start("successor")? })
    }

    /// Runs `work` with the rights that a successor would have. `None` if the thread has ended.
    pub fn with_all_rights<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        self.errands.run(work)
    }

    /// Starts a successor with these arguments, which do not include the name of the program. It keeps the socket that
    /// clients wait at. Returns only if that fails, and says why.
    pub fn begin(&self, arguments: Vec<OsString>, (listener, (variable, told)): Bequest) -> io::Error {
        let program = self.program.clone();
        let begin = move || {
            if let Err(error) = rustix::io::fcntl_setfd(&listener, FdFlags::empty()) {
                return error.into();
            }
            ignore_hang_ups();
            // A program that was removed goes on as long as it runs.
            let running = Path::new("/proc/self/exe");
            let image = if program.exists() { &program } else { running };
            Command::new(image).arg0(&program).args(arguments).env(variable, told).exec()
        };
        let ended = || io::Error::other("the thread that starts the daemon anew has ended");
        self.errands.run(begin).unwrap_or_else(ended)
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
