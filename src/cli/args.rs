//! Every command and option.

mod graph;
mod grep;
mod groups;
mod ask;
mod editor;
mod eval;
mod mcp;
mod models;
mod search;
mod service;
mod shelf;
mod shell;
mod team;
mod vault;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum as _, ValueHint};

pub(super) use ask::Ask;
pub(super) use editor::{EditorAction, EditorName};
pub(super) use eval::Eval;
pub(super) use graph::Graph;
pub(super) use grep::Grep;
pub(super) use groups::command;
pub(super) use mcp::{Mcp, McpAction, McpEntry};
pub(super) use models::{ContextsAction, Generate, GenerationCommand, Generations, Review, StartContexts};
pub(super) use search::{OpenIn, Related, Search, Show, weigh};
pub(super) use service::{Install, Logs, ServiceAction, Uninstall};
pub(super) use shelf::{AddModel, ModelsAction, ModelsCommand};
pub(super) use shell::{Completions, Manual, Tail};
pub(super) use team::TeamAction;
pub(super) use vault::VaultAction;

use super::print::{Styling, printable};
use crate::daemon::config::{Overrides, typed_duration};

/// Searches your Markdown notes by words and meaning, and keeps the index true while you write.
///
/// A daemon (`situated run`) watches your vaults; all other commands ask it over a local socket. Nothing is
/// written to a vault, and nothing leaves this machine unless you configure it; `situated status` says what does.
#[derive(Debug, Parser)]
#[command(name = "situated", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "First steps:  situated try     a tour on a sample vault, nothing is kept\n              situated init    write a configuration for the vault you are in\n              situated run     index, watch and serve it"
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub globals: Globals,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Globals {
    /// Configuration file [env: SITUATED_CONFIG]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Folder of the indexes; with a socket of its own, an instance of its own [env: SITUATED_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data_dir: Option<PathBuf>,
    /// Socket of the daemon [env: SITUATED_SOCKET]
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Print one JSON object with "schema": 1
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Log more; twice for all
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Styling,
}

impl Globals {
    /// What they say about the configuration.
    pub(super) fn overrides(&self) -> Overrides {
        let Globals { config, data_dir, socket, .. } = self.clone();
        Overrides { config, data_dir, socket, ..Overrides::default() }
    }

    /// The options that say where configuration, data and socket are, as another run of the program takes them.
    pub(super) fn places(&self) -> [(&'static str, &Option<PathBuf>); 3] {
        [("--config", &self.config), ("--data-dir", &self.data_dir), ("--socket", &self.socket)]
    }
}

/// What an option says in a line that need not be right otherwise: `--option X` or `--option=X`.
pub(super) fn value<'a>(words: &'a [OsString], option: &str) -> Option<&'a OsStr> {
    words.iter().enumerate().find_map(|(at, word)| match word.to_str()?.strip_prefix(option)? {
        "" => words.get(at + 1).map(OsString::as_os_str),
        rest => rest.strip_prefix('=').map(OsStr::new),
    })
}

/// The colours that arguments ask for, whatever else is wrong with them.
pub(super) fn color(arguments: &[OsString]) -> Styling {
    let options = arguments.split(|word| word == "--").next().unwrap_or_default();
    let given = value(options, "--color").and_then(OsStr::to_str);
    given.and_then(|given| Styling::from_str(given, false).ok()).unwrap_or_default()
}

