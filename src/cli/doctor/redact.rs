//! Makes findings fit for a public place: folders of vaults, their names, the home, the user's and the host's name are
//! replaced. Names of notes are never in a finding; if one slipped into a message, it is cut out.

use std::path::Path;

use super::facts::Facts;
use crate::cli::print::typed;
use protocol::daemon::Problem;

/// A problem of the configuration for others: where it is, and of which setting. What is wrong with a value may repeat
/// it, and keys hold names that the user gave.
pub(super) fn problem(problem: &Problem) -> String {
    let key = problem.key.as_deref().map(|key| match key.split_once('.') {
        Some((section @ ("vault" | "generation" | "team"), named)) => {
            format!("{section}.….{}", named.rsplit('.').next().unwrap_or_default())
        }
        Some(("context", named)) if named.starts_with("models.") || named.starts_with("prompt.") => {
            format!("context.{}.…", named.split('.').next().unwrap_or_default())
        }
        Some(("chunk", named)) if named.starts_with("types.") => "chunk.types.…".to_owned(),
        _ => key.to_owned(),
    });
    Problem { key, message: "what is wrong is left out here, for it may name notes".to_owned(), ..problem.clone() }
        .to_string()
}

/// Replaces names; the default leaves everything as it is.
#[derive(Default)]
pub(super) struct Redactor {
    /// In the order in which they are replaced.
    names: Vec<Hidden>,
}

/// A name that is not shown, and what stands in its place.
struct Hidden {
    name: String,
    by: String,
    /// Whether it must be a whole word: a user called `in` must not spoil the text.
    is_word: bool,
}

impl Redactor {
    /// Replaces what must not be shown of these facts.
    pub(super) fn of(facts: &Facts) -> Self {
        let mut names = Vec::new();
        // A path occurs as it is, and escaped as in a command.
        let mut path = |path: &Path, by: String| {
            names.push(Hidden { name: typed(path), by: by.clone(), is_word: false });
            names.push(Hidden { name: path.to_string_lossy().into_owned(), by, is_word: false });
        };
        for (n, vault) in (1..).zip(&facts.vaults) {
            path(&vault.path, format!("<vault {n}>"));
            path(&vault.index, format!("<index {n}>"));
        }
        for (n, orphan) in (1..).zip(&facts.orphans) {
            path(&orphan.dir, format!("<other index {n}>"));
            orphan.vault.iter().for_each(|vault| path(vault, format!("<former vault {n}>")));
        }
        if let Some(home) = &facts.home {
            path(home, "~".to_owned());
        }
        for (n, vault) in (1..).zip(&facts.vaults) {
            names.push(Hidden { name: format!("`{}`", vault.name), by: format!("<vault {n}>"), is_word: false });
        }
        names.retain(|name| name.name.len() > 1);
        // The longest first, so that none is spoiled by replacing a part of it.
        names.sort_by_key(|name| std::cmp::Reverse(name.name.len()));
        for (word, by) in [(&facts.user, "<user>"), (&facts.hostname, "<host>")] {
            let word = word.clone().filter(|word| !word.is_empty());
            names.extend(word.map(|name| Hidden { name, by: by.to_owned(), is_word: true }));
        }
        Redactor { names }
    }

    /// The text with the names replaced.
    pub(super) fn redact(&self, text: &str) -> String {
        if self.names.is_empty() {
            return text.to_owned();
        }
        let text = self.names.iter().fold(text.to_owned(), |text, name| name.replaced_in(&text));
        // A name in quotes may hold spaces.
        let quoted = |(i, part): (usize, &str)| {
            if i % 2 == 1 && is_note(part) { "<note>".to_owned() } else { without_notes(part) }
        };
        text.split('`').enumerate().map(quoted).collect::<Vec<_>>().join("`").replace("`<note>`", "<note>")
    }
}

impl Hidden {
    /// The text with the name replaced, but not where it begins a longer one: a part of that would tell the rest.
    fn replaced_in(&self, text: &str) -> String {
        let Hidden { name, by, is_word } = self;
        let is_part = |c: char| c.is_alphanumeric() || (*is_word && (c == '_' || c == '-'));
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(name.as_str()) {
            out.push_str(before);
            let is_longer = after.starts_with(is_part) || (*is_word && out.ends_with(is_part));
            // The program's own name may be the user's.
            out.push_str(if is_longer || (*is_word && name == "situated") { name } else { by });
            rest = after;
        }
        out + rest
    }
}

/// Whether it ends like the file name of a note.
fn is_note(word: &str) -> bool {
    note::Format::of(word.trim_end_matches(|c: char| !c.is_alphanumeric())).is_some()
}

/// Cuts out words that end like the file name of a note.
fn without_notes(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').map(|word| if is_note(word) { "<note>" } else { word }).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
