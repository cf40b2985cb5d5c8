//! `situated mcp`: the bridge to assistants, on standard input and output or over HTTP, and entries for it in their
//! configurations.

mod clients;
mod edit;
mod http;
mod tables;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{Mcp, McpAction, McpEntry};
use super::print::{bold, dim, printable_lines, shown};
use super::session::{CliFailure, Session};
use super::{confirm, exit, input, replace};
use crate::service::program::choose;
use clients::Client;
pub(super) use http::TOKEN_FILE;
use protocol::folders::Folders;

/// Symbolic links that are followed to a file that is not there.
const MOST_LINKS: usize = 8;

/// Name of the entry.
const NAME: &str = "situated";

/// `situated mcp`.
pub(super) fn run(args: &Mcp, session: &mut Session) -> Result<u8, CliFailure> {
    match &args.action {
        None => match &args.http {
            Some(address) => http::serve(address, args, session),
            None => serve(session),
        },
        Some(McpAction::Install(args)) => enter(true, args, session),
        Some(McpAction::Uninstall(args)) => enter(false, args, session),
    }
}

fn serve(session: &Session) -> Result<u8, CliFailure> {
    use std::io::IsTerminal as _;
    if std::io::stdin().is_terminal() {
        session.say(
            "This speaks MCP on standard input and output: an assistant's program starts it so. `situated mcp install` \
             enters it there. Ctrl-D ends it.",
        );
    }
    crate::mcp::serve(session.discovery())?;
    Ok(exit::OK)
}

/// A change to an assistant's file.
struct Change {
    client: &'static Client,
    file: PathBuf,
    /// The present text; `None` if there is no file.
    old: Option<String>,
    /// The new text; `None` if the file needs no change.
    new: Option<String>,
    /// The entry that is added; `None` if one is removed.
    entry: Option<Value>,
}

/// Adds an assistant's entry, or removes it.
fn enter(adds: bool, args: &McpEntry, session: &mut Session) -> Result<u8, CliFailure> {
    let home = home()?;
    let Some(name) = &args.client else { return list(&home, session) };
    let client = known(name)?;
    let entry = if adds { Some(client.entry(&program()?, &arguments(session))) } else { None };
    let (file, old) = file_of(client, &home)?;
    let text = old.as_deref().unwrap_or_default();
    let (new, by_hand) = match &entry {
        Some(entry) => {
            let by_hand = format!("Put this into it by hand, in {}:\n{}", client.title, client.snippet(entry));
            (client.with_entry(text, entry), by_hand)
        }
        None => (client.without_entry(text), format!("Take `{NAME}` out of `{}` by hand", client.section)),
    };
    let new = new.map_err(|refusal| {
        CliFailure::new(exit::CANNOT_CREATE, format!("{} is left as it is: {refusal}. {by_hand}", file.display()))
    })?;
    carry_out(Change { client, file, old, new, entry }, args, session)
}

fn home() -> Result<PathBuf, CliFailure> {
    let home = protocol::folders::home();
    home.ok_or_else(|| CliFailure::usage("this user has no home folder, so no configuration can be found"))
}

/// The names of the assistants that are known.
pub(super) fn clients() -> impl Iterator<Item = &'static str> {
    clients::ALL.iter().map(|client| client.name)
}

fn known(name: &str) -> Result<&'static Client, CliFailure> {
    let Some(client) = clients::named(name) else {
        let known: Vec<&str> = self::clients().collect();
        return Err(CliFailure::usage(format!(
            "`{name}` is not known; there are {}. Any other starts `{} mcp`",
            known.join(", "),
            program()?.display()
        )));
    };
    Ok(client)
}

/// An assistant's file, and its text if it exists. A symbolic link (as dotfiles often are) stays one: its target is
/// written.
fn file_of(client: &Client, home: &Path) -> Result<(PathBuf, Option<String>), CliFailure> {
    let file = target_of(client.file(home));
    let text = input::if_there(&file)?;
    Ok((file, text))
}

/// What a path leads to, whether or not it is there.
fn target_of(mut file: PathBuf) -> PathBuf {
    for _ in 0..MOST_LINKS {
        if let Ok(file) = file.canonicalize() {
            return file;
        }
        let Ok(target) = std::fs::read_link(&file) else { break };
        file = file.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
    }
    file
}

/// Shows a change, asks, and writes it.
fn carry_out(change: Change, args: &McpEntry, session: &mut Session) -> Result<u8, CliFailure> {
    let Change { client, file, old, new, entry } = change;
    let Some(new) = new else {
        let said = match (&entry, &old) {
            (Some(_), _) => "has the entry already",
            (None, Some(_)) => "has no such entry",
            (None, None) => "has no file",
        };
        let json = told(client, &file, entry.as_ref(), false, None);
        return session.result(json, format!("{} {said}: {}", client.title, shown(&file)));
    };
    if !session.globals.json {
        show(client, &file, entry.as_ref(), old.as_deref(), session)?;
    }
    let write = !args.dry_run && (args.yes || (!session.globals.json && confirm::go_on()?));
    let replaced = write.then(|| replace::file(&file, old.as_deref(), &new, true)).transpose();
    let backup = replaced.map_err(CliFailure::of_file(exit::IO, &file))?.flatten();
    if session.globals.json {
        session.json(told(client, &file, entry.as_ref(), write, backup.as_deref()))?;
    } else if write {
        session.out.line(format!("{} {}", bold("Wrote"), shown(&file)))?;
        if let Some(backup) = backup {
            session.out.line(format!("What was there is in {}", shown(&backup)))?;
        }
        let then = if entry.is_some() { client.then } else { "It loses the entry when it is started again." };
        session.say(format!("{}: {}", client.title, dim(then)));
    } else {
        session.say("Nothing was written.");
    }
    Ok(exit::OK)
}