/// The error with advice on the argument that it is about, if that is a query or a word of one, such as `-tag:work plan`:
/// what begins with a hyphen is read as options, `-cherry` as `-c` and `-h`.
pub(super) fn with_dashes(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let kind = error.kind();
    let read = |line: &[OsString]| command().try_get_matches_from(line).map_err(|error| error.kind());
    let mut lines = (1..=arguments.len()).map(|end| &arguments[..end]);
    let Some((wrong, before)) = lines.find(|line| read(line).err() == Some(kind)).and_then(<[_]>::split_last) else {
        return error;
    };
    let is_meant = |text: &&str| {
        let cluster = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-')).unwrap_or_default();
        // `-n500` is no word.
        let is_number = kind == ErrorKind::ValueValidation && cluster.chars().skip(1).all(|c| c.is_ascii_digit());
        cluster.chars().nth(1).is_some() && !is_number
    };
    let is_taken = || read(&[before, &["--".into(), wrong.clone()]].concat()).is_ok();
    let Some(query) = wrong.to_str().filter(is_meant).filter(|_| is_taken()) else { return error };
    if kind == ErrorKind::DisplayHelp {
        error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(&command());
        error.insert(ContextKind::InvalidArg, ContextValue::String(printable(query).into()));
    }
    let tip = format!("what begins with `-` and is no option stands last, behind `--`: -- '{}'", printable(query));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// The error with advice on a word too many, behind a name: without quotes, a shell makes several words of one with blanks.
pub(super) fn in_quotes(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let wrong = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    if error.kind() == ErrorKind::UnknownArgument && !wrong.starts_with('-') {
        let words = arguments.iter().filter_map(|argument| argument.to_str());
        let mut asked = command();
        for word in words {
            asked = asked.find_subcommand(word).cloned().unwrap_or(asked);
        }
        if asked.get_positionals().next().is_some() {
            let tip = "a name with blanks stands in quotes, as in 'My Notes'".to_owned();
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
    }
    error
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a commented configuration for a vault
    Init(Init),
    /// Be the daemon: index, watch and serve the vaults
    Run(Run),
    /// Take a tour on a temporary copy of a sample vault
    Try(Try),
    /// Find passages
    #[command(visible_alias = "s")]
    Search(Search),
    /// Find lines that match a regular expression
    Grep(Grep),
    /// Search while you type: what `situated` alone does on a terminal
    Live,
    /// Have a question answered from your notes, with citations
    Ask(Ask),
    /// Find passages near a note
    Related(Related),
    /// Say which notes are central or alone, which links lead nowhere
    Graph(Graph),
    /// Print a note, or some lines of it
    Get(Get),
    /// Measure how well a vault is found, by queries of it or of a set
    Eval(Eval),
    /// Add, list, remove or rename the folders that are searched
    #[command(subcommand)]
    Vault(VaultAction),
    /// Say how the daemon is
    Status(Status),
    /// Look at the disk now
    Sync(Sync),
    /// Make a vault, folder or note anew
    Rebuild(Rebuild),
    /// List jobs, or cancel one
    Jobs(Jobs),
    /// Say what would be decided about a note now
    Plan(Plan),
    /// Say what was decided about a note, and why
    Explain(NoteName),
    /// Say what models have cost: today, this month, on what
    Cost,
    /// Say how the contexts are
    Stats(OnlyVault),
    /// Share vaults with a team on a Qdrant server; see how it stands
    #[command(subcommand)]
    Team(TeamAction),
    /// Other ways of writing contexts, built beside the one that answers
    Generations(Generations),
    /// Review contexts; export or import them (while no daemon runs)
    #[command(subcommand)]
    Contexts(ContextsAction),
    /// Add, list, check or remove models that run in this process
    Models(ModelsCommand),
    /// Have a context written for a passage of any text
    Generate(Generate),
    /// Find what is wrong, and what to do; fit to be shown to others
    Doctor(Doctor),
    /// Give back the disk space of what is gone (while no daemon runs)
    Compact(OnlyVault),
    /// Show, check or locate the configuration
    #[command(subcommand)]
    Config(ConfigAction),
    /// Call a method of the socket
    Call(Call),
    /// Have the daemon start at login; see how it stands, and its log
    #[command(subcommand)]
    Service(ServiceAction),
    /// Serve an AI assistant over MCP, or connect one
    Mcp(Mcp),
    /// Install a plugin for your editor, list or remove them
    #[command(subcommand)]
    Editor(EditorAction),
    /// Stop the daemon
    Stop,
    /// Print the protocol as JSON Schema
    Schema,
    /// Print the path of the socket
    Socket,
    /// Pause all work, saves too; queries are still answered
    Pause(Pause),
    /// Let work go on after a pause
    Resume,
    /// Follow what the daemon decides
    Tail(Tail),
    /// Print a script by which a shell completes commands and names
    Completions(Completions),
    /// Print the manual, or write all of its pages
    Man(Manual),
}

/// `init`
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The vault; if absent those that are found here and in your home folder are asked about
    #[arg(value_hint = ValueHint::DirPath)]
    pub vault: Option<PathBuf>,
    /// Ask nothing: the vault that is found upwards from here
    #[arg(long, short)]
    pub yes: bool,
}

/// `run`
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Vaults, without any configuration; those of the configuration if absent
    #[arg(value_name = "VAULT", value_hint = ValueHint::DirPath)]
    pub vaults: Vec<PathBuf>,
    /// Keep the log in this file too, and one more of before
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub log_file: Option<PathBuf>,
}

/// `try`
#[derive(Debug, Args)]
pub(crate) struct Try {
    /// Leave the temporary folder in place and say where it is
    #[arg(long)]
    pub keep: bool,
    /// Do not wait for Enter after each step
    #[arg(long)]
    pub no_pause: bool,
}

