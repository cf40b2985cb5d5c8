//! Contexts as JSON Lines, to keep them elsewhere and bring them to another machine.
//!
//! One line per context and key: `{"schema":1,"key":…,"path":…,"text":…,…}`. Fingerprints are hexadecimal, `path` is
//! there if a chunk of that note holds the context, `notes` names the notes that hold or held it, with their tags and
//! whether they were removed since; unknown fields are passed over. A line without `path` and `notes` (of an older
//! version) is a context of an unknown note: it is used only where no other note can be meant.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use super::tree::{Trees, Writes};
use super::{ArchivedAll, Holder, Store, StoreError};
use context::{ContextRecord, Expansion, Making, Origin, Spent};
use note::fingerprint::{ContextKey, SectionKey, Sketch, TextHash, context_key};
use note::{PRIVATE_TAG, Private, VaultPath};

/// The version of the line format.
const SCHEMA: u32 = 1;

/// Longest line that is read, in bytes; a context is some hundred words.
const LONGEST_LINE: u64 = 1 << 20;

/// Longest text of a context that is taken, in bytes: many times what the longest context has.
const LONGEST_TEXT: usize = 64 << 10;

/// What some editors write before a file's first character.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Contexts that are journaled with one fsync and archived with one transaction.
const BATCH: usize = 500;

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Contexts that are new here.
    pub added: u64,
    /// Contexts that were here already, and those of templates, which are free.
    pub known: u64,
    /// Lines that were passed over: number, from 1, and why.
    pub bad: Vec<(u64, String)>,
}

/// One line.
#[derive(Serialize, Deserialize)]
struct Line {
    schema: u32,
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Holder>,
    text: String,
    origin: Origin,
    generation: String,
    sections: Vec<String>,
    written_for: String,
    #[serde(default)]
    sketch: Sketch,
    quality: f32,
    written_at: i64,
    #[serde(default)]
    tokens_in: u64,
    #[serde(default)]
    tokens_out: u64,
    #[serde(default)]
    tokens_cached: u64,
    #[serde(default)]
    micro_dollars: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    making: Option<Making>,
    /// Questions and terms: fields that an older version passes over.
    #[serde(default, skip_serializing_if = "Expansion::is_empty")]
    expansion: Expansion,
}

/// The part of a line that is parsed first, so that the error of a line of a later format names its schema.
#[derive(Deserialize)]
struct Schema {
    schema: u32,
}

impl Line {
    fn new(key: ContextKey, path: Option<&str>, notes: Vec<Holder>, record: ContextRecord) -> Self {
        let Spent { tokens_in, tokens_out, tokens_cached, micro_dollars } = record.spent;
        Line {
            schema: SCHEMA,
            key: key.to_string(),
            path: path.map(str::to_owned),
            notes,
            text: record.text,
            origin: record.origin,
            generation: record.generation,
            sections: record.sections.iter().map(ToString::to_string).collect(),
            written_for: record.written_for.to_string(),
            sketch: record.sketch,
            quality: record.quality,
            written_at: record.written_at,
            tokens_in,
            tokens_out,
            tokens_cached,
            micro_dollars,
            making: record.making,
            expansion: record.expansion,
        }
    }

    fn parse(bytes: &[u8]) -> Result<Imported, String> {
        // The message of a JSON error may quote the text; its place says enough.
        let json = |error: serde_json::Error| match error.classify() {
            serde_json::error::Category::Data => {
                format!("a field is missing or wrong at column {}", error.column())
            }
            _ => format!("not JSON at column {}", error.column()),
        };
        let Schema { schema } = serde_json::from_slice(bytes).map_err(json)?;
        if schema != SCHEMA {
            return Err(format!("schema {schema} is not known; this program reads schema {SCHEMA}"));
        }
        let line: Line = serde_json::from_slice(bytes).map_err(json)?;
        let key = line.key.parse().map_err(|_| "`key` is not 32 hexadecimal digits")?;
        let sections = line.sections.iter().map(|s| s.parse::<SectionKey>()).collect::<Result<_, _>>();
        let written_for = line.written_for.parse::<TextHash>();
        if !(0.0..=1.0).contains(&line.quality) {
            return Err("`quality` is not between 0 and 1".into());
        }
        if line.text.len() > LONGEST_TEXT {
            return Err(format!("`text` is longer than {LONGEST_TEXT} bytes"));
        }
        if line.origin == Origin::Model && line.text.trim().is_empty() {
            return Err("`text` is empty".into());
        }
        let record = ContextRecord {
            text: line.text,
            origin: line.origin,
            generation: line.generation,
            sections: sections.map_err(|_| "`sections` are not 32 hexadecimal digits each")?,
            written_for: written_for.map_err(|_| "`written_for` is not 32 hexadecimal digits")?,
            sketch: line.sketch,
            quality: line.quality,
            written_at: line.written_at,
            spent: Spent {
                tokens_in: line.tokens_in,
                tokens_out: line.tokens_out,
                tokens_cached: line.tokens_cached,
                micro_dollars: line.micro_dollars,
            },
            making: line.making,
            expansion: line.expansion,
        };
        Ok(Imported { key, record, path: line.path, notes: line.notes })
    }
}

