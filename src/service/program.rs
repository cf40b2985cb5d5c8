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

/// Of this very program the name on `PATH` that lasts, else the path that it was started by.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_do_not_last() {
        for (path, why) in [
            ("/home/me/situated/target/debug/situated", "target folder"),
            ("/src/target/x86_64-unknown-linux-gnu/release/situated", "target folder"),
            ("/opt/homebrew/Cellar/situated/0.1.0/bin/situated", "Cellar"),
            ("/nix/store/abc-situated-0.1.0/bin/situated", "nix store"),
            ("/tmp/situated", "temporary"),
            ("/private/tmp/x/situated", "temporary"),
        ] {
            assert!(doubt(Path::new(path)).is_some_and(|said| said.contains(why)), "{path}");
        }
        for path in [
            "/usr/bin/situated",
            "/home/me/.cargo/bin/situated",
            "/opt/homebrew/bin/situated",
            "/home/target/bin/situated",
        ] {
            assert_eq!(doubt(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn a_lasting_name_for_the_same_file_is_preferred() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (cellar, bin) = (root.join("Cellar/situated/1/bin"), root.join("bin"));
        std::fs::create_dir_all(&cellar).unwrap();
        std::fs::create_dir_all(&bin).unwrap();
        let real = cellar.join("situated");
        std::fs::write(&real, "").unwrap();
        // Tests lie in a folder for temporary files themselves.
        let doubt = |path: &Path| doubt(path.strip_prefix(&root).unwrap());
        assert!(choose_by(&real, OsStr::new(""), &doubt).doubt.is_some());
        std::os::unix::fs::symlink(&real, bin.join("situated")).unwrap();
        let search = std::env::join_paths([&cellar, &bin]).unwrap();
        assert_eq!(choose_by(&real, &search, &doubt), Program { path: bin.join("situated"), doubt: None });
        // Another program of that name is not this one.
        std::fs::remove_file(bin.join("situated")).unwrap();
        std::fs::write(bin.join("situated"), "other").unwrap();
        assert_eq!(choose_by(&real, &search, &doubt).path, real);
    }
}
