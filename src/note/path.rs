//! A file's place in its vault, and what `stat` says of it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dates;
use crate::format::Format;
use crate::links::percent_decoded;

/// A file's place in its vault: relative, `/`-separated, never empty, without `.` and `..`.
///
/// File names are bytes and need not be UTF-8. Each byte that is not part of valid UTF-8 is held as the
/// private-use character U+F700 + byte (and so is each byte of a real U+F780..=U+F7FF), which makes the
/// mapping to and from the file system lossless while everything else treats paths as text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VaultPath(Arc<str>);

impl VaultPath {
    /// From a path relative to the vault's root; `None` if it is empty, absolute or has `..` in it.
    pub fn from_relative(path: &Path) -> Option<Self> {
        use std::path::Component;
        let mut text = String::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => {
                    if !text.is_empty() {
                        text.push('/');
                    }
                    push_name(&mut text, name);
                }
                Component::CurDir => {}
                _ => return None,
            }
        }
        (!text.is_empty()).then(|| VaultPath(text.into()))
    }

    /// The entry `name` of the folder `parent`, or of the root for `None`.
    pub fn child(parent: Option<&VaultPath>, name: &OsStr) -> Self {
        let mut text = String::with_capacity(parent.map_or(0, |p| p.0.len() + 1) + name.len());
        if let Some(parent) = parent {
            text.push_str(&parent.0);
            text.push('/');
        }
        push_name(&mut text, name);
        VaultPath(text.into())
    }

    /// The folders above, outermost first; the root is not among them.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(slash, _)| &self.0[..slash])
    }

    /// From its text form, as users and clients write it; `None` as for [`VaultPath::from_relative`].
    pub fn parse(text: &str) -> Option<Self> {
        // By bytes, for a start does this for each note.
        let normal = text.as_bytes().split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."));
        // On Windows, `\` separates names, and `:` belongs to a drive or a stream.
        let foreign = cfg!(windows) && text.contains(['\\', ':']);
        (normal && !foreign && !text.contains('\0')).then(|| VaultPath(text.into()))
    }

    /// All paths below the folder `self`, as a range of ordered paths: those that begin with `self/` come before
    /// `self0`, since `0` is the byte after `/`.
    pub fn below(&self) -> std::ops::Range<VaultPath> {
        VaultPath(format!("{self}/").into())..VaultPath(format!("{self}0").into())
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file-system form, relative to the vault's root.
    pub fn to_relative(&self) -> PathBuf {
        let mut bytes = Vec::with_capacity(self.0.len());
        for c in self.0.chars() {
            match u32::from(c) {
                escaped @ 0xF780..=0xF7FF => bytes.push((escaped - 0xF700) as u8),
                _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        PathBuf::from(os_string(bytes))
    }

    /// The format of the file; Markdown if its name does not tell.
    pub fn format(&self) -> Format {
        Format::of(&self.0).unwrap_or(Format::Markdown)
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The last component without its last extension (a leading dot does not count as one).
    pub fn stem(&self) -> &str {
        let name = self.file_name();
        match name.rfind('.') {
            Some(dot) if dot > 0 => &name[..dot],
            _ => name,
        }
    }

    /// The name of the page that Logseq keeps in this file, if it has to be written otherwise in a file's name:
    /// `projects___alpha` and `projects%2Falpha` stand for `projects/alpha`. Of the text in a bundle, that of the bundle.
    pub fn page(&self) -> Option<String> {
        let stem = self.stem();
        let bundle = self.folder().rsplit('/').next().and_then(|folder| folder.strip_suffix(".textbundle"));
        if let Some(bundle) = bundle.filter(|_| stem == "text") {
            return Some(bundle.to_owned());
        }
        let is_parted = stem.contains("___") && stem.split("___").all(|part| !part.is_empty());
        if !is_parted && !stem.contains('%') {
            return None;
        }
        let page = percent_decoded(&if is_parted { stem.replace("___", "/") } else { stem.to_owned() });
        (page != stem && !page.trim().is_empty() && !page.contains(char::is_control)).then_some(page)
    }

    /// The day of a page that Logseq keeps in a file called `2026_03_05` or `2026-03-05`.
    pub fn journal(&self) -> Option<jiff::civil::Date> {
        dates::of_journal(self.stem())
    }

    /// The title that Logseq gives to the page of a day unless it is set otherwise: `Mar 5th, 2026`.
    pub fn journal_title(&self) -> Option<String> {
        self.journal().map(|day| dates::in_logseq(day, dates::LOGSEQ))
    }

    /// The folder, `""` at the root.
    pub fn folder(&self) -> &str {
        self.0.rfind('/').map_or("", |slash| &self.0[..slash])
    }

    /// Whether this is `folder` itself or lies below it.
    pub fn is_under(&self, folder: &VaultPath) -> bool {
        self.0.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A name of the file system from its bytes.
#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes)
}

/// A name of the file system from its bytes. Windows names are UTF-16 and may hold half a surrogate pair, which is
/// three bytes here: its UTF-8 if halves were characters (WTF-8).
#[cfg(windows)]
fn os_string(bytes: Vec<u8>) -> OsString {
    use std::os::windows::ffi::OsStringExt;
    let mut wide: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        if let [0xED, high @ 0xA0..=0xBF, low @ 0x80..=0xBF, after @ ..] = rest {
            wide.push(0xD000 | u16::from(high & 0x3F) << 6 | u16::from(low & 0x3F));
            rest = after;
            continue;
        }
        match rest.utf8_chunks().next().map_or("", |chunk| chunk.valid()) {
            "" => {
                wide.push(0xFFFD);
                rest = &rest[1..];
            }
            valid => {
                wide.extend(valid.encode_utf16());
                rest = &rest[valid.len()..];
            }
        }
    }
    OsString::from_wide(&wide)
}

fn push_name(text: &mut String, name: &OsStr) {
    let escape = |text: &mut String, bytes: &[u8]| {
        text.extend(bytes.iter().filter_map(|&b| char::from_u32(0xF700 + u32::from(b))));
    };
    for part in name.as_encoded_bytes().utf8_chunks() {
        for c in part.valid().chars() {
            match u32::from(c) {
                0xF780..=0xF7FF => escape(text, c.encode_utf8(&mut [0; 4]).as_bytes()),
                _ => text.push(c),
            }
        }
        escape(text, part.invalid());
    }
}

impl fmt::Display for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VaultPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// What `stat` says of a file. Any *difference* means "look again"; no field is ever compared for "newer", since `cp
/// -p`, `git checkout` and restored backups bring older times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStat {
    /// Length in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970 (UTC).
    pub mtime_ns: i64,
    /// Change time of the inode, nanoseconds since 1970 (UTC).
    pub ctime_ns: i64,
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

impl FileStat {
    /// Which file it is, by device and inode; `None` where the system does not report them for a name, as on Windows.
    pub fn file(&self) -> Option<(u64, u64)> {
        (self.ino != 0).then_some((self.dev, self.ino))
    }
}

#[cfg(test)]
mod tests;
