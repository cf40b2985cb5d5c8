//! The house rules of `src/ARCHITECTURE.md` that rustc cannot say, read off the source: what pure files do not touch,
//! which part of the program imports which, how long a file may be. Which crate sees which is said in each `Cargo.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

mod imports;

/// Crates, folders and single files without I/O, clocks or async.
const PURE: &[&str] = &[
    "note/",
    "context/",
    "engine/indexer/deletion_guard.rs",
    "engine/indexer/freshness.rs",
    "vault/lib.rs",
    "vault/pending.rs",
    "vault/settings.rs",
    "vector/",
    "index/embed/",
    "index/lib.rs",
    "index/graph.rs",
    "index/graph/",
    "index/links.rs",
    "index/hash.rs",
    "index/language.rs",
    "index/language/",
    "index/search/",
    "index/eval/",
    "store/record.rs",
    "store/codec.rs",
    "store/damage.rs",
    "provider/settings.rs",
    "engine/settings.rs",
    "team/collection.rs",
    "team/failure.rs",
    "team/ids.rs",
    "team/point.rs",
    "team/publish.rs",
    "team/verify.rs",
    "protocol/frame.rs",
    "protocol/envelope.rs",
    "protocol/notification.rs",
    "protocol/ask.rs",
    "protocol/audience.rs",
    "protocol/contexts.rs",
    "protocol/cost.rs",
    "protocol/daemon.rs",
    "protocol/decision.rs",
    "protocol/events.rs",
    "protocol/generations.rs",
    "protocol/graph.rs",
    "protocol/hit.rs",
    "protocol/jobs.rs",
    "protocol/nearest.rs",
    "protocol/note.rs",
    "protocol/params.rs",
    "protocol/reference.rs",
    "protocol/schema.rs",
    "protocol/search.rs",
    "protocol/status.rs",
    "protocol/team.rs",
    "protocol/table.rs",
    "service/unit.rs",
    "service/plist.rs",
    "daemon/serve/results.rs",
    "mcp/clean.rs",
    "mcp/params.rs",
    "mcp/results.rs",
    "mcp/schema.rs",
    "mcp/size.rs",
    "cli/live/requests.rs",
    "cli/live/keys.rs",
    "cli/live/line.rs",
    "cli/live/state.rs",
    "cli/live/view",
];

/// What pure files never name.
const IMPURE: [&str; 10] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "Timestamp::now",
    "Zoned::now",
    "tokio::",
    ".unwrap()",
];

/// Which part of the program may import which other part.
const PARTS: &[(&str, &[&str])] = &[
    ("daemon/config", &[]),
    ("daemon/sandbox", &["daemon::config"]),
    ("daemon/serve", &["daemon::config"]),
    ("service", &["daemon::config", "daemon::serve"]),
    ("mcp", &[]),
];

