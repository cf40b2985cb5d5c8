//! Notes that a query calls by name: whoever types all of a title, a file name, an alias or a path means that note, whatever
//! its text says. Its first chunk comes first.

use super::Part;
use super::newest::newest;
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
    let in_vault = query.filter.in_vault(name);
    let name = in_vault.as_deref().unwrap_or(name);
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

/// Puts the first chunk that is allowed of each called note first, the newest note before the others. It is where a note
/// says what it is, while its best by the lanes may be a list of links to notes with names like its own.
pub(super) fn put_first(part: &Part<'_>, ranked: &mut Vec<Ranked>, called: &[NoteNo], allowed: Option<&RowSet>) {
    let notes = called.iter().filter_map(|no| part.snapshot.note(*no));
    let mut score = 1.0_f32;
    for (_, row) in newest(notes, allowed, &part.query) {
        let known = ranked.iter().position(|hit| hit.candidate.row == row);
        let at = known.unwrap_or_else(|| {
            ranked.push(Ranked::sure(row));
            ranked.len() - 1
        });
        (ranked[at].score, ranked[at].boosted.name) = (score, 1.0);
        score = score.next_down();
    }
}

/// How a name may be spelt: file names have hyphens or underscores where titles have blanks.
fn spellings(name: &str) -> Vec<String> {
    let words = name.split(|c: char| c.is_whitespace() || c == '-' || c == '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let mut spelt = vec![name.to_owned()];
    if words.len() > 1 {
        spelt.extend([" ", "-", "_"].map(|between| words.join(between)).into_iter().filter(|other| other != name));
    }
    spelt
}
