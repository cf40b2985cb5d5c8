//! From ranked chunks to [`Hit`]s: the only step of a search that reads text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use note::{Format, PARTED};

use super::filter::mtime_seconds;
use super::gather::{Found, Limits, Source, gather};
use super::query::LinePattern;
use super::snippet::{Analyze, MATCHED, Snippet, snippet};
use super::trail::trail;
use super::window::Place;
use super::{Also, Hit, Lanes, LinkDirection, MAX_HITS, Options};
use crate::analyze::{Initials, Kind, each_word_of};
use crate::documents::Texts;
use crate::properties;
use crate::query::{Form, beginnings};
use crate::{ChunkEntry, LexicalError, LexicalQuery, NoteEntry, NoteNo, Row, Snapshot, terms};

/// Matches of a regular expression that snippets are chosen by.
const MOST_MATCHES: usize = 100;

/// A ranked chunk.
#[derive(Clone, Debug)]
pub(super) struct Pick {
    pub(super) row: Row,
    pub(super) score: f32,
    pub(super) lanes: Option<Lanes>,
    /// Of a chunk near a note: how the two notes are linked, if they are.
    pub(super) link: Option<Option<LinkDirection>>,
}

/// Makes the hits of one answer.
pub(super) struct Maker<'a> {
    reader: Reader<'a>,
    vault: &'a str,
    options: &'a Options,
    /// Normal forms of the query's words.
    terms: Vec<Form>,
    /// The first letters of the terms.
    initials: Initials,
    /// Those that are single characters of a script without spaces: they match what begins with them.
    singles: Vec<String>,
    /// Regular expressions whose matches are shown like words.
    patterns: Vec<LinePattern>,
    /// Phrases: where one stands counts more than where its words do.
    phrases: Vec<String>,
    /// See [`Ranking::run`](super::ranking::Ranking).
    pub(super) run: Option<String>,
    /// The query's words, as the lexical lane was asked for them.
    asked: LexicalQuery,
}

impl<'a> Maker<'a> {
    /// `text`, regular expressions and phrases are what highlights and snippets are chosen for; may be empty.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        vault: &'a str,
        (text, patterns, phrases): (&str, Vec<LinePattern>, Vec<String>),
        options: &'a Options,
    ) -> Result<Self, LexicalError> {
        let terms = snapshot.forms(text)?;
        let initials = Initials::of(terms.iter().map(|form| form.text.as_str()));
        let is_single = |Form { text, .. }: &Form| !text.is_ascii() && text.chars().nth(1).is_none();
        let singles = if terms.iter().any(is_single) { beginnings(text) } else { Vec::new() };
        let reader = Reader { snapshot, notes: HashMap::new(), packs: HashMap::new() };
        let asked = LexicalQuery { words: text.to_owned(), expansion: options.expansion(), ..LexicalQuery::default() };
        Ok(Maker { reader, vault, options, terms, initials, singles, patterns, phrases, run: None, asked })
    }

    /// The hits, and whether there would be more. Chunks that the snapshot does not have are passed over.
    pub(super) fn hits(mut self, ranked: impl IntoIterator<Item = Pick>) -> Result<(Vec<Hit>, bool), LexicalError> {
        let Options { limit, per_note, window_chars: chars, merge, .. } = *self.options;
        let limits = Limits { windows: limit.min(MAX_HITS), per_note, chars, merge };
        let (found, more) = gather(ranked, &limits, &mut self.reader)?;
        Ok((found.into_iter().filter_map(|found| self.hit(found)).collect(), more))
    }

    fn hit(&self, found: Found<Pick>) -> Option<Hit> {
        let Found { best: Pick { row, score, lanes, link }, also, window } = found;
        let snapshot = self.reader.snapshot;
        let (chunk, note) = placed(snapshot, row)?;
        let texts = self.reader.known(chunk.note, chunk.position)?;
        let (language, (text, context)) = (texts.language, texts.get(chunk.position)?);
        let Maker { patterns, phrases, singles, initials, .. } = self;
        // Other chunks need not be looked through for it.
        let run = self.run.as_ref().filter(|_| lanes.as_ref().is_none_or(|lanes| lanes.boosts.all_words > 0.0));
        let analyze = |text: &str, each: &mut dyn FnMut(Range<usize>, &str)| {
            each_word_of(text, Some(language), Some(*initials), |token, kind| {
                let range = token.offset_from..token.offset_to;
                let single =
                    singles.iter().find(|single| kind == Kind::Pair && token.text.starts_with(single.as_str()));
                match (single, text[range.clone()].chars().next()) {
                    (Some(single), Some(c)) => each(range.start..range.start + c.len_utf8(), single),
                    _ => each(range, &token.text),
                }
            });
            for pattern in patterns {
                pattern.pattern().ranges(text, MOST_MATCHES).into_iter().for_each(|range| each(range, MATCHED));
            }
            for phrase in phrases.iter().chain(run) {
                terms::runs(text, phrase, language).into_iter().for_each(|range| each(range, MATCHED));
            }
        };
        let counting = self.terms.iter().filter(|form| form.counts_in(language)).map(|form| form.text.as_str());
        let matched = (!patterns.is_empty() || !phrases.is_empty() || run.is_some()).then_some(MATCHED);
        let terms: HashSet<&str> = counting.chain(matched).collect();
        let mut passage = snippet(text, note.path.format(), &terms, &analyze);
        let mut match_line = (chunk.lines.0 + passage.lines_before).min(chunk.lines.1);
        if let Some((is_property, said)) = said_besides(note, chunk.position, &terms, &passage, &analyze) {
            // The properties stand at the top.
            match_line = if is_property { 1 } else { match_line };
            passage = said;
        }
        let also = also.into_iter().filter_map(|pick| {
            let chunk = snapshot.chunk(pick.row)?;
            let (line, end_line) = chunk.lines;
            Some(Also { chunk: chunk.id.to_string(), line, end_line, score: pick.score.clamp(0.0, 1.0) })
        });
        Some(Hit {
            vault: self.vault.to_owned(),
            line: chunk.lines.0,
            end_line: chunk.lines.1,
            match_line,
            heading_path: trail(note.headings.get(chunk.position), note.title(), passage.headings),
            score: score.clamp(0.0, 1.0),
            snippet: passage.text,
            highlights: passage.highlights,
            text: text.to_owned(),
            window: window.text,
            window_lines: window.lines,
            chunk: chunk.id.to_string(),
            also: also.collect(),
            has_context: !context.is_empty(),
            context: if self.options.contextual { context.to_owned() } else { String::new() },
            stale: false,
            linked: link.map(|link| link.is_some()),
            link: link.flatten(),
            lanes: lanes.filter(|_| self.options.explain).map(|lanes| self.explained(lanes, row)),
            ..of_note(note)
        })
    }
}

