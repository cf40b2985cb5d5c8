//! The text of files that are not text: another program converts it, and it is kept until the file changes.
//!
//! The texts are kept beside the index, one file per document, named after the document's `stat`: so a document that is
//! moved keeps its text. If they are lost, they are made again.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use note::format::Reading;
use note::{FileStat, Format, VaultPath};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::read::{ReadError, file_stat, open_regular, read};

/// Larger documents are not read, in bytes.
pub const MOST_BYTES: u64 = 128 << 20;

/// The version of how texts are converted and kept; a new number has all of them made again.
const VERSION: u32 = 6;

/// Converts documents to Markdown, or to pages of plain text.
pub trait Convert: Send + Sync {
    /// The text of a document, at most `most` bytes of it, and a remark on it. A document that cannot be read has no
    /// text, and the remark says why.
    ///
    /// # Errors
    /// No converter could be asked; it may work later.
    fn convert(&self, format: Format, file: File, most: u64) -> io::Result<(Vec<u8>, Option<String>)>;
}

/// A file of a vault as it is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// Its text, in any encoding: as it is on disk, or what it was converted to.
    pub bytes: Vec<u8>,
    /// The state of the file.
    pub stat: FileStat,
    /// A remark on a converted text.
    pub remark: Option<String>,
}

/// Where texts of a vault, given by its root, are kept.
type FolderOf = Box<dyn Fn(&Path) -> PathBuf + Send + Sync>;

/// Reads the files of vaults.
pub struct Documents {
    folder_of: FolderOf,
    convert: Option<Arc<dyn Convert>>,
    /// One conversion at a time: each may take a processor and a gigabyte.
    turn: Mutex<()>,
}

/// The first line of a kept text.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    format: String,
    /// Bytes that the text might have at most.
    most: u64,
    /// Changes when the file is moved or written to; then the hash decides.
    ctime_ns: i64,
    hash: [u8; 32],
    remark: Option<String>,
}

impl Documents {
    /// Keeps the texts of each vault in the folder that `folder_of` says. Without a converter documents have no text.
    pub fn new(folder_of: FolderOf, convert: Option<Arc<dyn Convert>>) -> Self {
        Documents { folder_of, convert, turn: Mutex::new(()) }
    }

    /// A file of the vault at `root` as it is searched: a note of at most `max_bytes`, or at most as much text of a
    /// document.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self, root: &Path, path: &VaultPath, max_bytes: u64) -> Result<FileText, ReadError> {
        let format = path.format();
        if format.reading() != Reading::Converted {
            let (bytes, stat) = read(root, path, max_bytes)?;
            return Ok(FileText { bytes, stat, remark: None });
        }
        let (file, stat) = open_regular(root, path)?;
        if stat.size > MOST_BYTES {
            return Err(ReadError::TooLarge(stat.size));
        }
        let place = (self.folder_of)(root).join(name(&stat));
        if let Some(text) = kept(&place, (format, max_bytes), &file, stat) {
            return Ok(text);
        }
        let Some(convert) = &self.convert else {
            return Ok(FileText { bytes: Vec::new(), stat, remark: Some("nothing here can convert it".to_owned()) });
        };
        // Before its turn: a file system that hangs must not keep the documents of other vaults waiting.
        let hash = hash(&file)?;
        let turn = self.turn.lock();
        // Another thread may have converted it meanwhile.
        if let Some(text) = kept(&place, (format, max_bytes), &file, stat) {
            return Ok(text);
        }
        let (bytes, remark) = convert.convert(format, file.try_clone()?, max_bytes)?;
        drop(turn);
        let after = file_stat(&file.metadata()?);
        if after != stat {
            return Err(ReadError::ChangedWhileRead);
        }
        let format = format.name().to_owned();
        let head = Kept { version: VERSION, format, most: max_bytes, ctime_ns: stat.ctime_ns, hash, remark };
        if let Err(error) = keep(&place, &head, &bytes) {
            // It is converted again when it is needed.
            tracing::debug!(place = %place.display(), %error, "the text of a document cannot be kept");
        }
        Ok(FileText { bytes, stat, remark: head.remark })
    }

    /// Has a document that was not read whole be converted again when it is read: the cause may have passed.
    pub fn forget(&self, root: &Path, path: &VaultPath) {
        if path.format().reading() != Reading::Converted {
            return;
        }
        let Ok((_, stat)) = open_regular(root, path) else { return };
        let place = (self.folder_of)(root).join(name(&stat));
        let text = fs::read(&place).unwrap_or_default();
        if head(&text).is_some_and(|(head, _)| head.remark.is_some()) {
            // If it cannot be removed, it is what it was.
            let _ = fs::remove_file(place);
        }
    }

    /// Removes the kept texts that belong to none of `files`, the files of the vault at `root`.
    pub fn sweep<'a>(&self, root: &Path, files: impl Iterator<Item = (&'a VaultPath, &'a FileStat)>) {
        // Most vaults have no documents, and so no folder.
        let Ok(entries) = fs::read_dir((self.folder_of)(root)) else { return };
        let documents = files.filter(|(path, _)| Format::is_converted(path.as_str()));
        let wanted: HashSet<String> = documents.map(|(_, stat)| name(stat)).collect();
        for entry in entries.flatten() {
            if !entry.file_name().to_str().is_some_and(|name| wanted.contains(name)) {
                // A text that cannot be removed now does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn name(stat: &FileStat) -> String {
    format!("{:x}-{:x}-{:x}-{:x}", stat.dev, stat.ino, stat.size, stat.mtime_ns)
}

/// The hash of a file's bytes. Reads from the file's beginning, and leaves it there.
fn hash(mut file: &File) -> Result<[u8; 32], ReadError> {
    file.rewind()?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.take(MOST_BYTES + 1))?;
    file.rewind()?;
    Ok(*hasher.finalize().as_bytes())
}

/// The kept text of a file, if it belongs to the file as it is now, read in this format and cut to `most` bytes.
fn kept(place: &Path, (format, most): (Format, u64), file: &File, stat: FileStat) -> Option<FileText> {
    let bytes = fs::read(place).ok()?;
    let (head, text) = head(&bytes)?;
    let is_of_it = head.version == VERSION && head.format == format.name() && head.most == most;
    let is_same = head.ctime_ns == stat.ctime_ns || hash(file).is_ok_and(|hash| hash == head.hash);
    (is_of_it && is_same).then(|| FileText { bytes: text.to_vec(), stat, remark: head.remark })
}

/// The first line of a kept text, and the text.
fn head(kept: &[u8]) -> Option<(Kept, &[u8])> {
    let end = kept.iter().position(|b| *b == b'\n')?;
    Some((serde_json::from_slice(&kept[..end]).ok()?, &kept[end + 1..]))
}

/// Puts a text in its place, whole or not at all.
fn keep(place: &Path, head: &Kept, bytes: &[u8]) -> io::Result<()> {
    let folder = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let part = place.with_extension("part");
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(&serde_json::to_vec(head)?)?;
        file.write_all(b"\n")?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&part, place)
    };
    write().inspect_err(|_| drop(fs::remove_file(&part)))
}

#[cfg(test)]
mod tests;
