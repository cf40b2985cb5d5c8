//! Where files live: XDG on every system, `~` in paths, and the limit on socket paths.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `sun_path` holds 104 bytes on macOS and 108 on Linux, the final NUL included; the smaller one holds
/// everywhere, so that a configuration can be carried from one machine to another.
pub(super) const SOCKET_PATH_BYTES: usize = 103;

/// The user's home folder, if there is one.
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf()).filter(|home| home.is_absolute())
}

/// An XDG folder; an empty or relative variable counts as unset, as the XDG specification says.
fn xdg(variable: Option<OsString>, below_home: &str) -> PathBuf {
    variable
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| home().map(|home| home.join(below_home)))
        // Without a home there is no good place; the root is one where creating fails with a clear message.
        .unwrap_or_else(|| Path::new("/").join(below_home))
}

/// `~/.config/situated/config.toml`, also on macOS.
pub fn default_config_file() -> PathBuf {
    xdg(std::env::var_os("XDG_CONFIG_HOME"), ".config").join("situated").join("config.toml")
}

/// `~/.local/share/situated`, also on macOS.
pub fn default_data_dir() -> PathBuf {
    xdg(std::env::var_os("XDG_DATA_HOME"), ".local/share").join("situated")
}

/// Why a socket cannot have this path, if so.
pub fn socket_too_long(path: &Path) -> Option<String> {
    let bytes = path.as_os_str().len();
    (bytes > SOCKET_PATH_BYTES).then(|| {
        format!(
            "the path has {bytes} bytes, and no socket may have more than {SOCKET_PATH_BYTES}; \
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
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        Some(_) => {
            return Err(format!("`{text}` names another user's home, which is not looked up; write the whole path"));
        }
        None => return Ok(PathBuf::from(text)),
    };
    let home = home().ok_or("`~` cannot be replaced: this user has no home folder")?;
    Ok(if rest.is_empty() { home } else { home.join(rest) })
}

#[cfg(test)]
mod tests;
