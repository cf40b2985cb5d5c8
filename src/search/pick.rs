//! Which of the ranked chunks become hits: a long note must not fill the whole answer.

use std::collections::HashMap;

use crate::index::NoteNo;

/// Takes the first `limit` of `ranked`, of each note (as `note_of` tells) at most `per_note` (at least one).
/// Also says whether more could have been taken.
pub(super) fn pick<T>(
    ranked: Vec<T>,
    note_of: impl Fn(&T) -> Option<NoteNo>,
    per_note: usize,
    limit: usize,
) -> (Vec<T>, bool) {
    let mut taken: HashMap<NoteNo, usize> = HashMap::new();
    let mut picked = Vec::with_capacity(limit.min(ranked.len()));
    for item in ranked {
        let Some(note) = note_of(&item) else { continue };
        let count = taken.entry(note).or_default();
        if *count == per_note.max(1) {
            continue;
        }
        if picked.len() == limit {
            return (picked, true);
        }
        *count += 1;
        picked.push(item);
    }
    (picked, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        // (chunk, note)
        let ranked = || vec![(1, 1), (2, 1), (3, 1), (4, 2), (5, 1), (6, 3)];
        let picked = |per_note, limit| {
            let (hits, more) = pick(ranked(), |hit: &(u32, u32)| Some(hit.1), per_note, limit);
            (hits.into_iter().map(|hit| hit.0).collect::<Vec<_>>(), more)
        };
        assert_eq!(picked(2, 10), (vec![1, 2, 4, 6], false));
        assert_eq!(picked(1, 2), (vec![1, 4], true));
        assert_eq!(picked(0, 3), (vec![1, 4, 6], false));
        assert_eq!(picked(2, 4), (vec![1, 2, 4, 6], false), "chunks beyond the note's share are not more");
        assert_eq!(picked(9, 0), (vec![], true));
        assert_eq!(pick(ranked(), |_| None, 1, 1).0, []);
    }
}
