use std::path::Path;

use super::*;

const SPECIFICATION: &str = include_str!("../PROTOCOL.md");

#[test]
fn the_reference_is_current() {
    let (before, rest) = SPECIFICATION.split_once(BEGIN).expect("PROTOCOL.md has a place for the reference");
    let (found, behind) = rest.split_once(END).expect("the reference has an end");
    let expected = format!("\n{}\n", reference());
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("PROTOCOL.md");
        std::fs::write(file, format!("{before}{BEGIN}{expected}{END}{behind}")).unwrap();
        return;
    }
    let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "PROTOCOL.md is behind the table of methods ({differs:?}); \
         `UPDATE_REFERENCE=1 cargo test --lib the_reference_is_current` renews it"
    );
}

/// The names in `### \`search\` {query, vault?, limit?=20}`, by method.
fn headings() -> Vec<(String, Vec<String>)> {
    let parts = SPECIFICATION.lines().filter_map(|line| line.strip_prefix("### `")).flat_map(|line| line.split(", `"));
    let signature = |part: &str| {
        let (method, rest) = part.split_once('`')?;
        let names = rest.split_once('{')?.1.split_once('}')?.0;
        let name = |text: &str| text.trim().split(['?', '=']).next().unwrap_or_default().to_owned();
        Some((method.to_owned(), names.split([',', '|']).map(name).filter(|name| !name.is_empty()).collect()))
    };
    parts.filter_map(signature).collect()
}

#[test]
fn the_headings_of_the_specification_have_the_parameters_of_the_table() {
    let (schema, headings) = (schema(), headings());
    for method in Method::ALL {
        let (_, names) = headings
            .iter()
            .find(|(name, _)| name == method.name())
            .unwrap_or_else(|| panic!("no heading of {}", method.name()));
        let params = named(&schema["methods"][method.name()]["params"]).unwrap();
        let known: Vec<&str> = members(&schema["$defs"][params]).map(|(name, _)| name.as_str()).collect();
        for name in names {
            assert!(known.contains(&name.as_str()), "`{}` has no `{name}`", method.name());
        }
        for name in known {
            assert!(names.iter().any(|named| named == name), "the heading of `{}` lacks `{name}`", method.name());
        }
    }
}

#[test]
fn every_type_is_described_once() {
    let text = reference();
    let titles: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#### ")).collect();
    let distinct: BTreeSet<&&str> = titles.iter().collect();
    assert_eq!(distinct.len(), titles.len());
    for event in crate::events::EVENTS.iter().chain(&["results", "lagged"]) {
        assert!(titles.contains(&format!("`event` of the kind `{event}`").as_str()), "{event}");
    }
    for notification in ["`progress`", "`text`"] {
        assert!(titles.contains(&notification), "{notification}");
    }
    assert!(text.contains("| `missed` | integer |"), "{text}");
    for kind in ["Hit", "Job", "VaultStatus", "Mode", "Sums"] {
        assert!(titles.contains(&kind), "{kind}");
    }
    assert!(text.contains("| `query` | string | What is sought, in the query language. |"), "{text}");
}
