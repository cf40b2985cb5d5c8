//! `situated run`: the daemon, and what a person at its terminal sees of it.

use std::io;
use std::path::Path;

use indicatif::ProgressBar;

use super::args::Run;
use super::exit;
use super::jobs::{self, ended};
use super::logging;
use super::note::{clock, counts, named};
use super::print::{Out, Styling, bold, columns, counted, cut_front, cyan, dim, millis, padded, printable, shown};
use super::session::{CliFailure, Session};
use super::status;
use crate::daemon::config::{Config, ConfigErrors, Overrides};
use crate::daemon::serve::bind::BindError;
use crate::daemon::strange::Strange;
use crate::daemon::{Claimed, RunOptions, daemon};
use engine::handle::Handle;
use protocol::daemon::Problem;
use protocol::decision::Decision;
use protocol::events::Notice;
use protocol::status::{RunState, Status};
use store::StoreError;

/// Columns of paths and reasons that most vaults need.
const PATH_COLUMNS: usize = 36;
const REASON_COLUMNS: usize = 17;

/// The fewest columns of a path.
const PATH_LEAST: usize = 12;

/// Files that the daemon may open at once, as the unit for systemd sets it: many vaults, and many clients.
const OPEN_FILES: u64 = 8192;

/// With fewer, the daemon would fail at one thing or another: one vault, a provider and a client take some fifty.
const FEWEST_FILES: u64 = 64;

/// `situated run [VAULT]...`.
pub(super) fn run(args: Run, session: &mut Session) -> Result<u8, CliFailure> {
    let overrides = Overrides { vaults: args.vaults, ..session.overrides() };
    let loaded = Config::load(&overrides).map_err(|errors| refused(errors, &overrides))?;
    if loaded.config.engine.vaults.is_empty() {
        let file =
            loaded.file.map_or("there is no configuration".to_owned(), |file| format!("{} names none", file.display()));
        return Err(CliFailure::new(
            crate::daemon::config::ConfigErrors::EXIT_CODE,
            format!(
                "no vault to watch: {file}; name one (`situated run ~/Notes`), or let `situated init` write a configuration"
            ),
        ));
    }
    let files = platform::process::open_files(OPEN_FILES);
    if files < FEWEST_FILES {
        return Err(CliFailure::new(
            exit::IO,
            format!(
                "the daemon may open {files} files at once, and needs {FEWEST_FILES} at least: raise the limit (`ulimit -n \
                 1024` in a shell, `LimitNOFILE=1024` in a unit)"
            ),
        ));
    }
    let claimed = Claimed::take(loaded, &overrides).map_err(|error| failed(error.into()))?;
    logging::data_are_in(claimed.data_dir());
    let report = !session.globals.quiet;
    if !report {
        platform::process::leave_own_console();
    }
    let color = session.globals.color;
    let listen =
        report.then(|| Box::new(move |handle: Handle| follow(&handle, color)) as Box<dyn FnOnce(Handle) + Send>);
    let options = RunOptions { listen };
    daemon(claimed, options).map_err(failed)?;
    Ok(exit::OK)
}

/// The command line is wrong, not the configuration, if all that is wrong is about the folders that it names, what of
/// situated's own lies in them included.
fn refused(errors: ConfigErrors, overrides: &Overrides) -> CliFailure {
    let is_about_folders = |key: &String| key.starts_with("vault.") || ["data_dir", "serve.socket"].contains(&&**key);
    let is_typed = |problem: &Problem| problem.file.is_none() && problem.key.as_ref().is_some_and(is_about_folders);
    if overrides.vaults.is_empty() || !errors.problems.iter().all(is_typed) {
        return errors.into();
    }
    let mut said: Vec<String> = errors.problems.into_iter().map(|problem| problem.message).collect();
    let words: Vec<_> = overrides.vaults.iter().map(|word| word.to_string_lossy()).collect();
    if words.len() > 1 && Path::new(&words.join(" ")).is_dir() {
        said.push(format!("a name with blanks stands in quotes: `situated run '{}'`", words.join(" ")));
    }
    CliFailure::new(ConfigErrors::EXIT_CODE, said.join("\n"))
}

/// The exit code tells a supervisor whether starting again can help.
fn failed(error: anyhow::Error) -> CliFailure {
    let (bind, store) = (error.downcast_ref::<BindError>(), error.downcast_ref::<StoreError>());
    let code = match (bind, store) {
        (Some(bind), _) => bind.exit_code(),
        (None, Some(StoreError::Locked(_))) => exit::TEMPORARY,
        (None, Some(_)) => exit::IO,
        (None, None) if error.is::<io::Error>() || error.is::<Strange>() => exit::IO,
        // After this code a service manager restarts the daemon.
        (None, None) => exit::INTERNAL,
    };
    CliFailure::new(code, format!("{error:#}"))
}

/// Shows what the daemon does until it stops. Blocks, so it needs its own thread.
pub(super) fn follow(handle: &Handle, color: Styling) {
    use tokio::sync::broadcast::error::RecvError;
    let mut notices = handle.subscribe();
    let mut reporter = Reporter::new(Out::stdout(color), false);
    logging::keep_off(&reporter.bar);
    // The engine may have become idle before we subscribed.
    if let Ok(status) = handle.status(None) {
        reporter.start(&status);
    }
    while !reporter.silent() {
        match notices.blocking_recv() {
            Ok(notice) => {
                if matches!(*notice, Notice::State { state } if is_settled(state)) && !reporter.is_ready() {
                    if let Ok(status) = handle.status(None) {
                        reporter.ready(&status);
                    }
                } else {
                    report(&notice, &mut reporter);
                }
            }
            Err(RecvError::Lagged(missed)) => reporter.missed(missed),
            Err(RecvError::Closed) => break,
        }
    }
}

