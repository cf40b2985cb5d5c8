//! The README, and the pages that it sends its readers to, say nothing that is not so: what they show was printed, their
//! commands exist, their configurations are taken.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::commands::{err, out};
use crate::support::Place;

/// A page for users, and the folder that it is in.
struct Page {
    folder: &'static str,
    text: &'static str,
}

const PAGES: [Page; 4] = [
    Page { folder: "", text: include_str!("../../README.md") },
    Page { folder: "src", text: include_str!("../../src/MODELS.md") },
    Page { folder: "src/service", text: include_str!("../../src/service/INSTALL.md") },
    Page { folder: "src/team", text: include_str!("../../src/team/TEAM.md") },
];

/// The code blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let rest = |part: &'static str| part.split_once("\n```").map(|(block, _)| block);
    PAGES.iter().flat_map(|page| page.text.split(fence.as_str()).skip(1).filter_map(rest)).collect()
}

/// The words of an output, but for what differs from run to run: numbers, places, ages.
fn words(text: &str) -> Vec<&str> {
    const UNITS: [&str; 5] = ["ms", "s", "min", "kB", "MB"];
    let differs = |word: &&str| {
        let is_unit = UNITS.contains(&word.trim_end_matches(','));
        is_unit || word.contains(|c: char| c.is_ascii_digit()) || word.starts_with('/')
    };
    text.split_whitespace().filter(|word| !differs(word)).collect()
}

/// The arguments of a command as a shell takes them, as far as the pages need a shell.
fn arguments(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, part) in command.split('\'').enumerate() {
        let is_quoted = n % 2 == 1;
        if is_quoted {
            found.push(part.to_owned());
        } else {
            found.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    found
}

#[test]
fn what_is_shown_was_printed() {
    let place = Place::with_sample();
    let block = blocks("console")[0];
    place.configure("");
    let mut daemon = place.spawn(&["run"]);
    daemon.wait_idle();
    let mut compared = 0;
    for shown in block.split("$ situated ").skip(1) {
        let (command, output) = shown.split_once('\n').unwrap();
        if command.starts_with("run ") {
            continue;
        }
        let arguments = arguments(command);
        let ran = place.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        // The vault has another name there.
        let (printed, output) = (out(&ran).replace("notes  ", "Notes  "), output.replace("~/Notes/", ""));
        assert_eq!(words(&output), words(&printed), "{command}: {printed}{}", err(&ran));
        compared += 1;
    }
    assert_eq!(compared, 3);
}

#[test]
fn every_command_exists() {
    let apart = |from: usize| PAGES.iter().flat_map(move |page| page.text.split("```").skip(from).step_by(2));
    let inline = apart(0).flat_map(|text| text.split('`').skip(1).step_by(2));
    let lines = apart(1).flat_map(str::lines);
    let spans = inline.map(|span| span.replace('\n', " ")).chain(lines.map(str::to_owned));
    let mut count = 0;
    for span in spans {
        let span = span.trim_start_matches("$ ").split(['[', '#', '&']).next().unwrap_or_default().to_owned();
        let Some(command) = span.strip_prefix("situated ") else { continue };
        let words = arguments(command).into_iter().map(|word| word.split("\\|").next().unwrap_or_default().to_owned());
        let words = words.filter(|word| *word != "…");
        let parsed = situated::cli::Cli::try_parse_from(std::iter::once("situated".to_owned()).chain(words));
        let wrong = [ErrorKind::InvalidSubcommand, ErrorKind::UnknownArgument];
        assert!(!parsed.err().is_some_and(|error| wrong.contains(&error.kind())), "`{span}` is no command");
        count += 1;
    }
    assert!(count > 40, "{count}");
}

#[test]
fn every_configuration_is_taken() {
    let blocks = blocks("toml");
    for block in &blocks {
        let place = Place::new();
        place.configure(&format!("\n{block}"));
        for key in block.lines().filter_map(|line| line.strip_prefix("key_file = \"~/")) {
            let file = place.dir.path().join(key.split('"').next().unwrap());
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "key").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let checked =
            place.run(&["--config", place.dir.path().join("config.toml").to_str().unwrap(), "config", "check"]);
        assert_eq!(checked.status.code(), Some(0), "{block}: {}{}", out(&checked), err(&checked));
    }
    assert_eq!(blocks.len(), 4);
}

#[test]
fn every_file_that_is_linked_is_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for Page { folder, text } in PAGES {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.starts_with('#')) {
            assert!(root.join(folder).join(link.split('#').next().unwrap_or_default()).exists(), "{folder}: {link}");
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}
