//! Notes whose names resemble a name that no note bears: the user may have meant them.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{key, without_extension};
use crate::NoteEntry;

/// Most characters of a name that is compared for slips.
const MOST_CHARS: usize = 80;

/// The notes whose file name, title or alias resembles `name`, at most `most`, the most similar first: names with few
/// slips, then those that hold all of its words, the shortest first.
pub(in super::super) fn named_like<'a>(
    notes: impl Iterator<Item = &'a Arc<NoteEntry>>,
    name: &str,
    most: usize,
) -> Vec<&'a Arc<NoteEntry>> {
    let typed = last(&key(name));
    let few = typed.chars().count() / 4 + 1;
    if typed.is_empty() || few > MOST_CHARS / 4 {
        return Vec::new();
    }
    let words: Vec<&str> = typed.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let unlike = |name: &str| -> Option<(usize, usize)> {
        let name = last(&key(name));
        let length = name.chars().count();
        let slips = (length <= MOST_CHARS).then(|| strsim::osa_distance(&typed, &name)).filter(|slips| *slips <= few);
        let holds = || (!words.is_empty() && words.iter().all(|word| name.contains(word))).then_some(few + 1);
        Some((slips.or_else(holds)?, length))
    };
    let mut like: Vec<_> = notes
        .filter_map(|note| {
            let names = std::iter::once(note.path.file_name()).chain(note.names());
            Some((names.filter_map(unlike).min()?, Reverse(note.stat.mtime_ns), note.path.as_str(), note))
        })
        .collect();
    like.sort_unstable_by_key(|(unlike, newest, path, _)| (*unlike, *newest, *path));
    like.into_iter().take(most).map(|(.., note)| note).collect()
}

/// The last component of a path, without the extension of notes.
fn last(name: &str) -> String {
    without_extension(super::last(name)).to_owned()
}
