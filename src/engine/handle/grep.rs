//! Finds lines that match a regular expression. The files decide: what was indexed only says which notes there are,
//! whom they are hidden from, and which of them cannot match.

mod converted;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::access::{Served, hanging, in_range};
use super::search::vaults::{folders, unknown};
use super::search::{freshen, narrow};
use super::{CallError, Cancel, Handle, VaultShared};
use crate::decide::NotePipeline;
use crate::disk_access::{Hangs, Pending, TEXT_WITHIN};
use converted::as_shown;
use index::grep::{Case, Context, Ended, Matched, Pattern, Rules, Signature};
use index::search;
use index::search::Filter;
use index::{NoteEntry, NoteNo, PackedIter};
use note::chunk::seen;
use note::{FileStat, Private, VaultPath};
use protocol::grep::{GrepAnswer, GrepCase, GrepLine, GrepNote, GrepRequest, GrepWhat, MAX_CONTEXT, MAX_LINES};
use vault::documents::FileText;
use vault::read::ReadError;

/// How long a request searches: half of what any request may take, so that what was found is still returned.
const SEARCH_WITHIN: Duration = Duration::from_secs(5);

/// Lines of an answer unless the request says otherwise.
const USUAL_LINES: usize = 100;

/// Text of an answer at most, in bytes: a quarter of the longest reply.
const MOST_TEXT: usize = 4 << 20;

/// How many notes, and how many bytes of them, a reader is asked for at once.
const BATCH: (usize, u64) = (32, 2 << 20);

/// Batches under way at once.
const AHEAD: usize = 4;

/// Notes that a warning names.
const NAMED: usize = 3;

/// See [`Handle::grep`].
pub(super) fn grep(engine: &Handle, request: &GrepRequest, cancel: &Cancel) -> Result<GrepAnswer, CallError> {
    let began = Instant::now();
    let pattern = pattern(request)?;
    let (vaults, left_out) = engine.served(request.vault.as_deref())?;
    let mut filter = conditions(request)?;
    filter.folders = folders(engine);
    if let Some(why) = unknown(engine, filter.vaults().collect()) {
        return Err(CallError::Invalid(format!("`within`: {why}")));
    }
    let vaults: Vec<_> = vaults.into_iter().filter(|vault| filter.admits_vault(&vault.name)).collect();
    if vaults.is_empty() {
        return Err(CallError::Invalid("`within` leaves no vault whose notes are on this machine".to_owned()));
    }
    let limit = in_range("limit", request.limit.unwrap_or(USUAL_LINES), MAX_LINES)?;
    let per_note = in_range("per_note", request.per_note.unwrap_or(MAX_LINES), MAX_LINES)?;
    let unseen = if request.fresh { freshen(engine, &vaults, cancel)? } else { None };
    let incomplete = vaults.iter().filter_map(|vault| vault.incomplete_for(request.audience.is_assistant()));
    let until = Instant::now() + SEARCH_WITHIN;
    let search = Search {
        pattern,
        filter,
        what: request.what,
        per_note,
        after: request.after.into(),
        assistant: request.audience.is_assistant(),
        until,
        cancel,
    };
    let mut found = Found { left: limit, ..Found::default() };
    found.answer.warnings.extend(left_out.into_iter().chain(unseen).chain(incomplete));
    for vault in &vaults {
        match search.vault(vault, &mut found)? {
            Err(Hangs) if vaults.len() == 1 => return Err(hanging(vault)),
            Err(Hangs) => found.answer.warnings.push(hanging(vault).to_string()),
            Ok(()) => {}
        }
    }
    if found.answer.notes.is_empty() && !search.assistant {
        found.answer.warnings.extend(vaults.iter().filter_map(|vault| vault.without_notes()));
    }
    Ok(found.finish(began))
}