/// A hit with the fields of its note; those of its chunk are empty.
pub(super) fn of_note(note: &NoteEntry) -> Hit {
    Hit {
        path: note.path.as_str().to_owned(),
        title: note.title().to_owned(),
        kind: note.kind().map(str::to_owned),
        tags: note.tags().to_vec(),
        date: note.days.day().map(|day| day.to_string()),
        created: note.days.created.map(|day| day.to_string()),
        modified: note.days.modified.map(|day| day.to_string()),
        mtime: mtime_seconds(note),
        ..Hit::default()
    }
}

impl Maker<'_> {
    /// What the lanes said, with the query's words that are in what a model wrote beside the chunk's context: the
    /// passage does not show them. If they cannot be read, the answer does without.
    fn explained(&self, lanes: Lanes, row: Row) -> Lanes {
        Lanes { in_questions: self.reader.snapshot.in_expansion(&self.asked, row).unwrap_or_default(), ..lanes }
    }
}

/// What a note says of itself that has most of the words which neither `passage`, of the chunk at `position`, nor the names
/// above it have: an alias, a tag, its kind or, in its first chunk, a property; the first of equals, and whether it is a
/// property. Before the passage, if that has words, too.
fn said_besides(
    note: &NoteEntry,
    position: u32,
    terms: &HashSet<&str>,
    passage: &Snippet,
    analyze: Analyze,
) -> Option<(bool, Snippet)> {
    let own = note.aliases().map(|alias| ("alias: ", alias)).chain(note.tags().map(|tag| ("#", tag)));
    let own = own.chain(note.kind().map(|kind| ("type: ", kind)));
    let own = own.map(|(before, text)| (false, text.len(), format!("{before}{text}")));
    let properties = if position == 0 { properties::texts(note.properties()) } else { Vec::new() };
    let properties = properties.iter().map(|(name, text)| format!("{name}: {text}"));
    // The name of a property is its user's word.
    let said = own.chain(properties.map(|text| (true, text.len(), text)));
    // Most notes say nothing of the query here, and their passages need not be looked through.
    let found: Vec<_> = said
        .filter_map(|(is_property, length, text)| {
            let mut known: HashSet<&str> = HashSet::new();
            analyze(&text[text.len() - length..], &mut |_, form| known.extend(terms.get(form)));
            (!known.is_empty()).then_some((known, is_property, text))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    let mut lacks = terms.clone();
    let headings = note.headings.get(position);
    for shown in headings.iter().map(String::as_str).chain([note.title(), &passage.text]) {
        analyze(shown, &mut |_, form| {
            lacks.remove(form);
        });
    }
    let said =
        found.into_iter().map(|(known, is_property, text)| (known.intersection(&lacks).count(), is_property, text));
    // `max_by_key` would take the last.
    let (_, is_property, text) =
        said.filter(|(known, ..)| *known > 0).reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let mut said = snippet(&text, Format::Base, terms, analyze);
    if !passage.highlights.is_empty() {
        said.text.push_str(&format!(" {PARTED} "));
        let shift = said.text.len() as u32;
        said.text.push_str(&passage.text);
        said.highlights.extend(passage.highlights.iter().map(|(start, end)| (start + shift, end + shift)));
        said.headings.clone_from(&passage.headings);
    }
    Some((is_property, said))
}

/// Reads what windows are made of: each text once.
struct Reader<'a> {
    snapshot: &'a Snapshot,
    /// A note's chunks in order, and where they lie.
    notes: HashMap<NoteNo, (Vec<Row>, Rc<[Place]>)>,
    /// The texts of a note that were needed, and those packed with them.
    packs: HashMap<NoteNo, Vec<Texts>>,
}

impl Reader<'_> {
    fn note(&mut self, no: NoteNo) -> &(Vec<Row>, Rc<[Place]>) {
        self.notes.entry(no).or_insert_with(|| {
            let rows = self.snapshot.note(no).into_iter().flat_map(|note| note.rows.iter());
            // A row without an entry would be a fault of the index; a window then has a gap.
            let chunk = |row| {
                let chunk = self.snapshot.chunk(row)?;
                Some((row, Place { span: chunk.span, lines: chunk.lines }))
            };
            let (rows, places): (Vec<Row>, Vec<Place>) = rows.filter_map(chunk).unzip();
            (rows, places.into())
        })
    }

    /// The texts that are already read and include the chunk at `position` of a note.
    fn known(&self, no: NoteNo, position: u32) -> Option<&Texts> {
        self.packs.get(&no)?.iter().find(|texts| texts.has(position))
    }

    /// The text of a note's chunk; `None` if the note has no such chunk.
    fn read(&mut self, no: NoteNo, at: usize) -> Result<Option<&str>, LexicalError> {
        let Some(row) = self.note(no).0.get(at).copied() else { return Ok(None) };
        let position = self.snapshot.chunk(row).ok_or(LexicalError::Lacks)?.position;
        if self.known(no, position).is_none() {
            let texts = self.snapshot.texts_with(row)?;
            self.packs.entry(no).or_default().push(texts);
        }
        Ok(self.known(no, position).and_then(|texts| texts.get(position)).map(|(text, _)| text))
    }
}

