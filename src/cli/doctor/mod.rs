//! `situated doctor`: what is wrong, and how to mend it. Facts are gathered at the edge ([`facts`]), judged by a pure
//! function ([`checks`]), and shown so that they can be pasted into a public place ([`redact`]).

mod checks;
mod daemon;
mod facts;
mod host;
mod provider;
mod redact;
mod service;
mod vaults;

use serde::Serialize;
use serde_json::json;

use super::args::Doctor;
use super::exit;
use super::print::{Out, bold, counted, dim, green, padded, printable, red, wrap, yellow};
use super::session::{CliFailure, Session};
use crate::service::wanted::network;
use redact::Redactor;

/// Columns of a check's id.
const COLUMN: usize = 12;

/// How good or bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Something does not work as well as it could.
    Warn,
    /// Something does not work.
    Fail,
}

/// How a level looks.
pub(super) struct Sign {
    /// What stands before a finding.
    pub(super) mark: &'static str,
    /// Its colour on a page.
    pub(super) class: &'static str,
    /// Its colour on a terminal.
    pub(super) paint: fn(&'static str) -> String,
}

impl Level {
    pub(super) fn sign(self) -> Sign {
        match self {
            Level::Ok => Sign { mark: "✓", class: "green", paint: green },
            Level::Note => Sign { mark: "·", class: "soft", paint: dim },
            Level::Warn => Sign { mark: "!", class: "yellow", paint: yellow },
            Level::Fail => Sign { mark: "✗", class: "red", paint: red },
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// What was looked at; stable, for programs.
    pub(super) id: &'static str,
    pub(super) level: Level,
    pub(super) finding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evidence: Option<String>,
    /// One command, or one edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Check {
    fn new(id: &'static str, level: Level, finding: impl Into<String>) -> Self {
        Check { id, level, finding: finding.into(), evidence: None, remedy: None }
    }

    fn ok(id: &'static str, finding: impl Into<String>) -> Self {
        Check::new(id, Level::Ok, finding)
    }

    fn note(id: &'static str, finding: impl Into<String>) -> Self {
        Check::new(id, Level::Note, finding)
    }

    fn warn(id: &'static str, finding: impl Into<String>) -> Self {
        Check::new(id, Level::Warn, finding)
    }

    fn fail(id: &'static str, finding: impl Into<String>) -> Self {
        Check::new(id, Level::Fail, finding)
    }

    fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = Some(evidence.into()).filter(|text| !text.is_empty());
        self
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// `situated doctor`.
pub(super) fn run(args: &Doctor, session: &mut Session) -> Result<u8, CliFailure> {
    if args.provider {
        return provider::run(session);
    }
    let (facts, mut found) = look(args.full, session);
    let redactor = if args.full { Redactor::default() } else { Redactor::of(&facts) };
    for check in &mut found {
        for text in [Some(&mut check.finding), check.evidence.as_mut(), check.remedy.as_mut()].into_iter().flatten() {
            *text = redactor.redact(text);
        }
    }
    let worst = found.iter().map(|check| check.level).max().unwrap_or(Level::Ok);
    let json = json!({ "ok": worst < Level::Fail, "version": env!("CARGO_PKG_VERSION"), "checks": found });
    let quiet = session.globals.quiet;
    session.print(json, |out| print(&found, quiet, out))?;
    if !args.full {
        session.say(dim("names of yours are left out: fit to be shown to others; `--full` names them"));
    }
    Ok(if worst == Level::Fail { exit::NOTHING } else { exit::OK })
}

/// The facts, and the findings about them.
fn look(full: bool, session: &Session) -> (facts::Facts, Vec<Check>) {
    let facts = facts::gather(session);
    let mut found = checks::checks(&facts, full);
    let providers = session.config().map(|loaded| network(&loaded.config)).unwrap_or_default();
    found.extend(service::checks(&crate::service::inspect(), &providers));
    (facts, found)
}

/// All findings unredacted, the worst first: for the owner only.
pub(super) fn findings(session: &Session) -> Vec<Check> {
    let (_, mut found) = look(true, session);
    found.sort_by_key(|check| std::cmp::Reverse(check.level));
    found
}

/// Prints findings, the worst last: at a terminal a person looks there first.
fn print(found: &[Check], quiet: bool, out: &mut Out) -> std::io::Result<()> {
    let mut sorted: Vec<&Check> = found.iter().filter(|check| !quiet || check.level > Level::Note).collect();
    sorted.sort_by_key(|check| check.level);
    for check in sorted {
        let Sign { mark, paint, .. } = check.level.sign();
        let bad = check.level >= Level::Warn;
        let finding = printable(&check.finding);
        let mut head = format!("{} {}", paint(mark), padded(check.id, COLUMN));
        for range in wrap(&finding, out.width().saturating_sub(COLUMN + 2)) {
            out.line(format!("{head}{}", &finding[range]))?;
            head = " ".repeat(COLUMN + 2);
        }
        if let Some(evidence) = check.evidence.as_ref().filter(|_| bad || check.level == Level::Note) {
            out.wrapped("    ", &printable(evidence))?;
        }
        if let Some(remedy) = &check.remedy {
            // Not wrapped: it is there to be copied.
            out.line(format!("    {} {}", bold("→"), printable(remedy)))?;
        }
    }
    let count = |level| found.iter().filter(|check| check.level == level).count() as u64;
    let (failed, warned) = (count(Level::Fail), count(Level::Warn));
    let verdict = match (failed, warned) {
        (0, 0) => green("nothing is wrong"),
        (0, warned) => yellow(format!("it works; {} to look at", counted(warned, "thing"))),
        (failed, 0) => red(counted(failed, "thing") + " to mend"),
        (failed, warned) => red(format!("{} to mend, {warned} to look at", counted(failed, "thing"))),
    };
    out.line("")?;
    out.line(verdict)
}

#[cfg(test)]
mod tests;
