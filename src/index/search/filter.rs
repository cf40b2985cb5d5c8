//! Which notes may answer: conditions on the notes table, made into a set of rows before any lane looks
//! for its best, so that a narrow filter never starves an answer.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use strum::{EnumString, IntoStaticStr, VariantNames};
use unicode_normalization::UnicodeNormalization;

use super::dates::{FORMS, days, period};
use super::fold::fold;
use super::pattern::PathPattern;
use super::property::Property;
use super::rows::RowSet;
use crate::{Cancel, LexicalError, NoteEntry, NoteNo, Snapshot};
use note::Private;

/// Notes that are tested between two checks of the caller's [`Cancel`]: reading the properties of one may take a tenth
/// of a millisecond.
const NOTES_PER_LOOK: usize = 32;

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", ascii_case_insensitive)]
pub enum Key {
    /// Tag of the note; `a` also means `a/b`.
    Tag,
    /// Folder, note, or glob.
    Path,
    /// Kind of note.
    Type,
    /// The note's vault, or the team that has it.
    Vault,
    /// A note that is linked to.
    Link,
    /// A note that links.
    LinkedFrom,
    /// The note's day, from this day on.
    After,
    /// The note's day, before this day.
    Before,
    /// The note's day, within a period.
    #[strum(to_string = "on", serialize = "in")]
    On,
    /// The same, within the last whole week, month, …
    Last,
    /// The day on which it was made, as far as the note says so: within a period, or with `>` and `<` after and before.
    Created,
    /// The day of the last modification, in the same way.
    Modified,
}

impl Key {
    /// As it is typed.
    fn name(self) -> &'static str {
        self.into()
    }

    /// Whether its values are days.
    pub(super) fn is_day(self) -> bool {
        matches!(self, Key::After | Key::Before | Key::On | Key::Last | Key::Created | Key::Modified)
    }
}

/// Days from `from` on, before `to`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Days {
    from: Option<Date>,
    to: Option<Date>,
    /// Whether today is the last of them.
    up_to_today: bool,
}

impl Days {
    fn narrow(&mut self, from: Option<Date>, to: Option<Date>, today: Date) {
        self.from = self.from.max(from);
        self.to = match (self.to, to) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.up_to_today = self.to.is_some_and(|to| to.yesterday().ok() == Some(today));
    }

    /// Narrows by a condition as typed: a period, or `>`, `>=`, `<`, `<=` and one.
    fn compare(&mut self, value: &str, today: Date) -> Result<(), String> {
        let signed = ["<=", ">=", "<", ">"].iter().find_map(|sign| Some((*sign, value.strip_prefix(sign)?)));
        let (sign, rest) = signed.unwrap_or(("", value));
        let (start, end) = read(if sign.is_empty() { period } else { days }, rest, today)?;
        let (from, to) = match sign {
            "<" => (None, Some(start)),
            "<=" => (None, Some(end)),
            ">" => (Some(end), None),
            ">=" => (Some(start), None),
            _ => (Some(start), Some(end)),
        };
        self.narrow(from, to, today);
        Ok(())
    }

    /// As it could be typed; `from` and `to` are what precedes each end.
    fn typed(self, from: &str, to: &str) -> String {
        let ends = [self.from.map(|day| format!("{from}{day}")), self.to.map(|day| format!("{to}{day}"))];
        ends.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn contain(self, day: Date) -> bool {
        self.from.is_none_or(|from| day >= from) && self.to.is_none_or(|to| day < to)
    }

    /// For days that a clock told, not a note: one that is a little ahead, or in another time zone, must not hide the note
    /// that was saved a moment ago.
    fn of_clocks(self) -> Days {
        let later = |to: Date| if self.up_to_today { to.tomorrow().unwrap_or(to) } else { to };
        Days { to: self.to.map(later), ..self }
    }
}

/// Keys of which a note has one value, so that of several conditions one is enough.
const EITHER: [Key; 3] = [Key::Path, Key::Type, Key::Vault];

/// Conditions that a note must meet. All of them count; of several `path:` (of several `type:`, of several `vault:`) one
/// is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    with: Vec<(Key, String)>,
    without: Vec<(Key, String)>,
    /// Conditions on properties; `false` for those that must not hold.
    properties: Vec<(bool, Property)>,
    day: Days,
    created: Days,
    modified: Days,
    /// Zone in which the day of a modification time is reckoned; UTC unless set.
    pub zone: TimeZone,
    /// Name of the vault whose notes are tested; unless it is set, conditions on the vault are not.
    vault: Option<String>,
    /// Notes that are hidden from the asker.
    pub hidden: Option<Arc<Private>>,
}