impl Source<Pick> for Reader<'_> {
    type Note = NoteNo;
    type Error = LexicalError;

    fn place(&mut self, pick: &Pick) -> Option<(NoteNo, usize)> {
        let chunk = self.snapshot.chunk(pick.row)?;
        let (no, guess) = (chunk.note, chunk.position as usize);
        let (rows, _) = self.note(no);
        let at = if rows.get(guess) == Some(&pick.row) { guess } else { rows.iter().position(|r| *r == pick.row)? };
        Some((no, at))
    }

    fn places(&mut self, note: NoteNo) -> Rc<[Place]> {
        self.note(note).1.clone()
    }

    fn has_text(&mut self, note: NoteNo, at: usize) -> Result<bool, LexicalError> {
        match self.read(note, at) {
            Err(LexicalError::Lacks) => Ok(false),
            other => other.map(|_| true),
        }
    }

    fn text(&mut self, note: NoteNo, at: usize) -> Result<String, LexicalError> {
        Ok(self.read(note, at)?.unwrap_or_default().to_owned())
    }
}

/// A row's chunk and its note.
pub(super) fn placed(snapshot: &Snapshot, row: Row) -> Option<(&ChunkEntry, &NoteEntry)> {
    let chunk = snapshot.chunk(row)?;
    Some((chunk, snapshot.note(chunk.note)?))
}