fn pattern(request: &GrepRequest) -> Result<Pattern, CallError> {
    let around = |name: &str, lines: u16| {
        let wrong = || CallError::Invalid(format!("`{name}` must be 0 to {MAX_CONTEXT} lines, not {lines}"));
        if lines <= MAX_CONTEXT { Ok(usize::from(lines)) } else { Err(wrong()) }
    };
    let mut context = Context { before: around("before", request.before)?, after: around("after", request.after)? };
    if request.what != GrepWhat::Lines {
        context = Context::default();
    }
    let case = match request.case {
        GrepCase::Smart => Case::Smart,
        GrepCase::Sensitive => Case::Sensitive,
        GrepCase::Insensitive => Case::Insensitive,
    };
    let rules = Rules { case, fixed: request.fixed, word: request.word, context };
    Pattern::new(&request.pattern, rules).map_err(|error| {
        let hint = if request.fixed || request.pattern.is_empty() {
            ""
        } else {
            "; `fixed` takes a pattern as it stands, signs and all"
        };
        CallError::Invalid(format!("`pattern`: {error}{hint}"))
    })
}

/// What a request says of the notes that are looked at.
fn conditions(request: &GrepRequest) -> Result<Filter, CallError> {
    let now = jiff::Zoned::now();
    let mut parsed = search::parse(&request.within, now.date())?;
    // Here nothing is searched for as words.
    let warning =
        parsed.warnings.first().map(|warning| warning.replacen("is searched for as words", "is no condition", 1));
    if let Some(warning) = warning {
        return Err(CallError::Invalid(format!("`within`: {warning}")));
    }
    let asks_text = parsed.has_text() || !parsed.without.is_empty() || !parsed.patterns.is_empty();
    let asks_nothing = parsed.filter.asks_nothing() && !request.within.trim().is_empty();
    if asks_text || asks_nothing || parsed.required.is_some() {
        return Err(CallError::Invalid(
            "`within` holds words, a regular expression or AND, OR, NOT: it takes conditions alone, such as `tag:work -path:archive`"
                .to_owned(),
        ));
    }
    if let Some(filter) = &request.filter {
        narrow(&mut parsed, filter, &now)?;
    }
    parsed.filter.zone = now.time_zone().clone();
    Ok(parsed.filter)
}

/// What is searched for, and until when.
struct Search<'a> {
    pattern: Pattern,
    filter: Filter,
    what: GrepWhat,
    per_note: usize,
    /// Lines after a match.
    after: usize,
    assistant: bool,
    until: Instant,
    cancel: &'a Cancel,
}

/// What is known of a note before it is read.
struct Candidate {
    no: NoteNo,
    path: VaultPath,
    state: FileStat,
}

type Texts = Vec<(Candidate, Result<FileText, ReadError>)>;

