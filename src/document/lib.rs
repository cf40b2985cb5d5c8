//! Converts documents that are not Markdown to Markdown. Pure: bytes in, text out; nothing is opened and nothing is
//! fetched.
//!
//! Their formats are large and their readers are not ours, so a daemon runs this in a child process that may do nothing
//! but read one file and write text, with bounded memory and time. This crate bounds what a child could fill a disk
//! with: the text.

mod canvas;
mod docx;
mod epub;
mod html;
mod package;
mod pdf;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use note::Format;
use thiserror::Error;

/// Why a document has no text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// It is not what its name says, or broken.
    #[error("it is no {format} that can be read: {why}")]
    Broken {
        /// What it should be.
        format: &'static str,
        /// What is wrong, without text of the document.
        why: String,
    },
    /// It needs a password.
    #[error("it is encrypted")]
    Encrypted,
    /// There is nothing to convert in this format.
    #[error("this format is not converted")]
    NotConverted,
    /// The text could not be passed on.
    #[error("its text cannot be written: {0}")]
    Unwritten(String),
}

/// A remark on a text, if something of the document is not in it.
pub type Remark = Option<String>;

/// Writes the text of a document: Markdown in UTF-8, for a PDF each page on a line of its own. At most `most` bytes of it.
///
/// # Errors
/// The document cannot be read, or `out` not written to.
pub fn convert(format: Format, bytes: &[u8], most: usize, out: &mut dyn Write) -> Result<Remark, Unreadable> {
    let mut out = Bounded { out, left: most, is_cut: false };
    let remark = match format {
        Format::Canvas => out.text(&canvas::markdown(bytes)?)?,
        Format::Html => html::write(bytes, &mut out)?,
        Format::Docx => out.text(&docx::markdown(bytes, most)?)?,
        Format::Epub => epub::write(bytes, most, &mut out)?,
        Format::Pdf => pdf::write(bytes, &mut out)?,
        Format::Markdown | Format::Text | Format::Org | Format::Rst | Format::Base | Format::Attachment => {
            return Err(Unreadable::NotConverted);
        }
    };
    Ok(if out.is_cut { Some(format!("only the first {most} bytes of its text are searched")) } else { remark })
}

/// Passes on text up to a length.
struct Bounded<'a> {
    out: &'a mut dyn Write,
    /// Bytes that may still be written.
    left: usize,
    is_cut: bool,
}

impl Bounded<'_> {
    /// Passes on as much as there is room for, without hyphens that are shown only where a line ends: they part words.
    fn text(&mut self, text: &str) -> Result<Remark, Unreadable> {
        let text = text.replace('\u{ad}', "");
        let end = text.floor_char_boundary(self.left);
        self.is_cut |= end < text.len();
        self.left -= end;
        // After a cut nothing more is written, even if it would fit.
        if self.is_cut {
            self.left = 0;
        }
        let failed = |error: io::Error| Unreadable::Unwritten(error.to_string());
        self.out.write_all(&text.as_bytes()[..end]).map_err(failed)?;
        Ok(None)
    }
}

/// A table, the first row as its head. Cells beyond those of the head would not count as cells.
fn table_of(mut rows: Vec<Vec<String>>) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    if let Some(head) = rows.first_mut() {
        head.resize(columns, String::new());
    }
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().map(|cell| cell.trim().replace(['\n', '|'], " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.insert(lines.len().min(1), format!("|{}\n", "---|".repeat(columns)));
    lines.concat()
}

/// Front matter with a title and an author, for formats that have them.
fn front_matter(title: Option<&str>, author: Option<&str>) -> String {
    let line = |name: &str, value: Option<&str>| {
        let value = value.map(str::trim).filter(|value| !value.is_empty())?;
        // A JSON string is also a YAML string.
        Some(format!("{name}: {}\n", serde_json::Value::from(value)))
    };
    let lines: String = [line("title", title), line("author", author)].into_iter().flatten().collect();
    if lines.is_empty() { lines } else { format!("---\n{lines}---\n\n") }
}
