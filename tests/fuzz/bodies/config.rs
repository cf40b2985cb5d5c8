//! The configuration file.

use std::fs;

use situated::daemon::config::{Config, Overrides};

use input::Folder;

#[allow(dead_code, reason = "each body uses what it needs")]
#[path = "../input.rs"]
mod input;

/// Stands in the files of the corpus wherever a password may.
const SECRET: &str = "hunter2";

/// A configuration file, in which `NOTES` stands for a folder that is there. Problems lie within the file and repeat no
/// password; what is understood is shown as a file that means the same.
pub(crate) fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let folder = Folder::new("config");
    let notes = folder.path().join("Notes");
    fs::create_dir(&notes).expect("a folder for notes");
    let file = folder.path().join("config.toml");
    let overrides = Overrides {
        config: Some(file.clone()),
        data_dir: Some(folder.path().join("data")),
        socket: Some(folder.path().join("socket")),
        vault: None,
    };
    let text = text.replace("NOTES", &notes.to_string_lossy());
    fs::write(&file, &text).expect("a file for a configuration");

    let lines = text.lines().count() as u32 + 1;
    let (read, problems) = Config::read(&overrides);
    let _ = Config::whereabouts(&overrides);
    for problem in &problems {
        assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{problem}");
        // A key, too, may hold one; it is a name that we show.
        let repeats = problem.message.contains(SECRET) && !problem.key.as_deref().unwrap_or_default().contains(SECRET);
        assert!(!(repeats && text.contains(&format!(":{SECRET}@"))), "{problem}");
    }
    match Config::load(&overrides) {
        Err(errors) => assert!(!errors.problems.is_empty(), "what is refused has a reason"),
        Ok(loaded) => {
            assert!(problems.is_empty(), "{problems:?}");
            assert_eq!(loaded.config, read.config);
            let shown = loaded.show(false);
            fs::write(&file, &shown).expect("a file for a configuration");
            match Config::load(&overrides) {
                Ok(again) => assert_eq!(again.config, loaded.config, "{shown}"),
                Err(errors) => panic!("what is shown is no configuration: {errors}\n{shown}"),
            }
        }
    }
}

#[cfg(test)]
#[path = "../kept.rs"]
mod kept;

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn files() {
        kept::run("config", 1_500, super::config);
    }
}
