//! Formats that are archives of XML: what is read of them is bounded, whatever they unpack to.

use std::io::{Cursor, Read as _};

use percent_encoding::percent_decode_str;
use roxmltree::{Document, ParsingOptions};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::Unreadable;

/// Most bytes that an archive's parts may unpack to, per byte of wanted text: markup is longer than text.
const MARKUP: usize = 8;

/// Nodes of an XML document at most.
const NODES: u32 = 4_000_000;

/// An archive of a format.
pub(super) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    format: &'static str,
    /// Bytes that may still be unpacked.
    left: u64,
}

impl<'a> Package<'a> {
    /// Opens an archive, for a text of at most `most` bytes.
    pub(super) fn open(bytes: &'a [u8], format: &'static str, most: usize) -> Result<Self, Unreadable> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| failed(format, "the archive", &error))?;
        Ok(Package { archive, format, left: (most.saturating_mul(MARKUP)) as u64 })
    }

    /// A part by its name; `None` if it is not there.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let part = match self.archive.by_name(name) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(failed(self.format, name, &error)),
        };
        let mut bytes = Vec::new();
        let read = part.take(self.left.saturating_add(1)).read_to_end(&mut bytes);
        let broken = |why: String| Unreadable::Broken { format: self.format, why };
        read.map_err(|error| broken(format!("`{name}`: {error}")))?;
        self.left =
            self.left.checked_sub(bytes.len() as u64).ok_or_else(|| broken(format!("`{name}` unpacks to too much")))?;
        Ok(Some(bytes))
    }

    /// Reads a part of XML that the format does not need; `None` if it is not there, or cannot be read.
    pub(super) fn with_xml<T>(&mut self, name: &str, read: impl FnOnce(&Document<'_>) -> T) -> Option<T> {
        let text = super::html::decoded(&self.part(name).ok()??);
        self.xml(name, &text).ok().map(|document| read(&document))
    }

    /// A part that has to be there, as text.
    pub(super) fn text(&mut self, name: &str) -> Result<String, Unreadable> {
        let format = self.format;
        let missing = || Unreadable::Broken { format, why: format!("it has no `{name}`") };
        let bytes = self.part(name)?;
        bytes.map(|bytes| super::html::decoded(&bytes)).ok_or_else(missing)
    }

    /// Reads XML. External entities of its document type are not resolved.
    pub(super) fn xml<'t>(&self, name: &str, text: &'t str) -> Result<Document<'t>, Unreadable> {
        let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES, ..ParsingOptions::default() };
        let broken =
            |error: roxmltree::Error| Unreadable::Broken { format: self.format, why: format!("`{name}`: {error}") };
        Document::parse_with_options(text, options).map_err(broken)
    }
}

/// The name in the archive of what a part in `folder` refers to by `href`.
pub(super) fn within(folder: &str, href: &str) -> String {
    let path = href.split(['#', '?']).next().unwrap_or_default();
    let path = percent_decode_str(path).decode_utf8_lossy();
    let folder = if path.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn failed(format: &'static str, what: &str, error: &ZipError) -> Unreadable {
    match error {
        ZipError::UnsupportedArchive(why) if *why == ZipError::PASSWORD_REQUIRED => Unreadable::Encrypted,
        error => Unreadable::Broken { format, why: format!("{what}: {error}") },
    }
}