/// The result in JSON.
fn told(client: &Client, file: &Path, entry: Option<&Value>, written: bool, backup: Option<&Path>) -> Value {
    let mut told = json!({ "client": client.name, "file": file, "written": written, "backup": backup });
    match entry {
        Some(entry) => told["entry"] = entry.clone(),
        None => told["removed"] = written.into(),
    }
    told
}

fn list(home: &Path, session: &mut Session) -> Result<u8, CliFailure> {
    let state = |client: &Client| {
        let file = client.file(home);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let entered = client.entered(&text).is_some();
        (file, client.is_found(home), entered)
    };
    if session.globals.json {
        let clients = clients::ALL.iter().map(|client| {
            let (file, found, entered) = state(client);
            json!({
                "client": client.name, "title": client.title, "file": file, "found": found, "entered": entered,
                "documented": client.documented,
            })
        });
        let clients: Vec<Value> = clients.collect();
        session.json(json!({ "clients": clients }))?;
        return Ok(exit::OK);
    }
    for client in clients::ALL {
        let (file, found, entered) = state(client);
        let state = match (entered, found) {
            (true, _) => "entered",
            (false, true) => "found",
            (false, false) => "-",
        };
        let doubt = if client.documented { "" } else { "  (place not in its makers' documentation)" };
        let line = format!("{:<16}{:<10}{}{}", client.name, state, shown(&file), dim(doubt));
        session.out.line(line)?;
    }
    session.say(format!(
        "\n{} shows an entry, and writes it after a yes; {} takes it out.",
        bold("situated mcp install NAME"),
        bold("situated mcp uninstall NAME")
    ));
    Ok(exit::OK)
}

/// The absolute path of this program that lasts longest: an assistant that starts it may have a short `PATH`, or none.
fn program() -> Result<PathBuf, CliFailure> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    Ok(choose(&std::env::current_exe()?, &search).path)
}

/// `mcp`, with the options that say where this run finds the daemon: the assistant's program has another environment.
fn arguments(session: &Session) -> Vec<String> {
    let variables = ["SITUATED_CONFIG", "SITUATED_DATA_DIR", "SITUATED_SOCKET"];
    let mut arguments = Vec::new();
    let elsewhere = elsewhere(session);
    for (((flag, given), variable), elsewhere) in session.globals.places().into_iter().zip(variables).zip(elsewhere) {
        let variable = || std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = given.clone().or_else(variable).or(elsewhere) {
            let path = std::path::absolute(&path).unwrap_or(path);
            arguments.extend([flag.to_owned(), path.to_string_lossy().into_owned()]);
        }
    }
    arguments.push("mcp".to_owned());
    arguments
}

/// Configuration and data where a program would not find them for which no variable but `HOME` is set, as the one that
/// an assistant starts.
fn elsewhere(session: &Session) -> [Option<PathBuf>; 3] {
    let here = Folders::here();
    let Some(usual) = here.home.as_deref().map(Folders::without_variables) else { return [None, None, None] };
    let (config, data) = (here.config_file.in_use(), here.data_dir.in_use());
    let config = (!usual.config_file.is_usual(config) && config.exists()).then(|| config.to_owned());
    // If the configuration names the folder, it is found by that.
    let is_named = session.discovery().data_dir != data;
    [config, (!is_named && !usual.data_dir.is_usual(data)).then(|| data.to_owned()), None]
}

fn show(
    client: &Client,
    file: &Path,
    entry: Option<&Value>,
    old: Option<&str>,
    session: &mut Session,
) -> Result<(), CliFailure> {
    let replaced = old.filter(|_| entry.is_some()).and_then(|old| client.entered(old));
    let what = match (entry, old) {
        (Some(_), Some(_)) if replaced.is_some() => format!(
            "would get this in place of its entry `{NAME}`, of which what is not named here stays (but no URL):"
        ),
        (Some(_), Some(_)) => "would get this entry beside what is in it:".to_owned(),
        (Some(_), None) => "would be a new file with this entry:".to_owned(),
        (None, _) => format!("would lose its entry `{NAME}`; what else is in it stays."),
    };
    session.out.line(format!("{}: {} {what}", bold(client.title), shown(file)))?;
    if let Some(entry) = entry {
        session.out.line(printable_lines(&client.snippet(entry)))?;
    }
    if let Some(replaced) = replaced {
        session.out.line(format!("The entry that is there now:\n{}", printable_lines(&replaced)))?;
    }
    if !client.documented {
        session.say("This place is not in its makers' documentation: see there if it is not taken over.");
    }
    Ok(())
}
