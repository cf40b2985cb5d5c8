//! `situated graph`: which notes are central, which stand alone, which links lead nowhere; or all of it as a picture.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::args::Graph as Args;
use super::exit;
use super::print::{Out, bold, columns, counted, cut, cut_front, cyan, dim, grouped, padded, typed, yellow};
use super::session::{CliFailure, Session, safe};
use super::target;
use protocol::client::Client;
use protocol::graph::{GraphAnswer, GraphNote, GraphRequest, Measure};

/// Most orphans and unresolved targets that are listed beside the notes.
const FEW: usize = 5;

/// `situated graph`.
pub(super) fn run(args: &Args, session: &mut Session) -> Result<u8, CliFailure> {
    let by = args.by.unwrap_or_default();
    let limit = args.limit.map_or(if args.dot { 200 } else { 20 }, usize::from);
    let mut client = session.client()?;
    // Each vault has its own graph; JSON and a picture hold the graph of one vault.
    let vaults: Vec<String> = match args.vault.name() {
        None => target::vaults(&mut client)?.into_iter().map(|vault| vault.name).collect(),
        Some(_) => Vec::new(),
    };
    if session.globals.json && vaults.len() > 1 {
        let request = GraphRequest { vault: None, by, limit: Some(limit), edges: false };
        let reply = client.ask(&request)?;
        let code = code(args, &reply.read()?);
        let mut graph = reply.into_json();
        graph["other_vaults"] = json!(vaults[1..]);
        session.json(graph)?;
        return Ok(code);
    }
    if args.dot || vaults.len() < 2 {
        if let [first, others @ ..] = &vaults[..]
            && !others.is_empty()
        {
            let others: Vec<String> = others.iter().map(|name| format!("`{}`", picture_of(name))).collect();
            session.say(format!("this is `{}`; {} shows another", safe(first), others.join(", ")));
        }
        let request = GraphRequest { vault: args.vault.name(), by, limit: Some(limit), edges: args.dot };
        return one(args, &request, &mut client, session);
    }
    let mut code = exit::NOTHING;
    for (i, name) in vaults.into_iter().enumerate() {
        session.out.part(i)?;
        session.out.line(bold(format!("vault {}", safe(&name))))?;
        let request = GraphRequest { vault: Some(name), by, limit: Some(limit), edges: false };
        code = code.min(one(args, &request, &mut client, session)?);
    }
    Ok(code)
}

/// The command that prints the picture of a vault, to be copied.
fn picture_of(vault: &str) -> String {
    // A name that begins like an option has to be told from one.
    let dashes = if vault.starts_with('-') { "-- " } else { "" };
    format!("situated graph --dot {dashes}{}", typed(Path::new(&safe(vault))))
}

/// The exit code: whether there is something of what is asked for.
fn code(args: &Args, answer: &GraphAnswer) -> u8 {
    let is_empty = match (args.dot, args.orphans, args.unresolved) {
        (true, ..) => false,
        (_, true, _) => answer.orphans.is_empty(),
        (.., true) => answer.unresolved.is_empty(),
        _ => answer.notes.is_empty(),
    };
    if is_empty { exit::NOTHING } else { exit::OK }
}

/// Shows the graph of one vault; returns the exit code.
fn one(args: &Args, request: &GraphRequest, client: &mut Client, session: &mut Session) -> Result<u8, CliFailure> {
    let reply = client.ask(request)?;
    let answer = reply.read()?;
    let code = code(args, &answer);
    if session.globals.json {
        session.json(reply.into_json())?;
        return Ok(code);
    }
    if !answer.current {
        session.say(format!("{} the vault is changing; this is the graph of a moment ago", yellow("note:")));
    }
    let out = &mut session.out;
    if args.dot {
        out.text(&dot(&answer))?;
    } else if args.orphans {
        answer.orphans.iter().try_for_each(|path| out.line(cyan(safe(path))))?;
        more(answer.orphan_count, answer.orphans.len(), session);
    } else if args.unresolved {
        unresolved(&answer, out)?;
        more(answer.unresolved_count, answer.unresolved.len(), session);
    } else {
        overview(&answer, request.by, out)?;
    }
    Ok(code)
}

