//! The kind of a note by its place in the vault: folder rules, and names that are a day, a week, a month or a quarter.

use super::dates::Named;
use super::{NoteRules, dates};
use crate::VaultPath;

/// The kind of the note at `path` by its place: that of the first rule that fits, else that of the date in its name.
pub(super) fn by_place(path: &VaultPath, rules: &NoteRules, named: Option<Named>) -> Option<String> {
    let ruled = rules.folders.iter().find(|(pattern, _)| fits(pattern, path)).map(|(_, kind)| kind.clone());
    ruled.or_else(|| Some(named?.kind?.to_owned()))
}

/// What the name of a note says about days, as an application is set to name notes or as people do.
pub(super) fn named(path: &VaultPath, rules: &NoteRules) -> Option<Named> {
    let set = rules.periodic.iter().find_map(|one| Some(Named { date: one.day(path)?, kind: Some(one.kind) }));
    set.or_else(|| dates::in_name(path.stem()))
}

/// Whether a rule's left side fits: a folder that holds the note, or a glob of the note's path, of a folder that holds
/// it, or (without `/`) of its file name. `*` and `?` stay within a name, `**` does not.
fn fits(pattern: &str, path: &VaultPath) -> bool {
    let pattern = pattern.trim_matches('/');
    let path = path.as_str();
    if !pattern.contains(['*', '?']) {
        return path
            .strip_prefix(pattern)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || pattern.is_empty());
    }
    let parts: Vec<&str> = pattern.split('/').collect();
    let names: Vec<&str> = path.split('/').collect();
    let by_name = parts.len() == 1 && glob(&parts, &names[names.len() - 1..]);
    by_name || (1..=names.len()).any(|length| glob(&parts, &names[..length]))
}

fn glob(parts: &[&str], names: &[&str]) -> bool {
    let name_fits =
        |part: &str, name: &str| wildcard(part.as_bytes(), name.as_bytes(), |p, c| p == c || p == b'?', b'*');
    wildcard(parts, names, name_fits, "**")
}

/// Matches with one wildcard, `star`, that stands for any run of items. Going back to the last star is
/// enough, which keeps the work at pattern × items.
fn wildcard<T: Copy + PartialEq>(pattern: &[T], items: &[T], fits: impl Fn(T, T) -> bool, star: T) -> bool {
    let (mut p, mut i, mut back) = (0, 0, None);
    while i < items.len() {
        match pattern.get(p) {
            Some(&part) if part == star => {
                back = Some((p + 1, i));
                p += 1;
            }
            Some(&part) if fits(part, items[i]) => {
                p += 1;
                i += 1;
            }
            _ => match &mut back {
                Some((after, taken)) => {
                    *taken += 1;
                    (p, i) = (*after, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|part| *part == star)
}

#[cfg(test)]
mod tests;
