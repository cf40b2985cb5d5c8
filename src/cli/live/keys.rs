//! Which key does what, for the state machine and for the page of help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::line::Move;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A character of the query.
    Type(char),
    /// Moves the cursor of the query.
    Go(Move),
    /// Removes text of the query.
    Remove(Move),
    /// Moves up or down: hits in the list, lines in the preview.
    Step(isize),
    /// The same by pages.
    Page(isize),
    /// Scrolls the preview by lines, whichever pane has the focus.
    Scroll(isize),
    /// Moves the focus to the other pane.
    Switch,
    /// Shows or hides the preview.
    Preview,
    /// Lists what is near the selected hit.
    Related,
    /// The next mode.
    Mode,
    /// The next vault.
    Vault,
    /// Opens the selected hit as the configuration says.
    Open,
    /// Opens it in Obsidian.
    Obsidian,
    /// Leaves, and prints where the selected hit is.
    Take,
    /// Shows or hides the keys.
    Help,
    /// Redraws everything.
    Redraw,
    /// Closes what is on top, or leaves.
    Back,
    /// Leaves.
    Leave,
}

/// Keys and what they do, as the page of help shows them.
pub(super) const HELP: [(&str, &str); 16] = [
    ("Enter", "open the note at the line, in $VISUAL or $EDITOR"),
    ("Ctrl-O", "open it in Obsidian"),
    ("Ctrl-Y", "leave and print its path:line"),
    ("↑ ↓  Ctrl-P Ctrl-N", "select a hit; in the preview, scroll"),
    ("PgUp PgDn", "the same by pages"),
    ("Alt-↑ Alt-↓", "scroll the preview from the list"),
    ("Tab", "switch between list and preview"),
    ("F2  Ctrl-G", "show or hide the preview"),
    ("Ctrl-R", "what lies near this passage; again, or Esc: back"),
    ("Ctrl-T", "mode: hybrid, lexical (words), dense (meaning)"),
    ("Ctrl-V", "one vault after the other, or all"),
    ("Ctrl-U Ctrl-W", "take away the line, the word before the cursor"),
    ("Ctrl-A Ctrl-E", "to the beginning, the end of the line"),
    ("F1  ?", "this page (? while nothing is typed)"),
    ("Esc", "back, and leave"),
    ("Ctrl-C", "leave"),
];

/// What a key asks for, if anything. `empty` says that nothing is typed yet.
pub(super) fn action(key: KeyEvent, empty: bool) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    Some(match key.code {
        // Many keyboards report AltGr, which types characters, as Ctrl and Alt.
        KeyCode::Char(c) if control && !alt => return controlled(c.to_ascii_lowercase()),
        KeyCode::Char(c) if alt && !control => match c {
            'b' => Action::Go(Move::WordBack),
            'f' => Action::Go(Move::WordForward),
            'd' => Action::Remove(Move::WordForward),
            _ => return None,
        },
        KeyCode::Char('?') if empty => Action::Help,
        KeyCode::Char(c) => Action::Type(c),
        KeyCode::Enter => Action::Open,
        KeyCode::Esc => Action::Back,
        KeyCode::Tab | KeyCode::BackTab => Action::Switch,
        KeyCode::Up if alt || key.modifiers.contains(KeyModifiers::SHIFT) => Action::Scroll(-1),
        KeyCode::Down if alt || key.modifiers.contains(KeyModifiers::SHIFT) => Action::Scroll(1),
        KeyCode::Up => Action::Step(-1),
        KeyCode::Down => Action::Step(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::Left if control || alt => Action::Go(Move::WordBack),
        KeyCode::Right if control || alt => Action::Go(Move::WordForward),
        KeyCode::Left => Action::Go(Move::Back),
        KeyCode::Right => Action::Go(Move::Forward),
        KeyCode::Home => Action::Go(Move::Start),
        KeyCode::End => Action::Go(Move::End),
        KeyCode::Backspace if control || alt => Action::Remove(Move::WordBack),
        KeyCode::Backspace => Action::Remove(Move::Back),
        KeyCode::Delete => Action::Remove(Move::Forward),
        KeyCode::F(1) => Action::Help,
        KeyCode::F(2) => Action::Preview,
        _ => return None,
    })
}

fn controlled(c: char) -> Option<Action> {
    Some(match c {
        'a' => Action::Go(Move::Start),
        'b' => Action::Go(Move::Back),
        'c' => Action::Leave,
        'd' => Action::Remove(Move::Forward),
        'e' => Action::Go(Move::End),
        'f' => Action::Go(Move::Forward),
        'g' => Action::Preview,
        'h' => Action::Remove(Move::Back),
        'j' | 'm' => Action::Open,
        'k' => Action::Remove(Move::End),
        'l' => Action::Redraw,
        'n' => Action::Step(1),
        'o' => Action::Obsidian,
        'p' => Action::Step(-1),
        'r' => Action::Related,
        't' => Action::Mode,
        'u' => Action::Remove(Move::Start),
        'v' => Action::Vault,
        'w' => Action::Remove(Move::WordBack),
        'y' => Action::Take,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
