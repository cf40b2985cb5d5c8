//! The tables as a file: an index that stops writes them beside its words, so that its next start reads them instead
//! of making them from every note and vector of the store.
//!
//! The file is a cache that serves one start: reading it removes it. It is no proof of anything. Whoever restores the
//! tables compares them with the store afterwards, by [`Snapshot::has`], and loads what differs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::files::{Mapped, Private as _, open_at_once};

use super::{Index, Snapshot, Tables, aside};
use crate::links::Links;
use crate::notes::NoteTable;
use crate::packed::{put_number, take_number, taken};
use crate::{ChunkEntry, NoteEntry, NoteNo, Row};
use note::fingerprint::{ChunkId, TextHash};
use note::{FileStat, VaultPath};
use vector::{Blocks, FreeSlots, Windows};

/// The name of the file.
const NAME: &str = "tables";

/// The version of the format and of what entries say.
const MAGIC: &[u8] = b"situated tables 2\n";

/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 18;

/// A hash of what the tables were made from. Tables with another stamp are not restored.
pub type Stamp = [u8; 16];

/// The sections of the file, one behind the other: notes with their chunks, links, windows.
const SECTIONS: usize = 3;

/// A section: how many bytes it has, and their hash.
#[derive(Clone, Copy)]
struct Section {
    length: u64,
    sum: [u8; blake3::OUT_LEN],
}

impl Section {
    const SIZE: usize = size_of::<u64>() + blake3::OUT_LEN;
}

/// What the file ends with.
struct Ending {
    stamp: Stamp,
    sections: [Section; SECTIONS],
    /// [`Tables::rows`].
    rows: u32,
}

impl Ending {
    /// Bytes of an ending with its checksum.
    const SIZE: usize = size_of::<Stamp>() + SECTIONS * Section::SIZE + size_of::<u32>() + blake3::OUT_LEN;

    /// The ending as bytes. Its checksum includes the version.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Ending::SIZE);
        bytes.extend(self.stamp);
        for Section { length, sum } in &self.sections {
            bytes.extend(length.to_le_bytes());
            bytes.extend(sum);
        }
        bytes.extend(self.rows.to_le_bytes());
        let sum = Ending::sum(&bytes);
        bytes.extend(sum);
        bytes
    }

    fn sum(ending: &[u8]) -> [u8; blake3::OUT_LEN] {
        *blake3::Hasher::new().update(MAGIC).update(ending).finalize().as_bytes()
    }

    /// The ending of a file; `None` if it is damaged, or of a file of another version.
    fn of(file: &[u8]) -> Option<Ending> {
        let (before, ending) = file.split_at(file.len().checked_sub(Ending::SIZE)?);
        let (mut rest, sum) = ending.split_last_chunk()?;
        if Ending::sum(rest) != *sum {
            return None;
        }
        let stamp = taken(&mut rest)?;
        let mut section = || Some(Section { length: u64::from_le_bytes(taken(&mut rest)?), sum: taken(&mut rest)? });
        let sections = [section()?, section()?, section()?];
        let ending = Ending { stamp, sections, rows: u32::from_le_bytes(taken(&mut rest)?) };
        // The sections are all that is before the ending.
        let length = ending.sections.iter().try_fold(0u64, |sum, section| sum.checked_add(section.length))?;
        (length == before.len() as u64).then_some(ending)
    }

    /// A section of the file; `None` if it is damaged.
    fn section<'a>(&self, file: &'a [u8], at: usize) -> Option<&'a [u8]> {
        let begin: u64 = self.sections[..at].iter().map(|section| section.length).sum();
        let Section { length, sum } = self.sections[at];
        let bytes = file.get(begin as usize..)?.get(..length as usize)?;
        (*blake3::hash(bytes).as_bytes() == sum).then_some(bytes)
    }
}

