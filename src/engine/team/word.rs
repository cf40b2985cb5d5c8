//! The random word that distinguishes a keeper from others.

use std::io;
use std::path::Path;

use note::fingerprint::Fields;
use platform::files::FileId;

/// The file of the word, beside the indexes, with the place that it belongs to.
pub(super) const WORD: &str = "team-keeper";

/// Where a data folder is. What is unknown is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    /// Of its machine.
    machine: String,
    /// Of its path.
    path: String,
    inode: String,
}

impl Place {
    fn of(data_dir: &Path) -> Place {
        let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let path = data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned());
        let hashed = |text: &[u8]| hex(Fields::new("team-keeper-place/1").bytes(text));
        Place {
            machine: if machine.trim().is_empty() { String::new() } else { hashed(machine.as_bytes()) },
            path: hashed(path.as_os_str().as_encoded_bytes()),
            inode: FileId::at(data_dir).map(|id| id.inode.to_string()).unwrap_or_default(),
        }
    }

    /// Whether what was at `self` can be what is here: not on another machine, and either at the same path, as a backup
    /// that was restored, or the same folder, as one that was moved.
    fn may_be(&self, here: &Place) -> bool {
        let is_elsewhere = !self.machine.is_empty() && !here.machine.is_empty() && self.machine != here.machine;
        !is_elsewhere && (self.path == here.path || (!here.inode.is_empty() && self.inode == here.inode))
    }
}

/// The word of a data folder, if it has one.
pub(super) fn known(data_dir: &Path) -> Option<String> {
    read(data_dir).filter(|(_, place)| place.may_be(&Place::of(data_dir))).map(|(word, _)| word)
}

/// The word of a data folder: made once. A copy of the folder is another keeper and makes its own.
pub(super) fn word(data_dir: &Path) -> io::Result<String> {
    let here = Place::of(data_dir);
    let word = match read(data_dir) {
        Some((word, place)) if place == here => return Ok(word),
        Some((word, place)) if place.may_be(&here) => word,
        before => {
            if before.is_some() {
                tracing::warn!("{} is a copy of another keeper's, so it is a keeper of its own", data_dir.display());
            }
            let random = || std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), ());
            hex(Fields::new("team-keeper/1").number(random()).number(random()).number(std::process::id().into()))
        }
    };
    let Place { machine, path, inode } = here;
    let text = format!("{word}\n{machine}\n{path}\n{inode}\n");
    platform::files::replace(&data_dir.join(WORD), text.as_bytes(), 0o600)?;
    Ok(word)
}

/// The word and its place. Earlier versions wrote the word alone: it belongs here.
fn read(data_dir: &Path) -> Option<(String, Place)> {
    let text = std::fs::read_to_string(data_dir.join(WORD)).ok()?;
    let mut lines = text.split('\n').map(str::to_owned);
    let word = lines.next().filter(|word| word.len() == 32)?;
    let place = match (lines.next(), lines.next(), lines.next()) {
        (Some(machine), Some(path), Some(inode)) => Place { machine, path, inode },
        _ => Place { path: Place::of(data_dir).path, ..Place::default() },
    };
    Some((word, place))
}

fn hex(fields: Fields) -> String {
    fields.finish().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