impl Search<'_> {
    /// Searches a vault, unless its file system does not answer.
    fn vault(&self, vault: &Arc<VaultShared>, found: &mut Found) -> Result<Result<(), Hangs>, CallError> {
        let Served { snapshot, pipeline, hidden, .. } = Served::new(vault, self.assistant)?;
        let mut filter = self.filter.clone();
        filter.of_vault(&vault.name, true);
        filter.hidden.clone_from(&hidden);
        let notes = filter.notes(&snapshot, self.cancel)?;
        found.answer.searched += notes.len() as u64;
        if found.is_over() {
            return Ok(Ok(()));
        }
        let candidate = |note: &NoteEntry| Candidate { no: note.no, path: note.path.clone(), state: note.stat };
        let mut candidates: Vec<Candidate> = notes.into_iter().map(candidate).collect();
        vault.grep.keep_possible(&self.pattern, &mut candidates, |note| (note.no, note.state));
        candidates.sort_unstable_by(|a, b| a.path.cmp(&b.path));

        // The other vaults do not wait for one that hangs until the search is over.
        if let Some(first) = candidates.first() {
            let (root, path) = (vault.path.clone(), first.path.clone());
            if vault.disk.ask(TEXT_WITHIN, move |disk| disk.stat(&root, &path).is_ok()).is_err() {
                return Ok(Err(Hangs));
            }
        }
        let (candidate_count, mut gone) = (candidates.len(), 0);
        let mut reading = Reading::new(vault, candidates, pipeline.max_note_bytes);
        loop {
            let texts = match reading.next(self.until) {
                Ok(Some(texts)) => texts,
                Ok(None) => break,
                Err(Hangs) => return Ok(Err(Hangs)),
            };
            self.cancel.check()?;
            for (candidate, read) in texts {
                if found.is_over() {
                    return Ok(Ok(()));
                }
                let FileText { bytes, stat: state, .. } = match read {
                    Ok(read) => read,
                    // Since it was indexed it has gone, or is no longer a note.
                    Err(error) if error.is_final() => {
                        gone += 1;
                        continue;
                    }
                    Err(error) => {
                        found.unread.push((candidate.path.to_string(), error.to_string()));
                        continue;
                    }
                };
                found.answer.read += 1;
                let text = as_shown(candidate.path.format(), Cow::Owned(note::text(&bytes)));
                if !vault.grep.knows(candidate.no, state) {
                    vault.grep.learn(candidate.no, state, Signature::of(&text));
                }
                let Some(mut lines) = self.lines(&text, found) else { continue };
                let known = snapshot.note(candidate.no);
                if self.assistant {
                    let tags = known.map(|note| note.tags());
                    match self.lines_shown(&candidate.path, &bytes, (&pipeline, hidden.as_deref(), tags), found) {
                        Some(shown) => lines = shown,
                        None => continue,
                    }
                }
                let title = known.map_or_else(|| candidate.path.stem().to_owned(), |note| note.title().to_owned());
                found.add(lines, (&vault.name, &candidate.path, title), self.what);
            }
        }
        if gone > 0 && gone == candidate_count {
            let why = "no note that may match is there any more; `situated status` says whether the vault is";
            found.answer.warnings.push(format!("`{}`: {why}", vault.name));
        }
        Ok(Ok(()))
    }

    /// The lines of a text that match, as many as are wanted; `None` if there are none.
    fn lines(&self, text: &str, found: &mut Found) -> Option<Lines> {
        let most = match self.what {
            GrepWhat::Lines => self.per_note.min(found.left),
            GrepWhat::Counts | GrepWhat::Notes => 0,
        };
        let mut lines = Lines::default();
        let on_line = &mut |line: Matched| {
            lines.count += 1;
            if lines.told.len() < most {
                lines.told.push(told(line));
            } else if let Some(last) = lines.told.last_mut()
                && line.line == last.line + last.after.len() as u32 + 1
            {
                // The lines after the last match that is told may match themselves.
                let left = self.after.saturating_sub(last.after.len());
                last.after.extend(std::iter::once(line.text).chain(line.after).take(left));
            }
            self.what != GrepWhat::Notes
        };
        let go_on = || Instant::now() < self.until && !self.cancel.is_cancelled();
        match self.pattern.search(text, &go_on, on_line) {
            Ok(()) => {}
            Err(Ended::Stopped) => found.is_late = true,
            Err(Ended::LongLine) => found.long_lines += 1,
        }
        (lines.count > 0).then_some(lines)
    }

    /// The same for the part of a note that an assistant may see; `None` also if it may see nothing.
    fn lines_shown(
        &self,
        path: &VaultPath,
        bytes: &[u8],
        (pipeline, hidden, tags): (&NotePipeline, Option<&Private>, Option<PackedIter<'_>>),
        found: &mut Found,
    ) -> Option<Lines> {
        let note = note::parse(path, bytes, &pipeline.rules);
        if hidden.is_some_and(|hidden| hidden.covers_now(&note, tags)) {
            return None;
        }
        self.lines(&as_shown(path.format(), seen(&note)), found)
    }
}

/// The lines of one note.
#[derive(Default)]
struct Lines {
    count: u64,
    told: Vec<GrepLine>,
}

fn told(line: Matched) -> GrepLine {
    let Matched { line, column, text, highlights, before, after } = line;
    GrepLine { line, column, text, highlights, before, after }
}

/// Texts of a vault's notes, in batches and in order; some batches are read while another one is searched.
struct Reading<'a> {
    vault: &'a VaultShared,
    max_bytes: u64,
    rest: std::iter::Peekable<std::vec::IntoIter<Candidate>>,
    ahead: VecDeque<Pending<Texts>>,
    turn: usize,
}

