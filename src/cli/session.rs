//! One run of the program: options, output, the way to the daemon, and what failed.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::Globals;
use super::exit;
use super::print::{Out, printable, printable_json, printable_lines, said_width, wrap};
use crate::daemon::config::{Config, ConfigErrors, Loaded, Opener, Overrides, Whereabouts};
use protocol::client::{Client, ClientError, Discovery, Reply};
use protocol::table::Call;

/// Why a command ended early.
#[derive(Debug)]
pub(super) enum CliFailure {
    /// The reader of standard output has gone (`| head`): there is nothing to say.
    Quiet,
    /// Something to say, with the exit code.
    Said {
        /// The process's exit code.
        code: u8,
        /// What went wrong and what to do next.
        message: String,
    },
}

impl CliFailure {
    /// A failure with its code.
    pub(super) fn new(code: u8, message: impl Into<String>) -> Self {
        CliFailure::Said { code, message: message.into() }
    }

    /// What goes wrong with a file.
    pub(super) fn of_file(code: u8, file: &Path) -> impl Fn(io::Error) -> Self {
        move |error| CliFailure::new(code, format!("{}: {error}", file.display()))
    }

    /// The command line asks for something impossible.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        CliFailure::new(exit::USAGE, message)
    }

    /// The exit code.
    pub(super) fn code(&self) -> u8 {
        match self {
            CliFailure::Quiet => exit::OK,
            CliFailure::Said { code, .. } => *code,
        }
    }

    /// Tells a person on standard error, and a program that asked for JSON on standard output too.
    pub(super) fn tell(&self, json: bool) -> u8 {
        use io::Write as _;
        if let CliFailure::Said { code, message } = self {
            // If even standard error is gone, the failure cannot be reported.
            let _ =
                writeln!(io::stderr(), "{}", told(&format!("situated: {}", printable_lines(message)), said_width()));
            if json {
                let error = json!({ "schema": 1, "error": { "code": code, "message": message } });
                let _ = writeln!(io::stdout(), "{}", printable_json(&error.to_string()));
            }
        }
        self.code()
    }
}

impl From<io::Error> for CliFailure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            CliFailure::Quiet
        } else {
            CliFailure::new(exit::IO, error.to_string())
        }
    }
}

impl From<ClientError> for CliFailure {
    fn from(error: ClientError) -> Self {
        CliFailure::new(error.exit_code(), error.to_string())
    }
}

impl From<ConfigErrors> for CliFailure {
    fn from(errors: ConfigErrors) -> Self {
        let hint = "`situated config check` checks again";
        CliFailure::new(ConfigErrors::EXIT_CODE, format!("the configuration is wrong\n{errors}\n{hint}"))
    }
}

impl From<serde_json::Error> for CliFailure {
    fn from(error: serde_json::Error) -> Self {
        // The daemon writes answers from the types that we read them into, so only different versions lead here.
        let hint = "is the daemon of another version? `situated stop` and start it again";
        CliFailure::new(exit::INTERNAL, format!("the daemon's answer was not understood: {error}; {hint}"))
    }
}

/// What a failure to reach the daemon may come from: the file that says where it is may be wrong.
pub(super) fn explained(error: &ClientError, overrides: &Overrides) -> String {
    let mut message = error.to_string();
    if !matches!(error, ClientError::Remote(_)) {
        for problem in Config::whereabouts(overrides).problems {
            message.push_str(&format!("\nconfiguration: {problem}"));
        }
    }
    message
}

/// One run of the program.
pub(super) struct Session {
    /// Options of every command.
    pub(super) globals: Globals,
    /// Standard output.
    pub(super) out: Out,
}

impl Session {
    /// With these options.
    pub(super) fn new(globals: Globals) -> Self {
        let out = Out::stdout(globals.color);
        Session { globals, out }
    }

    /// What the command line says about the configuration.
    pub(super) fn overrides(&self) -> Overrides {
        self.globals.overrides()
    }

    /// The checked configuration.
    pub(super) fn config(&self) -> Result<Loaded, CliFailure> {
        Ok(Config::load(&self.overrides())?)
    }

    /// A connection to the daemon.
    pub(super) fn client(&self) -> Result<Client, CliFailure> {
        Client::connect(&self.discovery()).map_err(|error| self.unreached(&error))
    }

    /// A connection to the daemon; `None` if none runs. One that runs and cannot be reached is an error.
    pub(super) fn running(&self) -> Result<Option<Client>, CliFailure> {
        match Client::connect(&self.discovery()) {
            Err(ClientError::NotRunning(_)) => Ok(None),
            reached => reached.map(Some).map_err(|error| self.unreached(&error)),
        }
    }

    fn unreached(&self, error: &ClientError) -> CliFailure {
        CliFailure::new(error.exit_code(), explained(error, &self.overrides()))
    }

