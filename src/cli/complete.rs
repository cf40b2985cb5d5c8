//! What a shell offers after Tab: commands and options from their definition, and the names that vaults have (notes,
//! headings, tags, folders, kinds, properties) as the running daemon knows them.
//!
//! The script that a shell is given ([`registration`]) calls this program for every Tab with what was typed so far, and
//! with [`VARIABLE`] set to the shell's name. A prompt is no place for errors: names that do not arrive in time are not
//! offered.

mod typed;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::Shells;

use self::typed::Typed;
use super::args::{self, Globals};
use super::exit;
use super::session::Session;
use super::target;
use index::search::fold;
use note::{NoteRules, VaultPath};
use protocol::client::Client;
use protocol::names::{NameKind, NamesRequest};
use protocol::note::GetRequest;

/// Environment variable: its presence asks for completion of the words after `--`, and its value names the shell.
const VARIABLE: &str = "_SITUATED_COMPLETE";

/// How long the daemon may take: the user waits at a prompt meanwhile.
const PATIENCE: Duration = Duration::from_millis(500);

/// Most names that are offered.
const MOST: usize = 200;

/// The script that makes a shell call this program.
pub(super) fn registration(shell: Shell) -> std::io::Result<String> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells.completer(&name).ok_or(std::io::ErrorKind::Unsupported)?;
    // The words that bash passes are not enough (see `for_bash`), so its script passes the whole line as well:
    // assignments that stand before the variable's assignment apply to the same call.
    let line = if shell == Shell::Bash { r#"COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" "# } else { "" };
    let mut script = Vec::new();
    completer.write_registration(&format!("{line}{VARIABLE}"), "situated", "situated", "situated", &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Answers the shell if this call comes from one.
pub(super) fn answered() -> Option<ExitCode> {
    let shell = std::env::var_os(VARIABLE)?;
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let shells = Shells::builtins();
    let completer = shells.completer(shell.to_str()?).filter(|_| !words.is_empty())?;
    let here = std::env::current_dir().ok();
    let offered = if shell == "bash" {
        for_bash(here.as_deref())
    } else {
        let mut offered = Vec::new();
        let mut command = completing(args::command(), &Arc::new(Asker::new(&words, typed::unquoted)));
        completer.write_complete(&mut command, words, here.as_deref(), &mut offered).map(|()| offered)
    };
    let done = offered.and_then(|offered| std::io::stdout().write_all(&offered));
    Some(ExitCode::from(if done.is_ok() { exit::OK } else { exit::NOTHING }))
}

/// The candidates for bash. It splits words at colons and other characters, so the words are read from the line
/// instead.
fn for_bash(here: Option<&Path>) -> std::io::Result<Vec<u8>> {
    let line = std::env::var("COMP_LINE").unwrap_or_default();
    // Bash counts characters.
    let point = std::env::var("COMP_POINT").ok().and_then(|point| point.parse().ok());
    let cursor = point.and_then(|point| line.char_indices().nth(point)).map_or(line.len(), |(at, _)| at);
    let (words, typed) = Typed::words(&line[..cursor]);
    let words: Vec<OsString> = words.into_iter().chain([typed.text.clone()]).map(OsString::from).collect();
    let mut command = completing(args::command(), &Arc::new(Asker::new(&words, str::to_owned)));
    let last = words.len() - 1;
    let offered = clap_complete::engine::complete(&mut command, words, last, here)?;
    let offered = offered.iter().filter_map(|offered| typed.insert(&offered.get_value().to_string_lossy()));
    let separator = std::env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".to_owned());
    Ok(offered.collect::<Vec<_>>().join(&separator).into_bytes())
}

/// The kind of names that an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Vaults,
    Notes,
    Query,
}

impl Names {
    /// The kind for an argument, by its name in the definition.
    fn of(arg: &Arg) -> Option<Self> {
        match arg.get_id().as_str() {
            "vault" | "named_vault" => Some(Names::Vaults),
            "note" | "expect" => Some(Names::Notes),
            "query" | "within" => Some(Names::Query),
            _ => None,
        }
    }
}

/// The definition, with a completer for each argument that takes values.
fn completing(command: Command, asker: &Arc<Asker>) -> Command {
    let command = command.mut_args(|arg| {
        let names = Names::of(&arg);
        match (names, alternatives(&arg)) {
            _ if !arg.get_action().takes_values() => arg,
            (Some(names), _) => {
                let (asker, hint) = (asker.clone(), arg.get_value_hint());
                arg.add(ArgValueCompleter::new(move |current: &OsStr| asker.offer(names, hint, current)))
            }
            (None, Some(values)) => {
                let offered = move || values.iter().map(CompletionCandidate::new).collect();
                arg.add(ArgValueCandidates::new(offered))
            }
            (None, None) => arg,
        }
    });
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    below.into_iter().fold(command, |command, name| command.mut_subcommand(name, |below| completing(below, asker)))
}

/// The values that help shows as `one|other`, and the assistants that are known.
fn alternatives(arg: &Arg) -> Option<Vec<String>> {
    if arg.get_id() == "client" {
        return Some(super::mcp::clients().map(str::to_owned).collect());
    }
    let shown =
        arg.get_value_names()?.first().filter(|shown| shown.contains('|') && **shown == *shown.to_lowercase())?;
    Some(shown.split('|').map(str::to_owned).collect())
}

/// The options that say where the daemon is.
fn places(words: &[OsString]) -> Globals {
    let value = |option: &str| args::value(words, option).map(Into::into);
    Globals {
        config: value("--config"),
        data_dir: value("--data-dir"),
        socket: value("--socket"),
        ..Globals::default()
    }
}

/// Asks the daemon for names.
struct Asker {
    globals: Globals,
    words: Vec<OsString>,
    /// Removes the shell's quoting from the word before the cursor.
    read: fn(&str) -> String,
}

impl Asker {
    fn new(words: &[OsString], read: fn(&str) -> String) -> Self {
        Asker { globals: places(words), words: words.to_vec(), read }
    }

    fn offer(&self, names: Names, hint: ValueHint, current: &OsStr) -> Vec<CompletionCandidate> {
        let typed = (self.read)(&current.to_string_lossy());
        let is_note = names == Names::Notes;
        let fitting = self.named(names, &typed).into_iter().filter(|name| begins(name, &typed));
        let names: Vec<CompletionCandidate> = fitting.map(CompletionCandidate::new).collect();
        // A note may also be given by its path on the disk, and many a vault by its folder.
        match hint {
            _ if !names.is_empty() => names,
            ValueHint::DirPath => PathCompleter::dir().complete(current),
            _ if is_note => PathCompleter::file().complete(current),
            _ => names,
        }
    }

    /// Names that may begin with what was typed, in the order in which they are to be offered.
    fn named(&self, names: Names, typed: &str) -> Vec<String> {
        match names {
            Names::Vaults => self.vaults(),
            Names::Notes => self.notes(typed),
            Names::Query => self.in_query(typed),
        }
    }

    fn client(&self) -> Option<Client> {
        let discovery = Session::new(self.globals.clone()).discovery();
        let mut client = Client::connect_to(&discovery.socket()).ok()?;
        client.set_timeout(Some(PATIENCE));
        Some(client)
    }

    /// Names of the vaults that the daemon serves; without a daemon, of those in the configuration.
    fn vaults(&self) -> Vec<String> {
        let served = self.client().and_then(|mut client| target::vaults(&mut client).ok());
        if let Some(served) = served {
            return served.into_iter().map(|vault| vault.name).collect();
        }
        let configured = Session::new(self.globals.clone()).config();
        configured.into_iter().flat_map(|loaded| loaded.config.engine.vaults).map(|vault| vault.name).collect()
    }

    /// The vault that `--vault` names in the line.
    fn vault(&self) -> Option<String> {
        args::value(&self.words, "--vault")?.to_str().map(str::to_owned)
    }

    fn known(&self, what: NameKind, typed: &str) -> Vec<String> {
        let like = Some(typed.to_owned()).filter(|typed| !typed.is_empty());
        let request = NamesRequest { what, like, vault: self.vault(), limit: Some(MOST), ..NamesRequest::default() };
        let names = self.client().and_then(|mut client| client.call(&request).ok()).unwrap_or_default().names;
        // A note is offered by the name that matches: if a path is being typed, that is its path.
        let offered = names.into_iter().map(|name| match name.path {
            Some(path) if !begins(&name.name, typed) => path,
            _ => name.name,
        });
        offered.collect()
    }

    /// Names of notes; after a `#`, the headings of that note.
    fn notes(&self, typed: &str) -> Vec<String> {
        let Some((name, _)) = typed.split_once('#') else { return self.known(NameKind::Notes, typed) };
        self.headings(name).into_iter().map(|heading| format!("{name}#{heading}")).collect()
    }

    fn headings(&self, name: &str) -> Vec<String> {
        let request = GetRequest { path: name.to_owned(), vault: self.vault(), ..GetRequest::default() };
        let got = self.client().and_then(|mut client| client.call(&request).ok());
        let parsed = got.and_then(|note| {
            let path = VaultPath::parse(&note.path)?;
            Some(note::parse(&path, note.text.as_bytes(), &NoteRules::default()))
        });
        parsed.map(|note| note.outline.into_iter().map(|heading| heading.text).collect()).unwrap_or_default()
    }

    /// Conditions, and their values.
    fn in_query(&self, typed: &str) -> Vec<String> {
        let (not, body) = typed.strip_prefix('-').map_or(("", typed), |body| ("-", body));
        let Some((key, value)) = body.split_once(':') else {
            if !body.starts_with("prop.") {
                return CONDITIONS.iter().map(|condition| format!("{not}{condition}")).collect();
            }
            let names = self.known(NameKind::Properties, &body["prop.".len()..]);
            return names.into_iter().map(|name| format!("{not}prop.{name}:")).collect();
        };
        let value = value.trim_start_matches('"');
        let values = match key {
            "tag" => self.known(NameKind::Tags, value),
            "path" => self.known(NameKind::Folders, value),
            "type" => self.known(NameKind::Types, value),
            "vault" => self.vaults(),
            "link" | "linked-from" => self.known(NameKind::Notes, value),
            _ => Vec::new(),
        };
        let quoted = |value: String| {
            if value.contains(char::is_whitespace) {
                format!("{not}{key}:\"{value}\"")
            } else {
                format!("{not}{key}:{value}")
            }
        };
        values.into_iter().map(quoted).collect()
    }
}

/// The conditions that a query can hold besides words.
const CONDITIONS: [&str; 14] = [
    "tag:",
    "path:",
    "type:",
    "vault:",
    "link:",
    "linked-from:",
    "prop.",
    "after:",
    "before:",
    "on:",
    "in:",
    "last:",
    "created:",
    "modified:",
];

/// Whether a name begins with what was typed, in any case; a condition also without the quote before its value.
fn begins(name: &str, typed: &str) -> bool {
    let bare = |text: &str| fold(text).replacen(":\"", ":", 1);
    bare(name).starts_with(&bare(typed))
}

#[cfg(test)]
mod tests;
