//! The configuration file. `NOTES` and `DIR` in it stand for the folder of a vault and for the one around it.

use std::fs;
use std::path::Path;

use super::layers::{Environment, load, whereabouts};
use super::{Config, ConfigErrors, Loaded, Overrides};

use input::Folder;

#[allow(dead_code, clippy::duplicate_mod, reason = "each body stands alone, and uses what it needs")]
#[path = "../input.rs"]
mod input;

/// What no problem may repeat, where all of it stands in one of [`HIDING`].
const SECRET: &str = "hunter2";

/// A password in an address, and a provider's key.
const HIDING: [&str; 2] = ["://u:hunter2@", "\"sk-hunter2-0123456789abcdef\""];

/// Any bytes: there is a configuration or there are problems, each of which says where; and what is shown of a
/// configuration gives the same one again.
pub fn config(bytes: &[u8]) {
    let folder = Folder::new("config");
    let dir = folder.path();
    fs::create_dir(dir.join("Notes")).expect("a folder for notes");
    let file = match str::from_utf8(bytes) {
        Ok(text) => text
            .replace("NOTES", &dir.join("Notes").to_string_lossy())
            .replace("DIR", &dir.to_string_lossy())
            .into_bytes(),
        Err(_) => bytes.to_vec(),
    };
    // A client finds its daemon whatever is wrong with the rest.
    let first = read(dir, &file);
    match first {
        Ok(loaded) => {
            for origin in [false, true] {
                let shown = loaded.show(origin);
                match read(dir, shown.as_bytes()) {
                    Ok(again) => assert_eq!(plain(again.config), plain(loaded.config.clone()), "{shown}"),
                    Err(errors) => panic!("what is shown cannot be read: {errors}\n{shown}"),
                }
            }
            assert!(!loaded.values().is_empty());
        }
        Err(errors) => told(&file, &errors),
    }
}

fn read(dir: &Path, file: &[u8]) -> Result<Loaded, ConfigErrors> {
    let path = dir.join("config.toml");
    fs::write(&path, file).expect("a file for a configuration");
    let overrides = Overrides { config: Some(path), ..Overrides::default() };
    let _ = whereabouts(&overrides, &Environment::new());
    load(&overrides, &Environment::new())
}

/// A configuration without the commands that print keys: these are never shown.
fn plain(mut config: Config) -> Config {
    let engine = &mut config.engine;
    let contexts = engine.generations.values_mut().chain([&mut engine.context]).map(|context| &mut context.key);
    let teams = engine.teams.values_mut().map(|team| &mut team.key);
    for key in contexts.chain(teams).chain([&mut engine.embed.key, &mut engine.rerank.key]) {
        key.command = None;
    }
    config
}

/// Problems say at which line or key they are, and repeat no secret.
fn told(file: &[u8], errors: &ConfigErrors) {
    assert!(!errors.problems.is_empty());
    let text = str::from_utf8(file).ok();
    let lines = file.split(|byte| *byte == b'\n').count();
    let hides = text
        .is_some_and(|text| !HIDING.iter().fold(text.to_owned(), |text, part| text.replace(part, "")).contains(SECRET));
    for problem in &errors.problems {
        assert!(text.is_none() || problem.line.is_some() || problem.key.is_some(), "where is it? {problem}");
        assert!(
            problem.line.is_none_or(|line| (1..=lines).contains(&(line as usize))),
            "there is no such line: {problem}"
        );
        let said = format!("{} {}", problem.key.as_deref().unwrap_or_default(), problem.message);
        assert!(!hides || !said.contains(SECRET), "a secret is repeated: {said}");
    }
}

#[cfg(test)]
#[allow(clippy::duplicate_mod, reason = "each body stands alone")]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn files() {
        kept::run("config", 600, super::config);
    }
}
