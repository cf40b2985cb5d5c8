//! Ctrl-C and Ctrl-Break, a console that is closed, the user who logs off, the machine that ends.

use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown};
use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};

use super::Told;

struct Listened {
    c: CtrlC,
    broken: CtrlBreak,
    close: CtrlClose,
    log_off: CtrlLogoff,
    shut_down: CtrlShutdown,
}

/// The events that are listened to; without a console there are none.
pub(crate) struct Signals(Option<Listened>);

impl Signals {
    /// All of them; to be called within a runtime.
    pub(crate) fn listen() -> Signals {
        let listen = || {
            std::io::Result::Ok(Listened {
                c: ctrl_c()?,
                broken: ctrl_break()?,
                close: ctrl_close()?,
                log_off: ctrl_logoff()?,
                shut_down: ctrl_shutdown()?,
            })
        };
        Signals(listen().ok())
    }

    /// Those that ask a process to end: all of them.
    pub(crate) fn to_end() -> Signals {
        Signals::listen()
    }

    /// Waits for the next.
    pub(crate) async fn next(&mut self) -> Told {
        let Some(Listened { c, broken, close, log_off, shut_down }) = &mut self.0 else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = c.recv() => Told::Interrupt,
            _ = broken.recv() => Told::Terminate,
            _ = close.recv() => Told::Terminate,
            _ = log_off.recv() => Told::Terminate,
            _ = shut_down.recv() => Told::Terminate,
        }
    }
}
