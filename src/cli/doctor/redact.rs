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

/// Replaces names.
pub(super) struct Redactor {
    /// Names and their replacements; the longest first, so that none is spoiled by replacing a part of it.
    names: Vec<(String, String)>,
    /// Whole words only: a user called `in` must not spoil the text.
    words: Vec<(String, &'static str)>,
}

impl Redactor {
    /// Leaves everything as it is.
    pub(super) fn none() -> Self {
        Redactor { names: Vec::new(), words: Vec::new() }
    }

    /// Replaces what must not be shown of these facts.
    pub(super) fn of(facts: &Facts) -> Self {
        let mut names = Vec::new();
        // A path occurs as it is, and escaped as in a command.
        let mut path = |path: &Path, by: String| {
            names.push((typed(path), by.clone()));
            names.push((path.to_string_lossy().into_owned(), by));
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
        let vaults = (1..).zip(&facts.vaults);
        names.extend(vaults.map(|(n, vault)| (format!("`{}`", vault.name), format!("<vault {n}>"))));
        names.retain(|(name, _)| name.len() > 1);
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let words = [(&facts.user, "<user>"), (&facts.hostname, "<host>")];
        let words = words.into_iter().filter_map(|(name, by)| Some((name.clone()?, by)));
        Redactor { names, words: words.filter(|(name, _)| !name.is_empty()).collect() }
    }

    /// The text with the names replaced.
    pub(super) fn redact(&self, text: &str) -> String {
        if self.names.is_empty() && self.words.is_empty() {
            return text.to_owned();
        }
        let mut text = self.names.iter().fold(text.to_owned(), |text, (name, by)| replace_name(&text, name, by));
        for (name, by) in &self.words {
            text = replace_word(&text, name, by);
        }
        // A name in quotes may hold spaces.
        let quoted = |(i, part): (usize, &str)| {
            if i % 2 == 1 && is_note(part) { "<note>".to_owned() } else { without_notes(part) }
        };
        text.split('`').enumerate().map(quoted).collect::<Vec<_>>().join("`").replace("`<note>`", "<note>")
    }
}

/// Replaces a name, but not where it begins a longer one: a part of that would tell the rest.
fn replace_name(text: &str, name: &str, by: &str) -> String {
    let mut parts = text.split(name);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|c: char| c.is_alphanumeric());
        out.push_str(if goes_on { name } else { by });
        out.push_str(part);
    }
    out
}

fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
        let inside = part(before.chars().next_back().or(out.chars().next_back())) || part(after.chars().next());
        // The program's own name may be the user's.
        out.push_str(before);
        out.push_str(if inside || word == "situated" { word } else { by });
        rest = after;
    }
    out + rest
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