/// Whether the first indexing is over. A problem, which searches may well be answered with, keeps a daemon from being idle.
pub(super) fn is_settled(state: RunState) -> bool {
    matches!(state, RunState::Idle | RunState::Degraded)
}

/// Shows one notice: a moving bar until the daemon is ready, then a line for each decision.
pub(super) fn report(notice: &Notice, out: &mut Reporter) {
    match notice {
        Notice::Decision(decision) => out.decision(decision),
        Notice::Job { job } => {
            if job.is_running() {
                jobs::show(&out.bar, job);
            } else {
                out.bar.reset();
                out.bar.finish_and_clear();
                // Nobody asked for the first walk: "ready" reports its result.
                if out.ready {
                    out.line(&ended(job));
                }
            }
        }
        Notice::State { state: RunState::Paused } => {
            out.line(&dim("paused; searches are answered, and `situated status` says why"));
        }
        Notice::State { state: RunState::Degraded } => out.line("something needs you: see `situated status`"),
        Notice::Index { .. } | Notice::State { .. } => {}
    }
}

/// Where `run` reports to.
pub(super) struct Reporter {
    out: Out,
    bar: ProgressBar,
    ready: bool,
    several_vaults: bool,
    /// Whether the reader of standard output has gone.
    silent: bool,
    seen: u64,
}

impl Reporter {
    /// Reports to `out`; the bar goes to standard error if that is a terminal and `hidden` is false.
    pub(super) fn new(out: Out, hidden: bool) -> Self {
        Reporter { out, bar: jobs::bar(hidden), ready: false, several_vaults: false, silent: false, seen: 0 }
    }

    /// Reports on a daemon that runs already: each decision gets a line from the start.
    pub(super) fn following(color: Styling, hidden: bool, several_vaults: bool) -> Self {
        Reporter { ready: true, several_vaults, ..Reporter::new(Out::stdout(color), hidden) }
    }

    /// Whether the first indexing is over.
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Whether the reader has gone, so that reporting may end; the daemon goes on.
    pub(super) fn silent(&self) -> bool {
        self.silent
    }

    /// Reports what is going to be watched.
    pub(super) fn start(&mut self, status: &Status) {
        self.several_vaults = status.vaults.len() > 1;
        for vault in &status.vaults {
            let line = format!("watching {}  {}", bold(printable(&vault.name)), dim(shown(&vault.path)));
            self.line(&line);
        }
        if is_settled(status.state) {
            self.ready(status);
        }
    }

    /// Reports that everything is indexed and the socket answers.
    pub(super) fn ready(&mut self, status: &Status) {
        self.bar.finish_and_clear();
        self.ready = true;
        let notes = status.vaults.iter().map(|vault| vault.notes).sum();
        let chunks = status.vaults.iter().map(|vault| vault.chunks).sum();
        self.line(&format!(
            "{}  {}, {}  {}",
            bold("ready"),
            counted(notes, "note"),
            counted(chunks, "chunk"),
            dim(format!("socket {}", shown(&status.socket)))
        ));
        for vault in status.vaults.iter().filter(|vault| status::is_empty(vault)) {
            self.line(&format!("  {}: {}", bold(printable(&vault.name)), status::NO_NOTE));
        }
        for problem in &status.problems {
            self.line(&format!("  {}", printable(problem)));
        }
        if !status.contexts.offers.is_empty() {
            self.line("  a model waits for your yes: `situated contexts start`");
        }
    }

    fn decision(&mut self, decision: &Decision) {
        self.seen += 1;
        if self.ready {
            let line = decision_line(decision, self.several_vaults, self.out.width());
            self.line(&line);
        } else {
            if self.bar.length().is_none() {
                self.bar.set_message("indexing");
            }
            self.bar.set_position(self.seen.max(self.bar.position()));
        }
    }

    fn missed(&mut self, missed: u64) {
        if self.ready {
            self.line(&dim(format!(
                "({} more decisions, too quick to show; `situated explain NOTE` has them)",
                super::print::grouped(missed)
            )));
        }
        self.seen += missed;
    }

    fn line(&mut self, line: &str) {
        let Reporter { out, bar, .. } = self;
        // A bar and a line must not write over each other.
        if bar.suspend(|| out.line(line)).is_err() {
            self.silent = true;
        }
    }
}

/// `12:03:44  Projects/Plan.md  BodyChanged  kept 7, re-embedded 1  4.2 ms`. Where there is little room, the time that it
/// took goes first, then the clock.
fn decision_line(decision: &Decision, several_vaults: bool, width: usize) -> String {
    let path = named(decision, several_vaults);
    let (clock, counts, took) = (clock(decision.at), counts(decision), millis(decision.took_ms));
    let (before, after) = (format!("{clock}  "), format!("  {took}"));
    let fixed = REASON_COLUMNS + columns(&counts) + 3;
    let shows_clock = fixed + columns(&before) + PATH_LEAST <= width;
    let shows_took = fixed + columns(&before) + columns(&after) + PATH_LEAST <= width;
    let (before, after) =
        (if shows_clock { before } else { String::new() }, if shows_took { after } else { String::new() });
    let room = width.saturating_sub(fixed + columns(&before) + columns(&after)).clamp(PATH_LEAST, PATH_COLUMNS);
    let path = padded(&cut_front(&path, room), room);
    let reason = padded(&decision.reason.to_string(), REASON_COLUMNS);
    format!("{}{path}  {} {counts}{}", dim(before), cyan(reason), dim(after))
}

#[cfg(test)]
mod tests;
