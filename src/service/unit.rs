//! Units of systemd as text: those in `systemd/` are the templates, so what is installed and what a package ships
//! cannot part. Only the program's path, its arguments and the version differ.

use std::path::{Path, PathBuf};

/// The name of the service.
pub const SERVICE: &str = "situated.service";

/// What a package ships, and what is installed with another path.
pub const TEMPLATE: &str = include_str!("../../systemd/situated.service");

/// The strict drop-in.
const STRICT: &str = include_str!("../../systemd/situated-strict.conf");

/// The line that says which version wrote a unit.
const VERSION: &str = "X-SituatedVersion=";

/// How drop-ins of ours begin, so that no other is ever removed.
const MARK: &str = "# Written by `situated service install`";

/// What a drop-in is for; its file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropIn {
    /// User namespace and all that needs one.
    Sandbox,
    /// Connections to a provider.
    Network,
    /// Folders that are written to elsewhere.
    Paths,
}

impl DropIn {
    /// All of them.
    pub const ALL: [DropIn; 3] = [DropIn::Sandbox, DropIn::Network, DropIn::Paths];

    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            DropIn::Sandbox => "10-sandbox.conf",
            DropIn::Network => "20-network.conf",
            DropIn::Paths => "30-paths.conf",
        }
    }
}

/// Why a path cannot stand in a unit.
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
        // Without it `$` begins a variable; doubling it would be wrong for the program's own path.
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
    // `%h` is known to unit files, not to every `systemd-run`; whether paths can be hidden, other lines tell too.
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

/// The drop-in for folders elsewhere; `None` if none is needed. `shared_tmp` if one of all that the daemon uses lies
/// in a folder for temporary files, of which a unit has its own otherwise.
pub fn paths(writable: &[PathBuf], shared_tmp: bool) -> Result<Option<String>, Unwritable> {
    if writable.is_empty() && !shared_tmp {
        return Ok(None);
    }
    let mut text = format!("{MARK}, for data or socket are elsewhere.\n[Service]\n");
    for path in writable {
        // The hyphen: a folder that is missing is no reason not to start.
        let mut prefixed = std::ffi::OsString::from("-");
        prefixed.push(path);
        text.push_str(&format!("ReadWritePaths={}\n", word(Path::new(&prefixed))?));
    }
    if shared_tmp {
        text.push_str("PrivateTmp=no\n");
    }
    Ok(Some(text))
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

/// The version that wrote a unit; `None` if it is not of our making.
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
mod tests {
    use super::*;

    fn launch(program: &str, options: &[(&'static str, &str)]) -> Launch {
        let options = options.iter().map(|(option, path)| (*option, PathBuf::from(path))).collect();
        Launch { program: program.into(), options }
    }

    fn exec(launch: &Launch) -> String {
        let text = service(launch, "1").unwrap();
        text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap().to_owned()
    }

    #[test]
    fn what_is_installed_is_what_is_shipped() {
        let rendered = service(&launch("/usr/bin/situated", &[]), env!("CARGO_PKG_VERSION")).unwrap();
        assert_eq!(rendered, TEMPLATE, "systemd/situated.service is of another version, or has other lines");
        assert_eq!(strict(false), STRICT);
    }

    #[test]
    fn only_program_and_version_differ() {
        let text = service(&launch("/opt/s", &[("--config", "/c.toml")]), "9.9.9").unwrap();
        let differ: Vec<&str> = text.lines().filter(|line| !TEMPLATE.lines().any(|other| other == *line)).collect();
        assert_eq!(differ, ["X-SituatedVersion=9.9.9", "ExecStart=/opt/s run --quiet --config /c.toml"]);
        assert_eq!((version(&text).as_deref(), version("[Unit]\n")), (Some("9.9.9"), None));
    }

    #[test]
    fn paths_are_one_word_each_and_come_back() {
        for (path, written) in [
            ("/usr/bin/situated", "/usr/bin/situated run"),
            ("/home/é/situated", "/home/é/situated run"),
            ("/a b/situated", "\"/a b/situated\" run"),
            ("/100%/%d/situated", "/100%%/%%d/situated run"),
            ("/a $x/situated", ":\"/a $x/situated\" run"),
            ("/q\"uo'te\\/situated", "\"/q\\\"uo'te\\\\/situated\" run"),
            ("/semi;/#/situated", "\"/semi;/#/situated\" run"),
        ] {
            let rendered = exec(&launch(path, &[]));
            assert!(rendered.starts_with(written), "{rendered}");
            let text = service(&launch(path, &[]), "1").unwrap();
            assert_eq!(program(&text, Path::new("/home/me")), Some(path.into()), "{rendered}");
        }
        assert_eq!(
            exec(&launch("/s", &[("--data-dir", "/No tes %d $x")])),
            ":/s run --quiet --data-dir \"/No tes %%d $x\""
        );
        assert!(service(&launch("/new\nline", &[]), "1").is_err());
        assert_eq!(
            program("ExecStart=-%h/.cargo/bin/situated run", Path::new("/h")),
            Some("/h/.cargo/bin/situated".into())
        );
        assert_eq!(program("[Service]\n", Path::new("/h")), None);
    }

    #[test]
    fn drop_ins_are_known_again_and_hold_what_is_needed() {
        let with = network(&["[context] anthropic".to_owned()]);
        assert!(with.contains("RestrictAddressFamilies=AF_INET AF_INET6\n") && with.contains("[context] anthropic"));
        let elsewhere = paths(&["/mnt/in dex %".into()], true).unwrap().unwrap();
        assert!(elsewhere.ends_with("ReadWritePaths=\"-/mnt/in dex %%\"\nPrivateTmp=no\n"), "{elsewhere}");
        assert_eq!(paths(&[], false), Ok(None));
        for text in [&with, &elsewhere, &strict(true), &strict(false)] {
            assert!(is_our_drop_in(text), "{text}");
        }
        assert!(!is_our_drop_in("[Service]\nNice=5\n"));
        assert!(strict(false).contains("PrivateNetwork=yes") && !strict(true).contains("PrivateNetwork"));
    }

    #[test]
    fn the_trial_has_the_lines_that_could_fail() {
        let trial = trial(false);
        for line in ["PrivateUsers=yes", "PrivateDevices=yes", "CapabilityBoundingSet=", "PrivateNetwork=yes"] {
            assert!(trial.iter().any(|property| property == line), "{trial:?}");
        }
        assert!(!trial.iter().any(|property| property.contains('%') || property.starts_with('#')), "{trial:?}");
    }
}