impl<'a> Reading<'a> {
    fn new(vault: &'a VaultShared, notes: Vec<Candidate>, max_bytes: u64) -> Self {
        Reading { vault, max_bytes, rest: notes.into_iter().peekable(), ahead: VecDeque::new(), turn: 0 }
    }

    /// The next batch; `None` after the last one.
    fn next(&mut self, until: Instant) -> Result<Option<Texts>, Hangs> {
        let vault = self.vault;
        let within = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        while self.ahead.len() < AHEAD {
            let batch = self.batch();
            if batch.is_empty() {
                break;
            }
            let (root, max_bytes) = (vault.path.clone(), self.max_bytes);
            let read = vault.grep.reader(self.turn).begin(within, move |disk| {
                let read = |note: Candidate| {
                    let text = disk.read(&root, &note.path, max_bytes);
                    (note, text)
                };
                batch.into_iter().map(read).collect::<Texts>()
            });
            self.ahead.push_back(read?);
            self.turn += 1;
        }
        self.ahead.pop_front().map(|texts| texts.wait(within)).transpose()
    }

    fn batch(&mut self) -> Vec<Candidate> {
        let (most, most_bytes) = BATCH;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(note) =
            self.rest.next_if(|note| batch.is_empty() || (batch.len() < most && bytes + note.state.size <= most_bytes))
        {
            bytes += note.state.size;
            batch.push(note);
        }
        batch
    }
}

/// What was found so far.
#[derive(Default)]
struct Found {
    answer: GrepAnswer,
    /// Lines, or notes, that are still wanted.
    left: usize,
    /// Bytes of text in the answer.
    bytes: usize,
    is_late: bool,
    long_lines: usize,
    unread: Vec<(String, String)>,
}

impl Found {
    /// Whether the search is over.
    fn is_over(&self) -> bool {
        self.answer.truncated || self.is_late
    }

    fn add(&mut self, lines: Lines, (vault, path, title): (&str, &VaultPath, String), what: GrepWhat) {
        let Lines { count, told } = lines;
        let wanted = if what == GrepWhat::Lines { told.len() } else { 1 };
        let text = |line: &GrepLine| {
            let around = line.before.iter().chain(&line.after).map(String::len).sum::<usize>();
            line.text.len() + around
        };
        let bytes: usize = told.iter().map(text).sum();
        if self.left == 0 || self.bytes + bytes > MOST_TEXT {
            self.answer.truncated = true;
            return;
        }
        self.left -= wanted;
        self.bytes += bytes;
        // Lines may be missing because of the limit per note, which does not count as truncated, or because of the
        // limit of the answer, which does.
        self.answer.truncated = what == GrepWhat::Lines && self.left == 0 && count > told.len() as u64;
        self.answer.lines += count;
        let (vault, path) = (vault.to_owned(), path.to_string());
        self.answer.notes.push(GrepNote { vault, path, title, count, lines: told });
    }

    fn finish(self, began: Instant) -> GrepAnswer {
        let Found { mut answer, is_late, long_lines, unread, .. } = self;
        if is_late {
            let seconds = SEARCH_WITHIN.as_secs();
            answer.truncated = true;
            answer.warnings.push(format!(
                "not all notes were searched: {seconds} s were over; a pattern with more plain text, or conditions, is faster"
            ));
        }
        if long_lines > 0 {
            answer
                .warnings
                .push(format!("{long_lines} notes were not searched to their end: they have a line that is too long"));
        }
        if !unread.is_empty() {
            let mut named: Vec<String> =
                unread.iter().take(NAMED).map(|(path, why)| format!("`{path}`: {why}")).collect();
            named.extend((unread.len() > NAMED).then(|| "…".to_owned()));
            answer.warnings.push(format!("{} notes could not be read ({})", unread.len(), named.join("; ")));
        }
        answer.took_ms = began.elapsed().as_secs_f64() * 1e3;
        answer
    }
}