/// Parses a line and writes it again; `None` if it is refused. For fuzzing.
#[cfg(any(test, fuzzing))]
pub(super) fn rewritten(line: &[u8]) -> Option<Vec<u8>> {
    let Imported { key, record, path, notes } = Line::parse(line).ok()?;
    serde_json::to_vec(&Line::new(key, path.as_deref(), notes, record)).ok()
}

/// A context to import.
struct Imported {
    key: ContextKey,
    record: ContextRecord,
    /// The note that held it; it counts only if there are no `notes`.
    path: Option<String>,
    notes: Vec<Holder>,
}

impl Store {
    /// Writes the contexts of chunks, the archive and the journal that are `wanted` as JSON Lines, those that chunks hold
    /// first, in order of path; those of templates without text. Returns the number of lines. Another vault's patterns may
    /// not cover what `private` covers here: such a note is named with the tag that makes it private.
    pub fn export(
        &self,
        out: impl Write,
        wanted: &dyn Fn(&ContextRecord) -> bool,
        private: &Private,
    ) -> Result<u64, StoreError> {
        let mut out = Sink { out: std::io::BufWriter::new(out), lines: 0, private };
        let mut seen = HashSet::new();
        for note in self.notes()? {
            let contexts = self.contexts(&note.path)?;
            for (chunk, context) in note.chunks.iter().zip(contexts) {
                if wanted(&context) {
                    let key = context_key(&chunk.keys, chunk.hash);
                    if seen.insert(key) {
                        self.export_under(key, Some((note.path.as_str(), context)), wanted, &mut out)?;
                    }
                }
            }
        }
        let mut keys = self.database.with(Trees::archive_keys).map_err(|fault| self.fault(fault))?;
        keys.extend(self.journal.keys());
        keys.sort_unstable();
        for key in keys {
            if seen.insert(key) {
                self.export_under(key, None, wanted, &mut out)?;
            }
        }
        out.out.flush().map_err(|error| Sink::<Vec<u8>>::fail(&error))?;
        Ok(out.lines)
    }

    /// Writes all contexts under a key. The last line is the context that the key finds: what a chunk holds, else what
    /// came last.
    fn export_under(
        &self,
        key: ContextKey,
        held: Option<(&str, ContextRecord)>,
        wanted: &dyn Fn(&ContextRecord) -> bool,
        out: &mut Sink<'_, impl Write>,
    ) -> Result<(), StoreError> {
        let ArchivedAll { found: mut contexts, unread } = self.archived_all(key)?;
        if let Some(error) = unread {
            return Err(error);
        }
        contexts.reverse();
        let mut holders = Vec::new();
        if let Some((_, held)) = &held
            && let Some(known) = contexts.iter().position(|(context, _)| context == held)
        {
            holders = contexts.remove(known).1;
        }
        for (context, notes) in contexts.into_iter().filter(|(context, _)| wanted(context)) {
            out.line(Line::new(key, None, notes, context))?;
        }
        held.map_or(Ok(()), |(path, context)| out.line(Line::new(key, Some(path), holders, context)))
    }

