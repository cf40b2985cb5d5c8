//! The audit of what was asked for (`tests/spec/SPECIFICATION.md`): every test that it names exists, what works names
//! one, and its counts are those of its rows.

use std::path::{Path, PathBuf};

/// What a requirement can be.
const STATES: [&str; 4] = ["works", "partly", "differs", "missing"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn audit() -> String {
    std::fs::read_to_string(root().join("tests/spec/SPECIFICATION.md")).unwrap()
}

/// State and evidence of a row of a requirement.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.split('|').map(str::trim);
    let (state, evidence) = (cells.nth(2)?, cells.next()?);
    STATES.contains(&state).then_some((state, evidence))
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a test with this path exists: `it::file::name`, or `crate::module::tests::name`.
fn exists(test: &str) -> bool {
    let mut parts: Vec<&str> = test.split("::").collect();
    let Some(name) = parts.pop() else { return false };
    let base = match parts.first() {
        Some(&("it" | "peers")) => root().join("tests"),
        Some(&"situated") => {
            parts.remove(0);
            root().join("src")
        }
        _ => root().join("src"),
    };
    let place = |parts: &[&str]| parts.iter().fold(base.clone(), |path, part| path.join(part));
    // A module is a file of its name, a folder with `mod.rs`, or stands within its parent's file.
    let within = &parts[..parts.len().saturating_sub(1)];
    let files = [&parts[..], within].into_iter().flat_map(|parts| {
        let path = place(parts);
        [path.with_extension("rs"), path.join("mod.rs"), path.join("lib.rs"), path.join("main.rs")]
    });
    let holds = |file: PathBuf| std::fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("fn {name}(")));
    files.into_iter().any(holds)
}

#[test]
fn every_test_that_the_audit_names_exists() {
    let text = audit();
    let rows: Vec<(&str, &str)> = text.lines().filter_map(row).collect();
    assert!(rows.len() >= 100, "only {} requirements", rows.len());
    let mut wrong = Vec::new();
    for (state, evidence) in &rows {
        let tests: Vec<&str> = quoted(evidence).filter(|name| name.contains("::")).collect();
        wrong.extend(tests.iter().filter(|test| !exists(test)).map(|test| format!("{test} does not exist")));
        let files = quoted(evidence).filter(|name| name.starts_with("tests/") || name.starts_with("benches/"));
        wrong.extend(files.filter(|file| !root().join(file).exists()).map(|file| format!("{file} does not exist")));
        if *state == "works" && quoted(evidence).next().is_none() {
            wrong.push(format!("works, and names nothing that shows it: {evidence}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!exists("it::life::no_such_test") && !exists("context::no_such_module::tests::any"));
}

/// What is promised and what was found by breaking it names its tests too.
#[test]
fn every_test_that_a_promise_names_exists() {
    for (file, least) in [("src/SECURITY.md", 25), ("tests/CAMPAIGNS.md", 20)] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let tests: Vec<&str> = quoted(&text).filter(|name| name.contains("::")).collect();
        assert!(tests.len() >= least, "{file} names {} tests", tests.len());
        let wrong: Vec<&&str> = tests.iter().filter(|test| !exists(test)).collect();
        assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    }
}

#[test]
fn the_counts_of_the_audit_are_those_of_its_rows() {
    let text = audit();
    for state in STATES {
        let count = text.lines().filter_map(row).filter(|(of, _)| *of == state).count();
        let said =
            text.lines().find_map(|line| line.split_once(&format!("{state}: "))?.1.split([',', '.', ' ']).next());
        assert_eq!(said.and_then(|said| said.parse().ok()), Some(count), "{state}");
    }
}