/// Conditions in the form in which an engine elsewhere can apply them; all of them count. Texts are in lower case, each
/// composed and decomposed: the engine has them in the form in which they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Tags, each with those nested under it: of each one of its spellings.
    pub tags: Vec<Vec<String>>,
    /// Notes and folders, notes with each ending that they may have; if there are any, one of them is enough.
    pub paths: Vec<String>,
    /// Kinds of notes; if there are any, one of them is enough.
    pub kinds: Vec<String>,
    /// Days from the first on, before the second.
    pub days: (Option<Date>, Option<Date>),
    /// Tags, paths and kinds that a note must not have.
    pub without: [Vec<String>; 3],
    /// Whether no condition was left out: those left out are tested on what the engine returns.
    pub is_all: bool,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            with: Vec::new(),
            without: Vec::new(),
            properties: Vec::new(),
            day: Days::default(),
            created: Days::default(),
            modified: Days::default(),
            zone: TimeZone::UTC,
            vault: None,
            hidden: None,
        }
    }
}

impl Filter {
    /// The notes of these days, from the first on, before the second.
    pub(super) fn on_days(from: Date, to: Option<Date>, zone: TimeZone) -> Self {
        Filter { day: Days { from: Some(from), to, up_to_today: false }, zone, ..Filter::default() }
    }

    /// The conditions that an engine elsewhere can apply: not those on links, creation, modification, properties and
    /// globs.
    pub fn elsewhere(&self) -> Elsewhere {
        let globs = self.with.iter().any(|(key, value)| *key == Key::Path && paths_below(value).is_none());
        let mut found = Elsewhere {
            days: (self.day.from, self.day.of_clocks().to),
            is_all: !globs && self.created == Days::default() && self.modified == Days::default(),
            ..Elsewhere::default()
        };
        for (conditions, without) in [(&self.with, false), (&self.without, true)] {
            for (key, value) in conditions {
                let [tags, paths, kinds] = &mut found.without;
                match (key, without) {
                    (Key::Tag, true) => tags.extend(spellings(value)),
                    (Key::Tag, false) => found.tags.push(spellings(value)),
                    (Key::Type, true) => kinds.extend(spellings(value)),
                    (Key::Type, false) => found.kinds.extend(spellings(value)),
                    (Key::Path, true) => match paths_below(value) {
                        Some(below) => paths.extend(below),
                        None => found.is_all = false,
                    },
                    // One of several paths is enough, so none of them can be applied there without the globs among
                    // them.
                    (Key::Path, false) if !globs => found.paths.extend(paths_below(value).unwrap_or_default()),
                    // Whether a team is asked at all depends on its name; its vaults are told apart in what it returns.
                    (Key::Vault, _) if !value.contains('/') => {}
                    _ => found.is_all = false,
                }
            }
        }
        found
    }

    /// Conditions, as typed, that cannot be tested on what an engine elsewhere tells of its notes: those on properties,
    /// and on the links of a note that may not be among them.
    pub fn unknown_elsewhere(&self) -> Vec<String> {
        let properties = self.properties.iter().map(|(_, property)| property.named());
        let links = self.with.iter().chain(&self.without).filter(|(key, _)| *key == Key::LinkedFrom);
        properties.chain(links.map(|(key, value)| format!("{}:{value}", key.name()))).collect()
    }

