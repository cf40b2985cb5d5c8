//! The lines of a status screen, independent of where they are shown: on a terminal, or on a page.

use crate::cli::doctor::Level;
use crate::cli::print::{Out, bold, dim, yellow};

/// Columns of a line's name.
const COLUMN: usize = 10;

/// One line; `name` is what it is about, empty if it is the same as above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// An empty line: what follows is about something else.
    Gap,
    Plain {
        name: &'static str,
        value: String,
    },
    /// Something to look at.
    Warning {
        name: &'static str,
        value: String,
    },
    /// Something less important.
    Soft {
        name: &'static str,
        value: String,
    },
    Vault {
        name: String,
        path: String,
    },
}

/// The lines, from top to bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    /// How the daemon is, at a glance.
    pub(super) light: Level,
    /// The first line, in a few words.
    pub(super) health: String,
    pub(super) lines: Vec<Row>,
}

impl Rows {
    /// None below the first.
    pub(super) fn new(light: Level, health: impl Into<String>) -> Self {
        Rows { light, health: health.into(), lines: Vec::new() }
    }

    pub(super) fn gap(&mut self) {
        self.lines.push(Row::Gap);
    }

    pub(super) fn add(&mut self, name: &'static str, value: &str) {
        self.lines.push(Row::Plain { name, value: value.to_owned() });
    }

    pub(super) fn warn(&mut self, name: &'static str, value: &str) {
        self.lines.push(Row::Warning { name, value: value.to_owned() });
    }

    pub(super) fn soft(&mut self, name: &'static str, value: &str) {
        self.lines.push(Row::Soft { name, value: value.to_owned() });
    }

    pub(super) fn vault(&mut self, name: &str, path: &str) {
        self.lines.push(Row::Vault { name: name.to_owned(), path: path.to_owned() });
    }

    /// Shows them on a terminal.
    pub(super) fn print(&self, out: &mut Out) -> std::io::Result<()> {
        out.line(format!("{} {}", (self.light.sign().paint)("●"), bold(&self.health)))?;
        self.lines.iter().try_for_each(|row| match row {
            Row::Gap => out.line(""),
            Row::Plain { name, value } => out.row("  ", name, COLUMN, value),
            Row::Warning { name, value } => out.row("  ", name, COLUMN, &yellow(value)),
            Row::Soft { name, value } => out.row("  ", name, COLUMN, &dim(value)),
            Row::Vault { name, path } => out.row("  ", "vault", COLUMN, &format!("{}  {}", bold(name), dim(path))),
        })
    }
}
