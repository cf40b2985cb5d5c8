//! `situated mcp`: the bridge to assistants, and entries for it in their configurations.

mod clients;
mod edit;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{Mcp, McpAction, McpInstall};
use super::print::{bold, dim, printable};
use super::session::{CliFailure, Session};
use super::{confirm, exit};
use crate::daemon::config::Config;
use clients::Client;
use edit::Refusal;
use protocol::client::Discovery;

/// What the entry is called.
const NAME: &str = "situated";

/// `situated mcp`.
pub(super) fn run(args: &Mcp, session: &mut Session) -> Result<u8, CliFailure> {
    match &args.action {
        None => serve(session),
        Some(McpAction::Install(args)) => install(args, session),
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
    let found = Config::whereabouts(&session.overrides());
    crate::mcp::serve(Discovery { socket: found.socket, data_dir: found.data_dir })?;
    Ok(exit::OK)
}

fn install(args: &McpInstall, session: &mut Session) -> Result<u8, CliFailure> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| CliFailure::usage("$HOME is not set, so no configuration can be found"))?;
    let Some(name) = &args.client else { return list(&home, session) };
    let Some(client) = clients::named(name) else {
        let known: Vec<&str> = clients::ALL.iter().map(|client| client.name).collect();
        return Err(CliFailure::usage(format!(
            "`{name}` is not known; there are {}. Any other starts `{} mcp`",
            known.join(", "),
            program()?.display()
        )));
    };
    let file = client.file(&home);
    // A link (as dotfiles often are) stays one: what it leads to is written.
    let file = file.canonicalize().unwrap_or(file);
    let entry = client.entry(&program()?, &arguments(session));
    let failed = |error: std::io::Error| CliFailure::new(exit::IO, format!("{}: {error}", file.display()));
    let old = match std::fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let new = match edit::with_entry(old.as_deref().unwrap_or_default(), client.section, NAME, &entry) {
        Ok(new) => new,
        Err(refusal) => return Err(refused(client, &file, &entry, &refusal)),
    };
    let Some(new) = new else {
        if session.globals.json {
            session.json(json!({ "client": client.name, "file": file, "entry": entry, "written": false }))?;
        } else {
            session.out.line(format!("{} has the entry already: {}", client.title, shown(&file)))?;
        }
        return Ok(exit::OK);
    };
    if !session.globals.json {
        show(client, &file, &entry, old.is_some(), session)?;
    }
    let write = !args.dry_run && (args.yes || (!session.globals.json && confirm::go_on()?));
    let backup = if write { replace(&file, old.as_deref(), &new).map_err(failed)? } else { None };
    if session.globals.json {
        session.json(json!({
            "client": client.name, "file": file, "entry": entry, "written": write, "backup": backup,
        }))?;
    } else if write {
        session.out.line(format!("{} {}", bold("Wrote"), shown(&file)))?;
        if let Some(backup) = backup {
            session.out.line(format!("What was there is in {}", shown(&backup)))?;
        }
        session.say(format!("{} {}", client.title, dim(client.then)));
    } else {
        session.say("Nothing was written.");
    }
    Ok(exit::OK)
}

fn list(home: &Path, session: &mut Session) -> Result<u8, CliFailure> {
    let state = |client: &Client| {
        let file = client.file(home);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let entered = edit::has_entry(&text, client.section, NAME);
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
    session.say(format!("\n{} shows an entry, and writes it after a yes.", bold("situated mcp install NAME")));
    Ok(exit::OK)
}

/// The absolute path of this program: an assistant that starts it may have a short `PATH`, or none.
fn program() -> Result<PathBuf, CliFailure> {
    Ok(std::env::current_exe()?)
}

/// `mcp`, with what this run was told of where the daemon is: the assistant's program has another environment.
fn arguments(session: &Session) -> Vec<String> {
    let variables = ["SITUATED_CONFIG", "SITUATED_DATA_DIR", "SITUATED_SOCKET"];
    let mut arguments = Vec::new();
    for ((flag, given), variable) in session.globals.places().into_iter().zip(variables) {
        let variable = || std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = given.clone().or_else(variable) {
            let path = std::path::absolute(&path).unwrap_or(path);
            arguments.extend([flag.to_owned(), path.to_string_lossy().into_owned()]);
        }
    }
    arguments.push("mcp".to_owned());
    arguments
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

/// What is to be pasted.
fn snippet(client: &Client, entry: &Value) -> String {
    serde_json::to_string_pretty(&json!({ client.section: { NAME: entry } })).unwrap_or_default()
}

fn show(client: &Client, file: &Path, entry: &Value, exists: bool, session: &mut Session) -> Result<(), CliFailure> {
    let what = if exists { "would get this entry beside what is in it" } else { "would be a new file with this entry" };
    session.out.line(format!("{}: {} {what}:", bold(client.title), shown(file)))?;
    session.out.line(printable_json(&snippet(client, entry)))?;
    if !client.documented {
        session.say("This place is not in its makers' documentation: see there if it is not taken over.");
    }
    Ok(())
}

fn printable_json(text: &str) -> String {
    super::print::printable_lines(text).into_owned()
}

fn refused(client: &Client, file: &Path, entry: &Value, refusal: &Refusal) -> CliFailure {
    let why = match refusal {
        Refusal::NotJson(why) => format!("it is not JSON ({why})"),
        Refusal::Shape(why) => why.clone(),
    };
    CliFailure::new(
        exit::CANNOT_CREATE,
        format!(
            "{} is left as it is: {why}. Put this into it by hand, in {}:\n{}",
            file.display(),
            client.title,
            snippet(client, entry)
        ),
    )
}

/// Puts a text in a file's place at once, with a copy of what was there beside it; says where that is.
fn replace(file: &Path, old: Option<&str>, new: &str) -> std::io::Result<Option<PathBuf>> {
    let folder = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Such files hold other servers' keys: a new one is readable by its user alone, an old one keeps its mode.
    let mode = std::fs::metadata(file).map_or(0o600, |known| known.mode() & 0o777);
    let backup = old.map(|old| beside(file, "before-situated", old, mode)).transpose()?;
    let fresh = beside(file, "new", new, mode)?;
    // Another program may have written to it meanwhile: then nothing is done.
    if std::fs::read_to_string(file).ok().as_deref() != old {
        std::fs::remove_file(&fresh)?;
        return Err(std::io::Error::other("it was changed by somebody else just now; nothing was written, try again"));
    }
    std::fs::rename(&fresh, file)?;
    File::open(folder)?.sync_all()?;
    Ok(backup)
}

/// A new file beside another, never in place of one that is there.
fn beside(file: &Path, what: &str, text: &str, mode: u32) -> std::io::Result<PathBuf> {
    for n in 1..1_000 {
        let mut name = file.as_os_str().to_owned();
        name.push(if n == 1 { format!(".{what}") } else { format!(".{what}-{n}") });
        let path = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
            Ok(mut out) => {
                out.write_all(text.as_bytes())?;
                out.sync_all()?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("a thousand copies are beside it already"))
}
