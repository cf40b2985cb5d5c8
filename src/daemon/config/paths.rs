//! Paths as a user writes them: `~`, and the limit on those of sockets; and the default places.

use std::path::{Path, PathBuf, is_separator};

use protocol::folders::{self, Folders, Location};
use protocol::locate::{self, MAX_SOCKET_PATH};

/// The configuration file that is read if none is named.
pub fn default_config_file() -> PathBuf {
    Folders::here().config_file.in_use().to_owned()
}

/// The data folder if none is named.
pub fn default_data_dir() -> PathBuf {
    locate::data_dir(&Folders::here().data_dir).to_owned()
}

/// The parts of a configuration whose place nobody named: only these may be moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unnamed {
    /// The data folder, if nothing names one.
    pub data_dir: Option<Location>,
    /// The configuration file, if nothing names one.
    pub config_file: Option<Location>,
}

/// Why a socket cannot have this path, if it cannot.
pub fn socket_too_long(path: &Path) -> Option<String> {
    locate::too_long(path).map(|bytes| {
        format!(
            "the path has {bytes} bytes, and no socket may have more than {MAX_SOCKET_PATH}; \
             choose a shorter one with `serve.socket`, SITUATED_SOCKET or --socket"
        )
    })
}

/// `~` and `~/…` stand for the home folder; other paths are left alone.
pub(super) fn expand(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("the path is empty".to_owned());
    }
    let rest = match text.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with(is_separator) => rest.trim_start_matches(is_separator),
        Some(_) => {
            return Err(format!("`{text}` names another user's home, which is not looked up; write the whole path"));
        }
        None => return Ok(PathBuf::from(text)),
    };
    let home = folders::home().ok_or("`~` cannot be replaced: this user has no home folder")?;
    Ok(if rest.is_empty() { home } else { home.join(rest) })
}

#[cfg(test)]
mod tests;
