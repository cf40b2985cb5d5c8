//! The tables as a file: an index that stops writes them beside its words, so that its next start reads them instead
//! of making them from every note and vector of the store.
//!
//! The file is a cache that serves one start, which removes it. It is no proof of anything. Whoever restores the
//! tables compares them with the store afterwards, by [`Snapshot::has`], and loads what differs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::{iter, mem};

use platform::files::{Mapped, Private as _, open_at_once};

use super::{Index, Snapshot, Tables, aside};
use crate::links::Links;
use crate::notes::NoteTableBuilder;
use crate::packed::{put_number, take_number, taken};
use crate::{ChunkEntry, NoteEntry, NoteNo, Row};
use note::fingerprint::{ChunkId, TextHash};
use note::{FileStat, VaultPath};
use vector::{Blocks, FreeSlots, Windows};

/// The name of the file.
const NAME: &str = "tables";

/// The version of the format and of what entries say.
const MAGIC: &[u8] = b"situated tables 7\n";

/// Bytes that are written at once.
const AT_ONCE: usize = 1 << 18;

/// A hash of what the tables were made from. Tables with another stamp are not restored.
pub type Stamp = [u8; 16];

/// Sections that the notes with their chunks are written in. Two threads read them, so there are enough that neither
/// waits long for the other.
const PARTS: usize = 16;

/// The sections of the file, one behind the other: the notes' parts, links, windows.
const SECTIONS: usize = PARTS + 2;
const LINKS: usize = PARTS;
const WINDOWS: usize = PARTS + 1;

/// A section: how many bytes it has, and their checksum. That is a CRC as the words beside it have it: nobody else
/// writes the file, and BLAKE3 took a tenth of the processor time of a start with a million chunks.
#[derive(Clone, Copy, Default)]
struct Section {
    length: u64,
    sum: u32,
}

impl Section {
    const SIZE: usize = size_of::<u64>() + size_of::<u32>();
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
    const SIZE: usize = size_of::<Stamp>() + SECTIONS * Section::SIZE + 2 * size_of::<u32>();

    /// The ending as bytes. Its checksum includes the version.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Ending::SIZE);
        bytes.extend(self.stamp);
        for Section { length, sum } in &self.sections {
            bytes.extend(length.to_le_bytes());
            bytes.extend(sum.to_le_bytes());
        }
        bytes.extend(self.rows.to_le_bytes());
        let sum = Ending::sum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    fn sum(ending: &[u8]) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        sum.update(MAGIC);
        sum.update(ending);
        sum.finalize()
    }

    /// The ending of a file; `None` if it is damaged, or of a file of another version.
    fn of(file: &[u8]) -> Option<Ending> {
        let (before, ending) = file.split_at(file.len().checked_sub(Ending::SIZE)?);
        let (mut rest, sum) = ending.split_last_chunk()?;
        if Ending::sum(rest) != u32::from_le_bytes(*sum) {
            return None;
        }
        let stamp = taken(&mut rest)?;
        let mut sections = [Section::default(); SECTIONS];
        for section in &mut sections {
            let length = u64::from_le_bytes(taken(&mut rest)?);
            *section = Section { length, sum: u32::from_le_bytes(taken(&mut rest)?) };
        }
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
        (crc32fast::hash(bytes) == sum).then_some(bytes)
    }
}

/// A writer that sums and counts what it writes.
struct Summed {
    file: File,
    sum: crc32fast::Hasher,
    length: u64,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.length += written as u64;
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
    let Summed { sum, length, .. } = out.get_mut();
    let sum = mem::take(sum).finalize();
    Ok(Section { length: mem::take(length), sum })
}

/// Tables that were saved.
pub(super) struct Saved {
    file: PathBuf,
    /// Those that were read, until they are restored.
    read: Option<(Stamp, Tables, FreeSlots)>,
    /// The file that they were read from, until [`Saved::clear`].
    mapped: Option<Mapped>,
}

impl Saved {
    /// In an index's folder.
    pub(super) fn in_folder(dir: &Path) -> Self {
        Saved { file: dir.join(NAME), read: None, mapped: None }
    }

    /// Where the file is once it was read.
    fn used(&self) -> PathBuf {
        self.file.with_extension("used")
    }

