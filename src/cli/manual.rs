//! `situated man` and `situated completions`: what a package installs, made from the definition of the arguments, so
//! that neither can be out of date.

use std::fs::File;
use std::io::{self, Write as _};
use std::process::Stdio;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::args::{Cli, Completions, Manual};
use super::complete;
use super::exit;
use super::print::shown;
use super::session::{CliFailure, Session};
use protocol::folders::{SHOWN_CONFIG_FILE, SHOWN_DATA, SHOWN_SOCKET};

/// `situated man`.
pub(super) fn man(args: &Manual, session: &mut Session) -> Result<u8, CliFailure> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        render(&command(), true, &mut page)?;
        if !(session.out.is_terminal() && is_paged(&page)) {
            session.out.text(&String::from_utf8_lossy(&page))?;
        }
        return Ok(exit::OK);
    };
    std::fs::create_dir_all(folder).map_err(CliFailure::of_file(exit::CANNOT_CREATE, folder))?;
    let mut pages = Vec::new();
    collect(&command(), &mut pages);
    for (i, page) in pages.iter().enumerate() {
        let path = folder.join(Man::new(page.clone()).get_filename());
        let write = || {
            let mut text = Vec::new();
            render(page, i == 0, &mut text)?;
            File::create(&path)?.write_all(&text)
        };
        write().map_err(CliFailure::of_file(exit::CANNOT_CREATE, &path))?;
    }
    session.say(format!("wrote {} pages to {}", pages.len(), shown(folder)));
    Ok(exit::OK)
}

/// Has `man` show the page, with the user's pager; `false` if there is no such program.
fn is_paged(page: &[u8]) -> bool {
    let Ok(mut man) = std::process::Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    // This fails if the reader quits before the end, which is no error.
    let _ = man.stdin.take().map(|mut stdin| stdin.write_all(page));
    man.wait().is_ok_and(|status| status.success())
}

/// The whole definition, with options of every command in their places.
fn command() -> Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

/// A command and all below it.
fn collect(command: &Command, pages: &mut Vec<Command>) {
    pages.push(command.clone());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages);
    }
}

fn render(command: &Command, main: bool, out: &mut Vec<u8>) -> io::Result<()> {
    let version = concat!("situated ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).manual("situated").source(version);
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(out)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    if let Some(notes) = command.get_after_help() {
        // Laid out by hand in columns, as it is on the terminal.
        let mut page = Roff::default();
        page.control("SH", ["NOTES"]);
        page.control("nf", []);
        for line in notes.to_string().lines() {
            page.text([roman(line)]);
        }
        page.control("fi", []);
        page.to_writer(out)?;
    }
    if main {
        further().to_writer(out)?;
    } else {
        let mut see = Roff::default();
        see.control("SH", ["SEE ALSO"]);
        see.text([bold("situated"), roman("(1)")]);
        see.to_writer(out)?;
    }
    Ok(())
}

/// Exit status, files and environment, which hold for all commands.
fn further() -> Roff {
    let mut page = Roff::default();
    let sections: [(&str, &[(&str, &str)]); 3] =
        [("EXIT STATUS", EXIT_STATUS), ("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)];
    for (title, entries) in sections {
        page.control("SH", [title]);
        for (name, what) in entries {
            page.control("TP", []);
            page.text([bold(*name)]);
            page.text([roman(*what)]);
        }
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman("Each command has a page of its own, such as "), bold("situated-search"), roman("(1).")]);
    page
}

const EXIT_STATUS: &[(&str, &str)] = &[
    ("0", "Done, or found."),
    ("1", "Nothing found, or problems reported."),
    ("2", "The command line is wrong."),
    ("3", "status, service status: no daemon runs."),
    (
        "75",
        "Not now: another instance is at work (run, contexts export and import, compact), or another rebuild; work is \
         paused (sync --wait, rebuild); the daemon stopped before the job ended; the day's budget is used up (doctor \
         --provider).",
    ),
    (
        "78",
        "The configuration is wrong, or names nothing that could do it, as no model (ask); what `run` was given is no vault.",
    ),
    ("64, 75, 78", "After these codes a supervisor does not start the daemon again."),
    ("69", "No daemon answers, or a provider does not."),
    ("70", "A fault of the program."),
    ("73", "A file cannot be created."),
    ("74", "Input or output failed."),
    ("77", "Not allowed."),
    ("124", "No answer in time."),
    ("130, 143", "Ended by Ctrl-C; by SIGTERM."),
];

const FILES: &[(&str, &str)] = &[
    (SHOWN_CONFIG_FILE, "The configuration; `situated init` writes one in which every key is explained."),
    (SHOWN_DATA, "Indexes, one folder per vault, and the ledger of what models cost. Never inside a vault."),
    (SHOWN_SOCKET, "The socket; `situated socket` prints where it is."),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    ("SITUATED_CONFIG", "The configuration file."),
    ("SITUATED_DATA_DIR", "The folder of the indexes."),
    ("SITUATED_SOCKET", "The socket."),
    (
        "SITUATED_SECTION_KEY",
        "Any key of the configuration, such as SITUATED_SEARCH_LIMIT; stronger than the file, weaker than options. What the \
         daemon does, as searching, goes by the environment in which the daemon was started.",
    ),
    ("VISUAL, EDITOR", "What opens a note."),
    ("XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_RUNTIME_DIR", "Where the files above are, but on a Mac."),
    ("NO_COLOR, CLICOLOR_FORCE, TERM", "Whether there are colours."),
    ("COLUMNS", "How wide help is laid out."),
    ("RUST_LOG", "What is logged, more finely than by -v."),
];

/// `situated completions`.
pub(super) fn completions(args: &Completions, session: &mut Session) -> Result<u8, CliFailure> {
    let shell = args.shell.or_else(Shell::from_env).ok_or_else(|| {
        CliFailure::usage("which shell? `situated completions bash`, or zsh, fish, elvish, powershell")
    })?;
    session.out.text(&complete::registration(shell)?)?;
    Ok(exit::OK)
}

#[cfg(test)]
mod tests;
