//! A thread from before this process gives up its rights. What Landlock has taken from a thread stays taken, also when
//! the thread starts a program or becomes one; so what needs the rights is done by a thread that kept them, which does
//! nothing else. A fault that can make any thread run any code can use that thread, too: the restrictions guard against
//! what notes, links and parsers make the program's own code do.

use std::sync::mpsc;
use std::thread;

type Errand = Box<dyn FnOnce() + Send>;

/// Has a thread run what needs rights that this process has given up.
#[derive(Debug)]
pub(super) struct Errands(mpsc::Sender<Errand>);

impl Errands {
    /// Starts the thread. To be called before this process gives up its rights. `None` if that is not possible.
    pub(super) fn start(thread: &str) -> Option<Errands> {
        let (errands, inbox) = mpsc::channel::<Errand>();
        let run = move || {
            // Neither this thread nor a program that it starts need gain rights.
            super::gain_no_rights();
            inbox.into_iter().for_each(|errand| errand());
        };
        thread::Builder::new().name(thread.to_owned()).spawn(run).ok().map(|_| Errands(errands))
    }

    /// Runs `work` there, and waits for its result. `None` if the thread has ended.
    pub(super) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, told) = mpsc::channel();
        // The caller waits for the result.
        let errand = move || drop(done.send(work()));
        self.0.send(Box::new(errand)).ok()?;
        told.recv().ok()
    }
}
