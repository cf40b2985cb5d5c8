//! `situated get`, `situated plan` and `situated explain`: one note, its text and what is decided about it.

use std::io::IsTerminal as _;
use std::path::Path;

use super::args::{Get, NoteName, Plan};
use super::exit;
use super::input;
use super::print::{
    Out, bold, counted, cut, cyan, dim, green, local, millis, padded, printable, printable_lines, red, yellow,
};
use super::session::{CliFailure, Session, safe};
use super::target::{self, Lines, Served};
use protocol::client::Client;
use protocol::decision::{Action, Decision, Decisions, ExplainRequest, PlanRequest};
use protocol::note::GetRequest;

/// The longest draft that `plan --stdin` sends, below the protocol's limit of a request.
const DRAFT_BYTES: u64 = 900_000;

/// Width of the column of reasons: the longest is `ContextualizerChanged`.
const REASON: usize = 23;

/// `situated get`.
pub(super) fn get(args: Get, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let Place { path, vault, lines: named, .. } = place(&args.note, args.vault.as_deref(), &mut client)?;
    let (first, last) = named.filter(|_| args.line.is_none()).unzip();
    let many = first.zip(last.flatten()).map(|(first, last)| (last - first).saturating_add(1));
    let (line, lines) = (args.line.or(first), args.lines.or(many));
    let reply = client.ask(&GetRequest { path, vault, line, lines, ..GetRequest::default() })?;
    let note = reply.read()?;
    let is_there = note.line <= note.lines.max(1);
    let code = if is_there { exit::OK } else { exit::NOTHING };
    if session.globals.json {
        session.json(reply.into_json())?;
        return Ok(code);
    }
    session.out.text(&printable_lines(&note.text))?;
    if !note.text.is_empty() && !note.text.ends_with('\n') {
        session.out.line("")?;
    }
    for warning in &note.warnings {
        session.say(format!("{} {}", yellow("warning:"), safe(warning)));
    }
    if note.truncated {
        session.say(dim(format!("({} lines in all; --line and --lines choose)", note.lines)));
    }
    if !is_there {
        session.say(format!("there is no line {}: {} in all", note.line, counted(note.lines.into(), "line")));
    }
    Ok(code)
}

/// `situated plan`.
pub(super) fn plan(args: Plan, session: &mut Session) -> Result<u8, CliFailure> {
    let draft = args.stdin.then(draft).transpose()?;
    let mut client = session.client()?;
    let Place { path, vault, several, .. } = place(&args.note.note, args.note.vault.as_deref(), &mut client)?;
    let reply = client.ask(&PlanRequest { path, vault, text: draft })?;
    let Some(decision) = session.unless_json(reply)? else { return Ok(exit::OK) };
    session.say(dim("If it were saved now (nothing is changed by asking):"));
    print_decision(&decision, several, &mut session.out)?;
    Ok(exit::OK)
}

/// The note that is named.
struct Place {
    path: String,
    vault: Option<String>,
    /// The lines behind its name, if there are any.
    lines: Option<Lines>,
    /// Whether the daemon serves several vaults.
    several: bool,
}

/// What a user means by a note's name, path or hit.
fn place(note: &Path, vault: Option<&str>, client: &mut Client) -> Result<Place, CliFailure> {
    let served = Served::ask(client)?;
    let (note, lines) = served.without_lines(note, |name| target::is_note(name, vault, client));
    let scope = served.path(&note, vault);
    Ok(Place { path: target::note(&scope)?, vault: scope.vault, lines, several: served.are_several() })
}

fn draft() -> Result<String, CliFailure> {
    if std::io::stdin().is_terminal() {
        return Err(CliFailure::usage("--stdin: there is nothing on standard input; pipe the draft into the command"));
    }
    input::text(Path::new("-"), DRAFT_BYTES, "the draft")
}

/// `situated explain`.
pub(super) fn explain(note: &NoteName, session: &mut Session) -> Result<u8, CliFailure> {
    let mut client = session.client()?;
    let Place { path, vault, several, .. } = place(&note.note, note.vault.as_deref(), &mut client)?;
    let reply = client.ask(&ExplainRequest { path, vault })?;
    let Decisions { decisions } = reply.read()?;
    let code = if decisions.is_empty() { exit::NOTHING } else { exit::OK };
    if session.globals.json {
        session.json(reply.into_json())?;
        return Ok(code);
    }
    if decisions.is_empty() {
        session.say("nothing was decided about this note; is it in a vault, and not excluded? `situated status` lists what was skipped");
    }
    for (i, decision) in decisions.iter().enumerate() {
        session.out.part(i)?;
        print_decision(decision, several, &mut session.out)?;
    }
    Ok(code)
}

