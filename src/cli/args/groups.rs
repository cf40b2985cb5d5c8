//! The list of commands in `--help`, in groups: what a newcomer needs first.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Headings, and the commands below each.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["init", "try", "run", "stop", "service", "vault", "config"]),
    ("Find", &["search", "live", "grep", "ask", "related", "get", "graph"]),
    ("See how it does", &["status", "doctor", "tail", "plan", "explain", "jobs", "eval"]),
    ("Have it work", &["sync", "rebuild", "pause", "resume", "compact"]),
    ("Contexts and models", &["contexts", "generations", "generate", "models", "cost", "stats"]),
    ("Other programs", &["team", "mcp", "editor", "call", "schema", "socket", "completions", "man"]),
];

/// Columns of a command's name.
const NAME: usize = 13;

/// The definition, with the commands in groups.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let groups = listed(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{{options}}{{after-help}}"
    ))
}

fn listed(command: &Command) -> String {
    let mut out = String::new();
    for (heading, names) in GROUPS {
        let _ = write!(out, "\n{heading}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let _ = writeln!(out, "  {name:<NAME$}{}", about.map(ToString::to_string).unwrap_or_default());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group_and_its_line_is_short() {
        let command = Cli::command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
        for line in listed(&command).lines() {
            assert!(line.len() <= 80 && !line.contains('{'), "{line}");
        }
        let help = super::command().render_help().to_string();
        assert!(help.contains("\nFind:\n  search ") && help.contains("--config"), "{help}");
    }
}
