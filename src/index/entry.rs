//! What the tables keep of a note. For a vault of 200,000 notes these entries are most of the memory besides the
//! vectors' bits, so what a note says of itself is in one allocation and not in seven.

mod saved;

use std::fmt;

use super::packed::{LONGEST_NUMBER, PackedIter, packed_length, put_number, put_text, take_bytes};
use super::{HeadingPaths, NoteNo, Row};
use note::fingerprint::TextHash;
use note::{FileStat, OwnDays, VaultPath};

/// What the snapshot knows about a note.
#[derive(Clone, Debug)]
pub struct NoteEntry {
    /// Its number.
    pub no: NoteNo,
    /// The store's sequence number of its last change.
    pub seq: u64,
    /// Its path.
    pub path: VaultPath,
    /// Size and times when it was read.
    pub stat: FileStat,
    /// Hash of its bytes; [`TextHash::UNKNOWN`] if the file may have others by now.
    pub hash: TextHash,
    /// What it says of itself.
    pub texts: NoteTexts,
    /// The days that it names.
    pub days: OwnDays,
    /// Whether it looks like a sync conflict's copy.
    pub conflict: bool,
    /// Its chunks in order; filled in by the index.
    pub rows: ChunkRows,
    /// The headings above each chunk; filled in by [`crate::Index::put`].
    pub headings: HeadingPaths,
}

impl NoteEntry {
    /// A note of which only the path is known: its file name is its title.
    pub fn new(no: NoteNo, seq: u64, path: VaultPath) -> Self {
        NoteEntry {
            no,
            seq,
            texts: Said::<&str> { title: path.stem(), ..Said::default() }.pack(),
            path,
            stat: FileStat::default(),
            hash: TextHash::UNKNOWN,
            days: OwnDays::default(),
            conflict: false,
            rows: ChunkRows::default(),
            headings: HeadingPaths::default(),
        }
    }

    /// Its title and its other names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.title()).chain(self.aliases())
    }

    /// [`Said::title`].
    pub fn title(&self) -> &str {
        self.texts.text(TITLE)
    }

    /// [`Said::kind`].
    pub fn kind(&self) -> Option<&str> {
        self.texts.list(KIND).next()
    }

    /// [`Said::properties`].
    pub fn properties(&self) -> &str {
        self.texts.text(PROPERTIES)
    }

    /// [`Said::aliases`].
    pub fn aliases(&self) -> PackedIter<'_> {
        self.texts.list(ALIASES)
    }

    /// [`Said::tags`].
    pub fn tags(&self) -> PackedIter<'_> {
        self.texts.list(TAGS)
    }

    /// [`Said::links`].
    pub fn links(&self) -> PackedIter<'_> {
        self.texts.list(LINKS)
    }
}

/// The rows of a note's chunks, in order. They are nearly always consecutive, since a note usually comes in whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRows(Order);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Order {
    Run { first: Row, count: u32 },
    Any(Box<[Row]>),
}

impl ChunkRows {
    /// The row of the chunk at this position.
    pub fn get(&self, position: u32) -> Option<Row> {
        match &self.0 {
            Order::Run { first, count } => (position < *count).then(|| first + position),
            Order::Any(rows) => rows.get(position as usize).copied(),
        }
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = Row> {
        (0..).map_while(|position| self.get(position))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Order::Run { count, .. } => *count as usize,
            Order::Any(rows) => rows.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a row is one of these.
    pub fn contains(&self, row: Row) -> bool {
        self.iter().any(|one| one == row)
    }
}

impl Default for ChunkRows {
    fn default() -> Self {
        ChunkRows(Order::Run { first: 0, count: 0 })
    }
}

impl From<Vec<Row>> for ChunkRows {
    fn from(rows: Vec<Row>) -> Self {
        let first = rows.first().copied().unwrap_or_default();
        let is_run = rows.iter().copied().eq((first..).take(rows.len()));
        let run = is_run.then(|| u32::try_from(rows.len()).ok()).flatten();
        ChunkRows(run.map_or_else(|| Order::Any(rows.into()), |count| Order::Run { first, count }))
    }
}

/// What a note says of itself, piece by piece.
#[derive(Clone, Debug)]
pub struct Said<'a, S> {
    /// Title.
    pub title: &'a str,
    /// Kind of note.
    pub kind: Option<&'a str>,
    /// Front matter as a JSON object.
    pub properties: &'a str,
    /// Other names.
    pub aliases: &'a [S],
    /// Tags without `#`.
    pub tags: &'a [S],
    /// What its links mention ([`note::Link::mention`]), as written, without heading parts and URLs.
    pub links: &'a [S],
}

impl<S> Default for Said<'_, S> {
    fn default() -> Self {
        Said { title: "", kind: None, properties: "{}", aliases: &[], tags: &[], links: &[] }
    }
}

/// What a note says of itself, in one allocation: the parts numbered below, in order, each preceded by its length in
/// bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct NoteTexts(Box<[u8]>);

