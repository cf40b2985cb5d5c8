//! Which path of this program a service should name: one that is still there after the next upgrade.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// The path that a service is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute.
    pub path: PathBuf,
    /// Why it may be gone soon, and what to do, if so.
    pub doubt: Option<&'static str>,
}

/// Chooses the name of this very program on `PATH` that lasts, else the program's real path.
pub fn choose(exe: &Path, search: &OsStr) -> Program {
    choose_by(exe, search, &doubt)
}

fn choose_by(exe: &Path, search: &OsStr, doubt: &dyn Fn(&Path) -> Option<&'static str>) -> Program {
    let real = exe.canonicalize().unwrap_or_else(|_| exe.to_owned());
    let named = std::env::split_paths(search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("situated"))
        .filter(|path| path.canonicalize().is_ok_and(|found| found == real));
    let mut candidates: Vec<PathBuf> = named.collect();
    candidates.push(real);
    // The first that lasts; else the program itself, with what is wrong with it.
    let best = candidates.iter().find(|path| doubt(path).is_none()).or(candidates.last());
    let path = best.cloned().unwrap_or_else(|| exe.to_owned());
    let doubt = doubt(&path);
    Program { path, doubt }
}

/// Why a path will not last.
fn doubt(path: &Path) -> Option<&'static str> {
    let parts: Vec<&str> = path.components().filter_map(normal).collect();
    let has = |name: &str| parts.contains(&name);
    let builds = ["debug", "release", "dist"];
    if parts.iter().skip_while(|part| **part != "target").any(|part| builds.contains(part)) {
        Some("it is a build in cargo's target folder: `cargo install --path .` makes one that stays")
    } else if has("Cellar") {
        Some("it lies in Homebrew's Cellar, which the next upgrade removes: call it by its name in bin")
    } else if path.starts_with("/nix/store") {
        Some("it lies in the nix store, where an upgrade makes another path: call it from a profile")
    } else if ["/tmp", "/var/tmp", "/private/tmp", "/private/var/folders", "/dev/shm", "/run"]
        .iter()
        .any(|folder| path.starts_with(folder))
    {
        Some("it lies in a folder for temporary files: move it to ~/.local/bin, say, and call it there")
    } else {
        None
    }
}

fn normal(part: Component<'_>) -> Option<&str> {
    match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    }
}

#[cfg(all(test, unix))]
mod tests;
