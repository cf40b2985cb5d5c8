//! The command line: one file per command, and what they share. Everything here is a client of the socket, except
//! `run`, which is the daemon, `models`, which keeps models beside the indexes, `contexts export`, `contexts import`
//! and `compact`, which open a store that no daemon holds, and `doctor`, which asks the provider itself.

mod args;
mod ask;
mod call;
mod complete;
mod config;
mod confirm;
mod consent;
mod cost;
mod doctor;
mod editor;
mod eval;
mod expect;
mod format;
mod generations;
mod graph;
mod grep;
mod init;
mod input;
mod jobs;
mod logging;
#[cfg(feature = "tui")]
mod live;
#[cfg(not(feature = "tui"))]
#[path = "live/absent.rs"]
mod live;
mod manual;
mod mcp;
mod models;
mod money;
mod note;
mod offline;
mod open;
mod print;
mod rebuild;
mod replace;
mod review;
mod run;
mod sample;
mod search;
mod service;
mod session;
mod signals;
mod stats;
mod status;
mod tail;
mod target;
mod team;
mod toml_text;
mod tour;
mod vault;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use clap::error::ErrorKind;

use crate::daemon::sandbox::converter;

pub use args::Cli;
use session::{CliFailure, Session};

/// Exit codes besides those that an error carries.
pub mod exit {
    /// Done, or found.
    pub const OK: u8 = 0;
    /// Nothing found, or problems reported.
    pub const NOTHING: u8 = 1;
    /// The command line is wrong.
    pub const USAGE: u8 = 2;
    /// `status`: no daemon runs.
    pub const NOT_RUNNING: u8 = 3;
    /// No daemon answers.
    pub const UNREACHABLE: u8 = 69;
    /// A bug in the program.
    pub const INTERNAL: u8 = 70;
    /// A file cannot be created.
    pub const CANNOT_CREATE: u8 = 73;
    /// Input or output failed.
    pub const IO: u8 = 74;
    /// Another instance is at work.
    pub const TEMPORARY: u8 = 75;
    /// Not allowed.
    pub const FORBIDDEN: u8 = 77;
    /// No answer in time.
    pub const TIMEOUT: u8 = 124;
    /// Ended by Ctrl-C.
    pub const INTERRUPTED: u8 = 130;
    /// Ended by SIGTERM.
    pub const TERMINATED: u8 = 143;
}

/// The arguments, or what to say instead of doing anything.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let advised = |error| args::in_quotes(args::with_dashes(error, arguments), arguments);
    Cli::from_arg_matches(&args::command().try_get_matches_from(arguments).map_err(advised)?)
}

/// The same. Where a live search `is_possible`, the program's name without a command starts one; a command without the
/// one below it still says what there is.
fn parse_or_live(arguments: &[OsString], is_possible: bool) -> Result<Cli, clap::Error> {
    parse(arguments).or_else(|error| match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand if is_possible => {
            parse(&[arguments, &["live".into()]].concat()).or(Err(error))
        }
        _ => Err(error),
    })
}

/// The program: arguments in, exit code out.
pub fn main() -> ExitCode {
    if let Some(code) = converter::as_child().or_else(complete::answered) {
        return code;
    }
    // Help and what is wrong with the arguments are printed before anybody has read them.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    args::color(&arguments).apply();
    let is_possible = live::is_possible() && arguments.iter().all(|argument| argument != "--json");
    let cli = match parse_or_live(&arguments, is_possible) {
        Ok(cli) => cli,
        Err(error) => {
            // `--help | head` must die as quietly as everything else.
            let code = u8::try_from(error.exit_code()).unwrap_or(exit::USAGE);
            return ExitCode::from(if error.print().is_ok() { code } else { exit::OK });
        }
    };
    logging::begin(&cli);
    let json = cli.globals.json;
    let daemon = matches!(cli.command, args::Command::Run(_));
    match dispatch(cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if let CliFailure::Said { message, .. } = &failure {
                logging::last_words(message);
            }
            let code = failure.tell(json);
            ExitCode::from(if daemon && in_vain(code) { exit::OK } else { code })
        }
    }
}

/// Whether a restart by launchd would be in vain: launchd restarts the daemon after every code except 0. systemd knows
/// these codes from its unit.
fn in_vain(code: u8) -> bool {
    let wrong = [64, exit::TEMPORARY, crate::daemon::config::ConfigErrors::EXIT_CODE];
    wrong.contains(&code) && std::env::var_os("SITUATED_SUPERVISOR").is_some_and(|name| name == "launchd")
}

fn dispatch(cli: Cli) -> Result<u8, CliFailure> {
    use args::Command;
    let mut session = Session::new(cli.globals);
    let session = &mut session;
    match cli.command {
        Command::Init(args) => init::run(args, session),
        Command::Run(args) => run::run(args, session),
        Command::Try(args) => tour::run(args, session),
        Command::Search(args) => search::search(args, session),
        Command::Grep(args) => grep::run(args, session),
        Command::Live => live::run(session),
        Command::Ask(args) => ask::run(&args, session),
        Command::Related(args) => search::related(args, session),
        Command::Graph(args) => graph::run(&args, session),
        Command::Get(args) => note::get(args, session),
        Command::Eval(args) => eval::run(&args, session),
        Command::Plan(args) => note::plan(args, session),
        Command::Explain(args) => note::explain(&args, session),
        Command::Vault(action) => vault::run(action, session),
        Command::Status(args) => status::run(args, session),
        Command::Sync(args) => jobs::sync(args, session),
        Command::Rebuild(args) => rebuild::run(&args, session),
        Command::Jobs(args) => jobs::jobs(args, session),
        Command::Pause(args) => jobs::pause(args, session),
        Command::Resume => jobs::resume(session),
        Command::Tail(args) => tail::run(args, session),
        Command::Completions(args) => manual::completions(&args, session),
        Command::Man(args) => manual::man(&args, session),
        Command::Team(action) => team::run(action, session),
        Command::Generations(args) => generations::run(args, session),
        Command::Cost => cost::run(session),
        Command::Stats(args) => stats::run(&args, session),
        Command::Contexts(args) => offline::contexts(args, session),
        Command::Models(args) => models::run(args, session),
        Command::Generate(args) => review::generate(&args, session),
        Command::Doctor(args) => doctor::run(&args, session),
        Command::Compact(args) => offline::compact(&args, session),
        Command::Config(args) => config::run(args, session),
        Command::Call(args) => call::call(args, session),
        Command::Mcp(args) => mcp::run(&args, session),
        Command::Editor(action) => editor::run(action, session),
        Command::Stop => call::stop(session),
        Command::Service(args) => service::run(&args, session),
        Command::Schema => call::schema(session),
        Command::Socket => call::socket(session),
    }
}