    /// Reads what [`Store::export`] wrote: contexts that are new go through the journal into the archive,
    /// where the next plan finds them. A bad line is reported and stops nothing.
    pub fn import(&self, mut input: impl BufRead) -> Result<ImportReport, StoreError> {
        let mut report = ImportReport::default();
        let mut batch = Vec::with_capacity(BATCH);
        let mut number = 0;
        loop {
            number += 1;
            match read_line(&mut input)
                .map_err(|error| StoreError::Io { path: "import".into(), message: format!("line {number}: {error}") })?
            {
                None => break,
                Some(Err(why)) => report.bad.push((number, why)),
                Some(Ok(line)) if line.trim_ascii().is_empty() => {}
                Some(Ok(line)) => match Line::parse(line.strip_prefix(BOM).unwrap_or(&line)) {
                    Ok(line) if !line.record.is_paid() => report.known += 1,
                    Ok(line) => batch.push(line),
                    Err(why) => report.bad.push((number, why)),
                },
            }
            if batch.len() == BATCH {
                self.take_in(&mut batch, &mut report)?;
            }
        }
        self.take_in(&mut batch, &mut report)?;
        Ok(report)
    }

    /// Journals and archives the contexts that are new. If a key finds a context here already, it still finds that one
    /// first.
    fn take_in(&self, batch: &mut Vec<Imported>, report: &mut ImportReport) -> Result<(), StoreError> {
        let batch: Vec<(Imported, Vec<Holder>)> =
            batch.drain(..).map(|line| self.holders(&line).map(|holders| (line, holders))).collect::<Result<_, _>>()?;
        let mut fresh: Vec<(ContextKey, &ContextRecord)> = Vec::with_capacity(batch.len());
        let mut first = HashMap::new();
        for (Imported { key, record, .. }, _) in &batch {
            if self.journal.holds(*key, record)? || fresh.contains(&(*key, record)) {
                report.known += 1;
                continue;
            }
            if let Some(ours) = self.journal.get(*key)? {
                first.insert(*key, ours);
            }
            fresh.push((*key, record));
        }
        // A known context may get new holders.
        let lines = batch.iter().map(|(line, holders)| (line.key, &line.record, holders.as_slice()));
        let ours = first.iter().map(|(key, record)| (*key, record, &[][..]));
        self.journal.append_with(&lines.chain(ours).collect::<Vec<_>>())?;
        let mut writes = Writes::default();
        for (key, record) in fresh.iter().filter(|(key, _)| !first.contains_key(key)) {
            writes.archive(*key, record).map_err(|fault| self.fault(fault))?;
        }
        self.commit(&writes).map_err(|fault| self.fault(fault))?;
        report.added += fresh.len() as u64;
        Ok(())
    }

    /// The notes that a line names, as removed notes: what became of them elsewhere says nothing of the notes here. A
    /// note that the line names only by `path`, and that is not here, counts as private, for it may have been.
    fn holders(&self, line: &Imported) -> Result<Vec<Holder>, StoreError> {
        if !line.notes.is_empty() {
            return Ok(line.notes.iter().map(|note| Holder { removed: true, ..note.clone() }).collect());
        }
        let Some(path) = line.path.as_deref().and_then(VaultPath::parse) else {
            return Ok(vec![Holder::unnamed()]);
        };
        let tags = self.note(&path)?.map_or_else(|| vec![PRIVATE_TAG.to_owned()], |note| note.tags);
        Ok(vec![Holder { path: path.to_string(), tags, removed: true }])
    }
}

struct Sink<'a, W: Write> {
    out: std::io::BufWriter<W>,
    lines: u64,
    private: &'a Private,
}

impl<W: Write> Sink<'_, W> {
    fn fail(error: &std::io::Error) -> StoreError {
        StoreError::Io { path: "export".into(), message: error.to_string() }
    }

    fn line(&mut self, mut line: Line) -> Result<(), StoreError> {
        for note in &mut line.notes {
            let is_covered = VaultPath::parse(&note.path).is_some_and(|path| self.private.covers_path(&path));
            if is_covered && !note.tags.iter().any(|tag| tag == PRIVATE_TAG) {
                note.tags.push(PRIVATE_TAG.to_owned());
            }
        }
        serde_json::to_writer(&mut self.out, &line).map_err(|error| Self::fail(&error.into()))?;
        self.out.write_all(b"\n").map_err(|error| Self::fail(&error))?;
        self.lines += 1;
        Ok(())
    }
}

/// The next line without its end, `None` at the end of the input. One that is too long is read to its end
/// and thrown away.
fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Result<Vec<u8>, String>>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') || (line.len() as u64) < LONGEST_LINE {
        return Ok(Some(Ok(line)));
    }
    loop {
        line.clear();
        let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 || line.last() == Some(&b'\n') {
            return Ok(Some(Err(format!("longer than {LONGEST_LINE} bytes"))));
        }
    }
}