    /// The numbers of the notes that pass; the notes were found elsewhere, and their links are paths.
    pub(super) fn pass<'a>(&self, notes: impl Iterator<Item = &'a NoteEntry> + Clone) -> HashSet<NoteNo> {
        let compiled = Compiled::new(self, |_, target| {
            let target = fold(target);
            let names = |link: &str| {
                let whole = fold(link).into_owned();
                let bare = note::format::without_ending(&whole);
                [whole.as_str(), bare, bare.rsplit('/').next().unwrap_or(bare)].contains(&&*target)
            };
            Some(notes.clone().filter(|note| note.links().any(names)).map(|note| note.no).collect())
        });
        notes.clone().filter(|note| compiled.admits(note) && !self.hides(note)).map(|note| note.no).collect()
    }

    /// Adds a condition, as typed in a query or given as a parameter; `today` is what relative dates are
    /// reckoned from. On an error, which says what was expected, the filter is as it was.
    pub fn add(&mut self, key: Key, value: &str, today: Date) -> Result<(), String> {
        let value = value.trim();
        match key {
            Key::Tag | Key::Path | Key::Type | Key::Vault | Key::Link | Key::LinkedFrom => {
                push_new(&mut self.with, (key, checked(key, value)?));
            }
            Key::After => self.day.narrow(Some(read(period, value, today)?.0), None, today),
            Key::Before => self.day.narrow(None, Some(read(period, value, today)?.0), today),
            Key::On | Key::Last => {
                let last = if key == Key::Last { "last " } else { "" };
                let (start, end) = read(period, &format!("{last}{value}"), today)?;
                self.day.narrow(Some(start), Some(end), today);
            }
            Key::Created => self.created.compare(value, today)?,
            Key::Modified => self.modified.compare(value, today)?,
        }
        Ok(())
    }

    /// Adds a condition that a note must *not* meet. Dates are refused: `before` is the opposite of `after`.
    pub fn add_not(&mut self, key: Key, value: &str) -> Result<(), String> {
        match key {
            Key::Tag | Key::Path | Key::Type | Key::Vault | Key::Link | Key::LinkedFrom => {
                push_new(&mut self.without, (key, checked(key, value.trim())?));
                Ok(())
            }
            _ => Err(format!("`NOT {}:{value}` leaves out days, `-` does not", key.name())),
        }
    }

    /// Adds a condition on a property: that it holds `value`, which may begin with `>`, `<`, `>=` or `<=`, may be `*`
    /// for any or `null` for none, and may be several with ` OR ` between. `holds` says whether the condition must
    /// hold, or must not; `typed` is how messages quote it.
    pub fn add_property(&mut self, typed: &str, named: (&str, &str), holds: bool, today: Date) -> Result<(), String> {
        self.properties.push((holds, Property::new(typed, named, today)?));
        Ok(())
    }

    /// Whether every note passes.
    pub fn is_empty(&self) -> bool {
        self.asks_nothing() && self.hidden.is_none()
    }

    /// Whether there are no conditions: every note passes that is not hidden.
    pub fn asks_nothing(&self) -> bool {
        let Filter { with, without, properties, day, created, modified, zone: _, vault: _, hidden: _ } = self;
        let named = with.is_empty() && without.is_empty() && properties.is_empty();
        named && [day, created, modified].iter().all(|days| **days == Days::default())
    }

    /// The same conditions on notes of the same vault, as the asker of `other` sees them.
    #[must_use]
    pub(super) fn asked_as(self, other: &Filter) -> Filter {
        Filter { zone: other.zone.clone(), vault: other.vault.clone(), hidden: other.hidden.clone(), ..self }
    }

    /// Has it test the notes of this vault; with `settle` conditions on the vault that are met are left out.
    pub(super) fn of_vault(&mut self, name: &str, settle: bool) {
        if settle && self.admits_vault(name) {
            self.with.retain(|(key, _)| *key != Key::Vault);
            self.without.retain(|(key, _)| *key != Key::Vault);
        }
        self.vault = Some(name.to_owned());
    }

    /// Whether notes of this vault may pass.
    pub fn admits_vault(&self, name: &str) -> bool {
        let mut wanted = vaults(&self.with).peekable();
        (wanted.peek().is_none() || wanted.any(|value| is_vault(value, name)))
            && !vaults(&self.without).any(|value| is_vault(value, name))
    }

    /// Whether notes of one of this team's vaults may pass.
    pub fn admits_team(&self, name: &str) -> bool {
        let mut wanted = vaults(&self.with).peekable();
        (wanted.peek().is_none() || wanted.any(|value| is_vault(name, value)))
            && !vaults(&self.without).any(|value| is_vault(value, name))
    }

    /// The names that `vault:` and `-vault:` give.
    pub fn vaults(&self) -> impl Iterator<Item = &str> {
        vaults(&self.with).chain(vaults(&self.without))
    }

    /// Each condition as a separate filter, and as it could be typed; conditions of which one is enough stay together.
    pub(super) fn parts(&self) -> Vec<(String, Filter)> {
        let typed = |(key, value): &(Key, String), not: &str| {
            let quote = if value.contains(char::is_whitespace) { "\"" } else { "" };
            format!("{not}{}:{quote}{value}{quote}", key.name())
        };
        let mut parts: Vec<(String, Filter)> = Vec::new();
        let mut part = |name: String, filter: Filter| {
            parts.push((name, Filter { zone: self.zone.clone(), vault: self.vault.clone(), ..filter }));
        };
        for either in EITHER {
            let with: Vec<_> = self.with.iter().filter(|(key, _)| *key == either).cloned().collect();
            let names: Vec<String> = with.iter().map(|condition| typed(condition, "")).collect();
            if !with.is_empty() {
                part(names.join(" or "), Filter { with, ..Filter::default() });
            }
        }
        for condition in self.with.iter().filter(|(key, _)| !EITHER.contains(key)) {
            part(typed(condition, ""), Filter { with: vec![condition.clone()], ..Filter::default() });
        }
        for condition in &self.without {
            part(typed(condition, "-"), Filter { without: vec![condition.clone()], ..Filter::default() });
        }
        for (holds, property) in &self.properties {
            let name = format!("{}{}", if *holds { "" } else { "-" }, property.typed);
            part(name, Filter { properties: vec![(*holds, property.clone())], ..Filter::default() });
        }
        let Filter { day, created, modified, .. } = *self;
        let days = [
            (day.typed("after:", "before:"), Filter { day, ..Filter::default() }),
            (created.typed("created:>=", "created:<"), Filter { created, ..Filter::default() }),
            (modified.typed("modified:>=", "modified:<"), Filter { modified, ..Filter::default() }),
        ];
        days.into_iter().filter(|(name, _)| !name.is_empty()).for_each(|(name, filter)| part(name, filter));
        parts
    }

    /// Whether this note is hidden from the asker.
    pub(super) fn hides(&self, note: &NoteEntry) -> bool {
        self.hidden.as_ref().is_some_and(|hidden| hidden.covers(&note.path, note.tags()))
    }

    /// The rows of the notes that pass; `None` if there is no condition.
    ///
    /// # Errors
    /// `cancel` is raised.
    pub(super) fn rows(&self, snapshot: &Snapshot, cancel: &Cancel) -> Result<Option<RowSet>, LexicalError> {
        if self.is_empty() {
            return Ok(None);
        }
        let notes = self.notes(snapshot, cancel)?;
        Ok(Some(RowSet::of(snapshot.rows(), notes.into_iter().flat_map(|note| note.rows.iter()))))
    }

    /// The notes that pass.
    ///
    /// # Errors
    /// `cancel` is raised.
    pub fn notes<'a>(&self, snapshot: &'a Snapshot, cancel: &Cancel) -> Result<Vec<&'a NoteEntry>, LexicalError> {
        let hides = |note: &NoteEntry| self.hides(note);
        let compiled = Compiled::new(self, |key, target| match key {
            Key::LinkedFrom => Some(linked(snapshot, target, &hides)),
            _ => linking(snapshot, target, &hides, cancel),
        });
        let mut notes = Vec::new();
        for (seen, note) in snapshot.notes().enumerate() {
            if seen % NOTES_PER_LOOK == 0 {
                cancel.check()?;
            }
            if compiled.admits(note) && !self.hides(note) {
                notes.push(&**note);
            }
        }
        Ok(notes)
    }
}