    /// A connection to the daemon that waits so long for an answer, or as long as it takes.
    pub(super) fn patient_client(&self, patience: Option<Duration>) -> Result<Client, CliFailure> {
        let mut client = self.client()?;
        client.set_timeout(patience);
        Ok(client)
    }

    /// The daemon's answer to a single call.
    pub(super) fn call<C: Call>(&self, call: &C) -> Result<C::Answer, CliFailure> {
        Ok(self.client()?.call(call)?)
    }

    /// Where the daemon is to be found.
    pub(super) fn discovery(&self) -> Discovery {
        let Whereabouts { socket, data_dir, is_named, .. } = Config::whereabouts(&self.overrides());
        Discovery { socket, data_dir, is_named }
    }

    /// What opens a note for a person.
    pub(super) fn opener(&self) -> Opener {
        Config::whereabouts(&self.overrides()).open
    }

    /// Prints something for a person, beside the result; not with `--quiet` or `--json`.
    pub(super) fn say(&self, text: impl AsRef<str>) {
        self.terms(text, false);
    }

    /// Prints what something takes. If a person `asks` for that, or is asked whether to go on, also with `--quiet` and
    /// `--json`: nobody agrees to what was not shown.
    pub(super) fn terms(&self, text: impl AsRef<str>, asks: bool) {
        use io::Write as _;
        if asks || !(self.globals.quiet || self.globals.json) {
            // This is no result, so a failure to print it does not fail the command.
            let _ = writeln!(anstream::stderr(), "{}", told(text.as_ref(), said_width()));
        }
    }

    /// The result as one JSON object: the members of `value` after `"schema": 1`.
    pub(super) fn json(&mut self, value: Value) -> Result<(), CliFailure> {
        Ok(self.out.json(&with_schema(value))?)
    }

    /// The daemon's answer, to be shown to a person. With `--json` it is printed as it came, and there is nothing left to
    /// show.
    pub(super) fn unless_json<C: Call>(&mut self, reply: Reply<C>) -> Result<Option<C::Answer>, CliFailure> {
        if self.globals.json {
            self.json(reply.into_json())?;
            return Ok(None);
        }
        Ok(Some(reply.read()?))
    }

    /// Prints the result: as an object, or for a person.
    pub(super) fn print(
        &mut self,
        json: Value,
        print: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), CliFailure> {
        if self.globals.json { self.json(json) } else { Ok(print(&mut self.out)?) }
    }

    /// Ends a command whose result is the daemon's answer, printed as it came or for a person.
    pub(super) fn show<C: Call>(
        &mut self,
        reply: Reply<C>,
        print: impl FnOnce(&C::Answer, &mut Out) -> io::Result<()>,
    ) -> Result<u8, CliFailure> {
        if let Some(answer) = self.unless_json(reply)? {
            print(&answer, &mut self.out)?;
        }
        Ok(exit::OK)
    }

    /// Prints each value as an object on a separate line.
    pub(super) fn jsonl(&mut self, values: &[impl Serialize]) -> Result<(), CliFailure> {
        for value in values {
            self.out.line(printable_json(&with_schema(json!(value)).to_string()))?;
        }
        Ok(())
    }

    /// Ends a command whose result is an object for a program, and a sentence beside the output for a person.
    pub(super) fn done(&mut self, json: Value, said: impl AsRef<str>) -> Result<u8, CliFailure> {
        if self.globals.json {
            self.json(json)?;
        }
        self.say(said);
        Ok(exit::OK)
    }

    /// Ends a command that does nothing, and says why.
    pub(super) fn nothing(&mut self, code: u8, why: impl AsRef<str>) -> Result<u8, CliFailure> {
        self.done(json!({ "done": false, "why": why.as_ref() }), &why).map(|_| code)
    }

    /// Ends a command whose result is a line on standard output.
    pub(super) fn result(&mut self, json: Value, line: impl AsRef<str>) -> Result<u8, CliFailure> {
        self.print(json, |out| out.line(line)).map(|()| exit::OK)
    }
}

/// The promised form: an object that carries the version of the promise.
pub(super) fn with_schema(value: Value) -> Value {
    let mut object = match value {
        Value::Object(object) => object,
        Value::Null => serde_json::Map::new(),
        other => serde_json::Map::from_iter([("result".to_owned(), other)]),
    };
    object.insert("schema".to_owned(), 1.into());
    Value::Object(object)
}

/// A message of the daemon as one safe line.
pub(super) fn safe(text: &str) -> String {
    printable(text).into_owned()
}

/// A text with its lines broken between words. Indented lines are commands and the like to be copied, and stay as they
/// are.
fn told(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut lines: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if line.starts_with(' ') {
            lines.push(line);
        } else {
            lines.extend(wrap(line, width).into_iter().map(|range| &line[range]));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
