//! The terminal while the live search has it. However the program ends, the terminal is given back as it was.

use std::io::{self, Stdout, Write, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::{Frame, Terminal};

/// Whether the terminal is ours now. One flag for the process, because there is one terminal.
static OURS: AtomicBool = AtomicBool::new(false);

/// The terminal while it is taken.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn enter() -> io::Result<Self> {
        watch_panics();
        take()?;
        Ok(Screen { terminal: Terminal::new(CrosstermBackend::new(stdout()))? })
    }

    /// Draws.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(picture).map(drop)
    }

    /// Makes the next drawing redraw everything, whatever the screen is believed to show.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        // Not `Terminal::clear`: that asks the terminal where its cursor is, and would read the answer from the stream
        // of keys.
        self.terminal.backend_mut().clear()?;
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Lends the terminal to another program.
    pub(super) fn lend<T>(&mut self, program: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let outcome = program();
        take()?;
        self.clear()?;
        Ok(outcome)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the screen back before a panic's message is written, which would otherwise vanish with the screen.
fn watch_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    OURS.store(true, Ordering::SeqCst);
    let taken = execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste);
    if taken.is_err() {
        give_back();
    }
    taken
}

/// Gives the terminal back as it was, if it is ours; from any thread, and more than once.
pub(super) fn give_back() {
    if OURS.swap(false, Ordering::SeqCst) {
        // If this fails the terminal is gone, and the failure cannot be shown.
        let _ = write_end(&mut stdout());
        let _ = disable_raw_mode();
    }
}

/// Whether the screen is lent, or not taken at all.
pub(super) fn is_lent() -> bool {
    !OURS.load(Ordering::SeqCst)
}

fn write_end(out: &mut impl Write) -> io::Result<()> {
    execute!(out, DisableBracketedPaste, LeaveAlternateScreen, Show)
}

#[cfg(test)]
mod tests;
