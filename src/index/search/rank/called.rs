//! Notes that a query calls by name: whoever types all of a title, a file name, an alias or a path means that note, whatever
//! its text says. Its best chunk comes first.

use super::{Part, best_of};
use crate::search::boost::BEARERS;
use crate::search::fuse::Ranked;
use crate::search::rows::RowSet;
use crate::{NoteEntry, NoteNo};

/// The notes that the whole text of the query is a name of; none if named notes are not boosted, or if too many bear it.
pub(super) fn called(part: &Part<'_>) -> Vec<NoteNo> {
    let Part { snapshot, query, options, .. } = part;
    if options.boosts.link_weight <= 0.0 {
        return Vec::new();
    }
    let text = query.text();
    let name = text.trim();
    let name = name.strip_prefix("[[").and_then(|name| name.strip_suffix("]]")).unwrap_or(name);
    let hides = |note: &NoteEntry| query.filter.hides(note);
    let mut notes: Vec<NoteNo> = spellings(name).iter().flat_map(|name| snapshot.bearing(name)).collect();
    // A heading of a note is no name, and a word without a slash or an ending no path.
    if notes.is_empty() && name.contains(['/', '.']) && !name.contains(['#', '|']) {
        notes = snapshot.meant(name, &hides);
    }
    notes.retain(|no| snapshot.note(*no).is_some_and(|note| !hides(note)));
    notes.sort_unstable();
    notes.dedup();
    if notes.len() > BEARERS { Vec::new() } else { notes }
}

/// Puts the best chunk of each called note first; the first that is allowed if no lane has found any.
pub(super) fn put_first(part: &Part<'_>, ranked: &mut Vec<Ranked>, called: &[NoteNo], allowed: Option<&RowSet>) {
    for no in called {
        if let Some(best) = best_of(part.snapshot, ranked, *no) {
            (best.score, best.boosted.name) = (1.0, 1.0);
            continue;
        }
        let mut rows = part.snapshot.note(*no).into_iter().flat_map(|note| note.rows.iter());
        if let Some(row) = rows.find(|row| allowed.is_none_or(|allowed| allowed.contains(*row))) {
            let mut first = Ranked::sure(row);
            first.boosted.name = 1.0;
            ranked.push(first);
        }
    }
}

/// How a name may be spelt: file names have hyphens or underscores where titles have blanks.
fn spellings(name: &str) -> Vec<String> {
    let words: Vec<&str> = name.split(|c: char| c.is_whitespace() || c == '-' || c == '_').collect();
    let mut spelt = vec![name.to_owned()];
    if words.iter().all(|word| !word.is_empty()) && words.len() > 1 {
        spelt.extend([" ", "-", "_"].map(|between| words.join(between)).into_iter().filter(|other| other != name));
    }
    spelt
}
