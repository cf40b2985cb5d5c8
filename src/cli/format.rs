//! `--format`: a line for each hit, as another program needs it.

use super::print::shown;
use super::session::{CliFailure, safe};
use super::target::Served;
use protocol::hit::Hit;

/// A line for each hit, such as `{path}:{line}`.
#[derive(Debug)]
pub(super) struct Format(Vec<Part>);

#[derive(Debug)]
enum Part {
    Text(String),
    Field(Field),
    /// Where the note is on the disk.
    File,
}

/// How a field of a hit is written.
type Field = fn(&Hit) -> String;

const FIELDS: &[(&str, Field)] = &[
    ("path", |hit| hit.path.clone()),
    ("line", |hit| hit.best_line().to_string()),
    ("first_line", |hit| hit.line.to_string()),
    ("end_line", |hit| hit.end_line.to_string()),
    ("vault", |hit| hit.vault.clone()),
    ("title", |hit| hit.title.clone()),
    ("heading", |hit| hit.heading_path.join(" › ")),
    ("score", |hit| format!("{:.4}", hit.score)),
    ("snippet", |hit| hit.snippet.clone()),
    ("context", |hit| hit.context.clone()),
    ("text", |hit| hit.text.clone()),
    ("chunk", |hit| hit.chunk.clone()),
    ("kind", |hit| hit.kind.clone().unwrap_or_default()),
    ("tags", |hit| hit.tags.join(" ")),
    ("date", |hit| hit.date.clone().unwrap_or_default()),
    ("created", |hit| hit.created.clone().unwrap_or_default()),
    ("modified", |hit| hit.modified.clone().unwrap_or_default()),
    ("mtime", |hit| hit.mtime.to_string()),
];

/// The field that a hit alone does not give: it needs the vault's folder.
const FILE: &str = "file";

impl Format {
    /// Parses a template; a wrong template is a usage error.
    pub(super) fn parse(template: &str) -> Result<Self, CliFailure> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '{' | '}' if rest.starts_with(c) => {
                    text.push(c);
                    rest = &rest[1..];
                }
                '{' => {
                    let Some((name, after)) = rest.split_once('}') else {
                        return Err(CliFailure::usage(format!(
                            "--format: `{{{rest}` has no closing brace; write `{{{{` for a brace"
                        )));
                    };
                    rest = after;
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    if name == FILE {
                        parts.push(Part::File);
                        continue;
                    }
                    let Some((_, field)) = FIELDS.iter().find(|(field, _)| *field == name) else {
                        let all: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).chain([FILE]).collect();
                        return Err(CliFailure::usage(format!(
                            "--format: there is no field `{name}`; there is {}",
                            all.join(", ")
                        )));
                    };
                    parts.push(Part::Field(*field));
                }
                '\\' => {
                    let escaped = rest.chars().next();
                    rest = &rest[escaped.map_or(0, char::len_utf8)..];
                    match escaped {
                        Some('t') => text.push('\t'),
                        Some('n') => text.push('\n'),
                        Some('\\') | None => text.push('\\'),
                        Some(other) => text.extend(['\\', other]),
                    }
                }
                c => text.push(c),
            }
        }
        parts.push(Part::Text(text));
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Format(parts))
    }

    /// Whether the folders of the vaults have to be known.
    pub(super) fn needs_folders(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::File))
    }

    /// The line of a hit.
    pub(super) fn fill(&self, hit: &Hit, served: &Served) -> String {
        let fill = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(field) => safe(&field(hit)),
            Part::File => served.place(hit).map_or_else(|| safe(&hit.path), |place| shown(&place.file)),
        };
        self.0.iter().map(fill).collect()
    }
}

#[cfg(test)]
mod tests;