/// Says how many were not shown.
fn more(total: u64, shown: usize, session: &Session) {
    let left = total.saturating_sub(shown as u64);
    if left > 0 {
        session.say(dim(format!("and {} more; -n shows more", grouped(left))));
    }
    if total == 0 {
        session.say("there are none");
    }
}

fn overview(answer: &GraphAnswer, by: Measure, out: &mut Out) -> std::io::Result<()> {
    out.line(bold(format!(
        "{}, {} between them",
        counted(answer.note_count, "note"),
        counted(answer.link_count, "link")
    )))?;
    if let Some(sources) = answer.sources {
        let error = answer.error.map_or(String::new(), |error| format!(", standard error {error:.5} at most"));
        out.wrapped("", &format!("betweenness estimated from {} notes{error}", grouped(sources)))?;
    }
    if !answer.notes.is_empty() {
        out.line("")?;
        let room = out.width().saturating_sub(11);
        for note in &answer.notes {
            let title = cut(&safe(&note.title), room / 2);
            let path = cut_front(&safe(&note.path), out.room_for_places().saturating_sub(columns(&title) + 13).max(8));
            out.line(format!("{} {title}  {}", padded(&shown(note, by), 10), cyan(path)))?;
        }
    }
    let orphans: Vec<String> = answer.orphans.iter().take(FEW).map(|path| safe(path)).collect();
    few("without links", answer.orphan_count, &orphans, out)?;
    let missing = answer.unresolved.iter().take(FEW);
    let missing: Vec<String> =
        missing.map(|missing| format!("{} ({})", safe(&missing.target), missing.count)).collect();
    few("unresolved", answer.unresolved_count, &missing, out)
}

/// The number and the first few of a list.
fn few(name: &str, total: u64, first: &[String], out: &mut Out) -> std::io::Result<()> {
    out.line("")?;
    let dots = if total > first.len() as u64 { ", …" } else { "" };
    let list = if first.is_empty() { String::new() } else { format!(": {}{dots}", first.join(", ")) };
    out.row("", name, 15, &format!("{}{list}", grouped(total)))
}

/// A measure as a column.
fn shown(note: &GraphNote, by: Measure) -> String {
    match by {
        Measure::Score => format!("{:.3}", note.score),
        Measure::Pagerank => format!("{:.5}", note.pagerank),
        Measure::Betweenness => format!("{:.5}", note.betweenness),
        Measure::Clustering => format!("{:.3}", note.clustering),
        Measure::In => grouped(note.backlinks.into()),
        Measure::Out => grouped(note.links.into()),
    }
}

fn unresolved(answer: &GraphAnswer, out: &mut Out) -> std::io::Result<()> {
    for missing in &answer.unresolved {
        out.line(format!("{}: {}", bold(safe(&missing.target)), dim(counted(missing.count, "note"))))?;
        for path in &missing.notes {
            out.line(format!("    {}", cyan(safe(path))))?;
        }
        if missing.count > missing.notes.len() as u64 {
            out.line("    …")?;
        }
    }
    Ok(())
}

/// The notes listed and their links in the language of Graphviz; the larger a node, the more central.
fn dot(answer: &GraphAnswer) -> String {
    let mut dot = String::from("digraph notes {\n  graph [overlap=false];\n  node [shape=box, style=rounded];\n");
    for (place, note) in answer.notes.iter().enumerate() {
        let (title, path) = (quoted(&note.title), quoted(&note.path));
        let size = 10.0 + 14.0 * note.score;
        // Writing to a string cannot fail.
        let _ = writeln!(dot, "  n{place} [label={title}, tooltip={path}, fontsize={size:.1}];");
    }
    for (from, to) in answer.edges.iter().flatten() {
        let _ = writeln!(dot, "  n{from} -> n{to};");
    }
    dot.push_str("}\n");
    dot
}

/// A Graphviz string that shows exactly this text: there, backslashes begin escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", safe(text).replace('&', "&amp;").replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