const TITLE: usize = 0;
const KIND: usize = 1;
const TAGS: usize = 2;
const ALIASES: usize = 3;
const LINKS: usize = 4;
const PROPERTIES: usize = 5;

impl<S: AsRef<str>> Said<'_, S> {
    /// Packs all of it into one allocation.
    pub fn pack(&self) -> NoteTexts {
        let lists = [self.tags, self.aliases, self.links];
        let texts = packed_length(&[self.title, self.properties]) + packed_length(self.kind.as_slice());
        let mut bytes = Vec::with_capacity(texts + lists.map(packed_length).iter().sum::<usize>() + 4 * LONGEST_NUMBER);
        put_text(self.title, &mut bytes);
        put_list(self.kind.as_slice(), &mut bytes);
        lists.into_iter().for_each(|texts| put_list(texts, &mut bytes));
        put_text(self.properties, &mut bytes);
        NoteTexts(bytes.into())
    }
}

/// Appends to `bytes` the length of the packed texts, and then the texts.
fn put_list(texts: &[impl AsRef<str>], bytes: &mut Vec<u8>) {
    put_number(packed_length(texts), bytes);
    texts.iter().for_each(|text| put_text(text.as_ref(), bytes));
}

impl NoteTexts {
    fn part(&self, at: usize) -> &[u8] {
        let mut rest = &*self.0;
        std::iter::from_fn(|| take_bytes(&mut rest)).nth(at).unwrap_or_default()
    }

    fn text(&self, part: usize) -> &str {
        std::str::from_utf8(self.part(part)).unwrap_or_default()
    }

    fn list(&self, part: usize) -> PackedIter<'_> {
        PackedIter::of(self.part(part))
    }

    /// The same, but with other links.
    #[must_use]
    pub fn with_links(&self, links: &[&str]) -> NoteTexts {
        let [tags, aliases] = [TAGS, ALIASES].map(|part| self.list(part).collect::<Vec<_>>());
        let (title, properties, kind) = (self.text(TITLE), self.text(PROPERTIES), self.list(KIND).next());
        Said { title, kind, properties, aliases: &aliases, tags: &tags, links }.pack()
    }
}

impl fmt::Debug for NoteTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [KIND, TAGS, ALIASES, LINKS].map(|part| self.list(part));
        write!(f, "{:?} {lists:?} {}", self.text(TITLE), self.text(PROPERTIES))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec(".{0,200}", 0..4)
    }

    proptest! {
        #[test]
        fn a_note_says_what_was_packed(
            title in ".{0,200}",
            kind in proptest::option::of(".{0,9}"),
            properties in ".{0,200}",
            lists in (texts(), texts(), texts(), texts()),
        ) {
            let (aliases, tags, links, others) = &lists;
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let kind = kind.as_deref();
            let texts = Said { title: &title, kind, properties: &properties, aliases, tags, links }.pack();
            let note = NoteEntry { texts, ..NoteEntry::new(1, 1, VaultPath::parse("a.md").unwrap()) };
            prop_assert_eq!((note.title(), note.kind(), note.properties()), (&*title, kind, &*properties));
            prop_assert_eq!(&note.names().collect::<Vec<_>>()[1..], &aliases[..]);
            prop_assert!(note.tags().eq(tags) && note.links().eq(links));
            let note = NoteEntry { texts: note.texts.with_links(&others), ..note };
            prop_assert!(note.title() == title && note.kind() == kind && note.tags().eq(tags) && note.links().eq(others.iter().copied()));
        }
    }

    proptest! {
        #[test]
        fn rows_are_those_that_were_given(rows in proptest::collection::vec(0u32..4, 0..6), first in 0u32..9, count in 0u32..9) {
            for rows in [rows, (first..first + count).collect()] {
                let kept = ChunkRows::from(rows.clone());
                prop_assert_eq!(kept.iter().collect::<Vec<_>>(), rows.clone());
                prop_assert_eq!((kept.len(), kept.is_empty()), (rows.len(), rows.is_empty()));
                prop_assert!((0..9).all(|row| kept.contains(row) == rows.contains(&row)));
                prop_assert!((0..9).all(|at| kept.get(at) == rows.get(at as usize).copied()));
                let mut bytes = Vec::new();
                kept.save(&mut bytes);
                prop_assert_eq!(ChunkRows::restored(&mut &bytes[..]), Some(kept));
                prop_assert_eq!(ChunkRows::restored(&mut &bytes[..bytes.len() - 1]), None);
            }
        }
    }

    #[test]
    fn a_note_of_which_nothing_is_known_is_titled_as_its_file() {
        let note = NoteEntry::new(7, 1, VaultPath::parse("a/Weekly review.md").unwrap());
        assert_eq!((note.title(), note.kind(), note.properties()), ("Weekly review", None, "{}"));
        assert_eq!(note.names().chain(note.tags()).chain(note.links()).count(), 1);
    }
}