/// A writer that hashes and counts what it writes.
struct Summed {
    file: File,
    sum: blake3::Hasher,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a section.
fn section(
    out: &mut BufWriter<Summed>,
    write: impl FnOnce(&mut BufWriter<Summed>) -> io::Result<()>,
) -> io::Result<Section> {
    write(out)?;
    out.flush()?;
    let Summed { sum, .. } = out.get_mut();
    let section = Section { length: sum.count(), sum: *sum.finalize().as_bytes() };
    sum.reset();
    Ok(section)
}

/// Tables that were saved.
pub(super) struct Saved {
    file: PathBuf,
    /// Those that were read, until they are restored.
    read: Option<(Stamp, Tables, FreeSlots)>,
}

impl Saved {
    /// In an index's folder.
    pub(super) fn in_folder(dir: &Path) -> Self {
        Saved { file: dir.join(NAME), read: None }
    }
}

/// Whether tables are saved in an index's folder.
pub fn has_saved(dir: &Path) -> bool {
    dir.join(NAME).exists()
}

impl Index {
    /// Writes the tables beside the words, for the next start; for a clean stop. They are not synced: a power cut may
    /// leave a part of the file, which is not restored.
    ///
    /// # Errors
    /// What the system says, as when the disk is full; then there is no file.
    pub fn save(&self, stamp: &Stamp) -> io::Result<()> {
        let file = &self.saved.file;
        let new = file.with_extension("new");
        let written = self.tables.write(&new, *stamp).and_then(|()| fs::rename(&new, file));
        if written.is_err() {
            // If it cannot be removed either, the next one replaces it.
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// How many bytes [`Index::read_saved`] may read; 0 if nothing is saved.
    pub fn saved_bytes(&self) -> u64 {
        fs::metadata(&self.saved.file).map_or(0, |meta| meta.len())
    }

    /// Reads the tables that [`Index::save`] wrote, and removes the file. Tables that are damaged or of another version
    /// are as good as none; so are all if the words were thrown away.
    pub fn read_saved(&mut self) {
        let Ok(file) = open_at_once(&self.saved.file) else { return };
        if self.rebuilt().is_none() {
            // Shown as memory and not read into it, which would take as long as making the tables of it.
            let length = file.metadata().map_or(0, |meta| meta.len());
            let shown = Mapped::of(&Arc::new(file), length as usize);
            self.saved.read = shown.ok().and_then(|file| self.tables.read(&file));
        }
        // One that stays has an old stamp as soon as something changes.
        let _ = fs::remove_file(&self.saved.file);
    }

    /// Puts the tables that were read in place of those of this index, which is still empty, if they have this stamp.
    /// Returns `false` if there are none: then nothing has changed.
    pub fn restore(&mut self, stamp: &Stamp) -> bool {
        let read = self.saved.read.take().filter(|(read, ..)| read == stamp);
        let Some((_, mut tables, free_slots)) = read else { return false };
        tables.windows = tables.windows.in_matrix_of(&self.tables.windows);
        self.free_rows = (0..tables.rows).filter(|row| tables.chunks.get(*row).is_none()).collect();
        (self.tables, self.free_slots) = (tables, free_slots);
        true
    }
}

impl Snapshot {
    /// Whether it has a note as it is at this sequence number, with these chunks: each with its vectors' rows in the
    /// matrix. Compares what tables that were restored could have wrong, and nothing that follows from the number.
    pub fn has<'a>(
        &self,
        (no, seq): (NoteNo, u64),
        (path, stat, hash): (&VaultPath, &FileStat, &TextHash),
        chunks: impl ExactSizeIterator<Item = (ChunkId, &'a [u32])>,
    ) -> bool {
        let Some(note) = self.note(no) else { return false };
        let has_chunk = |(row, (id, records)): (Row, (ChunkId, &[u32]))| {
            let has_records = self.tables.windows.records(row).eq(records.iter().map(|record| Some(*record)));
            has_records && self.chunk(row).is_some_and(|chunk| chunk.id == id)
        };
        (note.seq, &note.path, &note.stat, &note.hash) == (seq, path, stat, hash)
            && note.rows.len() == chunks.len()
            && note.rows.iter().zip(chunks).all(has_chunk)
    }
}

impl Tables {
    fn write(&self, path: &Path, stamp: Stamp) -> io::Result<()> {
        // Whatever is there, as a pipe that nobody reads, is not written to.
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let file = OpenOptions::new().write(true).create_new(true).private().open(path)?;
        let out = &mut BufWriter::with_capacity(AT_ONCE, Summed { file, sum: blake3::Hasher::new() });
        let mut bytes = Vec::new();
        let notes = section(out, |out| {
            self.notes.iter().try_for_each(|note| {
                bytes.clear();
                note.save(&mut bytes);
                let chunks = note.rows.iter().filter_map(|row| self.chunks.get(row));
                chunks.for_each(|chunk| save_chunk(chunk, &mut bytes));
                out.write_all(&bytes)
            })
        })?;
        bytes.clear();
        self.links.save(&mut bytes);
        let links = section(out, |out| out.write_all(&bytes))?;
        let sections = [notes, links, section(out, |out| self.windows.save(out))?];
        out.write_all(&Ending { stamp, sections, rows: self.rows }.bytes())?;
        out.flush()
    }

    /// The tables in a file, with their stamp and the slots that are free. These tables are empty ones of the same
    /// dimensions.
    fn read(&self, file: &[u8]) -> Option<(Stamp, Tables, FreeSlots)> {
        let ending = Ending::of(file)?;
        let others = || -> Option<(Links, (Windows, FreeSlots))> {
            let links = Links::restored(ending.section(file, 1)?)?;
            let mut rest = ending.section(file, 2)?;
            let windows = self.windows.restored(&mut rest).filter(|_| rest.is_empty())?;
            Some((links, windows))
        };
        let entries = || restored_entries(ending.rows, ending.section(file, 0)?);
        let (entries, others) = aside(others, entries);
        let (Entries { notes, chunks, chunk_count }, (links, (windows, free))) = (entries?, others?);
        let tables = Tables { notes, chunks, chunk_count, rows: ending.rows, links, windows };
        Some((ending.stamp, tables, free))
    }
}

/// Notes and chunks, each at its number.
struct Entries {
    notes: NoteTable,
    chunks: Blocks<ChunkEntry>,
    chunk_count: usize,
}

/// The notes of a file, with their chunks in rows below `rows`.
fn restored_entries(rows: u32, mut bytes: &[u8]) -> Option<Entries> {
    let (mut notes, mut chunks, mut chunk_count) = (Blocks::default(), Blocks::default(), 0);
    while !bytes.is_empty() {
        let note = NoteEntry::restored(&mut bytes)?;
        for (position, row) in (0..).zip(note.rows.iter()) {
            let chunk = restored_chunk(&mut bytes, note.no, position).filter(|_| row < rows)?;
            chunk_count += usize::from(chunks.set(row, Some(chunk)).is_none());
        }
        notes.set(note.no, Some(Arc::new(note)));
    }
    Some(Entries { notes: NoteTable::of(notes), chunks, chunk_count })
}

fn save_chunk(chunk: &ChunkEntry, out: &mut Vec<u8>) {
    let ChunkEntry { id, note: _, position: _, span, lines } = chunk;
    out.extend(id.0);
    [span.0, span.1, lines.0, lines.1].iter().for_each(|number| put_number(*number as usize, out));
}

fn restored_chunk(bytes: &mut &[u8], note: u32, position: u32) -> Option<ChunkEntry> {
    let id = ChunkId(taken(bytes)?);
    let mut number = || Some(take_number(bytes)? as u32);
    let (span, lines) = ((number()?, number()?), (number()?, number()?));
    Some(ChunkEntry { id, note, position, span, lines })
}