/// Explains a reason to a user who sees it for the first time.
pub(super) fn meaning(reason: protocol::decision::Reason) -> &'static str {
    use protocol::decision::Reason;
    match reason {
        Reason::NewNote => "the note is new",
        Reason::NoteRemoved => "the note is gone; contexts that were paid for are archived",
        Reason::NoteMoved => "the note has another path",
        Reason::Unchanged => "nothing that matters here changed",
        Reason::BodyChanged => "text changed under the same headings: contexts stay, changed text is embedded",
        Reason::StructureChanged => "the headings changed: new sections get new contexts",
        Reason::SectionGrew => "the section needs more chunks than before; they inherit its context",
        Reason::SectionShrank => "the section needs fewer chunks than before",
        Reason::FoundInArchive => "the context that belongs here was found in the archive (an undo)",
        Reason::ContextualizerChanged => "contexts are written by another model or prompt",
        Reason::EmbedderChanged => "another embedder is in force",
        Reason::ChunkerChanged => "notes are cut by other rules",
        Reason::Drifted => {
            "the text has become another than its context was written for, or the model was not asked yet"
        }
        Reason::Rebuild => "a rebuild was asked for",
        Reason::ContextWritten => "the model has written the context that was due",
        Reason::ContextFailed => "the model gave no usable context; the free one serves",
    }
}

/// `kept 7, re-embedded 1`: counts of zero are left out.
pub(super) fn counts(decision: &Decision) -> String {
    let counts = [
        (decision.kept, "kept"),
        (decision.reembedded, "re-embedded"),
        (decision.regenerated, "regenerated"),
        (decision.removed, "removed"),
    ];
    let said: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what} {n}")).collect();
    if said.is_empty() { "no chunks".to_owned() } else { said.join(", ") }
}

/// An action in its colour.
fn painted(action: Action, text: &str) -> String {
    match action {
        Action::Keep => dim(text),
        Action::Reembed => cyan(text),
        Action::Regenerate => green(text),
        Action::Remove => red(text),
    }
}

/// A decision with its steps; it names its vault if there are several.
fn print_decision(decision: &Decision, several: bool, out: &mut Out) -> std::io::Result<()> {
    let took = if decision.took_ms > 0.0 { format!("  {}", millis(decision.took_ms)) } else { String::new() };
    let path = named(decision, several);
    out.line(format!("{}  {}{}", bold(path), clock(decision.at), dim(took)))?;
    out.wrapped("  ", &format!("{}: {}. {}.", decision.reason, meaning(decision.reason), counts(decision)))?;
    print_steps(decision, "  ", out)
}

/// The steps of a decision, one line each.
pub(super) fn print_steps(decision: &Decision, margin: &str, out: &mut Out) -> std::io::Result<()> {
    let width = out.width().saturating_sub(margin.len() + 11 + REASON + 10).max(10);
    for step in &decision.steps {
        let action = painted(step.action, &padded(&step.action.to_string(), 11));
        let reason = padded(&step.reason.to_string(), REASON);
        let lines = padded(&format!("{}-{}", step.lines.0, step.lines.1), 10);
        let headings: Vec<_> = step.heading_path.iter().map(|heading| printable(heading)).collect();
        let place = if headings.is_empty() { "(before the first heading)".to_owned() } else { headings.join(" › ") };
        let later = step.later.map_or_else(String::new, |reason| format!("  later: {reason}"));
        out.line(format!("{margin}{action}{reason}{}{}{}", dim(lines), cut(&place, width), yellow(later)))?;
    }
    Ok(())
}

/// The path of a decision's note, with its vault if there are several.
pub(super) fn named(decision: &Decision, several: bool) -> String {
    let path = printable(&decision.path);
    if several { format!("{}: {path}", printable(&decision.vault)) } else { path.into_owned() }
}

/// The time of day for a person, empty if it is not known.
pub(super) fn clock(at: i64) -> String {
    let time = local(at).filter(|_| at > 0);
    time.map_or_else(String::new, |time| time.strftime("%H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::decision::Reason;

    #[test]
    fn the_longest_reason_leaves_a_gap_before_the_lines() {
        let column = padded(&Reason::ContextualizerChanged.to_string(), REASON);
        assert!(column.starts_with("ContextualizerChanged  "), "{column}");
    }
}
