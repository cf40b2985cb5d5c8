//! The command line: one file per command, and what they share. Everything here is a client of the socket,
//! but for `run`, which is the daemon, `contexts export`, `contexts import` and `compact`, which open a store
//! that no daemon holds, and `doctor`, which asks the provider itself.

mod args;
mod ask;
mod call;
mod config;
mod cost;
mod doctor;
mod edits;
mod eval;
mod expect;
mod generations;
mod graph;
mod init;
mod jobs;
mod mcp;
mod money;
mod note;
mod offline;
mod print;
mod rebuild;
mod review;
mod run;
mod sample;
mod search;
mod session;
mod signals;
mod stats;
mod status;
mod target;
mod tour;

use std::process::ExitCode;

use clap::Parser as _;

pub use args::Cli;
pub use print::{Color, Out};
pub use run::{Reporter, follow, report};
pub use session::{Failure, Session};

/// Exit codes beside those that an error brings along.
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
    /// A fault of the program.
    pub const INTERNAL: u8 = 70;
    /// A file cannot be created.
    pub const CANNOT_CREATE: u8 = 73;
    /// Input or output failed.
    pub const IO: u8 = 74;
    /// Another instance is at work.
    pub const TEMPORARY: u8 = 75;
    /// No answer in time.
    pub const TIMEOUT: u8 = 124;
    /// Ended by Ctrl-C.
    pub const INTERRUPTED: u8 = 130;
}

/// The program: arguments in, exit code out.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // `--help | head` must die as quietly as everything else.
            let code = u8::try_from(error.exit_code()).unwrap_or(exit::USAGE);
            return ExitCode::from(if error.print().is_ok() { code } else { exit::OK });
        }
    };
    logging(&cli);
    let json = cli.globals.json;
    match dispatch(cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => ExitCode::from(failure.tell(json)),
    }
}

fn dispatch(cli: Cli) -> Result<u8, Failure> {
    use args::Command;
    let mut session = Session::new(cli.globals);
    let session = &mut session;
    match cli.command {
        Command::Init(args) => init::run(args, session),
        Command::Run(args) => run::run(args, session),
        Command::Try(args) => tour::run(args, session),
        Command::Search(args) => search::search(args, session),
        Command::Ask(args) => ask::run(&args, session),
        Command::Related(args) => search::related(args, session),
        Command::Graph(args) => graph::run(&args, session),
        Command::Get(args) => note::get(args, session),
        Command::Eval(args) => eval::run(&args, session),
        Command::Plan(args) => note::plan(args, session),
        Command::Explain(args) => note::explain(args, session),
        Command::Status(args) => status::run(args, session),
        Command::Sync(args) => jobs::sync(args, session),
        Command::Rebuild(args) => rebuild::run(&args, session),
        Command::Jobs(args) => jobs::jobs(args, session),
        Command::Pause(args) => jobs::pause(args, session),
        Command::Resume => jobs::resume(session),
        Command::Generations(args) => generations::run(args, session),
        Command::Cost => cost::run(session),
        Command::Stats(args) => stats::run(args, session),
        Command::Contexts(args) => offline::contexts(args, session),
        Command::Generate(args) => review::generate(&args, session),
        Command::Doctor(args) => doctor::run(&args, session),
        Command::Compact(args) => offline::compact(args, session),
        Command::Config(args) => config::run(args, session),
        Command::Call(args) => call::call(args, session),
        Command::Mcp(args) => mcp::run(&args, session),
        Command::Stop => call::stop(session),
        Command::Schema => call::schema(session),
        Command::Socket => call::socket(session),
    }
}

/// Logs go to standard error: what a supervisor keeps, and what a person can leave out. The daemon tells
/// what it does, the other commands only what went wrong.
fn logging(cli: &Cli) {
    use std::io::IsTerminal as _;
    use tracing_subscriber::EnvFilter;
    let level = match (cli.globals.verbose, matches!(cli.command, args::Command::Run(_))) {
        // What a provider answers is the very thing that it tells.
        (0, false) if matches!(cli.command, args::Command::Doctor(_)) => "error",
        // What a tool could not do stands in its result.
        (0, false) if matches!(cli.command, args::Command::Mcp(_)) => "warn,rmcp=error",
        (0, false) => "warn",
        (0, true) => "situated=info,warn",
        (1, _) => "situated=debug,info",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A journal notes the time itself.
    let result = if std::env::var_os("JOURNAL_STREAM").is_some() {
        builder.with_ansi(false).without_time().try_init()
    } else {
        let plain = cli.globals.color == Color::Never || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        builder.with_ansi(!plain && std::io::stderr().is_terminal()).try_init()
    };
    // Somebody who uses the library may have set up logging already: theirs stands.
    drop(result);
}
