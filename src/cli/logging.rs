//! Where the program's own log goes. Commands report on standard error what went wrong. The daemon logs what it does:
//! to the journal with fields if standard error is one, else to standard error. It also keeps a log file unless a
//! person at a terminal sees the log, or a journal that this user can read keeps it.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use indicatif::ProgressBar;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

use super::args::{Cli, Command};
use super::print::printable;
use crate::daemon::LIFE;
use crate::daemon::config::Config;
use crate::service::logfile::LogFile;
use crate::service::logs::{self, FIELDS};

/// The daemon's log file, if it has one.
static FILE: OnceLock<Arc<LogFile>> = OnceLock::new();

/// The bar of `run`, once it reports.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// Where the daemon's log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sinks {
    journal: bool,
    stderr: bool,
    file: bool,
}

/// What the choice depends on.
#[derive(Debug, Clone, Copy)]
struct Around {
    daemon: bool,
    /// `--log-file`.
    named: bool,
    terminal: bool,
    /// Whether standard error is the journal, and whether this user can read it.
    journal: Option<bool>,
    launchd: bool,
}

fn sinks(around: Around) -> Sinks {
    let Around { daemon, named, terminal, journal, launchd } = around;
    let kept = terminal || journal == Some(true);
    Sinks {
        journal: daemon && journal.is_some(),
        // launchd writes standard error to a file that it never shortens.
        stderr: !daemon || journal.is_none() && !launchd,
        file: daemon && (named || !kept),
    }
}

/// The crates of this program: a log line is filtered by its crate.
const OWN: [&str; 9] = ["situated", "protocol", "note", "context", "index", "vault", "store", "provider", "engine"];

/// A filter with one level for the program's own crates, and another for all others.
fn own(level: &str, others: &str) -> String {
    OWN.iter().map(|name| format!("{name}={level},")).collect::<String>() + others
}

/// Sets logging up, once for the process.
pub(super) fn begin(cli: &Cli) {
    let (info, debug) = (own("info", "warn"), own("debug", "info"));
    let level = match (cli.globals.verbose, matches!(cli.command, Command::Run(_))) {
        // The live search has the screen, and log lines would spoil it.
        (0, false) if matches!(cli.command, Command::Live) => "off",
        // What a provider answers is exactly what `doctor` reports.
        (0, false) if matches!(cli.command, Command::Doctor(_)) => "error",
        // A tool's result says what it could not do.
        (0, false) if matches!(cli.command, Command::Mcp(_)) => "warn,rmcp=error",
        (0, false) => "warn",
        (0, true) => &info,
        (1, _) => &debug,
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let named = match &cli.command {
        Command::Run(run) => run.log_file.clone(),
        _ => None,
    };
    let sinks = sinks(Around {
        daemon: matches!(cli.command, Command::Run(_)),
        named: named.is_some(),
        terminal: std::io::stderr().is_terminal(),
        journal: logs::stderr_is_journal().then(logs::journal_is_readable),
        launchd: std::env::var_os("SITUATED_SUPERVISOR").is_some_and(|value| value == "launchd"),
    });
    let mut trouble = None;
    let journal = sinks.journal.then(tracing_journald::layer).and_then(Result::ok);
    // If the journal cannot be reached, its lines go to standard error.
    let lines = sinks.stderr || sinks.journal && journal.is_none();
    let file = sinks.file.then(|| match named {
        Some(path) => LogFile::open(&path).map_err(|error| trouble = Some(format!("{}: {error}", path.display()))).ok(),
        None => Some(LogFile::in_data(&Config::whereabouts(&cli.globals.overrides()).data_dir)),
    });
    let file = file.flatten().map(|file| FILE.get_or_init(|| Arc::new(file)).clone());
    let ansi = !cli.globals.color.is_plain() && std::io::stderr().is_terminal();
    let stderr = lines.then(|| {
        let layer = fmt::layer().with_writer(|| BesideBar).with_ansi(ansi);
        // A journal records the time itself.
        let layer = if sinks.journal { layer.without_time().boxed() } else { layer.boxed() };
        // Whoever started the daemon at a terminal sees that it runs.
        layer.with_filter(filter_fn(|line| line.target() != LIFE))
    });
    let file = file.map(|file| fmt::layer().with_ansi(false).with_writer(file));
    let journal = journal
        .map(|layer| layer.with_field_prefix(Some(FIELDS.to_owned())).with_syslog_identifier("situated".to_owned()));
    // A program that uses the library may have set up logging already; that stays in force.
    drop(tracing_subscriber::registry().with(filter).with(stderr).with(file).with(journal).try_init());
    if let Some(trouble) = trouble {
        tracing::warn!("the log cannot be kept in {trouble}");
    }
}

/// Keeps log lines from being written over a bar of the daemon, and the bar over them.
pub(super) fn keep_off(bar: &ProgressBar) {
    // There is one report for the process.
    let _ = BAR.set(bar.clone());
}

/// Standard error, without the bar while a line is written.
struct BesideBar;

impl Write for BesideBar {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let write = || io::stderr().write(line);
        BAR.get().map_or_else(write, |bar| bar.suspend(write))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Tells the log file that the daemon has moved its data, and the log with them.
pub(super) fn data_are_in(data_dir: &Path) {
    if let Some(file) = FILE.get() {
        file.data_are_in(data_dir);
    }
}

/// Writes what ended the daemon to its log file too: its standard error may go where no user can read it.
pub(super) fn last_words(message: &str) {
    if let Some(file) = FILE.get() {
        let now = jiff::Timestamp::now();
        let lines: String = message.lines().map(|line| format!("{now} ERROR {}\n", printable(line))).collect();
        // A failure of this last write cannot be reported anywhere.
        let _ = file.as_ref().write_all(lines.as_bytes());
    }
}

#[cfg(test)]
mod tests;