    /// Removes the file that was read, now or by a start that did not come to it. This takes a tenth of a second for
    /// 250 MB, which no search should have to wait for.
    pub(super) fn clear(&mut self) {
        self.mapped = None;
        // If it cannot be removed, the next one takes its place.
        let _ = fs::remove_file(self.used());
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

    /// Reads the tables that [`Index::save`] wrote, whose file [`Index::check`] then removes. Tables that are damaged or
    /// of another version are as good as none; so are all if the words were thrown away.
    pub fn read_saved(&mut self) {
        let Ok(file) = open_at_once(&self.saved.file) else { return };
        let Some(meta) = file.metadata().ok().filter(fs::Metadata::is_file) else { return };
        if fs::rename(&self.saved.file, self.saved.used()).is_err() {
            // One that stays has an old stamp as soon as something changes.
            let _ = fs::remove_file(&self.saved.file);
        }
        if self.rebuilt().is_some() {
            return;
        }
        // Shown as memory and not read into it, which would take as long as making the tables of it.
        let Ok(mapped) = Mapped::of(&Arc::new(file), meta.len() as usize) else { return };
        self.saved.read = self.tables.read(&mapped);
        self.saved.mapped = Some(mapped);
    }

    /// Puts the tables that were read in place of those of this index, which is still empty, if they have this stamp.
    /// Returns `false` if there are none: then nothing has changed.
    pub fn restore(&mut self, stamp: &Stamp) -> bool {
        let read = self.saved.read.take().filter(|(read, ..)| read == stamp);
        let Some((_, mut tables, free_slots)) = read else { return false };
        tables.windows = tables.windows.in_matrix_of(&self.tables.windows);
        if tables.chunk_count < tables.rows as usize {
            self.free_rows = (0..tables.rows).filter(|row| tables.chunks.get(*row).is_none()).collect();
        }
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
        let out = &mut BufWriter::with_capacity(AT_ONCE, Summed { file, sum: crc32fast::Hasher::new(), length: 0 });
        let mut sections = [Section::default(); SECTIONS];
        let (mut notes, at_most) = (self.notes.iter(), self.notes.len().div_ceil(PARTS));
        let mut bytes = Vec::new();
        for part in &mut sections[..PARTS] {
            *part = section(out, |out| {
                notes.by_ref().take(at_most).try_for_each(|note| {
                    bytes.clear();
                    note.save(&mut bytes);
                    let chunks = note.rows.iter().filter_map(|row| self.chunks.get(row));
                    chunks.for_each(|chunk| save_chunk(chunk, &mut bytes));
                    out.write_all(&bytes)
                })
            })?;
        }
        bytes.clear();
        self.links.save(&mut bytes);
        sections[LINKS] = section(out, |out| out.write_all(&bytes))?;
        sections[WINDOWS] = section(out, |out| self.windows.save(out))?;
        out.write_all(&Ending { stamp, sections, rows: self.rows }.bytes())?;
        out.flush()
    }

    /// The tables in a file, with their stamp and the slots that are free. These tables are empty ones of the same
    /// dimensions.
    fn read(&self, file: &[u8]) -> Option<(Stamp, Tables, FreeSlots)> {
        let ending = Ending::of(file)?;
        // Each thread takes the next part as soon as it is done with what it has.
        let next = AtomicUsize::new(0);
        let entries = || -> Option<Entries> {
            let mut entries = Entries::default();
            let mut parts = iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|part| *part < PARTS));
            parts.try_for_each(|part| entries.take(ending.section(file, part)?, ending.rows))?;
            Some(entries)
        };
        let others = || -> Option<(Links, (Windows, FreeSlots), Entries)> {
            let links = Links::restored(ending.section(file, LINKS)?)?;
            let mut rest = ending.section(file, WINDOWS)?;
            let windows = self.windows.restored(&mut rest).filter(|_| rest.is_empty())?;
            Some((links, windows, entries()?))
        };
        // Both on new threads: glibc's allocator gives one after the other the next of its arenas, so these two do not
        // wait for each other with every allocation. This thread may share an arena with any.
        let (((), some), others) = aside(others, || aside(entries, || ()));
        let (mut entries, (links, (windows, free), more)) = (some?, others?);
        entries.append(more);
        let Entries { notes, chunks, chunk_count } = entries;
        let tables = Tables { notes: notes.build(), chunks, chunk_count, rows: ending.rows, links, windows };
        Some((ending.stamp, tables, free))
    }
}

/// Notes and chunks, each at its number.
#[derive(Default)]
struct Entries {
    notes: NoteTableBuilder,
    chunks: Blocks<ChunkEntry>,
    chunk_count: usize,
}

impl Entries {
    /// Takes the notes of a part, with their chunks in rows below `rows`; `None` if it has others.
    fn take(&mut self, mut bytes: &[u8], rows: u32) -> Option<()> {
        while !bytes.is_empty() {
            let note = NoteEntry::restored(&mut bytes)?;
            for (position, row) in (0..).zip(note.rows.iter()) {
                let chunk = restored_chunk(&mut bytes, note.no, position).filter(|_| row < rows)?;
                self.chunk_count += usize::from(self.chunks.set(row, Some(chunk)).is_none());
            }
            self.notes.add(note);
        }
        Some(())
    }

    /// Takes those of other parts.
    fn append(&mut self, others: Entries) {
        self.notes.append(others.notes);
        self.chunks.append(others.chunks);
        self.chunk_count += others.chunk_count;
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