/// `get`
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// A note: its path in the vault or on the disk, title, alias or link; a line after it is the first one
    #[arg(value_hint = ValueHint::FilePath, value_name = "NOTE[:LINE[-LINE]]")]
    pub note: PathBuf,
    /// The vault, if the path is one in a vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// First line
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..))]
    pub line: Option<u32>,
    /// Lines at most
    #[arg(long, short = 'n')]
    pub lines: Option<u32>,
}

/// `plan`
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Which note
    #[command(flatten)]
    pub note: NoteName,
    /// Decide about the text on standard input in place of what is on disk
    #[arg(long)]
    pub stdin: bool,
}

/// A note as users name it: `explain`, and part of `plan`
#[derive(Debug, Args)]
pub(crate) struct NoteName {
    /// A note: its path in the vault, or on the disk
    #[arg(value_hint = ValueHint::FilePath)]
    pub note: PathBuf,
    /// The vault, if the path is one in a vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
}

/// `status`
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Which vault
    #[command(flatten)]
    pub vault: OnlyVault,
    /// Write it as one page for a browser, with what `doctor` finds; `-` prints that
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "json")]
    pub html: Option<PathBuf>,
}

/// At most one vault: `stats`, `compact`, and part of `status` and `graph`
#[derive(Debug, Args)]
pub(crate) struct OnlyVault {
    /// Only this vault
    vault: Option<String>,
    /// The same, as it is written where something else stands in the vault's place: `search --vault NAME`
    #[arg(long = "vault", value_name = "NAME", hide = true, conflicts_with = "vault")]
    named_vault: Option<String>,
}

impl OnlyVault {
    /// The vault's name, if one is given.
    pub(crate) fn name(&self) -> Option<String> {
        self.vault.clone().or_else(|| self.named_vault.clone())
    }
}

/// `sync`
#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// A vault by name, or by a folder or note in it; all vaults if absent
    #[arg(value_hint = ValueHint::AnyPath)]
    pub what: Option<PathBuf>,
    /// The vault, if what is named is in a vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// Also have a model's stale and failed contexts made anew, of notes that changed in this time: 24h, 7d, all
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<u64>,
    /// Wait until it is done, with progress
    #[arg(long, short)]
    pub wait: bool,
    /// Take notes that seem gone for gone: settles the doubt that `status` tells of
    #[arg(long)]
    pub accept_deletes: bool,
}

/// Seconds; 0 stands for all notes.
fn since(text: &str) -> Result<u64, String> {
    if text == "all" {
        return Ok(0);
    }
    typed_duration(text).map(|time| time.as_secs().max(1)).map_err(|why| format!("{why}, or `all`"))
}

/// `rebuild`
#[derive(Debug, Args)]
pub(crate) struct Rebuild {
    /// A vault by name, a folder or a note; everything if absent
    #[arg(value_hint = ValueHint::AnyPath)]
    pub what: Option<PathBuf>,
    /// The vault, if what is named is in a vault
    #[arg(long, value_name = "NAME")]
    pub vault: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Only say what would be done
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Have the provider write contexts in batches: half the price, but it may take a day
    #[arg(long)]
    pub batch: bool,
}

/// `jobs`
#[derive(Debug, Args)]
pub(crate) struct Jobs {
    /// Cancel this job
    #[arg(long, value_name = "JOB")]
    pub cancel: Option<u64>,
}

/// `pause`
#[derive(Debug, Args)]
pub(crate) struct Pause {
    /// For so long: 90s, 30m, 2h, or so many seconds; until `resume` if absent
    #[arg(value_name = "TIME", value_parser = seconds)]
    pub seconds: Option<u64>,
}

/// Seconds, with a unit or without one.
fn seconds(text: &str) -> Result<u64, String> {
    text.parse().or_else(|_| typed_duration(text).map(|time| time.as_secs()))
}

/// `doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Only ask the configured model one tiny question, within the day's budget; no daemon is needed
    #[arg(long)]
    pub provider: bool,
    /// Name folders, notes, user and host in full: not fit to be shown to others
    #[arg(long, conflicts_with = "provider")]
    pub full: bool,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print what is in force
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Tell everything that is wrong
    Check,
    /// Print where the file is
    Path,
    /// Have the daemon read it again; one that is wrong changes nothing
    Reload,
}

/// `call`
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The method: see `situated schema`
    pub method: String,
    /// Its parameters as a JSON object, or `-` for standard input
    pub params: Option<String>,
}

#[cfg(test)]
mod tests;
