//! Globs in the syntax of `.gitignore`, without the files that such globs usually stand in.

use globset::{Candidate, GlobBuilder, GlobSet};

/// An ordered list of globs; the last one that matches decides.
#[derive(Clone)]
pub(super) struct Globs {
    set: GlobSet,
    rules: Vec<Rule>,
}

/// What a glob says of the paths it matches.
#[derive(Clone, Copy)]
struct Rule {
    /// It began with `!`.
    excepts: bool,
    /// It ended with `/`.
    only_folders: bool,
}

impl Globs {
    /// The globs of these lines; comments and empty lines are none.
    pub(super) fn new(lines: impl IntoIterator<Item = String>) -> Result<Self, globset::Error> {
        let mut set = GlobSet::builder();
        let mut rules = Vec::new();
        for (rule, pattern) in lines.into_iter().filter_map(|line| read(&line)) {
            let glob = GlobBuilder::new(&pattern)
                .literal_separator(true)
                .backslash_escape(true)
                .allow_unclosed_class(true)
                .build()?;
            set.add(glob);
            rules.push(rule);
        }
        Ok(Globs { set: set.build()?, rules })
    }

    /// Covers every path.
    pub(super) fn everything() -> Self {
        Globs { set: GlobSet::empty(), rules: vec![Rule { excepts: false, only_folders: false }] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether the globs cover the file `path`; if none matches it, the nearest of its folders that one matches
    /// decides.
    pub(super) fn cover(&self, path: &str) -> bool {
        if self.set.is_empty() {
            return !self.rules.is_empty();
        }
        let folders = path.rmatch_indices('/').map(|(slash, _)| &path[..slash]).chain([""]);
        self.verdict(path, false).or_else(|| folders.into_iter().find_map(|folder| self.verdict(folder, true)))
            == Some(true)
    }

    /// Whether the last glob that matches `path` covers it; `None` if no glob matches.
    fn verdict(&self, path: &str, is_folder: bool) -> Option<bool> {
        let matching = self.set.matches_candidate(&Candidate::new(path));
        let mut rules = matching.iter().rev().map(|&at| self.rules[at]);
        rules.find(|rule| is_folder || !rule.only_folders).map(|rule| !rule.excepts)
    }
}

/// What a line says, and its pattern in the syntax of `globset`.
fn read(line: &str) -> Option<(Rule, String)> {
    let line = if line.ends_with("\\ ") { line } else { line.trim_end() };
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let excepts = line.starts_with('!');
    let pattern = match line.strip_prefix('\\') {
        Some(literal) if literal.starts_with(['!', '#']) => literal,
        _ => line.strip_prefix('!').unwrap_or(line),
    };
    let (from_root, pattern) = pattern.strip_prefix('/').map_or((false, pattern), |rest| (true, rest));
    let (only_folders, pattern) = pattern.strip_suffix('/').map_or((false, pattern), |rest| {
        (true, rest.strip_suffix('\\').unwrap_or(rest)) // `\/` is a slash too
    });
    let mut pattern = pattern.to_owned();
    // A pattern without a slash applies in every folder.
    if !from_root && !pattern.contains('/') && pattern != "**" {
        pattern.insert_str(0, "**/");
    }
    // `folder/**` means everything in the folder, not the folder itself.
    if pattern.ends_with("/**") {
        pattern.push_str("/*");
    }
    Some((Rule { excepts, only_folders }, pattern))
}