/// A text in lower case, composed, and decomposed if that is another form.
fn spellings(text: &str) -> Vec<String> {
    let composed = fold(text).into_owned();
    let decomposed: String = composed.nfd().collect();
    if decomposed == composed { vec![composed] } else { vec![composed, decomposed] }
}

/// What a condition on a path names, in each spelling: a folder, and notes with each ending; `None` for a glob.
fn paths_below(value: &str) -> Option<Vec<String>> {
    let Some(PathPattern::Prefix(prefix)) = PathPattern::new(value) else { return None };
    let with_endings = |path: String| {
        let notes: Vec<String> = note::format::endings().map(|ending| format!("{path}{ending}")).collect();
        notes.into_iter().chain([path])
    };
    Some(spellings(&prefix).into_iter().flat_map(with_endings).collect())
}

/// Adds a condition that is not there yet: a link is looked up in every note that has one of its name.
fn push_new(conditions: &mut Vec<(Key, String)>, condition: (Key, String)) {
    if !conditions.contains(&condition) {
        conditions.push(condition);
    }
}

/// A folded value; tags may be typed with their `#`, links with their brackets.
fn checked(key: Key, value: &str) -> Result<String, String> {
    let bare = match key {
        Key::Tag => value.trim_start_matches('#').trim_matches('/'),
        Key::Link | Key::LinkedFrom => value.trim_start_matches('[').trim_end_matches(']'),
        _ => value,
    };
    if bare.is_empty() || (key == Key::Path && PathPattern::new(bare).is_none()) {
        return Err("a value is missing".to_owned());
    }
    Ok(bare.to_owned())
}

