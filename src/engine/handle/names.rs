//! The names that vaults have.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::access::{Served, in_range};
use super::{CallError, Cancel, Handle};
use index::NoteEntry;
use index::search::fold;
use note::FIELDS;
use protocol::names::{Name, NameKind, NamesAnswer, NamesRequest};

/// Names of an answer unless the request says otherwise, and at most.
const USUAL: usize = 100;
const MOST: usize = 1000;

/// Notes between two looks at the caller's [`Cancel`]: reading the properties of one may take a tenth of a millisecond.
const NOTES_PER_LOOK: usize = 32;

/// See [`Handle::names`].
pub(super) fn names(engine: &Handle, request: &NamesRequest, cancel: &Cancel) -> Result<NamesAnswer, CallError> {
    let limit = in_range("limit", request.limit.unwrap_or(USUAL), MOST)?;
    let like = request.like.as_deref().unwrap_or_default().trim();
    let like = if request.what == NameKind::Tags { like.trim_start_matches('#') } else { like };
    let wanted = Wanted(fold(like).into_owned());
    let mut notes = Vec::new();
    let mut counts = Counts::default();
    for vault in engine.served(request.vault.as_deref())?.0 {
        let served = Served::new(&vault, request.audience.is_assistant())?;
        for (seen, note) in served.snapshot.notes().enumerate() {
            if seen % NOTES_PER_LOOK == 0 {
                cancel.check()?;
            }
            if !served.shows(note) {
                continue;
            }
            match request.what {
                NameKind::Notes => notes.extend(wanted.of_note(note).map(|(fit, name)| {
                    let (path, vault) = (Some(note.path.to_string()), Some(vault.name.clone()));
                    (fit, Reverse(note.stat.mtime_ns), Name { name, notes: 1, path, vault })
                })),
                NameKind::Tags => counts.count(note.tags().flat_map(with_parents)),
                NameKind::Folders => counts.count(with_parents(note.path.folder())),
                NameKind::Types => counts.count(note.kind()),
                NameKind::Properties => {
                    let read: serde_json::Map<String, serde_json::Value> =
                        serde_json::from_str(note.properties()).unwrap_or_default();
                    let fields = read.get(FIELDS).and_then(|fields| fields.as_object());
                    let own = read.keys().filter(|name| *name != FIELDS);
                    counts.count(own.chain(fields.into_iter().flat_map(|fields| fields.keys())).map(String::as_str));
                }
            }
        }
    }
    let mut found = if request.what == NameKind::Notes { notes } else { counts.fitting(&wanted) };
    let total = found.len() as u64;
    found.sort_by(|a, b| (a.0, a.1, &a.2.name, &a.2.path).cmp(&(b.0, b.1, &b.2.name, &b.2.path)));
    Ok(NamesAnswer { names: found.into_iter().take(limit).map(|(.., name)| name).collect(), total })
}

/// The text that names must contain, as [`fold`] has it; empty if any name will do.
struct Wanted(String);

impl Wanted {
    /// How well a name fits, less is better: 0 if it begins with the text, 1 if a word of it does, 2 if it contains it;
    /// `None` if it does not fit.
    fn fit(&self, name: &str) -> Option<u8> {
        let name = fold(name);
        let at = name.find(&self.0)?;
        let begins_word = |at: usize| name[..at].ends_with(|c: char| !c.is_alphanumeric());
        Some(match at {
            0 => 0,
            _ if name.match_indices(&self.0).any(|(at, _)| begins_word(at)) => 1,
            _ => 2,
        })
    }

    /// The title or alias of a note that fits best; if none does but its path fits, its title.
    fn of_note(&self, note: &NoteEntry) -> Option<(u8, String)> {
        let fitting = note.names().filter_map(|name| Some((self.fit(name)?, name)));
        let by_name = fitting.min_by_key(|(fit, _)| *fit).map(|(fit, name)| (fit, name.to_owned()));
        by_name.or_else(|| Some((self.fit(note.path.as_str())?.max(1), note.title().to_owned())))
    }
}

/// Names that several notes may have.
#[derive(Default)]
struct Counts {
    /// Name as [`fold`] has it → how many notes have it, and how often it is written in which way.
    by_key: HashMap<String, (u64, HashMap<String, u64>)>,
}

impl Counts {
    /// Counts the names of one note, each once.
    fn count<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let mut counted: HashSet<String> = HashSet::new();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let key = fold(name).into_owned();
            if counted.insert(key.clone()) {
                let (notes, written) = self.by_key.entry(key).or_default();
                *notes += 1;
                *written.entry(name.to_owned()).or_default() += 1;
            }
        }
    }

    /// For each name: how well it fits, how many notes have it, as a sort key, and the spelling that most of them use.
    fn fitting(self, wanted: &Wanted) -> Vec<(u8, Reverse<i64>, Name)> {
        let name = |(key, (notes, written)): (String, (u64, HashMap<String, u64>))| {
            let fit = wanted.fit(&key)?;
            let (name, _) = written.into_iter().min_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)))?;
            Some((fit, Reverse(notes as i64), Name { name, notes, ..Name::default() }))
        };
        self.by_key.into_iter().filter_map(name).collect()
    }
}

/// A name with slashes, and those above it: `a/b/c`, `a/b`, `a`.
fn with_parents(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.rsplit_once('/').map(|(above, _)| above))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn names_fit_from_their_beginnings() {
        let wanted = Wanted("plan".to_owned());
        for (name, fit) in [("Plan B", Some(0)), ("The plan", Some(1)), ("Explanation", Some(2)), ("Other", None)] {
            assert_eq!(wanted.fit(name), fit, "{name}");
        }
        assert_eq!(Wanted(String::new()).fit("any"), Some(0));
    }

    #[test]
    fn the_time_for_a_notes_names_grows_with_their_number() {
        let mut counts = Counts::default();
        let names: Vec<String> = (0..150_000).map(|number| format!("tag{number}")).collect();
        let began = Instant::now();
        counts.count(names.iter().map(String::as_str));
        assert_eq!(counts.by_key.len(), names.len());
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[test]
    fn names_of_one_note_count_once_and_parents_too() {
        let mut counts = Counts::default();
        counts.count(["Work/Late", "work"].into_iter().flat_map(with_parents));
        counts.count(with_parents("work/soon"));
        let mut found = counts.fitting(&Wanted(String::new()));
        found.sort_by(|a, b| (a.1, &a.2.name).cmp(&(b.1, &b.2.name)));
        let names: Vec<_> = found.iter().map(|(.., name)| (name.name.as_str(), name.notes)).collect();
        assert_eq!(names, [("Work", 2), ("Work/Late", 1), ("work/soon", 1)]);
    }
}