struct Source {
    /// Relative to `src/`, `/`-separated.
    name: String,
    /// Without tests and comments.
    code: String,
    /// All of it.
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.iter().map(|file| source(&root, file)).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

fn source(root: &Path, file: &Path) -> Source {
    let text = std::fs::read_to_string(file).unwrap();
    let name = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
    let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
    let production = if is_test { "" } else { text.split("#[cfg(test)]\nmod tests {").next().unwrap() };
    let code = production.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    Source { name, code, text }
}

#[test]
fn no_file_is_longer_than_600_lines() {
    let long: Vec<String> = sources()
        .iter()
        .map(|s| (&s.name, s.text.lines().count()))
        .filter(|(_, lines)| *lines > 600)
        .map(|(name, lines)| format!("{name} ({lines})"))
        .collect();
    assert!(long.is_empty(), "split these: {long:?}");
}

#[test]
fn pure_files_touch_nothing_outside() {
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|s| PURE.iter().any(|pure| s.name.starts_with(pure))) {
        for name in IMPURE {
            if source.code.contains(name) {
                breaches.push(format!("{} names {name}", source.name));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn parts_of_the_program_import_only_the_parts_they_may() {
    let mut breaches = Vec::new();
    for source in sources() {
        let Some((part, allowed)) = PARTS.iter().find(|(part, _)| source.name.starts_with(part)) else { continue };
        let own = part.replace('/', "::");
        for other in ["daemon::config", "daemon::sandbox", "daemon::serve", "service", "mcp", "cli"] {
            if other != own && !allowed.contains(&other) && source.code.contains(&format!("crate::{other}")) {
                breaches.push(format!("{} imports {other}", source.name));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn no_files_import_each_other() {
    let sources = sources();
    let files: Vec<(&str, &str)> = sources.iter().map(|s| (s.name.as_str(), s.text.as_str())).collect();
    let imports = imports::read(&files);
    assert!(imports["store/codec.rs"].contains_key("store/v1.rs"), "the imports were not read");
    let mut circles = String::new();
    for circle in imports::circles(&imports) {
        for (from, imported) in imports.iter().filter(|(from, _)| circle.contains(from.as_str())) {
            for (to, path) in imported.iter().filter(|(to, _)| circle.contains(to.as_str())) {
                circles += &format!("{from} -> {to} ({path})\n");
            }
        }
        circles += "\n";
    }
    assert!(circles.is_empty(), "move what closes these circles to the file that owns it:\n{circles}");
}

#[test]
fn circles_are_found_through_reexports_and_only_between_concepts() {
    let files = [
        ("lib.rs", "pub mod a; pub mod b; pub mod c;"),
        ("a/mod.rs", "mod below; pub use below::{self as under, Thing}; use crate::c;"),
        ("a/below.rs", "use super::Other; use crate::b::Part; pub struct Thing;"),
        (
            "b.rs",
            "#[cfg(test)] mod tests; /* crate::c::X */ pub struct Part { thing: crate::a::Thing, text: \"crate::c::X\" }",
        ),
        ("b/tests.rs", "use crate::c::X;"),
        ("c.rs", "#[cfg(test)] use super::a::Other; use super::b as other; fn f() { vec![other::Part] }"),
        ("part/lib.rs", "mod c; pub(crate) use c::X;"),
        ("part/c.rs", "pub(crate) struct X; fn f() { crate::a::f() }"),
    ];
    let imports = imports::read(&files);
    let found = imports::circles(&imports);
    assert_eq!(found, BTreeSet::from([BTreeSet::from(["a/below.rs", "b.rs"])]), "{imports:#?}");
    assert_eq!(imports["a/below.rs"]["b.rs"], "crate::b::Part");
    assert_eq!(imports["c.rs"].keys().collect::<Vec<_>>(), ["b.rs"]);
    assert!(!imports.contains_key("b/tests.rs") && imports["part/c.rs"].is_empty());
}

#[test]
fn structs_of_the_engine_are_small_and_their_methods_are_together() {
    let mut breaches = Vec::new();
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Types of one name in two modules are two types: those of the actors have names of their own.
    for source in sources().iter().filter(|s| s.name.starts_with("engine/")) {
        let mut name = None;
        let mut fields = 0;
        for line in source.code.lines() {
            if let Some((_, rest)) =
                line.split_once("struct ").filter(|_| !line.starts_with(' ') && line.ends_with('{'))
            {
                (name, fields) = (rest.split(['<', ' ']).next().map(str::to_owned), 0);
            } else if line.starts_with('}') {
                if let Some(name) = name.take().filter(|_| fields > 16) {
                    breaches.push(format!("{name} in {} has {fields} fields", source.name));
                }
            } else if name.is_some() && line.starts_with("    ") && !line.starts_with("     ") && line.contains(": ") {
                fields += 1;
            }
            if let Some(of) = line.strip_prefix("impl ").filter(|of| !of.contains(" for ")) {
                let of = of.split(['<', ' ']).next().unwrap_or_default();
                files.entry(of.to_owned()).or_default().insert(source.name.clone());
            }
        }
    }
    assert!(files.contains_key("Indexer") && files.contains_key("Supervisor"), "the engine was not read");
    for (name, files) in files.iter().filter(|(_, files)| files.len() > 2) {
        breaches.push(format!("the methods of {name} are in {files:?}"));
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}
