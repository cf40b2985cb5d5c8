//! The house rules of `src/ARCHITECTURE.md` that rustc cannot say, read off the source: what pure files do not touch,
//! which part of the program imports which, how long a file may be. Which crate sees which is said in each `Cargo.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates, folders and single files without I/O, clocks or async.
const PURE: &[&str] = &[
    "note/",
    "context/",
    "engine/indexer/deletion_guard.rs",
    "engine/indexer/freshness.rs",
    "vault/lib.rs",
    "vault/pending.rs",
    "vault/settings.rs",
    "index/embed/",
    "index/lib.rs",
    "index/blocks.rs",
    "index/graph.rs",
    "index/graph/",
    "index/links.rs",
    "index/vector.rs",
    "index/language.rs",
    "index/search/",
    "index/eval/",
    "store/record.rs",
    "store/codec.rs",
    "provider/settings.rs",
    "engine/settings.rs",
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
    "protocol/note.rs",
    "protocol/params.rs",
    "protocol/reference.rs",
    "protocol/schema.rs",
    "protocol/search.rs",
    "protocol/status.rs",
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
    lines: usize,
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
    Source { name, code, lines: text.lines().count() }
}

#[test]
fn no_file_is_longer_than_600_lines() {
    let long: Vec<String> =
        sources().into_iter().filter(|s| s.lines > 600).map(|s| format!("{} ({})", s.name, s.lines)).collect();
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
/// Whose methods are in more files than two: one file per kind of query, and two types of one name.
const SPREAD: &[&str] = &[];

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
    for (name, files) in files.iter().filter(|(name, files)| files.len() > 2 && !SPREAD.contains(&name.as_str())) {
        breaches.push(format!("the methods of {name} are in {files:?}"));
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}
