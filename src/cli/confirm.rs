//! A question before something that costs or removes: it is asked only where somebody can answer.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use super::session::CliFailure;

/// Whether to go on with what was just described.
pub(super) fn go_on() -> Result<bool, CliFailure> {
    answered_yes("Go on?", "say `--yes` to go on, or `--dry-run` to see what it would do")
}

/// Fails where nobody can be asked, and says what to do `instead`; for commands that do some work before they ask.
pub(super) fn somebody(instead: &str) -> Result<(), CliFailure> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(CliFailure::usage(format!("nobody can be asked here; {instead}")))
}

/// Asks a question whose answer is yes or no; without a terminal the command fails, and says what to do `instead`.
pub(super) fn answered_yes(question: &str, instead: &str) -> Result<bool, CliFailure> {
    somebody(instead)?;
    let mut stdin = std::io::stdin().lock();
    write!(std::io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    stdin.read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
