//! Units of systemd as text: those in `systemd/` are the templates, so what is installed and what a package ships
//! cannot diverge. Only the program's path, its arguments and the version differ.

use std::path::{Path, PathBuf};

/// The name of the service.
pub const SERVICE: &str = "situated.service";

/// The unit that a package ships, and that is installed with another path.
pub const TEMPLATE: &str = include_str!("../../systemd/situated.service");

/// The strict drop-in.
const STRICT: &str = include_str!("../../systemd/situated-strict.conf");

/// The line that says which version wrote a unit.
const VERSION: &str = "X-SituatedVersion=";

/// How our drop-ins begin: by this they are recognised, so that no other is ever removed.
const MARK: &str = "# Written by `situated service install`";

/// What a drop-in is for; its file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropIn {
    /// User namespace and all that needs one.
    Sandbox,
    /// Connections to a provider.
    Network,
    /// Folders elsewhere that the daemon writes to.
    Paths,
    /// Folders that a command reads which prints a key.
    Keys,
}

impl DropIn {
    /// All of them.
    pub const ALL: [DropIn; 4] = [DropIn::Sandbox, DropIn::Network, DropIn::Paths, DropIn::Keys];

    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            DropIn::Sandbox => "10-sandbox.conf",
            DropIn::Network => "20-network.conf",
            DropIn::Paths => "30-paths.conf",
            DropIn::Keys => "40-keys.conf",
        }
    }
}

/// Folders that the unit hides, and that `pass` reads to print a key.
pub const KEY_STORES: [&str; 2] = ["%h/.gnupg", "%h/.password-store"];

/// A path that cannot be written into a unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be written into a unit: it holds control characters, or is no UTF-8; choose another path")]
pub struct Unwritable(PathBuf);

/// What the service runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program, absolute.
    pub program: PathBuf,
    /// What follows `run --quiet`, in pairs of an option and a path.
    pub options: Vec<(&'static str, PathBuf)>,
}

/// The unit for this program.
pub fn service(launch: &Launch, version: &str) -> Result<String, Unwritable> {
    let mut words = vec![word(&launch.program)?, "run".to_owned(), "--quiet".to_owned()];
    for (option, path) in &launch.options {
        words.push((*option).to_owned());
        words.push(word(path)?);
    }
    let mut command = words.join(" ");
    if command.contains('$') {
        // Without this `:`, `$` begins a variable; doubling the `$` would be wrong for the program's own path.
        command.insert(0, ':');
    }
    let lines = TEMPLATE.lines().map(|line| match line.split_once('=') {
        Some(("ExecStart", _)) => format!("ExecStart={command}"),
        Some(_) if line.starts_with(VERSION) => format!("{VERSION}{version}"),
        _ => line.to_owned(),
    });
    Ok(lines.map(|line| line + "\n").collect())
}

/// The strict drop-in; with a provider it leaves the network open.
pub fn strict(network: bool) -> String {
    if !network {
        return STRICT.to_owned();
    }
    let (kept, _) = STRICT.split_once("# Left out where a provider").unwrap_or((STRICT, ""));
    kept.to_owned()
}

/// The properties that a trial unit has to start with before [`strict`] is written.
pub fn trial(network: bool) -> Vec<String> {
    let text = strict(network);
    // Unit files know `%h`, but not every `systemd-run` does; other lines also test whether paths can be hidden.
    let lines = text.lines().filter(|line| line.contains('=') && !line.starts_with('#') && !line.contains('%'));
    lines.map(str::to_owned).collect()
}

/// The drop-in that lets the daemon ask its providers.
pub fn network(providers: &[String]) -> String {
    format!(
        "{MARK}, for the configuration names a provider:\n# {}\n[Service]\nRestrictAddressFamilies=AF_INET AF_INET6\n",
        providers.join(", ")
    )
}

/// The drop-in for folders elsewhere; `None` if none is needed. `shared_tmp` says that something the daemon uses is in
/// a folder for temporary files; without it a unit has such folders of its own.
pub fn paths(writable: &[PathBuf], shared_tmp: bool) -> Result<Option<String>, Unwritable> {
    if writable.is_empty() && !shared_tmp {
        return Ok(None);
    }
    let mut text = format!("{MARK}, for data or socket are elsewhere.\n[Service]\n");
    for path in writable {
        // With the hyphen, a missing folder does not prevent the start.
        let mut prefixed = std::ffi::OsString::from("-");
        prefixed.push(path);
        text.push_str(&format!("ReadWritePaths={}\n", word(Path::new(&prefixed))?));
    }
    if shared_tmp {
        text.push_str("PrivateTmp=no\n");
    }
    Ok(Some(text))
}

/// The drop-in that lets a `key_command` read what password stores keep: it hides again all that unit and strict
/// drop-in hide, except for that.
pub fn keys() -> String {
    let lines = TEMPLATE.lines().chain(STRICT.lines());
    let hidden = lines.filter_map(|line| line.strip_prefix("InaccessiblePaths=")).flat_map(str::split_whitespace);
    let hidden: Vec<&str> = hidden.filter(|path| !KEY_STORES.contains(&path.trim_start_matches('-'))).collect();
    format!(
        "{MARK}, for a `key_command` may ask a password store.\n[Service]\nInaccessiblePaths=\nInaccessiblePaths={}\n",
        hidden.join(" ")
    )
}

/// Whether a drop-in is ours to replace or remove.
pub fn is_our_drop_in(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(MARK))
}

/// A path as one word of a unit: `%` begins a specifier, quotes and spaces end words.
fn word(path: &Path) -> Result<String, Unwritable> {
    let text = path.to_str().filter(|t| !t.chars().any(char::is_control)).ok_or_else(|| Unwritable(path.to_owned()))?;
    let plain = |c: char| c.is_alphanumeric() || "/._-+@:,=~^%$".contains(c);
    if text.chars().all(plain) {
        return Ok(text.replace('%', "%%"));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%")))
}

/// The version that wrote a unit; `None` if we did not write it.
pub fn version(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix(VERSION)).map(|version| version.trim().to_owned())
}

/// The program that a unit runs.
pub fn program(text: &str, home: &Path) -> Option<PathBuf> {
    let command = text.lines().rev().find_map(|line| line.trim().strip_prefix("ExecStart="))?;
    let command = command.trim_start_matches(['@', '-', ':', '+', '!', '|']);
    let mut word = String::new();
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.extend(chars.next()),
            '%' => match chars.next() {
                Some('h') => word.push_str(home.to_str()?),
                Some('%') | None => word.push('%'),
                Some(other) => word.extend(['%', other]),
            },
            c if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            c if c.is_whitespace() && quote.is_none() => break,
            c => word.push(c),
        }
    }
    (!word.is_empty()).then(|| PathBuf::from(word))
}

#[cfg(test)]
mod tests;
