//! The house rules of `src/ARCHITECTURE.md`, read off the source: who imports whom, what pure modules do not
//! touch, how long a file may be.

use std::path::{Path, PathBuf};

/// The modules in the order in which data flows.
const ORDER: &[&str] = &[
    "config",
    "fingerprint",
    "vault",
    "note",
    "chunk",
    "plan",
    "context",
    "llm",
    "embed",
    "store",
    "index",
    "search",
    "eval",
    "engine",
    "serve",
    "sandbox",
    "client",
    "service",
    "mcp",
    "cli",
    "daemon",
    "main",
    "lib",
];

/// Modules (or single files of a module) without I/O, clocks or async.
const PURE: &[&str] = &[
    "fingerprint.rs",
    "vault/mod.rs",
    "vault/pending.rs",
    "note/",
    "chunk/",
    "plan.rs",
    "plan/",
    "context/",
    "embed/mod.rs",
    "engine/indexer/deletion_guard.rs",
    "engine/indexer/freshness.rs",
    "embed/builtin.rs",
    "embed/tokenizer.rs",
    "embed/input.rs",
    "embed/models.rs",
    "embed/settings.rs",
    "index/mod.rs",
    "index/blocks.rs",
    "index/graph.rs",
    "index/graph/",
    "index/links.rs",
    "index/vector.rs",
    "index/language.rs",
    "search/",
    "eval/",
    "serve/frame.rs",
    "serve/proto.rs",
    "service/unit.rs",
    "service/plist.rs",
    "serve/results.rs",
    "mcp/clean.rs",
    "mcp/params.rs",
    "mcp/results.rs",
    "mcp/schema.rs",
    "mcp/size.rs",
    "store/record.rs",
    "store/codec.rs",
    "cli/live/desk.rs",
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

/// Which edge may import which other edge.
const EDGES: &[(&str, &[&str])] = &[
    ("vault", &["config"]),
    ("store", &["config"]),
    ("index", &["config", "sandbox"]),
    ("engine", &["config", "vault", "llm", "store", "index", "sandbox"]),
    ("serve", &["config", "engine"]),
    ("sandbox", &["config"]),
    ("client", &["config", "serve"]),
    ("service", &["config", "serve", "client"]),
    ("mcp", &["client"]),
    ("cli", &["config", "sandbox", "client", "service", "mcp", "serve", "engine", "daemon", "llm", "store", "vault"]),
    ("daemon", &["config", "engine", "serve", "cli", "sandbox", "llm"]),
];

const EDGE_MODULES: &[&str] = &[
    "config", "vault", "llm", "store", "index", "engine", "serve", "sandbox", "client", "service", "mcp", "cli",
    "daemon",
];

struct Source {
    /// Relative to `src/`, `/`-separated.
    name: String,
    module: String,
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
    let module = name.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
    let production =
        if name.ends_with("tests.rs") { "" } else { text.split("#[cfg(test)]\nmod tests {").next().unwrap() };
    let code = production.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    Source { name, module, code, lines: text.lines().count() }
}

#[test]
fn every_module_is_in_the_map() {
    let unknown: Vec<String> =
        sources().into_iter().filter(|s| !ORDER.contains(&s.module.as_str())).map(|s| s.name).collect();
    assert!(unknown.is_empty(), "these modules are not in the order of the house: {unknown:?}");
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
            // `vault/mod.rs` is the only pure file that must name the file system's string type.
            if source.code.contains(name) {
                breaches.push(format!("{} names {name}", source.name));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn edges_import_only_the_edges_they_may() {
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|s| EDGE_MODULES.contains(&s.module.as_str())) {
        let allowed = EDGES.iter().find(|(edge, _)| *edge == source.module).map_or(&[][..], |(_, allowed)| allowed);
        for other in EDGE_MODULES.iter().filter(|m| **m != source.module && !allowed.contains(m)) {
            // Types of an edge that are pure (`vault/mod.rs`, `index/mod.rs`, `store/record.rs`) are for all.
            let pure = ["vault", "index"].contains(other);
            if !pure && source.code.contains(&format!("crate::{other}::")) {
                breaches.push(format!("{} imports {other}", source.name));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn pure_modules_import_only_what_comes_before() {
    let position = |module: &str| ORDER.iter().position(|m| *m == module);
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|s| PURE.iter().any(|pure| s.name.starts_with(pure))) {
        for other in ORDER.iter().filter(|m| position(m) > position(&source.module)) {
            if source.code.contains(&format!("crate::{other}::")) {
                breaches.push(format!("{} imports {other}, which comes later", source.name));
            }
        }
    }
    assert!(breaches.is_empty(), "{breaches:#?}");
}

#[test]
fn only_the_store_names_sled_and_bincode() {
    let named = |s: &Source| s.module != "store" && (s.code.contains("sled::") || s.code.contains("bincode::"));
    let breaches: Vec<String> = sources().into_iter().filter(named).map(|s| s.name).collect();
    assert!(breaches.is_empty(), "{breaches:?}");
}

/// Whose methods are in more files than two: one file per kind of query, and two types of one name.
const SPREAD: &[&str] = &["Handle", "Desk"];

#[test]
fn structs_of_the_engine_are_small_and_their_methods_are_together() {
    let mut breaches = Vec::new();
    let mut files: std::collections::BTreeMap<String, std::collections::BTreeSet<String>> = Default::default();
    // Types of one name in two modules are two types: those of the actors have names of their own.
    for source in sources().iter().filter(|s| s.module == "engine" && !s.name.contains("/report")) {
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