/// The values of conditions on the vault.
fn vaults(conditions: &[(Key, String)]) -> impl Iterator<Item = &str> {
    conditions.iter().filter(|(key, _)| *key == Key::Vault).map(|(_, value)| value.as_str())
}

/// Whether `value`, as typed, names this vault, or the team of a vault that is called `TEAM/VAULT`.
pub fn is_vault(value: &str, name: &str) -> bool {
    let (value, name) = (fold(value), fold(name));
    name.strip_prefix(&*value).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn read(of: fn(&str, Date) -> Option<(Date, Date)>, value: &str, today: Date) -> Result<(Date, Date), String> {
    of(value, today).ok_or_else(|| format!("`{value}` is not a date; write {FORMS}"))
}

/// The notes that link to a note that `target` names; `None` if it names none, or hidden ones alone.
fn linking(
    snapshot: &Snapshot,
    target: &str,
    hides: &impl Fn(&NoteEntry) -> bool,
    cancel: &Cancel,
) -> Option<HashSet<NoteNo>> {
    let named = snapshot.meant(target, hides);
    // Once `cancel` is raised the search ends, whatever these are.
    (!named.is_empty()).then(|| snapshot.linking(&named, cancel).into_iter().collect())
}

/// The notes that those of this name link to, but for themselves; none if there is no such note.
fn linked(snapshot: &Snapshot, name: &str, hides: &impl Fn(&NoteEntry) -> bool) -> HashSet<NoteNo> {
    let named = snapshot.meant(name, hides).into_iter().filter_map(|no| snapshot.note(no));
    let of_note = |note: &NoteEntry| {
        let targets = note.links().filter_map(|target| snapshot.resolve(target, &note.path));
        targets.filter(|other| *other != note.no).collect::<Vec<_>>()
    };
    named.flat_map(|note| of_note(note)).collect()
}

/// One condition, ready to be asked about many notes.
enum Check {
    Tag(String),
    Path(PathPattern),
    Type(String),
    /// Whether the notes' vault is the one that is named.
    Vault(bool),
    Linking(HashSet<NoteNo>),
    /// A target that names no note (yet): it is compared with the links as they are written.
    Written(String),
}

impl Check {
    fn new(key: Key, value: &str, notes: &impl Fn(Key, &str) -> Option<HashSet<NoteNo>>) -> Option<Self> {
        match key {
            Key::Tag => Some(Check::Tag(fold(value).into_owned())),
            Key::Path => PathPattern::new(value).map(Check::Path),
            Key::Type => Some(Check::Type(fold(value).into_owned())),
            Key::Link | Key::LinkedFrom => Some(match notes(key, value) {
                Some(notes) => Check::Linking(notes),
                None => Check::Written(fold(value).into_owned()),
            }),
            Key::Vault | Key::After | Key::Before | Key::On | Key::Last | Key::Created | Key::Modified => None,
        }
    }

    fn holds(&self, note: &NoteEntry) -> bool {
        match self {
            Check::Tag(tag) => note.tags().any(|have| {
                fold(have).strip_prefix(tag.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
            Check::Path(pattern) => pattern.matches(note.path.as_str()),
            Check::Type(kind) => note.kind().is_some_and(|have| fold(have) == kind.as_str()),
            Check::Vault(is_it) => *is_it,
            Check::Linking(notes) => notes.contains(&note.no),
            Check::Written(target) => note.links().any(|link| fold(crate::links::sides(link).0) == target.as_str()),
        }
    }
}

/// A filter with its patterns compiled and its links resolved.
struct Compiled<'a> {
    /// Of each group one check must hold.
    groups: Vec<Vec<Check>>,
    /// None of these may hold.
    without: Vec<Check>,
    properties: &'a [(bool, Property)],
    day: Days,
    created: Days,
    modified: Days,
    zone: &'a TimeZone,
}

impl<'a> Compiled<'a> {
    fn new(filter: &'a Filter, notes: impl Fn(Key, &str) -> Option<HashSet<NoteNo>>) -> Self {
        let check = |(key, value): &(Key, String)| match (key, &filter.vault) {
            (Key::Vault, vault) => vault.as_ref().map(|name| Check::Vault(is_vault(value, name))),
            (key, _) => Check::new(*key, value, &notes),
        };
        let either = |wanted: Key| filter.with.iter().filter(|(key, _)| *key == wanted).filter_map(check).collect();
        let mut groups: Vec<Vec<Check>> = EITHER.map(either).into();
        let each = filter.with.iter().filter(|(key, _)| !EITHER.contains(key));
        groups.extend(each.filter_map(check).map(|check| vec![check]));
        groups.retain(|group| !group.is_empty());
        let without = filter.without.iter().filter_map(check).collect();
        let Filter { properties, day, created, modified, zone, .. } = filter;
        Compiled { groups, without, properties, day: *day, created: *created, modified: *modified, zone }
    }

    fn admits(&self, note: &NoteEntry) -> bool {
        let day = if note.days.about.is_some() { self.day } else { self.day.of_clocks() };
        (self.day == Days::default() || day.contain(day_of(note, self.zone)))
            && (self.created == Days::default() || note.days.made().is_some_and(|day| self.created.contain(day)))
            && (self.modified == Days::default() || self.modified.of_clocks().contain(modified_on(note, self.zone)))
            && self.groups.iter().all(|group| group.iter().any(|check| check.holds(note)))
            && !self.without.iter().any(|check| check.holds(note))
            // Last, because properties have to be read.
            && self.properties.iter().all(|(holds, property)| property.holds(note.properties()) == *holds)
    }
}

/// The day that a note is about; a living page, which is about none, has that of its last change.
pub fn day_of(note: &NoteEntry, zone: &TimeZone) -> Date {
    note.days.about.unwrap_or_else(|| note.days.created.max(Some(modified_on(note, zone))).unwrap_or_default())
}

/// The day of the last change: of the file, or a later one that the note names.
fn modified_on(note: &NoteEntry, zone: &TimeZone) -> Date {
    // Seconds of nanoseconds in an i64 span the years 1677 to 2262: always a valid time.
    let time = jiff::Timestamp::from_second(mtime_seconds(note)).unwrap_or_default();
    let of_file = zone.to_datetime(time).date();
    note.days.modified.map_or(of_file, |told| told.max(of_file))
}

/// Modification time of a note in whole seconds since 1970 (UTC).
pub(super) fn mtime_seconds(note: &NoteEntry) -> i64 {
    note.stat.mtime_ns.div_euclid(1_000_000_000)
}

#[cfg(test)]
mod tests;
