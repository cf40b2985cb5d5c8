//! `situated init`: a commented configuration for a vault. Writes one new file, never over another.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::Init;
use super::exit;
use super::print::{bold, dim, printable};
use super::session::{Failure, Session};
use crate::config::{VaultConfig, default_config_file, name_of_folder, sample_file};

/// What stands in the root of a vault of Obsidian, of Logseq, of zk.
const MARKS: [&str; 3] = [".obsidian", "logseq/config.edn", ".zk"];

/// `situated init`.
pub(super) fn run(args: Init, session: &mut Session) -> Result<u8, Failure> {
    let vault = find(args.vault.as_deref(), &std::env::current_dir()?)?;
    let vault = VaultConfig::new(name_of_folder(&vault), vault);
    let variable = std::env::var_os("SITUATED_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    let file = session.globals.config.clone().or(variable).unwrap_or_else(default_config_file);
    write(&file, &sample_file(&vault), &vault)?;
    if session.globals.json {
        session.json(json!({ "file": file, "vault": { "name": vault.name, "path": vault.path } }))?;
        return Ok(exit::OK);
    }
    let shown = |path: &Path| printable(&path.to_string_lossy()).into_owned();
    session.out.line(format!(
        "{} for the vault {} at {}",
        bold("Wrote a configuration"),
        bold(printable(&vault.name)),
        shown(&vault.path)
    ))?;
    session.out.line(format!("  {}", shown(&file)))?;
    session.say(format!(
        "\nNext:  {}           index it and watch, in this terminal\n       {}   ask it, in another\n{}",
        bold("situated run"),
        bold("situated search WORDS"),
        dim("Nothing is ever written to the vault; nothing leaves this machine.")
    ));
    Ok(exit::OK)
}

/// The vault given, or the one that `here` lies in.
fn find(given: Option<&Path>, here: &Path) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        let path = here.join(given);
        let real = path.canonicalize().map_err(|error| {
            Failure::usage(format!("{}: {error}; name the folder that holds your notes", path.display()))
        })?;
        if !real.is_dir() {
            return Err(Failure::usage(format!(
                "{} is not a folder; a vault is the folder that holds the notes",
                path.display()
            )));
        }
        return Ok(real);
    }
    let real = here.canonicalize()?;
    real.ancestors()
        .find(|folder| MARKS.iter().any(|mark| folder.join(mark).exists()))
        .map(Path::to_path_buf)
        .ok_or_else(|| {
            Failure::usage(
                "no vault of Obsidian, Logseq or zk here or above; name the folder that holds your notes: `situated init ~/Notes`",
            )
        })
}

fn write(file: &Path, text: &str, vault: &VaultConfig) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(exit::CANNOT_CREATE, format!("{}: {error}", file.display()));
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    // `create_new` neither follows a link nor loses a race against another `init`.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Ok(mut out) => out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).map_err(failed),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let name = toml::Value::String(vault.name.clone());
            let path = toml::Value::String(vault.path.to_string_lossy().into_owned());
            Err(Failure::new(
                exit::CANNOT_CREATE,
                format!(
                    "{} exists and is left as it is; to add the vault, append\n\n[[vault]]\nname = {name}\npath = {path}",
                    file.display()
                ),
            ))
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vault_is_found_upwards_by_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (vault, mark) in [("o", ".obsidian"), ("z", ".zk")] {
            std::fs::create_dir_all(root.join(vault).join(mark)).unwrap();
            std::fs::create_dir_all(root.join(vault).join("a/b")).unwrap();
            assert_eq!(find(None, &root.join(vault).join("a/b")).unwrap(), root.join(vault));
        }
        std::fs::create_dir_all(root.join("l/logseq")).unwrap();
        std::fs::write(root.join("l/logseq/config.edn"), "{}").unwrap();
        assert_eq!(find(None, &root.join("l/logseq")).unwrap(), root.join("l"));
        assert_eq!(find(Some(Path::new("a")), &root.join("o")).unwrap(), root.join("o/a"));
        assert_eq!(find(Some(Path::new("nowhere")), &root).unwrap_err().code(), exit::USAGE);
        assert_eq!(find(Some(Path::new("l/logseq/config.edn")), &root).unwrap_err().code(), exit::USAGE);
    }

    #[test]
    fn a_configuration_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("deep/er/config.toml");
        let vault = VaultConfig::new("n", dir.path());
        write(&file, "first", &vault).unwrap();
        let failure = write(&file, "second", &vault).unwrap_err();
        assert_eq!(failure.code(), exit::CANNOT_CREATE);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
        let link = dir.path().join("link.toml");
        std::os::unix::fs::symlink(dir.path().join("nothing"), &link).unwrap();
        assert!(write(&link, "x", &vault).is_err());
    }
}
