//! The tables as a file: an index that stops writes them beside its words, so that its next start reads them instead
//! of making them from every note and vector of the store.
//!
//! The file is a cache that serves one start: reading it removes it. It is no proof of anything. Whoever restores the
//! tables compares them with the store afterwards, by [`Snapshot::has`], and loads what differs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;

use platform::files::{Private as _, open_at_once, read_exact_at};

use super::{Index, Snapshot, Tables};
use crate::links::Links;
use crate::packed::{put_number, take_number, taken};
use crate::{ChunkEntry, NoteEntry, NoteNo, Row};
use note::fingerprint::{ChunkId, TextHash};
use note::{FileStat, VaultPath};
use vector::{FreeSlots, Windows};

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
    /// How many notes and chunks there are.
    notes: u32,
    chunks: u32,
    /// [`Tables::rows`].
    rows: u32,
}

impl Ending {
    /// Bytes of an ending with its checksum.
    const SIZE: usize = size_of::<Stamp>() + SECTIONS * Section::SIZE + 3 * size_of::<u32>() + blake3::OUT_LEN;

    /// The ending as bytes. Its checksum includes the version.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Ending::SIZE);
        bytes.extend(self.stamp);
        for Section { length, sum } in &self.sections {
            bytes.extend(length.to_le_bytes());
            bytes.extend(sum);
        }
        [self.notes, self.chunks, self.rows].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        let sum = Ending::sum(&bytes);
        bytes.extend(sum);
        bytes
    }

    fn sum(ending: &[u8]) -> [u8; blake3::OUT_LEN] {
        *blake3::Hasher::new().update(MAGIC).update(ending).finalize().as_bytes()
    }

    /// Reads the ending of a file; `None` if it is damaged, or of a file of another version.
    fn read(file: &File) -> Option<Ending> {
        let begin = file.metadata().ok()?.len().checked_sub(Ending::SIZE as u64)?;
        let mut bytes = [0; Ending::SIZE];
        read_exact_at(file, &mut bytes, begin).ok()?;
        let (ending, sum) = bytes.split_last_chunk()?;
        if Ending::sum(ending) != *sum {
            return None;
        }
        let mut rest = ending;
        let stamp = taken(&mut rest)?;
        let mut section = || Some(Section { length: u64::from_le_bytes(taken(&mut rest)?), sum: taken(&mut rest)? });
        let sections = [section()?, section()?, section()?];
        let mut number = || Some(u32::from_le_bytes(taken(&mut rest)?));
        let ending = Ending { stamp, sections, notes: number()?, chunks: number()?, rows: number()? };
        // The sections are all that is before the ending.
        let length = ending.sections.iter().try_fold(0u64, |sum, section| sum.checked_add(section.length))?;
        (length == begin).then_some(ending)
    }

    /// Reads a section; `None` if it is damaged.
    fn section(&self, file: &File, at: usize) -> Option<Vec<u8>> {
        let begin = self.sections[..at].iter().map(|section| section.length).sum();
        let Section { length, sum } = self.sections[at];
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        read_exact_at(file, &mut bytes, begin).ok()?;
        (*blake3::hash(&bytes).as_bytes() == sum).then_some(bytes)
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
            self.saved.read = self.tables.read(&file);
        }
        drop(file);
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
        let (notes, chunks) = (self.notes.len() as u32, self.chunk_count as u32);
        out.write_all(&Ending { stamp, sections, notes, chunks, rows: self.rows }.bytes())?;
        out.flush()
    }

    /// The tables in a file, with their stamp and the slots that are free. These tables are empty ones of the same
    /// dimensions.
    fn read(&self, file: &File) -> Option<(Stamp, Tables, FreeSlots)> {
        let ending = Ending::read(file)?;
        let (tables, others) = thread::scope(|scope| {
            let others = scope.spawn(|| {
                let links = Links::restored(&ending.section(file, 1)?)?;
                let windows = ending.section(file, 2)?;
                let mut rest = &*windows;
                let windows = self.windows.restored(&mut rest).filter(|_| rest.is_empty())?;
                Some((links, windows))
            });
            let notes = ending.section(file, 0);
            let tables = notes.and_then(|notes| self.clone().with_notes(&ending, &notes));
            (tables, others.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let (links, (windows, free)): (Links, (Windows, FreeSlots)) = others?;
        Some((ending.stamp, Tables { links, windows, ..tables? }, free))
    }

    /// These tables with the notes of a file.
    fn with_notes(mut self, ending: &Ending, mut bytes: &[u8]) -> Option<Tables> {
        self.rows = ending.rows;
        self.notes.reserve(ending.notes as usize);
        self.ids.reserve(ending.chunks as usize, &self.chunks);
        while !bytes.is_empty() {
            let note = NoteEntry::restored(&mut bytes)?;
            for (position, row) in (0..).zip(note.rows.iter()) {
                let chunk = restored_chunk(&mut bytes, note.no, position).filter(|_| row < self.rows)?;
                self.chunks.set(row, Some(chunk));
                self.ids.insert(row, &self.chunks);
                self.chunk_count += 1;
            }
            self.notes.put(note);
        }
        Some(self)
    }
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
