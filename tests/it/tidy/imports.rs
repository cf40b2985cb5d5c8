//! Which file imports which, read off `use` trees and paths, and the circles among them.
//!
//! A file that names an item which another one re-exports imports the file of the item. A file and those below it are
//! of one concept: what goes between them does not count.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A crate's name and the modules below it.
type Path = Vec<String>;

/// What each file imports: the other file, and by what path.
pub(super) type Imports = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Default)]
struct Module {
    file: String,
    /// By the name that each has here.
    names: BTreeMap<String, Path>,
    /// Every path in it.
    paths: Vec<Path>,
    /// Modules below it that only tests have.
    tests: Vec<String>,
}

/// Reads files given by name, relative to `src/`, and text. Those that only tests have are left out.
pub(super) fn read(files: &[(&str, &str)]) -> Imports {
    let crates: BTreeSet<&str> = files.iter().filter_map(|(name, _)| name.strip_suffix("/lib.rs")).collect();
    let path = |name: &str| -> Path {
        let parts = name.trim_end_matches(".rs").split('/').filter(|part| !["lib", "mod"].contains(part));
        let program = name.split('/').next().filter(|first| !crates.contains(first)).map(|_| "situated");
        program.into_iter().chain(parts).map(str::to_owned).collect()
    };
    let mut modules: BTreeMap<Path, Module> =
        files.iter().map(|(name, text)| (path(name), Module::read(name, text))).collect();
    let below = |(path, module): (&Path, &Module)| -> Vec<Path> {
        module.tests.iter().map(|test| [&path[..], std::slice::from_ref(test)].concat()).collect()
    };
    let tests: Vec<Path> = modules.iter().flat_map(below).collect();
    modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    let mut imports = Imports::new();
    for (from, module) in &modules {
        let own: &mut BTreeMap<String, String> = imports.entry(module.file.clone()).or_default();
        for path in &module.paths {
            let to = resolve(&modules, from, path, 8);
            if let Some(to) = to.filter(|to| !from.starts_with(to) && !to.starts_with(from)) {
                own.entry(modules[to].file.clone()).or_insert_with(|| path.join("::"));
            }
        }
    }
    imports
}

/// The module that has the item of `path`, as the module `from` names it.
fn resolve<'a>(modules: &'a BTreeMap<Path, Module>, from: &Path, path: &[String], depth: usize) -> Option<&'a Path> {
    let (mut at, mut rest) = (from.clone(), path);
    while let [first, after @ ..] = rest {
        match first.as_str() {
            "crate" => at.truncate(1),
            "self" => {}
            "super" => drop(at.pop()),
            _ => {
                at.push(first.clone());
                if !modules.contains_key(&at) {
                    at.pop();
                    break;
                }
            }
        }
        rest = after;
    }
    let (found, module) = modules.get_key_value(&at)?;
    let named = rest.first().and_then(|name| module.names.get(name)).filter(|_| depth > 0);
    let through = named.and_then(|named| resolve(modules, found, &[named, &rest[1..]].concat(), depth - 1));
    through.or((rest.len() < path.len()).then_some(found))
}

impl Module {
    fn read(file: &str, text: &str) -> Self {
        let mut flat = Vec::new();
        flatten(text.parse().unwrap_or_else(|why| panic!("{file}: {why}")), &mut flat);
        let tokens: Vec<&str> = flat.iter().map(String::as_str).collect();
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let mut rest = &tokens[..];
        while let [token, after @ ..] = rest {
            rest = after;
            if *token == "#" {
                rest = module.skip_test_item(after).unwrap_or(after);
            } else if *token == "use" && after.first() != Some(&"<") {
                rest = module.tree(after, &[]);
            } else if let ["::", ..] = after {
                let mut path = vec![(*token).to_owned()];
                while let ["::", name, after @ ..] = rest {
                    path.push((*name).to_owned());
                    rest = after;
                }
                module.paths.push(path);
            }
        }
        module
    }

    /// Reads a tree of `use` below `prefix`; gives what stands behind it.
    fn tree<'a, 't>(&mut self, mut rest: &'t [&'a str], prefix: &[String]) -> &'t [&'a str] {
        let mut path = prefix.to_vec();
        let mut alias = None;
        while let [token, after @ ..] = rest {
            match *token {
                "{" => {
                    rest = after;
                    while !rest.starts_with(&["}"]) {
                        rest = self.tree(rest, &path);
                        rest = rest.strip_prefix(&[","]).unwrap_or(rest);
                    }
                    return &rest[1..];
                }
                "," | ";" | "}" => break,
                "as" => alias = after.first(),
                "::" => {}
                "self" if !path.is_empty() => {}
                name if alias.is_none() => path.push(name.to_owned()),
                _ => {}
            }
            rest = after;
        }
        if let Some(name) = alias.copied().or(path.last().map(String::as_str)) {
            self.names.insert(name.to_owned(), path.clone());
            self.paths.push(path);
        }
        rest
    }

    /// What stands behind an item that only tests have, if the attribute that `tokens` begin with says so.
    fn skip_test_item<'a, 't>(&mut self, tokens: &'t [&'a str]) -> Option<&'t [&'a str]> {
        let end = tokens.iter().position(|token| *token == "]")?;
        let (attribute, item) = tokens.split_at(end + 1);
        if !attribute.starts_with(&["[", "cfg"]) || !attribute.contains(&"test") || attribute.contains(&"not") {
            return None;
        }
        let mut depth = 0;
        let item_end = item.iter().position(|token| {
            depth += i32::from(*token == "{") - i32::from(*token == "}");
            depth < 0 || depth == 0 && ["}", ";"].contains(token)
        })?;
        if let Some(at) = item[..item_end].iter().position(|token| *token == "mod").filter(|at| at + 2 == item_end) {
            self.tests.push(item[at + 1].to_owned());
        }
        Some(&item[item_end + 1..])
    }
}

/// Names and marks in their order, without comments and literals.
fn flatten(stream: TokenStream, flat: &mut Vec<String>) {
    for token in stream {
        match token {
            TokenTree::Ident(name) => flat.push(name.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == ':' && flat.last().is_some_and(|last| last == ":") => {
                *flat.last_mut().unwrap() = "::".to_owned();
            }
            TokenTree::Punct(mark) => flat.push(mark.as_char().to_string()),
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Parenthesis | Delimiter::None => ("(", ")"),
                };
                flat.push(open.to_owned());
                flatten(group.stream(), flat);
                flat.push(close.to_owned());
            }
        }
    }
}

/// Groups of files each of which imports all others of its group, by way of others too.
pub(super) fn circles(imports: &Imports) -> BTreeSet<BTreeSet<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reached(imports, file))).collect();
    let group = |(file, far): (&&str, &BTreeSet<&'_ str>)| -> BTreeSet<&str> {
        imports
            .keys()
            .map(String::as_str)
            .filter(|other| far.contains(other) && reached[other].contains(file))
            .collect()
    };
    reached.iter().map(group).filter(|group| !group.is_empty()).collect()
}

/// All files that a file imports, by way of others too.
fn reached<'a>(imports: &'a Imports, file: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        open.extend(imports[file].keys().map(String::as_str).filter(|other| reached.insert(*other)));
    }
    reached
}
